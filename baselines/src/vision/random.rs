//! Random images with random labels: what any method has to beat.

use super::{Concept, Labelled};
use crate::random::Random;

/// As many images as may be chosen, drawn from the pool, each labelled by a coin.
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
