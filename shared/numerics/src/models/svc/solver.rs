//! Sequential minimal optimisation for a two-class C-SVC, with LIBSVM's every decision.
//!
//! The solution of the dual is unique only up to the tolerance, so which one comes out depends on
//! the order of the steps: the working set rule, its ties, the shrinking schedule and the rounding
//! of the kernel to `f32` are all part of the frozen model.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::models::FitError;

/// The number that replaces a curvature that is not positive.
const TAU: f64 = 1e-12;

/// The parameters of the solution besides the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The penalty C, the upper bound of every dual variable.
    pub(crate) penalty: f64,
    /// Stop when the maximal violation of the optimality conditions is below this.
    pub(crate) tolerance: f64,
    /// The number of steps after which a problem is given up; the library might continue for hours,
    /// or without end.
    pub(crate) max_steps: usize,
    /// The most rows that the steps of all problems of a model look at together.
    pub(crate) max_row_steps: u64,
}

/// How many rows the steps of a model's problems have looked at. Problems that are solved at the same time add to it; whether the sum comes over the
/// limit does not depend on their order.
#[derive(Debug, Default)]
pub(crate) struct RowSteps(AtomicU64);

impl RowSteps {
    fn add(&self, n: u64, limit: u64) -> Result<(), FitError> {
        if self.0.fetch_add(n, Ordering::Relaxed) + n > limit {
            return Err(FitError::NotConverged);
        }
        Ok(())
    }
}

/// After how many steps a problem adds its own to the sum.
const STEPS_OF_A_SUM: usize = 1_000;

/// The solution of one two-class problem.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// `(n_rows,)` dual variables times the sign of their class, in the order of the problem.
    pub(crate) signed_alpha: Vec<f64>,
    /// The offset that a decision value subtracts.
    pub(crate) rho: f64,
}

/// A square kernel matrix, rounded to `f32` as LIBSVM does, and its diagonal, which LIBSVM does not round.
#[derive(Debug)]
pub(crate) struct RoundedKernel {
    /// Row-major, `(n, n)`.
    pub(crate) values: Vec<f32>,
    /// `(n,)`
    pub(crate) diagonal: Vec<f64>,
    /// Side length.
    pub(crate) n: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Lower,
    Free,
    Upper,
}

impl Bound {
    fn new(alpha: f64, penalty: f64) -> Self {
        if alpha >= penalty {
            Self::Upper
        } else if alpha <= 0.0 {
            Self::Lower
        } else {
            Self::Free
        }
    }
}

/// One dual variable with its data; shrinking changes the order of variables.
#[derive(Clone, Copy)]
struct Variable {
    /// Position in the problem as it was given.
    origin_idx: usize,
    /// Row of the kernel matrix.
    kernel_idx: usize,
    /// Its own kernel value.
    square: f64,
    sign: f64,
    alpha: f64,
    bound: Bound,
    gradient: f64,
    /// The part of the gradient that the variables at the upper bound contribute.
    upper_gradient: f64,
}

impl Variable {
    /// Whether the variable may move in the direction of its class sign.
    fn in_up_set(&self) -> bool {
        self.bound
            != if self.sign > 0.0 {
                Bound::Upper
            } else {
                Bound::Lower
            }
    }

    /// Whether the variable may move against its class sign.
    fn in_low_set(&self) -> bool {
        self.bound
            != if self.sign > 0.0 {
                Bound::Lower
            } else {
                Bound::Upper
            }
    }

    /// Whether the variable is at a bound and the gradient keeps it there.
    fn can_be_shrunk(&self, violation: Violation) -> bool {
        let positive = self.sign > 0.0;
        match self.bound {
            Bound::Free => false,
            Bound::Upper => -self.gradient > if positive { violation.up } else { violation.low },
            Bound::Lower => self.gradient > if positive { violation.low } else { violation.up },
        }
    }
}

/// The largest `-y G` over the up set and the largest `y G` over the low set.
#[derive(Clone, Copy)]
struct Violation {
    up: f64,
    low: f64,
}

struct Solver<'a> {
    kernel: &'a RoundedKernel,
    limits: Limits,
    variables: Vec<Variable>,
    n_active: usize,
    unshrunk: bool,
}

