//! The search for the features that may hold a node's best split: up to 32 nodes at once, one in each lane.
//!
//! Write G and H for a node's sums, x and h for those of the rows above a cut, u = h + 1 and S = H + 2. With
//! d = x - u G/S the library's gain is
//!
//! ```text
//! x^2/u + (G-x)^2/(S-u)  =  G^2/S + d^2 S / (u (S-u))
//! ```
//!
//! so a cut gains more than a bound B if and only if d^2 > T u (S-u), with T = (B - G^2/S)/S. d and u are sums of one
//! number a row. All lanes walk over a feature's rows together, adding their own node's numbers for that row, 0 where it
//! is not in the node: there is nothing to look up or to rearrange, and a row costs six instructions for 32 nodes.
//! Numbers are rounded to 16 bits, and the worst that rounding can do is on the safe side of every comparison: a feature
//! that could hold the best split is never left out, and those left in are then looked at exactly. What this file
//! computes decides about time, never about results.

use pulp::{Arch, Simd, WithSimd};

use super::columns::{BLOCK, TrainingFeatures};
use super::split::{Derivatives, MIN_CHILD_WEIGHT, Sums, TABLE};

/// The number of nodes searched at once: one register of 16-bit numbers on the widest processors.
pub(super) const LANES: usize = 32;
/// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// The greatest distance of d from 0, in steps.
const MAX_STEPS: f64 = 32_000.0;
/// The value of S, in steps.
const SPAN: u16 = 60_000;
/// A margin above any difference that 32-bit rounding makes between a gain and the formula above.
const FLOAT_SLACK: f64 = 1.0 / (1 << 21) as f64;

/// For each lane by how much a feature may exceed the bound; 0 if it cannot.
pub(super) type Excess = [u16; LANES];

/// The nodes that are searched, one in each lane.
pub(super) struct Lanes {
    nodes: [Node; LANES],
    n_used: usize,
    /// Each row's contribution to d in each lane.
    steps: Box<[[i16; LANES]; TABLE]>,
    /// Each row's contribution to u in each lane.
    weights: Box<[[u16; LANES]; TABLE]>,
    limits: Limits,
}

/// One lane's node and how its numbers are rounded.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    sums: Sums,
    /// The gain of the node if it is not split.
    whole: f64,
    /// The number of steps in a unit of d.
    d_unit: f64,
    /// The number of steps in a unit of u.
    u_unit: f64,
}

/// The start values and limits of the kernel, in steps; products are divided by 2^16.
#[derive(Debug, Clone, Default)]
struct Limits {
    d_start: [i16; LANES],
    /// The largest error of d.
    d_error: [u16; LANES],
    /// The start of u, which is counted from the least value at which the right child is heavy enough.
    u_start: [u16; LANES],
    u_least: [u16; LANES],
    /// The value of u beyond which the left child is not heavy enough.
    u_most: [u16; LANES],
    /// The largest error of u (S - u), and the least value that it has where a cut is possible.
    curve_error: [u16; LANES],
    curve_least: [u16; LANES],
    /// T.
    slope: [u16; LANES],
}

/// The sum of rounded numbers, and the largest error that rounding can cause in the sum of any part of them.
#[derive(Default)]
struct Rounding {
    above: f64,
    below: f64,
}

impl Rounding {
    /// Rounds to a whole number, in its low 16 bits.
    #[inline(always)]
    fn round(&mut self, exact: f64) -> u16 {
        let rounded = exact + ROUNDER;
        let error = (rounded - ROUNDER) - exact;
        self.above += f64::max(error, 0.0);
        self.below -= f64::min(error, 0.0);
        rounded.to_bits() as u16
    }

    /// The largest error; one more is for the number that the sum begins with.
    fn worst(&self) -> f64 {
        f64::max(self.above, self.below) + 1.0
    }
}

