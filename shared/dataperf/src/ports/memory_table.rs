//! The table in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::leaderboard::{
    Board, Entry, Leaderboards, Ranked, Recorded, Reopened, Submission, Usage, rank_key_of, standing,
    with_shared_ranks,
};
use super::maintenance::{
    DataNote, Finalized, Maintenance, Order, Reinstated, Revised, Revision, Run, Withdrawn,
};
use super::{PortError, async_trait, lock};
use crate::challenge::{Ranking, Reserved, Terms};
use crate::descriptor::Descriptor;
use crate::ladder::{Climb, Rung};
use crate::rank::RankKey;
use crate::upload::SubmissionId;
use crate::verdict::{Ending, Receipt};
use crate::{Digest, Direction, SubmitterName, Timestamp};

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
    /// By board and submitter, and by id too where all of a submitter's stand.
    rows: BTreeMap<(Board, String, Option<SubmissionId>), (RankKey, Entry)>,
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
    /// By final board: what has a final score.
    finalized: BTreeMap<(Board, SubmissionId), (Entry, IsOwn)>,
}

/// Whether a row is a submission's own, on a board on which each has one.
#[derive(Debug, Clone, Copy)]
struct IsOwn(bool);

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

    /// Puts the right row of a submitter on the final board once `changed` was withdrawn, or no longer is, or has another score. `dataset` is the one whose
    /// scores are compared on the public board.
    fn follow_public(&mut self, changed: &Entry, order: Order, dataset: Option<Digest>) {
        let last = changed.board.of_final();
        let Some(run) = self.runs.get(&last) else {
            return;
        };
        let done = self.revisions.get(&(last.clone(), run.id.clone()));
        let is_done = |line: &Entry| done.is_some_and(|done| done.iter().any(|done| done.id == line.id));
        if !is_done(changed) {
            return;
        }
        let of = |id: &SubmissionId| self.finalized.get(&(last.clone(), id.clone()));
        let is_own = of(&changed.id).is_some_and(|(_, is_own)| is_own.0);
        let own = is_own.then(|| changed.id.clone());
        let mut lines = self.entries(&changed.board.benchmark);
        lines.retain(|line| line.submitter == changed.submitter && line.is_on_board() && is_done(line));
        let stands = if is_own {
            lines.iter().find(|line| line.id == changed.id)
        } else {
            standing(&lines, &changed.board, order.ranking, order.direction, dataset)
        };
        let row = stands.and_then(|stands| of(&stands.id));
        if own.is_none() && row.is_some_and(|(_, is_own)| is_own.0) {
            return;
        }
        let row = row.and_then(|(row, _)| Some((rank_key_of(row, order.direction)?, row.clone())));
        let key = (last.clone(), changed.submitter.clone(), own);
        self.rows.remove(&key);
        self.rows.extend(row.map(|row| (key, row)));
    }

    /// Has a round's finishing go on for a submission that is back and has no final score.
    fn finish_anew(&mut self, back: &Entry) {
        let last = back.board.of_final();
        let Some(run) = self.runs.get_mut(&last) else {
            return;
        };
        let done = self.revisions.get(&(last, run.id.clone()));
        if done.is_none_or(|done| done.iter().all(|done| done.id != back.id)) {
            run.first_ended_at = run.first_ended_at.or(run.ended_at.take());
            run.n_back += 1;
        }
    }

    /// Puts the right rows of one submitter on a board, after one of its submissions has changed.
    fn rank(&mut self, changed: &Entry, order: Order) {
        let row = (changed.board.clone(), changed.submitter.clone(), None);
        let stood = self.rows.get(&row).map(|(_, entry)| entry);
        let dataset = if changed.is_on_board() {
            changed.dataset
        } else {
            stood.and_then(|entry| entry.dataset)
        };
        self.rank_with(changed, order, dataset);
    }

    /// Puts the right rows of one submitter on a board that is scored with `dataset`.
    fn rank_with(&mut self, changed: &Entry, order: Order, dataset: Option<Digest>) {
        let (board, submitter) = (&changed.board, &changed.submitter);
        let row = |id: Option<&SubmissionId>| (board.clone(), submitter.clone(), id.cloned());
        self.rows.remove(&row(Some(&changed.id)));
        let lines = self.entries(&board.benchmark);
        let lines = lines.iter().filter(|line| line.submitter == *submitter);
        let (stands, key) = match order.ranking {
            Ranking::All => (Some(changed), row(Some(&changed.id))),
            ranking => (
                standing(lines, board, ranking, order.direction, dataset),
                row(None),
            ),
        };
        // from when the board had another ranking
        if let Some((rank, one)) = self.rows.remove(&row(None))
            && order.ranking == Ranking::All
            && one.id != changed.id
        {
            self.rows.insert(row(Some(&one.id)), (rank, one));
        }
        if let Some(stands) = stands {
            self.rows.remove(&row(Some(&stands.id)));
        }
        let keyed =
            stands.and_then(|line| rank_key_of(line, order.direction).map(|rank| (rank, line.clone())));
        self.rows.extend(keyed.map(|keyed| (key, keyed)));
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
            let (direction, ranking) = (hosted.direction, terms.ranking);
            table.rank(&entry, Order { direction, ranking });
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

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let table = lock(&self.table);
        let rows = table.rows.iter().filter(|((of, _, _), _)| of == board);
        let mut rows: Vec<_> = rows.map(|(_, row)| row).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let rows = rows.into_iter().take(n).map(|(_, entry)| entry.clone());
        Ok(with_shared_ranks(rows, None))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(benchmark);
        entries.retain(|entry| entry.submitter == submitter);
        Ok(entries.into_iter().rev().take(n).collect())
    }

    async fn series(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let table = lock(&self.table);
        if board.is_final() {
            let rows = table.rows.iter().filter(|((of, _, _), _)| of == board);
            let mut entries: Vec<Entry> = rows.map(|(_, (_, entry))| entry.clone()).collect();
            entries.sort_by(|a, b| a.time_order().cmp(&b.time_order()));
            return Ok(entries);
        }
        let mut entries = table.entries(&board.benchmark);
        entries.retain(|entry| entry.board == *board && entry.is_on_board());
        Ok(entries)
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
        order: Order,
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
        let row = (submission.board.clone(), submission.submitter.clone(), None);
        let stood = table.rows.get(&row).and_then(|(_, stood)| stood.dataset);
        table.rank(&submission.entry(), order);
        table.step_down(&submission, order.direction);
        table.follow_public(&submission.entry(), order, stood);
        Ok(Withdrawn::Now(submission))
    }

    async fn reinstate(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        hosted: &Descriptor,
        ranking: Ranking,
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
        let (entry, direction) = (submission.entry(), hosted.direction);
        let order = Order { direction, ranking };
        let row = (entry.board.clone(), entry.submitter.clone(), None);
        let stood = table.rows.get(&row).and_then(|(_, stood)| stood.dataset);
        table.rank_with(&entry, order, stood.or(entry.dataset));
        table.step_up(&submission, direction);
        table.follow_public(&entry, order, stood.or(entry.dataset));
        table.finish_anew(&entry);
        Ok(Reinstated::Now(submission))
    }

    async fn withdrawn(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let mut entries = lock(&self.table).entries(&board.benchmark);
        entries.retain(|entry| entry.board == *board && entry.withdrawn_at.is_some());
        Ok(entries)
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

    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let table = lock(&self.table);
        let rows = table.rows.iter().filter(|((of, _, _), _)| of == board);
        Ok(rows.map(|(_, (_, entry))| entry.clone()).collect())
    }

    async fn revise(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        ranking: Ranking,
        run: &str,
    ) -> Result<Revised, PortError> {
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
        let row = (entry.board.clone(), entry.submitter.clone(), None);
        let stood = table.rows.get(&row).and_then(|(_, stood)| stood.dataset);
        let order = Order { direction, ranking };
        table.rank(&entry, order);
        table.follow_public(
            &entry,
            order,
            if entry.is_on_board() { entry.dataset } else { stood },
        );
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
        hosted: &Descriptor,
        ranking: Ranking,
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
        let submission = submission.clone();
        let (entry, direction) = (submission.entry(), hosted.direction);
        let order = Order { direction, ranking };
        table.rank(&entry, order);
        table.follow_public(&entry, order, entry.dataset);
        Ok(submission.receipt)
    }

    async fn finalize(&self, last: &Finalized, hosted: &Descriptor, run: &str) -> Result<bool, PortError> {
        let mut table = lock(&self.table);
        let (benchmark, id) = (&last.board.benchmark, &last.revision.id);
        let known = table.submissions.get(&(benchmark.clone(), id.clone()));
        let Some(public) = known.map(Submission::entry).filter(Entry::is_on_board) else {
            return Ok(false);
        };
        let of_public = |own| (public.board.clone(), public.submitter.clone(), own);
        let stands = table.rows.get(&of_public(None));
        let own = if stands.is_some_and(|(_, stands)| stands.id == *id) {
            None
        } else if table.rows.contains_key(&of_public(Some(id.clone()))) {
            Some(id.clone())
        } else {
            return Ok(false);
        };
        let of_run = (last.board.clone(), run.to_owned());
        let done = table.revisions.entry(of_run).or_default();
        if !done.iter().any(|done| done.id == *id) {
            done.push(last.revision.clone());
        }
        let row = (last.board.clone(), public.submitter, own);
        table.rows.remove(&row);
        if let Some(entry) = last.entry()
            && let Some(rank) = rank_key_of(&entry, hosted.direction)
        {
            table.boards.insert(entry.board.clone());
            let of = (entry.board.clone(), entry.id.clone());
            let is_own = IsOwn(row.2.is_some());
            table.finalized.insert(of, (entry.clone(), is_own));
            table.rows.insert(row, (rank, entry));
        }
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
        let of_run = (board.clone(), run.to_owned());
        let mut revisions = lock(&self.table)
            .revisions
            .get(&of_run)
            .cloned()
            .unwrap_or_default();
        revisions.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(revisions)
    }
}