/// Solves the dual of a two-class problem.
///
/// `rows` are rows of `kernel` and `positive[k]` tells the class of `rows[k]`; their order is that
/// in which LIBSVM would see them, and matters to ties.
///
/// # Source
/// Fan, Chen and Lin, "Working set selection using second order information for training support
/// vector machines", JMLR 6 (2005), algorithm 2; Chang and Lin, "LIBSVM: a library for support
/// vector machines", ACM TIST 2 (2011), section 5.1 on shrinking; the constants and ties are those
/// of scikit-learn 1.2.2, `sklearn/svm/src/libsvm/svm.cpp`.
///
/// # Errors
/// [`FitError::NotConverged`].
pub(crate) fn solve(
    limits: Limits,
    row_steps: &RowSteps,
    kernel: &RoundedKernel,
    rows: &[usize],
    positive: &[bool],
) -> Result<Solution, FitError> {
    let variables: Vec<Variable> = rows
        .iter()
        .zip(positive)
        .enumerate()
        .map(|(origin_idx, (&kernel_idx, &positive))| Variable {
            origin_idx,
            kernel_idx,
            square: kernel.diagonal[kernel_idx],
            sign: if positive { 1.0 } else { -1.0 },
            alpha: 0.0,
            bound: Bound::Lower,
            gradient: -1.0,
            upper_gradient: 0.0,
        })
        .collect();
    let mut solver = Solver {
        kernel,
        limits,
        n_active: variables.len(),
        variables,
        unshrunk: false,
    };
    solver.run(row_steps)?;
    let rho = solver.rho();
    let mut signed_alpha = vec![0.0; rows.len()];
    for v in &solver.variables {
        signed_alpha[v.origin_idx] = v.alpha * v.sign;
    }
    Ok(Solution { signed_alpha, rho })
}

