//! Whom and what an organizer has disqualified.

use std::collections::BTreeSet;
use std::fmt;

/// What can be disqualified.
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
    /// Takes subjects in their written form, that of `Display`.
    fn from_iter<T: IntoIterator<Item = String>>(subjects: T) -> Self {
        Self(subjects.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_people_goes_what_is_theirs() {
        let subjects = [
            Subject::Submitter("ada".into()),
            Subject::Rater("rita".into()),
            Subject::Item("1".into()),
            Subject::Verdict("2".into(), "rosa".into()),
        ];
        let found: Disqualified = subjects.iter().map(Subject::to_string).collect();
        assert!(found.has_submitter("ada") && !found.has_rater("ada") && found.has_rater("rita"));
        assert!(found.has_item("9", "ada") && found.has_item("1", "bo") && !found.has_item("9", "bo"));
        assert!(
            found.has_verdict("2", "rosa")
                && found.has_verdict("9", "rita")
                && !found.has_verdict("9", "rosa")
        );
    }
}
