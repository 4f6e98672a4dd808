//! Describes a board in words.

use dataperf::NoIntervals;
use dataperf::closing::finishing::FinalReport;
use dataperf::rows::ranking::Ranked;

use crate::cloud::comparison::Summary;
use crate::output::{SCORE_DIGITS, score, shown_score};

/// A reason without intervals, as a sentence.
pub(super) fn sentence(why: Option<NoIntervals>) -> Option<String> {
    why.map(|why| why.to_string())
}

/// How a final board differs from the public one, in a sentence.
pub(super) fn shaken(report: &FinalReport) -> String {
    let shake_up = report.shake_up.map_or_else(
        || "There are too few submissions for a shake-up".to_owned(),
        |shake_up| {
            format!(
                "Shake-up {shake_up:.3}: the mean change of rank, as a share of {} submissions",
                report.n_ranked
            )
        },
    );
    let state = match report.finished_at {
        Some(at) => format!("finished {at}"),
        None => "some are not scored yet".to_owned(),
    };
    let rejected = match report.n_rejected {
        0 => String::new(),
        n => format!("; {n} break the rules of the final data set"),
    };
    format!("{shake_up}; {state}{rejected}")
}

pub(super) fn interval_in_words((low, high): (f64, f64), digits: Option<u8>) -> String {
    let digits = digits.unwrap_or(SCORE_DIGITS);
    let unit = 10_f64.powi(digits.into());
    // what is shown contains the interval
    let moved = |value: f64, outward: fn(f64) -> f64| {
        let units = value * unit;
        let is_shown = (units - units.round()).abs() < 1e-6;
        (if is_shown { units.round() } else { outward(units) }) / unit
    };
    let [low, high] = [moved(low, f64::floor), moved(high, f64::ceil)];
    format!(
        "{} to {}",
        shown_score(low, Some(digits)),
        shown_score(high, Some(digits))
    )
}

/// A positive number with its first two digits.
fn rough(value: f64) -> String {
    let (mut n_decimals, mut digits) = (0, value);
    while digits < 10.0 && n_decimals < 12 {
        (n_decimals, digits) = (n_decimals + 1, digits * 10.0);
    }
    format!("{value:.n_decimals$}")
}

pub(super) fn ranks_in_words((first, last): (u32, u32)) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first} to {last}")
    }
}

/// A sentence on the reliability of a board's ranks.
pub(super) fn in_words(summary: &Summary) -> String {
    if let Some(none) = summary.none_in_words() {
        return format!("{}.{}", none.replacen("no ", "No ", 1), by_area(summary));
    }
    let best = match summary.n_best {
        _ if summary.n_ranked < 2 => {
            return "There are fewer than two ranked submissions to compare.".to_owned();
        }
        1 => "One submission is clearly the best.".to_owned(),
        n if n == summary.n_ranked => {
            format!("No submission is clearly the best: all {n} are tied for first.")
        }
        n => format!("{n} submissions are tied for first."),
    };
    let resolution = summary.resolution.map_or_else(String::new, |resolution| {
        format!(
            " This test set can usually (80 % of the time) separate two scores that differ by {} or more. \
             With many submissions the difference must be larger.",
            rough(resolution)
        )
    });
    let missing = without_range(summary);
    let clusters = if summary.is_clustered {
        " Items that depend on each other are drawn together."
    } else {
        ""
    };
    let scores = summary.why_no_score_intervals.as_ref();
    let scores = scores.map_or_else(String::new, |why| format!(" Scores have no intervals: {why}."));
    format!(
        "{best}{resolution}{missing}{clusters}{scores} Ranges and intervals hold with 95 % confidence for each row alone."
    )
}

/// A sentence on the reliability of the ranks by area, if rows are compared by area.
fn by_area(summary: &Summary) -> String {
    let Some(n_best) = summary.n_best_by_area.filter(|_| summary.n_ranked > 1) else {
        return String::new();
    };
    let best = match n_best {
        1 => "one submission is clearly the best".to_owned(),
        n => format!("{n} submissions are tied for first"),
    };
    format!(
        " By the area under the curve, {best}. Ranges by area are not of the rank by score, \
         and hold with 95 % confidence for each row alone.{}",
        without_range(summary)
    )
}

fn without_range(summary: &Summary) -> String {
    match summary.n_missing {
        0 => String::new(),
        1 => " One submission has no range until the board is scored again.".to_owned(),
        n => format!(" {n} submissions have no range until the board is scored again."),
    }
}

/// A row's rank, or why it has none.
pub(super) fn place(ranked: &Ranked) -> String {
    match ranked.shown_rank() {
        Some(rank) => rank.to_string(),
        None if ranked.entry.is_baseline => "baseline".into(),
        None => "other data set".into(),
    }
}

/// A number of a column: whole as it is, others with four digits.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        value.to_string()
    } else {
        score(value)
    }
}

#[cfg(test)]
mod tests {
    use dataperf::Timestamp;
    use dataperf::comparison::Summary as Stored;

    use super::*;

    #[test]
    fn a_displayed_interval_contains_the_exact_one() {
        assert_eq!(interval_in_words((0.786, 0.9), Some(2)), "0.78 to 0.90");
        assert_eq!(interval_in_words((-0.00011, 0.12341), None), "-0.0002 to 0.1235");
        assert_eq!(interval_in_words((0.3, 0.3 + 1e-12), Some(1)), "0.3 to 0.3");
        assert_eq!(
            ["0.0042", "0.25", "12"].map(|shown| rough(shown.parse().unwrap_or(0.0))),
            ["0.0042", "0.25", "12"]
        );
    }

    #[test]
    fn a_board_of_one_group_says_so() {
        let summary = |n_best| Stored {
            schema: 1,
            compared_at: Timestamp::from_unix_millis(0),
            dataset: None,
            n_rows: 4,
            n_ranked: 3,
            n_missing: 0,
            n_best,
            resolution: Some(0.25),
            is_clustered: false,
            why_none: None,
            why_no_score_intervals: None,
            n_best_by_area: None,
        };
        let message = |n_best| in_words(&Summary::from(&summary(n_best)));
        assert!(
            message(1).starts_with("One submission is clearly the best. This test set"),
            "{}",
            message(1)
        );
        assert!(
            message(2).starts_with("2 submissions are tied for first. "),
            "{}",
            message(2)
        );
        assert!(
            message(3).starts_with("No submission is clearly the best: all 3 are tied"),
            "{}",
            message(3)
        );
        assert!(message(3).contains("differ by 0.25 or more"), "{}", message(3));
        let summary = Stored {
            n_missing: 2,
            is_clustered: true,
            why_no_score_intervals: Some(NoIntervals::WorstOfGroups),
            ..summary(2)
        };
        let message = in_words(&Summary::from(&summary));
        for part in [
            "2 submissions have no range until the board is scored again",
            "are drawn together",
            "Scores have no intervals: the score is the smallest of several accuracies",
        ] {
            assert!(message.contains(part), "{message}");
        }
        let summary = Stored {
            why_none: Some(NoIntervals::ScoresRounded),
            n_best_by_area: Some(1),
            ..summary
        };
        let message = in_words(&Summary::from(&summary));
        for part in [
            "No intervals of scores: the round rounds",
            "By the area under the curve, one submission is clearly the best.",
            "2 submissions have no range until",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
