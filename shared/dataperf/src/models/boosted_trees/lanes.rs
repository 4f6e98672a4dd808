//! The search for the features that may hold a node's best split: up to 32 nodes at once, one in each lane.
//!
//! Write G and H for a node's sums, x and h for those of the rows above a cut, u = h + 1 and S = H + 2. With
//! d = x - u G/S the library's gain is
//!
//! ```text
//! x^2/u + (G-x)^2/(S-u)  =  G^2/S + d^2 S / (u (S-u))
//! ```
//!
//! so a cut gains more than a bound B if and only if d^2 > T u (S-u), with T = (B - G^2/S)/S. d is a sum of one number a
//! row. All lanes walk over a feature's rows together, adding their own node's number for that row, 0 where it is not
//! in the node: no lookups, two instructions a row for 32 nodes. Numbers are rounded to 16 bits, and the worst that
//! rounding can do is on the safe side of every comparison: a feature that could hold the best split is never left out,
//! and those that are left in are then looked at exactly. Results don't depend on this file, only the time does.

use pulp::{Arch, Simd, WithSimd};

use super::columns::{BLOCK, TrainingFeatures};
use super::split::{Derivatives, MIN_CHILD_WEIGHT, Sums, TABLE};

/// Nodes searched at once: one register of 16-bit numbers on the widest processors.
pub(super) const LANES: usize = 32;
/// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// How far sums of steps may go from 0.
const MAX_STEPS: f64 = 32_000.0;
/// What S becomes in 16 bits.
const SPAN: f64 = 60_000.0;
/// More than any difference that 32-bit rounding makes between a gain and the formula above.
const FLOAT_SLACK: f64 = 1.0 / (1 << 21) as f64;
/// Above this curvature the bound's curve matters; below, its least value is a good bound.
const MAX_FLAT_CURVATURE: f64 = 9.0;

/// How the bound is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// With its least value over all cuts that leave both children heavy enough.
    Flat,
    /// With its value near each cut.
    Curved,
}

impl Shape {
    /// The shape that suits a node.
    pub(super) fn of(node: Sums) -> Self {
        if node.curvature <= MAX_FLAT_CURVATURE {
            Self::Flat
        } else {
            Self::Curved
        }
    }
}

/// One lane's node and how its numbers are rounded.
#[derive(Debug, Clone, Copy, Default)]
struct Scale {
    sums: Sums,
    whole: f64,
    /// Units a step.
    unit: f64,
    /// The worst error of a sum of steps, in units.
    error: f64,
    /// The sum before the first row, in units.
    start: i16,
    /// The worst error of u (S - u) in 16 bits.
    curve_error: f64,
}

/// The nodes in the lanes.
pub(super) struct Lanes {
    shape: Shape,
    scales: [Scale; LANES],
    n_used: usize,
    /// For each row what it adds to each lane's d.
    steps: Box<[[i16; LANES]; TABLE]>,
    /// For each row what it adds to each lane's u.
    weights: Box<[[u16; LANES]; TABLE]>,
    limits: Limits,
}

/// What the kernels compare with; see [`Lanes::set_bound`].
#[derive(Debug, Clone)]
struct Limits {
    start: [u16; LANES],
    limit: [u16; LANES],
    u_start: [u16; LANES],
    u_span: [u16; LANES],
    curve_error: [u16; LANES],
    least_curve: [u16; LANES],
    slope: [u16; LANES],
    /// Lanes whose bound leaves nothing out.
    always: u32,
}

impl Lanes {
    pub(super) fn new() -> Self {
        Self {
            shape: Shape::Flat,
            scales: [Scale::default(); LANES],
            n_used: 0,
            steps: Box::new([[0; LANES]; TABLE]),
            weights: Box::new([[0; LANES]; TABLE]),
            limits: Limits {
                start: [0; LANES],
                limit: [u16::MAX; LANES],
                u_start: [0; LANES],
                u_span: [0; LANES],
                curve_error: [0; LANES],
                least_curve: [u16::MAX; LANES],
                slope: [u16::MAX; LANES],
                always: 0,
            },
        }
    }

    /// Empties the lanes for nodes of one shape.
    pub(super) fn clear(&mut self, shape: Shape) {
        self.shape = shape;
        self.n_used = 0;
        self.limits.always = 0;
    }

