//! The shapes of the network: what each layer reads, where its numbers lie, how large everything is.

/// Images of a part of a batch: a thread works on one part at a time.
pub(super) const PART: usize = 8;
/// Parts of a batch. Their gradients are summed in order.
pub(super) const N_PARTS: usize = 8;
/// Images of a batch.
pub(super) const BATCH: usize = PART * N_PARTS;
/// Numbers of a 3 x 3 patch of the image as the first layer reads it: the last three are 0.
pub(super) const PATCH: usize = 12;
/// Channels that come out of each convolution.
pub(super) const CHANNELS: [usize; 4] = [16, 32, 64, 64];
/// Numbers that the dense layer reads.
pub(super) const N_MEANS: usize = CHANNELS[3];
/// Height or width above which images are halved.
const LARGEST_GRID: usize = 32;

/// A convolution of 3 x 3 with a border of zeros.
///
/// Numbers of a grid lie row after row, at each position all its channels. Except for the first layer a grid has a border, one
/// position wide, of zeros: what a position reads is then three runs of numbers that lie together.
#[derive(Debug, Clone)]
pub(super) struct Convolution {
    /// Rows and columns of the grid without its border, of what it reads as of what it writes.
    pub(super) height: usize,
    pub(super) width: usize,
    /// Channels read; [`PATCH`] for the first layer.
    pub(super) n_in: usize,
    /// Channels written.
    pub(super) n_out: usize,
    /// What a position reads: runs of `run_len` numbers, `run_stride` apart.
    pub(super) n_runs: usize,
    pub(super) run_len: usize,
    pub(super) run_stride: usize,
    /// For each position of each image of a part, where its first run begins.
    pub(super) input_at: Vec<usize>,
    /// For each position of each image of a part, where the derivatives of its channels begin.
    pub(super) delta_at: Vec<usize>,
    /// For each position of each image of a part, where the first run of derivatives around it begins.
    pub(super) delta_window_at: Vec<usize>,
    /// Where its weights `(n_runs * run_len, n_out)` and its intercepts `(n_out,)` begin among the parameters.
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

    /// Positions of one image.
    pub(super) fn area(&self) -> usize {
        self.height * self.width
    }

    /// Positions of one image with the border.
    pub(super) fn bordered_area(&self) -> usize {
        (self.height + 2) * (self.width + 2)
    }

    /// Weights.
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
    /// Where the weights `(N_MEANS, n_classes)` and intercepts `(n_classes,)` of the dense layer begin.
    pub(super) dense_at: usize,
    pub(super) dense_intercepts_at: usize,
    /// Parameters in all.
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

    /// Parameters without the weights of the numbers that fill up a patch, which are always 0.
    pub(super) fn without_padding(&self, parameters: &[f32]) -> Vec<f32> {
        let first = &self.convolutions[0];
        let kept = first.weights_at..first.weights_at + 9 * first.n_out;
        [&parameters[kept], &parameters[first.intercepts_at..]].concat()
    }
}
