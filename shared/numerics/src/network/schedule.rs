//! The order of the images, the number of steps, and the rate of each step.

use super::parameters::Step;
use super::shape::BATCH;
use crate::models::mt19937::Mt19937;

/// How often training goes through all images, unless one of the limits below applies.
const ROUNDS: usize = 10;
const LEAST_STEPS: usize = 600;
/// The most steps, those of ten rounds of 10,000 images: they bound the time.
const MOST_STEPS: usize = 1563;
const PEAK_RATE: f64 = 0.05;
const MOMENTUM: f32 = 0.9;
const DECAY: f32 = 5e-4;

/// The rows of the training set, repeated without end, each time in a new order.
pub(super) struct Order {
    rows: Vec<usize>,
    next: usize,
    generator: Mt19937,
}

impl Order {
    /// An order of the rows below `n_rows`, which is at least 1.
    pub(super) fn new(n_rows: usize, generator: Mt19937) -> Self {
        Self {
            rows: vec![0; n_rows],
            next: n_rows,
            generator,
        }
    }

    /// The next row of `numpy.random.RandomState.permutation(n_rows)`, which is drawn again when it
    /// is used up.
    pub(super) fn next_row(&mut self) -> usize {
        if self.next == self.rows.len() {
            self.next = 0;
            self.shuffle();
        }
        self.next += 1;
        self.rows[self.next - 1]
    }

    fn shuffle(&mut self) {
        for (at, row) in self.rows.iter_mut().enumerate() {
            *row = at;
        }
        for last in (1..self.rows.len()).rev() {
            let other = self.generator.up_to(last as u32) as usize;
            self.rows.swap(last, other);
        }
    }
}

/// The number of steps for training on `n_images` images.
pub(super) fn n_steps(n_images: usize) -> usize {
    n_images
        .saturating_mul(ROUNDS)
        .div_ceil(BATCH)
        .clamp(LEAST_STEPS, MOST_STEPS)
}

/// The step after `n_done` steps. The rate rises linearly over the first tenth of the steps, and then falls linearly.
pub(super) fn step(n_done: usize, n_steps: usize) -> Step {
    let n_rising = n_steps / 10;
    let number = n_done + 1;
    let share = if number <= n_rising {
        number as f64 / n_rising as f64
    } else {
        (n_steps + 1 - number) as f64 / (n_steps - n_rising) as f64
    };
    Step {
        rate: (PEAK_RATE * share) as f32,
        momentum: MOMENTUM,
        decay: DECAY,
    }
}
