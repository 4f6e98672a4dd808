//! `acquisition`: decide how many examples to buy from each seller of a market, within a budget and seeing summaries only, so
//! that a model trained on them does well on the buyer's test set.
//!
//! Beside the files of every task (see [`own_data`](super)) the data set has
//! - `sellers.npy`: all sellers' features, `(n_rows, n_features)`, seller after seller in the document's order. Hidden;
//! - `sellers.csv`: `label`, a line for each row. Hidden;
//! - `public/market.json` and `public/sellers/NUMBER.json`: prices, budget and the sellers' summaries.

#[cfg(feature = "baselines")]
mod baselines;
mod closed;
mod evaluation;
mod frozen;
mod validation;

use serde::{Deserialize, Serialize};

pub use frozen::Frozen;
pub use validation::{Artifact, Checked};

use super::scoring::NOT_FITTED;
use super::table::{FEATURES, features_file};
use super::{About, Board, Scoring};
pub use crate::data_acquisition::{N_TRIALS, SEED};
use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The name of the table with the sellers' rows.
pub const SELLERS: &str = "sellers";
/// The file with the public part of the market: prices and budget.
pub const MARKET_FILE: &str = "public/market.json";

/// The file with the public summary of the seller with this number, from 0.
pub fn summary_file(seller_idx: usize) -> String {
    format!("public/sellers/{seller_idx}.json")
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The contest's title and description.
    pub about: About,
    /// The classes, the model and the metric, with which a training set gets its score.
    pub scoring: Scoring,
    /// The most that the counts may cost.
    pub budget: f64,
    /// The number of training sets that are sampled.
    pub n_trials: usize,
    /// The seed of the sampling.
    pub seed: u32,
    /// The sellers, in the document's order.
    pub sellers: Vec<Seller>,
    /// The contest's boards.
    pub leaderboards: Vec<Board>,
}

/// One seller. `k` of its rows cost `price * k / n_rows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seller {
    /// The seller's name.
    pub name: String,
    /// The number of rows that the seller has.
    pub n_rows: usize,
    /// The price of all of the seller's rows.
    pub price: f64,
}

/// The `acquisition` task.
pub struct Acquisition;

impl Benchmark for Acquisition {
    const ID: &'static str = "acquisition";
    const ABOUT: &'static str =
        "decide how many examples to buy from each of an organizer's sellers, within a budget";
    const MAX_ARTIFACT_BYTES: u64 = 1 << 20;
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("metric", "metric", Feedback::Score),
        Metric::value("accuracy", "accuracy", Feedback::Metrics),
        Metric::value("balanced_accuracy", "balanced accuracy", Feedback::Metrics),
        Metric::value("macro_f1", "macro F1", Feedback::Metrics),
        Metric::value("f1_per_class/*", "F1 of each class", Feedback::Metrics),
        Metric::value(
            "accuracy_per_group/*",
            "accuracy of each group",
            Feedback::Metrics,
        ),
        Metric::value("per_trial", "score of each trial", Feedback::Metrics).with_form(Form::Trials {
            over: "trial",
            labels: None,
        }),
        Metric::value("std", "standard deviation over the trials", Feedback::Metrics),
        Metric::value("cost", "cost", Feedback::Score),
        Metric::value("budget", "budget", Feedback::Score),
        Metric::value("n_bought", "examples of a trial", Feedback::Score),
        Metric::value("n_eval", "items of the test set", Feedback::Metrics),
        Metric::value("eval_set", "test set", Feedback::Score),
    ];
    const COUNTED_REJECTIONS: &'static [&'static str] = &[NOT_FITTED];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        Ok(Checked::new(Artifact::parse(artifact)?, frozen)?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, files: &Files<'_>) -> Result<Evidence, NotScored> {
        frozen.hidden()?; // in a kit there is nothing, and no rows to read
        let rows: Vec<usize> = checked.rows.iter().map(|&row| row as usize).collect();
        let rows = files.rows(&features_file(SELLERS), FEATURES, &rows).await?;
        evaluation::evidence(checked, frozen, &rows)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        evaluation::scorecard(frozen, evidence, weights)
    }
}
