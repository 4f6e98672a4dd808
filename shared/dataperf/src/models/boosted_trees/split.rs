//! The exact search for one feature's best split, as the library does it.

use pulp::{Arch, Simd, WithSimd};

use super::MAX_TRAINING_ROWS;
use super::columns::TrainingFeatures;

/// L2 penalty of a leaf.
const LAMBDA: f64 = 1.0;
/// A child needs at least this curvature.
pub(super) const MIN_CHILD_WEIGHT: f64 = 1.0;
const LEARNING_RATE: f32 = 0.3;
/// A split has to gain more than this.
pub(super) const MIN_LOSS_CHANGE: f32 = 1e-6;
/// Room for the rows of a training set and the row that is none.
pub(super) const TABLE: usize = MAX_TRAINING_ROWS + 1;
const _: () = assert!(TABLE.is_power_of_two());

/// Sums over the rows of a node.
///
/// The derivatives are 32-bit floats whose last bits lie within 2^-44, and there are at most 2^9 of them, so these sums
/// are exact, whatever their order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) gradient: f64,
    pub(super) curvature: f64,
}

impl Sums {
    #[inline(always)]
    pub(super) fn add(&mut self, gradient: f32, curvature: f32) {
        self.gradient += f64::from(gradient);
        self.curvature += f64::from(curvature);
    }

    /// What a leaf of these rows takes off the loss, twice.
    #[inline(always)]
    pub(super) fn gain(self) -> f32 {
        (self.gradient * self.gradient / (self.curvature + LAMBDA)) as f32
    }

    /// What such a leaf adds to a margin.
    pub(super) fn leaf_value(self) -> f32 {
        if self.curvature < MIN_CHILD_WEIGHT {
            return 0.0;
        }
        (-self.gradient / (self.curvature + LAMBDA)) as f32 * LEARNING_RATE
    }
}

/// The derivatives of every row's loss in one round.
#[derive(Debug, Clone)]
pub(super) struct Derivatives {
    pub(super) gradients: [f32; TABLE],
    pub(super) curvatures: [f32; TABLE],
}

/// A way to split a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    pub(super) loss_change: f32,
    pub(super) feature: u32,
    pub(super) cut: f32,
}

impl Split {
    /// Whether this one is taken rather than `best`: the higher gain, of equals the lower feature.
    pub(super) fn is_better_than(self, best: Option<Self>) -> bool {
        best.map_or(self.loss_change > MIN_LOSS_CHANGE, |best| {
            self.loss_change > best.loss_change
                || (self.loss_change >= best.loss_change && self.feature < best.feature)
        })
    }
}

/// What is known of a node while its split is searched.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// 1 for the rows of the node, else 0.
    pub(super) members: [u8; TABLE],
    pub(super) sums: Sums,
}

/// Working memory of the search.
#[derive(Debug, Clone)]
pub(super) struct SplitScratch {
    rows: [u16; TABLE],
    values: [f32; TABLE],
    gradients: [f64; TABLE],
    curvatures: [f64; TABLE],
    loss_changes: [f32; TABLE],
}

impl Default for SplitScratch {
    fn default() -> Self {
        Self {
            rows: [0; TABLE],
            values: [0.0; TABLE],
            gradients: [0.0; TABLE],
            curvatures: [0.0; TABLE],
            loss_changes: [0.0; TABLE],
        }
    }
}

/// The search for the best cut of one feature.
pub(super) struct BestCut<'a> {
    pub(super) features: &'a TrainingFeatures,
    pub(super) feature: usize,
    pub(super) node: &'a Candidate,
    pub(super) derivatives: &'a Derivatives,
    pub(super) scratch: &'a mut SplitScratch,
}

impl BestCut<'_> {
    /// The first of the best cuts from above. `None` when there is no place to cut.
    pub(super) fn find(self, arch: Arch) -> Option<Split> {
        arch.dispatch(self)
    }
}

impl WithSimd for BestCut<'_> {
    type Output = Option<Split>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Option<Split> {
        let scratch = self.scratch;
        let n = list_members(self.features.order(self.feature), &self.node.members, &mut scratch.rows);
        let column = self.features.columns().column(self.feature);
        let mut sums = Sums::default();
        for k in 0..n.min(TABLE) {
            let row = usize::from(scratch.rows[k]) % TABLE;
            sums.add(self.derivatives.gradients[row], self.derivatives.curvatures[row]);
            scratch.values[k] = column[row];
            scratch.gradients[k] = sums.gradient;
            scratch.curvatures[k] = sums.curvature;
        }
        let n_cuts = n.checked_sub(1)?;
        loss_changes(self.node.sums, n_cuts, scratch);
        let mut best = (f32::NEG_INFINITY, 0);
        for (k, &loss_change) in scratch.loss_changes[..n_cuts].iter().enumerate() {
            if loss_change > best.0 {
                best = (loss_change, k);
            }
        }
        let (loss_change, k) = best;
        if loss_change == f32::NEG_INFINITY {
            return None;
        }
        let (above, below) = (scratch.values[k], scratch.values[k + 1]);
        let middle = (below + above) * 0.5;
        Some(Split {
            loss_change,
            feature: self.feature as u32,
            cut: if middle == below { above } else { middle },
        })
    }
}

/// Lists the rows of an order that belong to the node, and says how many they are.
#[inline(always)]
fn list_members(order: &[u16], members: &[u8; TABLE], rows: &mut [u16; TABLE]) -> usize {
    let mut n = 0;
    for &row in order {
        rows[n % TABLE] = row;
        n += usize::from(members[usize::from(row) % TABLE]);
    }
    n
}

/// What each cut gains, negative infinity where there may be none.
#[inline(always)]
fn loss_changes(node: Sums, n_cuts: usize, scratch: &mut SplitScratch) {
    let (above, below) = (&scratch.values[..n_cuts], &scratch.values[1..=n_cuts]);
    let (gradients, curvatures) = (&scratch.gradients[..n_cuts], &scratch.curvatures[..n_cuts]);
    let to = &mut scratch.loss_changes[..n_cuts];
    let whole = node.gain();
    for k in 0..n_cuts {
        let right = Sums {
            gradient: gradients[k],
            curvature: curvatures[k],
        };
        let left = Sums {
            gradient: node.gradient - right.gradient,
            curvature: node.curvature - right.curvature,
        };
        let may_cut = (above[k] != below[k])
            & (left.curvature >= MIN_CHILD_WEIGHT)
            & (right.curvature >= MIN_CHILD_WEIGHT);
        let loss_change = left.gain() + right.gain() - whole;
        to[k] = if may_cut { loss_change } else { f32::NEG_INFINITY };
    }
}
