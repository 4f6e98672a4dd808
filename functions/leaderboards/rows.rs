//! The lines of boards, histories and series, as the answers have them.

use std::collections::BTreeMap;

use dataperf::closing::finishing::FinalReport;
use dataperf::comparison::{Area, Line as ComparedLine};
use dataperf::rows::ranking::is_of_other_dataset;
use dataperf::submission::Entry;
use dataperf::{Digest, Direction, Ending, Feedback, Receipt, SubmissionId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::figures::Spread;

/// One line of a board: a submitter's standing.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Row {
    /// 1 for the best; equal scores share a rank, and the one after them counts them all. `null` for a baseline, and for what was
    /// scored with another data set than the board.
    #[schema(minimum = 1)]
    pub(crate) rank: Option<u64>,
    /// Whether this is a baseline, shown for comparison and not ranked.
    pub(crate) is_baseline: bool,
    /// Whose it is.
    pub(crate) submitter: String,
    /// The score by which it is ranked.
    score: Option<f64>,
    /// Whether that is what the round's Ladder has released, and not the submission's own score.
    is_released: bool,
    /// When the upload was stored.
    #[schema(format = DateTime)]
    received_at: String,
    /// The submission's id.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub(crate) submission: String,
    /// The data set that it was scored with.
    #[schema(example = "sha256:…")]
    dataset: Option<String>,
    /// Whether that is another one than the board is scored with: the score can't be compared, and has no rank until the board is
    /// scored again.
    pub(crate) is_of_other_dataset: bool,
    #[serde(flatten)]
    comparison: RowComparison,
    /// On the board of a final data set: the submission's rank on the public one, among those that have a rank on both.
    #[schema(minimum = 1)]
    public_rank: Option<u64>,
    /// The numbers of the board's `columns`, by their names; absent on boards without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metrics: BTreeMap<String, f64>,
    /// With `include=spread`, where the benchmark has seeds or trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spread: Option<Spread>,
}

/// How a row compares with the others of its board.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct RowComparison {
    /// The first and the last rank that it may have, with 95 % confidence; `null` while it has not been compared, and where the board
    /// has no intervals.
    rank_interval: Option<[u32; 2]>,
    /// The interval of the score over other test sets of this size, with 95 % confidence; `null` also where the board says why scores have
    /// none.
    interval: Option<[f64; 2]>,
    /// Scored submissions of the submitter to the board: the best of many tries is better by chance alone.
    n_submissions: Option<u32>,
    /// Whether the score is clearly better than that of the best baseline; `null` where there is none.
    is_above_baselines: Option<bool>,
    /// The area under its curves; `null` where scores are not places on curves, and where the board says why.
    area: Option<RowArea>,
}

/// The area under a row's curves.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct RowArea {
    /// The area, rounded to 1/n, n the number of test items; `null` where scores are shown rounded.
    value: Option<f64>,
    /// Its interval over other test sets of this size, with 95 % confidence; `null` where scores are shown rounded.
    interval: Option<[f64; 2]>,
    /// The first and the last rank that the row may have by the area, with 95 % confidence. It is not an interval of `rank`, which is by the score.
    rank_interval: [u32; 2],
}

impl From<Area> for RowArea {
    fn from(area: Area) -> Self {
        let (first, last) = area.rank_interval;
        Self {
            value: area.value,
            interval: area.interval.map(|(low, high)| [low, high]),
            rank_interval: [first, last],
        }
    }
}

impl From<Option<&ComparedLine>> for RowComparison {
    fn from(line: Option<&ComparedLine>) -> Self {
        Self {
            rank_interval: line
                .and_then(|line| line.ranks)
                .map(|(first, last)| [first, last]),
            interval: line.and_then(|line| line.interval).map(|(low, high)| [low, high]),
            n_submissions: line.map(|line| line.n_submissions),
            is_above_baselines: line.and_then(|line| line.is_above_baselines),
            area: line.and_then(|line| line.area).map(RowArea::from),
        }
    }
}

