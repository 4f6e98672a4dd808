//! Published boards: each document has a board as everybody could see it at a time, and the documents of a board are an append-only log.
//!
//! A document is numbered and signed, and names the digests of earlier documents. Anybody who keeps
//! a document can therefore detect that a row was removed later, or that one board has two logs.
//! [`check`](BoardDocument::check) needs no data set.

use std::collections::BTreeMap;

use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::board::{Board, Ranking};
use crate::comparison::{Area, CONFIDENCE, Comparison, Line};
use crate::dataset::frozen::Manifest;
use crate::ports::PortError;
use crate::ports::signer::Signer;
use crate::replicates::Replicates;
use crate::rows::ranking::{Ranked, differ, is_of_other_dataset, with_shared_ranks};
use crate::signature::Signature;
use crate::submission::Entry;
use crate::upload::SubmissionId;
use crate::{Digest, Direction, Feedback, NoIntervals, Timestamp};

/// How many documents before it a document names.
pub const MAX_EARLIER: usize = 256;
/// The largest document, in bytes: some 10,000 rows.
pub const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
/// A board is published at most once in this time, in milliseconds.
pub const INTERVAL_MILLIS: i64 = 60_000;

/// The subject of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// A board.
    Board,
}

/// A document of a board's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardDocument {
    /// The version of this document's form.
    pub schema: u32,
    /// The subject.
    pub kind: DocumentKind,
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard.
    pub leaderboard: String,
    /// The round.
    pub round: String,
    /// Its number in the log, from 1.
    pub number: u64,
    /// The digests of the documents before it, the newest first, at most [`MAX_EARLIER`].
    pub earlier: Vec<Digest>,
    /// When it was written.
    pub published_at: Timestamp,
    /// The board.
    #[serde(flatten)]
    pub board: PublishedBoard,
    /// The signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// A board as everybody could see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedBoard {
    /// Whether its round has closed.
    pub is_closed: bool,
    /// Whether higher scores are better.
    pub higher_is_better: bool,
    /// Which of a submitter's scores has the row.
    pub ranking: Ranking,
    /// The data set whose scores have ranks; `None` if scores of all data sets have ranks.
    pub dataset: Option<Digest>,
    /// The comparison of the board's rows; `None` if they have not been compared.
    pub comparison: Option<PublishedComparison>,
    /// How many rows the board has. Where it is more than there are `rows`, the last ones are left out.
    pub n_rows: usize,
    /// The rows, best first; then those of other data sets.
    pub rows: Vec<PublishedRow>,
}

/// The summary of the board's comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedComparison {
    /// The confidence of all intervals.
    pub confidence: f64,
    /// Rows that were compared. Rows of the board that came later have no `n_submissions`.
    pub n_compared: usize,
    /// Rows that may be the best.
    pub n_best: usize,
    /// Rows that can't be compared.
    pub n_missing: usize,
    /// The smallest difference between neighbours that the test set can tell apart, once everything is shown.
    pub resolution: Option<f64>,
    /// Whether whole clusters of items are drawn.
    pub is_clustered: bool,
    /// Why there are no intervals; `None` if there are intervals.
    pub why_none: Option<NoIntervals>,
    /// Why scores have none, where ranks have some.
    pub why_no_score_intervals: Option<NoIntervals>,
    /// Rows that may be the best by the area under their curves, where rows are compared by it.
    pub n_best_by_area: Option<usize>,
}

/// A row of a published board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// 1 for the best; equal scores share a rank. `None` for a baseline and for a score of another data set.
    pub rank: Option<usize>,
    /// The row's submitter.
    pub submitter: String,
    /// The submission.
    pub submission: SubmissionId,
    /// The score as the round shows it.
    pub score: f64,
    /// When it was uploaded.
    pub received_at: Timestamp,
    /// Whether it is a baseline.
    pub is_baseline: bool,
    /// Whether the score is what the round has released, and not the submission's own.
    pub is_released: bool,
    /// The data set that it was scored with.
    pub dataset: Option<Digest>,
    /// The first and the last rank that it may have.
    pub rank_interval: Option<(u32, u32)>,
    /// The interval of its score.
    pub interval: Option<(f64, f64)>,
    /// Scored submissions of its submitter to the board.
    pub n_submissions: Option<u32>,
    /// Whether it is clearly better than the best baseline.
    pub is_above_baselines: Option<bool>,
    /// The area under its curves.
    pub area: Option<Area>,
    /// The [keyed digest](EvidenceKey::digest) of the inputs of its intervals, if stored.
    pub evidence: Option<Digest>,
}