impl Solver<'_> {
    fn run(&mut self, row_steps: &RowSteps) -> Result<(), FitError> {
        let shrinking_period = self.variables.len().min(1000);
        let mut n_until_shrinking = shrinking_period + 1;
        let (mut own_row_steps, limit) = (0, self.limits.max_row_steps);
        for n_steps in 0..self.limits.max_steps {
            if n_steps % STEPS_OF_A_SUM == 0 {
                row_steps.add(std::mem::take(&mut own_row_steps), limit)?;
            }
            own_row_steps += self.n_active as u64;
            n_until_shrinking -= 1;
            if n_until_shrinking == 0 {
                n_until_shrinking = shrinking_period;
                self.shrink();
            }
            let pair = self.select_working_set().or_else(|| {
                // optimal on the active variables: check the whole problem
                self.activate_all();
                n_until_shrinking = 1;
                self.select_working_set()
            });
            let Some((i, j)) = pair else {
                return row_steps.add(own_row_steps, limit);
            };
            self.step(i, j);
        }
        Err(FitError::NotConverged)
    }

    /// The signed kernel value `y_i y_k K(i, k)`, rounded as LIBSVM stores it.
    #[inline]
    fn q(&self, i: &Variable, k: &Variable) -> f64 {
        let value = f64::from(self.kernel.values[i.kernel_idx * self.kernel.n + k.kernel_idx]);
        // a sign changes no rounding
        i.sign * k.sign * value
    }

    /// Picks the two variables to move, or `None` when the active ones are optimal.
    fn select_working_set(&self) -> Option<(usize, usize)> {
        let active = &self.variables[..self.n_active];
        let mut up = f64::NEG_INFINITY;
        let mut i = None;
        for (t, v) in active.iter().enumerate() {
            let score = -v.sign * v.gradient;
            if v.in_up_set() && score >= up {
                up = score;
                i = Some(t);
            }
        }
        let mut low = f64::NEG_INFINITY;
        let mut best_decrease = f64::INFINITY;
        let mut j = None;
        for (t, v) in active.iter().enumerate().filter(|(_, v)| v.in_low_set()) {
            let score = v.sign * v.gradient;
            if score >= low {
                low = score;
            }
            let difference = up + score;
            let Some(i) = i.filter(|_| difference > 0.0) else {
                continue;
            };
            // y_i y_t Q(i, t) is the kernel value itself
            let curvature =
                active[i].square + v.square - 2.0 * active[i].sign * v.sign * self.q(&active[i], v);
            let curvature = if curvature > 0.0 { curvature } else { TAU };
            let decrease = -(difference * difference) / curvature;
            if decrease <= best_decrease {
                best_decrease = decrease;
                j = Some(t);
            }
        }
        if up + low < self.limits.tolerance {
            None
        } else {
            i.zip(j)
        }
    }

    /// Solves the two-variable problem for `i` and `j` and updates the gradient.
    fn step(&mut self, i: usize, j: usize) {
        let (vi, vj) = (self.variables[i], self.variables[j]);
        let (alpha_i, alpha_j) = two_variable_optimum(&vi, &vj, self.q(&vi, &vj), self.limits.penalty);
        let (delta_i, delta_j) = (alpha_i - vi.alpha, alpha_j - vj.alpha);
        for k in 0..self.n_active {
            let v = self.variables[k];
            self.variables[k].gradient += self.q(&vi, &v) * delta_i + self.q(&vj, &v) * delta_j;
        }
        for (moved, before, alpha) in [(i, vi, alpha_i), (j, vj, alpha_j)] {
            let after = Bound::new(alpha, self.limits.penalty);
            self.variables[moved].alpha = alpha;
            self.variables[moved].bound = after;
            let was_upper = before.bound == Bound::Upper;
            if was_upper != (after == Bound::Upper) {
                let penalty = self.limits.penalty;
                let change = if was_upper { -penalty } else { penalty };
                for k in 0..self.variables.len() {
                    let v = self.variables[k];
                    self.variables[k].upper_gradient += change * self.q(&before, &v);
                }
            }
        }
    }

    fn violation(&self) -> Violation {
        let mut violation = Violation {
            up: f64::NEG_INFINITY,
            low: f64::NEG_INFINITY,
        };
        for v in &self.variables[..self.n_active] {
            let score = v.sign * v.gradient;
            if v.in_up_set() {
                violation.up = violation.up.max(-score);
            }
            if v.in_low_set() {
                violation.low = violation.low.max(score);
            }
        }
        violation
    }

    /// Moves the variables that are likely to stay at their bound behind the active ones.
    fn shrink(&mut self) {
        let violation = self.violation();
        if !self.unshrunk && violation.up + violation.low <= self.limits.tolerance * 10.0 {
            self.unshrunk = true;
            self.activate_all();
        }
        let mut i = 0;
        while i < self.n_active {
            if self.variables[i].can_be_shrunk(violation) {
                self.n_active -= 1;
                while self.n_active > i {
                    if !self.variables[self.n_active].can_be_shrunk(violation) {
                        self.variables.swap(i, self.n_active);
                        break;
                    }
                    self.n_active -= 1;
                }
            }
            i += 1;
        }
    }

    /// Makes every variable active again, with its gradient brought up to date.
    fn activate_all(&mut self) {
        let n = self.variables.len();
        let n_active = self.n_active;
        if n_active == n {
            return;
        }
        let (active, inactive) = self.variables.split_at(n_active);
        let free: Vec<&Variable> = active.iter().filter(|v| v.bound == Bound::Free).collect();
        // LIBSVM sums column by column or row by row, whichever is cheaper; each gradient's terms
        // come in the same order both ways
        let gradients: Vec<f64> = inactive
            .iter()
            .map(|v| {
                free.iter()
                    .fold(v.upper_gradient - 1.0, |sum, f| sum + f.alpha * self.q(f, v))
            })
            .collect();
        for (v, gradient) in self.variables[n_active..].iter_mut().zip(gradients) {
            v.gradient = gradient;
        }
        self.n_active = n;
    }

    /// The mean of `y G` over the free variables, or the middle of its feasible interval.
    fn rho(&self) -> f64 {
        let (mut upper, mut lower) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut n_free, mut sum) = (0usize, 0.0);
        for v in &self.variables[..self.n_active] {
            let score = v.sign * v.gradient;
            match v.bound {
                Bound::Free => {
                    n_free += 1;
                    sum += score;
                }
                Bound::Upper if v.sign < 0.0 => upper = upper.min(score),
                Bound::Lower if v.sign > 0.0 => upper = upper.min(score),
                Bound::Upper | Bound::Lower => lower = lower.max(score),
            }
        }
        if n_free > 0 {
            sum / n_free as f64
        } else {
            f64::midpoint(upper, lower)
        }
    }
}

