//! The shapes of the network: the input of each layer, the places of its numbers, and all sizes.

/// The number of images in a part of a batch, which one thread handles at a time.
pub(super) const PART: usize = 8;
/// The number of parts in a batch; their gradients are summed in order.
pub(super) const N_PARTS: usize = 8;
/// The number of images in a batch.
pub(super) const BATCH: usize = PART * N_PARTS;
/// The numbers of a 3 x 3 patch of the image in the first layer's input: nine, and three that are 0.
pub(super) const PATCH: usize = 12;
/// The number of output channels of each convolution.
pub(super) const CHANNELS: [usize; 4] = [16, 32, 64, 64];
/// The number of numbers that the dense layer reads.
pub(super) const N_MEANS: usize = CHANNELS[3];
/// The largest height or width at which images are not halved.
const LARGEST_GRID: usize = 32;

/// A convolution of 3 x 3 with a border of zeros.
///
/// A grid is stored row after row, with all channels of a position together. Except in the first layer a grid has a border of
/// zeros, one position wide, so that the input of a position is three runs of numbers that are stored together.
#[derive(Debug, Clone)]
pub(super) struct Convolution {
    /// The number of rows of the input and output grids, without the border; `width` is that of columns.
    pub(super) height: usize,
    pub(super) width: usize,
    /// The number of input channels; [`PATCH`] for the first layer.
    pub(super) n_in: usize,
    /// The number of output channels.
    pub(super) n_out: usize,
    /// The input of a position: `n_runs` runs of `run_len` numbers, `run_stride` apart.
    pub(super) n_runs: usize,
    pub(super) run_len: usize,
    pub(super) run_stride: usize,
    /// The place of the first run of each position of each image of a part.
    pub(super) input_at: Vec<usize>,
    /// The place of the first channel's derivative for each position of each image of a part.
    pub(super) delta_at: Vec<usize>,
    /// The place of the first run of the derivatives around each position of each image of a part.
    pub(super) delta_window_at: Vec<usize>,
    /// The place of the weights `(n_runs * run_len, n_out)` among the parameters; `intercepts_at` is that of the intercepts
    /// `(n_out,)`.
    pub(super) weights_at: usize,
    pub(super) intercepts_at: usize,
}

impl Convolution {
    fn new(height: usize, width: usize, n_in: usize, n_out: usize, weights_at: usize) -> Self {
        let is_first = n_in == PATCH;
        let bordered = |channels: usize, down: usize, right: usize| {
            positions(height, width)
                .map(|(image, y, x)| ((image * (height + 2) + y + down) * (width + 2) + x + right) * channels)
                .collect::<Vec<_>>()
        };
        let plain = |channels: usize| (0..PART * height * width).map(|at| at * channels).collect();
        let (n_runs, run_len) = if is_first { (1, PATCH) } else { (3, 3 * n_in) };
        Self {
            height,
            width,
            n_in,
            n_out,
            n_runs,
            run_len,
            run_stride: (width + 2) * n_in,
            input_at: if is_first {
                plain(PATCH)
            } else {
                bordered(n_in, 0, 0)
            },
            delta_at: if is_first {
                plain(n_out)
            } else {
                bordered(n_out, 1, 1)
            },
            delta_window_at: if is_first {
                Vec::new()
            } else {
                bordered(n_out, 0, 0)
            },
            weights_at,
            intercepts_at: weights_at + n_runs * run_len * n_out,
        }
    }

    /// The number of positions of one image.
    pub(super) fn area(&self) -> usize {
        self.height * self.width
    }

    /// The number of positions of one image with its border.
    pub(super) fn bordered_area(&self) -> usize {
        (self.height + 2) * (self.width + 2)
    }

    /// The number of weights.
    pub(super) fn n_weights(&self) -> usize {
        self.n_runs * self.run_len * self.n_out
    }
}

/// All positions of a part: image, row, column.
fn positions(height: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..PART * height * width).map(move |at| (at / (height * width), at / width % height, at % width))
}

/// The shapes of all layers.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Whether images are halved before anything else.
    pub(super) is_halved: bool,
    /// Four convolutions; each of the first three is followed by a pooling that halves its grid.
    pub(super) convolutions: Vec<Convolution>,
    pub(super) n_classes: usize,
    /// The place of the weights `(N_MEANS, n_classes)` of the dense layer, which its intercepts `(n_classes,)` follow.
    pub(super) dense_at: usize,
    pub(super) dense_intercepts_at: usize,
    /// The number of parameters.
    pub(super) n_parameters: usize,
}

impl Shape {
    pub(super) fn new(height: usize, width: usize, n_classes: usize) -> Self {
        let is_halved = height.max(width) > LARGEST_GRID;
        let by = 1 + usize::from(is_halved);
        let (mut height, mut width) = (height / by, width / by);
        let mut convolutions = Vec::new();
        let (mut n_in, mut at) = (PATCH, 0);
        for n_out in CHANNELS {
            let layer = Convolution::new(height, width, n_in, n_out, at);
            at = layer.intercepts_at + n_out;
            convolutions.push(layer);
            (height, width, n_in) = (height / 2, width / 2, n_out);
        }
        let dense_intercepts_at = at + N_MEANS * n_classes;
        Self {
            is_halved,
            convolutions,
            n_classes,
            dense_at: at,
            dense_intercepts_at,
            n_parameters: dense_intercepts_at + n_classes,
        }
    }

    /// The parameters without the weights for the padding of a patch, which are always 0.
    pub(super) fn without_padding(&self, parameters: &[f32]) -> Vec<f32> {
        let first = &self.convolutions[0];
        let kept = first.weights_at..first.weights_at + 9 * first.n_out;
        [&parameters[kept], &parameters[first.intercepts_at..]].concat()
    }
}
