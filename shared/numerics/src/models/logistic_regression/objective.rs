//! The function that a fit minimises.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::numbers::Numbers;
use crate::simd::aligned::Aligned;
use crate::simd::vector::inline::{add_scaled_rows, dot_rows};
use crate::simd::vector::{REGISTER, pairwise_sum};
use crate::simd::{exp, vector};

/// The number of rows whose losses and gradients one task adds up; it is fixed, so that the number of threads changes no bit.
const CHUNK_ROWS: usize = 64;
/// The number of chunks that are worth another thread.
const MIN_CHUNKS: usize = 4;
/// The number of rows that are multiplied together: with the usual numbers of features they stay in the first-level cache.
const ROWS_AT_ONCE: usize = 4;

/// The penalised losses and gradients of one or more fits to the same rows.
///
/// Parameters are vector after vector, the intercept last in each.
pub(super) struct Objective<'a> {
    /// `(n_rows, n_features)`
    pub(super) features: Numbers<'a>,
    pub(super) n_features: usize,
    pub(super) n_vectors: usize,
    /// The factor of the penalty, 1/C.
    pub(super) penalty: f64,
}

/// A point of one fit at which the loss and the gradient are to be computed.
pub(super) struct Point<'a> {
    /// `(n_rows,)`
    pub(super) targets: &'a [usize],
    /// The parameters.
    pub(super) w: &'a [f64],
    /// The gradient, which is overwritten.
    pub(super) gradient: &'a mut [f64],
    /// The loss, which is overwritten.
    pub(super) value: f64,
}

impl Objective<'_> {
    /// Computes the value and the gradient at every point, each with the bits that it has alone. The rows are read once for all.
    pub(super) fn evaluate(&self, points: &mut [Point<'_>]) {
        let (n_features, stride) = (self.n_features, self.n_features + 1);
        // Decimals are summed as the whole numbers in which they are stored. Multiplying the weights and the gradient by the
        // decimals' unit instead gives the same result up to rounding, as another order of a sum does.
        let unit = self.features.unit();
        let pitch = self.pitch();
        let mut all_w = Aligned::zeros(points.len() * self.n_vectors * pitch);
        let vectors = points.iter().flat_map(|point| point.w.chunks_exact(stride));
        for (to, w) in all_w.chunks_exact_mut(pitch).zip(vectors) {
            to[..stride].copy_from_slice(w);
            to[..n_features].iter_mut().for_each(|w| *w *= unit);
        }
        let targets: Vec<&[usize]> = points.iter().map(|point| point.targets).collect();
        let n_rows = targets.first().map_or(0, |targets| targets.len());
        let chunks = (0..n_rows.div_ceil(CHUNK_ROWS)).into_par_iter();
        let partial: Vec<(Vec<f64>, Aligned)> = chunks
            .with_min_len(MIN_CHUNKS)
            .map(|chunk| {
                let first_row = chunk * CHUNK_ROWS;
                Arch::new().dispatch(Chunk {
                    objective: self,
                    w: &all_w,
                    first_row,
                    n_rows: CHUNK_ROWS.min(n_rows - first_row),
                    targets: &targets,
                })
            })
            .collect();
        let n_points = points.len();
        for (nth, point) in points.iter_mut().enumerate() {
            point.gradient.fill(0.0);
            let mut losses = Vec::with_capacity(n_rows);
            for (chunk_losses, chunk_gradients) in &partial {
                let n = chunk_losses.len() / n_points;
                losses.extend_from_slice(&chunk_losses[nth * n..][..n]);
                let of_point = chunk_gradients.chunks_exact(pitch).skip(nth * self.n_vectors);
                for (sums, of_chunk) in point.gradient.chunks_exact_mut(stride).zip(of_point) {
                    sums.iter_mut().zip(of_chunk).for_each(|(sum, g)| *sum += g);
                }
            }
            let mut squared_norm = 0.0;
            let vectors = point.w.chunks_exact(stride);
            for (w, gradient) in vectors.zip(point.gradient.chunks_exact_mut(stride)) {
                let w = &w[..n_features];
                squared_norm += vector::dot(w, w);
                gradient
                    .iter_mut()
                    .zip(w)
                    .for_each(|(g, w)| *g = *g * unit + self.penalty * w);
            }
            point.value = pairwise_sum(&losses) + 0.5 * self.penalty * squared_norm;
        }
    }

    /// The distance in working memory between the starts of two vectors: each vector starts at the alignment of a register.
    fn pitch(&self) -> usize {
        (self.n_features + 1).next_multiple_of(REGISTER)
    }
}

