//! The table in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::leaderboard::{
    Board, Entry, Leaderboards, Projected, Ranked, Recorded, Reopened, Submission, Usage, with_shared_ranks,
};
use super::maintenance::{DataNote, Finalized, Maintenance, Reinstated, Revised, Revision, Run, Withdrawn};
use super::{PortError, async_trait, lock};
use crate::challenge::{Reserved, Terms};
use crate::descriptor::Descriptor;
use crate::facts::{self, Fact, FinalOutcome, Rules};
use crate::ladder::{Climb, Rung};
use crate::upload::SubmissionId;
use crate::verdict::{Ending, FIRST_REVISION, Receipt};
use crate::{Direction, SubmitterName, Timestamp};

/// The table in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryLeaderboards {
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    submissions: BTreeMap<(String, SubmissionId), Submission>,
    /// By benchmark and by what a name looks like: whose it is.
    names: BTreeMap<(String, String), SubmitterName>,
    /// By board, in ranking order, as they were projected last.
    rows: BTreeMap<Board, Vec<Entry>>,
    boards: BTreeSet<Board>,
    /// By board and submitter: the days of the uploads that were scored.
    counted: BTreeMap<(Board, String), Vec<String>>,
    /// Where submissions were counted before they were evaluated.
    reserved: BTreeMap<(String, SubmissionId), Board>,
    /// Where submissions are counted that have failed.
    failed: BTreeMap<(String, SubmissionId), Board>,
    /// By benchmark, evaluation data and submitter: what the Ladder has released.
    rungs: BTreeMap<(String, String, String), Rung>,
    runs: BTreeMap<Board, Run>,
    /// By benchmark.
    notes: BTreeMap<(String, DataNote), Timestamp>,
    revisions: BTreeMap<(Board, String), Vec<Revision>>,
    /// By public board: what the final data set has judged.
    finalized: BTreeMap<(Board, SubmissionId), FinalOutcome>,
}

impl Table {
    fn entries(&self, benchmark: &str) -> Vec<Entry> {
        let of_benchmark = self
            .submissions
            .values()
            .filter(|submission| submission.board.benchmark == benchmark);
        let mut entries: Vec<Entry> = of_benchmark.map(Submission::entry).collect();
        entries.sort_by(|a, b| a.time_order().cmp(&b.time_order()));
        entries
    }

    fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Usage {
        let days = self.counted.get(&(board.clone(), submitter.to_owned()));
        let days = days.map_or(&[][..], Vec::as_slice);
        let day = at.day();
        Usage {
            day: days.iter().filter(|&other| *other == day).count() as u64,
            total: days.len() as u64,
        }
    }

    /// Counts an upload or, unless it `is_more`, counts it no longer.
    fn count(&mut self, counter: &Board, submitter: &str, at: Timestamp, is_more: bool) {
        let counted = (counter.clone(), submitter.to_owned());
        let days = self.counted.entry(counted).or_default();
        if is_more {
            days.push(at.day());
        } else if let Some(one) = days.iter().position(|day| *day == at.day()) {
            days.remove(one);
        }
    }

    /// Whether a receipt's `ladder` was worked out after the rung as it is now.
    fn is_of_rung(&self, receipt: &Receipt) -> bool {
        let ladder = receipt.ladder.as_ref().filter(|released| !released.is_lifted);
        let n_changes = rung_key(receipt)
            .and_then(|key| self.rungs.get(&key))
            .map_or(0, |rung| rung.n_changes);
        ladder.is_none_or(|released| released.rung == n_changes)
    }

    /// Moves the rung on to a receipt that has climbed.
    fn climb(&mut self, receipt: &Receipt, direction: Direction) {
        if let (Some(Climb::Climbed), Some(key)) = (receipt.climb(), rung_key(receipt)) {
            let new = Rung::new(&key.1);
            self.rungs.entry(key).or_insert(new).climb(receipt, direction);
        }
    }

    /// Moves the rung back, if it is that of a submission which has left the board.
    fn step_down(&mut self, left: &Submission, direction: Direction) {
        let lines = self.history(&left.board.benchmark, &left.submitter);
        let key = left.receipt.as_ref().and_then(rung_key);
        if let Some(rung) = key.and_then(|key| self.rungs.get_mut(&key)) {
            rung.step_down(&left.entry(), &lines, direction);
        }
    }

