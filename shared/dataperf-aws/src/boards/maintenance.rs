//! An organizer's later changes to the table.

use dataperf::board::Board;
use dataperf::ports::{PortError, async_trait};
use dataperf::receipt::released_score::Released;
use dataperf::rows::revision::{Finalized, Revision, Run};
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::table::maintenance::{DataNote, Maintenance, Reinstated, Revised, Withdrawn};
use dataperf::{Descriptor, Direction, Receipt, SubmissionId, Timestamp};

use crate::boards::comparisons::comparison_mark;
use crate::boards::leaderboards::receipt_json;
use crate::boards::projections::{SpreadChange, fact_change, final_change};
use crate::sdk::retry::Retry;
use crate::table::items::{self, FIRST_ENDED_AT, N_BACK, count, text};
use crate::table::keys::{Key, revisions_partition, runs_partition};
use crate::table::query::Partition;
use crate::table::reader;
use crate::table::row_spread::{RowSpread, SPREAD};
use crate::table::{Cancelled, Change, Condition, Operation, Step, Table};

/// The condition that a submission has the verdict that was read and is not withdrawn.
fn as_read(old: &Receipt) -> Condition {
    Condition {
        text: "#finished_at = :finished_at AND attribute_not_exists(#withdrawn_at)",
        names: &["finished_at", "withdrawn_at"],
        values: vec![("finished_at", text(old.finished_at.to_string()))],
    }
}

/// The condition that a submission has the verdict that was read and is still withdrawn.
fn as_withdrawn(old: &Receipt, at: Timestamp) -> Condition {
    Condition {
        text: "#finished_at = :finished_at AND #withdrawn_at = :withdrawn_at",
        names: &["finished_at", "withdrawn_at"],
        values: vec![
            ("finished_at", text(old.finished_at.to_string())),
            ("withdrawn_at", text(at.to_string())),
        ],
    }
}

impl Table {
    /// The operations that bring everything that says how a submission ended into its new state.
    fn changed(
        &self,
        as_read: Condition,
        entry: &Entry,
        receipt: &Receipt,
        spread: SpreadChange<'_>,
    ) -> Result<Vec<Operation>, PortError> {
        let fact = fact_change(entry, spread)?;
        let remove = fact.remove.iter().filter(|name| **name != SPREAD).copied();
        let (line, remove): (Vec<_>, Vec<_>) = (
            fact.set
                .iter()
                .filter(|(name, _)| name != SPREAD)
                .cloned()
                .collect(),
            remove.collect(),
        );
        let mut whole = line.clone();
        whole.extend([
            ("receipt".to_owned(), text(receipt_json(receipt)?)),
            ("finished_at".to_owned(), text(receipt.finished_at.to_string())),
        ]);
        let submission = Change {
            set: whole,
            remove: remove.clone(),
            condition: Some(as_read),
            ..Change::default()
        };
        let history = Change {
            set: line,
            remove,
            ..Change::default()
        };
        let of_submission = Key::submission(&entry.board.benchmark, &entry.id);
        Ok(vec![
            (Step::Submission, self.update(of_submission, submission)),
            (Step::Other, self.update(Key::history(entry), history)),
            (Step::Other, self.update(Key::fact(entry), fact)),
            (Step::Other, self.put(comparison_mark(&entry.board), None)),
        ])
    }

    /// The operation that has a final board compared, where finishing has begun to make it.
    async fn due_on_final(&self, entry: &Entry) -> Result<Option<Operation>, PortError> {
        let last = entry.board.of_final();
        let run = self.run(&last).await?;
        Ok(run.map(|_| (Step::Other, self.put(comparison_mark(&last), None))))
    }

