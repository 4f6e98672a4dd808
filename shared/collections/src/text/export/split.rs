//! Which part of a data set an annotator's examples are in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A part of a round's data set. No annotator is in two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// The next models are trained on it.
    Train,
    /// Their parameters are chosen by it.
    Dev,
    /// Models are compared by it.
    Test,
}

impl Split {
    /// All of them, with the share of the verified fooling examples that each is to have.
    pub const ALL: [(Self, f64); 3] = [(Self::Train, 0.8), (Self::Test, 0.1), (Self::Dev, 0.1)];

    /// The word for it, and the name of its files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Dev => "dev",
            Self::Test => "test",
        }
    }
}

/// The part of each annotator; `n_verified` says how many of their examples could be in a dev or test set. Annotators with a part in `earlier` stay
/// there, and those without a verified example are in the train set. The others follow, largest numbers first and by pseudonym where these are equal:
/// each goes into the part that lacks the most examples, the last ones into parts that would have nobody.
pub fn splits(
    n_verified: &BTreeMap<String, usize>,
    earlier: &BTreeMap<String, Split>,
) -> BTreeMap<String, Split> {
    let mut parts = Parts::new(n_verified.values().sum());
    let mut splits: BTreeMap<String, Split> = BTreeMap::new();
    let mut others: Vec<(&String, usize)> = Vec::new();
    for (name, &n) in n_verified {
        match earlier.get(name) {
            Some(&split) => {
                parts.add(split, n);
                splits.insert(name.clone(), split);
            }
            None if n == 0 => drop(splits.insert(name.clone(), Split::Train)),
            None => others.push((name, n)),
        }
    }
    others.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    for (idx, (name, n)) in others.iter().enumerate() {
        let split = parts.next(others.len() - idx);
        parts.add(split, *n);
        splits.insert((*name).clone(), split);
    }
    splits
}

/// How many examples each part still lacks, and whether it is empty; parts that lack equally many are filled in this order.
struct Parts([(Split, f64, bool); 3]);

impl Parts {
    fn new(total: usize) -> Self {
        let lacking = |(split, share): (Split, f64)| (split, share * total as f64, true);
        Self(Split::ALL.map(lacking))
    }

    fn add(&mut self, split: Split, n: usize) {
        for (_, lacks, is_empty) in self.0.iter_mut().filter(|(other, ..)| *other == split) {
            *lacks -= n as f64;
            *is_empty = *is_empty && n == 0;
        }
    }

    /// The part of the next annotator, where `n_left` annotators are left, including this one.
    fn next(&self, n_left: usize) -> Split {
        let empty: Vec<Split> = self
            .0
            .iter()
            .filter(|(_, _, is_empty)| *is_empty)
            .map(|&(split, ..)| split)
            .collect();
        if let Some(&first) = empty.first().filter(|_| n_left <= empty.len()) {
            return first;
        }
        let parts = self.0.iter().copied();
        let most = parts.reduce(|best, other| if other.1 > best.1 { other } else { best });
        most.map_or(Split::Train, |(split, ..)| split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(numbers: &[usize], earlier: &[(usize, Split)]) -> Vec<Split> {
        let name = |idx: usize| format!("annotator-{idx:02}");
        let numbers: BTreeMap<String, usize> = numbers
            .iter()
            .enumerate()
            .map(|(idx, &n)| (name(idx), n))
            .collect();
        let earlier = earlier.iter().map(|&(idx, split)| (name(idx), split)).collect();
        splits(&numbers, &earlier).into_values().collect()
    }

    #[test]
    fn annotators_fill_the_emptiest_part_and_stay_there() {
        use Split::{Dev, Test, Train};
        let equal = split(&[10; 10], &[]);
        assert_eq!(equal.iter().filter(|&&split| split == Train).count(), 8);
        assert!(equal.contains(&Dev) && equal.contains(&Test));
        // a prolific annotator does not fill a test set alone
        assert_eq!(split(&[50, 5, 5, 0], &[]), [Train, Test, Dev, Train]);
        assert_eq!(split(&[50, 5, 5, 7], &[(0, Test)]), [Test, Train, Dev, Train]);
        // few annotators fill all parts before any is filled twice
        assert_eq!(split(&[10; 5], &[]), [Train, Train, Train, Test, Dev]);
        assert_eq!(
            (split(&[3], &[]), split(&[3, 4], &[])),
            (vec![Train], vec![Test, Train])
        );
        assert!(split(&[], &[]).is_empty());
    }
}
