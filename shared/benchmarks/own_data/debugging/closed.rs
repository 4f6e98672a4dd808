//! A submitted program's view of a training set: its examples under numbers, and the public test
//! set.

use serde_json::json;

use super::{Debugging, Parameters, TRAIN};
use crate::closed::{Ids, document};
use crate::own_data::closed::{table, validation};
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::{DatasetError, Files};

/// Programs that order examples.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let question = json!({
            "target_share": parameters.target_share, "classes": parameters.scoring.classes,
            "model": parameters.scoring.model, "metric": parameters.scoring.metric,
        });
        let mut given = vec![document::<Debugging>(leaderboard, question)];
        let ids = table(files, TRAIN, "train", seed, &mut given).await?;
        validation(files, seed, &mut given).await?;
        let ids = Ids::new("train.csv", ids);
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |key, value, at| match key {
                    "order" => ids.list(value, at, reasons),
                    _ => value,
                })
            }),
        })
    }
}
