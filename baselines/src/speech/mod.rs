//! Selection for Speech: methods that decide which clips to train on.
//!
//! Every method gets the allowed clips of a language and returns the rows that it chooses.

pub mod cleanlab;
pub mod confident_learning;
pub mod k_medoids;
pub mod nested_cross_fold;
pub mod random;
pub mod training_sets;

use ndarray::ArrayView2;

/// The share of targets among the chosen clips, in the methods that draw clips.
pub const TARGET_SHARE: f64 = 0.6;

/// The allowed clips of a language, and how many may be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Clips<'a> {
    /// `(n_clips, n_features)`
    pub x: ArrayView2<'a, f32>,
    /// `(n_clips,)`: 0 for nontarget, else the word's number from 1.
    pub classes: &'a [usize],
    /// The number of classes: the words and nontarget.
    pub n_classes: usize,
    /// The most clips that may be chosen.
    pub max_clips: usize,
}

impl Clips<'_> {
    /// The rows of target words and those of nontargets, each ascending.
    pub fn targets_and_nontargets(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.classes.len()).partition(|&row| self.classes[row] > 0)
    }

    /// The numbers of targets and nontargets to choose, if `share` of the clips are targets.
    fn sizes(&self, share: f64) -> (usize, usize) {
        let n = self.max_clips as f64;
        ((n * share) as usize, (n * (1.0 - share)) as usize)
    }
}