    async fn ended_submission(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> Result<Option<(Submission, Receipt)>, PortError> {
        let submission = self.submission(benchmark, id).await?;
        Ok(submission.and_then(|submission| submission.receipt.clone().map(|receipt| (submission, receipt))))
    }
}

impl Table {
    /// The operation that lets a round's finishing go on for a submission that is back, whether the finishing has ended without the submission or is
    /// about to. What it has done stays done.
    async fn reopen_finishing(&self, entry: &Entry) -> Result<Option<Operation>, PortError> {
        let last = entry.board.of_final();
        let Some(run) = self.run(&last).await? else {
            return Ok(None);
        };
        if self.revision(&last, &run.id, &entry.id).await?.is_some() {
            return Ok(None);
        }
        let mut values = vec![("run", text(&run.id))];
        let still = match run.ended_at {
            Some(ended) => {
                values.push(("ended", text(ended.to_string())));
                "#run = :run AND #ended_at = :ended"
            }
            None => "#run = :run AND attribute_not_exists(#ended_at)",
        };
        let first = run.ended_at.filter(|_| run.first_ended_at.is_none());
        let change = Change {
            set: first
                .map(|ended| (FIRST_ENDED_AT.into(), text(ended.to_string())))
                .into_iter()
                .collect(),
            remove: run.ended_at.map(|_| "ended_at").into_iter().collect(),
            add: vec![(N_BACK, 1)],
            condition: Some(Condition {
                text: still,
                names: &["run", "ended_at"],
                values,
            }),
            ..Change::default()
        };
        Ok(Some((Step::Other, self.update(Key::run(&last), change))))
    }
}

#[async_trait]
impl Maintenance for Table {
    async fn withdraw(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Withdrawn, PortError> {
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some(mut submission) = self.submission(benchmark, id).await? else {
                return Ok(Withdrawn::NothingToWithdraw(None));
            };
            if submission.withdrawn_at.is_some() {
                return Ok(Withdrawn::Before(submission));
            }
            let Some(receipt) = submission
                .receipt
                .clone()
                .filter(|_| submission.entry().is_on_board())
            else {
                return Ok(Withdrawn::NothingToWithdraw(Some(submission)));
            };
            submission.withdraw(at, reason.map(str::to_owned));
            let entry = submission.entry();
            let mut operations = self.changed(as_read(&receipt), &entry, &receipt, SpreadChange::Keep)?;
            operations.push(self.due_to_project(&entry));
            operations.extend(self.due_on_final(&entry).await?);
            operations.extend(self.stepping_down(&entry, &receipt, direction).await?);
            match self.transact(operations).await {
                Ok(()) => return Ok(Withdrawn::Now(submission)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn reinstate(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Reinstated, PortError> {
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some(mut submission) = self.submission(benchmark, id).await? else {
                return Ok(Reinstated::NotWithdrawn(None));
            };
            let (Some(receipt), Some(withdrawn_at)) = (submission.receipt.clone(), submission.withdrawn_at)
            else {
                return Ok(Reinstated::NotWithdrawn(Some(submission)));
            };
            submission.reinstate(at, reason.map(str::to_owned));
            let entry = submission.entry();
            let as_read = as_withdrawn(&receipt, withdrawn_at);
            let mut operations = self.changed(as_read, &entry, &receipt, SpreadChange::Keep)?;
            operations.push(self.due_to_project(&entry));
            operations.extend(self.due_on_final(&entry).await?);
            operations.extend(self.stepping_up(&entry, &receipt, direction).await?);
            operations.extend(self.reopen_finishing(&entry).await?);
            match self.transact(operations).await {
                Ok(()) => return Ok(Reinstated::Now(submission)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn run(&self, board: &Board) -> Result<Option<Run>, PortError> {
        self.item(Key::run(board))
            .await?
            .as_ref()
            .map(reader::run)
            .transpose()
    }

    async fn note(&self, benchmark: &str, note: &DataNote, at: Timestamp) -> Result<(), PortError> {
        let item = items::note_item(Key::note(benchmark, note), note, at)?;
        self.put_new(item).await.map(drop)
    }

    async fn notes(&self, benchmark: &str) -> Result<Vec<(DataNote, Timestamp)>, PortError> {
        let items = self.query(&Partition::new(runs_partition(benchmark))).await?;
        items
            .iter()
            .filter_map(|item| reader::note(item).transpose())
            .collect()
    }

    async fn begin_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError> {
        begin(self, board, at, |newest| newest.ended_at.is_some()).await
    }

    async fn begin_only_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError> {
        begin(self, board, at, |_| false).await
    }

    async fn end_run(
        &self,
        board: &Board,
        run: &Run,
        at: Timestamp,
        changed: &[Board],
    ) -> Result<bool, PortError> {
        let mut retry = Retry::new(format!("the run on `{}`", board.leaderboard));
        loop {
            let still = if run.n_back == 0 {
                Condition {
                    text: "#run = :run AND attribute_not_exists(#n_back)",
                    names: &["run", N_BACK],
                    values: vec![("run", text(&run.id))],
                }
            } else {
                Condition {
                    text: "#run = :run AND #n_back = :n_back",
                    names: &["run", N_BACK],
                    values: vec![("run", text(&run.id)), ("n_back", count(run.n_back))],
                }
            };
            let change = Change {
                set: vec![("ended_at".into(), text(at.to_string()))],
                condition: Some(still),
                ..Change::default()
            };
            let mut operations = vec![(Step::Other, self.update(Key::run(board), change))];
            let marks = changed.iter().map(comparison_mark);
            operations.extend(marks.map(|mark| (Step::Other, self.put(mark, None))));
            match self.transact(operations).await {
                Ok(()) => return Ok(true),
                // another run has begun since, so that this one had ended; or a submission is back, and the next call scores it
                Err(Cancelled::Condition(_)) => return Ok(false),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn revise(&self, receipt: &Receipt, hosted: &Descriptor, run: &str) -> Result<Revised, PortError> {
        let (direction, spread) = (
            hosted.direction,
            RowSpread::from_verdict(&receipt.verdict, hosted),
        );
        let (benchmark, id) = (&receipt.verdict.benchmark, &receipt.submission);
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some((known, old)) = self.ended_submission(benchmark, id).await? else {
                return Err(PortError::Malformed {
                    subject: format!("submission `{id}`"),
                    why: "it is scored again without having ended".into(),
                });
            };
            if known.withdrawn_at.is_some() || self.revision(&known.board, run, id).await?.is_some() {
                return Ok(Revised::Settled(old));
            }
            if !receipt.follows(&old) {
                return Ok(Revised::Moved);
            }
            let revision = Revision::new(&known, receipt);
            let revised = Submission {
                receipt: Some(receipt.clone()),
                ..known
            };
            let entry = revised.entry();
            let spread = SpreadChange::Replace(Some(&spread).filter(|_| entry.climb.is_none()));
            let mut operations = self.changed(as_read(&old), &entry, receipt, spread)?;
            operations.push(self.due_to_project(&entry));
            operations.extend(self.due_on_final(&entry).await?);
            if receipt.ladder != old.ladder && receipt.climb().is_some() {
                operations.extend(self.climbing(receipt, direction).await?);
            } else if !entry.is_on_board() {
                operations.extend(self.stepping_down(&entry, &old, direction).await?);
            }
            let mark = items::revision_item(Key::revision(&entry.board, run, id), &revision);
            operations.push((Step::Revision, self.put(mark, Some(Condition::new_item()))));
            match self.transact(operations).await {
                Ok(()) => return Ok(Revised::Recorded),
                Err(Cancelled::Condition(Step::Rung)) => return Ok(Revised::Moved),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn lift(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        hosted: &Descriptor,
    ) -> Result<Option<Receipt>, PortError> {
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some((mut submission, old)) = self.ended_submission(benchmark, id).await? else {
                return Ok(None);
            };
            let released = old.ladder.clone().filter(|released| !released.is_lifted);
            let Some(released) = released.filter(|_| submission.withdrawn_at.is_none()) else {
                return Ok(None);
            };
            let lifted = Receipt {
                ladder: Some(Released {
                    is_lifted: true,
                    ..released
                }),
                ..old.clone()
            };
            submission.receipt = Some(lifted.clone());
            let entry = submission.entry();
            let spread = RowSpread::from_verdict(&lifted.verdict, hosted);
            let mut operations = self.changed(
                as_read(&old),
                &entry,
                &lifted,
                SpreadChange::Replace(Some(&spread)),
            )?;
            operations.push(self.all_due_to_project(&entry.board));
            operations.extend(self.due_on_final(&entry).await?);
            match self.transact(operations).await {
                Ok(()) => return Ok(Some(lifted)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn finalize(&self, last: &Finalized, hosted: &Descriptor) -> Result<bool, PortError> {
        let (benchmark, id) = (&last.board.benchmark, &last.revision.id);
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some((known, _)) = self.ended_submission(benchmark, id).await? else {
                return Ok(false);
            };
            let public = known.entry();
            if !public.is_on_board() {
                return Ok(false);
            }
            let noted = final_change(last, hosted)?;
            let mut operations = vec![
                (Step::Submission, self.update(Key::fact(&public), noted)),
                self.all_due_to_project(&public.board),
            ];
            if last.verdict.score.is_some() && !self.lists(&last.board).await? {
                operations.push((Step::Other, self.put(items::board_item(&last.board), None)));
            }
            match self.transact(operations).await {
                Ok(()) => return Ok(true),
                Err(Cancelled::Condition(Step::Submission)) => return Ok(false),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn revision(
        &self,
        board: &Board,
        run: &str,
        id: &SubmissionId,
    ) -> Result<Option<Revision>, PortError> {
        if board.is_final() {
            let done = self.revisions(board, run).await?;
            return Ok(done.into_iter().find(|revision| revision.id == *id));
        }
        let item = self.item(Key::revision(board, run, id)).await?;
        item.as_ref().map(reader::revision).transpose()
    }

    async fn revisions(&self, board: &Board, run: &str) -> Result<Vec<Revision>, PortError> {
        if board.is_final() {
            let facts = self.read_facts(board).await?;
            return Ok(facts.iter().filter_map(Revision::of_final).collect());
        }
        let partition = Partition::new(revisions_partition(board, run));
        let items = self.query(&partition).await?;
        items.iter().map(reader::revision).collect()
    }
}

/// Begins a run over a board. If the newest run can't be followed by another, as `is_followed` says, that run is returned instead.
async fn begin(
    table: &Table,
    board: &Board,
    at: Timestamp,
    is_followed: impl Fn(&Run) -> bool,
) -> Result<Run, PortError> {
    let mut retry = Retry::new(format!("the run on `{}`", board.leaderboard));
    loop {
        let newest = table.run(board).await?;
        if let Some(run) = newest.as_ref().filter(|run| !is_followed(run)) {
            return Ok(run.clone());
        }
        let condition = newest
            .as_ref()
            .map_or_else(Condition::new_item, |newest| Condition {
                text: "#run = :run AND attribute_exists(#ended_at)",
                names: &["run", "ended_at"],
                values: vec![("run", text(&newest.id))],
            });
        let run = Run::begun(at, newest.as_ref());
        let put = table.put(items::run_item(board, &run), Some(condition));
        match table.transact(vec![(Step::Other, put)]).await {
            Ok(()) => return Ok(run),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}
