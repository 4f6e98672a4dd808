//! Boards as the page of a cloud shows them.

use std::collections::BTreeMap;

use anyhow::Result;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::closing::finishing::FinalReport;
use dataperf::rows::ranking::with_shared_ranks;

use super::Shown;
use crate::cloud::api::Page;
use crate::cloud::comparison::Summary;
use crate::hosted::descriptor;

/// The boards of a benchmark with their first `n` rows: those that have some, and the one that is named.
pub(super) async fn boards(
    page: &Page,
    benchmark: &str,
    leaderboard: Option<String>,
    round: Option<String>,
    n: usize,
) -> Result<Vec<Shown>> {
    let board = |leaderboard: String, round: String| Board {
        benchmark: benchmark.to_owned(),
        leaderboard,
        round,
    };
    let mut boards = Vec::new();
    for listed in page.benchmark(benchmark).await?.leaderboards {
        let is_wanted = leaderboard.as_ref().is_none_or(|name| *name == listed.name)
            && round.as_ref().is_none_or(|round| *round == listed.round);
        if is_wanted {
            let shown = shown(page, board(listed.name, listed.round), n).await?;
            boards.extend(Some(shown).filter(|shown| !shown.top.is_empty()));
        }
    }
    if let Some(leaderboard) = leaderboard.filter(|_| boards.is_empty()) {
        let round = round.unwrap_or_else(|| OPEN_ROUND.into());
        boards.push(shown(page, board(leaderboard, round), n).await?);
    }
    Ok(boards)
}

/// A board with its first `n` rows.
pub(super) async fn shown(page: &Page, board: Board, n: usize) -> Result<Shown> {
    let hosted = descriptor(&board.benchmark)?;
    let answer = page
        .board(&board.benchmark, &board.leaderboard, &board.round, n)
        .await?;
    let rows = &answer.rows;
    let numbers = rows
        .iter()
        .map(|row| (row.submission.clone(), row.metrics.clone()));
    let lines = rows
        .iter()
        .filter_map(|row| Some((row.submission.clone(), row.line()?)));
    let lines: BTreeMap<_, _> = lines.collect();
    let report = answer.finish.map(|report| FinalReport {
        ranks: rows
            .iter()
            .filter_map(|row| Some((row.submission.clone(), (row.public_rank?, row.rank?))))
            .collect(),
        ..report
    });
    let comparison = answer.comparison.map(|summary| Summary {
        has_score_intervals: lines.values().any(|line| line.interval.is_some()),
        n_ranked: rows.iter().filter(|row| row.rank.is_some()).count(),
        ..summary
    });
    Ok(Shown {
        dataset: answer.dataset,
        n_rows: rows.len(),
        top: with_shared_ranks(rows.iter().map(|row| row.entry(&board)), answer.dataset),
        digits: answer.digits,
        comparison,
        lines,
        report,
        columns: hosted.columns,
        numbers: if hosted.columns.is_empty() {
            BTreeMap::new()
        } else {
            numbers.collect()
        },
        board,
    })
}
