//! Label errors that are planted to see how many of them an audit finds.

use dataperf_baselines::random::Random;
use serde::Serialize;

use crate::labels::Doubt;

/// How many of the planted errors were found, and how many of the finds were planted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Planted errors.
    pub n_planted: usize,
    /// Labels that were flagged.
    pub n_flagged: usize,
    /// Planted errors among them.
    pub n_right: usize,
}

/// The labels with a share of them replaced by another class, drawn evenly among the others that occur; and which rows these are.
///
/// # Shapes and units
/// `labels`: `(n_items,)`; `share`: of the items, in `[0, 1]`.
pub fn plant(labels: &[usize], share: f64, seed: u32) -> (Vec<usize>, Vec<usize>) {
    let mut classes = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    let mut random = Random::new(seed);
    let n = if classes.len() < 2 {
        0
    } else {
        (share * labels.len() as f64).round() as usize
    };
    let mut rows = random.permutation(labels.len());
    rows.truncate(n);
    rows.sort_unstable();
    let mut planted = labels.to_vec();
    for &row in &rows {
        let others: Vec<usize> = classes
            .iter()
            .copied()
            .filter(|&class| class != labels[row])
            .collect();
        planted[row] = random.choose(&others, 1)[0];
    }
    (planted, rows)
}

/// How the doubts of one kind compare with the planted rows.
pub fn found<'a>(doubts: impl Iterator<Item = &'a Doubt>, planted: &[usize]) -> Found {
    let rows: Vec<usize> = doubts.map(|doubt| doubt.row).collect();
    Found {
        n_planted: planted.len(),
        n_flagged: rows.len(),
        n_right: rows
            .iter()
            .filter(|row| planted.binary_search(row).is_ok())
            .count(),
    }
}

impl Found {
    /// The share of the flagged labels that were planted; `None` where none was flagged.
    pub fn precision(self) -> Option<f64> {
        (self.n_flagged > 0).then(|| self.n_right as f64 / self.n_flagged as f64)
    }

    /// The share of the planted errors that were flagged; `None` where none was planted.
    pub fn recall(self) -> Option<f64> {
        (self.n_planted > 0).then(|| self.n_right as f64 / self.n_planted as f64)
    }
}

impl std::ops::AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.n_planted += other.n_planted;
        self.n_flagged += other.n_flagged;
        self.n_right += other.n_right;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_labels_becomes_another_class() {
        let labels: Vec<usize> = (0..200).map(|row| [0, 3, 4][row % 3]).collect();
        let (planted, rows) = plant(&labels, 0.05, 7);
        assert_eq!(rows.len(), 10);
        let changed: Vec<usize> = (0..200).filter(|&row| planted[row] != labels[row]).collect();
        assert_eq!(changed, rows);
        assert!(planted.iter().all(|label| [0, 3, 4].contains(label)));
        assert_eq!(plant(&labels, 0.05, 7).1, rows);
        assert_ne!(plant(&labels, 0.05, 8).1, rows);
        assert_eq!(plant(&[1; 9], 0.5, 0).1, Vec::<usize>::new());
    }
}
