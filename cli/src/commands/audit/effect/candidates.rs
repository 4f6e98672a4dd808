//! The submissions to score on both versions: those in a folder, or those on a cloud's board.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use dataperf::board::Board;
use dataperf::comparison::MAX_ROWS;
use dataperf::evidence::MAX_EVIDENCE_BYTES;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::replicates::{HEAD_BYTES, Replicates};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Digest, Upload};

use super::LeftOut;
use crate::cloud::Cloud;
use crate::output::progress;

/// A submission to score with both versions.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) submission: Option<String>,
    pub(super) is_baseline: bool,
    /// The score on the board.
    pub(super) recorded: Option<f64>,
    /// The stored evidence and replicates.
    pub(super) kept: Option<Bytes>,
    pub(super) artifact: Source,
}

/// The place of an artifact.
pub(super) enum Source {
    File(PathBuf),
    Uploaded(Upload),
}

/// The artifacts of a folder, `SUBMITTER/FILE`.
pub(super) fn candidates_in(folder: &Path) -> Result<Vec<Candidate>> {
    let about = |path: &Path| format!("can't list `{}`", path.display());
    let listed = |path: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(path).with_context(|| about(path))?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| about(path))?;
        paths.retain(|path| {
            path.file_name()
                .is_some_and(|name| !name.to_string_lossy().starts_with('.'))
        });
        paths.sort();
        Ok(paths)
    };
    let mut candidates = Vec::new();
    for submitter in listed(folder)?.into_iter().filter(|path| path.is_dir()) {
        let name = |path: &Path| {
            path.file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let files: Vec<PathBuf> = listed(&submitter)?
            .into_iter()
            .filter(|path| path.is_file())
            .collect();
        for file in &files {
            let submitter_name = name(&submitter);
            candidates.push(Candidate {
                is_baseline: submitter_name.starts_with(dataperf::challenge::BASELINE_PREFIX),
                name: if files.len() == 1 {
                    submitter_name
                } else {
                    format!("{submitter_name}/{}", name(file))
                },
                submission: None,
                recorded: None,
                kept: None,
                artifact: Source::File(file.clone()),
            });
        }
    }
    if candidates.is_empty() {
        bail!(
            "`{}` has no submissions: a folder for each submitter is expected, with artifacts in it",
            folder.display()
        );
    }
    Ok(candidates)
}

/// The submissions on a board, and those that can't be compared.
pub(super) async fn candidates_of(
    cloud: &Cloud,
    board: &Board,
    dataset: Digest,
) -> Result<(Vec<Candidate>, Vec<LeftOut>)> {
    let (table, results) = (cloud.leaderboards(), cloud.results());
    let rows = table.top(board, MAX_ROWS).await?;
    if rows.is_empty() {
        bail!(
            "the board `{}` of {} has no submissions in the round `{}`",
            board.leaderboard,
            board.benchmark,
            board.round
        );
    }
    let bar = progress::counting(rows.len() as u64, "reading evidence");
    let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
    let mut names = BTreeMap::<String, usize>::new();
    for row in &rows {
        *names.entry(row.entry.submitter.clone()).or_default() += 1;
    }
    for row in rows {
        bar.inc(1);
        let entry = row.entry;
        let name = match names[&entry.submitter] {
            1 => entry.submitter.clone(),
            _ => format!(
                "{}/{}",
                entry.submitter,
                &entry.id.as_str()[..8.min(entry.id.as_str().len())]
            ),
        };
        if entry.dataset != Some(dataset) {
            let why = entry
                .dataset
                .map_or("an unnamed data set".to_owned(), |dataset| dataset.to_string());
            left_out.push(LeftOut {
                name,
                why: format!("it is scored with {why}"),
            });
            continue;
        }
        let known = table.submission(&board.benchmark, &entry.id).await?;
        let Some(upload) = known.map(|known| known.upload) else {
            continue;
        };
        let max_bytes = (HEAD_BYTES + 2 * MAX_EVIDENCE_BYTES) as u64;
        let kept = results
            .get(&Replicates::key(&board.benchmark, &entry.id), None, max_bytes)
            .await?;
        candidates.push(Candidate {
            name,
            submission: Some(entry.id.as_str().to_owned()),
            is_baseline: entry.is_baseline,
            recorded: entry.score,
            kept: match kept {
                Got::Object(object) => Some(object.bytes),
                Got::Missing | Got::TooLarge { .. } => None,
            },
            artifact: Source::Uploaded(upload),
        });
    }
    bar.finish_and_clear();
    Ok((candidates, left_out))
}
