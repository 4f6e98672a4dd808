//! Many fits side by side: the open nodes of all fits share the lanes of the search.

use std::ops::ControlFlow;

use pulp::Arch;

use super::BoostedTrees;
use super::columns::TrainingFeatures;
use super::grower::{Grower, OpenNode};
use super::lanes::{Excess, LANES, Lanes};
use super::split::{BestCut, Candidate, MIN_LOSS_CHANGE, Split, SplitScratch};
use crate::models::FitError;

/// Fits a model to each set of labels on this thread, and hands each model over when it is finished: earlier ones have precedence,
/// but later ones may finish first. `on_fitted` gets the index of the labels, and can stop the fits.
///
/// # Shapes and units
/// `label_sets`: each `(n_rows,)`.
///
/// # Errors
/// [`FitError::LabelCount`].
pub fn fit_each(
    features: &TrainingFeatures,
    label_sets: &[Vec<bool>],
    on_fitted: impl FnMut(usize, BoostedTrees) -> ControlFlow<()>,
) -> Result<(), FitError> {
    Trainer::new(features, Arch::new()).fit_each(label_sets, on_fitted)
}

/// The number of features between two updates of the bounds.
const CHUNK: usize = 64;
/// How often the first chunk of features is passed over again.
const N_REPEATS: usize = 2;

/// A node in a lane.
struct Searched {
    fit: usize,
    node: OpenNode,
    candidate: Candidate,
    best: Option<Split>,
}

pub(super) struct Trainer<'a> {
    features: &'a TrainingFeatures,
    arch: Arch,
    lanes: Lanes,
    searched: Vec<Searched>,
    excesses: Vec<Excess>,
    /// The features, ordered so that those that recently split nodes come first.
    by_promise: Vec<u16>,
    scratch: SplitScratch,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(features: &'a TrainingFeatures, arch: Arch) -> Self {
        Self {
            features,
            arch,
            lanes: Lanes::new(),
            searched: Vec::with_capacity(LANES),
            excesses: Vec::new(),
            by_promise: (0..features.columns().n_features() as u16).collect(),
            scratch: SplitScratch::default(),
        }
    }

    pub(super) fn fit_each(
        &mut self,
        label_sets: &[Vec<bool>],
        mut on_fitted: impl FnMut(usize, BoostedTrees) -> ControlFlow<()>,
    ) -> Result<(), FitError> {
        let n_rows = self.features.columns().n_rows();
        if let Some(labels) = label_sets.iter().find(|labels| labels.len() != n_rows) {
            return Err(FitError::LabelCount {
                n_rows,
                n_labels: labels.len(),
            });
        }
        let mut fits: Vec<Option<Grower>> = Vec::new();
        fits.extend(label_sets.iter().map(|labels| Some(Grower::new(labels))));
        loop {
            for (fit, slot) in fits.iter_mut().enumerate() {
                if let Some(model) = slot.as_mut().and_then(Grower::finished) {
                    *slot = None;
                    if on_fitted(fit, model).is_break() {
                        return Ok(());
                    }
                }
            }
            if !self.load(&mut fits) {
                return Ok(());
            }
            self.search(&fits);
            for Searched { fit, node, best, .. } in self.searched.drain(..) {
                if let Some(split) = best {
                    promote(&mut self.by_promise, split.feature as u16);
                }
                if let Some(grower) = &mut fits[fit] {
                    grower.settle(self.features.columns(), node, best);
                }
            }
        }
    }

    /// Fills the lanes with open nodes, those of earlier fits first; `false` if there are none.
    fn load(&mut self, fits: &mut [Option<Grower>]) -> bool {
        self.lanes.clear();
        let n_rows = self.features.columns().n_rows();
        for (fit, grower) in fits.iter_mut().enumerate() {
            let Some(grower) = grower else { continue };
            let n_free = LANES - self.searched.len();
            let n_chosen = n_free.min(grower.open.len());
            for node in grower.open.drain(..n_chosen) {
                self.lanes
                    .push(n_rows, &node.rows, &grower.derivatives, node.sums);
                self.lanes.set_bound(self.searched.len(), MIN_LOSS_CHANGE);
                self.searched.push(Searched {
                    fit,
                    candidate: Candidate::new(&node.rows, node.sums),
                    node,
                    best: None,
                });
            }
        }
        !self.searched.is_empty()
    }

    /// Finds the best split of the node in each lane.
    ///
    /// Bounds help most when they are tight early. So features that have split other nodes come first, and the first chunk is
    /// passed over again after each node's most promising feature has been examined.
    fn search(&mut self, fits: &[Option<Grower>]) {
        let by_promise = std::mem::take(&mut self.by_promise);
        let mut excesses = std::mem::take(&mut self.excesses);
        for (chunk_idx, chunk) in by_promise.chunks(CHUNK).enumerate() {
            self.lanes.search(self.arch, self.features, chunk, &mut excesses);
            if chunk_idx == 0 {
                for _ in 0..N_REPEATS {
                    for lane in 0..self.searched.len() {
                        let best = (0..excesses.len())
                            .max_by_key(|&place| excesses[place][lane])
                            .unwrap_or(0);
                        if excesses[best][lane] > 0 {
                            self.look(fits, chunk[best], lane);
                        }
                    }
                    self.lanes.search(self.arch, self.features, chunk, &mut excesses);
                }
            }
            for (&feature, excess) in chunk.iter().zip(&excesses) {
                for (lane, &excess) in excess[..self.searched.len()].iter().enumerate() {
                    if excess > 0 {
                        self.look(fits, feature, lane);
                    }
                }
            }
        }
        (self.by_promise, self.excesses) = (by_promise, excesses);
    }

    /// Examines one feature exactly for the node in one lane.
    fn look(&mut self, fits: &[Option<Grower>], feature: u16, lane: usize) {
        let searched = &mut self.searched[lane];
        let Some(grower) = &fits[searched.fit] else { return };
        let cut = BestCut {
            features: self.features,
            feature: feature.into(),
            node: &searched.candidate,
            derivatives: &grower.derivatives,
            scratch: &mut self.scratch,
        };
        if let Some(split) = cut
            .find(self.arch)
            .filter(|split| split.is_better_than(searched.best))
        {
            searched.best = Some(split);
            self.lanes.set_bound(lane, split.loss_change);
        }
    }
}

