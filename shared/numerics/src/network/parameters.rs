//! The weights and intercepts: their places, and how a training step changes them.

use pulp::Simd;

use super::kernels::pack;
use super::shape::{CHANNELS, N_MEANS, PATCH, Shape};
use crate::models::mt19937::Mt19937;

/// All parameters, with the convolutions' weights also in the form that the products read.
#[derive(Debug, Clone)]
pub(super) struct Parameters {
    /// The weights and then the intercepts of each layer.
    pub(super) values: Vec<f32>,
    /// The weights of each convolution, packed.
    pub(super) forward: Vec<Vec<f32>>,
    /// The weights of each convolution but the first, rotated by half a turn and packed, for passing derivatives back.
    pub(super) backward: Vec<Vec<f32>>,
}

/// The settings of a training step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) rate: f32,
    pub(super) momentum: f32,
    pub(super) decay: f32,
}

impl Parameters {
    /// Draws the weights from the generator, and sets the intercepts to 0.
    pub(super) fn draw(shape: &Shape, generator: &mut Mt19937) -> Self {
        let mut values = vec![0.0; shape.n_parameters];
        for layer in &shape.convolutions {
            // only nine numbers of a patch of the image have weights
            let n_in = if layer.n_in == PATCH { 1 } else { layer.n_in };
            let bound = (6.0 / (9 * n_in) as f64).sqrt();
            draw(
                &mut values[layer.weights_at..][..9 * n_in * layer.n_out],
                bound,
                generator,
            );
        }
        let bound = (3.0 / N_MEANS as f64).sqrt();
        draw(
            &mut values[shape.dense_at..shape.dense_intercepts_at],
            bound,
            generator,
        );
        Self {
            values,
            forward: vec![Vec::new(); CHANNELS.len()],
            backward: vec![Vec::new(); CHANNELS.len()],
        }
    }

    /// Packs the weights again after a change.
    #[inline(always)]
    pub(super) fn pack<S: Simd>(&mut self, simd: S, shape: &Shape) {
        for (at, layer) in shape.convolutions.iter().enumerate() {
            let (n_in, n_out) = (layer.n_in, layer.n_out);
            let weights = &self.values[layer.weights_at..][..layer.n_weights()];
            let n_rows = layer.n_runs * layer.run_len;
            pack(
                simd,
                (n_rows, n_out),
                |row, column| weights[row * n_out + column],
                &mut self.forward[at],
            );
            if at > 0 {
                let turned = |row: usize, column: usize| {
                    let (tap, channel) = (row / n_out, row % n_out);
                    weights[((8 - tap) * n_in + column) * n_out + channel]
                };
                pack(simd, (9 * n_out, n_in), turned, &mut self.backward[at]);
            }
        }
    }

    /// Changes the parameters by the gradients of the parts, summed in order.
    #[inline(always)]
    pub(super) fn step(&mut self, gradients: &[&[f32]], step: Step, velocity: &mut [f32]) {
        for (at, (value, velocity)) in self.values.iter_mut().zip(velocity).enumerate() {
            let mut gradient = gradients[0][at];
            for other in &gradients[1..] {
                gradient += other[at];
            }
            gradient = step.decay.mul_add(*value, gradient);
            *velocity = step.momentum.mul_add(*velocity, gradient);
            *value = (-step.rate).mul_add(*velocity, *value);
        }
    }
}

/// Uniform numbers in `-bound..bound`, as `numpy.random.RandomState.uniform(-bound, bound)` draws them.
fn draw(values: &mut [f32], bound: f64, generator: &mut Mt19937) {
    for value in values {
        let high = u64::from(generator.next_u32() >> 5);
        let low = u64::from(generator.next_u32() >> 6);
        let fraction = ((high << 26) | low) as f64 / (1u64 << 53) as f64;
        *value = (-bound + 2.0 * bound * fraction) as f32;
    }
}
