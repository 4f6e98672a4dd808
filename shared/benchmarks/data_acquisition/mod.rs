//! Data Acquisition (paper 2.3.4): decide how many samples to buy from each seller of a market, seeing summaries only,
//! so that a model trained on them does well on the buyer's data.
//!
//! The data set has for each market
//! - `MARKET/features.safetensors`: `features`, `(n_rows, n_features)`: the sellers' rows, seller after seller, as 32-bit
//!   floats or [`Decimals`](dataperf_numerics::numbers::Decimals) where these are the source's very numbers, else as 64-bit floats.
//!   Hidden;
//! - `MARKET/labels.safetensors`: `labels`, `(n_rows,)` bytes, 0 or 1. Hidden;
//! - `MARKET/buyer.safetensors`: `features` and `labels` of the buyer's test set. Hidden;
//! - `public/MARKET/market.json` and `public/MARKET/SELLER.json`: what participants see.

mod artifact;
#[cfg(feature = "baselines")]
pub(crate) mod baselines;
mod buyer_model;
pub(crate) mod closed;
mod frozen;
#[cfg(feature = "import")]
mod import;
pub(crate) mod market;
mod metric;
mod model;
#[cfg(feature = "import")]
pub(crate) mod seller_summary;
mod validation;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use artifact::Artifact;
pub use buyer_model::BuyerModel;
pub use frozen::Frozen;
pub use market::{Market, Seller};
pub use validation::Checked;

use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The name of the tensors with features.
pub const FEATURES: &str = "features";
/// The name of the tensors with labels.
pub const LABELS: &str = "labels";
/// The public challenge's seed: the trials of every market begin with it.
pub const SEED: u32 = 1111;
/// The public challenge's number of trials, that is of sampled training sets, in each market.
pub const N_TRIALS: usize = 10;
const LEADERBOARD: &str = "open";
/// The code of the rejection of a purchase that leaves the model with rows of one label only; it follows from the sellers' hidden
/// labels.
const ONE_LABEL: &str = "one_label";

/// The path of a market's frozen file with the sellers' rows.
pub fn features_file(market: u32) -> String {
    format!("{market}/features.safetensors")
}

/// The path of a market's frozen file with the sellers' labels.
pub fn labels_file(market: u32) -> String {
    format!("{market}/labels.safetensors")
}

/// The path of a market's frozen file with the buyer's test set.
pub fn eval_file(market: u32) -> String {
    format!("{market}/buyer.safetensors")
}

/// The path of a seller's public summary, by the seller's number from 0.
pub fn seller_file(market: u32, seller: usize) -> String {
    format!("public/{market}/{seller}.json")
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The model that the buyer trains.
    pub buyer_model: BuyerModel,
    /// The seed of the sampling, which starts again in every market.
    pub seed: u32,
    /// The number of training sets that are sampled in each market.
    pub n_trials: usize,
    /// The markets by number.
    pub markets: BTreeMap<u32, Market>,
}

/// The benchmark.
pub struct DataAcquisition;

impl Benchmark for DataAcquisition {
    const ID: &'static str = "data-acquisition";
    const ABOUT: &'static str =
        "decide how many samples to buy from whom, within a budget and without seeing them";
    const MAX_ARTIFACT_BYTES: u64 = 64 << 10;
    const FORMS: &'static [&'static str] = &["json", "zip"];
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("markets/*/accuracy", "accuracy", Feedback::Metrics),
        Metric::value("markets/*/per_trial", "accuracy of each trial", Feedback::Metrics).with_form(
            Form::Trials {
                over: "trial",
                labels: None,
            },
        ),
        Metric::value(
            "markets/*/std",
            "standard deviation over the trials",
            Feedback::Metrics,
        ),
        Metric::value("markets/*/cost", "cost", Feedback::Score),
        Metric::value("markets/*/budget", "budget", Feedback::Score),
        Metric::value("markets/*/n_bought", "samples of a trial", Feedback::Score),
        Metric::value("buyer_model", "buyer's model", Feedback::Score),
    ];
    const COUNTED_REJECTIONS: &'static [&'static str] = &[ONE_LABEL];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        Ok(Checked::new(Artifact::parse(artifact)?, frozen)?)
    }

    /// Markets are evaluated one after another, because the rows of a single one may take hundreds of megabytes.
    async fn run(checked: &Checked, frozen: &Frozen, files: &Files<'_>) -> Result<Evidence, NotScored> {
        let mut units = Vec::new();
        for bought in checked.markets() {
            frozen.buyer_labels(bought.market)?; // in a kit there are none, and no rows to read
            let rows: Vec<usize> = bought.rows.iter().map(|&row| row as usize).collect();
            let rows = files.rows(&features_file(bought.market), FEATURES, &rows).await?;
            units.push(model::evidence(bought, frozen, &rows)?);
        }
        Ok(Evidence::from_iter(units))
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }
}
