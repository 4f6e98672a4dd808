//! Finishes a round once after its close. Submissions' own scores replace those that the Ladder
//! released. The board's submissions are scored with the round's final data set, which no upload
//! has seen.
//!
//! The caretaker calls the benchmark's function repeatedly until the run that records the work has
//! ended. The work may stop at any point and run twice: a score depends only on bytes, and is
//! written to the same place again.

use std::collections::{BTreeMap, BTreeSet};

use dataperf_numerics::ranks::shake_up;
use serde::{Deserialize, Serialize};

use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::board::rank_key::Direction;
use crate::board::{Board, FINAL_ROUND};
use crate::challenge::{Challenge, Round, Terms, last_to_close, shown_of_released};
use crate::evaluation::admission::Admission;
use crate::evaluation::artifact_judge::{Evaluator, evaluated};
use crate::evaluation::workflow::WorkflowError;
use crate::ports::bucket::Bucket;
use crate::ports::signer::Signer;
use crate::receipt::write::write_receipt;
use crate::rows::facts::{Rules, board};
use crate::rows::revision::{Finalized, Revision, Run};
use crate::submission::{Entry, Submission, Withdrawal};
use crate::table::leaderboard::Projected;
use crate::table::maintenance::Maintenance;
use crate::upload::SubmissionId;
use crate::{Digest, Timestamp};

/// The grace after the close in milliseconds. Uploads from before the close are recorded meanwhile.
pub const GRACE_MILLIS: i64 = 15 * 60 * 1000;

/// How often one call projects a board for the changes that come meanwhile; after that the next change or the caretaker does.
const MAX_PROJECTIONS: usize = 20;

/// The caretaker requests due work within this many milliseconds, because it looks every quarter of
/// an hour.
const ASKED_WITHIN_MILLIS: i64 = 15 * 60 * 1000;

/// A request of the caretaker when it is due, or of an organizer at any time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishRequest {
    /// The round to finish. Without it, every round that is not finished and has closed or whose data set is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
    /// Whether not to wait for uploads from before the close that may still arrive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
}

impl Challenge {
    /// Whether a round needs finishing and the time for it has come: every round with the same
    /// final data set has closed. Until then its scores would inform participants of the others.
    pub fn is_due(&self, round: &Round, at: Timestamp) -> bool {
        round.has_work() && self.due_from(round).is_some_and(|due| due <= at)
    }

    /// When finishing becomes due; `None` if the round, or another one with the same final data
    /// set, never closes.
    pub fn due_from(&self, round: &Round) -> Option<Timestamp> {
        let shares = |other: &&Round| {
            other.id == round.id
                || (round.final_dataset.is_some() && other.final_dataset == round.final_dataset)
        };
        let closes = last_to_close(self.rounds.iter().filter(shares))?.closes;
        closes.map(|closes| after(closes, GRACE_MILLIS))
    }

    /// The time by which the caretaker has begun to make the final board, if the round has one. If
    /// the round [releases](Round::release) scores, every other round that may use the same data
    /// has to close first. The data sets known at publication decide.
    pub fn final_by(&self, round: &Round) -> Option<Timestamp> {
        let due = self.due_from(round).filter(|_| round.final_dataset.is_some())?;
        let shares = |other: &&Round| other.id != round.id && other.may_use_data_of(round);
        let others = round.release().map(|_| self.rounds.iter().filter(shares));
        let whole_at = match others.and_then(last_to_close) {
            Some(last) => last.closes?,
            None => due,
        };
        Some(after(due.max(whole_at), ASKED_WITHIN_MILLIS))
    }
}

fn after(at: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(at.unix_millis().saturating_add(millis))
}

/// The time by which something is due. If it is requested `early`, work that is due after the grace
/// is due now.
pub fn due_time(now: Timestamp, early: bool) -> Timestamp {
    if early { after(now, GRACE_MILLIS) } else { now }
}