/// The key of evidence digests: a digest of the hidden files of a data set. Without it nobody can find evidence by trying, however small the test
/// set is. Whoever has the whole data set can compute it.
pub struct EvidenceKey(hmac::Key);

impl EvidenceKey {
    /// The key of a data set; `None` where all of its files are public.
    pub fn new(manifest: &Manifest, is_public: fn(&str) -> bool) -> Option<Self> {
        let hidden = manifest.files.iter().filter(|(path, _)| !is_public(path));
        let hidden: Vec<String> = hidden
            .map(|(path, file)| format!("{path} {}\n", file.digest))
            .collect();
        let text = format!("dataperf-evidence-key/1\n{}", hidden.concat());
        (!hidden.is_empty()).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())))
    }

    /// HMAC-SHA-256 of a submission's score under all draws of the test set, and of the areas under
    /// its curves if it has some: 32-bit floats, little-endian.
    pub fn digest(&self, replicates: &Replicates) -> Digest {
        let deviations = replicates.deviations.iter().chain(&replicates.areas);
        let bytes: Vec<u8> = deviations.flat_map(|one| one.to_le_bytes()).collect();
        let tag = hmac::sign(&self.0, &bytes);
        let mut digest = [0; 32];
        digest.copy_from_slice(tag.as_ref());
        Digest::from_bytes(digest)
    }
}

/// The inputs of a published board.
pub struct BoardParts<'a> {
    /// The rows, best first.
    pub rows: &'a [Ranked],
    /// How many rows the board has, with those that are left out.
    pub n_rows: usize,
    /// Their comparison, if there is one.
    pub comparison: Option<&'a Comparison>,
    /// The digest of each row's evidence.
    pub evidence: &'a BTreeMap<SubmissionId, Digest>,
    /// Which scores are better.
    pub direction: Direction,
    /// Which of a submitter's scores has the row.
    pub ranking: Ranking,
    /// The data set whose scores have ranks.
    pub dataset: Option<Digest>,
    /// Whether the round has closed.
    pub is_closed: bool,
}

impl PublishedBoard {
    /// A board as everybody sees it at a `level`.
    pub fn new(parts: &BoardParts<'_>, level: Feedback) -> Self {
        let summary = parts.comparison.map(|item| item.summary.clone().shown(level));
        let lines = parts.comparison.iter().flat_map(|item| &item.lines);
        let lines: BTreeMap<&SubmissionId, &Line> = lines.map(|(id, line)| (id, line)).collect();
        let entries = parts.rows.iter().map(|row| row.entry.clone());
        let (others, own): (Vec<Entry>, Vec<Entry>) =
            entries.partition(|entry| is_of_other_dataset(entry, parts.dataset));
        let ranked = with_shared_ranks(own.into_iter().chain(others), parts.dataset);
        let rows = ranked.into_iter().filter_map(|row| {
            let line = lines.get(&row.entry.id).filter(|_| !row.is_of_other_dataset);
            Some(PublishedRow {
                rank: row.shown_rank(),
                score: row.entry.score?,
                is_baseline: row.entry.is_baseline,
                is_released: row.entry.climb.is_some(),
                dataset: row.entry.dataset,
                rank_interval: line.and_then(|line| line.ranks),
                interval: line.and_then(|line| line.interval),
                n_submissions: line.map(|line| line.n_submissions),
                is_above_baselines: line.and_then(|line| line.is_above_baselines),
                area: line.and_then(|line| line.area),
                evidence: parts.evidence.get(&row.entry.id).copied(),
                received_at: row.entry.received_at,
                submitter: row.entry.submitter,
                submission: row.entry.id,
            })
        });
        Self {
            is_closed: parts.is_closed,
            higher_is_better: parts.direction == Direction::HigherIsBetter,
            ranking: parts.ranking,
            dataset: parts.dataset,
            comparison: summary.map(|summary| PublishedComparison {
                confidence: CONFIDENCE,
                n_compared: summary.n_rows,
                n_best: summary.n_best,
                n_missing: summary.n_missing,
                resolution: summary.resolution,
                is_clustered: summary.is_clustered,
                why_none: summary.why_none,
                why_no_score_intervals: summary.why_no_score_intervals,
                n_best_by_area: summary.n_best_by_area,
            }),
            n_rows: parts.n_rows,
            rows: rows.collect(),
        }
    }

