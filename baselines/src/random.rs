//! The baselines' random numbers come from `NumPy`'s legacy `RandomState`, so a seed gives the same
//! numbers as there.

use dataperf_numerics::models::mt19937::Mt19937;

/// A seeded stream of random choices, the same on every machine.
///
/// # Examples
/// ```
/// use dataperf_baselines::random::Random;
/// // numpy.random.RandomState(7).permutation(5)
/// assert_eq!(Random::new(7).permutation(5), [0, 3, 2, 1, 4]);
/// ```
#[derive(Clone)]
pub struct Random(Mt19937);

impl Random {
    /// The stream of `RandomState(seed)`.
    pub fn new(seed: u32) -> Self {
        Self(Mt19937::new(seed))
    }

    /// A number in `0..n`, the one that `randint(n)` gives with a 32-bit result type; for `n` of 0 or 1 it is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let max = u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX);
        self.0.up_to(max) as usize
    }

    /// Puts `items` into random order, as `shuffle` does.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// `0..n` in random order, the one that `permutation(n)` gives.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        self.shuffle(&mut all);
        all
    }

    /// Chooses `size` different items, those that `choice(items, size, replace=False)` gives, or all of them if there are fewer.
    pub fn choose<T: Copy>(&mut self, items: &[T], size: usize) -> Vec<T> {
        let order = self.permutation(items.len());
        order.into_iter().take(size).map(|idx| items[idx]).collect()
    }
}
