//! Draws of trials: which of the random training sets of a submission count, and how often.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::N_DRAWS;
use super::resampler::below;

/// The trials of each draw: as many as there are, drawn with replacement.
#[derive(Debug, Clone)]
pub struct Trials {
    n_trials: usize,
    /// `(N_DRAWS, n_trials)`, row after row
    drawn: Vec<u32>,
}

impl Trials {
    /// Draws from `n_trials` trials with a seed.
    pub fn new(n_trials: usize, seed: [u8; 32]) -> Self {
        let mut random = Xoshiro256PlusPlus::from_seed(seed);
        let drawn = (0..N_DRAWS * n_trials).map(|_| below(n_trials, random.next_u64()) as u32);
        Self {
            n_trials,
            drawn: drawn.collect(),
        }
    }

    /// The mean of the trials' values under a draw: the mean over all trials, and the deviation of the drawn trials' mean from it,
    /// widened by sqrt(T / (T - 1)), because T of T values, drawn with replacement, vary less than T new values do.
    ///
    /// # Shapes and units
    /// `values`: `(n_trials,)`.
    ///
    /// # Panics
    /// If `values` is of another length, or there is no such draw.
    pub fn mean(&self, draw: usize, values: &[f64]) -> f64 {
        assert_eq!(values.len(), self.n_trials, "one value for each trial");
        let n = values.len();
        let mean = crate::metrics::mean(values);
        if n < 2 {
            return mean;
        }
        let drawn = &self.drawn[draw * n..][..n];
        let drawn: f64 = drawn.iter().map(|&trial| values[trial as usize]).sum();
        let widened = (n as f64 / (n as f64 - 1.0)).sqrt();
        mean + widened * (drawn / n as f64 - mean)
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_means_matches_new_trials() {
        let values = [0.1, 0.5, 0.9, 0.4, 0.6];
        let mean = crate::metrics::mean(&values);
        let of_sample: f64 = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
        let of_seed = |seed| {
            let trials = Trials::new(5, [seed; 32]);
            (0..N_DRAWS).map(move |draw| trials.mean(draw, &values))
        };
        let means: Vec<f64> = (1..21).flat_map(of_seed).collect();
        let n = means.len();
        let variance = means.iter().map(|drawn| (drawn - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((variance / (of_sample / 5.0) - 1.0).abs() < 0.05, "{variance}");
        assert!((crate::metrics::mean(&means) - mean).abs() < 0.005);
    }

    #[test]
    fn one_trial_has_no_deviation() {
        assert_eq!(Trials::new(1, [0; 32]).mean(7, &[0.25]), 0.25);
    }
}
