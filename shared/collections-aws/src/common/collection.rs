//! A collection's description for this crate, by which items are stored and decided, and the type
//! of an item.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::challenge::Ranking;
use dataperf::dataset::{DatasetError, FrozenFiles};
use dataperf::ports::PortError;
use dataperf::{Descriptor, Digest, SubmissionId, Timestamp};
use dataperf_aws::{Item, Key, Reader, Table};
use dataperf_collections::common::Duplicate;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::space::Space;

/// The receipt's facts about an upload besides its lines.
pub type Notes = BTreeMap<String, Value>;

/// A hosted collection: people submit items, raters judge them, and submitters get scores.
pub trait Collection: Sized + Debug + Clone + PartialEq + 'static {
    /// The words for its items in the table.
    const SPACE: Space;
    /// Its descriptor, which the platform reads.
    const DESCRIPTOR: &'static Descriptor;
    /// Which of a submitter's scores its boards show.
    const RANKING: Ranking;
    /// The board whose round counts: a challenge has all of its boards in one round.
    const BOARD: &'static str;
    /// Whether an item counts before it is decided, such as among those that were submitted.
    const COUNTS_UNDECIDED: bool;
    /// Whether an item that repeats an earlier one of the same submitter may count. If so, its
    /// function has to check whether the earlier one counts in another round.
    const OWN_REPETITIONS_COUNT: bool = false;
    /// The place where people troubled by content find help; receipts and guides name it.
    const WELL_BEING: &'static str;
    /// The member of the secret that pseudonyms are made with.
    const PSEUDONYMS: &'static str;

    /// The name of an item.
    type Id: Clone + Debug + Display + FromStr<Err: Display> + Ord + Serialize + DeserializeOwned;
    /// The content of an item's line.
    type Content: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// The facts about an item besides its line.
    type More: Clone + Debug + PartialEq;
    /// One rater's verdict on an item.
    type Verdict: Clone + Debug + Serialize + DeserializeOwned;
    /// The raters' consensus on an item.
    type Consensus: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// The part of an item that a standing stores.
    type State: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// The organizer's configuration.
    type Configuration;
    /// The version of the rules that the scores of a round follow.
    type Version: Copy;

    /// Reads what the organizer has decided from the files of a data set.
    fn configuration(files: &FrozenFiles) -> impl Future<Output = Result<Self::Configuration, DatasetError>>;

    /// The boards on which a submitter can have scores: all that the collection has.
    fn boards() -> &'static [&'static str] {
        let fixed = Self::DESCRIPTOR.fixed.as_ref();
        fixed.map(|fixed| fixed.leaderboards).unwrap_or_default()
    }

    /// The item that a verdict is about.
    fn judged(verdict: &Self::Verdict) -> &Self::Id;

    /// A verdict without what is for the organizer only.
    fn without_notes(verdict: &Self::Verdict) -> Self::Verdict;

    /// The text by which duplicates of an item are found.
    fn text(content: &Self::Content) -> &str;

    /// The keys by which duplicates are found: items that have one in common are compared.
    fn keys(content: &Self::Content, version: Self::Version) -> Vec<String>;

    /// A text in the spelling in which it is compared.
    fn comparable(text: &str, version: Self::Version) -> String;

    /// The least similarity of two texts that are near duplicates.
    fn near_duplicate_from(configuration: &Self::Configuration) -> f64;

    /// Writes the facts about an item besides its line.
    ///
    /// # Errors
    /// [`PortError`].
    fn write(more: &Self::More, item: &mut Item) -> Result<(), PortError>;

    /// Reads what [`write`](Self::write) has written.
    ///
    /// # Errors
    /// [`PortError`].
    fn read(reader: &Reader<'_>) -> Result<Self::More, PortError>;

    /// Whether raters are to judge an item at all.
    fn is_judged(item: &Collected<Self>) -> bool;

    /// The facts that raters may see before they judge, as attributes of an item's place in the
    /// queue.
    ///
    /// # Errors
    /// [`PortError`].
    fn queued(item: &Collected<Self>) -> Result<Vec<(&'static str, AttributeValue)>, PortError>;

    /// Other items that are written when this one is filed.
    fn other_keys(item: &Collected<Self>) -> Vec<Item>;

    /// The consensus of the counted verdicts; `None` if there is none.
    fn consensus(
        item: &Collected<Self>,
        verdicts: &[Self::Verdict],
        configuration: &Self::Configuration,
    ) -> Option<Self::Consensus>;

    /// The part of an item that a standing stores, given the consensus; `None` if the item does not
    /// count.
    fn state(item: &Collected<Self>, consensus: Option<&Self::Consensus>) -> Option<Self::State>;

    /// The group of items whose standing an item belongs to.
    fn group(item: &Collected<Self>) -> String;

    /// The version of the rules that the scores of a round follow.
    fn version(
        table: &Table,
        round: &str,
        configuration: &Self::Configuration,
    ) -> impl Future<Output = Result<Self::Version, PortError>>;

    /// The scores of the group of items to which `item` belongs, made of the states that count. `had_one` says whether an item of the group counted
    /// before, which may be disqualified now.
    ///
    /// # Errors
    /// The reason why there are no scores.
    fn scores(
        item: &Collected<Self>,
        states: &[&Self::State],
        had_one: bool,
        configuration: &Self::Configuration,
        version: Self::Version,
    ) -> Result<Vec<Score>, String>;

    /// The earlier text that a text repeats.
    fn repeated(
        message: &Self::Content,
        earlier: &[dataperf_collections::common::Earlier<Self::Id>],
        from: f64,
        version: Self::Version,
    ) -> Duplicate<Self::Id> {
        Duplicate::among(&Self::comparable(Self::text(message), version), earlier, from)
    }
}

/// An item as it was submitted, and what has become of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected<C: Collection> {
    /// Its id.
    pub id: C::Id,
    /// The submitter.
    pub submitter: String,
    /// The upload that brought it.
    pub submission: SubmissionId,
    /// The line of that upload.
    pub line: u64,
    /// When that upload was stored.
    pub received_at: Timestamp,
    /// The round it counts in.
    pub round: String,
    /// The data set whose rules apply to it.
    pub dataset: Digest,
    /// The content of its line.
    pub content: C::Content,
    /// Whether it repeats an earlier one.
    pub duplicate: Duplicate<C::Id>,
    /// How many raters judge it at most.
    pub n_raters: u64,
    /// Facts besides its line.
    pub more: C::More,
    /// The decision, once there is one.
    pub decision: Option<Decision<C::Consensus>>,
}

