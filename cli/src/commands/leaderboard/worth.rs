//! The rank of a submission on its board, and the rank's reliability.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use dataperf::SubmissionId;
use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf::comparison::{Line, Read as Comparison};
use dataperf::dataset::active::InForce;
use dataperf::rows::ranking::{Ranked, with_shared_ranks};
use dataperf::table::leaderboard::Leaderboards;
use serde_json::{Map, Value, json};

use super::on_page;
use super::words::{interval_in_words, ranks_in_words};
use crate::cloud::api::Page;
use crate::cloud::comparison::Summary;
use crate::cloud::connection::Connection;
use crate::cloud::{Cloud, now};
use crate::hosted::descriptor;
use crate::output::score;

/// The wait between two looks for the comparison of a new score, which comes within a second or two.
const POLL: Duration = Duration::from_millis(250);
const POLLS: usize = 12;

/// The reliability of a submission's rank.
#[derive(Debug, Clone)]
pub(crate) struct Worth {
    pub(crate) rank: usize,
    n_ranked: usize,
    score: Option<f64>,
    /// Its comparison with the other rows; `None` if it has not been compared yet.
    line: Option<Line>,
    /// Why the board has no intervals; `None` if it has intervals.
    why_none: Option<String>,
}

impl Connection {
    /// The submissions that have a rank on a board.
    pub(crate) async fn worths(&self, board: &Board) -> Result<BTreeMap<SubmissionId, Worth>> {
        match self {
            Self::Keys(cloud) => worths(cloud, board).await,
            Self::Page(page) => worths_on_page(page, board).await,
        }
    }
}

/// The ranks as the organizer's keys show them.
async fn worths(cloud: &Cloud, board: &Board) -> Result<BTreeMap<SubmissionId, Worth>> {
    let (datasets, table, hosted) = (
        cloud.datasets(),
        cloud.leaderboards(),
        descriptor(&board.benchmark)?,
    );
    let in_force = InForce::read(&datasets, &board.benchmark).await?;
    let challenge = Challenge::published(&datasets, &board.benchmark).await?;
    let dataset = table
        .scored_with(hosted, &in_force, challenge.as_ref(), board, now())
        .await?;
    let top = table.top(board, usize::MAX).await?;
    let comparison = Comparison::load(&cloud.results(), board, 0..top.len()).await?;
    let rows = with_shared_ranks(top.into_iter().map(|ranked| ranked.entry), dataset);
    let n_ranked = rows.iter().filter(|row| row.shown_rank().is_some()).count();
    let summary = comparison.as_ref().map(|read| Summary::from(&read.summary));
    let why_none = summary.and_then(|summary| summary.none_in_words());
    let worth = |row: &Ranked| {
        let rank = row.shown_rank()?;
        let worth = Worth {
            rank,
            n_ranked,
            score: row.entry.score,
            line: comparison
                .as_ref()
                .and_then(|read| read.line(&row.entry))
                .copied(),
            why_none: why_none.clone(),
        };
        Some((row.entry.id.clone(), worth))
    };
    Ok(rows.iter().filter_map(worth).collect())
}

/// The ranks as a page shows them.
async fn worths_on_page(page: &Page, board: &Board) -> Result<BTreeMap<SubmissionId, Worth>> {
    let shown = on_page::shown(page, board.clone(), usize::MAX).await?;
    let n_ranked = shown.top.iter().filter(|row| row.shown_rank().is_some()).count();
    let why_none = shown.comparison.as_ref().and_then(Summary::none_in_words);
    let worth = |row: &Ranked| {
        let worth = Worth {
            rank: row.shown_rank()?,
            n_ranked,
            score: row.entry.score,
            line: shown.line(row).copied(),
            why_none: why_none.clone(),
        };
        Some((row.entry.id.clone(), worth))
    };
    Ok(shown.top.iter().filter_map(worth).collect())
}

/// The reliability of one submission's rank. Waits a little for its comparison. `None` without a
/// rank.
pub(crate) async fn worth_soon(
    connection: &Connection,
    board: &Board,
    id: &SubmissionId,
) -> Result<Option<Worth>> {
    for _ in 0..POLLS {
        match connection.worths(board).await?.remove(id) {
            Some(Worth { line: None, .. }) => tokio::time::sleep(POLL).await,
            worth => return Ok(worth),
        }
    }
    Ok(connection.worths(board).await?.remove(id))
}

