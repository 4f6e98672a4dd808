//! Releases full receipts. Once a round withholds nothing, its receipts are written again, complete
//! and signed, including those of withdrawn submissions.
//!
//! The caretaker calls the benchmark's function repeatedly, as for [finishing
//! rounds](crate::closing::finishing). An object next to the receipts records the progress. A submission
//! that is recorded later gets its full receipt at once. The work may stop at any point and run
//! twice: a receipt that is complete and signed stays unchanged.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::board::Board;
use crate::challenge::{Challenge, shown_of_receipt};
use crate::closing::finishing::GRACE_MILLIS;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::ports::signer::Signer;
use crate::receipt::redaction::Shown;
use crate::receipt::verdict::Ending;
use crate::receipt::write::write_where_it_shows_less;
use crate::submission::Entry;
use crate::table::maintenance::Maintenance;
use crate::upload::SubmissionId;

/// After how many receipts it is noted how far the release has come.
const NOTED_EVERY: usize = 100;
/// The largest note that is read.
const MAX_BYTES: u64 = 1 << 16;

/// How far the release of a board's receipts has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseProgress {
    /// The version of this document's form.
    pub schema: u32,
    /// The close of the round that the release is after: after another close there is a release of its own.
    pub closes: Timestamp,
    /// The last submission whose receipt is written, in the order of their times.
    pub after: Option<(Timestamp, SubmissionId)>,
    /// When all were written.
    pub ended_at: Option<Timestamp>,
}

impl ReleaseProgress {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of this object for a board, in the results bucket.
    pub fn key(board: &Board) -> String {
        format!("{}.json", board.object_key("_released"))
    }

    /// The progress of a board's release; `None` if it has not begun.
    ///
    /// # Errors
    /// [`PortError`], also when the object has another form.
    pub async fn read(results: &dyn Bucket, board: &Board) -> Result<Option<Self>, PortError> {
        let key = Self::key(board);
        let Got::Object(object) = results.get(&key, None, MAX_BYTES).await? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&object.bytes).map_err(|error| PortError::Malformed {
            subject: format!("`{key}` of the results bucket"),
            why: error.to_string(),
        })?;
        Ok(Some(read))
    }

    async fn write(&self, results: &dyn Bucket, board: &Board) -> Result<(), PortError> {
        let json = serde_json::to_vec(self).map_err(|error| PortError::Malformed {
            subject: format!("how far the release of `{}` has come", board.round),
            why: error.to_string(),
        })?;
        results.put(&Self::key(board), Bytes::from(json)).await
    }
}

/// A board whose receipts are released, with the stores that this needs.
pub struct Release<'a> {
    /// The board, of a round that has closed.
    pub board: Board,
    /// The description of its benchmark.
    pub hosted: &'a Descriptor,
    /// The challenge that is published.
    pub challenge: &'a Challenge,
    /// The table.
    pub table: &'a dyn Maintenance,
    /// The results bucket.
    pub results: &'a dyn Bucket,
    /// The signer of receipts.
    pub signer: &'a dyn Signer,
    /// The time.
    pub now: &'a dyn Fn() -> Timestamp,
    /// Whether there is time for another receipt.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// How many receipts were written.
    pub n_written: usize,
    /// How many submissions the board shows with their own scores from now on.
    pub n_lifted: usize,
    /// Whether no work is left.
    pub is_complete: bool,
}

impl Done {
    /// Counts what was done about one more submission.
    pub fn add(&mut self, of_one: OfOne) {
        if let OfOne::Shown {
            is_written,
            is_lifted,
        } = of_one
        {
            self.n_written += usize::from(is_written);
            self.n_lifted += usize::from(is_lifted);
        }
    }
}

/// The result for one submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfOne {
    /// Nothing was done: a part of its receipt is still withheld.
    Withheld(Shown),
    /// All of it is shown.
    Shown {
        /// Whether its whole, signed receipt was written now, because it was not there before.
        is_written: bool,
        /// Whether its board has shown another score before.
        is_lifted: bool,
    },
}

