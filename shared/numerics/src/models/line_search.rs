//! The line search of Moré and Thuente, as MINPACK-2's `dcsrch` inside L-BFGS-B has it.

/// The sufficient decrease, as a share of the first slope.
const VALUE_TOLERANCE: f64 = 1e-3;
/// The largest slope of an accepted point, as a share of the first slope.
const SLOPE_TOLERANCE: f64 = 0.9;
/// The relative width of the interval below which the search ends.
const WIDTH_TOLERANCE: f64 = 0.1;

/// The next step after an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Evaluate at the new [`Search::step`].
    Continue,
    /// The point just evaluated is taken.
    Accepted,
}

/// A trial point on the line.
#[derive(Debug, Clone, Copy)]
struct Trial {
    step: f64,
    value: f64,
    slope: f64,
}

impl Trial {
    /// The same point for the function minus its sufficient-decrease line.
    fn tilted(self, tilt: f64) -> Self {
        Self {
            step: self.step,
            value: self.value - self.step * tilt,
            slope: self.slope - tilt,
        }
    }
}

/// The state of one line search.
///
/// # Source
/// Moré and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM TOMS 20
/// (1994).
#[derive(Debug, Clone)]
pub(crate) struct Search {
    first: Trial,
    /// The endpoint with the least value so far.
    best: Trial,
    /// The other endpoint of the interval.
    other: Trial,
    step: f64,
    max_step: f64,
    bracketed: bool,
    /// Whether sufficient decrease with a rising slope has been seen.
    second_stage: bool,
    low: f64,
    high: f64,
    width: f64,
    previous_width: f64,
}

impl Search {
    /// Starts a search from step 0, where the function has `value` and a negative `slope`.
    pub(crate) fn new(value: f64, slope: f64, first_step: f64, max_step: f64) -> Self {
        let first = Trial {
            step: 0.0,
            value,
            slope,
        };
        Self {
            first,
            best: first,
            other: first,
            step: first_step,
            max_step,
            bracketed: false,
            second_stage: false,
            low: 0.0,
            high: first_step + 4.0 * first_step,
            width: max_step,
            previous_width: 2.0 * max_step,
        }
    }

    /// The step to evaluate.
    pub(crate) fn step(&self) -> f64 {
        self.step
    }

    /// Takes the value and the slope at [`Search::step`] and moves on.
    pub(crate) fn advance(&mut self, value: f64, slope: f64) -> Outcome {
        let trial = Trial {
            step: self.step,
            value,
            slope,
        };
        let tilt = VALUE_TOLERANCE * self.first.slope;
        let line = self.first.value + self.step * tilt;
        if !self.second_stage && value <= line && slope >= 0.0 {
            self.second_stage = true;
        }
        if self.ends_at(trial, line, tilt) {
            return Outcome::Accepted;
        }
        if !self.second_stage && value <= self.best.value && value > line {
            // the decrease is not sufficient: search the tilted function
            self.best = self.best.tilted(tilt);
            self.other = self.other.tilted(tilt);
            self.update_interval(trial.tilted(tilt));
            self.best = self.best.tilted(-tilt);
            self.other = self.other.tilted(-tilt);
        } else {
            self.update_interval(trial);
        }
        self.bound_step();
        Outcome::Continue
    }

    /// Whether the conditions hold at the trial point, or no better point can be expected.
    #[allow(clippy::float_cmp, reason = "the step is compared with values it was set to")]
    fn ends_at(&self, trial: Trial, line: f64, tilt: f64) -> bool {
        let Trial { step, value, slope } = trial;
        let decreased = value <= line;
        let exhausted = self.bracketed
            && (step <= self.low || step >= self.high || self.high - self.low <= WIDTH_TOLERANCE * self.high);
        let at_the_end = step == self.max_step && decreased && slope <= tilt;
        let at_the_start = step == 0.0 && (!decreased || slope >= tilt);
        let converged = decreased && slope.abs() <= SLOPE_TOLERANCE * -self.first.slope;
        exhausted || at_the_end || at_the_start || converged
    }

    /// Bisects an interval that shrinks too slowly and keeps the next step inside it.
    fn bound_step(&mut self) {
        let (best, other) = (self.best.step, self.other.step);
        if self.bracketed {
            if (other - best).abs() >= 0.66 * self.previous_width {
                self.step = best + 0.5 * (other - best);
            }
            self.previous_width = self.width;
            self.width = (other - best).abs();
            self.low = best.min(other);
            self.high = best.max(other);
        } else {
            self.low = self.step + 1.1 * (self.step - best);
            self.high = self.step + 4.0 * (self.step - best);
        }
        self.step = self.step.max(0.0).min(self.max_step);
        let stuck = self.step <= self.low
            || self.step >= self.high
            || self.high - self.low <= WIDTH_TOLERANCE * self.high;
        if self.bracketed && stuck {
            self.step = best;
        }
    }

