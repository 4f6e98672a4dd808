//! The description of Adversarial Text for the platform.

use crate::common::{LineItem, words};
use dataperf::benchmark::PUBLIC;
use dataperf::benchmark::scorecard::Metric;
use dataperf::challenge::Ranking;
use dataperf::{Collects, Column, Descriptor, Direction, Feedback, Fixed};

use crate::text::configuration::Parameters;
use crate::text::lines::Example;
use crate::text::task::Task;

/// The collection's id: the first part of every key and of every partition.
pub const BENCHMARK: &str = "adversarial-text";
/// One line about it.
pub const ABOUT: &str = "Adversarial Text: examples that fool the round's models, validated by people";

/// Which score the boards show, in a challenge or outside: the latest, because it covers all of an
/// annotator's examples so far.
pub const RANKING: Ranking = Ranking::Latest;

/// The parts of its scores and the notes in its receipts. They come from models' answers and
/// raters' verdicts, not from a hidden data set, so all of them are shown.
pub const METRICS: &[Metric] = &[
    Metric::value("n_submitted", "examples", Feedback::Score),
    Metric::value("n_fooling", "fooling", Feedback::Score),
    Metric::value("n_pending", "pending", Feedback::Score),
    Metric::value("n_validated", "validated", Feedback::Score),
    Metric::value("n_refused", "refused", Feedback::Score),
    Metric::value("n_flagged", "flagged", Feedback::Score),
    Metric::value("n_duplicates", "duplicates", Feedback::Score),
    Metric::value("vmer_low", "validated error rate", Feedback::Score),
    Metric::value("vmer_high", "with all pending", Feedback::Score),
    Metric::value("vmer_low_from", "95 % from", Feedback::Score),
    Metric::value("vmer_high_to", "95 % to", Feedback::Score),
    Metric::value("examples_used", "examples today", Feedback::Score),
    Metric::value("examples_a_day", "examples a day", Feedback::Score),
    Metric::value("examples_reset_at", "count restarts at", Feedback::Score),
    Metric::value(
        "answers_left_out",
        "lines without the models' answers",
        Feedback::Score,
    ),
    Metric::value("verdicts_used", "verdicts today", Feedback::Score),
    Metric::value("verdicts_a_day", "verdicts a day", Feedback::Score),
    Metric::value("verdicts_reset_at", "count restarts at", Feedback::Score),
    Metric::value("well_being", "well-being", Feedback::Score),
];

/// The columns of an annotator's row besides the score, which is the number of validated examples
/// that fool the models.
const COLUMNS: &[Column] = &[
    Column {
        title: "examples",
        metrics: &["n_submitted"],
    },
    Column {
        title: "pending",
        metrics: &["n_pending"],
    },
    Column {
        title: "validated",
        metrics: &["n_validated"],
    },
    Column {
        title: "refused",
        metrics: &["n_refused"],
    },
    Column {
        title: "error rate",
        metrics: &["vmer_low", "vmer_high"],
    },
    Column {
        title: "95 % of the rate",
        metrics: &["vmer_low_from", "vmer_high_to"],
    },
];

/// The largest file of any kind that is read at all.
const MAX_BYTES: u64 = <Example as LineItem>::MAX_BYTES;

/// The description of Adversarial Text. It collects texts and scores people, so it is no
/// [`Benchmark`](dataperf::Benchmark). It has a board for each task of its data set.
pub const DESCRIPTOR: Descriptor = Descriptor {
    id: BENCHMARK,
    about: ABOUT,
    direction: Direction::HigherIsBetter,
    score_range: [0.0, f64::MAX], // a number of examples has no end
    max_artifact_bytes: MAX_BYTES,
    forms: &["jsonl"],
    metrics: METRICS,
    has_hidden_data: false,
    counted_rejections: &[],
    takes_programs: false,
    only_programs: false,
    kinds: &["submit", "verdict"],
    max_bytes_of_kind: |kind| {
        let kind = kind.parse().ok();
        kind.map_or(MAX_BYTES, Kind::max_bytes)
    },
    collects: Some(Collects {
        item: "example",
        daily_allowances: |manifest| Ok(manifest.parameters::<Parameters>()?.daily_allowances()),
    }),
    columns: COLUMNS,
    leaderboards: |manifest| {
        let boards = manifest.parameters::<Parameters>()?.leaderboards;
        Ok(boards
            .into_iter()
            .map(|board| {
                let title = board
                    .name
                    .parse()
                    .map_or(board.name.clone(), |task: Task| task.title().to_owned());
                board.with_title(title).with_metric("validated examples")
            })
            .collect())
    },
    is_public: |path| path.starts_with(PUBLIC),
    evaluations: |manifest| {
        let boards = manifest.parameters::<Parameters>()?.leaderboards;
        Ok(boards
            .into_iter()
            .map(|board| (board.name.clone(), board.name))
            .collect())
    },
    rules_of_programs: |_| Ok(serde_json::Value::Null),
    function: |part| match part {
        // a step of a score follows from a verdict
        "verdict" | "nli" | "qa" | "sentiment" | "hate-speech" => "adversarial-text-verdict",
        // one of the functions has to refuse what is for none of them
        _ => "adversarial-text-submit",
    },
    fixed: Some(Fixed {
        ranking: RANKING,
        why_ranking: "an annotator's score always covers all examples so far: leave `ranking` out",
        leaderboards: &["nli", "qa", "sentiment", "hate-speech"],
        all_leaderboards: "all four leaderboards",
        without: &[
            ("daily_limit", EXAMPLES_A_DAY),
            ("total_limit", EXAMPLES_A_DAY),
            ("daily_failures", EXAMPLES_A_DAY),
            (
                "baselines",
                "every submitter named `baseline-…` is a baseline: leave `baselines` out",
            ),
        ],
        why_private: "uploads are private here, because they show who wrote what: publish the round's data set with \
            `dataperf dynamic export`",
    }),
};
const EXAMPLES_A_DAY: &str =
    "use `examples_a_day` in the data set's configuration instead, which limits examples";

/// The two kinds of artifact: the second part of an upload's key, where benchmarks have the leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Examples.
    Submit,
    /// Raters' verdicts on examples.
    Verdict,
}

impl Kind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Submit, Self::Verdict];

    /// The word in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Verdict => "verdict",
        }
    }
}

words!(Kind is "a kind of artifact", "`submit` or `verdict`");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_matches_its_types() {
        assert_eq!(DESCRIPTOR.kinds, Kind::ALL.map(Kind::as_str));
        let boards = DESCRIPTOR.fixed.map(|fixed| fixed.leaderboards.to_vec());
        assert_eq!(boards, Some(Task::ALL.map(Task::as_str).to_vec()));
        for name in COLUMNS.iter().flat_map(|column| column.metrics) {
            let metric = METRICS.iter().find(|metric| metric.path == *name);
            assert_eq!(metric.map(|metric| metric.level), Some(Feedback::Score), "{name}");
        }
        for kind in Kind::ALL {
            let key = format!("{BENCHMARK}/{kind}/ada/x.jsonl");
            assert_eq!(DESCRIPTOR.function_of(&key), format!("{BENCHMARK}-{kind}"));
        }
        for task in Task::ALL {
            let key = format!("{BENCHMARK}/{task}/ada/x");
            assert_eq!(DESCRIPTOR.function_of(&key), format!("{BENCHMARK}-verdict"));
        }
        for key in [BENCHMARK, "adversarial-text/other/ada/x", ""] {
            assert_eq!(DESCRIPTOR.function_of(key), format!("{BENCHMARK}-submit"));
        }
    }
}
