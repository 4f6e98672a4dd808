//! One part of a batch: its forward and backward pass through the network.

use pulp::Simd;

use super::images::Images;
use super::kernels::{Deltas, Windows, add_gradient, product};
use super::parameters::Parameters;
use super::shape::{Convolution, N_MEANS, PART, PATCH, Shape};
use super::{dense, pooling};

/// The working memory for one part of a batch.
pub(super) struct Workspace {
    /// The derivatives by all parameters, summed over the part.
    pub(super) gradient: Vec<f32>,
    /// `(PART, n_classes)`
    pub(super) logits: Vec<f32>,
    /// The input of each convolution; all but the first have a border of zeros.
    inputs: Vec<Vec<f32>>,
    /// For the first three convolutions: which of four numbers was the largest.
    argmax: Vec<Vec<u32>>,
    /// The derivatives by each convolution's output; all but the first have a border of zeros.
    deltas: Vec<Vec<f32>>,
    /// A convolution's output, and later the derivatives that are passed back.
    raw: Vec<f32>,
    /// The last convolution's output, rectified.
    last: Vec<f32>,
    means: Vec<f32>,
    mean_deltas: Vec<f32>,
    grid: Vec<f32>,
}

impl Workspace {
    pub(super) fn new(shape: &Shape) -> Self {
        let layers = &shape.convolutions;
        let zeros = |n: usize| vec![0.0; n];
        let raw = layers.iter().map(|layer| PART * layer.area() * layer.n_out).max();
        Self {
            gradient: zeros(shape.n_parameters),
            logits: zeros(PART * shape.n_classes),
            inputs: layers
                .iter()
                .map(|layer| zeros(PART * held(layer) * layer.n_in))
                .collect(),
            argmax: layers
                .iter()
                .map(|layer| vec![0; PART * (layer.height / 2) * (layer.width / 2) * layer.n_out])
                .collect(),
            deltas: layers
                .iter()
                .map(|layer| zeros(PART * held(layer) * layer.n_out))
                .collect(),
            raw: zeros(raw.unwrap_or(0)),
            last: zeros(layers.last().map_or(0, |layer| PART * layer.area() * layer.n_out)),
            means: zeros(PART * N_MEANS),
            mean_deltas: zeros(PART * N_MEANS),
            grid: Vec::new(),
        }
    }

    /// Computes the logits of up to [`PART`] images.
    #[inline(always)]
    pub(super) fn forward<S: Simd>(
        &mut self,
        simd: S,
        (shape, parameters): (&Shape, &Parameters),
        images: Images<'_>,
        chosen: impl ExactSizeIterator<Item = usize>,
    ) {
        let n_images = chosen.len();
        let patches = self.inputs[0].chunks_exact_mut(shape.convolutions[0].area() * PATCH);
        for (idx, patches) in chosen.zip(patches) {
            images.write_patches(idx, shape, &mut self.grid, patches);
        }
        for (at, layer) in shape.convolutions.iter().enumerate() {
            let intercepts = &parameters.values[layer.intercepts_at..][..layer.n_out];
            let n_positions = n_images * layer.area();
            let windows = windows(layer, &self.inputs[at], n_positions);
            if let Some(next) = self.inputs.get(at + 1).map(Vec::len) {
                let raw = &mut self.raw[..n_positions * layer.n_out];
                product(simd, windows, &parameters.forward[at], layer.n_out, raw);
                let next = &mut self.inputs[at + 1][..next];
                pooling::pool(layer, intercepts, raw, next, &mut self.argmax[at]);
            } else {
                let last = &mut self.last[..n_positions * layer.n_out];
                product(simd, windows, &parameters.forward[at], layer.n_out, last);
                pooling::rectified_means(layer, intercepts, last, &mut self.means);
            }
        }
        let dense = &parameters.values[shape.dense_at..];
        let (weights, intercepts) = dense.split_at(N_MEANS * shape.n_classes);
        let logits = self.logits.chunks_exact_mut(shape.n_classes);
        for (means, logits) in self.means.chunks_exact(N_MEANS).zip(logits).take(n_images) {
            dense::logits(means, weights, intercepts, logits);
        }
    }

    /// Computes the gradient for the [`PART`] images of the last [`Workspace::forward`].
    #[inline(always)]
    pub(super) fn backward<S: Simd>(
        &mut self,
        simd: S,
        (shape, parameters): (&Shape, &Parameters),
        classes: impl Iterator<Item = usize>,
    ) {
        self.gradient.fill(0.0);
        let weights = &parameters.values[shape.dense_at..shape.dense_intercepts_at];
        let outputs = self
            .logits
            .chunks_exact(shape.n_classes)
            .zip(self.means.chunks_exact(N_MEANS));
        for (((logits, means), class), to) in outputs
            .zip(classes)
            .zip(self.mean_deltas.chunks_exact_mut(N_MEANS))
        {
            let deltas = dense::loss_deltas(logits, class);
            dense::backward(means, weights, &deltas, &mut self.gradient[shape.dense_at..], to);
        }
        for (at, layer) in shape.convolutions.iter().enumerate().rev() {
            let (before, gradient) = self.gradient.split_at_mut(layer.intercepts_at);
            let intercepts = &mut gradient[..layer.n_out];
            let deltas = &mut self.deltas[at];
            if let Some(pooled) = self.inputs.get(at + 1) {
                let from = &self.raw[..self.argmax[at].len()];
                pooling::unpool(layer, (pooled, &self.argmax[at]), from, deltas, intercepts);
            } else {
                pooling::spread_means(layer, &self.last, &self.mean_deltas, deltas, intercepts);
            }
            let n_positions = PART * layer.area();
            let windows = windows(layer, &self.inputs[at], n_positions);
            let deltas = Deltas {
                numbers: deltas,
                at: &layer.delta_at,
                n_channels: layer.n_out,
            };
            add_gradient(simd, windows, deltas, &mut before[layer.weights_at..]);
            if at > 0 {
                let windows = delta_windows(layer, deltas.numbers);
                product(
                    simd,
                    windows,
                    &parameters.backward[at],
                    layer.n_in,
                    &mut self.raw[..n_positions * layer.n_in],
                );
            }
        }
    }
}

/// The number of positions that an image takes in memory.
fn held(layer: &Convolution) -> usize {
    if layer.n_in == PATCH {
        layer.area()
    } else {
        layer.bordered_area()
    }
}

fn windows<'a>(layer: &'a Convolution, numbers: &'a [f32], n_positions: usize) -> Windows<'a> {
    Windows {
        numbers,
        at: &layer.input_at[..n_positions],
        n_runs: layer.n_runs,
        run_len: layer.run_len,
        run_stride: layer.run_stride,
    }
}

/// The 3 x 3 derivatives around each position.
fn delta_windows<'a>(layer: &'a Convolution, numbers: &'a [f32]) -> Windows<'a> {
    Windows {
        numbers,
        at: &layer.delta_window_at,
        n_runs: 3,
        run_len: 3 * layer.n_out,
        run_stride: (layer.width + 2) * layer.n_out,
    }
}
