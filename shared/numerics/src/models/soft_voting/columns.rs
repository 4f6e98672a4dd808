//! Collects the vectors that rows are multiplied with.

use std::collections::HashMap;

use ndarray::{ArrayView1, ArrayView2, Axis};

use crate::models::logistic_regression::LogisticRegression;
use crate::simd::{PackedColumns, vector};

/// The distinct training rows, and the weights.
pub(super) struct Columns<'a> {
    centre: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    /// `(n_columns,)`: the squared norms of the centred training rows; zeros for weights.
    squared_norms: Vec<f64>,
    /// The training rows as they were given, with their columns, by their fingerprints.
    known: HashMap<u64, Vec<(ArrayView1<'a, f64>, usize)>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(centre: Vec<f64>) -> Self {
        Self {
            centre,
            vectors: Vec::new(),
            squared_norms: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The column of each training row; equal rows have the same column.
    pub(super) fn add_rows(&mut self, rows: ArrayView2<'a, f64>) -> Vec<usize> {
        (0..rows.nrows())
            .map(|row| self.add(rows.index_axis_move(Axis(0), row)))
            .collect()
    }

    fn add(&mut self, row: ArrayView1<'a, f64>) -> usize {
        let same = self.known.entry(fingerprint(row)).or_default();
        let is_same =
            |known: &ArrayView1<f64>| known.iter().zip(row).all(|(a, b)| a.to_bits() == b.to_bits());
        if let Some((_, column)) = same.iter().find(|(known, _)| is_same(known)) {
            return *column;
        }
        let centred: Vec<f64> = row.iter().zip(&self.centre).map(|(x, c)| x - c).collect();
        self.squared_norms.push(vector::dot(&centred, &centred));
        self.vectors.push(centred);
        let column = self.vectors.len() - 1;
        same.push((row, column));
        column
    }

    /// Adds columns for the weights, and returns the first.
    pub(super) fn add_weights(&mut self, logistic: &LogisticRegression) -> usize {
        let first = self.vectors.len();
        let weights = logistic.coefficients();
        self.vectors.extend(weights.outer_iter().map(|row| row.to_vec()));
        self.squared_norms.resize(self.vectors.len(), 0.0);
        first
    }

    /// Adds a column for the centre, and returns it.
    pub(super) fn add_centre(&mut self) -> usize {
        self.vectors.push(self.centre.clone());
        self.squared_norms.push(0.0);
        self.vectors.len() - 1
    }

    /// The logistic part's intercepts for centred rows.
    pub(super) fn intercepts(&self, logistic: &LogisticRegression) -> Vec<f64> {
        let centre = ndarray::aview1(&self.centre);
        let weights = logistic.coefficients();
        let both = weights.outer_iter().zip(logistic.intercepts());
        both.map(|(w, b)| w.dot(&centre) + b).collect()
    }

    /// The columns in packed form, and their squared norms.
    pub(super) fn pack(self) -> (PackedColumns, Vec<f64>) {
        (
            PackedColumns::new(self.centre, self.vectors.into_iter()),
            self.squared_norms,
        )
    }
}

/// A number that equal rows share and different rows rarely do. It takes one multiplication for each value; a hash that resists
/// attacks would take longer than the products.
fn fingerprint(row: ArrayView1<f64>) -> u64 {
    let mix =
        |hash: u64, value: &f64| (hash.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x517c_c1b7_2722_0a95);
    row.iter().fold(0, mix)
}
