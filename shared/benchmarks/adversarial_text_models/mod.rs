//! Programs that answer the texts which people wrote to fool models, scored by their right answers over all rounds of Adversarial
//! Text, by what they cost, and by whether answers stay when a text is misspelt or is about other people.
//!
//! The data set has
//! - `public/inputs.jsonl`: the inputs that a program is asked, one a line: the examples of all rounds as they are,
//!   misspelt, and with other people, in one order that does not tell which is which;
//! - `rounds/ROUND.safetensors`: `items`, `(n_items, 7)` unsigned 32-bit integers: of each example of the round the numbers of its three
//!   inputs, of its label among the task's, of a span where it begins and how many characters it has, and of the annotator who wrote it,
//!   among those of all rounds. Hidden;
//! - where the examples are for practice, `public/rounds/ROUND.safetensors`: the same, for participants.
//!
//! An artifact has the answers that a program wrote, and what its run took: [`with_measured`](dataperf::benchmark::closed::ClosedBoards::with_measured). People can't upload one.
//!
//! # Source
//! Dynabench's models (Ma et al. 2021, *Dynaboard*), ranked by rates that are fixed in advance instead of its Dynascore.

mod artifact;
#[cfg(feature = "baselines")]
mod baselines;
mod closed;
mod frozen;
#[cfg(feature = "import")]
mod import;
mod metric;
mod model;
mod validation;

use std::ops::RangeInclusive;

use dataperf_collections::text::compare::{Rates, TrialRun};
use serde::{Deserialize, Serialize};

pub use artifact::Artifact;
pub use frozen::Frozen;
pub use validation::Checked;

use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::Metric;
use dataperf::benchmark::{Benchmark, NotScored, PUBLIC};
use dataperf::dataset::Files;
use dataperf::evidence::{Draws, Evidence, EvidenceError, Weights};

/// The file of a program's inputs.
pub const INPUTS_FILE: &str = "public/inputs.jsonl";
/// The name of the tensor with a round's examples.
pub const ITEMS: &str = "items";
/// The number of numbers that describe an example in [`ITEMS`].
pub const ITEM_NUMBERS: usize = 7;
/// The value in [`ITEMS`] for an input, a label or a span that an example does not have.
pub const NONE: u32 = u32::MAX;
/// The most inputs that a data set may have.
pub const MAX_INPUTS: usize = 50_000;
/// The one board.
pub const LEADERBOARD: &str = "models";

/// The path of the hidden file with a round's examples.
pub(crate) fn round_file(round: &str) -> String {
    format!("rounds/{round}.safetensors")
}

/// The path of the public file with a round's examples, where they are for practice.
pub fn practice_file(round: &str) -> String {
    format!("{PUBLIC}{}", round_file(round))
}

/// A program's run on all examples, read from its artifact.
///
/// # Errors
/// A [`Rejection`] when the artifact breaks a rule.
pub fn trial_run(name: &str, artifact: &[u8], frozen: &Frozen) -> Result<TrialRun, Rejection> {
    let checked = Checked::new(Artifact::parse(artifact)?, frozen)?;
    Ok(TrialRun {
        name: name.to_owned(),
        measured: checked.measured,
        judged: frozen.trial().judged(&checked.answers),
    })
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// One line for people.
    pub title: String,
    /// The rounds, ascending.
    pub rounds: Vec<String>,
    /// The number of a program's inputs.
    pub n_inputs: usize,
    /// The rates: the gain or cost of a point.
    pub rates: Rates,
}

/// The benchmark.
pub struct AdversarialTextModels;

impl Benchmark for AdversarialTextModels {
    const ID: &'static str = "adversarial-text-models";
    const ABOUT: &'static str = "write a program that reads what fools models: right, cheap, and the same for other spellings and people";
    const MAX_ARTIFACT_BYTES: u64 = 4 << 20;
    const DIRECTION: Direction = Direction::HigherIsBetter;
    // right answers give up to 100 points, robustness and fairness up to 20 each, and compute and memory cost up to 200; a score is
    // points / 100
    const SCORE_RANGE: RangeInclusive<f64> = -2.0..=1.4;
    const METRICS: &'static [Metric] = &[
        Metric::value("performance", "right answers, percent", Feedback::Metrics),
        Metric::value(
            "rounds/*",
            "right answers of each round, percent",
            Feedback::Metrics,
        ),
        Metric::value(
            "tasks/*",
            "right answers of each task, percent",
            Feedback::Metrics,
        ),
        Metric::value(
            "robustness",
            "answers that stay for misspelt texts, percent",
            Feedback::Metrics,
        ),
        Metric::value(
            "fairness",
            "answers that stay for other people, percent",
            Feedback::Metrics,
        ),
        Metric::value("fuel", "millions of units of fuel an input", Feedback::Score),
        Metric::value("memory", "MiB of memory", Feedback::Score),
        Metric::value("points/*", "points", Feedback::Metrics),
        Metric::value("rates/*", "worth a point", Feedback::Score),
        Metric::value("n_items", "examples", Feedback::Metrics),
        Metric::value("n_inputs", "inputs", Feedback::Score),
    ];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        Ok(Checked::new(Artifact::parse(artifact)?, frozen)?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        Ok(model::evidence(checked, frozen)?)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }

    fn replicates(frozen: &Frozen, evidence: &Evidence, draws: &Draws) -> Result<Vec<f64>, EvidenceError> {
        metric::replicates(frozen, evidence, draws)
    }
}