/// The values that minimise the dual over two variables, within the box and on the constraint.
fn two_variable_optimum(vi: &Variable, vj: &Variable, q_ij: f64, penalty: f64) -> (f64, f64) {
    let opposite = vi.sign * vj.sign < 0.0;
    let curvature = if opposite {
        vi.square + vj.square + 2.0 * q_ij
    } else {
        vi.square + vj.square - 2.0 * q_ij
    };
    let curvature = if curvature <= 0.0 { TAU } else { curvature };
    if opposite {
        let delta = (-vi.gradient - vj.gradient) / curvature;
        let difference = vi.alpha - vj.alpha;
        let (mut alpha_i, mut alpha_j) = (vi.alpha + delta, vj.alpha + delta);
        if difference > 0.0 {
            if alpha_j < 0.0 {
                (alpha_i, alpha_j) = (difference, 0.0);
            }
            if alpha_i > penalty {
                (alpha_i, alpha_j) = (penalty, penalty - difference);
            }
        } else {
            if alpha_i < 0.0 {
                (alpha_i, alpha_j) = (0.0, -difference);
            }
            if alpha_j > penalty {
                (alpha_i, alpha_j) = (penalty + difference, penalty);
            }
        }
        (alpha_i, alpha_j)
    } else {
        let delta = (vi.gradient - vj.gradient) / curvature;
        let sum = vi.alpha + vj.alpha;
        let (mut alpha_i, mut alpha_j) = (vi.alpha - delta, vj.alpha + delta);
        if sum > penalty {
            if alpha_i > penalty {
                (alpha_i, alpha_j) = (penalty, sum - penalty);
            }
            if alpha_j > penalty {
                (alpha_i, alpha_j) = (sum - penalty, penalty);
            }
        } else {
            if alpha_j < 0.0 {
                (alpha_i, alpha_j) = (sum, 0.0);
            }
            if alpha_i < 0.0 {
                (alpha_i, alpha_j) = (0.0, sum);
            }
        }
        (alpha_i, alpha_j)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solver_stops_after_too_many_steps() {
        let x: Vec<f64> = (0..40).map(|i| f64::from(i * 7919 % 101)).collect();
        let kernel = RoundedKernel {
            values: x
                .iter()
                .flat_map(|a| x.iter().map(move |b| (a * b) as f32))
                .collect(),
            diagonal: x.iter().map(|a| a * a).collect(),
            n: x.len(),
        };
        let rows: Vec<usize> = (0..x.len()).collect();
        let positive: Vec<bool> = rows.iter().map(|row| row % 3 == 0).collect();
        let solved = |max_steps, max_row_steps| {
            let limits = Limits {
                penalty: 1.0,
                tolerance: 1e-3,
                max_steps,
                max_row_steps,
            };
            let (first, row_steps) = (RowSteps::default(), RowSteps::default());
            let solved = solve(limits, &first, &kernel, &rows, &positive);
            let n_row_steps = first.0.into_inner();
            // two problems of one model add up
            let twice = [(); 2].map(|()| solve(limits, &row_steps, &kernel, &rows, &positive).is_ok());
            (solved, n_row_steps, twice)
        };
        assert_eq!(solved(9, u64::MAX).0.unwrap_err(), FitError::NotConverged);
        let (solution, n_row_steps, twice) = solved(1_000_000, u64::MAX);
        let solution = solution.unwrap();
        assert_eq!(twice, [true, true]);
        assert!(
            n_row_steps > 40,
            "a step looks at all 40 rows as long as none is set aside"
        );
        assert_eq!(
            solved(1_000_000, n_row_steps - 1).0.unwrap_err(),
            FitError::NotConverged
        );
        let (enough_for_one, _, twice) = solved(1_000_000, 2 * n_row_steps - 1);
        assert!(enough_for_one.is_ok() && twice == [true, false]);
        let sum: f64 = solution.signed_alpha.iter().sum();
        assert!(sum.abs() < 1e-9 && solution.signed_alpha.iter().any(|alpha| *alpha != 0.0));
    }
}
