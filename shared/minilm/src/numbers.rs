//! A transformer's operations on 32-bit numbers. Every sum has a fixed order, so a prompt has the
//! same vector on all processors with AVX2. It is the order of candle 0.11, which embedded the
//! prompts of earlier versions.

use gemm_common::Parallelism;
use ndarray::{Array2, ArrayView2};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

/// The product of two matrices of shapes `(n, k)` and `(k, m)`, row by row.
///
/// # Panics
/// When the shapes don't fit.
pub(crate) fn product(left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>) -> Array2<f32> {
    let ((n, k), (k_right, m)) = (left.dim(), right.dim());
    assert_eq!(k, k_right, "a product of {n} x {k} and {k_right} x {m}");
    let mut out = Array2::zeros((n, m));
    let ([left_row, left_col], [right_row, right_col]) = (strides(&left), strides(&right));
    let threads = Parallelism::Rayon(rayon::current_num_threads());
    // Its kernels write columns of the result, so the code computes the transposed product, of
    // `right` and `left` transposed.
    #[expect(
        unsafe_code,
        clippy::cast_possible_wrap,
        reason = "the kernels take pointers, and strides with a sign"
    )]
    // SAFETY: the pointers and strides are those of views and of an array with `n x k`, `k x m` and `n x m` numbers, and
    // nothing else has a reference to the array, which is in row-major order.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            m,
            n,
            k,
            out.as_mut_ptr(),
            m as isize,
            1,
            false,
            right.as_ptr(),
            right_row,
            right_col,
            left.as_ptr(),
            left_row,
            left_col,
            0.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
    out
}

fn strides(matrix: &ArrayView2<'_, f32>) -> [isize; 2] {
    [matrix.strides()[0], matrix.strides()[1]]
}

/// Scales each row to mean 0 and variance 1, multiplies it by `weight` and adds `bias`.
pub(crate) fn normalise_rows(states: &mut Array2<f32>, weight: &[f32], bias: &[f32], eps: f32) {
    for mut row in states.rows_mut() {
        let n = row.len() as f32;
        let (sum, squares) = row
            .iter()
            .fold((0.0, 0.0), |(sum, squares), &x| (sum + x, squares + x * x));
        let mean = sum / n;
        let variance: f32 = squares / n - mean * mean;
        let scale = (variance + eps).sqrt().recip();
        for (x, (weight, bias)) in row.iter_mut().zip(weight.iter().zip(bias)) {
            *x = (*x - mean) * scale * weight + bias;
        }
    }
}

/// Replaces each row by the exponentials of its numbers, divided by their sum.
pub(crate) fn softmax_rows(scores: &mut Array2<f32>) {
    for mut row in scores.rows_mut() {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.mapv_inplace(|x| (x - largest).exp());
        let total = sum(row.as_slice().unwrap_or_default());
        row.mapv_inplace(|x| x / total);
    }
}

/// The number of partial sums that are added up side by side.
const LANES: usize = 32;

/// The sum of the numbers, in 32 lanes that are then added by halves; numbers that fill no lanes come last.
fn sum(numbers: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = numbers.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    // four registers of eight lanes: the first with the second, the third with the fourth, then these two
    let mut eight = [0.0; 8];
    for (lane, sum) in eight.iter_mut().enumerate() {
        *sum = (lanes[lane] + lanes[lane + 8]) + (lanes[lane + 16] + lanes[lane + 24]);
    }
    let four = [0, 1, 2, 3].map(|lane| eight[lane] + eight[lane + 4]);
    let total = (four[0] + four[1]) + (four[2] + four[3]);
    rest.iter().fold(total, |total, x| total + x)
}

/// The Gaussian error linear unit (Hendrycks and Gimpel 2016) of each number; rows are shared among threads.
pub(crate) fn gelu_rows(states: &mut Array2<f32>) {
    let rows: Vec<_> = states.rows_mut().into_iter().collect();
    rows.into_par_iter().for_each(|mut row| row.mapv_inplace(gelu));
}

/// The Gaussian error linear unit, computed by the error function.
fn gelu(x: f32) -> f32 {
    (libm::erff(x * std::f32::consts::FRAC_1_SQRT_2) + 1.0) * 0.5 * x
}

/// The mean of all rows.
pub(crate) fn mean_row(states: ArrayView2<'_, f32>) -> Vec<f32> {
    let scale = (1.0 / states.nrows() as f64) as f32;
    let mut mean = vec![0.0; states.ncols()];
    for row in states.rows() {
        for (sum, x) in mean.iter_mut().zip(row) {
            *sum += x;
        }
    }
    mean.iter().map(|sum| sum * scale).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;

    fn matrix(rows: usize, cols: usize, seed: usize) -> Array2<f32> {
        Array2::from_shape_fn((rows, cols), |(row, col)| {
            ((row * 31 + col * 17 + seed) % 23) as f32 / 8.0 - 1.0
        })
    }

    #[test]
    fn products_match_plain_loops_in_any_layout() {
        for (n, k, m) in [
            (1, 1, 1),
            (1, 5, 7),
            (3, 4, 1),
            (17, 33, 9),
            (64, 20, 130),
            (2, 0, 3),
        ] {
            let (left, right) = (matrix(n, k, 1), matrix(k, m, 2));
            let expected = Array2::from_shape_fn((n, m), |(row, col)| {
                (0..k)
                    .map(|idx| left[[row, idx]] * right[[idx, col]])
                    .sum::<f32>()
            });
            let turned = right.t().as_standard_layout().into_owned();
            for right in [right.view(), turned.t()] {
                let actual = product(left.view(), right);
                assert!(
                    (&actual - &expected).iter().all(|apart| apart.abs() < 1e-4),
                    "{n} {k} {m}"
                );
            }
        }
    }

    #[test]
    fn rows_are_normalised_and_shares_add_up() {
        let mut states = matrix(3, 50, 4);
        normalise_rows(&mut states, &[2.0; 50], &[1.0; 50], 1e-12);
        for row in states.rows() {
            let mean = row.sum() / 50.0;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 50.0;
            assert!(
                (mean - 1.0).abs() < 1e-5 && (variance - 4.0).abs() < 1e-4,
                "{mean} {variance}"
            );
        }
        let mut scores = matrix(2, 45, 3) * 100.0;
        softmax_rows(&mut scores);
        for row in scores.rows() {
            assert!((row.sum() - 1.0).abs() < 1e-6);
        }
        let mut even = array![[7.0, 7.0, 7.0, 7.0]];
        softmax_rows(&mut even);
        assert_eq!(even, array![[0.25; 4]]);
    }

    #[test]
    fn every_number_is_in_the_sum_once() {
        for n in 0..100 {
            let numbers: Vec<f32> = (1..=n).map(|x| x as f32).collect();
            let expected = (n * (n + 1) / 2) as f32;
            assert_eq!(sum(&numbers).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn gelu_and_means_match_the_literature() {
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_2),
            (3.0, 2.995_950_2),
        ] {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}");
        }
        assert_eq!(
            Array1::from(mean_row(array![[1.0, 2.0], [3.0, 6.0]].view())),
            array![2.0, 4.0]
        );
    }
}
