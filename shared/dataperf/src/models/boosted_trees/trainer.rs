//! Many fits side by side: whatever nodes of whatever fits are open share the lanes of the search.

use std::ops::ControlFlow;

use pulp::Arch;

use super::columns::TrainingFeatures;
use super::grower::{Grower, OpenNode};
use super::lanes::{LANES, Lanes, Shape};
use super::split::{BestCut, Candidate, MIN_LOSS_CHANGE, Split, SplitScratch, TABLE};
use super::BoostedTrees;
use crate::models::FitError;

/// Fits a model to each set of labels, on this thread, and hands each over as it is finished: earlier ones have
/// precedence but may be overtaken. `on_fitted` gets the place of its labels, and can break off.
///
/// # Shapes and units
/// `label_sets`: of `(n_rows,)` each.
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
    found: Vec<u32>,
    scratch: SplitScratch,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(features: &'a TrainingFeatures, arch: Arch) -> Self {
        Self {
            features,
            arch,
            lanes: Lanes::new(),
            searched: Vec::with_capacity(LANES),
            found: Vec::new(),
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
                if let Some(grower) = &mut fits[fit] {
                    grower.settle(self.features, node, best);
                }
            }
        }
    }

    /// Fills the lanes with open nodes of the shape that more of them have. `false` if there are none.
    fn load(&mut self, fits: &mut [Option<Grower>]) -> bool {
        let mut n_of_shape = [0; 2];
        for node in fits.iter().flatten().flat_map(|grower| &grower.open) {
            n_of_shape[Shape::of(node.sums) as usize] += 1;
        }
        let shape = if n_of_shape[0] >= n_of_shape[1] { Shape::Flat } else { Shape::Curved };
        self.lanes.clear(shape);
        let n_rows = self.features.columns().n_rows();
        for (fit, grower) in fits.iter_mut().enumerate() {
            let Some(grower) = grower else { continue };
            let n_free = LANES - self.searched.len();
            let chosen = grower.open.extract_if(.., |node| Shape::of(node.sums) == shape).take(n_free);
            for node in chosen {
                self.lanes.push(n_rows, &node.rows, &grower.derivatives, node.sums);
                self.lanes.set_bound(self.searched.len(), MIN_LOSS_CHANGE);
                let mut members = [0; TABLE];
                for &row in &node.rows {
                    members[usize::from(row)] = 1;
                }
                let sums = node.sums;
                self.searched.push(Searched {
                    fit,
                    node,
                    candidate: Candidate { members, sums },
                    best: None,
                });
            }
        }
        !self.searched.is_empty()
    }

    /// Finds the best split of the node in each lane.
    fn search(&mut self, fits: &[Option<Grower>]) {
        let n_features = self.features.columns().n_features();
        let mut found = std::mem::take(&mut self.found);
        let (mut begin, mut end) = (0, 1);
        while begin < n_features {
            self.lanes.search(self.arch, self.features, begin..end, &mut found);
            for (feature, &lanes) in (begin..).zip(&found) {
                let mut lanes = lanes;
                while lanes != 0 {
                    self.look(fits, feature, lanes.trailing_zeros() as usize);
                    lanes &= lanes - 1;
                }
            }
            (begin, end) = (end, (end * 2).min(n_features));
        }
        self.found = found;
    }

    /// Looks at one feature exactly for the node in one lane.
    fn look(&mut self, fits: &[Option<Grower>], feature: usize, lane: usize) {
        let searched = &mut self.searched[lane];
        let Some(grower) = &fits[searched.fit] else { return };
        let cut = BestCut {
            features: self.features,
            feature,
            node: &searched.candidate,
            derivatives: &grower.derivatives,
            scratch: &mut self.scratch,
        };
        if let Some(split) = cut.find(self.arch).filter(|split| split.is_better_than(searched.best)) {
            searched.best = Some(split);
            self.lanes.set_bound(lane, split.loss_change);
        }
    }
}
