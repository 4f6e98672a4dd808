//! Selection for Vision: methods that decide which images of a pool to label, and how.
//!
//! The pool has no labels. A method gets some images that show a concept, and treats images drawn from the pool as ones that do
//! not: for rare concepts that is nearly right.

pub mod farthest_points;
mod learners;
pub mod pseudo_labels;
pub mod random;
pub mod uncertainty;

use ndarray::{Array2, ArrayView2, Axis};

use crate::BaselineError;
use crate::random::Random;

/// A concept to learn.
#[derive(Debug, Clone, Copy)]
pub struct Concept<'a> {
    /// The pool, `(n_pool, n_features)`.
    pub pool: ArrayView2<'a, f32>,
    /// Rows of the pool that show the concept.
    pub examples: &'a [usize],
    /// The most images that may be chosen for this concept.
    pub max_images: usize,
}

/// A chosen image: its row in the pool, and its label.
pub type Labelled = (usize, u8);

impl Concept<'_> {
    /// The rows' vectors as 64-bit floats, which models take.
    fn features(&self, rows: &[usize]) -> Array2<f64> {
        self.pool.select(Axis(0), rows).mapv(f64::from)
    }

    /// The examples, labelled 1, and as many other rows, which are drawn and labelled 0.
    fn seeds(&self, random: &mut Random) -> Result<(Vec<usize>, Vec<usize>), BaselineError> {
        let (n, n_pool) = (self.examples.len(), self.pool.nrows());
        if n < 2 || n_pool < 4 * n {
            let (noun, n, n_needed) = if n < 2 {
                ("examples of a concept in the data set", n, 2)
            } else {
                ("images in the pool", n_pool, 4 * n)
            };
            return Err(BaselineError::TooFew {
                noun: noun.into(),
                n,
                n_needed,
            });
        }
        let mut rows = self.examples.to_vec();
        while rows.len() < 2 * n {
            let row = random.below(n_pool);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let labels = (0..2 * n).map(|place| usize::from(place < n)).collect();
        Ok((rows, labels))
    }
}

/// The most rows that are labelled: a sample of a large pool serves as well as all of it.
const MAX_CANDIDATES: usize = 20_000;

/// Draws the same number of rows from both sides of a classifier: half of the images that may be chosen, or as many as the smaller
/// side has.
fn draw_from_both(
    positive: &[usize],
    negative: &[usize],
    max_images: usize,
    random: &mut Random,
) -> Vec<Labelled> {
    let n = (max_images / 2).min(positive.len()).min(negative.len());
    let mut chosen: Vec<Labelled> = Vec::with_capacity(2 * n);
    chosen.extend(random.choose(positive, n).into_iter().map(|row| (row, 1)));
    chosen.extend(random.choose(negative, n).into_iter().map(|row| (row, 0)));
    chosen
}