/// The decision on an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision<T> {
    /// The raters' consensus, or the organizer's decision.
    pub consensus: T,
    /// The 1-based number of this decision among those about the submitter's items in the round.
    pub edition: u64,
    /// When it was made; later for each edition.
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
    pub metrics: BTreeMap<String, Value>,
}

impl<C: Collection> Collected<C> {
    /// Its sort key in lists: the time, then the id. Which of two texts of the same time is earlier follows from their uploads and lines.
    pub fn place(&self) -> String {
        format!("{}#{}", self.received_at, self.id)
    }

    /// How a receipt's line says that it repeats another, if it does. Which item of another
    /// submitter it repeats is hidden.
    pub fn duplicate_detail(&self) -> Option<(String, Value)> {
        let duplicate = &self.duplicate;
        let author = if duplicate.is_own { "own" } else { "another's" };
        let how = if duplicate.is_exact { "exact" } else { "near" };
        let first = duplicate.of.as_ref().filter(|_| duplicate.is_own);
        let detail = json!({ "how": how, "whose": author, C::SPACE.item: first });
        duplicate.is_one().then(|| ("duplicate".to_owned(), detail))
    }

    /// Its name in errors.
    pub fn describe(&self) -> String {
        C::SPACE.describe(&self.id.to_string())
    }

    /// Its key in the table.
    pub fn key(&self) -> Key {
        C::SPACE.item_key(&self.id.to_string())
    }

    /// Its place in the raters' queue.
    pub fn queue_key(&self) -> Key {
        Key::new(C::SPACE.queue_partition(), self.place())
    }
}
