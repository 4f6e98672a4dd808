//! Sums and updates over long vectors.
//!
//! The functions here choose the instruction set by themselves; their `inline` halves are for code
//! that is already inside a dispatched operation.

use pulp::{Arch, Simd, WithSimd};

/// The number of partial sums of a reduction: they fill four registers of eight numbers on the widest processors.
const LANES: usize = 32;
/// The number of numbers in the widest registers; it fills narrower ones too.
pub(crate) const REGISTER: usize = 8;

/// Functions for code that is already compiled for the instruction set in use.
pub(crate) mod inline {
    use super::{LANES, REGISTER, Simd};

    /// Adds up partial sums in a fixed order.
    #[inline(always)]
    fn fold(mut partial: [f64; LANES]) -> f64 {
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            for lane in 0..width {
                partial[lane] += partial[lane + width];
            }
        }
        partial[0]
    }

    /// The numbers as 64-bit floats; once this is inlined they are in registers instead of memory.
    #[inline(always)]
    fn widened<T: Copy + Into<f64>, const M: usize>(numbers: &[T; M]) -> [f64; M] {
        let mut widened = [0.0; M];
        for (to, &from) in widened.iter_mut().zip(numbers) {
            *to = from.into();
        }
        widened
    }

    /// Partial sums of `term(sum, a, b)` over each row and `b`, in `R` registers for each row, all of them kept in registers.
    #[inline(always)]
    fn partial<S: Simd, T: Copy + Into<f64>, const N: usize, const R: usize>(
        simd: S,
        rows: [&[T]; N],
        b: &[f64],
        term: impl Fn(S::f64s, S::f64s, S::f64s) -> S::f64s,
        tail_term: impl Fn(f64, f64, f64) -> f64,
    ) -> [f64; N] {
        let (body, tail) = b.as_chunks::<LANES>();
        let halves = rows.map(|row| row[..b.len()].as_chunks::<LANES>());
        let bodies = halves.map(|(blocks, _)| &blocks[..body.len()]);
        let mut sums = [[simd.splat_f64s(0.0); R]; N];
        for (at, b) in body.iter().enumerate() {
            let b = registers::<S, R>(b);
            for n in 0..N {
                let a = widened(&bodies[n][at]);
                let a = registers::<S, R>(&a);
                for i in 0..R {
                    sums[n][i] = term(sums[n][i], a[i], b[i]);
                }
            }
        }
        // a separate loop that is short enough to be unrolled: an array that is indexed can't be in registers
        let mut partial = [[0.0; LANES]; N];
        for n in 0..N {
            let lanes = S::as_mut_simd_f64s(&mut partial[n]).0;
            #[allow(clippy::manual_memcpy, reason = "a copy of memory would keep the sums there")]
            for i in 0..R {
                lanes[i] = sums[n][i];
            }
        }
        for (partial, (_, a_tail)) in partial.iter_mut().zip(halves) {
            for (sum, (&a, b)) in partial.iter_mut().zip(a_tail.iter().zip(tail)) {
                *sum = tail_term(*sum, a.into(), *b);
            }
        }
        let mut folded = [0.0; N];
        for (folded, partial) in folded.iter_mut().zip(partial) {
            *folded = fold(partial);
        }
        folded
    }

    /// The numbers of all lanes as `R` registers.
    #[inline(always)]
    fn registers<S: Simd, const R: usize>(numbers: &[f64; LANES]) -> &[S::f64s; R] {
        &S::as_simd_f64s(numbers).0.as_chunks::<R>().0[0]
    }

    /// [`partial`] with as many registers as make [`LANES`] lanes.
    #[inline(always)]
    fn reduce<S: Simd, T: Copy + Into<f64>, const N: usize>(
        simd: S,
        rows: [&[T]; N],
        b: &[f64],
        term: impl Fn(S::f64s, S::f64s, S::f64s) -> S::f64s,
        tail_term: impl Fn(f64, f64, f64) -> f64,
    ) -> [f64; N] {
        match S::F64_LANES {
            8 => partial::<S, T, N, 4>(simd, rows, b, term, tail_term),
            4 => partial::<S, T, N, 8>(simd, rows, b, term, tail_term),
            2 => partial::<S, T, N, 16>(simd, rows, b, term, tail_term),
            _ => partial::<S, T, N, 32>(simd, rows, b, term, tail_term),
        }
    }

    /// The inner product of two vectors of one length.
    #[inline(always)]
    pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
        dot_rows(simd, [a], b)[0]
    }

    /// The inner products of some rows with `b`, each as [`dot`] gives it.
    #[inline(always)]
    pub(crate) fn dot_rows<S: Simd, T: Copy + Into<f64>, const N: usize>(
        simd: S,
        rows: [&[T]; N],
        b: &[f64],
    ) -> [f64; N] {
        let term = |sum, a, b| simd.mul_add_f64s(a, b, sum);
        let tail_term = |sum, a: f64, b| a.mul_add(b, sum);
        // the sums of more rows at once stay in registers only if there are 32 registers
        if S::F64_LANES == 8 {
            reduce(simd, rows, b, term, tail_term)
        } else {
            let mut products = [0.0; N];
            for (product, row) in products.iter_mut().zip(rows) {
                *product = reduce(simd, [row], b, term, tail_term)[0];
            }
            products
        }
    }

    /// The squared Euclidean distance of two vectors of one length.
    #[inline(always)]
    pub(crate) fn squared_distance<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
        let term = |sum, a, b| {
            let difference = simd.sub_f64s(a, b);
            simd.mul_add_f64s(difference, difference, sum)
        };
        reduce(simd, [a], b, term, |sum, a, b| (a - b).mul_add(a - b, sum))[0]
    }

    /// `target += factor * x`, elementwise.
    #[inline(always)]
    pub(crate) fn add_scaled<S: Simd>(simd: S, target: &mut [f64], factor: f64, x: &[f64]) {
        add_scaled_rows(simd, target, [factor], [x]);
    }

    /// `target += factor * row`, elementwise, for each row in turn.
    #[inline(always)]
    pub(crate) fn add_scaled_rows<S: Simd, T: Copy + Into<f64>, const N: usize>(
        simd: S,
        target: &mut [f64],
        factors: [f64; N],
        rows: [&[T]; N],
    ) {
        let splats = factors.map(|factor| simd.splat_f64s(factor));
        // a whole block at once: its registers do not wait for each other
        let n_blocks = add_blocks::<S, T, N, LANES>(simd, target, splats, rows);
        let (target, rows) = (&mut target[n_blocks..], rows.map(|row| &row[n_blocks..]));
        let n_registers = add_blocks::<S, T, N, REGISTER>(simd, target, splats, rows);
        for (at, sum) in target.iter_mut().enumerate().skip(n_registers) {
            for n in 0..N {
                *sum = factors[n].mul_add(rows[n][at].into(), *sum);
            }
        }
    }

    /// [`add_scaled_rows`] for the numbers that fill blocks of `M`; returns how many these are.
    #[inline(always)]
    fn add_blocks<S: Simd, T: Copy + Into<f64>, const N: usize, const M: usize>(
        simd: S,
        target: &mut [f64],
        factors: [S::f64s; N],
        rows: [&[T]; N],
    ) -> usize {
        let blocks = target.as_chunks_mut::<M>().0;
        let n_blocks = blocks.len();
        let rows = rows.map(|row| &row.as_chunks::<M>().0[..n_blocks]);
        for (at, target) in blocks.iter_mut().enumerate() {
            let mut sums = *target;
            for n in 0..N {
                let row = widened(&rows[n][at]);
                let row = S::as_simd_f64s(&row).0;
                for (sum, row) in S::as_mut_simd_f64s(&mut sums).0.iter_mut().zip(row) {
                    *sum = simd.mul_add_f64s(factors[n], *row, *sum);
                }
            }
            *target = sums;
        }
        n_blocks * M
    }
}

