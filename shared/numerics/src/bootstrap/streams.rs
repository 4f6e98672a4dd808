//! Random bits from several generators at once.

use rand_core::Rng;

/// The number of generators side by side: as many as two registers of the widest processors hold.
pub(super) const N_STREAMS: usize = 16;

/// Generators of xoshiro256++ with their states kept word by word, so that one step of vector instructions advances all of them; a
/// single generator would have to wait for its own last step.
///
/// # Source
/// Blackman, D. and Vigna, S. (2021), "Scrambled linear pseudorandom number generators", ACM Transactions on Mathematical Software 47.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    state: [[u64; N_STREAMS]; 4],
}

impl Streams {
    /// Generators with states that another generator draws.
    pub(super) fn drawn_by(random: &mut impl Rng) -> Self {
        Self {
            state: std::array::from_fn(|_| std::array::from_fn(|_| random.next_u64())),
        }
    }

    /// The next 64 random bits of each generator.
    #[inline(always)]
    pub(super) fn next(&mut self) -> [u64; N_STREAMS] {
        let [mut a, mut b, mut c, mut d] = self.state;
        let mut bits = [0; N_STREAMS];
        for n in 0..N_STREAMS {
            bits[n] = a[n].wrapping_add(d[n]).rotate_left(23).wrapping_add(a[n]);
            let shifted = b[n] << 17;
            c[n] ^= a[n];
            d[n] ^= b[n];
            b[n] ^= c[n];
            a[n] ^= d[n];
            c[n] ^= shifted;
            d[n] = d[n].rotate_left(45);
        }
        self.state = [a, b, c, d];
        bits
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn each_is_a_generator_of_the_library() {
        let mut seeds = Xoshiro256PlusPlus::from_seed([9; 32]);
        let mut streams = Streams::drawn_by(&mut seeds);
        let state = streams.state;
        let mut alone: Vec<Xoshiro256PlusPlus> = (0..N_STREAMS)
            .map(|n| {
                let words: Vec<u8> = state.iter().flat_map(|word| word[n].to_le_bytes()).collect();
                Xoshiro256PlusPlus::from_seed(words.try_into().expect("32 bytes"))
            })
            .collect();
        for _ in 0..1_000 {
            for (bits, alone) in streams.next().into_iter().zip(&mut alone) {
                assert_eq!(bits, alone.next_u64());
            }
        }
    }
}