impl Round {
    /// Whether anything but writing whole receipts is due once the round has closed.
    pub fn has_work(&self) -> bool {
        self.final_dataset.is_some() || self.release().is_some()
    }
}

impl Board {
    /// The final board of this board. It shows the same submissions with their scores of the final
    /// data set.
    #[must_use]
    pub fn of_final(&self) -> Self {
        Self {
            round: Self::final_of(&self.round),
            ..self.clone()
        }
    }

    /// The name that a round's final boards have for it.
    pub fn final_of(round: &str) -> String {
        format!("{round}{FINAL_ROUND}")
    }
}

/// How a final board differs from the public one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinalReport {
    /// When it was finished; `None` while it is not.
    pub finished_at: Option<Timestamp>,
    /// Submissions that have a rank on both boards.
    pub n_ranked: usize,
    /// Submissions that are against the rules of the final data set.
    pub n_rejected: usize,
    /// The mean distance of the two ranks of a submission, as a share of [`n_ranked`](Self::n_ranked); `None` below two.
    pub shake_up: Option<f64>,
    /// The rank of each of these submissions among them, on the public board and on the final one.
    #[serde(skip)]
    pub ranks: BTreeMap<SubmissionId, (usize, usize)>,
}

impl FinalReport {
    /// A run's results on a board. `series` says which data set scored each submission there. Only
    /// scores with the most frequent one are compared.
    pub fn new(run: &Run, revisions: &[Revision], series: &[Entry], direction: Direction) -> Self {
        let datasets: BTreeMap<&SubmissionId, Option<Digest>> =
            series.iter().map(|line| (&line.id, line.dataset)).collect();
        let dataset_of = |revision: &Revision| datasets.get(&revision.id).copied().flatten();
        let mut n_of: BTreeMap<Option<Digest>, usize> = BTreeMap::new();
        for revision in revisions {
            *n_of.entry(dataset_of(revision)).or_default() += 1;
        }
        let most = n_of
            .into_iter()
            .max_by_key(|(_, n)| *n)
            .map(|(dataset, _)| dataset);
        let both = |revision: &Revision| Some((revision.before?, revision.after?));
        let people = revisions
            .iter()
            .filter(|revision| !revision.is_baseline && Some(dataset_of(revision)) == most);
        let scored: Vec<(&Revision, (f64, f64))> = people
            .filter_map(|revision| Some((revision, both(revision)?)))
            .collect();
        let sorted = |get: fn(&(f64, f64)) -> f64| {
            let mut scores: Vec<f64> = scored.iter().map(|(_, scores)| get(scores)).collect();
            scores.sort_by(f64::total_cmp);
            scores
        };
        let [public, last] = [sorted(|scores| scores.0), sorted(|scores| scores.1)];
        let rank = |scores: &[f64], own: f64| {
            let n_better = match direction {
                Direction::HigherIsBetter => scores.len() - scores.partition_point(|other| *other <= own),
                Direction::LowerIsBetter => scores.partition_point(|other| *other < own),
            };
            1 + n_better
        };
        let ranks = scored.iter().map(|(revision, (before, after))| {
            let ranks = (rank(&public, *before), rank(&last, *after));
            (revision.id.clone(), ranks)
        });
        let ranks: BTreeMap<SubmissionId, (usize, usize)> = ranks.collect();
        let (public, last): (Vec<usize>, Vec<usize>) = ranks.values().copied().unzip();
        Self {
            finished_at: run.ended_at,
            n_ranked: ranks.len(),
            n_rejected: revisions
                .iter()
                .filter(|revision| revision.after.is_none())
                .count(),
            shake_up: shake_up(&public, &last),
            ranks,
        }
    }

