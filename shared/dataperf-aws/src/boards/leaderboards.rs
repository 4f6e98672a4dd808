//! The table's port on `DynamoDB`.

use dataperf::board::{Board, Usage};
use dataperf::challenge::{Reserved, Terms};
use dataperf::ladder::Rung;
use dataperf::ports::{PortError, async_trait};
use dataperf::rows::facts::{Fact, Rules};
use dataperf::rows::ranking::{Ranked, with_shared_ranks};
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::{Leaderboards, Projected, Recorded, Reopened};
use dataperf::{Descriptor, Ending, Receipt, SubmissionId, SubmitterName, Timestamp};

use crate::boards::projections::fact_item;
use crate::boards::unfinished::mark;
use crate::sdk::retry::Retry;
use crate::submitters::counts::{self, Counted};
use crate::submitters::names;
use crate::table::items::{self, BASELINE, Item, count, entry_item, text};
use crate::table::keys::{self, Key};
use crate::table::query::Partition;
use crate::table::reader;
use crate::table::row_spread::RowSpread;
use crate::table::{Cancelled, Change, Condition, Operation, Step, Table};

pub(crate) fn receipt_json(receipt: &Receipt) -> Result<String, PortError> {
    serde_json::to_string(receipt).map_err(|error| PortError::Malformed {
        subject: format!("submission `{}`", receipt.submission),
        why: error.to_string(),
    })
}

impl Table {
    pub(crate) async fn entries(&self, partition: &Partition, n: usize) -> Result<Vec<Entry>, PortError> {
        let items = self.query_first(partition, n).await?;
        items.iter().map(reader::entry).collect()
    }

    /// The operations that end a submission that is `counted` so far; the first one decides between two deliveries.
    async fn ending(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        json: &str,
        entry: &Entry,
        terms: &Terms,
        counted: Option<&Counted>,
    ) -> Result<Vec<Operation>, PortError> {
        let mut line = vec![
            ("status".to_owned(), text(receipt.verdict.status.as_str())),
            ("round".to_owned(), text(&receipt.round)),
        ];
        line.extend(
            entry
                .score
                .map(|score| ("score".to_owned(), items::number(score))),
        );
        line.extend(entry.is_baseline.then(|| (BASELINE.to_owned(), count(1))));
        line.extend(items::dataset(entry));
        line.extend(items::climb(entry));
        let mut whole = line.clone();
        whole.extend([
            ("receipt".to_owned(), text(json)),
            ("finished_at".to_owned(), text(receipt.finished_at.to_string())),
        ]);
        let recount = self.ending_count(receipt, hosted, entry, terms, counted)?;
        whole.extend(recount.set);
        let end = Change {
            set: whole,
            remove: recount.remove.into_iter().collect(),
            condition: Some(counts::unended(counted)?),
            ..Change::default()
        };
        let line = Change {
            set: line,
            ..Change::default()
        };
        let table = self;
        let submission = Key::submission(&entry.board.benchmark, &entry.id);
        let mut operations = vec![
            (Step::Submission, table.update(submission, end)),
            (Step::Other, table.update(Key::history(entry), line)),
            (Step::Other, table.delete(Key::unfinished(entry), None)),
        ];
        operations.extend(recount.operations);
        operations.extend(self.climbing(receipt, hosted.direction).await?);
        if entry.ending == Some(Ending::Failed) {
            let mark = entry_item(Key::failed(entry), entry);
            operations.push((Step::Other, table.put(mark, None)));
        }
        if entry.is_on_board() {
            // the spread of a score that is not shown as it is tells more than the score does
            let spread =
                (receipt.climb().is_none()).then(|| RowSpread::from_verdict(&receipt.verdict, hosted));
            operations.push((Step::Other, table.put(fact_item(entry, spread.as_ref())?, None)));
            // Only if it is missing: an item that every submission to a board writes would cause
            // conflicts between them.
            if !table.lists(&entry.board).await? {
                operations.push((Step::Other, table.put(items::board_item(&entry.board), None)));
            }
        }
        Ok(operations)
    }

