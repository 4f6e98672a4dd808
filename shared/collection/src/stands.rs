//! How a submitter stands: what follows from numbered steps, each of which has changed one item.

use std::collections::BTreeMap;

use dataperf::Timestamp;

/// How a submitter stands in a round, after some steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Stands<I, T> {
    /// The number of the last step; 0 before the first.
    pub edition: u64,
    /// The time of the last step; `None` before the first.
    pub at: Option<Timestamp>,
    /// The items that raters have validated.
    pub validated: BTreeMap<I, T>,
}

impl<I, T> Default for Stands<I, T> {
    fn default() -> Self {
        Self {
            edition: 0,
            at: None,
            validated: BTreeMap::new(),
        }
    }
}

impl<I: Ord, T> Stands<I, T> {
    /// Applies a step: `validated` is what it leaves of the item, `None` where the item is not validated, or no longer.
    pub fn change(&mut self, item: I, validated: Option<T>) {
        match validated {
            Some(validated) => drop(self.validated.insert(item, validated)),
            None => drop(self.validated.remove(&item)),
        }
    }

    /// The earliest time of the next step. It is later than the last one, whatever the clocks say, because the latest score stands.
    pub fn next_at(&self, now: Timestamp) -> Timestamp {
        let after = self.at.map_or(0, |at| at.unix_millis() + 1);
        Timestamp::from_unix_millis(now.unix_millis().max(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_about_an_item_counts_and_time_goes_on() {
        let mut stands: Stands<&str, u8> = Stands::default();
        stands.change("a", Some(1));
        stands.change("b", Some(2));
        stands.change("a", None);
        stands.change("b", Some(3));
        assert_eq!(stands.validated, BTreeMap::from([("b", 3)]));
        let at = Timestamp::from_unix_millis;
        assert_eq!(stands.next_at(at(7)), at(7));
        stands.at = Some(at(9));
        assert_eq!((stands.next_at(at(7)), stands.next_at(at(12))), (at(10), at(12)));
    }
}