    /// Puts a node into the next lane.
    pub(super) fn push(&mut self, n_rows: usize, rows: &[u16], derivatives: &Derivatives, sums: Sums) {
        let lane = self.n_used;
        self.n_used += 1;
        for steps in &mut self.steps[..=n_rows] {
            steps[lane] = 0;
        }
        let span = sums.curvature + 2.0;
        let slope = sums.gradient / span;
        let step = |row: usize| {
            let (gradient, curvature) = (derivatives.gradients[row], derivatives.curvatures[row]);
            f64::from(gradient) - slope * f64::from(curvature)
        };
        let (mut up, mut down) = (0.0, 0.0);
        for &row in rows {
            let step = step(usize::from(row) % TABLE);
            up += step.max(0.0);
            down -= step.min(0.0);
        }
        let unit = MAX_STEPS / (slope.abs() + up.max(down));
        let (mut above, mut below) = (0.0, 0.0);
        for &row in rows {
            let row = usize::from(row) % TABLE;
            let exact = step(row) * unit;
            let rounded = exact + ROUNDER;
            let error = (rounded - ROUNDER) - exact;
            above += f64::max(error, 0.0);
            below -= f64::min(error, 0.0);
            self.steps[row][lane] = rounded.to_bits() as i16;
        }
        let start = -slope * unit + ROUNDER;
        self.scales[lane] = Scale {
            sums,
            whole: sums.gain().into(),
            unit,
            error: f64::max(above, below) + 0.6,
            start: start.to_bits() as i16,
            curve_error: 0.0,
        };
        if self.shape == Shape::Curved {
            self.push_weights(n_rows, rows, derivatives, lane);
        }
    }

    fn push_weights(&mut self, n_rows: usize, rows: &[u16], derivatives: &Derivatives, lane: usize) {
        for weights in &mut self.weights[..=n_rows] {
            weights[lane] = 0;
        }
        let scale = &mut self.scales[lane];
        let unit = SPAN / (scale.sums.curvature + 2.0);
        let (mut above, mut below) = (0.0, 0.0);
        for &row in rows {
            let row = usize::from(row) % TABLE;
            let exact = f64::from(derivatives.curvatures[row]) * unit;
            let rounded = exact + ROUNDER;
            let error = (rounded - ROUNDER) - exact;
            above += f64::max(error, 0.0);
            below -= f64::min(error, 0.0);
            self.weights[row][lane] = rounded.to_bits() as u16;
        }
        let error = f64::max(above, below) + 0.6;
        scale.curve_error = error + error * error / 65_536.0 + 2.0;
        self.limits.u_start[lane] = (unit + ROUNDER).to_bits() as u16;
        self.limits.u_span[lane] = SPAN as u16;
        self.limits.curve_error[lane] = scale.curve_error as u16 + 1;
        let span = scale.sums.curvature + 2.0;
        let least = 2.0 * MIN_CHILD_WEIGHT * (span - 2.0 * MIN_CHILD_WEIGHT) * (unit * unit / 65_536.0);
        self.limits.least_curve[lane] = least as u16;
    }

    /// Leaves out features that surely gain no more than `loss_change`, or surely less.
    pub(super) fn set_bound(&mut self, lane: usize, loss_change: f32) {
        let Scale {
            sums,
            whole,
            unit,
            error,
            start,
            ..
        } = self.scales[lane];
        let span = sums.curvature + 2.0;
        let bound = (f64::from(loss_change) + whole) * (1.0 - FLOAT_SLACK);
        let steepness = ((bound - sums.gradient * sums.gradient / span) / span).max(0.0) * (1.0 - 1e-9);
        let limits = &mut self.limits;
        if self.shape == Shape::Flat {
            let least = 2.0 * MIN_CHILD_WEIGHT * (span - 2.0 * MIN_CHILD_WEIGHT);
            let limit = (unit * (steepness * least).sqrt() - error).floor();
            let limit = limit.clamp(-1.0, 32_767.0) as i16;
            limits.always &= !(1 << lane);
            limits.always |= u32::from(limit < 0) << lane;
            let limit = limit.max(0);
            // biased, so that one unsigned comparison finds both ends
            limits.start[lane] = start.wrapping_add(limit).cast_unsigned();
            limits.limit[lane] = limit.cast_unsigned() * 2;
        } else {
            let weight_unit = SPAN / span;
            limits.start[lane] = start.cast_unsigned();
            limits.limit[lane] = error.ceil() as u16;
            let slope = steepness * (unit / weight_unit).powi(2) * 65_536.0;
            limits.slope[lane] = slope.min(65_535.0) as u16;
        }
    }