/// A row as CSV has it, before the numbers of the board's columns.
#[derive(Serialize)]
pub(crate) struct FlatRow<'a> {
    rank: Option<u64>,
    is_baseline: bool,
    submitter: &'a str,
    score: Option<f64>,
    received_at: &'a str,
    submission: &'a str,
    dataset: Option<&'a str>,
    is_of_other_dataset: bool,
    rank_first: Option<u32>,
    rank_last: Option<u32>,
    score_low: Option<f64>,
    score_high: Option<f64>,
    n_submissions: Option<u32>,
    is_above_baselines: Option<bool>,
    area: Option<f64>,
    area_low: Option<f64>,
    area_high: Option<f64>,
    area_rank_first: Option<u32>,
    area_rank_last: Option<u32>,
    n_trials: Option<usize>,
    std: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    is_released: bool,
    public_rank: Option<u64>,
}

impl Row {
    pub(crate) const HEADER: [&'static str; 25] = [
        "rank",
        "is_baseline",
        "submitter",
        "score",
        "received_at",
        "submission",
        "dataset",
        "is_of_other_dataset",
        "rank_first",
        "rank_last",
        "score_low",
        "score_high",
        "n_submissions",
        "is_above_baselines",
        "area",
        "area_low",
        "area_high",
        "area_rank_first",
        "area_rank_last",
        "n_trials",
        "std",
        "min",
        "max",
        "is_released",
        "public_rank",
    ];

    pub(crate) fn flat(&self) -> FlatRow<'_> {
        let (spread, area) = (self.spread.as_ref(), self.comparison.area.as_ref());
        let of_area = area.and_then(|area| area.interval);
        FlatRow {
            rank: self.rank,
            is_baseline: self.is_baseline,
            submitter: &self.submitter,
            score: self.score,
            received_at: &self.received_at,
            submission: &self.submission,
            dataset: self.dataset.as_deref(),
            is_of_other_dataset: self.is_of_other_dataset,
            rank_first: self.comparison.rank_interval.map(|[first, _]| first),
            rank_last: self.comparison.rank_interval.map(|[_, last]| last),
            score_low: self.comparison.interval.map(|[low, _]| low),
            score_high: self.comparison.interval.map(|[_, high]| high),
            n_submissions: self.comparison.n_submissions,
            is_above_baselines: self.comparison.is_above_baselines,
            area: area.and_then(|area| area.value),
            area_low: of_area.map(|[low, _]| low),
            area_high: of_area.map(|[_, high]| high),
            area_rank_first: area.map(|area| area.rank_interval[0]),
            area_rank_last: area.map(|area| area.rank_interval[1]),
            n_trials: spread.map(|spread| spread.values.len()),
            std: spread.map(|spread| spread.std),
            min: spread.map(|spread| spread.min),
            max: spread.map(|spread| spread.max),
            is_released: self.is_released,
            public_rank: self.public_rank,
        }
    }
}

impl Row {
    /// The row of a final board with its rank on the public one.
    pub(crate) fn finished(self, report: Option<&FinalReport>, id: &SubmissionId) -> Self {
        let ranks = report.and_then(|report| report.ranks.get(id));
        Self {
            public_rank: ranks.map(|(public, _)| *public as u64),
            ..self
        }
    }

    /// The row with the result of comparing it: without one where the board is scored with another data set by now.
    pub(crate) fn compared(self, line: Option<&ComparedLine>) -> Self {
        let line = line.filter(|_| !self.is_of_other_dataset);
        Self {
            comparison: line.into(),
            ..self
        }
    }
}

/// The counts of the rows before a page, so that ranks go on where they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Standing {
    /// All rows.
    pub(crate) n_rows: usize,
    /// Rows that have a rank.
    n_ranked: u64,
    /// The last rank given, and its score.
    last: Option<(u64, f64)>,
}

impl Standing {
    /// The row of the next entry of a board that is scored with `scored_with`.
    pub(crate) fn row(&mut self, entry: &Entry, scored_with: Option<Digest>) -> Row {
        self.n_rows += 1;
        let is_of_other_dataset = is_of_other_dataset(entry, scored_with);
        let is_ranked = !entry.is_baseline && !is_of_other_dataset;
        let rank = is_ranked.then(|| self.next_rank(entry.score));
        Row {
            rank,
            is_baseline: entry.is_baseline,
            submitter: entry.submitter.clone(),
            score: entry.score,
            is_released: entry.climb.is_some(),
            received_at: entry.received_at.to_string(),
            submission: entry.id.to_string(),
            dataset: entry.dataset.map(|dataset| dataset.to_string()),
            is_of_other_dataset,
            comparison: RowComparison::default(),
            public_rank: None,
            metrics: BTreeMap::new(),
            spread: None,
        }
    }

