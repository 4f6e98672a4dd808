//! Whom and what an organizer has disqualified.

use std::collections::BTreeSet;
use std::fmt;

/// A subject of a disqualification.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// All items of a submitter, and whatever the same person uploads.
    Submitter(String),
    /// All verdicts of a rater.
    Rater(String),
    /// One item.
    Item(String),
    /// One verdict: the item's id and the rater's name.
    Verdict(String, String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submitter(name) => write!(f, "submitter#{name}"),
            Self::Rater(name) => write!(f, "rater#{name}"),
            Self::Item(item) => write!(f, "item#{item}"),
            Self::Verdict(item, rater) => write!(f, "verdict#{item}#{rater}"),
        }
    }
}

/// Everything that is disqualified.
#[derive(Debug, Clone, Default)]
pub struct Disqualified(BTreeSet<String>);

impl Disqualified {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether somebody's items don't count.
    pub fn has_submitter(&self, name: &str) -> bool {
        self.0.contains(&Subject::Submitter(name.into()).to_string())
    }

    /// Whether somebody's verdicts don't count.
    pub fn has_rater(&self, name: &str) -> bool {
        self.0.contains(&Subject::Rater(name.into()).to_string())
    }

    /// Whether an item of a submitter's does not count.
    pub fn has_item(&self, item: &str, submitter: &str) -> bool {
        self.0.contains(&Subject::Item(item.into()).to_string()) || self.has_submitter(submitter)
    }

    /// Whether a rater's verdict on an item does not count.
    pub fn has_verdict(&self, item: &str, rater: &str) -> bool {
        self.0
            .contains(&Subject::Verdict(item.into(), rater.into()).to_string())
            || self.has_rater(rater)
    }
}

impl FromIterator<String> for Disqualified {
    /// Reads subjects in the form of `Display`.
    fn from_iter<T: IntoIterator<Item = String>>(subjects: T) -> Self {
        Self(subjects.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disqualifying_people_removes_their_items() {
        let subjects = [
            Subject::Submitter("ada".into()),
            Subject::Rater("rita".into()),
            Subject::Item("1".into()),
            Subject::Verdict("2".into(), "rosa".into()),
        ];
        let disqualified: Disqualified = subjects.iter().map(Subject::to_string).collect();
        assert!(
            disqualified.has_submitter("ada")
                && !disqualified.has_rater("ada")
                && disqualified.has_rater("rita")
        );
        assert!(
            disqualified.has_item("9", "ada")
                && disqualified.has_item("1", "bo")
                && !disqualified.has_item("9", "bo")
        );
        assert!(
            disqualified.has_verdict("2", "rosa")
                && disqualified.has_verdict("9", "rita")
                && !disqualified.has_verdict("9", "rosa")
        );
    }
}
