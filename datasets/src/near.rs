//! Rows that are nearly the same, by cosine similarity.

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

/// Cosine similarity, about the rows' mean, from which two rows count as nearly the same.
pub const NEAR: f32 = 0.999;
/// Multiplications that a search for near duplicates may take; of larger sets it is left out.
pub const MAX_WORK: f64 = 2e12;
/// Rows that are best compared at a time.
pub const BLOCK_ROWS: usize = 2048;

/// For each row the most similar one among those that it has been compared with.
pub struct Nearest {
    /// `(n_rows, n_features)`, of length 1 about the mean.
    rows: Array2<f32>,
    mean: Array1<f32>,
    n_compared: usize,
    /// Similarity and number of the most similar row; 0 where nothing is similar.
    best: Vec<(f32, usize)>,
}

impl Nearest {
    /// Rows that have been compared with nothing; `None` without rows.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)`
    pub fn new(mut rows: Array2<f32>) -> Option<Self> {
        let mean = rows.mean_axis(Axis(0))?;
        normalize(&mut rows, &mean);
        Some(Self {
            best: vec![(0.0, 0); rows.nrows()],
            rows,
            mean,
            n_compared: 0,
        })
    }

    /// Compares with a block of rows, which are numbered after those of the blocks before.
    ///
    /// # Panics
    /// If the block's rows have another number of features.
    pub fn compare(&mut self, mut block: Array2<f32>) {
        normalize(&mut block, &self.mean);
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

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn similar_rows_are_found_in_any_block() {
        let rows = array![[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
        let mut nearest = Nearest::new(rows).expect("rows");
        nearest.compare(array![[5.0, 5.0]]);
        nearest.compare(array![[0.5, -0.5], [1.0, 0.0001]]);
        let found: Vec<_> = nearest.near().map(|(row, other, _)| (row, other)).collect();
        assert_eq!(found, [(0, 2)]);
        assert!(Nearest::new(Array2::zeros((0, 3))).is_none());
    }

    #[test]
    fn among_themselves_each_pair_is_found_once() {
        let rows = array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        let mut nearest = Nearest::new(rows).expect("rows");
        nearest.compare_among_themselves();
        let found: Vec<_> = nearest.near().map(|(row, other, _)| (row, other)).collect();
        assert_eq!(found, [(2, 0), (3, 1)]);
    }
}