/// Moves a feature to the front.
fn promote(by_promise: &mut [u16], feature: u16) {
    let place = by_promise.iter().position(|&other| other == feature);
    by_promise[..=place.unwrap_or(0)].rotate_right(1);
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::models::boosted_trees::{Columns, SortedColumns};
    use crate::models::mt19937::Mt19937;
    use crate::simd::architectures;

    /// Examines every feature of every node, one node after another.
    fn exhaustively(features: &TrainingFeatures, labels: &[bool]) -> BoostedTrees {
        let mut grower = Grower::new(labels);
        let mut scratch = SplitScratch::default();
        loop {
            if let Some(model) = grower.finished() {
                return model;
            }
            let node = grower.open.pop().unwrap();
            let candidate = Candidate::new(&node.rows, node.sums);
            let mut best: Option<Split> = None;
            for feature in 0..features.columns().n_features() {
                let cut = BestCut {
                    features,
                    feature,
                    node: &candidate,
                    derivatives: &grower.derivatives,
                    scratch: &mut scratch,
                };
                best = cut
                    .find(Arch::Scalar)
                    .filter(|split| split.is_better_than(best))
                    .or(best);
            }
            grower.settle(features.columns(), node, best);
        }
    }

    #[test]
    fn split_searches_match_on_every_processor() {
        let mut generator = Mt19937::new(11);
        for (n_rows, n_features, n_values) in [
            (300, 300, 1 << 20),
            (511, 64, 7),
            (37, 500, 3),
            (2, 5, 50),
            (120, 1, 1 << 20),
        ] {
            let value = || (generator.next_u32() % n_values) as f32;
            let x = Array2::from_shape_simple_fn((n_rows, n_features), value);
            let rule: Vec<bool> = x
                .rows()
                .into_iter()
                .map(|row| row[0] > row[n_features - 1])
                .collect();
            let features = TrainingFeatures::new(Columns::new(x.view())).unwrap();
            let label_sets: Vec<Vec<bool>> = [1u32, 3, 5, u32::MAX]
                .iter()
                .map(|&rarity| {
                    rule.iter()
                        .map(|rule| rule ^ generator.next_u32().is_multiple_of(rarity))
                        .collect()
                })
                .collect();
            let expected: Vec<BoostedTrees> = label_sets
                .iter()
                .map(|labels| exhaustively(&features, labels))
                .collect();
            for arch in architectures() {
                let fitted = Trainer::new(&features, arch).fit_each(&label_sets, |place, model| {
                    assert_eq!(
                        model, expected[place],
                        "{arch:?}, {n_rows} x {n_features}, labels {place}"
                    );
                    ControlFlow::Continue(())
                });
                fitted.unwrap();
            }
            let sorted = SortedColumns::new(Columns::new(x.view())).unwrap();
            for (labels, expected) in label_sets.iter().zip(&expected) {
                assert_eq!(&sorted.fit(labels).unwrap(), expected, "{n_rows} x {n_features}");
            }
        }
    }
}