    /// Whether rows are left out.
    pub fn is_cut(&self) -> bool {
        self.n_rows > self.rows.len()
    }

    /// The digest of its canonical form: equal for equal boards.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when it has no canonical form.
    pub fn digest(&self) -> Result<Digest, PortError> {
        canonical_digest(&serde_json::to_value(self).map_err(|error| malformed(&error))?)
    }

    /// The ranks that follow from scores, baselines and data sets, by rule: equal scores share one, and the next counts them all.
    fn expected_ranks(&self) -> Vec<Option<usize>> {
        let is_ranked = |row: &PublishedRow| !row.is_baseline && !differ(row.dataset, self.dataset);
        let better = |one: f64, other: f64| {
            if self.higher_is_better {
                one > other
            } else {
                one < other
            }
        };
        let ranked: Vec<&PublishedRow> = self.rows.iter().filter(|row| is_ranked(row)).collect();
        let rank = |row: &PublishedRow| {
            1 + ranked
                .iter()
                .filter(|other| better(other.score, row.score))
                .count()
        };
        self.rows
            .iter()
            .map(|row| is_ranked(row).then(|| rank(row)))
            .collect()
    }
}

/// A problem of one document, or of two documents of the same log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Finding {
    /// A rank does not follow from the scores.
    #[error("`{submitter}` has the rank {} and should have {}", shown(*actual), shown(*expected))]
    WrongRank {
        /// The row's submitter.
        submitter: String,
        /// The rank in the document.
        actual: Option<usize>,
        /// The rank that follows from the scores.
        expected: Option<usize>,
    },
    /// Rows are not in the order of their scores.
    #[error("the row of `{submitter}` is below a worse one")]
    WrongOrder {
        /// The row's submitter.
        submitter: String,
    },
    /// A submitter has two rows.
    #[error("`{submitter}` has two rows")]
    RepeatedSubmitter {
        /// The rows' submitters.
        submitter: String,
    },
    /// The two documents are of different boards.
    #[error("the earlier document is of another board")]
    OtherBoard,
    /// The earlier document has a higher number.
    #[error("document {number} is older than document {since}, which was kept")]
    Older {
        /// The number of the document.
        number: u64,
        /// The number of the kept one.
        since: u64,
    },
    /// Another document has the number of the kept one.
    #[error("the log has another document {number} than the one that was kept: somebody wrote two logs")]
    Fork {
        /// The number.
        number: u64,
    },
    /// The document names fewer earlier ones than its number says.
    #[error("document {number} names {named} earlier ones and should name {expected}")]
    ShortChain {
        /// The number of the document.
        number: u64,
        /// How many it names.
        named: usize,
        /// How many it should name.
        expected: usize,
    },
    /// A row of the kept document is gone, and its submitter has none.
    #[error("the row of `{submitter}` (submission {submission}) was removed")]
    RemovedRow {
        /// The row's submitter.
        submitter: String,
        /// The submission.
        submission: SubmissionId,
    },
    /// The row of a submitter has fallen behind by itself.
    #[error("the row of `{submitter}` was submission {submission} and is {lowered} now")]
    LoweredRow {
        /// The row's submitter.
        submitter: String,
        /// The submission that had it.
        submission: SubmissionId,
        /// How it has fallen behind.
        lowered: Lowered,
    },
    /// A submission has another score with the same data set.
    #[error("submission {submission} of `{submitter}` had the score {before} and has {now}")]
    ChangedScore {
        /// The submitter.
        submitter: String,
        /// The submission.
        submission: SubmissionId,
        /// The score in the kept document.
        before: String,
        /// The score now.
        now: String,
    },
}