/// Some rows, whose losses and sums of gradients are wanted, without the penalty.
struct Chunk<'a> {
    objective: &'a Objective<'a>,
    /// `(n_points, n_vectors, pitch)`
    w: &'a [f64],
    first_row: usize,
    n_rows: usize,
    /// The targets of each point.
    targets: &'a [&'a [usize]],
}

impl WithSimd for Chunk<'_> {
    type Output = (Vec<f64>, Aligned);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let n_points = self.targets.len();
        let mut sums = Sums {
            gradients: Aligned::zeros(self.w.len()),
            losses: vec![0.0; n_points * self.n_rows],
            scores: vec![0.0; ROWS_AT_ONCE * n_points * self.objective.n_vectors],
        };
        let n_whole = self.n_rows - self.n_rows % ROWS_AT_ONCE;
        for row in (0..n_whole).step_by(ROWS_AT_ONCE) {
            self.add::<S, ROWS_AT_ONCE>(simd, row, &mut sums);
        }
        for row in n_whole..self.n_rows {
            self.add::<S, 1>(simd, row, &mut sums);
        }
        if self.objective.n_vectors == 1 {
            // all losses are computed together, so that none waits for another
            for (losses, targets) in sums.losses.chunks_exact_mut(self.n_rows).zip(self.targets) {
                let targets = &targets[self.first_row..][..self.n_rows];
                for (score, &target) in losses.iter_mut().zip(targets) {
                    *score = binary_loss(*score, target as f64);
                }
            }
        }
        (sums.losses, sums.gradients)
    }
}

/// The sums of a chunk, and its working memory.
struct Sums {
    /// `(n_points, n_vectors, pitch)`
    gradients: Aligned,
    /// `(n_points, n_rows)`
    losses: Vec<f64>,
    /// `(n_points, N, n_vectors)`
    scores: Vec<f64>,
}