    /// Moves the rung to a submission that is back on the board, if it is the best that was released.
    fn step_up(&mut self, back: &Submission, direction: Direction) {
        let lines = self.history(&back.board.benchmark, &back.submitter);
        let key = back.receipt.as_ref().and_then(rung_key);
        if let Some(rung) = key.and_then(|key| self.rungs.get_mut(&key)) {
            rung.step_up(&back.entry(), &lines, direction);
        }
    }

    fn history(&self, benchmark: &str, submitter: &str) -> Vec<Entry> {
        let mut lines = self.entries(benchmark);
        lines.retain(|line| line.submitter == submitter);
        lines
    }

    /// Has a round's finishing go on for a submission that is back and has no final score.
    fn finish_anew(&mut self, back: &Entry) {
        let Some(run) = self.runs.get_mut(&back.board.of_final()) else {
            return;
        };
        if !self
            .finalized
            .contains_key(&(back.board.clone(), back.id.clone()))
        {
            run.first_ended_at = run.first_ended_at.or(run.ended_at.take());
            run.n_back += 1;
        }
    }

    fn facts(&self, board: &Board) -> Vec<Fact> {
        let board = board.public().unwrap_or_else(|| board.clone());
        let was_scored = |submission: &&Submission| {
            let receipt = submission.receipt.as_ref();
            receipt.is_some_and(|receipt| {
                receipt.verdict.status == Ending::Scored || receipt.revision > FIRST_REVISION
            })
        };
        let of_board = self
            .submissions
            .values()
            .filter(|submission| submission.board == board);
        let fact = |submission: &Submission| Fact {
            entry: submission.entry(),
            last: self
                .finalized
                .get(&(board.clone(), submission.id.clone()))
                .cloned(),
        };
        let mut facts: Vec<Fact> = of_board.filter(was_scored).map(fact).collect();
        facts.sort_by(|a, b| a.entry.time_order().cmp(&b.entry.time_order()));
        facts
    }
}

/// Which rung a receipt is recorded after.
fn rung_key(receipt: &Receipt) -> Option<(String, String, String)> {
    let evaluation = receipt.ladder.as_ref()?.evaluation.clone()?;
    Some((
        receipt.verdict.benchmark.clone(),
        evaluation,
        receipt.submitter.clone(),
    ))
}

fn never_received(id: &SubmissionId) -> PortError {
    PortError::Malformed {
        what: format!("submission `{id}`"),
        why: "it ends without having been received".into(),
    }
}

#[async_trait]
impl Leaderboards for MemoryLeaderboards {
    async fn receive(&self, submission: &Submission) -> Result<Submission, PortError> {
        let mut table = lock(&self.table);
        let key = (submission.board.benchmark.clone(), submission.id.clone());
        let known = table.submissions.entry(key);
        Ok(known.or_insert_with(|| submission.clone()).clone())
    }

    async fn note_name(
        &self,
        benchmark: &str,
        name: &SubmitterName,
        _at: Timestamp,
    ) -> Result<Option<SubmitterName>, PortError> {
        let mut table = lock(&self.table);
        let key = (benchmark.to_owned(), name.looks());
        let other = table.names.entry(key).or_insert_with(|| name.clone()).clone();
        let mut lines = table.entries(benchmark);
        lines.retain(|line| line.submitter == name.as_str());
        let is_kept = other == *name || lines.iter().any(Entry::is_scored_or_accepted);
        Ok((!is_kept).then_some(other))
    }

