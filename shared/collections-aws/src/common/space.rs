//! The names of a collection's items in the table.

use dataperf_aws::Key;

/// The words of which the keys of a collection's items are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The collection's id, with which every partition begins.
    pub benchmark: &'static str,
    /// The name of one collected item, such as `pair`.
    pub item: &'static str,
    /// The word for the text by which an item's duplicates are found, such as `prompt`.
    pub text: &'static str,
    /// The attribute of a step that holds what a standing keeps of an item.
    pub state: &'static str,
}

impl Space {
    /// The partition of an item and its verdicts.
    pub fn item_partition(&self, id: &str) -> String {
        format!("{}#{}#{id}", self.benchmark, self.item)
    }

    /// The key of an item.
    pub fn item_key(&self, id: &str) -> Key {
        Key::new(self.item_partition(id), self.item)
    }

    /// The list of a submitter's items.
    pub fn own_partition(&self, submitter: &str) -> String {
        format!("{}#{}s#{submitter}", self.benchmark, self.item)
    }

    /// The partition of the texts that share a key of duplicates.
    pub fn text_partition(&self, key: &str) -> String {
        format!("{}#{}#{key}", self.benchmark, self.text)
    }

    /// The raters' queue.
    pub fn queue_partition(&self) -> String {
        format!("{}#unjudged", self.benchmark)
    }

    /// The partition of a rater: the role, and a mark for each item that the rater has judged.
    pub fn rater_partition(&self, rater: &str) -> String {
        format!("{}#rater#{rater}", self.benchmark)
    }

    /// The partition of a standing: the log of steps of a group of items.
    pub fn standing_partition(&self, group: &str) -> String {
        format!("{}#standing#{group}", self.benchmark)
    }

    /// The partition of a round's verdicts, from which its agreement is computed.
    pub fn agreement_partition(&self, round: &str) -> String {
        format!("{}#agreement#{round}", self.benchmark)
    }

    /// The partition of disqualifications.
    pub fn disqualified_partition(&self) -> String {
        format!("{}#disqualified", self.benchmark)
    }

    /// The name of an item in errors.
    pub fn describe(&self, id: &str) -> String {
        format!("{} `{id}`", self.item)
    }
}