impl Worth {
    /// The rank with its interval: `3 (2 to 5)`.
    pub(crate) fn rank_in_words(&self) -> String {
        let ranks = self.line.and_then(|line| line.ranks);
        ranks.map_or_else(
            || self.rank.to_string(),
            |ranks| format!("{} ({})", self.rank, ranks_in_words(ranks)),
        )
    }

    /// The score with its interval: `0.81 (0.78 to 0.84)`.
    pub(crate) fn score_in_words(&self) -> String {
        let interval = self.line.and_then(|line| line.interval);
        let of_score = self.score.map(score).unwrap_or_default();
        interval.map_or_else(
            || of_score.clone(),
            |interval| format!("{of_score} ({})", interval_in_words(interval, None)),
        )
    }

    /// How many scored submissions its submitter has on the board.
    pub(crate) fn n_submissions(&self) -> Option<u32> {
        self.line.map(|line| line.n_submissions)
    }

    /// All of it in a line.
    pub(crate) fn in_words(&self) -> String {
        let tries = match self.n_submissions() {
            None => ", not compared yet".to_owned(),
            Some(1) => ", 1 try".to_owned(),
            Some(n) => format!(", {n} tries"),
        };
        let why = self.why_none.as_ref();
        let why = why.map_or_else(String::new, |why| format!("; {why}"));
        let area = self.line.and_then(|line| line.area);
        let by_area = area.map_or_else(String::new, |area| {
            format!(", by the area {}", ranks_in_words(area.rank_interval))
        });
        format!(
            "rank {}{by_area} of {}, score {}{tries}{why}",
            self.rank_in_words(),
            self.n_ranked,
            self.score_in_words()
        )
    }
}

/// The fields next to a submission's receipt: its rank, and five fields on the rank's uncertainty.
/// All are `null` without a rank.
pub(crate) fn fields(worth: Option<&Worth>) -> Map<String, Value> {
    let line = worth.and_then(|worth| worth.line);
    let fields = [
        ("rank", json!(worth.map(|worth| worth.rank))),
        ("rank_interval", json!(line.and_then(|line| line.ranks))),
        ("interval", json!(line.and_then(|line| line.interval))),
        ("n_submissions", json!(line.map(|line| line.n_submissions))),
        (
            "is_above_baselines",
            json!(line.and_then(|line| line.is_above_baselines)),
        ),
        ("area", json!(line.and_then(|line| line.area))),
    ];
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use dataperf::comparison::Area;

    use super::*;

    #[test]
    fn no_rank_is_bare_once_it_is_compared() {
        let line = Line {
            ranks: Some((2, 5)),
            interval: Some((0.78, 0.84)),
            n_submissions: 4,
            is_above_baselines: Some(true),
            area: None,
        };
        let mut worth = Worth {
            rank: 3,
            n_ranked: 12,
            score: Some(0.81),
            line: Some(line),
            why_none: None,
        };
        let message = "rank 3 (2 to 5) of 12, score 0.8100 (0.7800 to 0.8400), 4 tries";
        assert_eq!(worth.in_words(), message);
        assert_eq!(fields(Some(&worth))["rank_interval"], json!([2, 5]));
        worth.line = None;
        assert_eq!(worth.in_words(), "rank 3 of 12, score 0.8100, not compared yet");
        worth.line = Some(Line {
            ranks: None,
            interval: None,
            n_submissions: 1,
            ..line
        });
        worth.why_none = Some("no intervals: the board has fewer than two rows".into());
        let message = "rank 3 of 12, score 0.8100, 1 try; no intervals: the board has fewer than two rows";
        assert_eq!(worth.in_words(), message);
        let area = Area {
            value: None,
            interval: None,
            rank_interval: (2, 4),
        };
        worth.line = worth.line.map(|line| Line {
            area: Some(area),
            ..line
        });
        assert!(
            worth
                .in_words()
                .starts_with("rank 3, by the area 2 to 4 of 12, score 0.8100")
        );
        assert_eq!(fields(Some(&worth))["area"]["rank_interval"], json!([2, 4]));
        assert!(fields(None).values().all(Value::is_null));
    }
}
