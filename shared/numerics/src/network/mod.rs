//! A small convolutional network, trained from scratch: the frozen model of data sets of images.
//!
//! Weights and predictions are the same bits on every processor and with every number of threads: each number is one chain
//! of fused multiply-adds in a fixed order, a batch is cut into parts that don't depend on the threads, and the parts'
//! gradients are summed in order. docs/models.md describes it so that it can be written again; the peer test does.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

mod dense;
mod images;
mod kernels;
mod parameters;
mod pass;
mod pooling;
mod schedule;
mod shape;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::models::FitError;
use crate::models::mt19937::Mt19937;
use images::Images;
use parameters::{Parameters, Step};
use pass::Workspace;
use schedule::Order;
use shape::{BATCH, N_PARTS, PART, Shape};

/// The heights and widths that images may have, in pixels.
pub const SIDES: RangeInclusive<usize> = 16..=64;
/// The most classes: a prediction is one byte.
const MAX_CLASSES: usize = 256;

/// The settings of a network: the size of its images, the number of classes, and the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Height of an image in pixels, one of [`SIDES`].
    pub height: usize,
    /// Width of an image in pixels, one of [`SIDES`].
    pub width: usize,
    /// The number of classes; some may have no image.
    pub n_classes: usize,
    /// The seed of the initial weights and of the order of the images.
    pub seed: u32,
}

impl Network {
    /// The number of steps for training on `n_images` images: ten times through all of them in batches of 64, but at least 600 and
    /// at most 1,563 steps.
    pub fn n_steps(&self, n_images: usize) -> usize {
        schedule::n_steps(n_images)
    }

    /// The number of bytes of one image.
    fn image_bytes(&self) -> usize {
        self.height * self.width
    }

    /// Checks the sizes of a training set.
    fn check(&self, n_bytes: usize, classes: &[usize]) -> Result<(), FitError> {
        if !SIDES.contains(&self.height) || !SIDES.contains(&self.width) {
            return Err(FitError::ImageSize {
                height: self.height,
                width: self.width,
                least: *SIDES.start(),
                greatest: *SIDES.end(),
            });
        }
        if self.n_classes > MAX_CLASSES {
            return Err(FitError::TooManyClasses {
                n_classes_total: self.n_classes,
            });
        }
        if !n_bytes.is_multiple_of(self.image_bytes()) {
            return Err(FitError::ImageBytes {
                n_bytes,
                image_bytes: self.image_bytes(),
            });
        }
        self.check_classes(n_bytes / self.image_bytes(), classes)
    }

    fn check_classes(&self, n_rows: usize, classes: &[usize]) -> Result<(), FitError> {
        if classes.len() != n_rows {
            return Err(FitError::LabelCount {
                n_rows,
                n_labels: classes.len(),
            });
        }
        if n_rows == 0 {
            return Err(FitError::TooFewRows { n_rows, n_needed: 1 });
        }
        let beyond = classes.iter().position(|&class| class >= self.n_classes);
        beyond.map_or(Ok(()), |row_idx| {
            Err(FitError::ClassOutOfRange {
                row_idx,
                class_idx: classes[row_idx],
                n_classes_total: self.n_classes,
            })
        })
    }
}

/// Trains the network to the end, and calls `on_step` after each of [`Network::n_steps`] steps.
///
/// # Shapes and units
/// `images`: `(n_images, height, width)`, grey levels; `classes`: `(n_images,)`, below `n_classes`.
///
/// # Errors
/// [`FitError`] if there is no image, if a class or the size of the images is out of range, or if the shapes don't fit each
/// other.
///
/// # Examples
/// ```
/// use dataperf_numerics::network::{Network, train};
/// let network = Network { height: 16, width: 16, n_classes: 2, seed: 0 };
/// // ink in the upper half, ink in the lower half
/// let upper = [vec![0; 128], vec![255; 128]].concat();
/// let lower = [vec![255; 128], vec![0; 128]].concat();
/// let images = [upper, lower].concat();
/// let trained = train(&images, &[1, 0], &network, &mut || {})?;
/// assert_eq!(trained.predict(&images), [1, 0]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
pub fn train(
    images: &[u8],
    classes: &[usize],
    network: &Network,
    on_step: &mut dyn FnMut(),
) -> Result<Trained, FitError> {
    let mut training = Training::new(images, classes, network)?;
    while training.step() {
        on_step();
    }
    Ok(training.finish())
}

/// A training that advances step by step.
pub struct Training<'a> {
    images: Images<'a>,
    classes: &'a [usize],
    order: Order,
    n_steps: usize,
    n_done: usize,
    velocity: Vec<f32>,
    workspaces: Vec<Workspace>,
    trained: Trained,
}

impl<'a> Training<'a> {
    /// Draws the initial weights; the arguments are those of [`train`].
    ///
    /// # Errors
    /// As [`train`].
    pub fn new(images: &'a [u8], classes: &'a [usize], network: &Network) -> Result<Self, FitError> {
        Self::on(Arch::new(), images, classes, network)
    }

    /// [`Training::new`] with a given instruction set.
    fn on(arch: Arch, images: &'a [u8], classes: &'a [usize], network: &Network) -> Result<Self, FitError> {
        network.check(images.len(), classes)?;
        let shape = Shape::new(network.height, network.width, network.n_classes);
        let mut generator = Mt19937::new(network.seed);
        let mut parameters = Parameters::draw(&shape, &mut generator);
        arch.dispatch(Pack {
            shape: &shape,
            parameters: &mut parameters,
        });
        Ok(Self {
            images: Images::new(images, network),
            classes,
            order: Order::new(classes.len(), generator),
            n_steps: network.n_steps(classes.len()),
            n_done: 0,
            velocity: vec![0.0; shape.n_parameters],
            workspaces: (0..N_PARTS).map(|_| Workspace::new(&shape)).collect(),
            trained: Trained {
                network: *network,
                shape,
                parameters,
                arch,
            },
        })
    }

