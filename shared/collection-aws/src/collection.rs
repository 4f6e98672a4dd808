//! What a benchmark says of itself, so that its items can be kept and decided.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Descriptor;
use dataperf::challenge::Ranking;
use dataperf::dataset::{DatasetError, FrozenFiles};
use dataperf::ports::PortError;
use dataperf_aws::{Item, Reader, Table};
use dataperf_collection::Duplicate;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::items::{Collected, Score};
use crate::space::Space;

/// A benchmark that collects items, has validators judge them, and scores whoever has submitted them.
pub trait Collection: Sized + Debug + Clone + PartialEq + 'static {
    /// What its items are called in the table.
    const SPACE: Space;
    /// What it says to the platform.
    const DESCRIPTOR: &'static Descriptor;
    /// What stands on its boards.
    const RANKING: Ranking;
    /// The board whose round counts: a challenge has all of them in one.
    const BOARD: &'static str;
    /// Whether an item counts before it is decided, such as among those that were submitted.
    const COUNTS_UNDECIDED: bool;

    /// The name of an item.
    type Id: Clone + Debug + Display + FromStr<Err: Display> + Ord + Serialize + DeserializeOwned;
    /// What a line says of an item.
    type Said: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// What is known of an item beside it.
    type More: Clone + Debug + PartialEq;
    /// What one validator says of an item.
    type Verdict: Clone + Debug + Serialize + DeserializeOwned;
    /// What they say together.
    type Consensus: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// What a standing keeps of an item.
    type State: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// What the organizer has decided.
    type Configuration;
    /// Which rules the scores of a round follow.
    type Version: Copy;

    /// Reads what the organizer has decided from the files of a data set.
    fn configuration(files: &FrozenFiles) -> impl Future<Output = Result<Self::Configuration, DatasetError>>;

    /// The item that a verdict is about.
    fn judged(verdict: &Self::Verdict) -> &Self::Id;

    /// A verdict without what is for the organizer only.
    fn without_notes(verdict: &Self::Verdict) -> Self::Verdict;

    /// The text by which duplicates of an item are found.
    fn text(said: &Self::Said) -> &str;

    /// The keys by which duplicates are found: an item that has one in common is compared.
    fn keys(said: &Self::Said, version: Self::Version) -> Vec<String>;

    /// A text in the spelling in which it is compared.
    fn comparable(text: &str, version: Self::Version) -> String;

    /// From which similarity on texts are duplicates.
    fn near_duplicate_from(configuration: &Self::Configuration) -> f64;

    /// Writes what is known of an item beside what its line says.
    ///
    /// # Errors
    /// [`PortError`].
    fn write(more: &Self::More, item: &mut Item) -> Result<(), PortError>;

    /// Reads it.
    ///
    /// # Errors
    /// [`PortError`].
    fn read(reader: &Reader<'_>) -> Result<Self::More, PortError>;

    /// Whether validators are to judge an item at all.
    fn is_judged(item: &Collected<Self>) -> bool;

    /// What validators may know before they judge; attributes of the item's place in the queue.
    ///
    /// # Errors
    /// [`PortError`].
    fn queued(item: &Collected<Self>) -> Result<Vec<(&'static str, AttributeValue)>, PortError>;

    /// Other items that are written when this one is filed.
    fn filed_beside(item: &Collected<Self>) -> Vec<Item>;

    /// What the verdicts that count say together; `None` while they say nothing.
    fn consensus(
        item: &Collected<Self>,
        verdicts: &[Self::Verdict],
        configuration: &Self::Configuration,
    ) -> Option<Self::Consensus>;

    /// What a standing keeps of an item, by what was found of it; `None` for one that does not count.
    fn state(item: &Collected<Self>, found: Option<&Self::Consensus>) -> Option<Self::State>;

    /// The item of a state that was recorded before there were steps, where there are such.
    fn of_state(_state: &Self::State) -> Option<Self::Id> {
        None
    }

    /// The group of items whose standing an item belongs to.
    fn group(item: &Collected<Self>) -> String;

    /// Which rules the scores of a round follow.
    fn version(
        table: &Table,
        round: &str,
        configuration: &Self::Configuration,
    ) -> impl Future<Output = Result<Self::Version, PortError>>;

    /// The scores of a group of items, to which `item` belongs, of the states that count. `had_one` says whether there was one
    /// before, which may be disqualified now.
    ///
    /// # Errors
    /// Why there are none.
    fn scores(
        item: &Collected<Self>,
        states: &[&Self::State],
        had_one: bool,
        configuration: &Self::Configuration,
        version: Self::Version,
    ) -> Result<Vec<Score>, String>;

    /// What a text repeats among earlier ones.
    fn repeated(
        said: &Self::Said,
        earlier: &[dataperf_collection::Earlier<Self::Id>],
        from: f64,
        version: Self::Version,
    ) -> Duplicate<Self::Id> {
        Duplicate::among(&Self::comparable(Self::text(said), version), earlier, from)
    }
}
