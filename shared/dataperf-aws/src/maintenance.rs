//! What an organizer changes in the table afterwards.

use dataperf::ladder::Released;
use dataperf::ports::leaderboard::{Board, Entry, Leaderboards, Submission};
use dataperf::ports::maintenance::{
    DataNote, Finalized, Maintenance, Order, Ranking, Reinstated, Revised, Revision, Run, Withdrawn,
};
use dataperf::ports::{PortError, async_trait};
use dataperf::{Descriptor, Receipt, SubmissionId, Timestamp};

use crate::comparisons::comparison_mark;
use crate::items::{self, FIRST_ENDED_AT, N_BACK, count, entry_item, text};
use crate::keys::{Key, revisions_partition, rows_partition, runs_partition, withdrawn_partition};
use crate::leaderboards::receipt_json;
use crate::query::Partition;
use crate::reader;
use crate::retry::Retry;
use crate::row_spread::RowSpread;
use crate::rows;
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
    /// The operations that bring everything that says how a submission ended into its new state, and whether they may move a row of the final board.
    async fn changed(
        &self,
        as_read: Condition,
        entry: &Entry,
        receipt: &Receipt,
        spread: Option<&RowSpread>,
        order: Order,
    ) -> Result<(Vec<Operation>, bool), PortError> {
        let mut line = vec![(
            "status".to_owned(),
            text(entry.ending.map_or("", dataperf::Ending::as_str)),
        )];
        line.extend(
            entry
                .score
                .map(|score| ("score".to_owned(), items::number(score))),
        );
        line.extend(
            entry
                .withdrawn_at
                .map(|at| ("withdrawn_at".to_owned(), text(at.to_string()))),
        );
        line.extend(items::withdrawals(entry));
        line.extend(items::dataset(entry));
        line.extend(items::climb(entry));
        let absent = [
            ("withdrawn_at", entry.withdrawn_at.is_none()),
            ("score", entry.score.is_none()),
            (items::LADDER, entry.climb.is_none()),
            (items::DATASET, entry.dataset.is_none()),
        ];
        let remove: Vec<&'static str> = absent
            .iter()
            .filter(|(_, is_absent)| *is_absent)
            .map(|(name, _)| *name)
            .collect();
        let mut whole = line.clone();
        whole.extend([
            ("receipt".to_owned(), text(receipt_json(receipt)?)),
            ("finished_at".to_owned(), text(receipt.finished_at.to_string())),
        ]);
        let table = self;
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
        let series = if entry.is_on_board() {
            table.put(entry_item(Key::series(entry), entry), None)
        } else {
            table.delete(Key::series(entry), None)
        };
        let mut operations = vec![
            (
                Step::Submission,
                table.update(Key::submission(&entry.board.benchmark, &entry.id), submission),
            ),
            (Step::Other, table.update(Key::history(entry), history)),
            (Step::Other, series),
        ];
        operations.extend(rows::changed(table, entry, spread, order).await?);
        let on_final = rows::following_public(table, entry, order).await?;
        operations.extend(on_final.operations);
        Ok((operations, on_final.moves_row))
    }

    /// The mark of a final board, a row of which moves.
    fn due_on_final(&self, entry: &Entry, moves_final: bool) -> Option<Operation> {
        moves_final.then(|| {
            (
                Step::Other,
                self.put(comparison_mark(&entry.board.of_final()), None),
            )
        })
    }

    async fn ended_submission(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> Result<Option<(Submission, Receipt)>, PortError> {
        let found = self.submission(benchmark, id).await?;
        Ok(found.and_then(|submission| submission.receipt.clone().map(|receipt| (submission, receipt))))
    }
}

