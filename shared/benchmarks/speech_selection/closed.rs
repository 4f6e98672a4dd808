//! A submitted program's view of a language: the allowed clips, each with its word.

use serde_json::json;

use super::{EMBEDDINGS, Parameters, SpeechSelection, train_file, train_ids_file};
use crate::closed::{Ids, Stored, csv_file, document};
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::frozen::{Dtype, FrozenError};
use dataperf::dataset::{DatasetError, Files};

/// Programs that select clips.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters = Parameters::from_settings(files.manifest())?;
        let limits = parameters.limits(leaderboard)?;
        let language = parameters.language(&limits.language)?;
        let (path, ids_path) = (train_file(&limits.language), train_ids_file(&limits.language));
        let shape = files
            .manifest()
            .tensor(&path, EMBEDDINGS, Dtype::F32, 2)?
            .shape
            .clone();
        let stored = Stored {
            bytes: files.tensor(&path, EMBEDDINGS).await?,
            dtype: Dtype::F32,
            n_rows: shape[0],
            n_cols: shape[1],
        };
        let ids = files.whole(&ids_path).await?;
        let ids =
            std::str::from_utf8(&ids).map_err(|_| FrozenError::damaged(&ids_path, "it is not UTF-8"))?;
        let ids: Vec<&str> = ids.lines().collect();
        if ids.len() != stored.n_rows {
            return Err(FrozenError::damaged(&ids_path, "it has not one id for each row").into());
        }
        let order = seed.order("clips", ids.len());
        let word_of = |row: usize| {
            let word = language.targets.iter().find(|(_, rows)| rows.contains(row));
            word.map_or(String::new(), |(word, _)| word.clone())
        };
        let lines = order
            .iter()
            .enumerate()
            .map(|(number, &row)| vec![number.to_string(), word_of(row)]);
        let question = json!({
            "max_clips": limits.max_clips, "words": language.targets.keys().collect::<Vec<_>>(),
            "n_clips": ids.len(), "n_features": stored.n_cols,
        });
        let given = vec![
            document::<SpeechSelection>(leaderboard, question),
            stored.npy("pool", &order, &path)?,
            csv_file("pool", &["id", "label"], lines)?,
        ];
        let ids = Ids::new("pool.csv", order.iter().map(|&row| ids[row].to_owned()).collect());
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |key, value, at| match key {
                    "targets" => each_member(value, at, |_, list, at| ids.list(list, at, reasons)),
                    "nontargets" => ids.list(value, at, reasons),
                    _ => value,
                })
            }),
        })
    }
}
