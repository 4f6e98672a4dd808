//! L-BFGS as `SciPy` 1.11's `minimize(method="L-BFGS-B")` runs it without bounds.
//!
//! The stopping point is part of the frozen model: a more accurate minimum predicts differently.
//!
//! The direction comes from the two-loop recursion, not from L-BFGS-B's compact matrices, which are
//! equal in exact arithmetic. Rounding grows over a long fit, but either form stays as near to
//! `SciPy` as `SciPy` under one processor's linear algebra to itself under another's: over thirty fits
//! of speech submissions 2e-11 in the coefficients and 2e-9 in the intercepts (geometric means; at
//! worst 5e-9 and 4e-7), in the same number of iterations.

use std::collections::VecDeque;

use super::line_search::{Outcome, Search};
use crate::simd::vector::{add_scaled, dot};

/// The number of correction pairs that are kept.
const MEMORY: usize = 10;
/// The most function evaluations in one line search.
const MAX_LINE_SEARCH: usize = 20;
/// The greatest length of the first step.
const MAX_STEP: f64 = 1e10;

/// When to stop: scikit-learn 1.2.2's settings for its logistic regression are the default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stopping {
    /// The most iterations.
    pub(super) max_iterations: usize,
    /// The minimisation stops when no component of the gradient is larger than this.
    pub(super) gradient_tolerance: f64,
    /// The minimisation stops when one iteration lowers the value by no more than this, relative to max(|before|, |after|, 1).
    pub(super) value_tolerance: f64,
    /// The minimisation stops after the iteration in which the function has been evaluated more often than this.
    pub(super) max_evaluations: usize,
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

/// The end point of a minimisation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Minimum {
    /// The point.
    pub(super) x: Vec<f64>,
    /// The number of iterations.
    pub(super) n_iter: usize,
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

/// A minimisation that asks for one evaluation at a time, so that several can go on side by side.
///
/// # Source
/// Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical
/// Programming 45 (1989); the order of the tests and the constants are those of L-BFGS-B 3.0
/// (Byrd, Lu, Nocedal and Zhu, 1995; Morales and Nocedal, 2011) under `SciPy` 1.11.4,
/// `scipy/optimize/_lbfgsb_py.py`, where no variable has a bound.
pub(super) struct Minimizer<F> {
    is_flat: F,
    stopping: Stopping,
    /// The current point; the value and the gradient at it follow.
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    memory: Memory,
    /// The current line search; `None` before the first evaluation.
    line: Option<Line>,
    point: Vec<f64>,
    n_iter: usize,
    n_evaluations: usize,
}

/// A search along a ray from the current point.
struct Line {
    direction: Vec<f64>,
    first_slope: f64,
    search: Search,
    n_tried: usize,
}

impl<F: Fn(&[f64]) -> bool> Minimizer<F> {
    pub(super) fn new(is_flat: F, start: Vec<f64>, stopping: Stopping) -> Self {
        Self {
            is_flat,
            stopping,
            x: start.clone(),
            value: 0.0,
            gradient: vec![0.0; start.len()],
            memory: Memory::default(),
            line: None,
            point: start,
            n_iter: 0,
            n_evaluations: 0,
        }
    }

    /// The point at which the function's value and gradient are needed.
    pub(super) fn point(&self) -> &[f64] {
        &self.point
    }

    /// Takes the value and the gradient at [`Self::point`]; returns whether the minimisation has ended.
    pub(super) fn advance(&mut self, value: f64, gradient: &[f64]) -> bool {
        self.n_evaluations += 1;
        let Some(mut line) = self.line.take() else {
            self.value = value;
            self.gradient.copy_from_slice(gradient);
            return (self.is_flat)(gradient) || self.begin_line();
        };
        let (step, slope) = (line.search.step(), dot(gradient, &line.direction));
        if line.search.advance(value, slope) == Outcome::Accepted {
            return self.accept(line, step, (value, slope), gradient) || self.begin_line();
        }
        line.n_tried += 1;
        if line.n_tried == MAX_LINE_SEARCH {
            return self.forget() || self.begin_line();
        }
        self.try_along(line);
        false
    }

    /// The point where the minimisation has stopped.
    pub(super) fn end(self) -> Minimum {
        Minimum {
            x: self.x,
            n_iter: self.n_iter,
        }
    }

