//! Finds repeated rows, in the test set itself or in the training rows of models.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf_datasets::labels::labelled::{Labelled, RowsAt};
use dataperf_datasets::labels::near::{MAX_WORK, Nearest};
use ndarray::{Array2, ArrayView1};
use serde::Serialize;

/// Rows of the test set, each with one that is the same or nearly so.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pairs {
    /// Equal to the last digit: the test set's row, and the other one.
    pub exact: Vec<(usize, usize)>,
    /// Nearly the same, and not exactly: the test set's row, the other one, and the cosine similarity of their standardized columns.
    pub near: Vec<(usize, usize, f32)>,
    /// Whether rows that are nearly the same were looked for; sets that are too large for it are not.
    pub is_near_searched: bool,
    /// Of exact ones within the test set: those whose labels differ, so that one of the two is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<(usize, usize)>,
}

/// The overlap of the test set with rows that models are trained on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leaks {
    /// The file of those rows.
    pub file: String,
    /// The pairs.
    #[serde(flatten)]
    pub pairs: Pairs,
    /// The ids of the other rows in the pairs, where they have some.
    #[serde(skip)]
    pub ids: Option<Vec<String>>,
}

/// The test set compared with itself: of each pair, the later row first.
pub(crate) fn within(set: &Labelled) -> Pairs {
    let rows = &set.features;
    let (mut first, mut exact) = (HashMap::new(), Vec::new());
    for (number, row) in rows.outer_iter().enumerate() {
        match first.entry(hash(row)) {
            std::collections::hash_map::Entry::Vacant(vacant) => drop(vacant.insert(number)),
            std::collections::hash_map::Entry::Occupied(before) => exact.push((number, *before.get())),
        }
    }
    let is_near_searched = is_searchable(rows, rows.nrows());
    let nearest = is_near_searched
        .then(|| Nearest::new(rows.mapv(|number| number as f32)))
        .flatten();
    let near = nearest.map_or_else(Vec::new, |mut nearest| {
        nearest.compare_among_themselves();
        not_exact(&nearest, &exact)
    });
    let contradicts = |(one, other): &&(usize, usize)| set.labels[*one] != set.labels[*other];
    Pairs {
        contradictions: exact.iter().filter(contradicts).copied().collect(),
        exact,
        near,
        is_near_searched,
    }
}

/// The test set compared with rows that models are trained on.
pub(crate) fn with(
    set: &Labelled,
    training: &RowsAt,
    directory: &Path,
    manifest: &Manifest,
) -> Result<Leaks, FrozenError> {
    let rows = &set.features;
    let (n_rows, n_features) = training.shape(manifest)?;
    let is_near_searched = n_features == rows.ncols() && is_searchable(rows, n_rows);
    let mut nearest = is_near_searched
        .then(|| Nearest::new(rows.mapv(|number| number as f32)))
        .flatten();
    let mut place_of: HashMap<u64, usize> = HashMap::new();
    training.each_block(directory, manifest, &mut |first, block| {
        for (idx, row) in block.outer_iter().enumerate() {
            place_of.entry(hash(row)).or_insert(first + idx);
        }
        if let Some(nearest) = &mut nearest {
            nearest.compare(block.mapv(|number| number as f32));
        }
    })?;
    let same = |(number, row): (usize, ArrayView1<f64>)| Some((number, *place_of.get(&hash(row))?));
    let exact: Vec<(usize, usize)> = rows.outer_iter().enumerate().filter_map(same).collect();
    let near = nearest.map_or_else(Vec::new, |nearest| not_exact(&nearest, &exact));
    let is_clean = exact.is_empty() && near.is_empty();
    Ok(Leaks {
        file: training.file.clone(),
        ids: if is_clean {
            None
        } else {
            training.ids(directory, manifest)?
        },
        pairs: Pairs {
            exact,
            near,
            is_near_searched,
            contradictions: Vec::new(),
        },
    })
}

/// Whether looking for rows that are nearly the same is little enough work.
fn is_searchable(rows: &Array2<f64>, n_others: usize) -> bool {
    rows.nrows() as f64 * n_others as f64 * rows.ncols() as f64 <= MAX_WORK
}

fn not_exact(nearest: &Nearest, exact: &[(usize, usize)]) -> Vec<(usize, usize, f32)> {
    let exact: HashSet<usize> = exact.iter().map(|(row, _)| *row).collect();
    nearest.near().filter(|(row, ..)| !exact.contains(row)).collect()
}

fn hash(row: ArrayView1<f64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    // 0 and -0 are one number
    row.iter()
        .for_each(|number| (number + 0.0).to_bits().hash(&mut hasher));
    hasher.finish()
}
