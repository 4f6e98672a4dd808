//! Rows that two sets have in common, exactly or nearly: what a model has seen, it need not have learned.

use std::collections::{HashMap, HashSet};

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use super::source::Opened;

/// Cosine similarity, about the eval set's mean, from which two rows count as nearly the same.
const NEAR: f32 = 0.999;
/// Multiplications that the search for near duplicates may take; of larger sets it says that it was left out.
const MAX_WORK: f64 = 2e12;
/// Pairs that a sentence names.
const MAX_NAMED: usize = 3;
/// Rows compared at a time.
const BLOCK_ROWS: usize = 2048;

/// What was found, a sentence each.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) exact: Option<String>,
    pub(super) near: Option<String>,
}

/// Compares an eval set with other rows.
pub(super) fn between(eval: &Opened, other: &Opened) -> Found {
    let (a, b) = (&eval.features.name, &other.features.name);
    let mut place_of: HashMap<u64, usize> = HashMap::new();
    for (row, &hash) in other.scanned.row_hashes.iter().enumerate() {
        place_of.entry(hash).or_insert(row);
    }
    let pairs = eval.scanned.row_hashes.iter().enumerate();
    let exact: Vec<(usize, usize)> = pairs
        .filter_map(|(row, hash)| Some((row, *place_of.get(hash)?)))
        .collect();
    let said = (!exact.is_empty()).then(|| {
        format!(
            "{} rows of `{a}` are in `{b}` as well, to the last digit: {}",
            exact.len(),
            named(&exact, eval, other)
        )
    });
    Found {
        exact: said,
        near: near(eval, other),
    }
}

fn named(pairs: &[(usize, usize)], eval: &Opened, other: &Opened) -> String {
    let pairs = pairs.iter().take(MAX_NAMED);
    let named: Vec<String> = pairs
        .map(|&(of_eval, of_other)| {
            format!(
                "{} and {}",
                eval.examples.place(of_eval),
                other.examples.place(of_other)
            )
        })
        .collect();
    named.join(", ")
}

/// Rows of the eval set that nearly are one of the others', and not exactly.
fn near(eval: &Opened, other: &Opened) -> Option<String> {
    let (a, b) = (&eval.features.name, &other.features.name);
    let work = eval.scanned.n_rows as f64 * other.scanned.n_rows as f64 * eval.scanned.n_features as f64;
    if work > MAX_WORK {
        return Some(format!(
            "`{a}` and `{b}` are too large to be searched for rows that are nearly the same"
        ));
    }
    let mut rows = read(eval)?;
    let mean = rows.mean_axis(Axis(0))?;
    normalize(&mut rows, &mean);
    let mut nearest = Nearest {
        rows,
        mean,
        best: vec![(0.0, 0); eval.scanned.n_rows],
    };
    // the others are as many as they like: they are read block by block
    let (mut block, mut n_compared) = (Vec::new(), 0);
    let block_numbers = BLOCK_ROWS * other.scanned.n_features;
    let mut compare = |block: &mut Vec<f32>| {
        let n = nearest.compare(n_compared, std::mem::take(block));
        n_compared += n.unwrap_or(0);
    };
    other
        .features
        .each_row(&mut |row, _| {
            block.extend(row.iter().map(|&number| number as f32));
            if block.len() >= block_numbers {
                compare(&mut block);
            }
        })
        .ok()?;
    compare(&mut block);
    let exact: HashSet<u64> = other.scanned.row_hashes.iter().copied().collect();
    let found: Vec<(usize, usize)> = nearest
        .best
        .into_iter()
        .enumerate()
        .filter(|(row, (similarity, _))| {
            *similarity >= NEAR && !exact.contains(&eval.scanned.row_hashes[*row])
        })
        .map(|(row, (_, of_other))| (row, of_other))
        .collect();
    (!found.is_empty()).then(|| {
        format!(
            "{} rows of `{a}` are nearly in `{b}` (cosine similarity about the mean from {NEAR} on): {}",
            found.len(),
            named(&found, eval, other)
        )
    })
}

/// For each row the most similar one among those that it has been compared with.
struct Nearest {
    /// `(n_rows, n_features)`, of length 1 about the mean.
    rows: Array2<f32>,
    mean: Array1<f32>,
    /// Similarity and number of the most similar row.
    best: Vec<(f32, usize)>,
}

impl Nearest {
    /// Compares with a block of rows, which are numbered from `first` on; how many they are.
    fn compare(&mut self, first: usize, block: Vec<f32>) -> Option<usize> {
        let n_features = self.mean.len();
        let mut block = Array2::from_shape_vec((block.len() / n_features, n_features), block).ok()?;
        normalize(&mut block, &self.mean);
        let rows = self.rows.axis_chunks_iter(Axis(0), BLOCK_ROWS).into_par_iter();
        rows.zip(self.best.par_chunks_mut(BLOCK_ROWS))
            .for_each(|(rows, best)| {
                let similarities = rows.dot(&block.t());
                for (best, row) in best.iter_mut().zip(similarities.rows()) {
                    for (column, &similarity) in row.iter().enumerate() {
                        if similarity > best.0 {
                            *best = (similarity, first + column);
                        }
                    }
                }
            });
        Some(block.nrows())
    }
}

fn read(opened: &Opened) -> Option<Array2<f32>> {
    let mut numbers = Vec::with_capacity(opened.scanned.n_rows * opened.scanned.n_features);
    opened
        .features
        .each_row(&mut |row, _| numbers.extend(row.iter().map(|&number| number as f32)))
        .ok()?;
    Array2::from_shape_vec((opened.scanned.n_rows, opened.scanned.n_features), numbers).ok()
}

/// Moves rows by the mean and scales them to length 1; those of length 0 stay.
fn normalize(rows: &mut Array2<f32>, mean: &Array1<f32>) {
    rows.axis_iter_mut(Axis(0)).into_par_iter().for_each(|mut row| {
        row -= mean;
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    });
}
