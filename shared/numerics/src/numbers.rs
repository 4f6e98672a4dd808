//! Numbers in stored form: features that a source writes with few digits take half the bytes of 64-bit floats, in files and in
//! memory, without a change of their values.

/// The most decimals: with more, 32 bits have no room for digits before the point.
pub const MAX_DECIMALS: u32 = 9;

/// Decimal numbers stored as whole numbers: with four decimals, 123 means `0.0123`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decimals {
    scale: f64,
    /// 1 divided by the scale, and the error that rounding leaves in it.
    inverse: f64,
    inverse_rest: f64,
}

impl Decimals {
    /// The encoding of numbers with at most `n` digits after the point. `None` if `n` is above [`MAX_DECIMALS`].
    pub fn new(n: u32) -> Option<Self> {
        (n <= MAX_DECIMALS).then(|| {
            let scale = f64::from(10u32.pow(n));
            let inverse = 1.0 / scale;
            Self {
                scale,
                inverse,
                inverse_rest: (-inverse).mul_add(scale, 1.0) / scale,
            }
        })
    }

    /// The float nearest to the decimal: what parsing its digits gives.
    ///
    /// # Source
    /// Division by multiplication with the inverse in two floats (Brisebarre, Muller and Raina, "Accelerating correctly
    /// rounded floating-point division when the divisor is known in advance", 2004). It is off by at most 2^-104 of the
    /// quotient before it is rounded, and a quotient of 32 by 30 bits is at least 2^-84 of itself away from where
    /// rounding turns.
    pub fn decode(self, whole: i32) -> f64 {
        let whole = f64::from(whole);
        whole.mul_add(self.inverse, whole * self.inverse_rest)
    }

    /// The whole number that [`decode`](Self::decode) turns into `number`; `None` if there is none.
    #[allow(clippy::float_cmp, reason = "whether it is the same number is the question")]
    pub fn encode(self, number: f64) -> Option<i32> {
        let whole = (number * self.scale).round_ties_even();
        let fits = whole.abs() <= f64::from(i32::MAX); // false for what is not finite
        (fits && self.decode(whole as i32) == number).then_some(whole as i32)
    }
}

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoding {
    /// 64-bit floats.
    F64,
    /// 32-bit floats.
    F32,
    /// 32-bit whole numbers that represent decimals.
    Decimals(Decimals),
}

impl Encoding {
    /// Appends the bytes of numbers, little-endian. A number that the encoding can't hold is rounded.
    pub fn encode(self, numbers: &[f64], bytes: &mut Vec<u8>) {
        match self {
            Self::F64 => bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            Self::F32 => bytes.extend(numbers.iter().flat_map(|&number| (number as f32).to_le_bytes())),
            Self::Decimals(decimals) => bytes.extend(numbers.iter().flat_map(|&number| {
                let whole = (number * decimals.scale).round_ties_even();
                (whole as i32).to_le_bytes()
            })),
        }
    }
}

/// Numbers in memory in their stored form.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// 64-bit floats.
    F64(Vec<f64>),
    /// 32-bit floats.
    F32(Vec<f32>),
    /// Decimals as whole numbers.
    Decimals(Vec<i32>, Decimals),
}

impl Stored {
    /// Room for `n` numbers.
    pub fn with_capacity(encoding: Encoding, n: usize) -> Self {
        match encoding {
            Encoding::F64 => Self::F64(Vec::with_capacity(n)),
            Encoding::F32 => Self::F32(Vec::with_capacity(n)),
            Encoding::Decimals(decimals) => Self::Decimals(Vec::with_capacity(n), decimals),
        }
    }

    /// Removes all numbers and keeps the allocated memory.
    pub fn clear(&mut self) {
        match self {
            Self::F64(all) => all.clear(),
            Self::F32(all) => all.clear(),
            Self::Decimals(all, _) => all.clear(),
        }
    }

    /// Appends numbers from their little-endian bytes; bytes at the end that make no whole number are ignored.
    pub fn extend(&mut self, bytes: &[u8]) {
        match self {
            Self::F64(all) => all.extend(bytes.as_chunks().0.iter().copied().map(f64::from_le_bytes)),
            Self::F32(all) => all.extend(bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes)),
            Self::Decimals(all, _) => all.extend(bytes.as_chunks().0.iter().copied().map(i32::from_le_bytes)),
        }
    }

    /// A view of the numbers.
    pub fn view(&self) -> Numbers<'_> {
        match self {
            Self::F64(all) => Numbers::F64(all),
            Self::F32(all) => Numbers::F32(all),
            Self::Decimals(all, decimals) => Numbers::Decimals(all, *decimals),
        }
    }
}

