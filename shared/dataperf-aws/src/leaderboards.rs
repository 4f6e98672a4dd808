//! The table's port on `DynamoDB`.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::challenge::{OverLimit, Terms};
use dataperf::ports::leaderboard::{
    Board, Entry, Known, Leaderboards, Ranked, Received, Recorded, Reopened, Submission, Usage,
    with_shared_ranks,
};
use dataperf::ports::maintenance::Order;
use dataperf::ports::{PortError, async_trait};
use dataperf::{Direction, Ending, Receipt, SubmissionId, Timestamp};

use crate::items::{self, BASELINE, RANKING, count, entry_item, text};
use crate::keys::{self, Key};
use crate::meter::Meter;
use crate::reader;
use crate::rows;
use crate::table::{
    Cancelled, Change, Condition, Operation, Partition, Step, TRIES, Table, contended, pause,
};

/// The table of leaderboards.
#[derive(Debug, Clone)]
pub struct DynamoLeaderboards {
    pub(crate) table: Table,
}

pub(crate) fn receipt_json(receipt: &Receipt) -> Result<String, PortError> {
    serde_json::to_string(receipt).map_err(|error| PortError::Malformed {
        what: format!("submission `{}`", receipt.submission),
        why: error.to_string(),
    })
}

impl DynamoLeaderboards {
    /// The leaderboards in the table `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            table: Table::new(client, table),
        }
    }

    /// The table itself, for items that are no leaderboard's.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The same table, with its calls counted by `meter`.
    pub(crate) fn metered(mut self, meter: &Meter) -> Self {
        self.table = self.table.metered(meter);
        self
    }

    async fn entries(&self, partition: Partition<'_>) -> Result<Vec<Entry>, PortError> {
        self.table
            .query(partition)
            .await?
            .iter()
            .map(reader::entry)
            .collect()
    }

    /// The operations that end a submission; the first one decides between two deliveries.
    async fn ending(
        &self,
        receipt: &Receipt,
        json: &str,
        entry: &Entry,
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
        let mut whole = line.clone();
        whole.extend([
            ("receipt".to_owned(), text(json)),
            ("finished_at".to_owned(), text(receipt.finished_at.to_string())),
        ]);
        let unended = Condition {
            text: "#status = :received",
            names: &["status"],
            values: vec![("received", text("received"))],
        };
        let set = |set: Vec<(String, AttributeValue)>, condition| Change {
            set,
            condition,
            ..Change::default()
        };
        let table = &self.table;
        let submission = Key::submission(&entry.board.benchmark, &entry.id);
        let mut operations = vec![
            (
                Step::Submission,
                table.update(submission, set(whole, Some(unended))),
            ),
            (Step::Other, table.update(Key::history(entry), set(line, None))),
            (Step::Other, table.delete(Key::unfinished(entry), None)),
        ];
        if entry.ending == Some(Ending::Failed) {
            let mark = entry_item(Key::failed(entry), entry);
            operations.push((Step::Other, table.put(mark, None)));
        }
        if entry.is_on_board() {
            operations.push((
                Step::Other,
                table.put(entry_item(Key::series(entry), entry), None),
            ));
            // Only where it is missing: an item that every submission to a board touched would be in every other's way.
            if table.item(Key::board(&entry.board)).await?.is_none() {
                operations.push((Step::Other, table.put(items::board_item(&entry.board), None)));
            }
        }
        Ok(operations)
    }

    /// The operations that take a failed ending back; `entry` is the submission without it.
    fn reopening(&self, entry: &Entry) -> Vec<Operation> {
        let received = || vec![("status".to_owned(), text(items::RECEIVED))];
        let failed = Condition {
            text: "#status = :failed",
            names: &["status"],
            values: vec![("failed", text(Ending::Failed.as_str()))],
        };
        let submission = Change {
            set: received(),
            remove: vec!["receipt", "finished_at"],
            condition: Some(failed),
            ..Change::default()
        };
        let line = Change {
            set: received(),
            ..Change::default()
        };
        let (table, key) = (&self.table, Key::submission(&entry.board.benchmark, &entry.id));
        let unfinished = entry_item(Key::unfinished(entry), entry);
        vec![
            (Step::Submission, table.update(key, submission)),
            (Step::Other, table.update(Key::history(entry), line)),
            (Step::Other, table.delete(Key::failed(entry), None)),
            (Step::Other, table.put(unfinished, None)),
        ]
    }

    /// Counts a scored submission, unless that is one too many.
    fn counting(&self, entry: &Entry, terms: &Terms) -> Vec<Operation> {
        let Some(limits) = terms.limits.filter(|_| entry.is_on_board()) else {
            return Vec::new();
        };
        let (board, submitter) = (&entry.board, &entry.submitter);
        let one_more = |key, limit: Option<u64>| {
            let below = limit.map(|limit| Condition {
                text: "attribute_not_exists(#n_scored) OR #n_scored < :limit",
                names: &["n_scored"],
                values: vec![("limit", count(limit))],
            });
            let change = Change {
                set: vec![("schema".into(), count(items::SCHEMA.into()))],
                add: Some(("n_scored", 1)),
                condition: below,
                ..Change::default()
            };
            self.table.update(key, change)
        };
        let day = Key::day_count(board, submitter, &entry.received_at.day());
        vec![
            (
                Step::TotalCount,
                one_more(Key::total_count(board, submitter), limits.total),
            ),
            (Step::DayCount, one_more(day, limits.daily)),
        ]
    }

    async fn over_limit(&self, entry: &Entry, terms: &Terms) -> Result<Option<OverLimit>, PortError> {
        let usage = self
            .usage(&entry.board, &entry.submitter, entry.received_at)
            .await?;
        Ok(terms.over_limit(usage))
    }

    async fn ended_before(&self, receipt: &Receipt) -> Result<Recorded, PortError> {
        let found = self
            .submission(&receipt.verdict.benchmark, &receipt.submission)
            .await?;
        match found.and_then(|submission| submission.receipt) {
            Some(receipt) => Ok(Recorded::Before(receipt)),
            None => Err(PortError::Malformed {
                what: format!("submission `{}`", receipt.submission),
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
        ending: Some(receipt.verdict.status),
        score: receipt.verdict.score,
    }
}

#[async_trait]
impl Leaderboards for DynamoLeaderboards {
    async fn receive(&self, received: &Received) -> Result<Known, PortError> {
        let submission = Submission::new(received);
        let id = submission.id.clone();
        let entry = submission.entry();
        let table = &self.table;
        for tries in 1.. {
            let new = table.put(
                items::submission_item(&entry, received),
                Some(Condition::new_item()),
            );
            let operations = vec![
                (Step::Submission, new),
                (
                    Step::Other,
                    table.put(entry_item(Key::history(&entry), &entry), None),
                ),
                (
                    Step::Other,
                    table.put(entry_item(Key::unfinished(&entry), &entry), None),
                ),
            ];
            match table.transact(operations).await {
                Ok(()) => return Ok(Known::New(submission)),
                Err(Cancelled::Condition(_)) => break,
                Err(Cancelled::Conflict(_)) if tries < TRIES => pause(tries).await,
                Err(Cancelled::Conflict(error) | Cancelled::Other(error)) => return Err(error),
            }
        }
        let known = self.submission(&received.board.benchmark, &id).await?;
        let known = known.ok_or_else(|| PortError::Malformed {
            what: format!("submission `{id}`"),
            why: "it was there and is gone".into(),
        })?;
        Ok(match known.receipt {
            Some(receipt) => Known::Ended(receipt),
            None => Known::Unfinished(known),
        })
    }

    async fn record(
        &self,
        receipt: &Receipt,
        direction: Direction,
        terms: &Terms,
    ) -> Result<Recorded, PortError> {
        let json = receipt_json(receipt)?;
        let entry = ended(receipt, terms);
        let order = Order {
            direction,
            ranking: terms.ranking,
        };
        for tries in 1.. {
            let mut operations = self.ending(receipt, &json, &entry).await?;
            operations.extend(self.counting(&entry, terms));
            operations.extend(rows::scored(&self.table, &entry, order).await?);
            match self.table.transact(operations).await {
                Ok(()) => return Ok(Recorded::Now),
                Err(Cancelled::Condition(Step::Submission)) => break,
                Err(Cancelled::Condition(Step::DayCount | Step::TotalCount)) => {
                    if let Some(over) = self.over_limit(&entry, terms).await? {
                        return Ok(Recorded::OverLimit(over));
                    }
                }
                // The submitter's row has changed since it was read: look again.
                Err(Cancelled::Condition(_)) if tries < TRIES => {}
                Err(Cancelled::Conflict(_)) if tries < TRIES => pause(tries).await,
                Err(Cancelled::Conflict(error) | Cancelled::Other(error)) => return Err(error),
                Err(Cancelled::Condition(_)) => {
                    return Err(contended(format!("submission `{}`", receipt.submission), tries));
                }
            }
        }
        self.ended_before(receipt).await
    }

    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError> {
        let day = self
            .table
            .item(Key::day_count(board, submitter, &at.day()))
            .await?;
        let total = self.table.item(Key::total_count(board, submitter)).await?;
        Ok(Usage {
            day: reader::counted(day.as_ref())?,
            total: reader::counted(total.as_ref())?,
        })
    }

    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        self.table
            .item(Key::submission(benchmark, id))
            .await?
            .as_ref()
            .map(reader::submission)
            .transpose()
    }

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let partition = Partition {
            index: Some(RANKING),
            hash: "board",
            n,
            ..Partition::of(keys::ranking_partition(board))
        };
        Ok(with_shared_ranks(self.entries(partition).await?))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let partition = Partition {
            newest_first: true,
            n,
            ..Partition::of(keys::history_partition(benchmark, submitter))
        };
        self.entries(partition).await
    }

    async fn series(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        self.entries(Partition::of(keys::series_partition(board))).await
    }

    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        self.entries(Partition::of(keys::unfinished_partition(benchmark)))
            .await
    }

    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        self.entries(Partition::of(keys::failed_partition(benchmark)))
            .await
    }

    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError> {
        for tries in 1.. {
            let Some(mut submission) = self.submission(benchmark, id).await? else {
                return Ok(Reopened::Unknown);
            };
            let failed = match submission.receipt.take() {
                None => return Ok(Reopened::Unfinished(submission)),
                Some(receipt) if receipt.verdict.status != Ending::Failed => {
                    return Ok(Reopened::Final(receipt));
                }
                Some(_) => submission.entry(),
            };
            match self.table.transact(self.reopening(&failed)).await {
                Ok(()) => return Ok(Reopened::Reopened(submission)),
                // somebody else has reopened it: look again
                Err(Cancelled::Condition(_)) if tries < TRIES => {}
                Err(Cancelled::Conflict(_)) if tries < TRIES => pause(tries).await,
                Err(Cancelled::Conflict(error) | Cancelled::Other(error)) => return Err(error),
                Err(Cancelled::Condition(_)) => break,
            }
        }
        Err(contended(format!("submission `{id}`"), TRIES))
    }

    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let boards = self
            .table
            .query(Partition::of(keys::boards_partition(benchmark)))
            .await?;
        boards.iter().map(reader::board).collect()
    }
}