    async fn reserve(&self, submission: &Submission, terms: &Terms) -> Result<Reserved, PortError> {
        let mut table = lock(&self.table);
        let Submission {
            board,
            submitter,
            received_at,
            ..
        } = submission;
        let key = (board.benchmark.clone(), submission.id.clone());
        let is_unfinished = |known: &Submission| known.receipt.is_none();
        if terms.reserved().is_none() {
            return Ok(Reserved::Unlimited);
        }
        if !table.submissions.get(&key).is_some_and(is_unfinished) {
            return Ok(Reserved::Before);
        }
        let counter = terms.counter(&Board {
            round: terms.round.clone(),
            ..board.clone()
        });
        let reserved = table.reserved.get(&key).cloned();
        if reserved.as_ref() == Some(&counter) {
            return Ok(Reserved::Before);
        }
        if let Some(over) = terms.over_limit(table.usage(&counter, submitter, *received_at)) {
            return Ok(Reserved::OverLimit(over));
        }
        let was_counted = reserved.is_some();
        if let Some(other) = reserved {
            table.count(&other, submitter, *received_at, false);
        }
        table.count(&counter, submitter, *received_at, true);
        table.reserved.insert(key, counter);
        Ok(if was_counted {
            Reserved::Before
        } else {
            Reserved::Now
        })
    }

    async fn record(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        terms: &Terms,
    ) -> Result<Recorded, PortError> {
        let mut table = lock(&self.table);
        let key = (receipt.verdict.benchmark.clone(), receipt.submission.clone());
        let Some(submission) = table.submissions.get(&key) else {
            return Err(never_received(&receipt.submission));
        };
        if let Some(ended) = &submission.receipt {
            return Ok(Recorded::Before(ended.clone()));
        }
        if !table.is_of_rung(receipt) {
            return Ok(Recorded::LadderMoved);
        }
        let mut submission = submission.clone();
        submission.receipt = Some(receipt.clone());
        submission.board.round.clone_from(&receipt.round);
        submission.is_baseline = terms.is_baseline;
        let entry = submission.entry();
        let is_scored = receipt.verdict.status == Ending::Scored;
        let counts = receipt.verdict.is_counted(hosted) && terms.limits.is_some();
        let counter = counts.then(|| terms.counter(&entry.board));
        let reserved = table.reserved.get(&key).cloned();
        let (submitter, at) = (&entry.submitter, entry.received_at);
        if counter != reserved {
            let usage = |counter: &Board| table.usage(counter, submitter, at);
            let over = counter.as_ref().and_then(|to| terms.over_limit(usage(to)));
            if let Some(over) = over {
                return Ok(Recorded::OverLimit(over));
            }
            for (counter, is_more) in [(reserved, false), (counter, true)] {
                if let Some(counter) = counter {
                    table.count(&counter, submitter, at, is_more);
                }
            }
        }
        if receipt.verdict.is_counted_failure() {
            let failures = terms.failures(&entry.board);
            table.count(&failures, submitter, at, true);
            table.failed.insert(key.clone(), failures);
        }
        table.reserved.remove(&key);
        table.submissions.insert(key, submission);
        table.climb(receipt, hosted.direction);
        if is_scored {
            table.boards.insert(entry.board.clone());
        }
        Ok(Recorded::Now)
    }

    async fn rung(&self, benchmark: &str, evaluation: &str, submitter: &str) -> Result<Rung, PortError> {
        let key = (benchmark.to_owned(), evaluation.to_owned(), submitter.to_owned());
        let found = lock(&self.table).rungs.get(&key).cloned();
        Ok(found.unwrap_or_else(|| Rung::new(evaluation)))
    }

    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError> {
        Ok(lock(&self.table).usage(board, submitter, at))
    }

    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        Ok(lock(&self.table)
            .submissions
            .get(&(benchmark.to_owned(), id.clone()))
            .cloned())
    }

    async fn facts(&self, board: &Board) -> Result<Vec<Fact>, PortError> {
        Ok(lock(&self.table).facts(board))
    }

    async fn project(
        &self,
        board: &Board,
        rules: &Rules,
        _changed: Option<&str>,
    ) -> Result<Projected, PortError> {
        let mut table = lock(&self.table);
        let board = board.public().unwrap_or_else(|| board.clone());
        let rows = facts::board(&table.facts(&board), rules);
        table.rows.insert(board.of_final(), rows.last);
        table.rows.insert(board, rows.public);
        Ok(Projected::Current)
    }

    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        Ok(lock(&self.table).rows.get(board).cloned().unwrap_or_default())
    }

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let rows = self.rows(board).await?;
        Ok(with_shared_ranks(rows.into_iter().take(n), None))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.submitter == submitter);
        Ok(entries.into_iter().rev().take(n).collect())
    }

    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.ending.is_none());
        Ok(entries)
    }

    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.ending == Some(Ending::Failed));
        Ok(entries)
    }

    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError> {
        let mut table = lock(&self.table);
        let key = (benchmark.to_owned(), id.clone());
        let Some(submission) = table.submissions.get_mut(&key) else {
            return Ok(Reopened::Unknown);
        };
        match &submission.receipt {
            None => return Ok(Reopened::Unfinished(submission.clone())),
            Some(receipt) if receipt.verdict.status != Ending::Failed => {
                return Ok(Reopened::Final(receipt.clone()));
            }
            Some(_) => {
                submission.receipt = None;
                submission.is_reopened = true;
            }
        }
        let submission = submission.clone();
        if let Some(failures) = table.failed.remove(&key) {
            table.count(&failures, &submission.submitter, submission.received_at, false);
        }
        Ok(Reopened::Reopened(submission))
    }

    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let table = lock(&self.table);
        let of_benchmark = table.boards.iter().filter(|board| board.benchmark == benchmark);
        Ok(of_benchmark.cloned().collect())
    }
}

