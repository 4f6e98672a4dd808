//! Mersenne Twister as `NumPy`'s legacy `RandomState` and C++'s `std::mt19937` use it.
//!
//! Both seed the state by the same recurrence, so one generator serves scikit-learn's seeds, the
//! shuffles inside its LIBSVM, and the sampling of markets.

const N: usize = 624;
const M: usize = 397;

/// The 32-bit Mersenne Twister MT19937.
///
/// # Source
/// Matsumoto and Nishimura, "Mersenne twister: a 623-dimensionally equidistributed uniform
/// pseudo-random number generator", ACM TOMACS 8 (1998), with the initialisation of 2002, which is
/// that of `numpy.random.RandomState(seed)` and of `std::mt19937(seed)`.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::mt19937::Mt19937;
/// // the value that the C++ standard requires of the default seed
/// let mut generator = Mt19937::new(5489);
/// assert_eq!((0..10_000).map(|_| generator.next_u32()).last(), Some(4_123_659_995));
/// ```
#[derive(Clone)]
pub struct Mt19937 {
    state: [u32; N],
    next_idx: usize,
}

impl Mt19937 {
    /// Seeds the generator with one 32-bit word.
    pub fn new(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let previous = state[i - 1];
            state[i] = 1_812_433_253u32
                .wrapping_mul(previous ^ (previous >> 30))
                .wrapping_add(i as u32);
        }
        Self { state, next_idx: N }
    }

    /// Returns the next word, uniform over all 32-bit values.
    pub fn next_u32(&mut self) -> u32 {
        if self.next_idx == N {
            self.refill();
        }
        let mut word = self.state[self.next_idx];
        self.next_idx += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for i in 0..N {
            let mixed = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[i] = self.state[(i + M) % N] ^ (mixed >> 1) ^ odd;
        }
        self.next_idx = 0;
    }

    /// Returns an integer in `0..range` by Lemire's multiplication, as scikit-learn's LIBSVM does.
    ///
    /// One word is drawn even when `range` is 1; a `range` of 0 gives 0.
    ///
    /// # Source
    /// Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019);
    /// scikit-learn 1.2.2, `sklearn/svm/src/newrand/newrand.h`.
    pub fn below(&mut self, range: u32) -> u32 {
        let mut product = u64::from(self.next_u32()) * u64::from(range);
        if (product as u32) < range {
            let threshold = range.wrapping_neg() % range;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(range);
            }
        }
        (product >> 32) as u32
    }

    /// Returns an integer in `0..=max` by masking and rejection, as `RandomState.randint` does.
    ///
    /// A `max` of 0 gives 0 and draws nothing.
    ///
    /// # Source
    /// `NumPy` 1.26, `numpy/random/src/distributions/distributions.c` (bounded, masked, 32 bits).
    pub fn up_to(&mut self, max: u32) -> u32 {
        if max == 0 {
            return 0;
        }
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let word = self.next_u32() & mask;
            if word <= max {
                return word;
            }
        }
    }

    /// Draws `size` indices of `0..n` with replacement: `RandomState.choice(n, size, replace=True)`.
    ///
    /// `n` of 0 or 1 gives zeros and draws nothing; so does `size` 0.
    pub fn choice(&mut self, n: u32, size: usize) -> Vec<u32> {
        let max = n.saturating_sub(1);
        (0..size).map(|_| self.up_to(max)).collect()
    }
}

/// The seed that scikit-learn's `SVC(random_state=seed)` hands to LIBSVM:
/// `RandomState(seed).randint(2**31 - 1)`.
pub(crate) fn libsvm_seed(seed: u32) -> u32 {
    seed_below_31_bits(&mut Mt19937::new(seed))
}

/// `generator.randint(2**31 - 1)`: how scikit-learn seeds the generators of its compiled parts.
pub(crate) fn seed_below_31_bits(generator: &mut Mt19937) -> u32 {
    generator.up_to(i32::MAX as u32 - 1)
}
