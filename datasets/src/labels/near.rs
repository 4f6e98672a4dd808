//! Rows that are nearly the same, by the cosine similarity of their standardized columns.

use ndarray::{Array2, ArrayView1, Axis, Zip};
use rayon::prelude::*;

/// Cosine similarity of standardized columns from which two rows count as nearly the same.
pub const NEAR: f32 = 0.999;
/// The share of a column's numbers, at either end, that count as the number next to them when its scale is taken: an outlier would
/// otherwise make all other numbers of the column alike.
const WINSORIZED: f64 = 0.01;
/// The most standard deviations that a number counts as: two rows are not the same because both have a rare value.
const MAX_DEVIATIONS: f64 = 10.0;
/// Multiplications that a search for near duplicates may take; of larger sets it is left out.
pub const MAX_WORK: f64 = 2e12;
/// Rows that are best compared at a time.
pub const BLOCK_ROWS: usize = 2048;

/// For each row the most similar one among those that it has been compared with.
pub struct Nearest {
    /// `(n_rows, n_features)`, standardized and of length 1.
    rows: Array2<f32>,
    columns: Vec<Column>,
    n_compared: usize,
    /// Similarity and number of the most similar row; 0 without similar rows.
    best: Vec<(f32, usize)>,
}

impl Nearest {
    /// Rows that have been compared with nothing; `None` without rows. Columns are standardized by these rows.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)`
    pub fn new(mut rows: Array2<f32>) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let columns: Vec<Column> = rows.columns().into_iter().map(Column::from_numbers).collect();
        normalize(&mut rows, &columns);
        Some(Self {
            best: vec![(0.0, 0); rows.nrows()],
            rows,
            columns,
            n_compared: 0,
        })
    }

    /// Compares with a block of rows; their numbers continue those of earlier blocks.
    ///
    /// # Panics
    /// If the block's rows have another number of features.
    pub fn compare(&mut self, mut block: Array2<f32>) {
        normalize(&mut block, &self.columns);
        let first = self.n_compared;
        self.n_compared += block.nrows();
        self.search(&block, |_, column| Some(first + column));
    }

    /// Compares each row with those before it.
    pub fn compare_among_themselves(&mut self) {
        for first in (0..self.rows.nrows()).step_by(BLOCK_ROWS) {
            let end = self.rows.nrows().min(first + BLOCK_ROWS);
            let block = self.rows.slice(ndarray::s![first..end, ..]).to_owned();
            self.search(&block, |row, column| {
                (first + column < row).then_some(first + column)
            });
        }
    }

    /// Keeps each row's most similar one of the block. `number_of`, given the row and the place in the block, gives its number, or `None` to leave
    /// it out.
    fn search(&mut self, block: &Array2<f32>, number_of: impl Fn(usize, usize) -> Option<usize> + Sync) {
        let rows = self.rows.axis_chunks_iter(Axis(0), BLOCK_ROWS).into_par_iter();
        let chunks = rows.zip(self.best.par_chunks_mut(BLOCK_ROWS)).enumerate();
        chunks.for_each(|(chunk, (rows, best))| {
            let similarities = rows.dot(&block.t());
            for (idx, (best, row)) in best.iter_mut().zip(similarities.rows()).enumerate() {
                for (column, &similarity) in row.iter().enumerate() {
                    if similarity > best.0
                        && let Some(number) = number_of(chunk * BLOCK_ROWS + idx, column)
                    {
                        *best = (similarity, number);
                    }
                }
            }
        });
    }

    /// Rows and their most similar ones, from [`NEAR`] on: row, number of the other, similarity.
    pub fn near(&self) -> impl Iterator<Item = (usize, usize, f32)> + '_ {
        let best = self.best.iter().enumerate();
        best.filter(|(_, (similarity, _))| *similarity >= NEAR)
            .map(|(row, (similarity, other))| (row, *other, *similarity))
    }
}

/// How a column is standardized.
#[derive(Debug, Clone, Copy)]
struct Column {
    mean: f64,
    /// 1 / standard deviation, without outliers; 0 for a column that is constant except for
    /// rounding, or has numbers that are not finite.
    scale: f64,
}

impl Column {
    fn from_numbers(numbers: ArrayView1<'_, f32>) -> Self {
        let mut sorted: Vec<f32> = numbers.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let rare = (WINSORIZED * sorted.len() as f64).ceil() as usize;
        let last = sorted.len() - 1;
        let (low, high) = (sorted[rare.min(last / 2)], sorted[last - rare.min(last / 2)]);
        let robust = Self::with(sorted.iter().map(|number| number.clamp(low, high)));
        // it is constant except for a few numbers
        if low < high && robust.scale > 0.0 {
            robust
        } else {
            Self::with(sorted.iter().copied())
        }
    }

