//! A submitted program's view of a pool: the participants' examples under numbers, and the public
//! test set.

use serde_json::json;

use super::{POOL, Parameters, Selection};
use crate::closed::{Ids, document};
use crate::own_data::closed::{table, validation};
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::{DatasetError, Files};

/// Programs that select examples.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let question = json!({
            "max_examples": parameters.board(leaderboard)?.max_examples, "labels": parameters.labels,
            "classes": parameters.scoring.classes, "model": parameters.scoring.model, "metric": parameters.scoring.metric,
        });
        let mut given = vec![document::<Selection>(leaderboard, question)];
        let ids = table(files, POOL, "pool", seed, &mut given).await?;
        validation(files, seed, &mut given).await?;
        let ids = Ids::new("pool.csv", ids);
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |key, value, at| match key {
                    "ids" => ids.list(value, at, reasons),
                    "labels" => ids.keys(value, at, reasons),
                    _ => value,
                })
            }),
        })
    }
}
