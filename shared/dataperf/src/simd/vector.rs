//! Sums and updates over long vectors.
//!
//! The functions here choose the instruction set by themselves; their `inline` halves are for code
//! that is already inside a dispatched operation.

use pulp::{Arch, Simd, WithSimd};

/// Partial sums of a reduction: four registers of eight on the widest processors.
const LANES: usize = 32;

/// Functions for code that is already compiled for the instruction set in use.
pub(crate) mod inline {
    use super::{LANES, Simd};

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

    /// Splits a vector into a part that fills all lanes and the rest.
    #[inline(always)]
    fn split<S: Simd>(vector: &[f64]) -> (&[S::f64s], &[f64]) {
        let (body, tail) = vector.split_at(vector.len() - vector.len() % LANES);
        (S::as_simd_f64s(body).0, tail)
    }

    /// The inner product of two vectors of one length.
    #[inline(always)]
    pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
        dot_rows(simd, [a], b)[0]
    }

    /// The inner products of some rows with `w`, each as [`dot`] gives it.
    #[inline(always)]
    pub(crate) fn dot_rows<S: Simd, const N: usize>(simd: S, rows: [&[f64]; N], w: &[f64]) -> [f64; N] {
        match (S::F64_LANES, N) {
            // what stays in registers: 16 sums of eight lanes
            (8, 4) => {
                let [p, q, r, s] = std::array::from_fn(|n| rows[n]);
                let products = partial_dots::<S, 4>(simd, [p, q, r, s], w);
                std::array::from_fn(|n| fold(products[n]))
            }
            _ => rows.map(|row| fold(partial_dots::<S, 1>(simd, [row], w)[0])),
        }
    }

    #[inline(always)]
    fn partial_dots<S: Simd, const N: usize>(simd: S, rows: [&[f64]; N], w: &[f64]) -> [[f64; LANES]; N] {
        let n_registers = LANES / S::F64_LANES;
        let (body, tail) = split::<S>(w);
        let halves = rows.map(|row| split::<S>(&row[..w.len()]));
        let mut sums = [[simd.splat_f64s(0.0); LANES]; N];
        for (block, w) in body.chunks_exact(n_registers).enumerate() {
            let blocks: [&[S::f64s]; N] =
                std::array::from_fn(|n| &halves[n].0[block * n_registers..][..n_registers]);
            for i in 0..n_registers {
                for n in 0..N {
                    sums[n][i] = simd.mul_add_f64s(blocks[n][i], w[i], sums[n][i]);
                }
            }
        }
        let mut partial = [[0.0; LANES]; N];
        for n in 0..N {
            S::as_mut_simd_f64s(&mut partial[n]).0.copy_from_slice(&sums[n][..n_registers]);
            for (lane, (a, b)) in halves[n].1.iter().zip(tail).enumerate() {
                partial[n][lane] = a.mul_add(*b, partial[n][lane]);
            }
        }
        partial
    }

    /// The squared Euclidean distance of two vectors of one length.
    #[inline(always)]
    pub(crate) fn squared_distance<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
        let n_registers = LANES / S::F64_LANES;
        let ((a, a_tail), (b, b_tail)) = (split::<S>(a), split::<S>(b));
        let mut sums = [simd.splat_f64s(0.0); LANES];
        for (a, b) in a.chunks_exact(n_registers).zip(b.chunks_exact(n_registers)) {
            for i in 0..n_registers {
                let difference = simd.sub_f64s(a[i], b[i]);
                sums[i] = simd.mul_add_f64s(difference, difference, sums[i]);
            }
        }
        let mut partial = [0.0; LANES];
        S::as_mut_simd_f64s(&mut partial)
            .0
            .copy_from_slice(&sums[..n_registers]);
        for (lane, (a, b)) in a_tail.iter().zip(b_tail).enumerate() {
            partial[lane] = (a - b).mul_add(a - b, partial[lane]);
        }
        fold(partial)
    }

    /// `target += factor * x`, elementwise.
    #[inline(always)]
    pub(crate) fn add_scaled<S: Simd>(simd: S, target: &mut [f64], factor: f64, x: &[f64]) {
        add_scaled_rows(simd, target, [factor], [x]);
    }

    /// `target += factor * row`, elementwise, for one row after another.
    #[inline(always)]
    pub(crate) fn add_scaled_rows<S: Simd, const N: usize>(
        simd: S,
        target: &mut [f64],
        factors: [f64; N],
        rows: [&[f64]; N],
    ) {
        let n = target.len();
        let halves = rows.map(|row| S::as_simd_f64s(&row[..n]));
        let splats = factors.map(|factor| simd.splat_f64s(factor));
        let (body, tail) = S::as_mut_simd_f64s(target);
        let bodies: [&[S::f64s]; N] = std::array::from_fn(|n| &halves[n].0[..body.len()]);
        for (at, sum) in body.iter_mut().enumerate() {
            for n in 0..N {
                *sum = simd.mul_add_f64s(splats[n], bodies[n][at], *sum);
            }
        }
        for (at, sum) in tail.iter_mut().enumerate() {
            for n in 0..N {
                *sum = factors[n].mul_add(halves[n].1[at], *sum);
            }
        }
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

/// Sums in the order in which `NumPy` does, so that sums round as they do there.
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
