//! A submitted program's view: all candidates of the pool, and the example images of each concept.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::json;

use super::{POOL_FILE, Parameters, VisionSelection, examples_file};
use crate::closed::{Ids, Stored, csv_file, document};
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::frozen::{Dtype, FrozenError};
use dataperf::dataset::pool::RECORDS;
use dataperf::dataset::{DatasetError, Files};

/// Programs that select and label images.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let Parameters {
            concepts,
            max_examples,
            n_features,
            id_bytes,
        } = files.manifest().parameters()?;
        let n_rows = files
            .manifest()
            .tensor(POOL_FILE, RECORDS, Dtype::U8, 2)?
            .n_rows();
        let records = files.tensor(POOL_FILE, RECORDS).await?;
        let record_bytes = id_bytes + 4 * n_features;
        let damaged = |why: &str| FrozenError::damaged(POOL_FILE, why);
        if records.len() != n_rows * record_bytes || record_bytes == 0 {
            return Err(damaged("its records are of another width than the parameters say").into());
        }
        let mut ids = Vec::with_capacity(n_rows);
        let mut vectors = Vec::with_capacity(n_rows * 4 * n_features);
        for record in records.chunks_exact(record_bytes) {
            let (id, vector) = record.split_at(id_bytes);
            let id = std::str::from_utf8(id).map_err(|_| damaged("an id is not UTF-8"))?;
            ids.push(id.trim_end_matches('\0').to_owned());
            vectors.extend_from_slice(vector);
        }
        let stored = Stored {
            bytes: Bytes::from(vectors),
            dtype: Dtype::F32,
            n_rows,
            n_cols: n_features,
        };
        let order = seed.order("candidates", n_rows);
        let number_of: HashMap<&str, usize> = order.iter().map(|&row| ids[row].as_str()).zip(0..).collect();
        let mut examples = Vec::new();
        for concept in &concepts {
            let path = examples_file(concept);
            if !files.has(&path) {
                continue;
            }
            let listed = files.whole(&path).await?;
            let listed =
                std::str::from_utf8(&listed).map_err(|_| FrozenError::damaged(&path, "it is not UTF-8"))?;
            // example images that are no candidates are left out: a program can't choose them and does not have their vectors
            let mut numbers: Vec<usize> = listed
                .lines()
                .filter_map(|id| number_of.get(id).copied())
                .collect();
            numbers.sort_unstable();
            examples.extend(
                numbers
                    .into_iter()
                    .map(|number| vec![concept.clone(), number.to_string()]),
            );
        }
        let question = json!({
            "concepts": concepts, "max_examples": max_examples, "n_images": n_rows, "n_features": n_features,
        });
        let lines = (0..n_rows).map(|number| vec![number.to_string()]);
        let given = vec![
            document::<VisionSelection>(leaderboard, question),
            stored.npy("pool", &order, POOL_FILE)?,
            csv_file("pool", &["id"], lines)?,
            csv_file("examples", &["concept", "id"], examples.into_iter())?,
        ];
        let ids = Ids::new("pool.csv", order.iter().map(|&row| ids[row].clone()).collect());
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |_, labels, at| ids.keys(labels, at, reasons))
            }),
        })
    }
}
