//! Shapley values of training rows for a nearest-neighbour classifier, computed exactly and as fast as sorting.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::{Task, ascending};

/// The number of neighbours that vote in [`order`], as in DataScope.
pub const N_NEIGHBORS: usize = 1;

/// The least valuable rows first.
///
/// # Source
/// Paper, 2.3.3; Karlas et al., "Data debugging with Shapley importance over end-to-end machine learning pipelines",
/// 2022 (DataScope).
pub fn order(task: &Task) -> Vec<usize> {
    ascending(&values(task, N_NEIGHBORS))
}

/// The Shapley value of each training row, `(n_train,)`: what it adds, averaged over all orders in which the rows
/// may come, to the probability that a vote of the `k` nearest rows gives a validation row its label. Where fewer
/// than `k` have come, the constant answer that does worst on the validation set votes instead.
///
/// Of rows at the same distance the earlier one counts as nearer.
///
/// # Panics
/// If the shapes don't fit each other.
///
/// # Source
/// Jia et al., "Efficient task-specific data valuation for nearest neighbor algorithms", VLDB 12 (2019), theorem 1,
/// with the value of the empty set that DataScope 0.0.32 has.
pub fn values(task: &Task, k: usize) -> Vec<f64> {
    let worst = worst_answer(task);
    let n_validation = task.validation_labels.len();
    let of_validation_row = |row: usize| {
        let nearest = nearest_first(task.x, task.validation_x.row(row));
        let label = task.validation_labels[row];
        let agrees = |idx: usize| f64::from(u8::from(task.labels[nearest[idx]] == label));
        let empty = f64::from(u8::from(worst == label));
        let n = nearest.len();
        let mut values = vec![0.0; n];
        let k = k as f64;
        let mut value = (agrees(n - 1) - empty) / n as f64 * k.min(n as f64) / k;
        values[nearest[n - 1]] = value;
        for idx in (0..n - 1).rev() {
            let rank = (idx + 1) as f64;
            value += (agrees(idx) - agrees(idx + 1)) / k * k.min(rank) / rank;
            values[nearest[idx]] = value;
        }
        values
    };
    let all: Vec<Vec<f64>> = (0..n_validation).into_par_iter().map(of_validation_row).collect();
    let sum = |row: usize| all.iter().map(|values| values[row]).sum::<f64>();
    (0..task.labels.len())
        .map(|row| sum(row) / n_validation as f64)
        .collect()
}

/// The training label that is right for the fewest validation rows, the lowest among equal ones.
fn worst_answer(task: &Task) -> usize {
    let n_right = |label: usize| {
        task.validation_labels
            .iter()
            .filter(|&&other| other == label)
            .count()
    };
    let labels = task.labels.iter().copied();
    labels.min_by_key(|&label| (n_right(label), label)).unwrap_or(0)
}

/// The training rows, ascending by their distance from `row`.
fn nearest_first(x: ArrayView2<f64>, row: ndarray::ArrayView1<f64>) -> Vec<usize> {
    let squared = |train: ndarray::ArrayView1<f64>| {
        let both = train.iter().zip(row);
        both.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
    };
    ascending(&x.outer_iter().map(squared).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// The definition: the mean over all orders of a row's contribution.
    fn by_definition(task: &Task, k: usize) -> Vec<f64> {
        let n = task.labels.len();
        let worst = worst_answer(task);
        let utility = |set: &[usize]| -> f64 {
            let of_row = |row: usize| {
                let label = task.validation_labels[row];
                let nearest = nearest_first(task.x, task.validation_x.row(row));
                let mut votes: Vec<usize> = nearest.into_iter().filter(|train| set.contains(train)).collect();
                votes.truncate(k);
                let right = votes.iter().filter(|&&train| task.labels[train] == label).count();
                let missing = if worst == label { k - votes.len() } else { 0 };
                (right + missing) as f64 / k as f64
            };
            let all = 0..task.validation_labels.len();
            all.clone().map(of_row).sum::<f64>() / all.len() as f64
        };
        let mut values = vec![0.0; n];
        let mut n_orders = 0.0;
        let mut order: Vec<usize> = (0..n).collect();
        permute(&mut order, 0, &mut |order| {
            n_orders += 1.0;
            for place in 0..n {
                values[order[place]] += utility(&order[..=place]) - utility(&order[..place]);
            }
        });
        values.iter().map(|sum| sum / n_orders).collect()
    }

    fn permute(order: &mut Vec<usize>, fixed: usize, visit: &mut dyn FnMut(&[usize])) {
        if fixed == order.len() {
            return visit(order);
        }
        for next in fixed..order.len() {
            order.swap(fixed, next);
            permute(order, fixed + 1, visit);
            order.swap(fixed, next);
        }
    }

    #[test]
    fn shapley_values_match_their_definition() {
        let x = Array2::from_shape_fn((6, 2), |(i, k)| ((i * 29 + k * 17 + i * i * 5) % 23) as f64);
        let validation_x = Array2::from_shape_fn((3, 2), |(i, k)| ((i * 13 + k * 7) % 19) as f64);
        let task = Task {
            x: x.view(),
            labels: &[0, 1, 1, 0, 1, 0],
            validation_x: validation_x.view(),
            validation_labels: &[1, 0, 1],
        };
        for k in [1, 2, 3, 6, 8] {
            let (ours, theirs) = (values(&task, k), by_definition(&task, k));
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!(
                    (ours - theirs).abs() < 1e-12,
                    "k = {k}: {ours} instead of {theirs}"
                );
            }
        }
    }
}
