//! Working memory that starts at the beginning of a cache line.

use std::ops::{Deref, DerefMut};

/// The number of bytes of a cache line, and of the widest registers.
const LINE: usize = 64;

/// Zeros to be overwritten. Reads of 64-byte registers from other addresses touch two cache lines, which takes twice as long.
#[derive(Debug)]
pub(crate) struct Aligned {
    all: Vec<f64>,
    first: usize,
    n: usize,
}

impl Aligned {
    /// `n` zeros.
    pub(crate) fn zeros(n: usize) -> Self {
        let all = vec![0.0; n + LINE / size_of::<f64>() - 1];
        // if the offset can't be computed, the memory is not aligned, which only takes more time
        let first = all.as_ptr().align_offset(LINE).min(all.len() - n);
        Self { all, first, n }
    }

    /// A copy of the numbers.
    pub(crate) fn copy_of(numbers: &[f64]) -> Self {
        let mut copy = Self::zeros(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

impl Deref for Aligned {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.all[self.first..][..self.n]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.all[self.first..][..self.n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_with_a_line() {
        for n in [0, 1, 7, 8, 9, 1000] {
            let numbers: Vec<f64> = (0..n).map(f64::from).collect();
            let copy = Aligned::copy_of(&numbers);
            assert_eq!(*copy, numbers[..]);
            assert_eq!(copy.as_ptr().addr() % LINE, 0, "{n}");
        }
    }
}