    /// The operations that take a failed ending back; `entry` is the submission without it, and `item` what the table has of it.
    fn reopening(&self, entry: &Entry, item: &Item) -> Result<Vec<Operation>, PortError> {
        let (counts, given_back) = self.reopening_count(entry, item)?;
        let received = || vec![("status".to_owned(), text(items::RECEIVED))];
        let failed = Condition {
            text: "#status = :failed",
            names: &["status"],
            values: vec![("failed", text(Ending::Failed.as_str()))],
        };
        let mut again = received();
        again.push((items::REOPENED.to_owned(), count(1)));
        let submission = Change {
            set: again,
            remove: ["receipt", "finished_at"].into_iter().chain(given_back).collect(),
            condition: Some(failed),
            ..Change::default()
        };
        let line = Change {
            set: received(),
            ..Change::default()
        };
        let (table, key) = (self, Key::submission(&entry.board.benchmark, &entry.id));
        let mut operations = vec![
            (Step::Submission, table.update(key, submission)),
            (Step::Other, table.update(Key::history(entry), line)),
            (Step::Other, table.delete(Key::failed(entry), None)),
            (Step::Other, table.put(mark(entry), None)),
        ];
        operations.extend(counts);
        Ok(operations)
    }

    async fn ended_before(&self, receipt: &Receipt) -> Result<Recorded, PortError> {
        let kept = self
            .submission(&receipt.verdict.benchmark, &receipt.submission)
            .await?;
        match kept.and_then(|submission| submission.receipt) {
            Some(receipt) => Ok(Recorded::Before(receipt)),
            None => Err(PortError::Malformed {
                subject: format!("submission `{}`", receipt.submission),
                why: "it ends without having been received".into(),
            }),
        }
    }
}

/// A submission's line as it is once it has ended.
fn ended(receipt: &Receipt, terms: &Terms) -> Entry {
    Entry {
        id: receipt.submission.clone(),
        board: Board {
            benchmark: receipt.verdict.benchmark.clone(),
            leaderboard: receipt.verdict.leaderboard.clone(),
            round: receipt.round.clone(),
        },
        submitter: receipt.submitter.clone(),
        received_at: receipt.received_at,
        is_baseline: terms.is_baseline,
        withdrawn_at: None,
        withdrawals: Vec::new(),
        ending: Some(receipt.verdict.status),
        score: receipt.public_score(),
        climb: receipt.climb(),
        dataset: receipt.verdict.dataset,
    }
}

