//! Orders that ignore the data: the least that a method has to beat.

use crate::random::Random;

/// The rows in their own order.
///
/// # Source
/// Paper, 2.3.3.
pub fn consecutive(n_train: usize) -> Vec<usize> {
    (0..n_train).collect()
}

/// The rows in random order.
///
/// # Source
/// Paper, 2.3.3; `app/baselines/random_pick.py` of DS3Lab/dataperf-vision-debugging.
pub fn random(n_train: usize, seed: u32) -> Vec<usize> {
    Random::new(seed).permutation(n_train)
}
