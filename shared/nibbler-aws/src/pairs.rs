//! Pairs in the table: each with its annotations, the keys by which others find that they repeat it, and its place in the
//! raters' queue, which says nothing of whose it is.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::ports::PortError;
use dataperf::{Digest, SubmissionId, Timestamp};
use dataperf_aws::{
    Cancelled, Condition, Item, Key, Operation, Partition, Reader, Retry, SCHEMA, Step, Table, count, text,
};
use dataperf_nibbler::duplicates::{self, Earlier};
use dataperf_nibbler::{BENCHMARK, Consensus, Duplicate, Embedding, PairId, Scoring, Submission};
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

const PAIR: Step = Step::Named("pair");
const INDEX: Step = Step::Named("index");
/// Whoever has more in common than so many is a duplicate of one of the first anyway.
const MOST_COMPARED: usize = 200;
/// While raters have not decided.
pub(crate) const UNJUDGED: &str = "unjudged";
/// Once they have.
pub(crate) const JUDGED: &str = "judged";

/// A pair as it was submitted, and what has become of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Its id.
    pub id: PairId,
    /// Whose it is.
    pub submitter: String,
    /// The upload that brought it.
    pub submission: SubmissionId,
    /// The line of that upload.
    pub line: u64,
    /// When that was uploaded.
    pub received_at: Timestamp,
    /// The round it counts in.
    pub round: String,
    /// The prompt, the image and the annotations.
    pub said: Submission,
    /// Whether it repeats an earlier one.
    pub duplicate: Duplicate,
    /// The prompt's vector.
    pub embedding: Embedding,
    /// How many raters judge it.
    pub n_raters: u64,
    /// Who made the image, and by which model: the organizer's to know.
    pub origin: (String, String),
    /// What the raters found, once they have decided.
    pub decision: Option<Decision>,
}

/// What the raters found of a pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What most of them say.
    pub consensus: Consensus,
    /// The 1-based number of this decision among those about the submitter's pairs in the round.
    pub edition: u64,
    /// When; later for each edition.
    pub at: Timestamp,
    /// The data set whose rules it follows.
    pub dataset: Digest,
}

/// A score of a submitter after a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The board.
    pub board: String,
    /// The score.
    pub score: f64,
    /// Its parts.
    pub metrics: BTreeMap<String, serde_json::Value>,
}

/// The benchmark's folder in the results bucket with the images that raters may read.
pub const PAIR_IMAGES: &str = "pairs";

/// Where the copy of a pair's image is that raters may read, in the results bucket.
pub fn pair_image_key(pair: &PairId) -> String {
    format!("{BENCHMARK}/{PAIR_IMAGES}/{pair}.png")
}

pub(crate) fn pair_partition(pair: &PairId) -> String {
    format!("{BENCHMARK}#pair#{pair}")
}

pub(crate) fn key(pair: &PairId) -> Key {
    Key::new(pair_partition(pair), "pair")
}

pub(crate) fn queue_partition() -> String {
    format!("{BENCHMARK}#unjudged")
}

pub(crate) fn queue_key(pair: &Pair) -> Key {
    Key::new(queue_partition(), place(pair))
}

fn own_partition(submitter: &str) -> String {
    format!("{BENCHMARK}#pairs#{submitter}")
}

/// Time, then id.
fn place(pair: &Pair) -> String {
    format!("{}#{}", pair.received_at, pair.id)
}

fn prompt_partitions(prompt: &str, scoring: Scoring) -> Vec<String> {
    let keys = duplicates::keys(prompt, scoring);
    let exact = std::iter::once(format!("{BENCHMARK}#prompt#exact-{}", keys.exact));
    let bands = keys.bands.iter().map(|band| format!("{BENCHMARK}#prompt#{band}"));
    exact.chain(bands).collect()
}

fn json<T: Serialize>(what: &PairId, value: &T) -> Result<AttributeValue, PortError> {
    let json = serde_json::to_string(value).map_err(|error| PortError::Malformed {
        what: format!("pair `{what}`"),
        why: error.to_string(),
    })?;
    Ok(text(json))
}

/// Reads a member that is JSON.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(
    reader: &Reader<'_>,
    name: &str,
) -> Result<T, PortError> {
    serde_json::from_str(reader.text(name)?).map_err(|error| reader.malformed(format!("`{name}`: {error}")))
}