    #[allow(clippy::float_cmp)] // equal scores are equal bits
    fn next_rank(&mut self, score: Option<f64>) -> u64 {
        self.n_ranked += 1;
        let score = score.unwrap_or(f64::NAN);
        let rank = match self.last {
            Some((rank, before)) if before == score => rank,
            _ => self.n_ranked,
        };
        self.last = Some((rank, score));
        rank
    }
}

/// One submission in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Line {
    /// The submission's id.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    submission: String,
    /// The leaderboard.
    leaderboard: String,
    /// The round.
    round: String,
    /// Whose it is.
    submitter: String,
    /// When the upload was stored.
    #[schema(format = DateTime)]
    received_at: String,
    /// `received` while it is being evaluated, then `scored`, `rejected` or `failed`.
    status: Status,
    /// The score, when scored.
    score: Option<f64>,
    /// When it was withdrawn, if it was: it is on no board then.
    #[schema(format = DateTime)]
    withdrawn_at: Option<String>,
    /// Whether the score is what the round's Ladder has released, and not the submission's own.
    pub(crate) is_released: bool,
    /// Why it was withdrawn, where the organizer has said why.
    withdrawal_reason: Option<String>,
}

impl Line {
    pub(crate) const HEADER: [&'static str; 10] = [
        "submission",
        "leaderboard",
        "round",
        "submitter",
        "received_at",
        "status",
        "score",
        "withdrawn_at",
        "is_released",
        "withdrawal_reason",
    ];
}

impl Line {
    /// The line as a caller sees it from whom its board is hidden.
    pub(crate) fn without_score(self) -> Self {
        Self { score: None, ..self }
    }

    /// The line with the score that the caller sees of the submission itself: its own, once everything is shown.
    pub(crate) fn shown(self, receipt: &Receipt, level: Feedback) -> Self {
        if level < Feedback::Full {
            return self;
        }
        Self {
            score: receipt.verdict.score,
            is_released: false,
            ..self
        }
    }
}

impl From<&Entry> for Line {
    fn from(entry: &Entry) -> Self {
        Self {
            submission: entry.id.to_string(),
            leaderboard: entry.board.leaderboard.clone(),
            round: entry.board.round.clone(),
            submitter: entry.submitter.clone(),
            received_at: entry.received_at.to_string(),
            status: entry.ending.into(),
            score: entry.score,
            is_released: entry.climb.is_some(),
            withdrawn_at: entry.withdrawn_at.map(|at| at.to_string()),
            withdrawal_reason: entry
                .withdrawals
                .last()
                .filter(|_| entry.withdrawn_at.is_some())
                .and_then(|last| last.reason.clone()),
        }
    }
}

/// How far a submission has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It is being evaluated.
    Received,
    /// It has a score.
    Scored,
    /// It was taken, and is of a kind that has no score of its own.
    Accepted,
    /// It broke rules.
    Rejected,
    /// The platform could not evaluate it.
    Failed,
}

impl From<Option<Ending>> for Status {
    fn from(ending: Option<Ending>) -> Self {
        match ending {
            None => Self::Received,
            Some(Ending::Scored) => Self::Scored,
            Some(Ending::Accepted) => Self::Accepted,
            Some(Ending::Rejected) => Self::Rejected,
            Some(Ending::Failed) => Self::Failed,
        }
    }
}

/// One point of a board's series.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Point {
    /// When the upload was stored.
    #[schema(format = DateTime)]
    received_at: String,
    /// Its score.
    score: f64,
    /// The best score up to here, without baselines' and those of another data set; `null` before the first that is neither.
    best: Option<f64>,
    /// Whether this is a baseline, shown for comparison.
    is_baseline: bool,
    /// Whose it is.
    submitter: String,
    /// The submission's id.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    submission: String,
    /// Whether it was scored with another data set than the board is scored with now: the two can't be compared.
    is_of_other_dataset: bool,
    /// Whether the score is what the round's Ladder has released, and not the submission's own.
    is_released: bool,
}

impl Point {
    pub(crate) const HEADER: [&'static str; 8] = [
        "received_at",
        "score",
        "best",
        "is_baseline",
        "submitter",
        "submission",
        "is_of_other_dataset",
        "is_released",
    ];