impl Lanes {
    #[expect(clippy::large_stack_arrays, reason = "made once for thousands of searches")]
    pub(super) fn new() -> Self {
        Self {
            nodes: [Node::default(); LANES],
            n_used: 0,
            steps: Box::new([[0; LANES]; TABLE]),
            weights: Box::new([[0; LANES]; TABLE]),
            limits: Limits::default(),
        }
    }

    /// Removes the nodes from all lanes.
    pub(super) fn clear(&mut self) {
        self.n_used = 0;
    }

    /// Puts a node of a training set of `n_rows` into the next lane.
    pub(super) fn push(&mut self, n_rows: usize, rows: &[u32], derivatives: &Derivatives, sums: Sums) {
        let lane = self.n_used;
        self.n_used += 1;
        let span = sums.curvature + 2.0;
        let slope = sums.gradient / span;
        let derivatives = derivatives.table();
        let of_row = |&row: &u32| {
            let row = row as usize % TABLE;
            let Sums { gradient, curvature } = derivatives[row];
            (row, gradient - slope * curvature, curvature)
        };
        let (mut up, mut down) = (0.0, 0.0);
        for (_, step, _) in rows.iter().map(of_row) {
            up += f64::max(step, 0.0);
            down -= f64::min(step, 0.0);
        }
        let d_unit = MAX_STEPS / (slope.abs() + f64::max(up, down)).max(f64::MIN_POSITIVE);
        let u_unit = f64::from(SPAN) / span;
        for row in 0..=n_rows {
            self.steps[row % TABLE][lane] = 0;
            self.weights[row % TABLE][lane] = 0;
        }
        let (mut d_rounding, mut u_rounding) = (Rounding::default(), Rounding::default());
        for (row, step, weight) in rows.iter().map(of_row) {
            self.steps[row][lane] = d_rounding.round(step * d_unit).cast_signed();
            self.weights[row][lane] = u_rounding.round(weight * u_unit);
        }
        self.nodes[lane] = Node {
            sums,
            whole: sums.gain().into(),
            d_unit,
            u_unit,
        };
        let u_error = u_rounding.worst();
        let least = 1.0 + MIN_CHILD_WEIGHT;
        let limits = &mut self.limits;
        limits.d_start[lane] = Rounding::default().round(-slope * d_unit).cast_signed();
        limits.d_error[lane] = d_rounding.worst() as u16 + 1;
        let (lower, upper) = (least * u_unit - u_error, (span - least) * u_unit + u_error);
        limits.u_least[lane] = lower as u16;
        limits.u_start[lane] = (u_unit as u16).wrapping_sub(lower as u16);
        limits.u_most[lane] = upper as u16 + 1 - lower as u16;
        limits.curve_error[lane] = (u_error + u_error * u_error / 65_536.0) as u16 + 3;
        limits.curve_least[lane] = (least * (span - least) * (u_unit * u_unit / 65_536.0)) as u16;
    }

    /// Excludes splits that cannot gain as much as `loss_change` from now on.
    pub(super) fn set_bound(&mut self, lane: usize, loss_change: f32) {
        let node = self.nodes[lane];
        let span = node.sums.curvature + 2.0;
        let bound = (f64::from(loss_change) + node.whole) * (1.0 - FLOAT_SLACK);
        let slope = (bound - node.sums.gradient * node.sums.gradient / span) / span * (1.0 - 1e-9);
        self.limits.slope[lane] = (slope * (node.d_unit / node.u_unit).powi(2) * 65_536.0) as u16;
    }

    /// By how much each of the chosen features may exceed the bounds.
    pub(super) fn search(
        &self,
        arch: Arch,
        features: &TrainingFeatures,
        chosen: &[u16],
        excesses: &mut Vec<Excess>,
    ) {
        excesses.clear();
        match self.n_used {
            0..=8 => arch.dispatch(self.kernel::<8>(features, chosen, excesses)),
            9..=16 => arch.dispatch(self.kernel::<16>(features, chosen, excesses)),
            _ => arch.dispatch(self.kernel::<LANES>(features, chosen, excesses)),
        }
    }