/// How a row can fall behind although nobody was better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lowered {
    /// Another submission with a worse score has the row.
    WorseScore,
    /// An older submission has the row.
    OlderSubmission,
    /// The row is a baseline now, which has no rank.
    Baseline,
    /// The row is of another data set now, and has no rank.
    OtherDataset,
}

impl std::fmt::Display for Lowered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::WorseScore => "a submission with a worse score",
            Self::OlderSubmission => "an older submission",
            Self::Baseline => "a baseline",
            Self::OtherDataset => "a score of another data set",
        })
    }
}

/// The result of comparing a document with a kept one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogCheck {
    /// The changes since then; empty if nothing changed.
    Compared(Vec<Finding>),
    /// The document names fewer earlier ones than there are between the two.
    TooFar,
}

fn shown(rank: Option<usize>) -> String {
    rank.map_or("none".to_owned(), |rank| rank.to_string())
}

impl BoardDocument {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of a document of a board's log in the results bucket.
    pub fn key(board: &Board, number: u64) -> String {
        format!("{}/{number:08}.json", board.object_key("_boards"))
    }

    /// The document that follows one with the digests `earlier`, signed, and its digest.
    ///
    /// # Errors
    /// [`PortError`] of the signer.
    pub async fn sign(
        board: &Board,
        number: u64,
        earlier: Vec<Digest>,
        published: PublishedBoard,
        signer: &dyn Signer,
        at: Timestamp,
    ) -> Result<(Value, Digest), PortError> {
        let document = Self {
            schema: Self::SCHEMA,
            kind: DocumentKind::Board,
            benchmark: board.benchmark.clone(),
            leaderboard: board.leaderboard.clone(),
            round: board.round.clone(),
            number,
            earlier,
            published_at: at,
            board: published,
            signature: None,
        };
        let mut json = serde_json::to_value(&document).map_err(|error| malformed(&error))?;
        let signature = Signature::sign(json.clone(), signer, at).await?;
        json["signature"] = serde_json::to_value(signature).map_err(|error| malformed(&error))?;
        let digest = canonical_digest(&json)?;
        Ok((json, digest))
    }

    /// The board that it is about.
    pub fn place(&self) -> Board {
        Board {
            benchmark: self.benchmark.clone(),
            leaderboard: self.leaderboard.clone(),
            round: self.round.clone(),
        }
    }

