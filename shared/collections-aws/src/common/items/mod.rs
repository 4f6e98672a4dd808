//! Items in the table. Each has its line's content, the keys for duplicate checks, and its place in
//! the raters' queue, which does not reveal its submitter.

pub(crate) mod json;

use std::collections::{BTreeMap, BTreeSet};

use dataperf::SubmissionId;
use dataperf::board::{Stage, parse_round};
use dataperf::ports::PortError;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf_aws::{
    Cancelled, Condition, Item, Key, Operation, Partition, Reader, Retry, SCHEMA, Step, Table, count, text,
};
use dataperf_collections::common::{Duplicate, Earlier};
use futures_util::future::try_join_all;

use crate::common::collection::{Collected, Collection};
use crate::common::items::json::{as_json, parsed};
use crate::common::limits::reservation::SUBMISSION;

const ITEM: Step = Step::Named("item");
const INDEX: Step = Step::Named("index");
/// The most texts that are read for each key. A text that shares a key with more is a duplicate of one of the first anyway.
const MOST_COMPARED: usize = 200;
/// The state of an item that is not decided.
pub const UNJUDGED: &str = "unjudged";
/// The state of an item that is decided.
pub const JUDGED: &str = "judged";

fn text_partitions<C: Collection>(message: &C::Content, version: C::Version) -> Vec<String> {
    let keys = C::keys(message, version);
    keys.iter().map(|key| C::SPACE.text_partition(key)).collect()
}