#[async_trait]
impl Maintenance for MemoryLeaderboards {
    async fn withdraw(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Withdrawn, PortError> {
        let mut table = lock(&self.table);
        let Some(submission) = table.submissions.get_mut(&(benchmark.to_owned(), id.clone())) else {
            return Ok(Withdrawn::NothingToWithdraw(None));
        };
        if submission.withdrawn_at.is_some() {
            return Ok(Withdrawn::Before(submission.clone()));
        }
        if !submission.entry().is_on_board() {
            return Ok(Withdrawn::NothingToWithdraw(Some(submission.clone())));
        }
        submission.withdraw(at, reason.map(str::to_owned));
        let submission = submission.clone();
        table.step_down(&submission, direction);
        Ok(Withdrawn::Now(submission))
    }

    async fn reinstate(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Reinstated, PortError> {
        let mut table = lock(&self.table);
        let Some(submission) = table.submissions.get_mut(&(benchmark.to_owned(), id.clone())) else {
            return Ok(Reinstated::NotWithdrawn(None));
        };
        if submission.withdrawn_at.is_none() {
            return Ok(Reinstated::NotWithdrawn(Some(submission.clone())));
        }
        submission.reinstate(at, reason.map(str::to_owned));
        let submission = submission.clone();
        table.step_up(&submission, direction);
        table.finish_anew(&submission.entry());
        Ok(Reinstated::Now(submission))
    }

    async fn run(&self, board: &Board) -> Result<Option<Run>, PortError> {
        Ok(lock(&self.table).runs.get(board).cloned())
    }

    async fn note(&self, benchmark: &str, note: &DataNote, at: Timestamp) -> Result<(), PortError> {
        let key = (benchmark.to_owned(), note.clone());
        lock(&self.table).notes.entry(key).or_insert(at);
        Ok(())
    }

    async fn noted(&self, benchmark: &str, note: &DataNote) -> Result<Option<Timestamp>, PortError> {
        let key = (benchmark.to_owned(), note.clone());
        Ok(lock(&self.table).notes.get(&key).copied())
    }

    async fn notes(&self, benchmark: &str) -> Result<Vec<(DataNote, Timestamp)>, PortError> {
        let table = lock(&self.table);
        let of_benchmark = table.notes.iter().filter(|((of, _), _)| of == benchmark);
        Ok(of_benchmark.map(|((_, note), at)| (note.clone(), *at)).collect())
    }

    async fn begin_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError> {
        let mut table = lock(&self.table);
        let newest = table.runs.get(board);
        if let Some(run) = newest.filter(|run| run.ended_at.is_none()) {
            return Ok(run.clone());
        }
        let run = Run::begun(at, newest);
        table.runs.insert(board.clone(), run.clone());
        Ok(run)
    }

    async fn begin_only_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError> {
        if let Some(run) = lock(&self.table).runs.get(board) {
            return Ok(run.clone());
        }
        self.begin_run(board, at).await
    }

    async fn end_run(
        &self,
        board: &Board,
        run: &Run,
        at: Timestamp,
        _changed: &[Board],
    ) -> Result<bool, PortError> {
        let mut table = lock(&self.table);
        let same = |current: &&mut Run| current.id == run.id && current.n_back == run.n_back;
        let current = table.runs.get_mut(board).filter(same);
        Ok(current.map(|current| current.ended_at = Some(at)).is_some())
    }

    async fn revise(&self, receipt: &Receipt, hosted: &Descriptor, run: &str) -> Result<Revised, PortError> {
        let mut table = lock(&self.table);
        let key = (receipt.verdict.benchmark.clone(), receipt.submission.clone());
        let known = table.submissions.get(&key).cloned();
        let Some((known, old)) =
            known.and_then(|known| known.receipt.clone().map(|receipt| (known, receipt)))
        else {
            return Err(never_received(&receipt.submission));
        };
        let is_anew = receipt.ladder != old.ladder;
        if is_anew && !table.is_of_rung(receipt) {
            return Ok(Revised::Moved);
        }
        let of_run = (known.board.clone(), run.to_owned());
        let done = table.revisions.entry(of_run).or_default();
        if known.withdrawn_at.is_some() || done.iter().any(|done| done.id == known.id) {
            return Ok(Revised::Settled(old));
        }
        if !receipt.follows(&old) {
            return Ok(Revised::Moved);
        }
        done.push(Revision::of(&known, receipt));
        let revised = Submission {
            receipt: Some(receipt.clone()),
            ..known
        };
        let entry = revised.entry();
        table.submissions.insert(key, revised.clone());
        let direction = hosted.direction;
        if is_anew && receipt.climb().is_some() {
            table.climb(receipt, direction);
        } else if !entry.is_on_board() {
            let left = Submission {
                receipt: Some(old),
                ..revised
            };
            table.step_down(&left, direction);
        }
        Ok(Revised::Recorded)
    }

    async fn lift(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        _hosted: &Descriptor,
    ) -> Result<Option<Receipt>, PortError> {
        let mut table = lock(&self.table);
        let key = (benchmark.to_owned(), id.clone());
        let known = table.submissions.get_mut(&key);
        let Some(submission) = known.filter(|known| known.withdrawn_at.is_none()) else {
            return Ok(None);
        };
        let Some(released) = submission
            .receipt
            .as_mut()
            .and_then(|receipt| receipt.ladder.as_mut())
        else {
            return Ok(None);
        };
        if released.is_lifted {
            return Ok(None);
        }
        released.is_lifted = true;
        Ok(submission.receipt.clone())
    }

    async fn finalize(&self, last: &Finalized, _hosted: &Descriptor) -> Result<bool, PortError> {
        let mut table = lock(&self.table);
        let (benchmark, id) = (&last.board.benchmark, &last.revision.id);
        let known = table.submissions.get(&(benchmark.clone(), id.clone()));
        let is_as_read = |public: &Entry| public.is_on_board() && public.score == last.revision.before;
        let Some(public) = known.map(Submission::entry).filter(is_as_read) else {
            return Ok(false);
        };
        if last.verdict.score.is_some() {
            table.boards.insert(last.board.clone());
        }
        table.finalized.insert((public.board, public.id), last.outcome());
        Ok(true)
    }

    async fn revision(
        &self,
        board: &Board,
        run: &str,
        id: &SubmissionId,
    ) -> Result<Option<Revision>, PortError> {
        let done = self.revisions(board, run).await?;
        Ok(done.into_iter().find(|revision| revision.id == *id))
    }

    async fn revisions(&self, board: &Board, run: &str) -> Result<Vec<Revision>, PortError> {
        let table = lock(&self.table);
        let mut revisions = if board.is_final() {
            table.facts(board).iter().filter_map(Revision::of_final).collect()
        } else {
            let of_run = (board.clone(), run.to_owned());
            table.revisions.get(&of_run).cloned().unwrap_or_default()
        };
        revisions.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(revisions)
    }
}