    /// Begins a search along the quasi-Newton direction; returns whether there is no such search.
    fn begin_line(&mut self) -> bool {
        loop {
            let direction = self.memory.direction(&self.gradient);
            let first_step = if self.n_iter == 0 {
                (1.0 / dot(&direction, &direction).sqrt()).min(MAX_STEP)
            } else {
                1.0
            };
            let first_slope = dot(&self.gradient, &direction);
            if first_slope >= 0.0 {
                if self.forget() {
                    return true;
                }
                continue;
            }
            self.try_along(Line {
                search: Search::new(self.value, first_slope, first_step, MAX_STEP),
                direction,
                first_slope,
                n_tried: 0,
            });
            return false;
        }
    }

    /// Asks for the point at the search's step.
    fn try_along(&mut self, line: Line) {
        let step = line.search.step();
        let along = self.x.iter().zip(&line.direction);
        self.point
            .iter_mut()
            .zip(along)
            .for_each(|(point, (x, d))| *point = step * d + x);
        self.line = Some(line);
    }

    /// Handles a search without an acceptable step: forgets the curvature the first time, and then gives up; returns whether it
    /// gives up.
    fn forget(&mut self) -> bool {
        if self.memory.corrections.is_empty() {
            return true;
        }
        self.memory = Memory::default();
        false
    }

    /// Moves to the point of a step, and stores the curvature along it; returns whether the minimisation has ended.
    fn accept(&mut self, line: Line, step: f64, (value, slope): (f64, f64), gradient: &[f64]) -> bool {
        self.n_iter += 1;
        let before = std::mem::replace(&mut self.value, value);
        self.x.copy_from_slice(&self.point);
        let decrease = before - value;
        if self.n_iter >= self.stopping.max_iterations
            || self.n_evaluations > self.stopping.max_evaluations
            || (self.is_flat)(gradient)
            || decrease <= self.stopping.value_tolerance * before.abs().max(value.abs()).max(1.0)
        {
            return true;
        }
        let mut change = std::mem::replace(&mut self.gradient, gradient.to_vec());
        change
            .iter_mut()
            .zip(gradient)
            .for_each(|(old, new)| *old = new - *old);
        let Line {
            mut direction,
            first_slope,
            ..
        } = line;
        let curvature = (slope - first_slope) * step;
        if curvature > f64::EPSILON * -first_slope * step {
            for d in &mut direction {
                *d *= step;
            }
            self.memory.push(Correction {
                step: direction,
                change,
                curvature,
            });
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Minimizer, Minimum, Stopping};
    use crate::simd::vector::max_abs;

    /// Minimises a function, which returns the value at a point and overwrites the gradient.
    fn minimize(start: Vec<f64>, mut evaluate: impl FnMut(&[f64], &mut [f64]) -> f64) -> Minimum {
        let stopping = Stopping::default();
        let mut gradient = vec![0.0; start.len()];
        let is_flat = |gradient: &[f64]| max_abs(gradient) <= stopping.gradient_tolerance;
        let mut minimizer = Minimizer::new(is_flat, start, stopping);
        loop {
            let value = evaluate(minimizer.point(), &mut gradient);
            if minimizer.advance(value, &gradient) {
                return minimizer.end();
            }
        }
    }

    #[test]
    fn finds_the_minimum_of_a_parabola() {
        let minimum = minimize(vec![0.0], |x, g| {
            g[0] = 2.0 * (x[0] - 3.0);
            (x[0] - 3.0).powi(2)
        });
        assert!((minimum.x[0] - 3.0).abs() < 1e-4, "{minimum:?}");
    }

    #[test]
    fn stops_at_the_start_when_the_gradient_vanishes() {
        let minimum = minimize(vec![1.0, 2.0], |_, g| {
            g.fill(1e-5);
            7.0
        });
        assert_eq!((minimum.n_iter, minimum.x), (0, vec![1.0, 2.0]));
    }

    #[test]
    fn keeps_the_start_when_no_step_descends() {
        // the gradient points the wrong way, so every trial value is higher
        let minimum = minimize(vec![0.0], |x, g| {
            g[0] = -1.0;
            x[0].abs()
        });
        assert_eq!((minimum.n_iter, minimum.x), (0, vec![0.0]));
    }
}