    /// Does the next step; returns false and changes nothing if all steps are done.
    pub fn step(&mut self) -> bool {
        if self.n_done == self.n_steps {
            return false;
        }
        let batch: Vec<usize> = (0..BATCH).map(|_| self.order.next_row()).collect();
        let Trained {
            shape,
            parameters,
            arch,
            ..
        } = &mut self.trained;
        let (images, classes) = (self.images, self.classes);
        let parts = self.workspaces.par_iter_mut().zip(batch.par_chunks(PART));
        parts.for_each(|(workspace, rows)| {
            arch.dispatch(Gradient {
                workspace,
                model: (shape, parameters),
                images,
                classes,
                rows,
            });
        });
        arch.dispatch(Update {
            workspaces: &self.workspaces,
            step: schedule::step(self.n_done, self.n_steps),
            velocity: &mut self.velocity,
            pack: Pack { shape, parameters },
        });
        self.n_done += 1;
        true
    }

    /// The network with the weights that it has so far.
    pub fn finish(self) -> Trained {
        self.trained
    }
}

/// A network with trained weights.
#[derive(Debug, Clone)]
pub struct Trained {
    network: Network,
    shape: Shape,
    parameters: Parameters,
    arch: Arch,
}

impl Trained {
    /// The class of each image, `(n_images,)`: the one with the greatest probability, the lowest among equal ones.
    ///
    /// # Shapes and units
    /// `images`: `(n_images, height, width)`, grey levels.
    ///
    /// # Panics
    /// If `images` does not consist of whole images.
    pub fn predict(&self, images: &[u8]) -> Vec<u8> {
        let logits = self.logits(images);
        logits
            .chunks_exact(self.network.n_classes)
            .map(greatest)
            .collect()
    }

    /// The probabilities of the classes for each image, `(n_images, n_classes)`; shapes and panics are those of
    /// [`Trained::predict`].
    pub fn probabilities(&self, images: &[u8]) -> Vec<f64> {
        let logits = self.logits(images);
        let rows = logits.chunks_exact(self.network.n_classes);
        rows.flat_map(dense::softmax).collect()
    }

    /// All weights and intercepts, layer after layer: convolutions `(3, 3, n_in, n_out)` and `(n_out,)`, then the dense layer
    /// `(64, n_classes)` and `(n_classes,)`.
    pub fn parameters(&self) -> Vec<f32> {
        self.shape.without_padding(&self.parameters.values)
    }

    /// `(n_images, n_classes)`
    fn logits(&self, images: &[u8]) -> Vec<f32> {
        let whole = images.len().is_multiple_of(self.network.image_bytes());
        assert!(whole, "{} bytes are no whole images", images.len());
        let images = Images::new(images, &self.network);
        let firsts: Vec<usize> = (0..images.len()).step_by(PART).collect();
        let parts = firsts.into_par_iter().map_init(
            || Workspace::new(&self.shape),
            |workspace, first| {
                let n_images = PART.min(images.len() - first);
                self.arch.dispatch(Forward {
                    workspace,
                    model: (&self.shape, &self.parameters),
                    images,
                    rows: first..first + n_images,
                });
                workspace.logits[..n_images * self.network.n_classes].to_vec()
            },
        );
        parts.collect::<Vec<_>>().concat()
    }
}

/// The place of the greatest number, the first among equal ones.
fn greatest(logits: &[f32]) -> u8 {
    let better = |best: usize, at: usize| if logits[at] > logits[best] { at } else { best };
    (0..logits.len()).fold(0, better) as u8
}

/// Computes the logits of up to [`PART`] images.
struct Forward<'a> {
    workspace: &'a mut Workspace,
    model: (&'a Shape, &'a Parameters),
    images: Images<'a>,
    rows: std::ops::Range<usize>,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.workspace.forward(simd, self.model, self.images, self.rows);
    }
}

/// Computes the gradient of one part of a batch.
struct Gradient<'a> {
    workspace: &'a mut Workspace,
    model: (&'a Shape, &'a Parameters),
    images: Images<'a>,
    classes: &'a [usize],
    rows: &'a [usize],
}

impl WithSimd for Gradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.rows.iter().copied();
        self.workspace
            .forward(simd, self.model, self.images, rows.clone());
        let classes = rows.map(|row| self.classes[row]);
        self.workspace.backward(simd, self.model, classes);
    }
}

/// Packs the weights again after a change.
struct Pack<'a> {
    shape: &'a Shape,
    parameters: &'a mut Parameters,
}

impl WithSimd for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.parameters.pack(simd, self.shape);
    }
}

/// Changes the parameters by the gradients of the parts.
struct Update<'a> {
    workspaces: &'a [Workspace],
    step: Step,
    velocity: &'a mut [f32],
    pack: Pack<'a>,
}

impl WithSimd for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let gradients: [&[f32]; N_PARTS] =
            std::array::from_fn(|part| self.workspaces[part].gradient.as_slice());
        self.pack.parameters.step(&gradients, self.step, self.velocity);
        self.pack.with_simd(simd);
    }
}