    /// Chooses the next step and shrinks the interval that contains a minimiser.
    fn update_interval(&mut self, trial: Trial) {
        let opposite = trial.slope * (self.best.slope / self.best.slope.abs()) < 0.0;
        let next = if trial.value > self.best.value {
            self.bracketed = true;
            step_after_rise(self.best, trial)
        } else if opposite {
            self.bracketed = true;
            step_after_turn(self.best, trial)
        } else if trial.slope.abs() < self.best.slope.abs() {
            self.step_after_flattening(trial)
        } else {
            self.step_after_steepening(trial)
        };
        if trial.value > self.best.value {
            self.other = trial;
        } else {
            if opposite {
                self.other = self.best;
            }
            self.best = trial;
        }
        self.step = next;
    }

    /// A lower value, slopes of one sign, and the slope decreases.
    fn step_after_flattening(&self, trial: Trial) -> f64 {
        let best = self.best;
        let forward = trial.step > best.step;
        let (theta, s) = cubic_terms(best, trial);
        let root = ((theta / s).powi(2) - (best.slope / s) * (trial.slope / s))
            .max(0.0)
            .sqrt();
        let gamma = if forward { -(s * root) } else { s * root };
        let r = ((gamma - trial.slope) + theta) / ((gamma + (best.slope - trial.slope)) + gamma);
        let cubic = if r < 0.0 && gamma != 0.0 {
            trial.step + r * (best.step - trial.step)
        } else if forward {
            self.high
        } else {
            self.low
        };
        let secant = secant_step(best, trial);
        let cubic_is_closer = (cubic - trial.step).abs() < (secant - trial.step).abs();
        let cubic_is_farther = (cubic - trial.step).abs() > (secant - trial.step).abs();
        if self.bracketed {
            let next = if cubic_is_closer { cubic } else { secant };
            let limit = trial.step + 0.66 * (self.other.step - trial.step);
            if forward { limit.min(next) } else { limit.max(next) }
        } else {
            let next = if cubic_is_farther { cubic } else { secant };
            self.high.min(next).max(self.low)
        }
    }

    /// A lower value, slopes of one sign, and the slope does not decrease.
    fn step_after_steepening(&self, trial: Trial) -> f64 {
        if !self.bracketed {
            return if trial.step > self.best.step {
                self.high
            } else {
                self.low
            };
        }
        let other = self.other;
        let theta = 3.0 * (trial.value - other.value) / (other.step - trial.step) + other.slope + trial.slope;
        let s = theta.abs().max(other.slope.abs()).max(trial.slope.abs());
        let root = ((theta / s).powi(2) - (other.slope / s) * (trial.slope / s)).sqrt();
        let gamma = if trial.step > other.step {
            -(s * root)
        } else {
            s * root
        };
        let r = ((gamma - trial.slope) + theta) / (((gamma - trial.slope) + gamma) + other.slope);
        trial.step + r * (other.step - trial.step)
    }
}

/// The coefficient and the scale of the cubic through two trials.
fn cubic_terms(best: Trial, trial: Trial) -> (f64, f64) {
    let theta = 3.0 * (best.value - trial.value) / (trial.step - best.step) + best.slope + trial.slope;
    (theta, theta.abs().max(best.slope.abs()).max(trial.slope.abs()))
}

/// The step to which the slopes of two trials extrapolate to zero.
fn secant_step(best: Trial, trial: Trial) -> f64 {
    trial.step + (trial.slope / (trial.slope - best.slope)) * (best.step - trial.step)
}

/// A higher value: between the cubic's and the quadratic's minimum, nearer to the best point.
fn step_after_rise(best: Trial, trial: Trial) -> f64 {
    let (theta, s) = cubic_terms(best, trial);
    let root = ((theta / s).powi(2) - (best.slope / s) * (trial.slope / s)).sqrt();
    let gamma = if trial.step < best.step {
        -(s * root)
    } else {
        s * root
    };
    let r = ((gamma - best.slope) + theta) / (((gamma - best.slope) + gamma) + trial.slope);
    let reach = trial.step - best.step;
    let cubic = best.step + r * reach;
    let quadratic =
        best.step + ((best.slope / ((best.value - trial.value) / reach + best.slope)) / 2.0) * reach;
    if (cubic - best.step).abs() < (quadratic - best.step).abs() {
        cubic
    } else {
        cubic + (quadratic - cubic) / 2.0
    }
}

/// A lower value and slopes of opposite signs: the farther of the cubic's and the secant's minimum.
fn step_after_turn(best: Trial, trial: Trial) -> f64 {
    let (theta, s) = cubic_terms(best, trial);
    let root = ((theta / s).powi(2) - (best.slope / s) * (trial.slope / s)).sqrt();
    let gamma = if trial.step > best.step {
        -(s * root)
    } else {
        s * root
    };
    let r = ((gamma - trial.slope) + theta) / (((gamma - trial.slope) + gamma) + best.slope);
    let cubic = trial.step + r * (best.step - trial.step);
    let secant = secant_step(best, trial);
    if (cubic - trial.step).abs() > (secant - trial.step).abs() {
        cubic
    } else {
        secant
    }
}
