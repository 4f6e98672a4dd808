//! Random draws from a seed: the same seed gives the same campaign again.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws from a seed.
#[derive(Debug, Clone)]
pub(super) struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The draws with a seed for one purpose: draws for two purposes have nothing in common.
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        let digest = dataperf::Digest::compute(format!("{seed}:{purpose}").as_bytes());
        let begin = u64::from_str_radix(&digest.hex()[..16], 16).unwrap_or(seed);
        Self(Xoshiro256PlusPlus::seed_from_u64(begin))
    }

    /// A whole number below `n`, which is above 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        // 53 bits for a few thousand choices: the bias is beneath notice
        ((self.share() * n as f64) as usize).min(n - 1)
    }

    /// A number from 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something happens that happens with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// One of several.
    pub(super) fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// One of several that is not `but`.
    pub(super) fn another(&mut self, values: &[&'static str], but: &str) -> &'static str {
        let others: Vec<&'static str> = values.iter().copied().filter(|word| *word != but).collect();
        others[self.below(others.len())]
    }

    /// The word with two of its inner letters exchanged; the word itself if it is too short.
    pub(super) fn misspelt(&mut self, word: &str) -> String {
        let mut letters: Vec<char> = word.chars().collect();
        if letters.len() < 5 {
            return word.to_owned();
        }
        let place = 1 + self.below(letters.len() - 3);
        letters.swap(place, place + 1);
        letters.into_iter().collect()
    }
}