impl Table {
    /// The operation that lets a round's finishing go on for a submission that is back, whether the finishing has ended without the submission or is
    /// about to. What it has done stays done.
    async fn finishing_anew(&self, entry: &Entry) -> Result<Option<Operation>, PortError> {
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
        order: Order,
        reason: Option<&str>,
    ) -> Result<Withdrawn, PortError> {
        let mut retry = Retry::of(format!("submission `{id}`"));
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
            let (mut operations, moves_final) = self
                .changed(as_read(&receipt), &entry, &receipt, None, order)
                .await?;
            operations.extend(self.due_on_final(&entry, moves_final));
            operations.extend(self.stepping_down(&entry, &receipt, order.direction).await?);
            let kept = self.put(entry_item(Key::withdrawn(&entry), &entry), None);
            operations.push((Step::Other, kept));
            let due = self.put(comparison_mark(&submission.board), None);
            operations.push((Step::Other, due));
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
        hosted: &Descriptor,
        ranking: Ranking,
        reason: Option<&str>,
    ) -> Result<Reinstated, PortError> {
        let direction = hosted.direction;
        let order = Order { direction, ranking };
        let mut retry = Retry::of(format!("submission `{id}`"));
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
            let spread = RowSpread::of(&receipt.verdict, hosted);
            let spread = Some(&spread).filter(|_| entry.climb.is_none());
            let as_read = as_withdrawn(&receipt, withdrawn_at);
            let (mut operations, moves_final) =
                self.changed(as_read, &entry, &receipt, spread, order).await?;
            operations.extend(self.due_on_final(&entry, moves_final));
            operations.extend(self.stepping_up(&entry, &receipt, direction).await?);
            operations.extend(self.finishing_anew(&entry).await?);
            operations.push((Step::Other, self.delete(Key::withdrawn(&entry), None)));
            let due = self.put(comparison_mark(&submission.board), None);
            operations.push((Step::Other, due));
            match self.transact(operations).await {
                Ok(()) => return Ok(Reinstated::Now(submission)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn withdrawn(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let partition = Partition::of(withdrawn_partition(board));
        self.entries(&partition, usize::MAX).await
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

    async fn noted(&self, benchmark: &str, note: &DataNote) -> Result<Option<Timestamp>, PortError> {
        let found = self.item(Key::note(benchmark, note)).await?;
        let found = found.as_ref().map(reader::note).transpose()?;
        Ok(found.flatten().map(|(_, at)| at))
    }

    async fn notes(&self, benchmark: &str) -> Result<Vec<(DataNote, Timestamp)>, PortError> {
        let items = self.query(&Partition::of(runs_partition(benchmark))).await?;
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
        let mut retry = Retry::of(format!("the run on `{}`", board.leaderboard));
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

    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        self.entries(&Partition::of(rows_partition(board)), usize::MAX)
            .await
    }

    async fn revise(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        ranking: Ranking,
        run: &str,
    ) -> Result<Revised, PortError> {
        let direction = hosted.direction;
        let (order, spread) = (
            Order { direction, ranking },
            Some(RowSpread::of(&receipt.verdict, hosted)),
        );
        let (benchmark, id) = (&receipt.verdict.benchmark, &receipt.submission);
        let mut retry = Retry::of(format!("submission `{id}`"));
        loop {
            let Some((known, old)) = self.ended_submission(benchmark, id).await? else {
                return Err(PortError::Malformed {
                    what: format!("submission `{id}`"),
                    why: "it is scored again without having ended".into(),
                });
            };
            if known.withdrawn_at.is_some() || self.revision(&known.board, run, id).await?.is_some() {
                return Ok(Revised::Settled(old));
            }
            if !receipt.follows(&old) {
                return Ok(Revised::Moved);
            }
            let revision = Revision::of(&known, receipt);
            let revised = Submission {
                receipt: Some(receipt.clone()),
                ..known
            };
            let entry = revised.entry();
            let spread = spread.as_ref().filter(|_| entry.climb.is_none());
            let (mut operations, moves_final) = self
                .changed(as_read(&old), &entry, receipt, spread, order)
                .await?;
            operations.extend(self.due_on_final(&entry, moves_final));
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
        ranking: Ranking,
    ) -> Result<Option<Receipt>, PortError> {
        let direction = hosted.direction;
        let order = Order { direction, ranking };
        let mut retry = Retry::of(format!("submission `{id}`"));
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
            let spread = RowSpread::of(&lifted.verdict, hosted);
            let (mut operations, moves_final) = self
                .changed(as_read(&old), &entry, &lifted, Some(&spread), order)
                .await?;
            operations.extend(self.due_on_final(&entry, moves_final));
            match self.transact(operations).await {
                Ok(()) => return Ok(Some(lifted)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn finalize(&self, last: &Finalized, hosted: &Descriptor, run: &str) -> Result<bool, PortError> {
        let (benchmark, id) = (&last.board.benchmark, &last.revision.id);
        let entry = last.entry();
        let spread = RowSpread::of(&last.verdict, hosted);
        let mut retry = Retry::of(format!("submission `{id}`"));
        loop {
            let Some((known, receipt)) = self.ended_submission(benchmark, id).await? else {
                return Ok(false);
            };
            let public = known.entry();
            if !public.is_on_board() {
                return Ok(false);
            }
            let mark = items::revision_item(Key::revision(&last.board, run, id), &last.revision);
            let mut operations = vec![(Step::Other, self.put(mark, None))];
            let of_board = rows::of_final(self, &public, entry.as_ref(), &spread, hosted.direction).await?;
            let Some(of_board) = of_board else {
                return Ok(false);
            };
            operations.extend(of_board);
            if entry.is_some() && !self.lists(&last.board).await? {
                operations.push((Step::Other, self.put(items::board_item(&last.board), None)));
            }
            let check = self.check(Key::submission(benchmark, id), as_read(&receipt));
            operations.push((Step::Submission, check));
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
        let item = self.item(Key::revision(board, run, id)).await?;
        item.as_ref().map(reader::revision).transpose()
    }

    async fn revisions(&self, board: &Board, run: &str) -> Result<Vec<Revision>, PortError> {
        let partition = Partition::of(revisions_partition(board, run));
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
    let mut retry = Retry::of(format!("the run on `{}`", board.leaderboard));
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