    /// For each feature of the range the lanes in which it may beat the bound, as bits.
    pub(super) fn search(
        &self,
        arch: Arch,
        features: &TrainingFeatures,
        range: std::ops::Range<usize>,
        found: &mut Vec<u32>,
    ) {
        found.clear();
        match self.n_used {
            0..=8 => arch.dispatch(self.kernel::<8>(features, range, found)),
            9..=16 => arch.dispatch(self.kernel::<16>(features, range, found)),
            _ => arch.dispatch(self.kernel::<LANES>(features, range, found)),
        }
        let used = u32::MAX >> (LANES - self.n_used.max(1));
        let always = self.limits.always;
        for lanes in found {
            *lanes = (*lanes | always) & used;
        }
    }

    fn kernel<'a, const WIDTH: usize>(
        &'a self,
        features: &'a TrainingFeatures,
        range: std::ops::Range<usize>,
        found: &'a mut Vec<u32>,
    ) -> Kernel<'a, WIDTH> {
        Kernel {
            lanes: self,
            features,
            range,
            found,
        }
    }
}

/// The search in the first `WIDTH` lanes.
struct Kernel<'a, const WIDTH: usize> {
    lanes: &'a Lanes,
    features: &'a TrainingFeatures,
    range: std::ops::Range<usize>,
    found: &'a mut Vec<u32>,
}

impl<const WIDTH: usize> WithSimd for Kernel<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for feature in self.range {
            let order = self.features.padded_order(feature);
            self.found.push(match self.lanes.shape {
                Shape::Flat => flat::<WIDTH>(self.lanes, order),
                Shape::Curved => curved::<WIDTH>(self.lanes, order),
            });
        }
    }
}

#[inline(always)]
fn first<const WIDTH: usize, T: Copy + Default>(all: &[T; LANES]) -> [T; WIDTH] {
    let mut part = [T::default(); WIDTH];
    part.copy_from_slice(&all[..WIDTH]);
    part
}

#[inline(always)]
fn flat<const WIDTH: usize>(lanes: &Lanes, order: &[[u16; BLOCK]]) -> u32 {
    let mut sums = first::<WIDTH, u16>(&lanes.limits.start);
    let limits = first::<WIDTH, u16>(&lanes.limits.limit);
    let mut highest = [0; WIDTH];
    for block in order {
        for &row in block {
            let steps = &lanes.steps[usize::from(row) % TABLE];
            for lane in 0..WIDTH {
                sums[lane] = sums[lane].wrapping_add(steps[lane].cast_unsigned());
                highest[lane] = highest[lane].max(sums[lane]);
            }
        }
    }
    let mut found = 0;
    for lane in 0..WIDTH {
        found |= u32::from(highest[lane] > limits[lane]) << lane;
    }
    found
}

#[inline(always)]
fn curved<const WIDTH: usize>(lanes: &Lanes, order: &[[u16; BLOCK]]) -> u32 {
    let Limits {
        start,
        limit,
        u_start,
        u_span,
        curve_error,
        least_curve,
        slope,
        ..
    } = &lanes.limits;
    let mut sums = first::<WIDTH, u16>(start);
    let mut u = first::<WIDTH, u16>(u_start);
    let mut curve = [0u16; WIDTH];
    let mut hits = [0u16; WIDTH];
    for block in order {
        let mut farthest = [0u16; WIDTH];
        for &row in block {
            let row = usize::from(row) % TABLE;
            let (steps, weights) = (&lanes.steps[row], &lanes.weights[row]);
            for lane in 0..WIDTH {
                sums[lane] = sums[lane].wrapping_add(steps[lane].cast_unsigned());
                farthest[lane] = farthest[lane].max(sums[lane].cast_signed().unsigned_abs());
                u[lane] = u[lane].wrapping_add(weights[lane]);
            }
        }
        for lane in 0..WIDTH {
            // u (S - u) is concave: within the block it is nowhere less than at one of the ends
            let here = high(u[lane], u_span[lane].saturating_sub(u[lane]));
            let least = here.min(curve[lane]).saturating_sub(curve_error[lane]);
            curve[lane] = here;
            let bound = high(least.max(least_curve[lane]), slope[lane]);
            let distance = farthest[lane].wrapping_add(limit[lane]);
            hits[lane] |= u16::from(high(distance, distance) >= bound);
        }
    }
    let mut found = 0;
    for lane in 0..WIDTH {
        found |= u32::from(hits[lane] != 0) << lane;
    }
    found
}

/// The upper half of a product.
#[inline(always)]
fn high(a: u16, b: u16) -> u16 {
    ((u32::from(a) * u32::from(b)) >> 16) as u16
}
