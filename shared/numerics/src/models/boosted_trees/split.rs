//! The exact search for one feature's best split, as the library does it.

use pulp::{Arch, Simd, WithSimd};

use super::MAX_TRAINING_ROWS;
use super::columns::TrainingFeatures;

/// The L2 penalty of a leaf.
const LAMBDA: f64 = 1.0;
/// The least sum of curvatures that a child needs.
pub(super) const MIN_CHILD_WEIGHT: f64 = 1.0;
const LEARNING_RATE: f32 = 0.3;
/// The gain that a split has to exceed.
pub(super) const MIN_LOSS_CHANGE: f32 = 1e-6;
/// The size of tables for the rows of a training set and the padding row.
pub(super) const TABLE: usize = MAX_TRAINING_ROWS + 1;
const _: () = assert!(TABLE.is_power_of_two());

/// Sums over the rows of a node.
///
/// The derivatives are 32-bit floats whose last bits lie within 2^-44. The sums of up to 2^9 of them are exact in any order. For
/// more rows the order is that of the library on one thread: for a node the order of its rows, and for one side of a cut from the
/// largest value down.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) gradient: f64,
    pub(super) curvature: f64,
}

impl Sums {
    #[inline(always)]
    pub(super) fn add(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.curvature += other.curvature;
    }

    /// Twice the amount by which a leaf of these rows lowers the loss.
    #[inline(always)]
    pub(super) fn gain(self) -> f32 {
        (self.gradient * self.gradient / (self.curvature + LAMBDA)) as f32
    }

    /// The value that a leaf of these rows adds to a margin.
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
    /// The derivatives of each row, padded to at least [`TABLE`] entries.
    pub(super) of_rows: Vec<Sums>,
}

impl Derivatives {
    /// Room for the derivatives of `n_rows` rows.
    pub(super) fn new(n_rows: usize) -> Self {
        Self {
            of_rows: vec![Sums::default(); n_rows.max(TABLE)],
        }
    }

    /// The derivatives of a training set of at most [`MAX_TRAINING_ROWS`] rows; an index modulo [`TABLE`] needs no bounds check.
    #[inline(always)]
    #[expect(clippy::expect_used, reason = "there are at least so many")]
    pub(super) fn table(&self) -> &[Sums; TABLE] {
        self.of_rows.first_chunk().expect("at least a table")
    }
}

/// A way to split a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    pub(super) loss_change: f32,
    pub(super) feature: u32,
    pub(super) cut: f32,
}

impl Split {
    /// Whether this split is taken instead of `best`: the one with the higher gain, and of equal gains the lower feature.
    pub(super) fn is_better_than(self, best: Option<Self>) -> bool {
        best.map_or(self.loss_change > MIN_LOSS_CHANGE, |best| {
            self.loss_change > best.loss_change
                || (self.loss_change >= best.loss_change && self.feature < best.feature)
        })
    }
}

/// The known figures of a node whose split is searched.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// 1 for the rows of the node, else 0.
    pub(super) members: [u8; TABLE],
    /// The number of rows of the node.
    pub(super) n_rows: usize,
    pub(super) sums: Sums,
}

impl Candidate {
    /// Of a node with these rows, whose derivatives have these sums.
    pub(super) fn new(rows: &[u32], sums: Sums) -> Self {
        let mut members = [0; TABLE];
        for &row in rows {
            members[row as usize] = 1;
        }
        Self {
            members,
            n_rows: rows.len(),
            sums,
        }
    }
}

/// Working memory of the search.
#[derive(Debug, Clone)]
pub(super) struct SplitScratch {
    rows: [u16; TABLE],
    /// The sums over the rows down to each row.
    sums: [Sums; TABLE],
    loss_changes: [f32; TABLE],
}

impl Default for SplitScratch {
    fn default() -> Self {
        Self {
            rows: [0; TABLE],
            sums: [Sums::default(); TABLE],
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
    /// The best cut, the first from above among equal ones; `None` if there is no place to cut.
    pub(super) fn find(self, arch: Arch) -> Option<Split> {
        arch.dispatch(self)
    }
}

impl WithSimd for BestCut<'_> {
    type Output = Option<Split>;

    #[expect(
        clippy::float_cmp,
        reason = "equal values are one value to the library, others are not"
    )]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Option<Split> {
        let SplitScratch {
            rows,
            sums,
            loss_changes,
        } = self.scratch;
        let n_rows = list_members(self.features.order(self.feature), self.node, rows);
        let rows = &rows[..n_rows];
        let mut sum = Sums::default();
        let derivatives = self.derivatives.table();
        for (sums, &row) in sums.iter_mut().zip(rows) {
            sum.add(derivatives[usize::from(row) % TABLE]);
            *sums = sum;
        }
        // sums of curvature only grow, so the cuts with both sides heavy enough form one range
        let (node, sums) = (self.node.sums, &sums[..n_rows.checked_sub(1)?]);
        let begin = sums.partition_point(|right| right.curvature < MIN_CHILD_WEIGHT);
        let end = sums.partition_point(|right| node.curvature - right.curvature >= MIN_CHILD_WEIGHT);
        let sums = sums.get(begin..end)?;
        let loss_changes = &mut loss_changes[..sums.len()];
        let whole = node.gain();
        for (loss_change, &right) in loss_changes.iter_mut().zip(sums) {
            let left = Sums {
                gradient: node.gradient - right.gradient,
                curvature: node.curvature - right.curvature,
            };
            *loss_change = left.gain() + right.gain() - whole;
        }
        let column = self.features.columns().column(self.feature);
        let value = |place: usize| column[usize::from(rows[place])];
        let mut best: Option<(f32, usize)> = None;
        for (place, &loss_change) in (begin..).zip(&*loss_changes) {
            if best.is_none_or(|(best, _)| loss_change > best) && value(place) != value(place + 1) {
                best = Some((loss_change, place));
            }
        }
        let (loss_change, place) = best?;
        Some(Split {
            loss_change,
            feature: self.feature as u32,
            cut: cut_between(value(place + 1), value(place)),
        })
    }
}

/// The value at which two neighbouring values are separated: one is below it, the other is not.
#[expect(
    clippy::float_cmp,
    reason = "whether there is room between the two is the question"
)]
#[inline(always)]
pub(super) fn cut_between(below: f32, above: f32) -> f32 {
    let middle = (below + above) * 0.5;
    if middle == below { above } else { middle }
}

/// Lists the rows of the order that belong to the node, and returns their number.
#[inline(always)]
fn list_members(order: &[u16], node: &Candidate, rows: &mut [u16; TABLE]) -> usize {
    if node.n_rows == order.len() {
        rows[..order.len()].copy_from_slice(order);
        return order.len();
    }
    let mut n_rows = 0;
    for &row in order {
        rows[n_rows % TABLE] = row;
        n_rows += usize::from(node.members[usize::from(row) % TABLE]);
    }
    n_rows
}
