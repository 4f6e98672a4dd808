//! The table's port on DynamoDB.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem, Update};
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{
    Board, Entry, Finished, Known, Leaderboards, Ranked, Received, Reopened, Submission, rank_key,
    with_shared_ranks,
};
use dataperf::{Direction, Ending, RankKey, Receipt, SubmissionId};

use crate::fault::port_error;
use crate::items::{self, Item, Key, RANKING, entry_item, text};
use crate::meter::Meter;

/// Transactions that touch one item at the same moment are cancelled except one; the others ask again.
const CONFLICT_TRIES: u32 = 8;
const CONFLICT_PAUSE: Duration = Duration::from_millis(20);

/// The table of leaderboards.
#[derive(Debug, Clone)]
pub struct DynamoLeaderboards {
    client: Client,
    table: String,
    meter: Meter,
}

/// Why a transaction did not take place.
enum Cancelled {
    /// The condition of the operation with this index did not hold.
    Condition(usize),
    /// It met another transaction, or was throttled: the same may succeed at once.
    Conflict(PortError),
    Other(PortError),
}

/// One of the queries; all of them name a whole partition.
struct Partition<'a> {
    index: Option<&'a str>,
    hash: &'a str,
    value: String,
    newest_first: bool,
    n: usize,
}

impl DynamoLeaderboards {
    /// The leaderboards in the table `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self {
            client,
            table: table.into(),
            meter: Meter::default(),
        }
    }

    /// The same table, with its calls counted by `meter`.
    pub(crate) fn metered(mut self, meter: &Meter) -> Self {
        self.meter = meter.clone();
        self
    }

    fn what(&self, verb: &str) -> String {
        format!("{verb} table `{}`", self.table)
    }

    async fn item(&self, key: Key) -> Result<Option<Item>, PortError> {
        let _call = self.meter.call();
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key.item()));
        let output = request.consistent_read(true).send().await;
        output
            .map(|output| output.item)
            .map_err(|error| port_error(self.what("reading"), error))
    }

    async fn query(&self, partition: Partition<'_>) -> Result<Vec<Item>, PortError> {
        let _call = self.meter.call();
        let request = self
            .client
            .query()
            .table_name(&self.table)
            .set_index_name(partition.index.map(str::to_owned));
        let request = request
            .key_condition_expression("#hash = :hash")
            .expression_attribute_names("#hash", partition.hash);
        let request = request.expression_attribute_values(":hash", text(partition.value));
        let request = request.scan_index_forward(!partition.newest_first);
        let mut found: Vec<Item> = Vec::new();
        let mut start = None;
        loop {
            let left = partition.n - found.len();
            let page = request.clone().set_exclusive_start_key(start);
            let page = page.limit(i32::try_from(left).unwrap_or(i32::MAX));
            let output = page
                .send()
                .await
                .map_err(|error| port_error(self.what("querying"), error))?;
            found.extend(output.items.unwrap_or_default());
            start = output.last_evaluated_key;
            if start.is_none() || found.len() >= partition.n {
                return Ok(found);
            }
        }
    }

    async fn entries(&self, partition: Partition<'_>) -> Result<Vec<Entry>, PortError> {
        self.query(partition).await?.iter().map(items::entry).collect()
    }

    fn put(&self, item: Item) -> Put {
        #[expect(clippy::expect_used, reason = "both required fields are set")]
        Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .build()
            .expect("complete")
    }

    fn put_if(&self, item: Item, condition: &str, values: Option<Item>) -> TransactWriteItem {
        let mut put = self.put(item);
        put.condition_expression = Some(condition.into());
        put.expression_attribute_values = values;
        TransactWriteItem::builder().put(put).build()
    }

    /// Sets attributes, and adds one to `counter`. Every name goes by a placeholder: DynamoDB reserves hundreds of
    /// words, `status`, `schema` and `round` among them.
    fn update(&self, key: Key, set: &[(&str, AttributeValue)], counter: Option<&str>) -> Update {
        let assignments: Vec<String> = set.iter().map(|(name, _)| format!("#{name} = :{name}")).collect();
        let mut expression = format!("SET {}", assignments.join(", "));
        let mut names: HashMap<String, String> = HashMap::new();
        let mut values = Item::new();
        for (name, value) in set {
            names.insert(format!("#{name}"), (*name).to_owned());
            values.insert(format!(":{name}"), value.clone());
        }
        if let Some(counter) = counter {
            let _ = write!(expression, " ADD #{counter} :one"); // writing to a string can't fail
            names.insert(format!("#{counter}"), counter.to_owned());
            values.insert(":one".into(), AttributeValue::N("1".into()));
        }
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key.item()))
            .update_expression(expression);
        let update = update
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values));
        #[expect(clippy::expect_used, reason = "all required fields are set")]
        update.build().expect("complete")
    }

    fn delete(&self, key: Key) -> TransactWriteItem {
        let delete = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(key.item()))
            .build();
        #[expect(clippy::expect_used, reason = "both required fields are set")]
        TransactWriteItem::builder()
            .delete(delete.expect("complete"))
            .build()
    }

    async fn transact(&self, operations: Vec<TransactWriteItem>) -> Result<(), Cancelled> {
        let _call = self.meter.call();
        let sent = self
            .client
            .transact_write_items()
            .set_transact_items(Some(operations))
            .send()
            .await;
        sent.map(drop).map_err(|error| self.cancelled(error))
    }

    fn cancelled<R>(&self, error: SdkError<TransactWriteItemsError, R>) -> Cancelled
    where
        R: std::fmt::Debug + Send + Sync + 'static,
    {
        let reasons = match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                cancelled.cancellation_reasons()
            }
            _ => return Cancelled::Other(port_error(self.what("writing"), error)),
        };
        let codes: Vec<&str> = reasons
            .iter()
            .map(|reason| reason.code().unwrap_or("None"))
            .collect();
        if let Some(at) = codes.iter().position(|&code| code == "ConditionalCheckFailed") {
            return Cancelled::Condition(at);
        }
        let passing = [
            "TransactionConflict",
            "ThrottlingError",
            "ProvisionedThroughputExceeded",
        ];
        let conflict = codes.iter().any(|code| passing.contains(code));
        let what = format!("{} ({})", self.what("writing"), codes.join(", "));
        if conflict {
            Cancelled::Conflict(PortError::Transient {
                what,
                source: Box::new(error),
            })
        } else {
            Cancelled::Other(PortError::Refused {
                what,
                source: Box::new(error),
            })
        }
    }

    /// The operations that end a submission; the first one decides between two deliveries.
    fn ending(&self, receipt: &Receipt, json: String, entry: &Entry) -> Vec<TransactWriteItem> {
        let mut line = vec![("status", text(receipt.verdict.status.as_str()))];
        line.extend(entry.score.map(|score| ("score", items::number(score))));
        let mut whole = line.clone();
        whole.extend([
            ("receipt", text(json)),
            ("finished_at", text(receipt.finished_at.to_string())),
        ]);
        let mut submission = self.update(Key::submission(&entry.board.benchmark, &entry.id), &whole, None);
        submission.condition_expression = Some("#status = :received".into());
        submission
            .expression_attribute_values
            .get_or_insert_default()
            .insert(":received".into(), text("received"));
        let updated = |update| TransactWriteItem::builder().update(update).build();
        let mut operations = vec![
            updated(submission),
            updated(self.update(Key::history(entry), &line, None)),
            self.delete(Key::unfinished(entry)),
        ];
        if entry.ending == Some(Ending::Failed) {
            let mark = self.put(entry_item(Key::failed(entry), entry));
            operations.push(TransactWriteItem::builder().put(mark).build());
        }
        if entry.score.is_some() {
            let series = self.put(entry_item(Key::series(entry), entry));
            operations.push(TransactWriteItem::builder().put(series).build());
            let board = [
                ("schema", AttributeValue::N(items::SCHEMA.to_string())),
                ("benchmark", text(&entry.board.benchmark)),
                ("leaderboard", text(&entry.board.leaderboard)),
                ("round", text(&entry.board.round)),
            ];
            operations.push(updated(self.update(
                Key::board(&entry.board),
                &board,
                Some("n_scored"),
            )));
        }
        operations
    }

    /// The operations that take a failed ending back; `entry` is the submission without it.
    fn reopening(&self, entry: &Entry) -> Vec<TransactWriteItem> {
        let received = [("status", text("received"))];
        let mut submission = self.update(
            Key::submission(&entry.board.benchmark, &entry.id),
            &received,
            None,
        );
        submission
            .update_expression
            .push_str(" REMOVE receipt, finished_at");
        submission.condition_expression = Some("#status = :failed".into());
        submission
            .expression_attribute_values
            .get_or_insert_default()
            .insert(":failed".into(), text(Ending::Failed.as_str()));
        let updated = |update| TransactWriteItem::builder().update(update).build();
        let unfinished = self.put(entry_item(Key::unfinished(entry), entry));
        vec![
            updated(submission),
            updated(self.update(Key::history(entry), &received, None)),
            self.delete(Key::failed(entry)),
            TransactWriteItem::builder().put(unfinished).build(),
        ]
    }

    /// Replaces the submitter's best, provided it is still worse.
    fn new_best(&self, entry: &Entry, rank: &RankKey) -> TransactWriteItem {
        let mut item = entry_item(Key::best(&entry.board, &entry.submitter), entry);
        item.insert("board".into(), text(items::ranking_partition(&entry.board)));
        item.insert("rank".into(), text(rank.as_str()));
        let mut put = self.put_if(
            item,
            "attribute_not_exists(pk) OR #rank > :rank",
            Some(Item::from([(":rank".into(), text(rank.as_str()))])),
        );
        if let Some(put) = &mut put.put {
            put.expression_attribute_names = Some([("#rank".to_owned(), "rank".to_owned())].into());
        }
        put
    }

    async fn is_new_best(&self, entry: &Entry, rank: &RankKey) -> Result<bool, PortError> {
        let best = self.item(Key::best(&entry.board, &entry.submitter)).await?;
        let best = best
            .as_ref()
            .and_then(|item| item.get("rank"))
            .and_then(|rank| rank.as_s().ok());
        Ok(best.is_none_or(|best| rank.as_str() < best.as_str()))
    }

    async fn ended_before(&self, receipt: &Receipt) -> Result<Finished, PortError> {
        let found = self
            .submission(&receipt.verdict.benchmark, &receipt.submission)
            .await?;
        match found.and_then(|submission| submission.receipt) {
            Some(receipt) => Ok(Finished::EndedBefore(receipt)),
            None => Err(PortError::Malformed {
                what: format!("submission `{}`", receipt.submission),
                why: "it ends without having been received".into(),
            }),
        }
    }
}

