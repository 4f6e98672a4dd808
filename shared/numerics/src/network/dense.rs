//! The last layer: computes the probabilities of the classes from the channels' means.

use super::shape::{BATCH, N_MEANS};
use crate::simd::exp;

/// `logits[class]`: the intercept, plus each mean times its weight in the order of the channels.
///
/// Shapes: `weights` `(N_MEANS, n_classes)`, `intercepts` and `logits` `(n_classes,)`.
#[inline(always)]
pub(super) fn logits(means: &[f32], weights: &[f32], intercepts: &[f32], logits: &mut [f32]) {
    logits.copy_from_slice(intercepts);
    for (mean, weights) in means.iter().zip(weights.chunks_exact(logits.len())) {
        for (logit, weight) in logits.iter_mut().zip(weights) {
            *logit = mean.mul_add(*weight, *logit);
        }
    }
}

/// The probabilities, in 64 bits: e to the power of each logit minus the largest, divided by the sum of these in the order of the
/// classes.
pub(super) fn softmax(logits: &[f32]) -> Vec<f64> {
    let largest = logits.iter().fold(
        f32::NEG_INFINITY,
        |best, &logit| if logit > best { logit } else { best },
    );
    let mut powers: Vec<f64> = logits
        .iter()
        .map(|&logit| exp(f64::from(logit) - f64::from(largest)))
        .collect();
    let sum: f64 = powers.iter().sum();
    for power in &mut powers {
        *power /= sum;
    }
    powers
}

/// The derivatives of one image's share of the batch's mean cross-entropy by the image's logits, `(n_classes,)`.
pub(super) fn loss_deltas(logits: &[f32], class: usize) -> Vec<f32> {
    let wanted = |at: usize| f64::from(u8::from(at == class));
    let probabilities = softmax(logits).into_iter().enumerate();
    probabilities
        .map(|(at, p)| ((p - wanted(at)) / BATCH as f64) as f32)
        .collect()
}

/// Adds the derivatives of the weights and intercepts, and writes those of the means.
///
/// Shapes: `gradient` `(N_MEANS + 1, n_classes)`; its last row is for the intercepts.
#[inline(always)]
pub(super) fn backward(
    means: &[f32],
    weights: &[f32],
    deltas: &[f32],
    gradient: &mut [f32],
    mean_deltas: &mut [f32],
) {
    let n = deltas.len();
    let (of_weights, of_intercepts) = gradient.split_at_mut(N_MEANS * n);
    for (k, gradient) in of_weights.chunks_exact_mut(n).enumerate() {
        let mut sum = 0.0;
        for class in 0..n {
            gradient[class] = means[k].mul_add(deltas[class], gradient[class]);
            sum = weights[k * n + class].mul_add(deltas[class], sum);
        }
        mean_deltas[k] = sum;
    }
    for (gradient, delta) in of_intercepts.iter_mut().zip(deltas) {
        *gradient += delta;
    }
}
