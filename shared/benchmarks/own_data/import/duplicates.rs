//! Finds rows that two sets share, exactly or nearly: a model may know such rows of a test set by heart.

use std::collections::{HashMap, HashSet};

use dataperf_datasets::labels::near::{BLOCK_ROWS, MAX_WORK, NEAR, Nearest};
use ndarray::Array2;

use super::source::Opened;

/// The most pairs that a sentence names.
const MAX_NAMED: usize = 3;

/// The rows that were found, described in sentences.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    pub(super) exact: Option<String>,
    pub(super) near: Option<String>,
}

/// Compares the rows of a test set with those of another set.
pub(super) fn between(eval: &Opened, other: &Opened) -> Duplicates {
    let (a, b) = (&eval.features.name, &other.features.name);
    let mut place_of: HashMap<u64, usize> = HashMap::new();
    let [of_eval, of_other] = eval.scanned.hashes(&other.scanned);
    for (row, &hash) in of_other.iter().enumerate() {
        place_of.entry(hash).or_insert(row);
    }
    let pairs = of_eval.iter().enumerate();
    let exact: Vec<(usize, usize)> = pairs
        .filter_map(|(row, hash)| Some((row, *place_of.get(hash)?)))
        .collect();
    let message = (!exact.is_empty()).then(|| {
        format!(
            "{} rows of `{a}` are also in `{b}`, digit for digit (as 32-bit floats, if one of the two \
                stores those): {}",
            exact.len(),
            named(&exact, eval, other)
        )
    });
    Duplicates {
        exact: message,
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

/// Describes rows of the test set that are nearly, but not exactly, rows of the other set.
fn near(eval: &Opened, other: &Opened) -> Option<String> {
    let (a, b) = (&eval.features.name, &other.features.name);
    let work = eval.scanned.n_rows as f64 * other.scanned.n_rows as f64 * eval.scanned.n_features as f64;
    if work > MAX_WORK {
        return Some(format!(
            "`{a}` and `{b}` are too large to be searched for rows that are nearly the same"
        ));
    }
    let mut nearest = Nearest::new(read(eval)?)?;
    // the other set may have any number of rows, so it is read block by block
    let (mut block, n_features) = (Vec::new(), other.scanned.n_features);
    let mut compare = |block: &mut Vec<f32>| {
        let numbers = std::mem::take(block);
        let rows = Array2::from_shape_vec((numbers.len() / n_features, n_features), numbers);
        if let Ok(rows) = rows {
            nearest.compare(rows);
        }
    };
    other
        .features
        .each_row(&mut |row, _| {
            block.extend(row.iter().map(|&number| number as f32));
            if block.len() >= BLOCK_ROWS * n_features {
                compare(&mut block);
            }
        })
        .ok()?;
    compare(&mut block);
    let [hashes_of_eval, hashes_of_other] = eval.scanned.hashes(&other.scanned);
    let exact: HashSet<u64> = hashes_of_other.iter().copied().collect();
    let pairs: Vec<(usize, usize)> = nearest
        .near()
        .filter(|(row, ..)| !exact.contains(&hashes_of_eval[*row]))
        .map(|(row, of_other, _)| (row, of_other))
        .collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "{} rows of `{a}` are almost the same as rows of `{b}` (cosine similarity of standardized \
                columns of {NEAR} or more): {}",
            pairs.len(),
            named(&pairs, eval, other)
        )
    })
}

fn read(opened: &Opened) -> Option<Array2<f32>> {
    let mut numbers = Vec::with_capacity(opened.scanned.n_rows * opened.scanned.n_features);
    opened
        .features
        .each_row(&mut |row, _| numbers.extend(row.iter().map(|&number| number as f32)))
        .ok()?;
    Array2::from_shape_vec((opened.scanned.n_rows, opened.scanned.n_features), numbers).ok()
}
