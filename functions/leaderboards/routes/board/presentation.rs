//! How a board is shown.

use dataperf::benchmark::Leaderboard;
use serde::Serialize;
use utoipa::ToSchema;

use crate::routes::MOUNTED_AT;

/// How a board is shown, beside its name and its line, and what it takes, as the data set says; each `null` where it says nothing.
#[derive(Clone, Default, Serialize, ToSchema)]
pub(crate) struct Presentation {
    /// What people call it.
    title: Option<String>,
    /// What a submission is made of, in the plural.
    #[schema(example = "rows")]
    unit: Option<String>,
    /// How many digits after the decimal point its scores are shown with.
    digits: Option<u8>,
    /// The number that its scores are.
    #[schema(example = "macro F1")]
    metric: Option<String>,
    /// The model that turns a submission into a score.
    #[schema(example = "logistic regression (C = 1)")]
    model: Option<String>,
    /// The address of its picture, from the root of this API's host.
    #[schema(example = "/api/v1/benchmarks/speech-selection/leaderboards/en-25/picture")]
    picture: Option<String>,
    /// The keys that the object of a submission in JSON may have; empty where any are taken, or no JSON.
    #[schema(example = json!(["targets", "nontargets"]))]
    keys: Vec<String>,
}

impl Presentation {
    pub(crate) fn new(benchmark: &str, settings: &Leaderboard) -> Self {
        let address = |_: &String| {
            format!(
                "{MOUNTED_AT}/benchmarks/{benchmark}/leaderboards/{}/picture",
                settings.name
            )
        };
        Self {
            title: settings.title.clone(),
            unit: settings.unit.clone(),
            digits: settings.digits,
            metric: settings.metric.clone(),
            model: settings.model.clone(),
            picture: settings.picture.as_ref().map(address),
            keys: settings.keys.clone(),
        }
    }
}