    fn kernel<'a, const WIDTH: usize>(
        &'a self,
        features: &'a TrainingFeatures,
        chosen: &'a [u16],
        excesses: &'a mut Vec<Excess>,
    ) -> Kernel<'a, WIDTH> {
        Kernel {
            lanes: self,
            features,
            chosen,
            excesses,
        }
    }
}

/// The search in the first `WIDTH` lanes.
struct Kernel<'a, const WIDTH: usize> {
    lanes: &'a Lanes,
    features: &'a TrainingFeatures,
    chosen: &'a [u16],
    excesses: &'a mut Vec<Excess>,
}

impl<const WIDTH: usize> WithSimd for Kernel<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for &feature in self.chosen {
            let mut excess = [0; LANES];
            let excesses = walk::<WIDTH>(self.lanes, self.features.cuttable_order(feature.into()));
            excess[..WIDTH].copy_from_slice(&excesses);
            self.excesses.push(excess);
        }
    }
}

/// Passes over one feature's rows from the largest value down. Every statement is one instruction on one register.
#[inline(always)]
fn walk<const WIDTH: usize>(lanes: &Lanes, order: &[[u16; BLOCK]]) -> [u16; WIDTH] {
    let limits = &lanes.limits;
    let mut d = first::<WIDTH, i16>(&limits.d_start);
    let mut u = first::<WIDTH, u16>(&limits.u_start);
    let mut curve = [0; WIDTH];
    let mut excess = [0; WIDTH];
    for block in order {
        let mut farthest = [0; WIDTH];
        for &row in block {
            let row = usize::from(row) % TABLE;
            let (steps, weights) = (&lanes.steps[row], &lanes.weights[row]);
            for lane in 0..WIDTH {
                d[lane] = d[lane].wrapping_add(steps[lane]);
                u[lane] = u[lane].wrapping_add(weights[lane]);
                let distance = if u[lane] <= limits.u_most[lane] {
                    d[lane].unsigned_abs()
                } else {
                    0
                };
                farthest[lane] = u16::max(farthest[lane], distance);
            }
        }
        // u (S - u) is concave: within a block it is nowhere below the lower of its two ends
        let (mut above, mut rest) = ([0; WIDTH], [0; WIDTH]);
        for lane in 0..WIDTH {
            above[lane] = u[lane].wrapping_add(limits.u_least[lane]);
            rest[lane] = SPAN.saturating_sub(above[lane]);
        }
        let curve_before = curve;
        curve = high(&above, &rest);
        let mut least = [0; WIDTH];
        for lane in 0..WIDTH {
            let lower = u16::min(curve[lane], curve_before[lane]).saturating_sub(limits.curve_error[lane]);
            least[lane] = u16::max(lower, limits.curve_least[lane]);
            farthest[lane] = farthest[lane].wrapping_add(limits.d_error[lane]);
        }
        let bound = high(&least, &first(&limits.slope));
        let reached = high(&farthest, &farthest);
        for lane in 0..WIDTH {
            let beyond = reached[lane].wrapping_add(1).saturating_sub(bound[lane]);
            excess[lane] = u16::max(excess[lane], beyond);
        }
    }
    excess
}

#[inline(always)]
fn first<const WIDTH: usize, T: Copy + Default>(all: &[T; LANES]) -> [T; WIDTH] {
    let mut part = [T::default(); WIDTH];
    part.copy_from_slice(&all[..WIDTH]);
    part
}

/// The upper halves of products.
#[inline(always)]
fn high<const WIDTH: usize>(a: &[u16; WIDTH], b: &[u16; WIDTH]) -> [u16; WIDTH] {
    let mut products = [0; WIDTH];
    for lane in 0..WIDTH {
        products[lane] = ((u32::from(a[lane]) * u32::from(b[lane])) >> 16) as u16;
    }
    products
}
