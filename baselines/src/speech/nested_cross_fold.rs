//! Nested cross-fold selection: chooses the one of a hundred random training sets with which the frozen model does best.

use dataperf::progress::Progress;

use super::training_sets::{first_of_the_best, scores};
use super::{Clips, TARGET_SHARE};
use crate::BaselineError;
use crate::splits::stratified_shuffle;

/// The number of splits of the targets, and of the nontargets for each of them.
pub const N_FOLDS: usize = 10;

/// The chosen clips.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The chosen rows: targets, then nontargets, each in the order of their split.
    pub rows: Vec<usize>,
    /// The macro F1 of each of the 100 training sets on all other clips: targets outside, nontargets inside.
    pub scores: Vec<f64>,
}

/// Chooses by nested cross-validation: the outer loop draws 10 stratified subsets of the targets, the inner loop 10
/// of the nontargets, each pair trains the frozen model, and the pair with the highest macro F1 on all clips outside
/// of it is chosen, the first one of equals.
///
/// The model's own seed is `seed`; the public tool leaves it to chance. [`scores`] says what makes this fast.
///
/// # Errors
/// [`BaselineError`] when there are too few clips, or they can't be fitted.
///
/// # Source
/// Paper, 2.3.1; `selection/implementations/baseline_selection.py` of harvard-edge/dataperf-speech-example.
pub fn select(clips: &Clips, seed: u32, progress: &dyn Progress) -> Result<Selection, BaselineError> {
    let (targets, nontargets) = clips.targets_and_nontargets();
    let (n_targets, n_nontargets) = clips.sizes(TARGET_SHARE);
    let of_targets: Vec<usize> = targets.iter().map(|&row| clips.classes[row]).collect();
    let outer = stratified_shuffle(&of_targets, n_targets, N_FOLDS, seed)?;
    let inner = stratified_shuffle(&vec![0; nontargets.len()], n_nontargets, N_FOLDS, seed)?;
    let pairs = outer
        .iter()
        .flat_map(|outer| inner.iter().map(move |inner| (outer, inner)));
    let sets: Vec<Vec<usize>> = pairs
        .map(|(outer, inner)| {
            let of_targets = outer.train.iter().map(|&place| targets[place]);
            of_targets
                .chain(inner.train.iter().map(|&place| nontargets[place]))
                .collect()
        })
        .collect();

    let scores = scores(clips, &sets, |_| 1, seed, progress)?;
    let best = first_of_the_best(&scores);
    Ok(Selection {
        rows: sets.into_iter().nth(best).unwrap_or_default(),
        scores,
    })
}