struct Dot<'a>(&'a [f64], &'a [f64]);

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        inline::dot(simd, self.0, self.1)
    }
}

/// The inner product of two vectors of one length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    Arch::new().dispatch(Dot(a, b))
}

struct AddScaled<'a>(&'a mut [f64], f64, &'a [f64]);

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        inline::add_scaled(simd, self.0, self.1, self.2);
    }
}

/// `target += factor * x`, elementwise.
pub(crate) fn add_scaled(target: &mut [f64], factor: f64, x: &[f64]) {
    Arch::new().dispatch(AddScaled(target, factor, x));
}

/// The largest absolute value, 0 for an empty vector.
pub(crate) fn max_abs(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()))
}

/// The sum in the order that `NumPy` adds in, so that it is rounded as there.
///
/// # Source
/// `NumPy` 1.26, `numpy/core/src/umath/loops_utils.h.src` (`pairwise_sum`).
pub(crate) fn pairwise_sum(values: &[f64]) -> f64 {
    const LEAF: usize = 128;
    if values.len() < 8 {
        return values.iter().fold(0.0, |sum, v| sum + v);
    }
    if values.len() > LEAF {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half - half % 8);
        return pairwise_sum(left) + pairwise_sum(right);
    }
    let (chunks, tail) = values.as_chunks::<8>();
    let mut r = chunks[0];
    for chunk in &chunks[1..] {
        r.iter_mut().zip(chunk).for_each(|(sum, v)| *sum += v);
    }
    let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    tail.iter().fold(sum, |sum, v| sum + v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::architectures;

    struct All<'a>(&'a [f64], &'a [f64]);

    impl WithSimd for All<'_> {
        type Output = [u64; 3];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [u64; 3] {
            let mut target = self.1.to_vec();
            inline::add_scaled(simd, &mut target, 0.3, self.0);
            let sums = [
                inline::dot(simd, self.0, self.1),
                inline::squared_distance(simd, self.0, self.1),
                pairwise_sum(&target),
            ];
            sums.map(f64::to_bits)
        }
    }

    struct Rows<'a>([&'a [i32]; 3], &'a [f64]);

    impl WithSimd for Rows<'_> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut target = self.1.to_vec();
            inline::add_scaled_rows(simd, &mut target, [0.3, -0.1, 7.0], self.0);
            target.extend(inline::dot_rows(simd, self.0, self.1));
            target.into_iter().map(f64::to_bits).collect()
        }
    }

    #[test]
    fn rows_of_whole_numbers_are_those_of_floats() {
        for n in [0, 1, 8, 31, 40, 45, 768, 1030] {
            let b: Vec<f64> = (0..n).map(|k| f64::from(k % 13) - 5.5).collect();
            let rows: [Vec<i32>; 3] = [7_919, -31, 1_000_003].map(|f| (0..n).map(|k| (k + 1) * f).collect());
            let mut expected = b.clone();
            for (row, factor) in rows.iter().zip([0.3, -0.1, 7.0]) {
                let row: Vec<f64> = row.iter().map(|&x| x.into()).collect();
                add_scaled(&mut expected, factor, &row);
            }
            for row in &rows {
                let row: Vec<f64> = row.iter().map(|&x| x.into()).collect();
                expected.push(dot(&row, &b));
            }
            let expected: Vec<u64> = expected.into_iter().map(f64::to_bits).collect();
            for arch in architectures() {
                let slices = [&rows[0][..], &rows[1][..], &rows[2][..]];
                assert_eq!(arch.dispatch(Rows(slices, &b)), expected, "{arch:?}, {n} numbers");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for n in [0, 1, 7, 31, 32, 33, 100, 1024, 1030] {
            let a: Vec<f64> = (0..n).map(|k| 1.0 / f64::from(k + 1)).collect();
            let b: Vec<f64> = (0..n).map(|k| f64::from(k % 13) - 5.5).collect();
            let reference = All(&a, &b).with_simd(pulp::Scalar);
            for arch in architectures() {
                assert_eq!(arch.dispatch(All(&a, &b)), reference, "{arch:?}, {n} values");
            }
            let naive: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((dot(&a, &b) - naive).abs() <= 1e-12, "{n} values");
        }
    }
}
