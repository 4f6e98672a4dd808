//! The eigenvalues of a symmetric matrix, without its eigenvectors.

use ndarray::{Array2, ArrayView1, s};

/// Rotations that one eigenvalue may take. It takes two on average; ten have never been seen.
const MAX_STEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, in no particular order; correct to some epsilons of the largest.
///
/// # Panics
/// When the matrix is not square.
///
/// # Source
/// Golub and Van Loan, Matrix Computations, 4th edition: 8.3.1, Householder tridiagonalization. Bowdler, Martin, Reinsch and
/// Wilkinson 1968, "The QR and QL algorithms for symmetric matrices": the implicit QL algorithm.
pub(crate) fn symmetric_eigenvalues(matrix: Array2<f64>) -> Vec<f64> {
    assert!(matrix.is_square(), "only square matrices have eigenvalues");
    let (mut diagonal, mut beside) = tridiagonal(matrix);
    let n = diagonal.len();
    let largest = diagonal
        .iter()
        .chain(&beside)
        .fold(0.0, |most: f64, x| most.max(x.abs()));
    for first in 0..n {
        for _ in 0..MAX_STEPS {
            let is_zero = |idx: &usize| {
                let around = diagonal[*idx].abs() + diagonal[idx + 1].abs();
                beside[*idx].abs() <= f64::EPSILON * around.max(1e-3 * largest)
            };
            let last = (first..n - 1).find(is_zero).unwrap_or(n - 1);
            if last == first {
                break;
            }
            step(&mut diagonal, &mut beside, first, last);
        }
    }
    diagonal
}

/// A tridiagonal matrix with the same eigenvalues: its diagonal, and what is beside that.
fn tridiagonal(mut matrix: Array2<f64>) -> (Vec<f64>, Vec<f64>) {
    let n = matrix.nrows();
    let mut beside = Vec::with_capacity(n);
    for col in 0..n.saturating_sub(1) {
        let mut v = matrix.slice(s![col + 1.., col]).to_owned();
        let length = v.dot(&v).sqrt();
        if col + 2 == n || length == 0.0 {
            beside.push(v[0]);
            continue;
        }
        let reflected = -length.copysign(v[0]);
        beside.push(reflected);
        v[0] -= reflected;
        let scale = 2.0 / v.dot(&v);
        let mut rest = matrix.slice_mut(s![col + 1.., col + 1..]);
        let product = rest.dot(&v) * scale;
        let w = &product - &(&v * (scale / 2.0 * v.dot(&product)));
        for (row_idx, mut row) in rest.rows_mut().into_iter().enumerate() {
            row.scaled_add(-v[row_idx], &w);
            row.scaled_add(-w[row_idx], &v);
        }
    }
    let diagonal: ArrayView1<'_, f64> = matrix.diag();
    (diagonal.to_vec(), beside)
}

/// One step of the implicit QL algorithm on the rows `first..=last`.
fn step(diagonal: &mut [f64], beside: &mut [f64], first: usize, last: usize) {
    let length = |x: f64, y: f64| (x * x + y * y).sqrt();
    let g = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
    let shift = beside[first] / (g + length(g, 1.0).copysign(g));
    let mut g = diagonal[last] - diagonal[first] + shift;
    let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
    for idx in (first..last).rev() {
        let (f, b) = (sine * beside[idx], cosine * beside[idx]);
        let r = length(f, g);
        if idx + 1 < last {
            beside[idx + 1] = r;
        }
        if r == 0.0 {
            diagonal[idx + 1] -= moved;
            return;
        }
        (sine, cosine) = (f / r, g / r);
        let g_next = diagonal[idx + 1] - moved;
        let turned = (diagonal[idx] - g_next) * sine + 2.0 * cosine * b;
        moved = sine * turned;
        diagonal[idx + 1] = g_next + moved;
        g = cosine * turned - b;
    }
    diagonal[first] -= moved;
    beside[first] = g;
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;

    fn sorted(matrix: Array2<f64>) -> Vec<f64> {
        let mut found = symmetric_eigenvalues(matrix);
        found.sort_by(f64::total_cmp);
        found
    }

    fn assert_near(matrix: Array2<f64>, mut expected: Vec<f64>, about: &str) {
        expected.sort_by(f64::total_cmp);
        let largest = expected.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let found = sorted(matrix);
        assert_eq!(found.len(), expected.len(), "{about}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() < 1e-13 * largest,
                "{about}: {found} {expected}"
            );
        }
    }

    /// Numbers from -1 to 1, always the same.
    fn drawn(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// A matrix with these eigenvalues, turned by a few reflections.
    fn with_spectrum(spectrum: &[f64], state: &mut u64) -> Array2<f64> {
        let mut matrix = Array2::from_diag(&Array1::from(spectrum.to_vec()));
        for _ in 0..3 {
            let v = Array1::from_shape_fn(spectrum.len(), |_| drawn(state));
            let v = &v / v.dot(&v).sqrt();
            let column = v.view().insert_axis(ndarray::Axis(1));
            let reflection = Array2::eye(spectrum.len()) - &column.dot(&column.t()) * 2.0;
            matrix = reflection.dot(&matrix).dot(&reflection);
        }
        matrix
    }

    #[test]
    fn small_matrices_by_hand() {
        assert_near(Array2::zeros((0, 0)), vec![], "nothing");
        assert_near(array![[3.0]], vec![3.0], "one");
        assert_near(array![[2.0, 1.0], [1.0, 2.0]], vec![1.0, 3.0], "two");
        assert_near(Array2::zeros((5, 5)), vec![0.0; 5], "zeros");
        assert_near(Array2::eye(6), vec![1.0; 6], "ones");
        assert_near(
            Array2::from_elem((7, 7), 1.0 / 7.0),
            [vec![0.0; 6], vec![1.0]].concat(),
            "one direction",
        );
    }

    #[test]
    fn the_second_difference_has_the_spectrum_that_the_literature_gives() {
        for n in [2, 3, 10, 75, 200] {
            let matrix = Array2::from_shape_fn((n, n), |(row, col)| match row.abs_diff(col) {
                0 => 2.0,
                1 => -1.0,
                _ => 0.0,
            });
            let angle = |k: usize| k as f64 * std::f64::consts::PI / (n as f64 + 1.0);
            assert_near(
                matrix,
                (1..=n).map(|k| 2.0 - 2.0 * angle(k).cos()).collect(),
                "second difference",
            );
        }
    }

    #[test]
    fn turned_matrices_keep_their_spectra() {
        let mut state = 1;
        for n in [3, 4, 17, 60, 130] {
            let spread: Vec<f64> = (0..n).map(|_| drawn(&mut state)).collect();
            let clustered: Vec<f64> = (0..n).map(|idx| f64::from(u8::from(idx % 3 == 0))).collect();
            let steep: Vec<f64> = (0..n as i32).map(|idx| 0.5_f64.powi(idx)).collect();
            for spectrum in [spread, clustered, steep] {
                let matrix = with_spectrum(&spectrum, &mut state);
                assert_near(matrix, spectrum.clone(), &format!("{spectrum:?}"));
            }
        }
    }
}
