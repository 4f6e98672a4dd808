//! Which encoding a tensor of a frozen file has, and which one a source's numbers need.

use dataperf_numerics::numbers::{Decimals, Encoding, MAX_DECIMALS};

use crate::dataset::frozen::Dtype;

/// The encoding of a tensor; whole numbers need to know their decimals. `None` when the two don't go together.
pub fn encoding(dtype: Dtype, n_decimals: Option<u32>) -> Option<Encoding> {
    match (dtype, n_decimals) {
        (Dtype::F64, None) => Some(Encoding::F64),
        (Dtype::F32, None) => Some(Encoding::F32),
        (Dtype::I32, Some(n)) => Decimals::new(n).map(Encoding::Decimals),
        _ => None,
    }
}

/// The encodings that hold some numbers exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    f32: bool,
    n_decimals: Vec<u32>,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            f32: true,
            n_decimals: (0..=MAX_DECIMALS).collect(),
        }
    }
}

impl Exact {
    /// Leaves out the encodings that can't hold `numbers`. A negative zero may become a positive one.
    pub fn keep(&mut self, numbers: &[f64]) {
        let is_narrow = |number: &f64| f64::from(*number as f32).total_cmp(number).is_eq();
        self.f32 = self.f32 && numbers.iter().all(is_narrow);
        let all = |&n: &u32| Decimals::new(n).is_some_and(|d| numbers.iter().all(|&x| d.encode(x).is_some()));
        self.n_decimals.retain(all);
    }

    /// Leaves out the encodings that are not in `other`.
    pub fn intersect(&mut self, other: &Self) {
        self.f32 &= other.f32;
        self.n_decimals.retain(|n| other.n_decimals.contains(n));
    }

    /// The smallest encoding that is left, as a tensor's kind and its decimals.
    pub fn best(&self) -> (Dtype, Option<u32>) {
        match self.n_decimals.first() {
            _ if self.f32 => (Dtype::F32, None),
            Some(&n) => (Dtype::I32, Some(n)),
            None => (Dtype::F64, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_exact_encoding_is_chosen() {
        let best = |numbers: &[f64]| {
            let mut exact = Exact::default();
            exact.keep(numbers);
            exact.best()
        };
        assert_eq!(best(&[0.5, -3.0]), (Dtype::F32, None));
        assert_eq!(best(&[0.5, -3.01]), (Dtype::I32, Some(2)));
        assert_eq!(best(&[0.1, 0.123_456_789]), (Dtype::I32, Some(9)));
        assert_eq!(best(&[3.0, 0.123_456_789]), (Dtype::F64, None));
        assert_eq!(best(&[1.0 / 3.0]), (Dtype::F64, None));
        let mut one = Exact::default();
        one.keep(&[0.1]);
        let mut other = Exact::default();
        other.keep(&[0.25, f64::from(0.3_f32)]);
        one.intersect(&other);
        assert_eq!(one.best(), (Dtype::F64, None));
    }

    #[test]
    fn only_whole_numbers_have_decimals() {
        assert_eq!(encoding(Dtype::F64, None), Some(Encoding::F64));
        assert_eq!(encoding(Dtype::F32, None), Some(Encoding::F32));
        assert_eq!(
            encoding(Dtype::I32, Some(3)),
            Decimals::new(3).map(Encoding::Decimals)
        );
        assert_eq!(encoding(Dtype::I32, Some(MAX_DECIMALS + 1)), None);
        assert_eq!(encoding(Dtype::F64, Some(3)), None);
        assert_eq!(encoding(Dtype::I32, None), None);
    }
}
