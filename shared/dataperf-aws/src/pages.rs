//! The table read page by page, for answers that must not grow with the table: one Query a page, never a Scan.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Board, Entry};
use dataperf::{Receipt, SubmissionId};

use crate::DynamoLeaderboards;
use crate::fault::port_error;
use crate::items::{Item, RANKING, text};
use crate::keys::{self, Key};
use crate::reader;

/// The most keys that one request may ask for.
const KEYS_A_REQUEST: usize = 100;
/// Keys that a request leaves unread are asked for again; those that are still unread after so many are an error.
const BATCH_TRIES: usize = 8;

/// Where a page ended: the key of its last item, by attribute. It is no secret, and no more than a place.
pub type Cursor = BTreeMap<String, String>;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The lines of this part, in order.
    pub lines: Vec<T>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The caller's cursor is not one of this list.
    #[error("the cursor is of another list: begin again without one")]
    Cursor,
    /// The table did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// The partition that is read.
struct Partition {
    index: Option<&'static str>,
    hash: &'static str,
    value: String,
    newest_first: bool,
}

impl DynamoLeaderboards {
    /// The lines of a board, best first, from `after` on; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn board_page(
        &self,
        board: &Board,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let partition = Partition {
            index: Some(RANKING),
            hash: "board",
            value: keys::ranking_partition(board),
            newest_first: false,
        };
        self.page(&partition, after, n).await
    }

    /// A submitter's submissions to a benchmark, newest first, from `after` on; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn history_page(
        &self,
        benchmark: &str,
        submitter: &str,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let value = keys::history_partition(benchmark, submitter);
        self.page(&Partition::of_table(value, true), after, n).await
    }

    /// The scored submissions of a board, oldest first, from `after` on; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn series_page(
        &self,
        board: &Board,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let partition = Partition::of_table(keys::series_partition(board), false);
        self.page(&partition, after, n).await
    }

    /// What has been received and not ended, oldest first, from `after` on; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn unfinished_page(
        &self,
        benchmark: &str,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let partition = Partition::of_table(keys::unfinished_partition(benchmark), false);
        self.page(&partition, after, n).await
    }

    /// The receipts of some submissions that have ended.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn receipts(
        &self,
        benchmark: &str,
        ids: &[SubmissionId],
    ) -> Result<BTreeMap<SubmissionId, Receipt>, PortError> {
        let mut receipts = BTreeMap::new();
        for ids in ids.chunks(KEYS_A_REQUEST) {
            let keys = ids.iter().map(|id| Key::submission(benchmark, id).item());
            for item in self.batch(keys.collect()).await? {
                let submission = reader::submission(&item)?;
                receipts.extend(submission.receipt.map(|receipt| (submission.id, receipt)));
            }
        }
        Ok(receipts)
    }

    async fn page(
        &self,
        partition: &Partition,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let start = after.map(|cursor| partition.start(cursor)).transpose()?;
        let (found, next) = self.one_query(partition, start, n).await?;
        Ok(Page {
            lines: found.iter().map(reader::entry).collect::<Result<_, _>>()?,
            next: next.map(|key| place(&key)),
        })
    }

    async fn one_query(
        &self,
        partition: &Partition,
        start: Option<Item>,
        n: usize,
    ) -> Result<(Vec<Item>, Option<Item>), PortError> {
        let request = self.table.client.query().table_name(&self.table.name);
        let request = request
            .set_index_name(partition.index.map(str::to_owned))
            .key_condition_expression("#hash = :hash")
            .expression_attribute_names("#hash", partition.hash)
            .expression_attribute_values(":hash", text(&partition.value))
            .scan_index_forward(!partition.newest_first)
            .set_exclusive_start_key(start)
            .limit(i32::try_from(n).unwrap_or(i32::MAX));
        let output = request.send().await;
        let output = output.map_err(|error| port_error(self.table.what("querying"), error))?;
        let next = output.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((output.items.unwrap_or_default(), next))
    }

    /// Reads items by key, in no order; those that are not there are left out.
    async fn batch(&self, keys: Vec<Item>) -> Result<Vec<Item>, PortError> {
        let mut found = Vec::with_capacity(keys.len());
        let mut unread = keys;
        for _ in 0..BATCH_TRIES {
            if unread.is_empty() {
                return Ok(found);
            }
            #[expect(clippy::expect_used, reason = "the one required field is set")]
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(unread))
                .build()
                .expect("complete");
            let request = self
                .table
                .client
                .batch_get_item()
                .request_items(&self.table.name, wanted);
            let output = request.send().await;
            let output = output.map_err(|error| port_error(self.table.what("reading"), error))?;
            let tables = output.responses.unwrap_or_default();
            found.extend(tables.into_values().flatten());
            let left = output.unprocessed_keys.unwrap_or_default();
            unread = left.into_values().flat_map(|left| left.keys).collect();
        }
        let why = format!("{} keys were left unread {BATCH_TRIES} times", unread.len());
        Err(PortError::Transient {
            what: self.table.what("reading"),
            source: why.into(),
        })
    }
}

impl Partition {
    fn of_table(value: String, newest_first: bool) -> Self {
        Self {
            index: None,
            hash: "pk",
            value,
            newest_first,
        }
    }

    /// The start of a query from a cursor, which may come from anybody.
    fn start(&self, cursor: &Cursor) -> Result<Item, PageError> {
        let names: &[&str] = if self.index.is_some() {
            &["board", "pk", "rank", "sk"]
        } else {
            &["pk", "sk"]
        };
        let fits = cursor.keys().map(String::as_str).eq(names.iter().copied())
            && cursor
                .values()
                .all(|value| !value.is_empty() && value.len() < 1024)
            && cursor.get(self.hash) == Some(&self.value);
        if !fits {
            return Err(PageError::Cursor);
        }
        Ok(cursor
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect())
    }
}

fn place(key: &HashMap<String, AttributeValue>) -> Cursor {
    let texts = key
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_s().ok()?.clone())));
    texts.collect()
}
