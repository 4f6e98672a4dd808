//! The table read page by page, for answers that must not grow with the table: one Query a page, never a Scan.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf::dataset::active::InForce;
use dataperf::ports::PortError;
use dataperf::submission::{Entry, Submission};
use dataperf::{Descriptor, Digest, Receipt, SubmissionId, Timestamp};

use crate::sdk::port_error::port_error;
use crate::sdk::retry::Retry;
use crate::table::Table;
use crate::table::items::{Item, text};
use crate::table::keys::{self, Key};
use crate::table::query::Partition;
use crate::table::reader;

/// The most keys that one request may ask for.
const KEYS_A_REQUEST: usize = 100;

/// The cursor of a board's series: the time and the id of the last submission.
const SERIES_PLACE: &str = "series";

/// The end of a page: the key of its last item, by attribute. It is not secret.
pub type Cursor = BTreeMap<String, String>;

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The lines of this part, in order.
    pub lines: Vec<T>,
    /// The beginning of the next part; `None` at the end.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// A page of nothing, and the last.
    pub fn empty() -> Self {
        Self {
            lines: Vec::new(),
            next: None,
        }
    }
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The caller's cursor is not one of this list.
    #[error("the cursor belongs to another list: begin again without one")]
    Cursor,
    /// The table did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// The end of a page of a submitter's history with this last line.
pub fn history_place(line: &Entry) -> Cursor {
    let Key { pk, sk } = Key::history(line);
    Cursor::from([("pk".to_owned(), pk), ("sk".to_owned(), sk)])
}

impl Table {
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
        let partition = Partition::new(keys::history_partition(benchmark, submitter));
        self.entries_page(&partition.newest_first(), after, n).await
    }

    /// The scored submissions of a board that are not withdrawn, oldest first, from `after` on; at most `n`. Each page reads all facts of the board.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn series_page(
        &self,
        board: &Board,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let place = after.and_then(|cursor| cursor.get(SERIES_PLACE));
        let mut lines: Vec<Entry> = Vec::new();
        for fact in self.read_facts(board).await? {
            lines.extend(fact.line_on(board));
        }
        let place_of = |line: &Entry| format!("{}#{}", line.received_at, line.id);
        lines.retain(|line| place.is_none_or(|place| place_of(line) > *place));
        let is_end = lines.len() <= n;
        lines.truncate(n);
        let next = lines.last().filter(|_| !is_end);
        Ok(Page {
            next: next.map(|last| Cursor::from([(SERIES_PLACE.to_owned(), place_of(last))])),
            lines,
        })
    }

    /// The data set that scores a board: the one that the round or the active data sets name, or
    /// else the one compared last. `None` without any score, and for benchmarks with fixed boards.
    /// Their data set is a configuration, and scores of several are compared.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn scored_with(
        &self,
        hosted: &Descriptor,
        in_force: &InForce,
        challenge: Option<&Challenge>,
        board: &Board,
        at: Timestamp,
    ) -> Result<Option<Digest>, PortError> {
        if hosted.fixed.is_some() {
            return Ok(None);
        }
        let settings = in_force.scored_with(challenge, board, at);
        match settings {
            Some(settings) => Ok(Some(settings)),
            None => self.compared_dataset(board).await,
        }
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
        let submissions = self.submissions(benchmark, ids).await?.into_iter();
        Ok(submissions
            .filter_map(|(id, submission)| Some((id, submission.receipt?)))
            .collect())
    }

    /// Some submissions, whole.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn submissions(
        &self,
        benchmark: &str,
        ids: &[SubmissionId],
    ) -> Result<BTreeMap<SubmissionId, Submission>, PortError> {
        let mut submissions = BTreeMap::new();
        for ids in ids.chunks(KEYS_A_REQUEST) {
            let keys = ids.iter().map(|id| Key::submission(benchmark, id).item());
            for item in self.batch(keys.collect()).await? {
                let submission = reader::submission(&item)?;
                submissions.insert(submission.id.clone(), submission);
            }
        }
        Ok(submissions)
    }

    /// Failed submissions that nobody has retried, oldest first, after `after`; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn failed_page(
        &self,
        benchmark: &str,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let partition = Partition::new(keys::failed_partition(benchmark));
        self.entries_page(&partition, after, n).await
    }

    async fn entries_page(
        &self,
        partition: &Partition,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        self.lines(partition, after, n, reader::entry).await
    }

    /// A page of a partition's lines, which `read` makes of its items.
    pub(crate) async fn lines<T>(
        &self,
        partition: &Partition,
        after: Option<&Cursor>,
        n: usize,
        read: fn(&Item) -> Result<T, PortError>,
    ) -> Result<Page<T>, PageError> {
        let start = after.map(|cursor| start(partition, cursor)).transpose()?;
        let (items, next) = self.page(partition, start, n).await?;
        Ok(Page {
            lines: items.iter().map(read).collect::<Result<_, _>>()?,
            next: next.map(|key| place(&key)),
        })
    }

    /// Reads items by key, in no order; those that are not there are left out.
    async fn batch(&self, keys: Vec<Item>) -> Result<Vec<Item>, PortError> {
        let _call = self.meter.call();
        let mut items = Vec::with_capacity(keys.len());
        let mut unread = keys;
        let mut retry = Retry::new(self.describe("reading"));
        loop {
            #[expect(clippy::expect_used, reason = "the one required field is set")]
            let wanted = KeysAndAttributes::builder()
                .set_keys(Some(unread))
                .build()
                .expect("complete");
            let request = self.client.batch_get_item().request_items(&self.name, wanted);
            let output = request.send().await;
            let output = output.map_err(|error| port_error(self.describe("reading"), error))?;
            let tables = output.responses.unwrap_or_default();
            items.extend(tables.into_values().flatten());
            let left = output.unprocessed_keys.unwrap_or_default();
            unread = left.into_values().flat_map(|left| left.keys).collect();
            if unread.is_empty() {
                return Ok(items);
            }
            let source = format!("{} keys were left unread", unread.len()).into();
            let subject = self.describe("reading");
            retry.busy(PortError::Transient { subject, source }).await?;
        }
    }
}

/// The start of a query from a cursor, which may come from anybody.
pub(crate) fn start(partition: &Partition, cursor: &Cursor) -> Result<Item, PageError> {
    let names: &[&str] = if partition.index.is_some() {
        &["board", "pk", "rank", "sk"]
    } else {
        &["pk", "sk"]
    };
    let fits = cursor.keys().map(String::as_str).eq(names.iter().copied())
        && cursor
            .values()
            .all(|value| !value.is_empty() && value.len() < 1024)
        && cursor.get(partition.hash) == Some(&partition.value);
    if !fits {
        return Err(PageError::Cursor);
    }
    Ok(cursor
        .iter()
        .map(|(name, value)| (name.clone(), text(value)))
        .collect())
}

/// The key of a page's last item.
pub(crate) fn place(key: &HashMap<String, AttributeValue>) -> Cursor {
    let texts = key
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_s().ok()?.clone())));
    texts.collect()
}
