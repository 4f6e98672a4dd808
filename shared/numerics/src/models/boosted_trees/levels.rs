//! One fit to a training set of any size, in the library's own way: all nodes of a level in one pass over each sorted feature.

use rayon::prelude::*;

use super::columns::Columns;
use super::grower::{Grower, OpenNode};
use super::split::{MIN_CHILD_WEIGHT, Split, Sums, cut_between};
use super::{BoostedTrees, MAX_SORTED_ROWS};
use crate::models::FitError;

/// The number for a row that is in no open node.
const CLOSED: u8 = u8::MAX;
/// The number of features that one task searches.
const CHUNK_FEATURES: usize = 4;

/// A training set with each feature sorted.
#[derive(Debug, Clone)]
pub struct SortedColumns {
    columns: Columns,
    /// `(n_features, n_rows)`: each feature's values from the largest to the smallest, with their rows.
    sorted: Vec<(f32, u32)>,
}

/// The state of one node during the pass over a feature, from its largest value down.
#[derive(Debug, Clone, Copy)]
struct Passage {
    /// The sums over the rows passed so far.
    above: Sums,
    last: f32,
    /// The best cut so far: its gain and its place.
    best: Option<(f32, f32)>,
}

/// The open nodes of a level, and the node of every row.
struct Level<'a> {
    nodes: &'a [OpenNode],
    gains: Vec<f32>,
    node_of_row: &'a [u8],
    derivatives: &'a [Sums],
}

impl SortedColumns {
    /// Sorts every column.
    ///
    /// # Errors
    /// [`FitError`] if there are no features, no rows or more than [`MAX_SORTED_ROWS`], or if a value is not finite.
    pub fn new(columns: Columns) -> Result<Self, FitError> {
        let n_rows = columns.n_rows();
        if columns.n_features() == 0 {
            return Err(FitError::NoFeatures);
        }
        if n_rows == 0 {
            return Err(FitError::TooFewRows { n_rows, n_needed: 1 });
        }
        if n_rows > MAX_SORTED_ROWS {
            return Err(FitError::TooManyRows {
                n_rows,
                n_allowed: MAX_SORTED_ROWS,
            });
        }
        columns.check_finite()?;
        let mut sorted = vec![(0.0, 0); n_rows * columns.n_features()];
        let by_feature = sorted.par_chunks_mut(n_rows).enumerate();
        by_feature.for_each(|(feature, sorted)| {
            let values = columns.column(feature).iter().copied().zip(0..);
            sorted
                .iter_mut()
                .zip(values)
                .for_each(|(place, value)| *place = value);
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        });
        Ok(Self { columns, sorted })
    }

    /// Fits one model to `(n_rows,)` labels.
    pub(super) fn fit(&self, labels: &[bool]) -> Result<BoostedTrees, FitError> {
        let n_rows = self.columns.n_rows();
        if labels.len() != n_rows {
            return Err(FitError::LabelCount {
                n_rows,
                n_labels: labels.len(),
            });
        }
        let mut grower = Grower::new(labels);
        let mut node_of_row = vec![CLOSED; n_rows];
        loop {
            if let Some(model) = grower.finished() {
                return Ok(model);
            }
            let nodes = std::mem::take(&mut grower.open);
            node_of_row.fill(CLOSED);
            for (place, node) in (0u8..).zip(&nodes) {
                node.rows
                    .iter()
                    .for_each(|&row| node_of_row[row as usize] = place);
            }
            let level = Level {
                gains: nodes.iter().map(|node| node.sums.gain()).collect(),
                nodes: &nodes,
                node_of_row: &node_of_row,
                derivatives: &grower.derivatives.of_rows,
            };
            let best = self.search(&level);
            for (node, split) in nodes.into_iter().zip(best) {
                grower.settle(&self.columns, node, split);
            }
        }
    }