    fn with(numbers: impl ExactSizeIterator<Item = f32> + Clone) -> Self {
        let n = numbers.len() as f64;
        let mean = numbers.clone().map(f64::from).sum::<f64>() / n;
        let squares = numbers.map(|number| (f64::from(number) - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        let is_constant = deviation <= f64::from(f32::EPSILON) * mean.abs();
        let scale = if deviation.is_finite() && !is_constant {
            1.0 / deviation
        } else {
            0.0
        };
        Self { mean, scale }
    }

    fn standardized(self, number: f32) -> f32 {
        let deviations = (f64::from(number) - self.mean) * self.scale;
        if deviations.is_nan() {
            return 0.0;
        }
        deviations.clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS) as f32
    }
}

/// Standardizes columns and scales rows to length 1; rows of length 0 stay unchanged.
fn normalize(rows: &mut Array2<f32>, columns: &[Column]) {
    let columns = ArrayView1::from(columns);
    rows.axis_iter_mut(Axis(0)).into_par_iter().for_each(|mut row| {
        Zip::from(&mut row)
            .and(columns)
            .for_each(|number, column| *number = column.standardized(*number));
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn similar_rows_match_across_blocks() {
        let rows = array![[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
        let mut nearest = Nearest::new(rows).expect("rows");
        nearest.compare(array![[5.0, 5.0]]);
        nearest.compare(array![[0.5, -0.5], [1.0, 0.0001]]);
        let pairs: Vec<_> = nearest.near().map(|(row, other, _)| (row, other)).collect();
        assert_eq!(pairs, [(0, 2)]);
        assert!(Nearest::new(Array2::zeros((0, 3))).is_none());
    }

    #[test]
    fn self_comparison_lists_each_pair_once() {
        let rows = array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        let mut nearest = Nearest::new(rows).expect("rows");
        nearest.compare_among_themselves();
        let pairs: Vec<_> = nearest.near().map(|(row, other, _)| (row, other)).collect();
        assert_eq!(pairs, [(2, 0), (3, 1)]);
    }

    /// A number from -1 to 1 for a row and a column, always the same one.
    fn drawn(row: usize, column: usize) -> f32 {
        let mut bits = (row * 1_009 + column) as u64 + 1;
        for _ in 0..3 {
            bits = (bits ^ (bits >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        (bits >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Rows of 8 columns, each with its own scale: the first is a thousand times larger than the others.
    fn rows(from: usize, n: usize) -> Array2<f32> {
        Array2::from_shape_fn((n, 8), |(row, column)| {
            let scale = if column == 0 { 1_000.0 } else { 1.0 };
            scale * drawn(from + row, column)
        })
    }

    fn near(eval: Array2<f32>, pool: Array2<f32>) -> Vec<(usize, usize)> {
        let mut nearest = Nearest::new(eval).expect("rows");
        nearest.compare(pool);
        nearest.near().map(|(row, other, _)| (row, other)).collect()
    }

    #[test]
    fn one_large_column_does_not_decide() {
        assert_eq!(near(rows(0, 200), rows(1_000, 300)), []);
    }

    #[test]
    fn the_search_detects_noisy_planted_copies() {
        let (eval, mut pool) = (rows(0, 200), rows(1_000, 300));
        for copy in 0..20 {
            for column in 0..8 {
                let noise = if column == 0 { 10.0 } else { 0.01 } * drawn(5_000 + copy, column);
                pool[[7 * copy, column]] = eval[[copy, column]] + noise;
            }
        }
        let expected: Vec<(usize, usize)> = (0..20).map(|copy| (copy, 7 * copy)).collect();
        assert_eq!(near(eval, pool), expected);
    }

    /// By its standard deviation the column with the outlier would say nothing, and rows that differ in it alone would be the same.
    #[test]
    fn an_outlier_does_not_hide_its_column() {
        let mut eval = rows(0, 200);
        eval[[150, 2]] = 1e7;
        let mut pool = eval.clone();
        for row in 0..200 {
            pool[[row, 2]] = drawn(9_000 + row, 2);
        }
        let rows = near(eval, pool);
        assert!(rows.len() < 20, "{} rows", rows.len());
    }

    #[test]
    fn odd_columns_contribute_nothing() {
        let with = |row: usize, n: usize, odd: [f32; 3]| {
            let mut rows = rows(row, n);
            for (column, value) in odd.into_iter().enumerate() {
                rows.column_mut(column).fill(value);
            }
            rows
        };
        let (mut eval, mut pool) = (
            with(0, 200, [0.1, f32::MAX, 0.0]),
            with(1_000, 300, [0.1, f32::MAX, 1.0]),
        );
        eval[[3, 1]] = f32::NAN;
        pool[[4, 1]] = f32::INFINITY;
        assert_eq!(near(eval.clone(), pool.clone()), []);
        let copy = eval.row(5).to_owned();
        pool.row_mut(9).assign(&copy);
        pool[[9, 2]] = 7.0;
        assert_eq!(near(eval, pool), [(5, 9)]);
    }

    #[test]
    fn rows_that_share_a_rare_value_are_different() {
        let (mut eval, mut pool) = (rows(0, 20_000), rows(100_000, 300));
        eval.column_mut(3).fill(0.0);
        pool.column_mut(3).fill(0.0);
        (eval[[0, 3]], pool[[0, 3]]) = (1.0, 1.0);
        assert_eq!(near(eval, pool), []);
    }
}