/// Files the text under its keys, so that every later item finds it. This comes before any decision: of two items at once, at least the later one
/// finds the other.
///
/// # Errors
/// [`PortError`].
pub async fn index<C: Collection>(
    table: &Table,
    item: &Collected<C>,
    version: C::Version,
) -> Result<(), PortError> {
    let put = |partition: String| {
        let mut indexed = Key::new(partition, item.place()).item();
        indexed.insert("schema".into(), count(SCHEMA.into()));
        indexed.insert(C::SPACE.item.into(), text(item.id.to_string()));
        indexed.insert("submitter".into(), text(&item.submitter));
        indexed.insert(SUBMISSION.into(), text(item.submission.as_str()));
        indexed.insert("line".into(), count(item.line));
        indexed.insert(C::SPACE.text.into(), text(C::text(&item.content)));
        (INDEX, table.put(indexed, None))
    };
    let operations: Vec<Operation> = text_partitions::<C>(&item.content, version)
        .into_iter()
        .map(put)
        .collect();
    let mut retry = Retry::new(item.describe());
    loop {
        match table.transact(operations.clone()).await {
            Ok(()) => return Ok(()),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// Which of the items that were uploaded before it an item repeats, in whatever order they are processed.
///
/// # Errors
/// [`PortError`].
pub async fn duplicate<C: Collection>(
    table: &Table,
    item: &Collected<C>,
    from: f64,
    version: C::Version,
) -> Result<Duplicate<C::Id>, PortError> {
    let mut filed = before(table, item, version).await?;
    let mut looked_at = BTreeSet::new();
    let (mut repeated, earlier) = loop {
        let earlier: Vec<Earlier<C::Id>> = filed.iter().map(|filed| filed.earlier.clone()).collect();
        let repeated = C::repeated(&item.content, &earlier, from, version);
        let mut named: Vec<C::Id> = repeated.of.iter().chain(&repeated.of_own).cloned().collect();
        if repeated.repeats_another && repeated.is_own {
            let of_others: Vec<_> = earlier
                .iter()
                .filter(|earlier| !earlier.is_own)
                .cloned()
                .collect();
            named.extend(C::repeated(&item.content, &of_others, from, version).of);
        }
        let Some(id) = named.into_iter().find(|id| !looked_at.contains(id)) else {
            break (repeated, earlier);
        };
        let mut kept = Vec::with_capacity(filed.len());
        for one in filed {
            if one.earlier.item != id || is_filed::<C>(table, &id, &one.submission).await? {
                kept.push(one);
            }
        }
        filed = kept;
        looked_at.insert(id);
    };
    if C::OWN_REPETITIONS_COUNT {
        for own in earlier.iter().filter(|earlier| earlier.is_own) {
            if !C::repeated(&item.content, std::slice::from_ref(own), from, version).is_one() {
                continue;
            }
            let Some(own_item) = read::<C>(table, &own.item).await? else {
                continue;
            };
            let decided = own_item.decision.as_ref().map(|decision| &decision.consensus);
            let is_elsewhere = own_item.round != item.round && parse_round(&own_item.round).1 != Stage::Post;
            if is_elsewhere && C::state(&own_item, decided).is_some() {
                repeated.counted_elsewhere = true;
                break;
            }
        }
    }
    Ok(repeated)
}

/// A text that is filed under a key, and the upload that has filed it.
struct UnderKey<C: Collection> {
    earlier: Earlier<C::Id>,
    submission: SubmissionId,
}

/// The texts with a key of `item`'s text that were uploaded before it, oldest first.
async fn before<C: Collection>(
    table: &Table,
    item: &Collected<C>,
    version: C::Version,
) -> Result<Vec<UnderKey<C>>, PortError> {
    let partitions = text_partitions::<C>(&item.content, version);
    let partitions: Vec<Partition> = partitions.into_iter().map(Partition::new).collect();
    let queries = partitions
        .iter()
        .map(|partition| table.query_first(partition, MOST_COMPARED));
    let (mut filed, place, id) = (BTreeMap::new(), item.place(), item.id.to_string());
    let same_time = format!("{}#", item.received_at);
    for row in try_join_all(queries).await?.concat() {
        let reader = Reader { item: &row };
        let at = reader.text("sk")?;
        let submission: SubmissionId = reader.parsed(SUBMISSION)?;
        let is_earlier = if at.starts_with(&same_time) {
            (&submission, number(&reader, "line")?) < (&item.submission, item.line)
        } else {
            at < place.as_str()
        };
        if is_earlier && reader.text(C::SPACE.item)? != id {
            let earlier = Earlier {
                item: reader.parsed(C::SPACE.item)?,
                text: C::comparable(reader.text(C::SPACE.text)?, version),
                is_own: reader.text("submitter")? == item.submitter,
            };
            filed.insert(at.to_owned(), UnderKey { earlier, submission });
        }
    }
    Ok(filed.into_values().collect())
}

/// Whether an item whose text is filed under its keys is filed, or may still be. A run files the
/// keys first. If it was interrupted after that, and its upload has ended without the item, nobody
/// will file it, and its text does not count as an earlier one.
async fn is_filed<C: Collection>(
    table: &Table,
    id: &C::Id,
    submission: &SubmissionId,
) -> Result<bool, PortError> {
    let key = || C::SPACE.item_key(&id.to_string());
    // another upload may have filed it later, under keys of its own
    let is_of_upload = |item: &Item| Ok(Reader { item }.text(SUBMISSION)? == submission.as_str());
    if let Some(item) = table.item(key()).await? {
        return is_of_upload(&item);
    }
    let submission = table.submission(C::SPACE.benchmark, submission).await?;
    if submission.is_some_and(|submission| submission.receipt.is_none()) {
        return Ok(true);
    }
    // it may have been filed just before its upload ended
    table.item(key()).await?.as_ref().map_or(Ok(false), is_of_upload)
}

/// The result of filing an item.
#[derive(Debug, PartialEq)]
pub enum Filed<C: Collection> {
    /// This upload and line has filed it.
    Here(Box<Collected<C>>),
    /// Another upload or line has filed it before.
    Before(Box<Collected<C>>),
}

/// Files an item, and puts it into the raters' queue if they are to judge it, unless it is there.
///
/// # Errors
/// [`PortError`].
pub async fn file<C: Collection>(table: &Table, item: &Collected<C>) -> Result<Filed<C>, PortError> {
    let mut own = Key::new(C::SPACE.own_partition(&item.submitter), item.place()).item();
    own.insert("schema".into(), count(SCHEMA.into()));
    own.insert(SUBMISSION.into(), text(item.submission.as_str()));
    own.insert(C::SPACE.item.into(), text(item.id.to_string()));
    let queued = C::is_judged(item).then(|| queued(item)).transpose()?;
    let written = written(item)?;
    let mut retry = Retry::new(item.describe());
    loop {
        let mut operations = vec![
            (ITEM, table.put(written.clone(), Some(Condition::new_item()))),
            (INDEX, table.put(own.clone(), None)),
        ];
        let others = queued.clone().into_iter().chain(C::other_keys(item));
        operations.extend(others.map(|item| (INDEX, table.put(item, None))));
        match table.transact(operations).await {
            Ok(()) => return Ok(Filed::Here(Box::new(item.clone()))),
            Err(Cancelled::Condition(_)) => match read::<C>(table, &item.id).await? {
                Some(there) => return Ok(filed(there, item)),
                None => retry.changed().await?,
            },
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// An item's place in the queue: what raters may know before they judge.
///
/// # Errors
/// [`PortError`].
pub(crate) fn queued<C: Collection>(item: &Collected<C>) -> Result<Item, PortError> {
    let mut queued = item.queue_key().item();
    queued.insert("schema".into(), count(SCHEMA.into()));
    queued.insert(C::SPACE.item.into(), text(item.id.to_string()));
    let shown = C::queued(item)?.into_iter();
    queued.extend(shown.map(|(name, value)| (name.to_owned(), value)));
    Ok(queued)
}

/// The result of filing where an item is there already: whether it is the one that was to be filed.
pub fn filed<C: Collection>(there: Collected<C>, item: &Collected<C>) -> Filed<C> {
    if (&there.submission, there.line) == (&item.submission, item.line) {
        Filed::Here(Box::new(there))
    } else {
        Filed::Before(Box::new(there))
    }
}

fn written<C: Collection>(item: &Collected<C>) -> Result<Item, PortError> {
    let (mut written, subject) = (item.key().item(), item.describe());
    written.insert("schema".into(), count(SCHEMA.into()));
    let id = item.id.to_string();
    let attributes = [
        ("status", UNJUDGED),
        ("submitter", &item.submitter),
        ("submission", item.submission.as_str()),
        ("round", &item.round),
        (C::SPACE.item, &id),
    ];
    written.extend(attributes.map(|(name, value)| (name.to_owned(), text(value))));
    written.insert("received_at".into(), text(item.received_at.to_string()));
    written.insert("said".into(), text(as_json(&subject, &item.content)?));
    written.insert("duplicate".into(), text(as_json(&subject, &item.duplicate)?));
    written.insert("dataset".into(), text(item.dataset.to_string()));
    written.insert("line".into(), count(item.line));
    written.insert("n_raters".into(), count(item.n_raters));
    written.insert("n_verdicts".into(), count(0));
    C::write(&item.more, &mut written)?;
    Ok(written)
}

/// Reads the current item; `None` if no item has this id.
///
/// # Errors
/// [`PortError`].
pub async fn read<C: Collection>(table: &Table, id: &C::Id) -> Result<Option<Collected<C>>, PortError> {
    let item = table.item(C::SPACE.item_key(&id.to_string())).await?;
    item.as_ref().map(of_item).transpose()
}

/// An item that was there before.
///
/// # Errors
/// [`PortError`]; also if it is gone.
pub(crate) async fn there<C: Collection>(table: &Table, id: &C::Id) -> Result<Collected<C>, PortError> {
    let item = read::<C>(table, id).await?;
    item.ok_or_else(|| PortError::Malformed {
        subject: C::SPACE.describe(&id.to_string()),
        why: "it was there and is gone".into(),
    })
}

fn number(reader: &Reader<'_>, name: &str) -> Result<u64, PortError> {
    let number = reader.number(name)?;
    number.ok_or_else(|| reader.malformed(format!("it has no number `{name}`")))
}

fn of_item<C: Collection>(item: &Item) -> Result<Collected<C>, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let is_judged = reader.text("status")? == JUDGED;
    Ok(Collected {
        id: reader.parsed(C::SPACE.item)?,
        submitter: reader.text("submitter")?.into(),
        submission: reader.parsed("submission")?,
        line: number(&reader, "line")?,
        received_at: reader.parsed("received_at")?,
        round: reader.text("round")?.into(),
        dataset: reader.parsed("dataset")?,
        content: parsed(&reader, "said")?,
        duplicate: parsed(&reader, "duplicate")?,
        n_raters: number(&reader, "n_raters")?,
        more: C::read(&reader)?,
        decision: is_judged.then(|| parsed(&reader, "decision")).transpose()?,
    })
}

/// The ids of a submitter's items, oldest first; at most `n`.
///
/// # Errors
/// [`PortError`].
pub async fn items_of<C: Collection>(
    table: &Table,
    submitter: &str,
    n: usize,
) -> Result<Vec<C::Id>, PortError> {
    let partition = Partition::new(C::SPACE.own_partition(submitter));
    let items = table.query_first(&partition, n).await?;
    items
        .iter()
        .map(|item| Reader { item }.parsed(C::SPACE.item))
        .collect()
}

/// The items of the raters' queue, oldest first.
///
/// # Errors
/// [`PortError`].
pub async fn queue<C: Collection>(table: &Table) -> Result<Vec<Item>, PortError> {
    table.query(&Partition::new(C::SPACE.queue_partition())).await
}
