//! L-BFGS as `SciPy` 1.11's `minimize(method="L-BFGS-B")` runs it without bounds.
//!
//! The stopping point is part of the frozen model: a more accurate minimum predicts differently.
//!
//! The direction comes from the two-loop recursion, not from L-BFGS-B's compact matrices, which are
//! equal in exact arithmetic. Rounding grows over a long fit, but either form stays as near to
//! `SciPy` as `SciPy` under one processor's linear algebra to itself under another's: over thirty fits
//! of speech submissions 2e-11 in the coefficients and 2e-9 in the intercepts (geometric means; at
//! worst 5e-9 and 4e-7), in the same number of iterations.

use std::cell::Cell;
use std::collections::VecDeque;

use super::line_search::{Outcome, Search};
use crate::simd::vector::{add_scaled, dot, max_abs};

/// Correction pairs kept.
const MEMORY: usize = 10;
/// Function evaluations of one line search.
const MAX_LINE_SEARCH: usize = 20;
/// The first step is at most this long.
const MAX_STEP: f64 = 1e10;

/// When to stop: scikit-learn 1.2.2's settings for its logistic regression are the default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stopping {
    /// Iterations at most.
    pub max_iterations: usize,
    /// Stop when no component of the gradient is larger.
    pub gradient_tolerance: f64,
    /// Stop when one iteration lowers the value by no more, relative to max(|before|, |after|, 1).
    pub value_tolerance: f64,
    /// Stop after the iteration in which the function has been evaluated more often.
    pub max_evaluations: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        // `ftol`, 1e7 machine epsilons, and `maxfun` are SciPy's defaults
        Self {
            max_iterations: 100,
            gradient_tolerance: 1e-4,
            value_tolerance: 1e7 * f64::EPSILON,
            max_evaluations: 15_000,
        }
    }
}

/// Where a minimisation stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The point.
    pub x: Vec<f64>,
    /// The function's value there.
    pub value: f64,
    /// Iterations done.
    pub n_iter: usize,
}

/// One step and the change of the gradient along it.
struct Correction {
    step: Vec<f64>,
    change: Vec<f64>,
    /// `step . change`
    curvature: f64,
}

/// The limited-memory approximation of the inverse Hessian.
#[derive(Default)]
struct Memory {
    corrections: VecDeque<Correction>,
    /// The inverse of the initial Hessian's scale: `step . change / |change|^2` of the last pair.
    scale: f64,
}

impl Memory {
    fn push(&mut self, correction: Correction) {
        self.scale = correction.curvature / dot(&correction.change, &correction.change);
        if self.corrections.len() == MEMORY {
            self.corrections.pop_front();
        }
        self.corrections.push_back(correction);
    }

    /// Computes the quasi-Newton direction, downhill from `gradient`.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut weights = Vec::with_capacity(MEMORY);
        for c in self.corrections.iter().rev() {
            let weight = dot(&c.step, &d) / c.curvature;
            add_scaled(&mut d, -weight, &c.change);
            weights.push(weight);
        }
        if !self.corrections.is_empty() {
            for d in &mut d {
                *d *= self.scale;
            }
        }
        for (c, weight) in self.corrections.iter().zip(weights.iter().rev()) {
            let correction = weight - dot(&c.change, &d) / c.curvature;
            add_scaled(&mut d, correction, &c.step);
        }
        d
    }
}