    /// Finds contradictions between the document's own rows.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let rows = &self.board.rows;
        for (row, expected) in rows.iter().zip(self.board.expected_ranks()) {
            if row.rank != expected {
                findings.push(Finding::WrongRank {
                    submitter: row.submitter.clone(),
                    actual: row.rank,
                    expected,
                });
            }
        }
        let sign = if self.board.higher_is_better { 1.0 } else { -1.0 };
        let is_other = |row: &PublishedRow| differ(row.dataset, self.board.dataset);
        for (before, row) in rows.iter().zip(rows.iter().skip(1)) {
            let is_behind = is_other(before) && !is_other(row)
                || is_other(before) == is_other(row) && sign * row.score > sign * before.score;
            if is_behind {
                findings.push(Finding::WrongOrder {
                    submitter: row.submitter.clone(),
                });
            }
        }
        let expected = usize::try_from(self.number.saturating_sub(1)).unwrap_or(usize::MAX);
        if self.earlier.len() != expected.min(MAX_EARLIER) {
            findings.push(Finding::ShortChain {
                number: self.number,
                named: self.earlier.len(),
                expected: expected.min(MAX_EARLIER),
            });
        }
        let mut seen = std::collections::BTreeSet::new();
        for row in rows.iter().filter(|row| !seen.insert(&row.submitter)) {
            findings.push(Finding::RepeatedSubmitter {
                submitter: row.submitter.clone(),
            });
        }
        findings
    }

    /// The changes of the log since a kept document, which has this `digest`. `own` is the digest
    /// of this document.
    pub fn compare_with(&self, kept: &Self, digest: Digest, own: Digest) -> LogCheck {
        if self.place() != kept.place() {
            return LogCheck::Compared(vec![Finding::OtherBoard]);
        }
        let fork = LogCheck::Compared(vec![Finding::Fork { number: kept.number }]);
        let Some(distance) = self.number.checked_sub(kept.number) else {
            let older = Finding::Older {
                number: self.number,
                since: kept.number,
            };
            return if self.published_at > kept.published_at {
                fork // the log was begun again
            } else {
                LogCheck::Compared(vec![older])
            };
        };
        if distance == 0 {
            return if own == digest {
                LogCheck::Compared(Vec::new())
            } else {
                fork
            };
        }
        let named = usize::try_from(distance - 1)
            .ok()
            .and_then(|idx| self.earlier.get(idx));
        match named {
            Some(named) if *named == digest => {}
            Some(_) => return fork,
            None => return LogCheck::TooFar,
        }
        let rows = self.board.rows.iter().map(|row| (row.submitter.as_str(), row));
        let rows: BTreeMap<&str, &PublishedRow> = rows.collect();
        let changes = kept
            .board
            .rows
            .iter()
            .filter_map(|before| match rows.get(before.submitter.as_str()) {
                Some(now) => self.change_of_row(kept, before, now),
                None if self.board.is_cut() => None,
                None => Some(Finding::RemovedRow {
                    submitter: before.submitter.clone(),
                    submission: before.submission.clone(),
                }),
            });
        LogCheck::Compared(changes.collect())
    }

    /// The change of a row that still exists.
    fn change_of_row(&self, kept: &Self, before: &PublishedRow, now: &PublishedRow) -> Option<Finding> {
        let lowered = |lowered| {
            Some(Finding::LoweredRow {
                submitter: before.submitter.clone(),
                submission: before.submission.clone(),
                lowered,
            })
        };
        if now.is_baseline && !before.is_baseline {
            return lowered(Lowered::Baseline);
        }
        if now.dataset != before.dataset {
            let has_lost = self.board.dataset == kept.board.dataset
                && differ(now.dataset, self.board.dataset)
                && !differ(before.dataset, kept.board.dataset);
            return lowered(Lowered::OtherDataset).filter(|_| has_lost);
        }
        let is_same_form = now.is_released == before.is_released;
        if now.submission == before.submission {
            let is_changed = is_same_form && now.score.to_bits() != before.score.to_bits();
            return is_changed.then(|| Finding::ChangedScore {
                submitter: before.submitter.clone(),
                submission: before.submission.clone(),
                before: before.score.to_string(),
                now: now.score.to_string(),
            });
        }
        if self.board.ranking != kept.board.ranking {
            return None;
        }
        let is_worse = if self.board.higher_is_better {
            now.score < before.score
        } else {
            now.score > before.score
        };
        match self.board.ranking {
            Ranking::Best if is_same_form && is_worse => lowered(Lowered::WorseScore),
            Ranking::Latest if now.received_at < before.received_at => lowered(Lowered::OlderSubmission),
            Ranking::Best | Ranking::Latest => None,
        }
    }
}

/// The digest of the canonical form, RFC 8785.
///
/// # Errors
/// [`PortError::Malformed`] when it has none.
pub fn canonical_digest(json: &Value) -> Result<Digest, PortError> {
    let canonical = serde_json_canonicalizer::to_vec(json).map_err(|error| malformed(&error))?;
    Ok(Digest::compute(&canonical))
}

fn malformed(error: &dyn std::fmt::Display) -> PortError {
    PortError::Malformed {
        subject: "a published board".into(),
        why: error.to_string(),
    }
}
