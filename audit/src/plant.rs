//! Label errors that are planted to see how many of them an audit finds.

use dataperf_baselines::random::Random;
use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;

use crate::labels::{AuditError, Doubt, predicted_by_both};

/// How many of the planted errors were found, and how many of the finds were planted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DetectionCounts {
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

/// The labels with a share of them replaced by the class that both learners together hold for the next likely one, on items that are
/// hard: those that are drawn from the twice as many whose given class has the smallest lead. So people err, and so wrong labels are harder
/// to find than those that are drawn evenly. And which rows these are.
///
/// # Shapes and units
/// `rows`: `(n_items, n_features)`, finite; `labels`: `(n_items,)`, below `n_classes`; `share`: of the items, in `[0, 0.5]`.
///
/// # Errors
/// [`AuditError`] when there is too little to learn from, or a learner fails.
pub fn plant_hard(
    rows: ArrayView2<f64>,
    labels: &[usize],
    n_classes: usize,
    share: f64,
    seed: u32,
) -> Result<(Vec<usize>, Vec<usize>), AuditError> {
    let predicted = predicted_by_both(rows, labels, n_classes)?;
    let runner_up = |row: usize| {
        let others = (0..n_classes).filter(|&class| class != labels[row]);
        others.max_by(|&one, &other| predicted[[row, one]].total_cmp(&predicted[[row, other]]))
    };
    let lead = |row: usize| {
        let next = runner_up(row).map_or(0.0, |next| predicted[[row, next]]);
        predicted[[row, labels[row]]] - next
    };
    let mut hard: Vec<usize> = (0..labels.len()).collect();
    hard.sort_by(|&one, &other| lead(one).total_cmp(&lead(other)));
    let n = (share * labels.len() as f64).round() as usize;
    hard.truncate(2 * n);
    let mut rows = Random::new(seed).choose(&hard, n);
    rows.sort_unstable();
    let mut planted = labels.to_vec();
    for &row in &rows {
        planted[row] = runner_up(row).unwrap_or(labels[row]);
    }
    Ok((planted, rows))
}

/// Copies of `n` rows, drawn by chance, with normal noise in each column: a share of the column's standard deviation. And which rows
/// were copied.
///
/// # Shapes and units
/// `rows`: `(n_items, n_features)`, finite.
pub fn copies(rows: ArrayView2<f64>, n: usize, noise: f64, seed: u32) -> (Array2<f64>, Vec<usize>) {
    let mut random = Random::new(seed);
    let copied = random.choose(&(0..rows.nrows()).collect::<Vec<_>>(), n);
    let deviations = rows.std_axis(Axis(0), 0.0);
    let mut uniform = || (random.below(1 << 24) as f64 + 0.5) / f64::from(1 << 24);
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let mut noisy = rows.select(Axis(0), &copied);
    for mut row in noisy.outer_iter_mut() {
        row.iter_mut()
            .zip(&deviations)
            .for_each(|(number, deviation)| *number += noise * deviation * normal());
    }
    (noisy, copied)
}

/// How the doubts of one kind compare with the planted rows.
pub fn count_found<'a>(doubts: impl Iterator<Item = &'a Doubt>, planted: &[usize]) -> DetectionCounts {
    let rows: Vec<usize> = doubts.map(|doubt| doubt.row).collect();
    DetectionCounts {
        n_planted: planted.len(),
        n_flagged: rows.len(),
        n_right: rows
            .iter()
            .filter(|row| planted.binary_search(row).is_ok())
            .count(),
    }
}

impl DetectionCounts {
    /// The share of the flagged labels that were planted; `None` if none was flagged.
    pub fn precision(self) -> Option<f64> {
        (self.n_flagged > 0).then(|| self.n_right as f64 / self.n_flagged as f64)
    }

    /// The share of the planted errors that were flagged; `None` if none was planted.
    pub fn recall(self) -> Option<f64> {
        (self.n_planted > 0).then(|| self.n_right as f64 / self.n_planted as f64)
    }
}

impl std::ops::AddAssign for DetectionCounts {
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
    fn hard_items_get_the_next_likely_class() {
        // three classes on a line; what lies between two of them is hard
        let labels: Vec<usize> = (0..120).map(|row| row % 3).collect();
        let rows = Array2::from_shape_fn((120, 2), |(row, column)| {
            let spread = ((row * 7_919 + column * 104_729) % 1_000) as f64 / 1_000.0 - 0.5;
            4.0 * labels[row] as f64 + if row % 5 == 0 { 6.0 } else { 2.0 } * spread
        });
        let (planted, wrong) = plant_hard(rows.view(), &labels, 3, 0.05, 1).expect("learnt");
        assert_eq!(wrong.len(), 6);
        for &row in &wrong {
            assert_eq!(labels[row].abs_diff(planted[row]), 1, "the class beside it");
        }
    }

    #[test]
    fn copies_differ_by_the_noise() {
        let rows = Array2::from_shape_fn((400, 3), |(row, column)| {
            ((row * 31) % 400) as f64 * [1.0, 50.0, 0.0][column]
        });
        let (noisy, copied) = copies(rows.view(), 300, 0.05, 3);
        let deviations = rows.std_axis(Axis(0), 0.0);
        for column in 0..2 {
            let squares = copied.iter().zip(noisy.column(column));
            let squares =
                squares.map(|(&row, number)| ((number - rows[[row, column]]) / deviations[column]).powi(2));
            let noise = (squares.sum::<f64>() / 300.0).sqrt();
            assert!((noise - 0.05).abs() < 0.008, "{noise}");
        }
        assert!(noisy.column(2).iter().all(|number| *number == 0.0));
    }

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