    /// The report on a board of a round with a final data set; `None` where finishing has not begun.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn read(
        table: &impl Maintenance,
        board: &Board,
        direction: Direction,
    ) -> Result<Option<Self>, crate::ports::PortError> {
        let last = board.of_final();
        let Some(run) = table.run(&last).await? else {
            return Ok(None);
        };
        let revisions = table.revisions(&last, &run.id).await?;
        let series = table.series(board).await?;
        Ok(Some(Self::new(&run, &revisions, &series, direction)))
    }
}

/// The result of a call of [`Finish::run`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finished {
    /// Submissions that show their own score from now on.
    pub n_lifted: usize,
    /// Submissions that were scored with the final data set.
    pub n_scored: usize,
    /// Submissions that were scored with the data set that followed a [retired](crate::closing::retirement) one.
    pub n_rescored: usize,
    /// Whole receipts that were [released](crate::closing::receipt_release).
    pub n_released: usize,
    /// Whether no work is left.
    pub is_complete: bool,
}

impl Finished {
    /// How much was done: on how many submissions, once for each kind of work.
    pub fn n_done(&self) -> usize {
        self.n_lifted + self.n_scored + self.n_rescored + self.n_released
    }
}

/// The result of scoring one submission with the final data set.
enum Scored {
    /// It has its final score, or is against the rules of the final data set.
    Now,
    /// It was withdrawn since.
    Withdrawn,
    /// It had left its board before this was noted.
    Moved,
}

/// A board that is being finished, and what it is done with.
pub struct Finish<'a> {
    /// The board, of a round that has closed.
    pub board: Board,
    /// The challenge that is published.
    pub challenge: &'a Challenge,
    /// The submissions bucket of a name.
    pub submissions: &'a dyn Fn(&str) -> Box<dyn Bucket>,
    /// The table.
    pub table: &'a dyn Maintenance,
    /// The results bucket.
    pub results: &'a dyn Bucket,
    /// The signer of receipts.
    pub signer: &'a dyn Signer,
    /// The time.
    pub now: &'a dyn Fn() -> Timestamp,
    /// Whether there is time for another submission.
    pub goes_on: &'a dyn Fn() -> bool,
    /// Whether not to wait for uploads from before the close that may still arrive.
    pub early: bool,
}