    /// The best split of each node of a level.
    fn search(&self, level: &Level<'_>) -> Vec<Option<Split>> {
        let n_rows = self.columns.n_rows();
        let chunks = self.sorted.par_chunks(n_rows * CHUNK_FEATURES).enumerate();
        let of_chunks = chunks.map(|(chunk, features)| {
            let mut best = vec![None; level.nodes.len()];
            for (feature, sorted) in features.chunks(n_rows).enumerate() {
                level.walk((chunk * CHUNK_FEATURES + feature) as u32, sorted, &mut best);
            }
            best
        });
        let nothing = || vec![None; level.nodes.len()];
        of_chunks.reduce(nothing, |mut best, others| {
            for (best, other) in best.iter_mut().zip(others) {
                *best = other
                    .filter(|other: &Split| other.is_better_than(*best))
                    .or(*best);
            }
            best
        })
    }
}

impl Level<'_> {
    /// Passes over one feature from its largest value down, and keeps the best splits.
    #[expect(
        clippy::float_cmp,
        reason = "equal values are one value to the library, others are not"
    )]
    fn walk(&self, feature: u32, sorted: &[(f32, u32)], best: &mut [Option<Split>]) {
        let start = Passage {
            above: Sums::default(),
            last: f32::INFINITY,
            best: None,
        };
        let mut passages = vec![start; self.nodes.len()];
        for &(value, row) in sorted {
            let place = self.node_of_row[row as usize];
            if place == CLOSED {
                continue;
            }
            let passage = &mut passages[usize::from(place)];
            if value != passage.last && passage.above.curvature >= MIN_CHILD_WEIGHT {
                self.consider(usize::from(place), passage, value);
            }
            passage.above.add(self.derivatives[row as usize]);
            passage.last = value;
        }
        for (best, passage) in best.iter_mut().zip(passages) {
            let split = passage.best.map(|(loss_change, cut)| Split {
                loss_change,
                feature,
                cut,
            });
            *best = split.filter(|split| split.is_better_than(*best)).or(*best);
        }
    }

    /// Considers a cut between the node's last value and the next one.
    #[inline(always)]
    fn consider(&self, place: usize, passage: &mut Passage, value: f32) {
        let node = &self.nodes[place];
        let below = Sums {
            gradient: node.sums.gradient - passage.above.gradient,
            curvature: node.sums.curvature - passage.above.curvature,
        };
        if below.curvature < MIN_CHILD_WEIGHT {
            return;
        }
        let loss_change = below.gain() + passage.above.gain() - self.gains[place];
        if passage.best.is_none_or(|(best, _)| loss_change > best) {
            passage.best = Some((loss_change, cut_between(value, passage.last)));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::models::mt19937::Mt19937;

    /// The order of the terms does not change sums that are exact, or nearly so.
    #[test]
    fn the_order_of_the_rows_changes_no_tree() {
        let (n_rows, n_features) = (3_000, 5);
        let mut generator = Mt19937::new(4);
        let value = || (generator.next_u32() >> 8) as f32 / 1e6;
        let x = Array2::from_shape_simple_fn((n_rows, n_features), value);
        let labels: Vec<bool> = x
            .outer_iter()
            .map(|row| row[0] + row[1] * row[2] > 80.0)
            .collect();
        let backwards: Vec<usize> = (0..n_rows).rev().collect();
        let fit = |order: &[usize]| {
            let labels: Vec<bool> = order.iter().map(|&row| labels[row]).collect();
            let rows = x.select(Axis(0), order);
            SortedColumns::new(Columns::new(rows.view()))
                .unwrap()
                .fit(&labels)
                .unwrap()
        };
        let forwards: Vec<usize> = (0..n_rows).collect();
        let model = fit(&forwards);
        assert_eq!(model, fit(&backwards));
        let right = model.predict(&Columns::new(x.view()));
        assert!(right.iter().zip(&labels).filter(|(a, b)| a == b).count() > 2_900);
    }

    #[test]
    fn unusable_training_data_are_refused() {
        let sorted = |rows: usize, features: usize| {
            SortedColumns::new(Columns::new(Array2::zeros((rows, features)).view()))
        };
        assert_eq!(sorted(3, 0).unwrap_err(), FitError::NoFeatures);
        assert!(matches!(sorted(0, 3).unwrap_err(), FitError::TooFewRows { .. }));
        assert!(matches!(
            sorted(MAX_SORTED_ROWS + 1, 1).unwrap_err(),
            FitError::TooManyRows { .. }
        ));
        assert!(matches!(
            sorted(2, 1).unwrap().fit(&[true]).unwrap_err(),
            FitError::LabelCount { .. }
        ));
    }
}
