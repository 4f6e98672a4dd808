//! Random images with random labels: the least that a method has to beat.

use super::{Concept, Labelled};
use crate::random::Random;

/// Draws as many images from the pool as may be chosen, and labels each at random.
///
/// # Source
/// `data/train_sets/random_500.csv` of CoactiveAI/dataperf-vision-selection.
pub fn select(concept: &Concept, random: &mut Random) -> Vec<Labelled> {
    let mut rows = random.permutation(concept.pool.nrows());
    rows.truncate(concept.max_images);
    let mut labelled: Vec<Labelled> = rows.into_iter().map(|row| (row, random.below(2) as u8)).collect();
    // a training set needs both labels
    if let [first, second, ..] = labelled.as_mut_slice() {
        (first.1, second.1) = (1, 0);
    }
    labelled
}