/// Minimises a function of `start.len()` variables.
///
/// `evaluate(x, gradient)` returns the value at `x` and overwrites the gradient.
///
/// # Source
/// Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical
/// Programming 45 (1989); the order of the tests and the constants are those of L-BFGS-B 3.0
/// (Byrd, Lu, Nocedal and Zhu, 1995; Morales and Nocedal, 2011) under `SciPy` 1.11.4,
/// `scipy/optimize/_lbfgsb_py.py`, where no variable has a bound.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::lbfgs::{Stopping, minimize};
/// let minimum = minimize(vec![0.0], Stopping::default(), |x, gradient| {
///     gradient[0] = 2.0 * (x[0] - 3.0);
///     (x[0] - 3.0).powi(2)
/// });
/// assert!((minimum.x[0] - 3.0).abs() < 1e-4);
/// ```
pub fn minimize(
    start: Vec<f64>,
    stopping: Stopping,
    evaluate: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Minimum {
    let is_flat = |gradient: &[f64]| max_abs(gradient) <= stopping.gradient_tolerance;
    minimize_until(is_flat, start, stopping, evaluate)
}

/// As [`minimize`], but `is_flat` says of a gradient whether to stop there: its largest component depends on the
/// coordinates, and nothing else here does.
pub(super) fn minimize_until(
    is_flat: impl Fn(&[f64]) -> bool,
    start: Vec<f64>,
    stopping: Stopping,
    mut evaluate: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Minimum {
    let n_evaluations = Cell::new(0);
    let mut evaluate = |x: &[f64], gradient: &mut [f64]| {
        n_evaluations.set(n_evaluations.get() + 1);
        evaluate(x, gradient)
    };
    let mut x = start;
    let mut gradient = vec![0.0; x.len()];
    let mut value = evaluate(&x, &mut gradient);
    let mut memory = Memory::default();
    let mut n_iter = 0;
    if is_flat(&gradient) {
        return Minimum { x, value, n_iter };
    }
    loop {
        let mut direction = memory.direction(&gradient);
        let first_step = if n_iter == 0 {
            (1.0 / dot(&direction, &direction).sqrt()).min(MAX_STEP)
        } else {
            1.0
        };
        let line = Line {
            x: &x,
            gradient: &gradient,
            value,
            direction: &direction,
        };
        let Some(found) = line.search(first_step, &mut evaluate) else {
            // no acceptable step: forget the curvature once, then give up
            if memory.corrections.is_empty() {
                return Minimum { x, value, n_iter };
            }
            memory = Memory::default();
            continue;
        };
        n_iter += 1;
        let before = std::mem::replace(&mut value, found.value);
        x = found.x;
        let decrease = before - value;
        if n_iter >= stopping.max_iterations
            || n_evaluations.get() > stopping.max_evaluations
            || is_flat(&found.gradient)
            || decrease <= stopping.value_tolerance * before.abs().max(value.abs()).max(1.0)
        {
            return Minimum { x, value, n_iter };
        }
        let mut change = std::mem::replace(&mut gradient, found.gradient);
        change
            .iter_mut()
            .zip(&gradient)
            .for_each(|(old, new)| *old = new - *old);
        let curvature = (found.slope - found.first_slope) * found.step;
        if curvature > f64::EPSILON * -found.first_slope * found.step {
            for d in &mut direction {
                *d *= found.step;
            }
            memory.push(Correction {
                step: direction,
                change,
                curvature,
            });
        }
    }
}

/// A ray from the current point.
struct Line<'a> {
    x: &'a [f64],
    gradient: &'a [f64],
    value: f64,
    direction: &'a [f64],
}

/// The point that a line search settles on.
struct Found {
    x: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
    step: f64,
    slope: f64,
    first_slope: f64,
}

impl Line<'_> {
    /// Returns an acceptable point, or `None` if the ray goes uphill or none is found in time.
    fn search(&self, first_step: f64, evaluate: &mut impl FnMut(&[f64], &mut [f64]) -> f64) -> Option<Found> {
        let first_slope = dot(self.gradient, self.direction);
        if first_slope >= 0.0 {
            return None;
        }
        let mut search = Search::new(self.value, first_slope, first_step, MAX_STEP);
        let mut gradient = vec![0.0; self.x.len()];
        for _ in 0..MAX_LINE_SEARCH {
            let step = search.step();
            let x: Vec<f64> = self
                .x
                .iter()
                .zip(self.direction)
                .map(|(x, d)| step * d + x)
                .collect();
            let value = evaluate(&x, &mut gradient);
            let slope = dot(&gradient, self.direction);
            if search.advance(value, slope) == Outcome::Accepted {
                return Some(Found {
                    x,
                    gradient,
                    value,
                    step,
                    slope,
                    first_slope,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Stopping, minimize};

    #[test]
    fn stops_at_the_start_when_the_gradient_vanishes() {
        let found = minimize(vec![1.0, 2.0], Stopping::default(), |_, g| {
            g.fill(1e-5);
            7.0
        });
        assert_eq!((found.n_iter, found.value, found.x), (0, 7.0, vec![1.0, 2.0]));
    }

    #[test]
    fn keeps_the_start_when_no_step_descends() {
        // the gradient points the wrong way, so every trial value is higher
        let found = minimize(vec![0.0], Stopping::default(), |x, g| {
            g[0] = -1.0;
            x[0].abs()
        });
        assert_eq!((found.n_iter, found.x), (0, vec![0.0]));
    }
}