    /// The point of an entry of a board that is scored with `scored_with`, and the best so far moved on; `None` without a score.
    pub(crate) fn from_entry(
        entry: &Entry,
        direction: Direction,
        scored_with: Option<Digest>,
        best: &mut Option<f64>,
    ) -> Option<Self> {
        let score = entry.score?;
        let is_of_other_dataset = is_of_other_dataset(entry, scored_with);
        if !entry.is_baseline && !is_of_other_dataset {
            *best = Some(match (*best, direction) {
                (None, _) => score,
                (Some(best), Direction::HigherIsBetter) => best.max(score),
                (Some(best), Direction::LowerIsBetter) => best.min(score),
            });
        }
        Some(Self {
            received_at: entry.received_at.to_string(),
            score,
            best: *best,
            is_baseline: entry.is_baseline,
            submitter: entry.submitter.clone(),
            submission: entry.id.to_string(),
            is_of_other_dataset,
            is_released: entry.climb.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use dataperf::Timestamp;
    use dataperf::board::Board;

    use super::*;

    fn entry(submitter: &str, score: f64) -> Entry {
        Entry {
            id: SubmissionId::derive("bucket", submitter, ""),
            board: Board {
                benchmark: "b".into(),
                leaderboard: "l".into(),
                round: "open".into(),
            },
            submitter: submitter.into(),
            received_at: Timestamp::from_unix_millis(1),
            is_baseline: submitter.starts_with("baseline-"),
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: Some(score),
            climb: None,
            dataset: Some(Digest::compute(b"one")),
        }
    }

    #[test]
    fn scores_from_another_data_set_have_no_rank() {
        let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
        let mut old = entry("ada", 0.9);
        old.dataset = Some(two);
        let entries = [old, entry("bo", 0.5), entry("cy", 0.4)];
        let mut standing = Standing::default();
        let rows = entries.each_ref().map(|entry| standing.row(entry, Some(one)));
        assert_eq!(rows.each_ref().map(|row| row.rank), [None, Some(1), Some(2)]);
        assert_eq!(
            rows.each_ref().map(|row| row.is_of_other_dataset),
            [true, false, false]
        );
        let line = ComparedLine {
            ranks: Some((1, 2)),
            interval: Some((0.3, 0.7)),
            n_submissions: 1,
            is_above_baselines: None,
            area: None,
        };
        let intervals = rows.map(|row| row.compared(Some(&line)).comparison.interval);
        assert_eq!(intervals, [None, Some([0.3, 0.7]), Some([0.3, 0.7])]);
        let mut best = None;
        let points = entries.map(|entry| {
            Point::from_entry(&entry, Direction::HigherIsBetter, Some(one), &mut best).expect("a score")
        });
        assert_eq!(points.map(|point| point.best), [None, Some(0.5), Some(0.5)]);
    }

    #[test]
    fn tied_ranks_continue_across_pages_without_baselines() {
        let entries = [
            ("ada", 0.9),
            ("bo", 0.5),
            ("baseline-random", 0.5),
            ("cy", 0.5),
            ("di", 0.1),
        ]
        .map(|(who, score)| entry(who, score));
        let expected = [Some(1), Some(2), None, Some(2), Some(4)];
        for page in 1..=entries.len() {
            let mut cursor = String::new();
            let mut ranks = Vec::new();
            for entries in entries.chunks(page) {
                // as over HTTP, where the standing travels in the cursor
                let mut standing: Standing = serde_json::from_str(&cursor).unwrap_or_default();
                ranks.extend(entries.iter().map(|entry| standing.row(entry, None).rank));
                cursor = serde_json::to_string(&standing).expect("plain numbers");
            }
            assert_eq!(ranks, expected, "pages of {page}");
        }
    }

    #[test]
    fn the_best_follows_the_direction_and_no_baseline() {
        for (direction, expected) in [
            (Direction::HigherIsBetter, [0.5, 0.5, 0.5, 0.75]),
            (Direction::LowerIsBetter, [0.5, 0.25, 0.25, 0.25]),
        ] {
            let mut best = None;
            let entries = [
                ("baseline-random", 0.375),
                ("ada", 0.5),
                ("bo", 0.25),
                ("baseline-all", 1.0),
                ("cy", 0.75),
            ];
            let points = entries.map(|(who, score)| {
                Point::from_entry(&entry(who, score), direction, None, &mut best).expect("a score")
            });
            assert_eq!(
                points.each_ref().map(|point| point.is_baseline),
                [true, false, false, true, false]
            );
            let shown = points.map(|point| point.best);
            assert_eq!(shown[0], None, "no one's yet");
            assert_eq!(shown[1..], expected.map(Some));
        }
    }
}
