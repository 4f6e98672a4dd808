//! What a board says in words.

use dataperf::NoIntervals;
use dataperf::comparison::Summary;
use dataperf::finishing::FinalReport;
use dataperf::ports::leaderboard::Ranked;

use crate::output::{SCORE_DIGITS, score, shown_score};

/// A reason without intervals, as a sentence.
pub(super) fn sentence(why: Option<NoIntervals>) -> Option<String> {
    why.map(|why| why.to_string())
}

/// How a final board differs from the public one, in a sentence.
pub(super) fn shaken(report: &FinalReport) -> String {
    let shake_up = report.shake_up.map_or_else(
        || "there are too few submissions for a shake-up".to_owned(),
        |shake_up| {
            format!(
                "shake-up {shake_up:.3}: the mean change of rank, as a share of {} submissions",
                report.n_ranked
            )
        },
    );
    let state = match report.finished_at {
        Some(at) => format!("finished {at}"),
        None => "not all are scored yet".to_owned(),
    };
    let rejected = match report.n_rejected {
        0 => String::new(),
        n => format!("; {n} are against the rules of the final data set"),
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

/// Why there are no intervals, or none of ranks.
pub(super) fn no_intervals(why: &NoIntervals) -> String {
    let of = if why.is_of_ranks() { " of ranks" } else { "" };
    format!("no intervals{of}: {why}")
}

/// What the ranks of a board are worth, in a sentence.
pub(super) fn in_words(summary: &Summary) -> String {
    if let Some(why) = &summary.why_none {
        return no_intervals(why);
    }
    let best = match summary.n_best {
        _ if summary.n_ranked < 2 => {
            return "fewer than two ranked submissions: nothing to compare yet".to_owned();
        }
        1 => "one submission is clearly the best of the ranked ones".to_owned(),
        n if n == summary.n_ranked => {
            format!("no submission is clearly the best: any of the {n} may be")
        }
        n => format!("any of {n} submissions may be the best"),
    };
    let resolution = summary.resolution.map_or_else(String::new, |resolution| {
        format!(
            "; with this eval set two neighbours that differ by {} or more are told apart in 80 % of cases, \
             if these two alone are compared; among many submissions the difference has to be larger",
            rough(resolution)
        )
    });
    let missing = match summary.n_missing {
        0 => String::new(),
        1 => "; one submission can't be compared until the board is scored again, and may have any rank"
            .to_owned(),
        n => format!(
            "; {n} submissions can't be compared until the board is scored again, and may have any rank"
        ),
    };
    let clusters = if summary.is_clustered {
        "; items that depend on each other count as one: whole clusters are drawn"
    } else {
        ""
    };
    let scores = summary.why_no_score_intervals.as_ref();
    let scores = scores.map_or_else(String::new, |why| format!("; no intervals of scores: {why}"));
    format!("{best} (95 % for each row, not for all rows at once){resolution}{missing}{clusters}{scores}")
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
    use dataperf::{NoIntervals, Timestamp};

    use super::*;

    #[test]
    fn what_is_shown_of_an_interval_contains_it() {
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
        let summary = |n_best| Summary {
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
        };
        let said = |n_best| in_words(&summary(n_best));
        assert!(
            said(1).starts_with("one submission is clearly the best of the ranked ones (95 % for each row, not for all rows at once); "),
            "{}",
            said(1)
        );
        assert!(
            said(2).starts_with(
                "any of 2 submissions may be the best (95 % for each row, not for all rows at once); "
            ),
            "{}",
            said(2)
        );
        assert!(
            said(3).starts_with("no submission is clearly the best: any of the 3 may be"),
            "{}",
            said(3)
        );
        assert!(said(3).contains("differ by 0.25 or more"), "{}", said(3));
        let summary = Summary {
            n_missing: 2,
            is_clustered: true,
            why_no_score_intervals: Some(NoIntervals::WorstOfGroups),
            ..summary(2)
        };
        let said = in_words(&summary);
        for part in [
            "2 submissions can't be compared until the board is scored again",
            "whole clusters are drawn",
            "no intervals of scores: the score is the smallest of several accuracies",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