/// Files the prompt under its keys, so that every later pair finds it. Before anything is decided: of two at once at least
/// the later one sees the other.
pub(crate) async fn index(table: &Table, pair: &Pair, scoring: Scoring) -> Result<(), PortError> {
    let put = |partition: String| {
        let mut item = Key::new(partition, place(pair)).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("pair".into(), text(pair.id.as_str()));
        item.insert("submitter".into(), text(&pair.submitter));
        item.insert("prompt".into(), text(&pair.said.prompt));
        (INDEX, table.put(item, None))
    };
    let operations: Vec<Operation> = prompt_partitions(&pair.said.prompt, scoring)
        .into_iter()
        .map(put)
        .collect();
    let mut retry = Retry::of(format!("pair `{}`", pair.id));
    loop {
        match table.transact(operations.clone()).await {
            Ok(()) => return Ok(()),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// What a pair repeats of the pairs that were uploaded before it, whichever were processed first.
pub(crate) async fn duplicate(
    table: &Table,
    pair: &Pair,
    from: f64,
    scoring: Scoring,
) -> Result<Duplicate, PortError> {
    let partitions = prompt_partitions(&pair.said.prompt, scoring);
    let partitions: Vec<Partition> = partitions.into_iter().map(Partition::of).collect();
    let queries = partitions
        .iter()
        .map(|partition| table.query_first(partition, MOST_COMPARED));
    let mut earlier = BTreeMap::new();
    for item in try_join_all(queries).await?.concat() {
        let reader = Reader { item: &item };
        let at = reader.text("sk")?;
        if at < place(pair).as_str() && reader.text("pair")? != pair.id.as_str() {
            let found = Earlier {
                item: reader.parsed("pair")?,
                text: duplicates::comparable(reader.text("prompt")?, scoring),
                is_own: reader.text("submitter")? == pair.submitter,
            };
            earlier.insert(at.to_owned(), found);
        }
    }
    let earlier: Vec<Earlier> = earlier.into_values().collect();
    Ok(duplicates::repeated(&pair.said.prompt, &earlier, from, scoring))
}

/// What came of filing a pair.
#[derive(Debug, PartialEq)]
pub(crate) enum Filed {
    /// It is there, by this upload and line.
    Here(Box<Pair>),
    /// Another upload or line was before.
    Before(Box<Pair>),
}

/// Files a pair and puts it into the raters' queue, unless it is there.
pub(crate) async fn file(table: &Table, pair: &Pair) -> Result<Filed, PortError> {
    let mut own = Key::new(own_partition(&pair.submitter), place(pair)).item();
    own.insert("schema".into(), count(SCHEMA.into()));
    own.insert("pair".into(), text(pair.id.as_str()));
    let queued = queued(pair)?;
    let item = item(pair)?;
    let mut retry = Retry::of(format!("pair `{}`", pair.id));
    loop {
        let operations = vec![
            (PAIR, table.put(item.clone(), Some(Condition::new_item()))),
            (INDEX, table.put(own.clone(), None)),
            (INDEX, table.put(queued.clone(), None)),
        ];
        match table.transact(operations).await {
            Ok(()) => return Ok(Filed::Here(Box::new(pair.clone()))),
            Err(Cancelled::Condition(_)) => match read(table, &pair.id).await? {
                Some(there) => return Ok(filed(there, pair)),
                None => retry.changed().await?,
            },
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// A pair's place in the raters' queue: what they may know before they judge.
pub(crate) fn queued(pair: &Pair) -> Result<Item, PortError> {
    let said = Said {
        attacks: pair.said.attacks.clone(),
        identity_groups: pair.said.identity_groups.clone(),
    };
    let mut item = queue_key(pair).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("pair".into(), text(pair.id.as_str()));
    item.insert("prompt".into(), text(&pair.said.prompt));
    item.insert("image".into(), text(pair_image_key(&pair.id)));
    item.insert("said".into(), json(&pair.id, &said)?);
    Ok(item)
}

/// Whether the pair that is there is the one that was to be filed.
pub(crate) fn filed(there: Pair, pair: &Pair) -> Filed {
    if (&there.submission, there.line) == (&pair.submission, pair.line) {
        Filed::Here(Box::new(there))
    } else {
        Filed::Before(Box::new(there))
    }
}

fn item(pair: &Pair) -> Result<Item, PortError> {
    let mut item = key(&pair.id).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    let attributes = [
        ("status", UNJUDGED),
        ("submitter", &pair.submitter),
        ("submission", pair.submission.as_str()),
        ("round", &pair.round),
        ("provider", &pair.origin.0),
        ("model", &pair.origin.1),
        ("pair", pair.id.as_str()),
    ];
    item.extend(attributes.map(|(name, value)| (name.to_owned(), text(value))));
    item.insert("received_at".into(), text(pair.received_at.to_string()));
    item.insert("said".into(), json(&pair.id, &pair.said)?);
    item.insert("duplicate".into(), json(&pair.id, &pair.duplicate)?);
    item.insert(
        "embedding".into(),
        AttributeValue::B(Blob::new(pair.embedding.to_bytes())),
    );
    item.insert("line".into(), count(pair.line));
    item.insert("n_raters".into(), count(pair.n_raters));
    item.insert("n_verdicts".into(), count(0));
    Ok(item)
}

/// A pair as it is; `None` when there is none of this id.
///
/// # Errors
/// [`PortError`].
pub async fn read(table: &Table, id: &PairId) -> Result<Option<Pair>, PortError> {
    table.item(key(id)).await?.as_ref().map(of_item).transpose()
}

fn of_item(item: &Item) -> Result<Pair, PortError> {
    let reader = Reader { item };
    reader.schema()?;
    let embedding = item.get("embedding").and_then(|value| value.as_b().ok());
    let embedding = embedding.and_then(|blob| Embedding::from_bytes(blob.as_ref()));
    let number = |name| {
        let number: Option<u64> = reader.number(name)?;
        number.ok_or_else(|| reader.malformed(format!("it has no number `{name}`")))
    };
    let is_judged = reader.text("status")? == JUDGED;
    Ok(Pair {
        id: reader.parsed("pair")?,
        submitter: reader.text("submitter")?.into(),
        submission: reader.parsed("submission")?,
        line: number("line")?,
        received_at: reader.parsed("received_at")?,
        round: reader.text("round")?.into(),
        said: parsed(&reader, "said")?,
        duplicate: parsed(&reader, "duplicate")?,
        embedding: embedding.ok_or_else(|| reader.malformed("it has no `embedding`".into()))?,
        n_raters: number("n_raters")?,
        origin: (reader.text("provider")?.into(), reader.text("model")?.into()),
        decision: is_judged.then(|| parsed(&reader, "decision")).transpose()?,
    })
}

/// The ids of a submitter's pairs, oldest first; at most `n`.
///
/// # Errors
/// [`PortError`].
pub async fn pairs_of(table: &Table, submitter: &str, n: usize) -> Result<Vec<PairId>, PortError> {
    let partition = Partition::of(own_partition(submitter));
    let items = table.query_first(&partition, n).await?;
    items.iter().map(|item| Reader { item }.parsed("pair")).collect()
}

/// What the submitter says of a pair that raters confirm, or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// How the prompt gets around filters.
    pub attacks: Vec<String>,
    /// Whom the image concerns.
    pub identity_groups: Vec<String>,
}

/// A pair as raters see it before they judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Its id, which says nothing of whose it is.
    pub pair: PairId,
    /// The prompt.
    pub prompt: String,
    /// Where the image is in the results bucket.
    pub image: String,
    /// What raters confirm, or not.
    pub said: Said,
}

/// The raters' queue, oldest first.
///
/// # Errors
/// [`PortError`].
pub async fn unjudged(table: &Table) -> Result<Vec<Unjudged>, PortError> {
    let items = table.query(&Partition::of(queue_partition())).await?;
    let one = |item: &Item| {
        let reader = Reader { item };
        Ok(Unjudged {
            pair: reader.parsed("pair")?,
            prompt: reader.text("prompt")?.into(),
            image: reader.text("image")?.into(),
            // a pair that was queued before raters confirmed anything has none
            said: if item.contains_key("said") {
                parsed(&reader, "said")?
            } else {
                Said::default()
            },
        })
    };
    items.iter().map(one).collect()
}
