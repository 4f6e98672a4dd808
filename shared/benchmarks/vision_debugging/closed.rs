//! A submitted program's view of each task: the images with their given labels, and the validation
//! images, if there are any.

use std::collections::BTreeMap;

use serde_json::json;

use super::{EMBEDDINGS, LABELS, Parameters, VisionDebugging, train_file, validation_file};
use crate::closed::{Stored, csv_file, document};
use dataperf::benchmark::closed::{ClosedTask, DataFile, Seed, each_member};
use dataperf::dataset::frozen::{Dtype, FrozenError};
use dataperf::dataset::{DatasetError, Files};
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons};

/// Programs that order images.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let question = json!({
            "tasks": parameters.tasks, "target_share": parameters.target_share, "n_features": parameters.n_features,
        });
        let mut given = vec![document::<VisionDebugging>(leaderboard, question)];
        let mut orders = BTreeMap::new();
        for task in &parameters.tasks {
            let order = images(
                files,
                &train_file(task),
                &format!("train-{task}"),
                seed,
                &mut given,
            )
            .await?;
            orders.insert(task.clone(), order);
            let path = validation_file(task);
            if files.has(&path) {
                images(files, &path, &format!("validation-{task}"), seed, &mut given).await?;
            }
        }
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |task, listed, at| match orders.get(task) {
                    Some(order) => renumbered(listed, order, at, reasons),
                    None => listed,
                })
            }),
        })
    }
}

/// Adds a file's images and labels to the program's files under a name. Returns their order.
async fn images(
    files: &Files<'_>,
    path: &str,
    name: &str,
    seed: Seed,
    given: &mut Vec<DataFile>,
) -> Result<Vec<usize>, DatasetError> {
    let shape = files
        .manifest()
        .tensor(path, EMBEDDINGS, Dtype::F32, 2)?
        .shape
        .clone();
    let stored = Stored {
        bytes: files.tensor(path, EMBEDDINGS).await?,
        dtype: Dtype::F32,
        n_rows: shape[0],
        n_cols: shape[1],
    };
    let labels = files.classes(path, LABELS).await?;
    if labels.len() != stored.n_rows {
        return Err(FrozenError::damaged(path, "it has not one label for each row").into());
    }
    let order = seed.order(name, labels.len());
    given.push(stored.npy(name, &order, path)?);
    let lines = order.iter().enumerate();
    let lines = lines.map(|(number, &row)| vec![number.to_string(), labels[row].to_string()]);
    given.push(csv_file(name, &["id", "label"], lines)?);
    Ok(order)
}

/// Translates a program's numbers into the data set's. A value that is no number is returned unchanged, for the ordinary rules to
/// refuse.
fn renumbered(listed: Json, order: &[usize], at: &str, reasons: &mut Reasons) -> Json {
    let Json::Array(items) = listed else {
        return listed;
    };
    let item = |(idx, item): (usize, Json)| {
        let Json::Number(number) = &item else {
            return item;
        };
        let row = number
            .as_u64()
            .and_then(|number| order.get(usize::try_from(number).ok()?));
        if let Some(&row) = row {
            return Json::Number(row.into());
        }
        let message = format!(
            "the image `{number}` does not exist: the images are 0 to {}",
            order.len().saturating_sub(1)
        );
        reasons.add(Reason::new("index_out_of_range", format!("{at}/{idx}"), message));
        item
    };
    Json::Array(items.into_iter().enumerate().map(item).collect())
}