/// A view of [`Stored`] numbers, or of plain floats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Numbers<'a> {
    /// 64-bit floats.
    F64(&'a [f64]),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// Decimals as whole numbers.
    Decimals(&'a [i32], Decimals),
}

impl Numbers<'_> {
    /// The number of numbers.
    pub fn len(self) -> usize {
        match self {
            Self::F64(all) => all.len(),
            Self::F32(all) => all.len(),
            Self::Decimals(all, _) => all.len(),
        }
    }

    /// Whether there are no numbers.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number that a stored 1 represents, up to rounding.
    pub(crate) fn unit(self) -> f64 {
        match self {
            Self::F64(_) | Self::F32(_) => 1.0,
            Self::Decimals(_, decimals) => decimals.inverse,
        }
    }

    /// At most `n` numbers, beginning with the number at `first`.
    pub(crate) fn part(self, first: usize, n: usize) -> Self {
        let range = first..(first + n).min(self.len());
        match self {
            Self::F64(all) => Self::F64(&all[range]),
            Self::F32(all) => Self::F32(&all[range]),
            Self::Decimals(all, decimals) => Self::Decimals(&all[range], decimals),
        }
    }

    /// All numbers as 64-bit floats.
    pub fn to_f64(self) -> Vec<f64> {
        match self {
            Self::F64(all) => all.to_vec(),
            Self::F32(all) => all.iter().map(|&x| x.into()).collect(),
            Self::Decimals(all, decimals) => all.iter().map(|&x| decimals.decode(x)).collect(),
        }
    }

    /// The first number that is NaN or infinite, with its place.
    pub(crate) fn first_not_finite(self) -> Option<(usize, f64)> {
        match self {
            Self::F64(all) => find(all, f64::is_finite),
            Self::F32(all) => find(all, f32::is_finite),
            Self::Decimals(..) => None,
        }
    }
}

/// The first number that does not satisfy `holds`. Whole blocks are tested first, which vectorises.
fn find<T: Copy + Into<f64>>(all: &[T], holds: impl Fn(T) -> bool) -> Option<(usize, f64)> {
    const BLOCK: usize = 256;
    let block = all
        .chunks(BLOCK)
        .position(|block| !block.iter().fold(true, |all, &one| all & holds(one)))?;
    let mut rest = all.iter().enumerate().skip(block * BLOCK);
    rest.find(|&(_, &one)| !holds(one))
        .map(|(at, &one)| (at, one.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimals(n: u32) -> Decimals {
        Decimals::new(n).expect("few enough")
    }

    #[test]
    fn extreme_and_small_numbers_match_their_parsed_digits() {
        for n in 0..=MAX_DECIMALS {
            let near_ends = (i32::MIN + 1..i32::MIN + 999).chain(i32::MAX - 999..=i32::MAX);
            for whole in (-9_999..9_999).chain(near_ends) {
                let parsed: f64 = format!("{whole}e-{n}").parse().expect("a number");
                assert_eq!(
                    decimals(n).decode(whole).to_bits(),
                    (parsed + 0.0).to_bits(),
                    "{whole}e-{n}"
                );
                assert_eq!(decimals(n).encode(parsed), Some(whole));
            }
        }
        assert_eq!(Decimals::new(MAX_DECIMALS + 1), None);
    }

    proptest! {
        #[test]
        fn decoding_divides(whole: i32, n in 0..=MAX_DECIMALS) {
            let quotient = f64::from(whole) / 10f64.powi(n.cast_signed());
            prop_assert_eq!(decimals(n).decode(whole).to_bits(), quotient.to_bits());
        }
    }

    #[test]
    fn other_numbers_are_not_decimals() {
        for number in [
            0.125_000_1,
            1.0 / 3.0,
            2_147.483_648e6,
            f64::NAN,
            f64::INFINITY,
            1e300,
        ] {
            assert_eq!(decimals(6).encode(number), None, "{number}");
        }
        assert_eq!(decimals(6).encode(-0.0), Some(0));
        assert_eq!(decimals(6).encode(0.125), Some(125_000));
    }

    #[test]
    fn every_encoding_gives_the_numbers_back() {
        let numbers = [0.5, -3.25, 0.0, 1e-3 * 125.0];
        for encoding in [Encoding::F64, Encoding::F32, Encoding::Decimals(decimals(3))] {
            let mut bytes = Vec::new();
            encoding.encode(&numbers, &mut bytes);
            let mut stored = Stored::with_capacity(encoding, 4);
            stored.extend(&bytes);
            assert_eq!(stored.view().to_f64(), numbers);
            assert_eq!(stored.view().part(1, 9).to_f64(), numbers[1..]);
        }
    }

    #[test]
    fn the_first_non_finite_number_is_located() {
        let mut numbers = vec![1.0; 1000];
        assert_eq!(Numbers::F64(&numbers).first_not_finite(), None);
        numbers[700] = f64::INFINITY;
        numbers[900] = f64::NAN;
        assert_eq!(
            Numbers::F64(&numbers).first_not_finite(),
            Some((700, f64::INFINITY))
        );
    }
}
