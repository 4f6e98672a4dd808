//! A submitter's progress: what follows from numbered steps, each of which has changed one item.

use std::collections::BTreeMap;

use dataperf::Timestamp;

/// A submitter's progress in a round, after some steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress<I, T> {
    /// The number of the last step; 0 before the first.
    pub edition: u64,
    /// The time of the last step; `None` before the first.
    pub at: Option<Timestamp>,
    /// The items that raters have validated.
    pub validated: BTreeMap<I, T>,
}

impl<I, T> Default for Progress<I, T> {
    fn default() -> Self {
        Self {
            edition: 0,
            at: None,
            validated: BTreeMap::new(),
        }
    }
}

impl<I: Ord, T> Progress<I, T> {
    /// Applies a step: `validated` is what it leaves of the item, `None` where the item is not validated, or no longer.
    pub fn change(&mut self, item: I, validated: Option<T>) {
        match validated {
            Some(validated) => drop(self.validated.insert(item, validated)),
            None => drop(self.validated.remove(&item)),
        }
    }

    /// The earliest time of the next step. It is later than the last one, whatever the clocks say, because the latest score counts.
    pub fn next_at(&self, now: Timestamp) -> Timestamp {
        let after = self.at.map_or(0, |at| at.unix_millis() + 1);
        Timestamp::from_unix_millis(now.unix_millis().max(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_per_item_counts() {
        let mut standing: Progress<&str, u8> = Progress::default();
        standing.change("a", Some(1));
        standing.change("b", Some(2));
        standing.change("a", None);
        standing.change("b", Some(3));
        assert_eq!(standing.validated, BTreeMap::from([("b", 3)]));
        let at = Timestamp::from_unix_millis;
        assert_eq!(standing.next_at(at(7)), at(7));
        standing.at = Some(at(9));
        assert_eq!(
            (standing.next_at(at(7)), standing.next_at(at(12))),
            (at(10), at(12))
        );
    }
}