impl Chunk<'_> {
    /// Adds `N` rows, beginning with the chunk's row `row`.
    #[inline(always)]
    fn add<S: Simd, const N: usize>(&self, simd: S, row: usize, sums: &mut Sums) {
        let n_features = self.objective.n_features;
        let first = (self.first_row + row) * n_features;
        match self.objective.features.part(first, N * n_features) {
            Numbers::F64(all) => self.add_numbers::<S, f64, N>(simd, row, all, sums),
            Numbers::F32(all) => self.add_numbers::<S, f32, N>(simd, row, all, sums),
            Numbers::Decimals(all, _) => self.add_numbers::<S, i32, N>(simd, row, all, sums),
        }
    }

    /// [`add`](Self::add) for rows that are stored as `T`. The rows are read from memory once, and the weights and gradients from
    /// the cache once for all rows; the sums of each row are those of a row on its own.
    #[inline(always)]
    fn add_numbers<S: Simd, T: Copy + Into<f64>, const N: usize>(
        &self,
        simd: S,
        row: usize,
        features: &[T],
        sums: &mut Sums,
    ) {
        let Objective {
            n_features,
            n_vectors,
            ..
        } = *self.objective;
        let pitch = self.objective.pitch();
        let rows: [&[T]; N] = std::array::from_fn(|r| &features[r * n_features..][..n_features]);
        for (v, w) in self.w.chunks_exact(pitch).enumerate() {
            let products = dot_rows(simd, rows, &w[..n_features]);
            let first = v / n_vectors * N * n_vectors + v % n_vectors;
            for (r, product) in products.into_iter().enumerate() {
                sums.scores[first + r * n_vectors] = product + w[n_features];
            }
        }
        // the scores are replaced by the derivatives by them
        let losses = sums.losses.chunks_exact_mut(self.n_rows);
        for ((scores, losses), targets) in sums
            .scores
            .chunks_exact_mut(N * n_vectors)
            .zip(losses)
            .zip(self.targets)
        {
            let (losses, targets) = (&mut losses[row..row + N], &targets[self.first_row + row..][..N]);
            if n_vectors == 1 {
                losses.copy_from_slice(scores); // see `with_simd`
                for (score, &target) in scores.iter_mut().zip(targets) {
                    *score = binary_slope(*score, target as f64);
                }
            } else {
                let of_rows = scores.chunks_exact_mut(n_vectors).zip(losses);
                for ((scores, loss), &target) in of_rows.zip(targets) {
                    *loss = multinomial_loss(scores, target);
                }
            }
        }
        for (v, gradient) in sums.gradients.chunks_exact_mut(pitch).enumerate() {
            let first = v / n_vectors * N * n_vectors + v % n_vectors;
            let slopes: [f64; N] = std::array::from_fn(|r| sums.scores[first + r * n_vectors]);
            add_scaled_rows(simd, &mut gradient[..n_features], slopes, rows);
            for slope in slopes {
                gradient[n_features] += slope;
            }
        }
    }
}

/// The log loss of one row of two classes with the score `z`, without a branch.
#[inline(always)]
pub(super) fn binary_loss(z: f64, target: f64) -> f64 {
    let e = exp(-z.abs());
    // log(1 + e) is e where the library treats it so
    let log_term = if z <= -37.0 || z > 18.0 { e } else { log1p(e) };
    if z <= 0.0 {
        log_term - target * z
    } else {
        log_term + (1.0 - target) * z
    }
}

/// The derivative of [`binary_loss`] by the score, without a branch.
#[inline(always)]
pub(super) fn binary_slope(z: f64, target: f64) -> f64 {
    let e = exp(-z.abs());
    let (of_one, of_e) = if z <= 0.0 {
        (-target, 1.0 - target)
    } else {
        (1.0 - target, -target)
    };
    (of_one + of_e * e) / (1.0 + e)
}

/// `log(1 + e)` for `e` from 0 to 1, within a few units in the last place, without a branch.
///
/// With `s = e / (2 + e)` it is `2 atanh(s)`, whose series in `s^2 <= 1/9` needs 17 terms for 53 bits.
#[inline(always)]
fn log1p(e: f64) -> f64 {
    const N_TERMS: usize = 17;
    const TERMS: [f64; N_TERMS] = {
        let mut terms = [0.0; N_TERMS];
        let mut k = 0;
        while k < N_TERMS {
            terms[k] = 2.0 / (2 * k + 3) as f64;
            k += 1;
        }
        terms
    };
    let s = e / (2.0 + e);
    let square = s * s;
    // the even and the odd terms are two chains of half the length
    let fourth = square * square;
    let (mut even, mut odd) = (TERMS[N_TERMS - 1], 0.0f64);
    for pair in TERMS[..N_TERMS - 1].as_chunks::<2>().0.iter().rev() {
        odd = odd.mul_add(fourth, pair[1]);
        even = even.mul_add(fourth, pair[0]);
    }
    2.0f64.mul_add(s, s * square * odd.mul_add(square, even))
}

/// The log loss of one row of more classes; replaces the scores by the gradient.
#[inline(always)]
pub(super) fn multinomial_loss(scores: &mut [f64], target: usize) -> f64 {
    let largest = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let target_score = scores[target];
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
    scores[target] -= 1.0;
    libm::log(sum) + largest - target_score
}