/// A little longer every time, so that those who collided don't meet again.
async fn pause(tries: u32) {
    tokio::time::sleep(CONFLICT_PAUSE * tries * tries).await;
}

impl Leaderboards for DynamoLeaderboards {
    async fn receive(&self, received: &Received) -> Result<Known, PortError> {
        let id = received.upload.id();
        let submission = Submission {
            id: id.clone(),
            board: received.board.clone(),
            submitter: received.submitter.clone(),
            received_at: received.upload.received_at,
            upload: received.upload.clone(),
            receipt: None,
        };
        let entry = submission.entry();
        let new = "attribute_not_exists(pk)";
        for tries in 1.. {
            let history = entry_item(Key::history(&entry), &entry);
            let unfinished = entry_item(Key::unfinished(&entry), &entry);
            let operations = vec![
                self.put_if(items::submission_item(&entry, received), new, None),
                TransactWriteItem::builder().put(self.put(history)).build(),
                TransactWriteItem::builder().put(self.put(unfinished)).build(),
            ];
            match self.transact(operations).await {
                Ok(()) => return Ok(Known::New(submission)),
                Err(Cancelled::Condition(_)) => break,
                Err(Cancelled::Conflict(_)) if tries < CONFLICT_TRIES => pause(tries).await,
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

    async fn finish(&self, receipt: &Receipt, direction: Direction) -> Result<Finished, PortError> {
        let what = || format!("submission `{}`", receipt.submission);
        let json = serde_json::to_string(receipt).map_err(|error| PortError::Malformed {
            what: what(),
            why: error.to_string(),
        })?;
        let entry = Entry {
            id: receipt.submission.clone(),
            board: Board {
                benchmark: receipt.verdict.benchmark.clone(),
                leaderboard: receipt.verdict.leaderboard.clone(),
                round: receipt.round.clone(),
            },
            submitter: receipt.submitter.clone(),
            received_at: receipt.received_at,
            ending: Some(receipt.verdict.status),
            score: receipt.verdict.score,
        };
        let rank = rank_key(receipt, direction);
        for tries in 1.. {
            let mut operations = self.ending(receipt, json.clone(), &entry);
            if let Some(rank) = &rank
                && self.is_new_best(&entry, rank).await?
            {
                operations.push(self.new_best(&entry, rank));
            }
            match self.transact(operations).await {
                Ok(()) => return Ok(Finished::Recorded),
                Err(Cancelled::Condition(0)) => break,
                // The submitter's best has changed since it was read: look again.
                Err(Cancelled::Condition(_)) if tries < CONFLICT_TRIES => {}
                Err(Cancelled::Conflict(_)) if tries < CONFLICT_TRIES => pause(tries).await,
                Err(Cancelled::Conflict(error) | Cancelled::Other(error)) => return Err(error),
                Err(Cancelled::Condition(at)) => {
                    let why = format!("operation {at} of its ending was refused {tries} times");
                    return Err(PortError::Malformed { what: what(), why });
                }
            }
        }
        self.ended_before(receipt).await
    }

    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        self.item(Key::submission(benchmark, id))
            .await?
            .as_ref()
            .map(items::submission)
            .transpose()
    }

    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        let value = items::ranking_partition(board);
        let partition = Partition {
            index: Some(RANKING),
            hash: "board",
            value,
            newest_first: false,
            n,
        };
        Ok(with_shared_ranks(self.entries(partition).await?))
    }

    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        let value = items::history_partition(benchmark, submitter);
        self.entries(Partition {
            index: None,
            hash: "pk",
            value,
            newest_first: true,
            n,
        })
        .await
    }