impl Release<'_> {
    /// Does what there is time for.
    ///
    /// # Errors
    /// [`PortError`]; what was done stays done.
    pub async fn run(&self) -> Result<Done, PortError> {
        let round = self.challenge.round(&self.board.round);
        let closes = round
            .filter(|round| self.board.is_of_round(&round.id))
            .and_then(|round| round.closes);
        let Some(closes) = closes.filter(|closes| is_over(*closes, (self.now)())) else {
            return Ok(Done::default());
        };
        let known = ReleaseProgress::read(self.results, &self.board).await?;
        let known = known.filter(|known| known.closes == closes);
        let has_ended = known.as_ref().is_some_and(|known| known.ended_at.is_some());
        // uploads after the close may come at any time
        if has_ended && !self.board.is_post_round() {
            return Ok(Done {
                is_complete: true,
                ..Done::default()
            });
        }
        let mut state = known.unwrap_or(ReleaseProgress {
            schema: ReleaseProgress::SCHEMA,
            closes,
            after: None,
            ended_at: None,
        });
        let mut lines = all_scored(self.table, &self.board).await?;
        // on the board after a close, what was withdrawn when it was passed may be back
        let is_back = |line: &Entry| line.climb.is_some() && line.withdrawn_at.is_none();
        lines.retain(|line| is_back(line) || state.is_behind(line));
        let mut n_noted = 0;
        let mut done = Done {
            is_complete: true,
            ..Done::default()
        };
        for line in &lines {
            if !(self.goes_on)() {
                done.is_complete = false;
                break;
            }
            let of_one = self.release(line).await?;
            if matches!(of_one, OfOne::Withheld(_)) {
                done.is_complete = false;
                break;
            }
            done.add(of_one);
            if state.is_behind(line) {
                state.after = Some((line.received_at, line.id.clone()));
                n_noted += 1;
            }
            if n_noted == NOTED_EVERY {
                state.write(self.results, &self.board).await?;
                n_noted = 0;
            }
        }
        state.ended_at = done.is_complete.then(&self.now);
        if (done.is_complete && !has_ended) || n_noted > 0 {
            state.write(self.results, &self.board).await?;
        }
        Ok(done)
    }

    /// Shows the own score of one submission on the board, and writes its whole receipt. Finishing
    /// leaves this undone where the published round no longer has a Ladder.
    ///
    /// # Errors
    /// [`PortError`]; may be called again.
    pub async fn release(&self, entry: &Entry) -> Result<OfOne, PortError> {
        let benchmark = &self.board.benchmark;
        let known = self.table.submission(benchmark, &entry.id).await?;
        let Some(mut receipt) = known.and_then(|known| known.receipt) else {
            // reopened since
            return Ok(OfOne::Shown {
                is_written: false,
                is_lifted: false,
            });
        };
        let now = (self.now)();
        let shown = shown_of_receipt(Some(self.challenge), &receipt, now);
        if shown.level < Feedback::Full {
            return Ok(OfOne::Withheld(shown));
        }
        let mut is_lifted = false;
        if receipt.climb().is_some()
            && let Some(lifted) = self.table.lift(benchmark, &entry.id, self.hosted).await?
        {
            receipt = lifted;
            is_lifted = true;
        }
        let (results, signer) = (self.results, self.signer);
        let is_written =
            write_where_it_shows_less(results, signer, &receipt, self.hosted, shown, now).await?;
        Ok(OfOne::Shown {
            is_written,
            is_lifted,
        })
    }
}

impl ReleaseProgress {
    /// Whether a line comes after the last one that is noted.
    fn is_behind(&self, line: &Entry) -> bool {
        self.after
            .as_ref()
            .is_none_or(|(at, id)| (line.received_at, &line.id) > (*at, id))
    }
}

/// Whether the grace after the close is over, so that all uploads from before it are recorded.
pub fn is_over(closes: Timestamp, at: Timestamp) -> bool {
    closes.unix_millis().saturating_add(GRACE_MILLIS) <= at.unix_millis()
}

/// Everything that was scored on a board, what was withdrawn included, in the order of the uploads.
///
/// # Errors
/// When the table does not answer.
pub async fn all_scored(table: &dyn Maintenance, board: &Board) -> Result<Vec<Entry>, PortError> {
    let lines = table.facts(board).await?.into_iter().map(|fact| fact.entry);
    Ok(lines.filter(|line| line.ending == Some(Ending::Scored)).collect())
}
