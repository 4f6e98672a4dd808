//! Euclidean distances between 32-bit vectors, with the same bits on every processor.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis};
use pulp::{Arch, Simd, WithSimd};

/// The number of partial sums of a distance: they fill four registers of the widest processors.
const LANES: usize = 64;

/// The squared Euclidean distance of two vectors of one length.
#[inline(always)]
fn squared_distance<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let n_registers = LANES / S::F32_LANES;
    let n_body = a.len() - a.len() % LANES;
    let ((a, a_tail), (b, b_tail)) = (a.split_at(n_body), b.split_at(n_body));
    let (a, b) = (S::as_simd_f32s(a).0, S::as_simd_f32s(b).0);
    let mut sums = [simd.splat_f32s(0.0); LANES];
    for (a, b) in a.chunks_exact(n_registers).zip(b.chunks_exact(n_registers)) {
        for i in 0..n_registers {
            let difference = simd.sub_f32s(a[i], b[i]);
            sums[i] = simd.mul_add_f32s(difference, difference, sums[i]);
        }
    }
    let mut partial = [0.0; LANES];
    S::as_mut_simd_f32s(&mut partial)
        .0
        .copy_from_slice(&sums[..n_registers]);
    for (lane, (a, b)) in a_tail.iter().zip(b_tail).enumerate() {
        partial[lane] = (a - b).mul_add(a - b, partial[lane]);
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            partial[lane] += partial[lane + width];
        }
    }
    partial[0]
}

/// Computes the distances from one vector to rows that are stored one after another.
struct ToRows<'a> {
    vector: &'a [f32],
    rows: &'a [f32],
    squared: &'a mut [f32],
}

impl WithSimd for ToRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.rows.chunks_exact(self.vector.len());
        for (row, squared) in rows.zip(self.squared) {
            *squared = squared_distance(simd, self.vector, row);
        }
    }
}

/// Writes the squared distances from `vector` to rows of its length, stored one after another, into `squared`: one for each row.
pub fn squared_to_rows(vector: &[f32], rows: &[f32], squared: &mut [f32]) {
    Arch::new().dispatch(ToRows {
        vector,
        rows,
        squared,
    });
}

/// The distances between all rows of `x`: `(n_rows, n_features)` in, `(n_rows, n_rows)` out.
pub fn between_all(x: ArrayView2<f32>) -> Array2<f32> {
    const BLOCK: usize = 32; // rows that stay in the cache
    let x = x.as_standard_layout();
    let rows = x.as_slice().unwrap_or_default();
    let (n_rows, n_features) = x.dim();
    let mut all = Array2::zeros((n_rows, n_rows));
    let blocks = all.axis_chunks_iter_mut(Axis(0), BLOCK).into_par_iter();
    blocks.enumerate().for_each(|(block, mut distances)| {
        for first in (0..n_rows).step_by(BLOCK) {
            let last = (first + BLOCK).min(n_rows);
            for (k, mut distances) in distances.outer_iter_mut().enumerate() {
                let row = &rows[(block * BLOCK + k) * n_features..][..n_features];
                let others = &rows[first * n_features..last * n_features];
                if let Some(distances) = distances.as_slice_mut() {
                    squared_to_rows(row, others, &mut distances[first..last]);
                }
            }
        }
        distances.mapv_inplace(f32::sqrt);
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let value = |i: usize| ((i * 7919 + i * i % 811) % 1009) as f32 / 300.0 - 1.5;
        for n_features in [1, 5, 63, 64, 65, 200] {
            let vector: Vec<f32> = (0..n_features).map(value).collect();
            let rows: Vec<f32> = (0..3 * n_features).map(|i| value(i + 77)).collect();
            let mut expected = [0.0; 3];
            let all = |squared| ToRows {
                vector: &vector,
                rows: &rows,
                squared,
            };
            Arch::Scalar.dispatch(all(&mut expected));
            let mut ours = [0.0; 3];
            squared_to_rows(&vector, &rows, &mut ours);
            assert_eq!(ours.map(f32::to_bits), expected.map(f32::to_bits), "{n_features}");
            for (k, ours) in ours.into_iter().enumerate() {
                let row = &rows[k * n_features..][..n_features];
                let plain: f64 = vector
                    .iter()
                    .zip(row)
                    .map(|(a, b)| f64::from(a - b).powi(2))
                    .sum();
                assert!(
                    (f64::from(ours) - plain).abs() <= 1e-5 * plain,
                    "{ours} instead of {plain}"
                );
            }
        }
    }

    #[test]
    fn all_pairs_are_there() {
        let x = Array2::from_shape_fn((70, 3), |(i, k)| (i * (k + 1)) as f32);
        let all = between_all(x.view());
        for (i, k, expected) in [(0, 1, 14.0), (69, 67, 56.0), (3, 3, 0.0)] {
            assert!((all[[i, k]] - f32::sqrt(expected)).abs() < 1e-5, "{i}, {k}");
        }
        assert_eq!(all, all.t());
    }
}
