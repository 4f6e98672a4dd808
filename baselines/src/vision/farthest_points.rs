//! Farthest point sampling, and nested cross-validation among subsets of its points.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataperf::progress::Progress;
use dataperf_numerics::metrics::binary_f1;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::{Concept, Labelled};
use crate::BaselineError;
use crate::distances::squared_to_rows;
use crate::splits::stratified_shuffle;

/// The most points that are sampled from a pool; from a small pool a quarter of its images.
pub const N_POINTS: usize = 1_000;
/// The number of splits of the examples, and of the farthest points for each of them.
pub const N_FOLDS: usize = 5;
/// The share of the examples that is trained on in one split.
const TRAINING_SHARE: f64 = 0.8;
/// The number of rows whose distances are updated together.
const BATCH: usize = 256;

/// How many points are sampled from a pool.
pub fn n_points(n_pool: usize) -> usize {
    N_POINTS.min(n_pool / 4)
}

/// Chooses among subsets of the examples and equally large subsets of the farthest points, which
/// represent everything else. Each pair trains the frozen model. The pair with the highest F1 on
/// the other examples and points wins.
///
/// # Errors
/// [`BaselineError`] when there are too few examples or points.
///
/// # Source
/// Paper, 2.3.2 and Table 2; `baselines/fpscv/run.py` of CoactiveAI/dataperf-vision-selection, whose sizes were set by
/// hand for each concept; here as many negatives as positives.
pub fn select(concept: &Concept, farthest: &[usize], seed: u32) -> Result<Vec<Labelled>, BaselineError> {
    let is_example = |row: &usize| concept.examples.contains(row);
    let farthest: Vec<usize> = farthest.iter().copied().filter(|row| !is_example(row)).collect();
    let n_train = ((concept.examples.len() as f64 * TRAINING_SHARE) as usize).min(concept.max_images / 2);
    let splits = |n: usize| stratified_shuffle(&vec![0; n], n_train, N_FOLDS, seed);
    let (outer, inner) = (splits(concept.examples.len())?, splits(farthest.len())?);
    let pairs: Vec<_> = outer
        .iter()
        .flat_map(|outer| inner.iter().map(move |inner| (outer, inner)))
        .collect();
    let rows = |positive: &[usize], negative: &[usize]| {
        let positive = positive.iter().map(|&place| concept.examples[place]);
        positive
            .chain(negative.iter().map(|&place| farthest[place]))
            .collect::<Vec<_>>()
    };
    let labels =
        |n_positive: usize, n: usize| (0..n).map(|k| usize::from(k < n_positive)).collect::<Vec<_>>();
    let score = |(outer, inner): &(&crate::splits::Split, &crate::splits::Split)| {
        let train = rows(&outer.train, &inner.train);
        let test = rows(&outer.test, &inner.test);
        let model = LogisticRegression::fit(
            concept.features(&train).view(),
            &labels(outer.train.len(), train.len()),
        )?;
        let predicted = model.predict(concept.features(&test).view());
        Ok(binary_f1(&labels(outer.test.len(), test.len()), &predicted, &1))
    };
    let scores = pairs
        .par_iter()
        .map(score)
        .collect::<Result<Vec<f64>, BaselineError>>()?;
    let best = (0..scores.len()).fold(
        0,
        |best, pair| if scores[pair] > scores[best] { pair } else { best },
    );
    let (outer, inner) = pairs[best];
    let chosen = rows(&outer.train, &inner.train);
    let n_positive = outer.train.len();
    let labelled = chosen.into_iter().enumerate();
    Ok(labelled
        .map(|(place, row)| (row, u8::from(place < n_positive)))
        .collect())
}

/// A row that may be the farthest, ordered first by its distance from the points when it was last updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of its squared distance, which have the same order as non-negative floats.
    squared_bits: u32,
    row: Reverse<usize>,
    /// The number of points that the distance takes into account.
    n_seen: usize,
}

/// `n_points` rows, each the farthest from all before it, the lowest one of equals; the first is row `first`.
///
/// Distances only shrink as points are added, so a row is skipped if its outdated distance is not
/// the largest. The result is exact, for a part of the work of comparing all rows with all points.
///
/// # Panics
/// If `first` is no row.
///
/// # Source
/// Gonzalez, "Clustering to minimize the maximum intercluster distance", Theoretical Computer Science 38 (1985); the
/// deferred updates are those of lazy greedy algorithms, Minoux (1978).
pub fn sample(x: ArrayView2<f32>, n_points: usize, first: usize, progress: &dyn Progress) -> Vec<usize> {
    let x = x.as_standard_layout();
    let (rows, n_features) = (x.as_slice().unwrap_or_default(), x.ncols());
    let vector = |row: usize| &rows[row * n_features..][..n_features];
    progress.begin("farthest points", n_points as u64);
    let mut points = vec![first];
    let mut vectors = vector(first).to_vec();
    let mut heap: BinaryHeap<Candidate> = (0..x.nrows())
        .map(|row| Candidate {
            squared_bits: f32::INFINITY.to_bits(),
            row: Reverse(row),
            n_seen: 0,
        })
        .collect();
    while points.len() < n_points.min(x.nrows()) {
        let n_seen = points.len();
        let mut outdated = Vec::with_capacity(BATCH);
        while outdated.len() < BATCH && heap.peek().is_some_and(|top| top.n_seen < n_seen) {
            outdated.extend(heap.pop());
        }
        if outdated.is_empty() {
            let Some(farthest) = heap.pop() else { break };
            points.push(farthest.row.0);
            vectors.extend_from_slice(vector(farthest.row.0));
            progress.advance(1);
            continue;
        }
        outdated.par_iter_mut().for_each(|candidate| {
            let unseen = &vectors[candidate.n_seen * n_features..];
            let mut squared = vec![0.0; n_seen - candidate.n_seen];
            squared_to_rows(vector(candidate.row.0), unseen, &mut squared);
            let known = f32::from_bits(candidate.squared_bits);
            candidate.squared_bits = squared.into_iter().fold(known, f32::min).to_bits();
            candidate.n_seen = n_seen;
        });
        heap.extend(outdated);
    }
    points
}

#[cfg(test)]
mod tests {
    use dataperf::progress::Silent;
    use ndarray::Array2;

    use super::*;

    #[test]
    fn fast_selection_matches_comparing_all_rows() {
        let x = Array2::from_shape_fn((700, 9), |(i, k)| {
            ((i * 7919 + k * 104_729 + i * k * 31) % 1009) as f32
        });
        let mut squared = vec![f32::INFINITY; 700];
        let mut expected = vec![5];
        while expected.len() < 60 {
            let last = x.row(expected[expected.len() - 1]);
            for (row, squared) in x.outer_iter().zip(&mut squared) {
                let to_last: f32 = row.iter().zip(last).map(|(a, b)| (a - b) * (a - b)).sum();
                *squared = squared.min(to_last);
            }
            let farthest = (0..700).fold(
                0,
                |best, row| if squared[row] > squared[best] { row } else { best },
            );
            expected.push(farthest);
        }
        assert_eq!(sample(x.view(), 60, 5, &Silent), expected);
        assert_eq!(sample(x.view(), 900, 0, &Silent).len(), 700, "there are no more");
    }
}