impl Finish<'_> {
    /// Does what there is time for.
    ///
    /// # Errors
    /// [`WorkflowError`]; what was done stays done.
    pub async fn run<E: Evaluator>(&self, evaluator: &E) -> Result<Finished, WorkflowError> {
        let nothing = Finished::default();
        let complete = Finished {
            is_complete: true,
            ..nothing
        };
        let Some(round) = self.challenge.round(&self.board.round) else {
            return Ok(nothing);
        };
        let last = self.board.of_final();
        let known = self.table.run(&last).await?;
        if known.is_some_and(|run| run.ended_at.is_some()) {
            return Ok(complete);
        }
        if round.id != self.board.round
            || !self.challenge.is_due(round, due_time((self.now)(), self.early))
            || self.has_unfinished().await?
        {
            return Ok(nothing);
        }
        let run = self.table.begin_only_run(&last, (self.now)()).await?;
        if run.ended_at.is_some() {
            return Ok(complete); // by a call beside this one, meanwhile
        }
        let hosted = evaluator.hosted();
        let (n_lifted, all_lifted) = self.lift(hosted).await?;
        let (mut n_scored, mut all_scored) = (0, true);
        if let Some(dataset) = round.final_dataset {
            // a board that has a Ladder is final once it shows submissions' own scores
            (n_scored, all_scored) = if all_lifted {
                self.score(dataset, &run, evaluator).await?
            } else {
                (0, false)
            };
        }
        self.project(hosted).await?;
        let mut is_complete = all_lifted && all_scored;
        if is_complete {
            let mut changed = vec![self.board.clone()];
            changed.extend(round.final_dataset.map(|_| last.clone()));
            is_complete = self.table.end_run(&last, &run, (self.now)(), &changed).await?;
        }
        Ok(Finished {
            n_lifted,
            n_scored,
            is_complete,
            ..nothing
        })
    }

    /// The rules of the public board.
    fn rules(&self, hosted: &Descriptor) -> Rules {
        Rules::new(hosted, Some(self.challenge), &self.board, None, (self.now)())
    }

    /// Projects the rows of both boards.
    async fn project(&self, hosted: &Descriptor) -> Result<(), WorkflowError> {
        let rules = self.rules(hosted);
        for _ in 0..MAX_PROJECTIONS {
            if self.table.project(&self.board, &rules, None).await? != Projected::Behind {
                break;
            }
        }
        Ok(())
    }

    /// Whether something that was uploaded to the board is still being evaluated.
    async fn has_unfinished(&self) -> Result<bool, WorkflowError> {
        let unfinished = self.table.unfinished(&self.board.benchmark).await?;
        Ok(unfinished.iter().any(|line| line.board == self.board))
    }

    /// Shows submissions' own scores, as far as they may be shown by now. Says how many, and whether that is all.
    async fn lift(&self, hosted: &Descriptor) -> Result<(usize, bool), WorkflowError> {
        let series = self.table.series(&self.board).await?;
        let released: Vec<_> = series.iter().filter(|line| line.climb.is_some()).collect();
        if released.is_empty() {
            return Ok((0, true));
        }
        let mut n_lifted = 0;
        for line in &released {
            let now = (self.now)();
            let shown = shown_of_released(Some(self.challenge), &self.board, line.dataset, now);
            if shown.level < Feedback::Full || !(self.goes_on)() {
                return Ok((n_lifted, false));
            }
            // the receipt first: once the line is lifted nothing is left to do
            let benchmark = &self.board.benchmark;
            let known = self.table.submission(benchmark, &line.id).await?;
            if let Some(receipt) = known.and_then(|known| known.receipt) {
                write_receipt(self.results, self.signer, &receipt, hosted, shown, now).await?;
            }
            let lifted = self.table.lift(benchmark, &line.id, hosted).await?;
            n_lifted += usize::from(lifted.is_some());
        }
        Ok((n_lifted, true))
    }

    /// Scores the board's submissions with the final data set. Returns how many, and whether that
    /// is all.
    async fn score<E: Evaluator>(
        &self,
        dataset: Digest,
        run: &Run,
        evaluator: &E,
    ) -> Result<(usize, bool), WorkflowError> {
        let rules = self.rules(evaluator.hosted());
        let (mut n_scored, mut n_moved, mut failed) = (0, 0_usize, None);
        let mut looked_at = BTreeSet::new();
        loop {
            // as they are now: the Ladder may just have been lifted, and if somebody's submission was withdrawn meanwhile, another of theirs has the row
            let facts = self.table.facts(&self.board).await?;
            let done: Vec<Revision> = facts.iter().filter_map(Revision::of_final).collect();
            let mut rows = board(&facts, &rules).public;
            let mut n_rows: BTreeMap<String, usize> = BTreeMap::new();
            for row in &rows {
                *n_rows.entry(row.submitter.clone()).or_default() += 1;
            }
            rows.retain(|row| !looked_at.contains(&row.id) && done.iter().all(|done| done.id != row.id));
            if rows.is_empty() {
                return failed.map_or(Ok((n_scored, n_moved == 0)), Err);
            }
            for row in rows {
                if !(self.goes_on)() {
                    return failed.map_or(Ok((n_scored, false)), Err);
                }
                let is_back = run.n_back > 0 && self.is_back(&row, run).await?;
                let is_late = run.first_ended_at.is_some() && !is_back;
                let is_taken =
                    !is_back && n_rows[&row.submitter] == 1 && self.has_another(&row, &done).await?;
                looked_at.insert(row.id.clone());
                if is_taken || is_late {
                    continue;
                }
                match self.score_one(&row, dataset, evaluator).await {
                    Ok(Scored::Now) => n_scored += 1,
                    Ok(Scored::Withdrawn) => {}
                    Ok(Scored::Moved) => n_moved += 1, // a further call finds whether it stands again
                    Err(error) => failed = failed.or(Some(error)), // it keeps none of the others from being scored
                }
            }
        }
    }

    /// Whether the row's submission was withdrawn and restored since the run began. It is on the
    /// public board, so it replaces another submission of its submitter on the final board.
    async fn is_back(&self, row: &Entry, run: &Run) -> Result<bool, WorkflowError> {
        let known = self.table.submission(&self.board.benchmark, &row.id).await?;
        // another machine's clock set the time of the restoration
        let since = run.begun_at.unix_millis().saturating_sub(GRACE_MILLIS);
        let undone_after =
            |withdrawal: &Withdrawal| withdrawal.undone_at.is_some_and(|at| at.unix_millis() >= since);
        Ok(known.is_some_and(|known| known.withdrawals.iter().any(undone_after)))
    }

    /// Whether another submission of the row's submitter has its final score and still has a public one. If so, the row's came to the public board
    /// after that.
    async fn has_another(&self, row: &Entry, done: &[Revision]) -> Result<bool, WorkflowError> {
        let is_other = |done: &&Revision| {
            done.submitter == row.submitter && done.is_baseline == row.is_baseline && done.after.is_some()
        };
        for other in done.iter().filter(is_other) {
            let known = self.table.submission(&self.board.benchmark, &other.id).await?;
            if known.is_some_and(|known| known.entry().is_on_board()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn score_one<E: Evaluator>(
        &self,
        row: &Entry,
        dataset: Digest,
        evaluator: &E,
    ) -> Result<Scored, WorkflowError> {
        let hosted = evaluator.hosted();
        let known = self.table.submission(hosted.id, &row.id).await?;
        let known = known.filter(|known| known.withdrawn_at.is_none() && known.receipt.is_some());
        let Some(known) = known else {
            return Ok(Scored::Withdrawn);
        };
        let submission = Submission {
            board: self.board.of_final(),
            ..known
        };
        let terms = Terms {
            dataset: Some(dataset),
            ..Terms::outside_any_challenge(&submission.submitter)
        };
        let submissions = (self.submissions)(&submission.upload.bucket);
        let free = Admission::free();
        let verdict = evaluated(evaluator, &submission, &terms, &*submissions, &free).await?;
        let last = Finalized {
            revision: Revision {
                id: row.id.clone(),
                submitter: row.submitter.clone(),
                received_at: row.received_at,
                is_baseline: row.is_baseline,
                before: row.score,
                dataset_before: row.dataset,
                ending: verdict.status,
                after: verdict.score,
            },
            board: submission.board,
            verdict,
        };
        let is_noted = self.table.finalize(&last, hosted).await?;
        Ok(if is_noted { Scored::Now } else { Scored::Moved })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shared_final_data_finish_after_the_last_close() {
        let round = |id: &str, closes: &str, of_final: &str| json!({ "id": id, "opens": "2026-01-01T00:00:00Z", "closes": closes, "final": Digest::compute(of_final.as_bytes()) });
        let rounds = json!([
            round("one", "2026-02-01T00:00:00Z", "a"),
            round("two", "2026-03-01T00:00:00Z", "a"),
            round("three", "2026-02-01T00:00:00Z", "b"),
        ]);
        let challenge: Challenge =
            serde_json::from_value(json!({ "schema": 1, "title": "t", "rounds": rounds }))
                .expect("a challenge");
        let due = |at: &str| {
            let at = at.parse().expect("a time");
            let due = challenge
                .rounds
                .iter()
                .filter(|round| challenge.is_due(round, at));
            due.map(|round| round.id.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(due("2026-02-01T00:14:59Z"), [""; 0]);
        assert_eq!(due("2026-02-01T00:15:00Z"), ["three"]);
        assert_eq!(due("2026-03-01T00:15:00Z"), ["one", "two", "three"]);
    }
}