#[async_trait]
impl Leaderboards for Table {
    async fn receive(&self, submission: &Submission) -> Result<Submission, PortError> {
        let id = submission.id.clone();
        let entry = submission.entry();
        let table = self;
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let new = table.put(
                items::submission_item(&entry, &submission.upload),
                Some(Condition::new_item()),
            );
            let operations = vec![
                (Step::Submission, new),
                (
                    Step::Other,
                    table.put(entry_item(Key::history(&entry), &entry), None),
                ),
                (Step::Other, table.put(mark(&entry), None)),
            ];
            match table.transact(operations).await {
                Ok(()) => return Ok(submission.clone()),
                Err(Cancelled::Condition(_)) => break,
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
        let known = self.submission(&submission.board.benchmark, &id).await?;
        known.ok_or_else(|| PortError::Malformed {
            subject: format!("submission `{id}`"),
            why: "it was there and is gone".into(),
        })
    }

    async fn record(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        terms: &Terms,
    ) -> Result<Recorded, PortError> {
        let json = receipt_json(receipt)?;
        let entry = ended(receipt, terms);
        let (mut counted, mut is_read) = (counts::expected(receipt, &entry, terms), false);
        let mut retry = Retry::new(format!("submission `{}`", receipt.submission));
        loop {
            let operations = self
                .ending(receipt, hosted, &json, &entry, terms, counted.as_ref())
                .await?;
            match self.transact(operations).await {
                Ok(()) => return Ok(Recorded::Now),
                Err(Cancelled::Condition(Step::Submission)) => {
                    let benchmark = &entry.board.benchmark;
                    match self.unfinished_count(benchmark, &entry.id).await? {
                        // the first time the expected count was wrong; after that somebody else changes the count
                        Some(there) if there != counted && !is_read => (counted, is_read) = (there, true),
                        Some(there) => {
                            retry.changed().await?;
                            counted = there;
                        }
                        None => break,
                    }
                }
                Err(Cancelled::Condition(Step::DayCount | Step::TotalCount)) => {
                    if let Some(over) = self.over_limit(&entry, terms).await? {
                        return Ok(Recorded::OverLimit(over));
                    }
                    retry.changed().await?;
                }
                Err(Cancelled::Condition(Step::Rung)) => return Ok(Recorded::LadderMoved),
                // The transaction met another one.
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
        self.ended_before(receipt).await
    }

    async fn note_name(
        &self,
        benchmark: &str,
        name: &SubmitterName,
        at: Timestamp,
    ) -> Result<Option<SubmitterName>, PortError> {
        names::note(self, benchmark, name, at).await
    }

    async fn reserve(&self, submission: &Submission, terms: &Terms) -> Result<Reserved, PortError> {
        self.count_in(submission, terms).await
    }

    async fn rung(&self, benchmark: &str, evaluation: &str, submitter: &str) -> Result<Rung, PortError> {
        self.rung_of(benchmark, evaluation, submitter).await
    }

    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError> {
        let day = self.item(Key::day_count(board, submitter, &at.day())).await?;
        let total = self.item(Key::total_count(board, submitter)).await?;
        Ok(Usage {
            day: reader::counted(day.as_ref())?,
            total: reader::counted(total.as_ref())?,
        })
    }

    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        self.item(Key::submission(benchmark, id))
            .await?
            .as_ref()
            .map(reader::submission)
            .transpose()
    }

    async fn facts(&self, board: &Board) -> Result<Vec<Fact>, PortError> {
        self.read_facts(board).await
    }

    async fn project(
        &self,
        board: &Board,
        rules: &Rules,
        changed: Option<&str>,
    ) -> Result<Projected, PortError> {
        self.project_board(board, rules, changed).await
    }

    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        self.entries(&Partition::new(keys::rows_partition(board)), usize::MAX)
            .await
    }

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let rows = self.entries(&Partition::ranking(board), n).await?;
        Ok(with_shared_ranks(rows, None))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let partition = Partition::new(keys::history_partition(benchmark, submitter));
        self.entries(&partition.newest_first(), n).await
    }

    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        self.all_unfinished(benchmark).await
    }

    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let partition = Partition::new(keys::failed_partition(benchmark));
        self.entries(&partition, usize::MAX).await
    }

    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError> {
        let mut retry = Retry::new(format!("submission `{id}`"));
        loop {
            let Some(item) = self.item(Key::submission(benchmark, id)).await? else {
                return Ok(Reopened::Unknown);
            };
            let mut submission = reader::submission(&item)?;
            let failed = match submission.receipt.take() {
                None => return Ok(Reopened::Unfinished(submission)),
                Some(receipt) if receipt.verdict.status != Ending::Failed => {
                    return Ok(Reopened::Final(receipt));
                }
                Some(_) => submission.entry(),
            };
            submission.is_reopened = true;
            match self.transact(self.reopening(&failed, &item)?).await {
                Ok(()) => return Ok(Reopened::Reopened(submission)),
                Err(cancelled) => retry.cancelled(cancelled).await?,
            }
        }
    }

    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let partition = Partition::new(keys::boards_partition(benchmark));
        let boards = self.query(&partition).await?;
        boards.iter().map(reader::board).collect()
    }
}
