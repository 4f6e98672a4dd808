//! Marks of unfinished submissions. Every submission writes a mark and removes it again, so marks
//! are spread over partitions. One partition takes 1,000 units of writes a second, and a submission
//! needs four.

use std::collections::BTreeMap;

use dataperf::Timestamp;
use dataperf::ports::PortError;
use dataperf::submission::Entry;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::runtime::now;
use crate::table::Table;
use crate::table::items::{Item, entry_item, text};
use crate::table::keys::{Key, unfinished_prefix, unfinished_shards};
use crate::table::pages::{Cursor, Page, PageError, place};
use crate::table::query::Partition;
use crate::table::reader::{self, Reader};

/// Partitions that are read at once.
const READ_AT_ONCE: usize = 8;
/// How many of the oldest marks of each partition are searched for the longest wait. The first mark
/// may not have waited longest: a retried submission waits only since the retry, although its
/// upload is older.
const N_EARLIEST: usize = 100;

/// The attribute of a mark that says when it was made.
const MARKED_AT: &str = "marked_at";

/// The mark of an unfinished submission.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The place of the mark.
    pub(crate) key: Key,
    /// The submission.
    pub(crate) entry: Entry,
    /// When the submission was received by the table or, after it had failed, taken up again: its waiting begins then.
    pub(crate) marked_at: Timestamp,
}

/// The mark of a submission that is to be evaluated from now on.
pub(crate) fn mark(entry: &Entry) -> Item {
    let mut mark = entry_item(Key::unfinished(entry), entry);
    mark.insert(MARKED_AT.into(), text(now().to_string()));
    mark
}

/// A part of the marks in one partition.
#[derive(Debug)]
pub(crate) struct Marks {
    /// Marks, and what can't be read as one.
    pub(crate) marks: Vec<Result<Mark, PortError>>,
    /// The sort key after which the next part begins; `None` at the end.
    pub(crate) next: Option<String>,
}

impl Table {
    /// At most `n` marks of a partition, oldest first, from a sort key on.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer; a mark that can't be read is in the answer.
    pub(crate) async fn marks(&self, shard: &str, after: Option<&str>, n: usize) -> Result<Marks, PortError> {
        let start = after.map(|after| Key::new(shard, after).item());
        let (items, next) = self.page(&Partition::new(shard), start, n).await?;
        let marks = items.iter().map(|item| {
            let sk = item.get("sk").and_then(|sk| sk.as_s().ok());
            let key = Key::new(shard, sk.cloned().unwrap_or_default());
            Ok(Mark {
                key,
                entry: reader::entry(item)?,
                marked_at: Reader { item }.parsed(MARKED_AT)?,
            })
        });
        Ok(Marks {
            marks: marks.collect(),
            next: next.and_then(|key| place(&key).remove("sk")),
        })
    }

    /// Unfinished submissions, oldest first, after `after`; at most `n`.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn unfinished_page(
        &self,
        benchmark: &str,
        after: Option<&Cursor>,
        n: usize,
    ) -> Result<Page<Entry>, PageError> {
        let after = after.map(|cursor| sort_key(benchmark, cursor)).transpose()?;
        let mut lines = self.oldest_marks(benchmark, after.as_deref(), n).await?;
        // each partition gave as many as the page may have, or all it has
        let more = lines.len() > n;
        lines.truncate(n);
        let last = lines.last().filter(|_| more);
        Ok(Page {
            next: last.map(|(sort_key, _)| {
                let texts = [("pk", unfinished_prefix(benchmark)), ("sk", sort_key.clone())];
                texts.map(|(name, text)| (name.to_owned(), text)).into()
            }),
            lines: lines.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    /// When the longest current wait of an unfinished submission began, among the earliest uploads
    /// of each partition; `None` if there is none.
    pub(crate) async fn waits_since(&self, benchmark: &str) -> Result<Option<Timestamp>, PortError> {
        let shards = unfinished_shards(benchmark).into_iter();
        let read = shards.map(|shard| async move { self.marks(&shard, None, N_EARLIEST).await });
        let read: Vec<Marks> = stream::iter(read).buffered(READ_AT_ONCE).try_collect().await?;
        let marks = read.into_iter().flat_map(|read| read.marks);
        Ok(marks.flatten().map(|mark| mark.marked_at).min()) // what can't be read the sweep says itself
    }

    /// The oldest marks of all partitions, by their sort keys: at least `n + 1`, unless there are fewer.
    async fn oldest_marks(
        &self,
        benchmark: &str,
        after: Option<&str>,
        n: usize,
    ) -> Result<Vec<(String, Entry)>, PortError> {
        let pages = unfinished_shards(benchmark).into_iter().map(|shard| async move {
            let start: Option<Item> = after.map(|after| Key::new(shard.as_str(), after).item());
            let (items, _) = self
                .page(&Partition::new(shard), start, n.saturating_add(1))
                .await?;
            let entries = items.iter().map(reader::entry);
            entries.collect::<Result<Vec<Entry>, _>>()
        });
        let entries: Vec<Vec<Entry>> = stream::iter(pages).buffered(READ_AT_ONCE).try_collect().await?;
        Ok(in_order(entries.into_iter().flatten()))
    }

    /// All that has been received and not ended, oldest first.
    pub(crate) async fn all_unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        let shards = unfinished_shards(benchmark).into_iter();
        let read = shards.map(|shard| async move { self.query(&Partition::new(shard)).await });
        let items: Vec<Vec<Item>> = stream::iter(read).buffered(READ_AT_ONCE).try_collect().await?;
        let entries: Vec<Entry> = items
            .iter()
            .flatten()
            .map(reader::entry)
            .collect::<Result<_, _>>()?;
        Ok(in_order(entries.into_iter())
            .into_iter()
            .map(|(_, entry)| entry)
            .collect())
    }
}

/// The entries by sort key.
fn in_order(entries: impl Iterator<Item = Entry>) -> Vec<(String, Entry)> {
    let by_key: BTreeMap<String, Entry> = entries.map(|entry| (Key::unfinished(&entry).sk, entry)).collect();
    by_key.into_iter().collect()
}

/// The sort key of a cursor of this list.
fn sort_key(benchmark: &str, cursor: &Cursor) -> Result<String, PageError> {
    let fits = cursor.len() == 2 && cursor.get("pk") == Some(&unfinished_prefix(benchmark));
    let key = cursor
        .get("sk")
        .filter(|sk| fits && !sk.is_empty() && sk.len() < 1024);
    key.cloned().ok_or(PageError::Cursor)
}

#[cfg(test)]
mod tests {
    use dataperf::SubmissionId;

    use super::*;
    use crate::table::keys::unfinished_shard;

    #[test]
    fn every_mark_is_in_a_partition_being_read() {
        let read = unfinished_shards("b");
        assert_eq!(
            (read.len(), read[0].as_str(), read[15].as_str()),
            (16, "b#unfinished#0", "b#unfinished#f")
        );
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for n in 0..1600 {
            let id = SubmissionId::derive("submissions", &n.to_string(), "v");
            *counts.entry(unfinished_shard("b", &id)).or_default() += 1;
        }
        assert!(counts.keys().all(|shard| read.contains(shard)), "{counts:?}");
        assert_eq!(counts.len(), 16);
        assert!(
            counts.values().all(|n| (60..140).contains(n)),
            "spread evenly: {counts:?}"
        );
    }
}