    async fn series(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let value = items::series_partition(board);
        self.entries(Partition {
            index: None,
            hash: "pk",
            value,
            newest_first: false,
            n: usize::MAX,
        })
        .await
    }

    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let value = items::unfinished_partition(benchmark);
        self.entries(Partition {
            index: None,
            hash: "pk",
            value,
            newest_first: false,
            n: usize::MAX,
        })
        .await
    }

    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let value = items::failed_partition(benchmark);
        self.entries(Partition {
            index: None,
            hash: "pk",
            value,
            newest_first: false,
            n: usize::MAX,
        })
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
            match self.transact(self.reopening(&failed)).await {
                Ok(()) => return Ok(Reopened::Reopened(submission)),
                // somebody else has reopened it: look again
                Err(Cancelled::Condition(_)) if tries < CONFLICT_TRIES => {}
                Err(Cancelled::Conflict(_)) if tries < CONFLICT_TRIES => pause(tries).await,
                Err(Cancelled::Conflict(error) | Cancelled::Other(error)) => return Err(error),
                Err(Cancelled::Condition(_)) => break,
            }
        }
        Err(PortError::Malformed {
            what: format!("submission `{id}`"),
            why: format!("it could not be reopened in {CONFLICT_TRIES} tries"),
        })
    }

    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let value = items::boards_partition(benchmark);
        let partition = Partition {
            index: None,
            hash: "pk",
            value,
            newest_first: false,
            n: usize::MAX,
        };
        self.query(partition).await?.iter().map(items::board).collect()
    }
}
