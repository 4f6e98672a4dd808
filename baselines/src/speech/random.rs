//! Random clips: the least that a method has to beat.

use super::{Clips, TARGET_SHARE};
use crate::random::Random;

/// Draws as many target clips and nontargets as [`nested_cross_fold`](super::nested_cross_fold) chooses, uniformly from all target
/// clips and from all nontargets.
///
/// # Source
/// `selection/implementations/random_selection.py` of harvard-edge/dataperf-speech-example.
pub fn select(clips: &Clips, seed: u32) -> Vec<usize> {
    let (targets, nontargets) = clips.targets_and_nontargets();
    let (n_targets, n_nontargets) = clips.sizes(TARGET_SHARE);
    let mut random = Random::new(seed);
    let mut rows = random.choose(&targets, n_targets);
    rows.extend(random.choose(&nontargets, n_nontargets));
    rows
}
