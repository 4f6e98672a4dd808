//! Compares the network with a plain one in 64-bit loops, and checks its bits and the errors of its arguments.

use super::shape::CHANNELS;
use super::*;
use crate::simd::architectures;

/// Images that show their class: a light square at the class's place, in noise.
fn squares(n: usize, network: &Network) -> (Vec<u8>, Vec<usize>) {
    let mut noise = Mt19937::new(11);
    let classes: Vec<usize> = (0..n).map(|image| image % network.n_classes).collect();
    let images = classes.iter().flat_map(|class| {
        let (top, left) = (3 * (class / 2) + 1, 5 * (class % 2) + 2);
        let (width, at) = (network.width, 0..network.image_bytes());
        at.map(move |at| (top..top + 4).contains(&(at / width)) && (left..left + 4).contains(&(at % width)))
    });
    let images = images.map(|is_light| (noise.next_u32() % 100) as u8 + 90 * u8::from(is_light));
    (images.collect(), classes)
}

fn network(height: usize, width: usize, n_classes: usize) -> Network {
    Network {
        height,
        width,
        n_classes,
        seed: 7,
    }
}

/// The parameters after some steps, as bits.
fn bits(mut training: Training<'_>, n_steps: usize) -> Vec<u32> {
    for _ in 0..n_steps {
        assert!(training.step());
    }
    let parameters = training.finish().parameters();
    parameters.into_iter().map(f32::to_bits).collect()
}

#[test]
fn results_match_on_every_processor_and_thread_count() {
    let network = network(17, 35, 3);
    let (images, classes) = squares(70, &network);
    let mut all = Vec::new();
    for arch in architectures() {
        let training = Training::on(arch, &images, &classes, &network).unwrap();
        all.push(bits(training, 2));
    }
    for n_threads in [1, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        let training = Training::new(&images, &classes, &network).unwrap();
        all.push(pool.install(|| bits(training, 2)));
    }
    let start = bits(Training::new(&images, &classes, &network).unwrap(), 0);
    assert_ne!(all[0], start);
    for other in &all[1..] {
        assert_eq!(&all[0], other);
    }
}

/// Scores depend on these bits: they never change.
#[test]
fn bits_are_frozen() {
    let network = network(20, 16, 5);
    let (images, classes) = squares(90, &network);
    let bits = bits(Training::new(&images, &classes, &network).unwrap(), 12);
    let digest = bits.iter().fold(0u64, |digest, &bits| {
        (digest.rotate_left(7) ^ u64::from(bits)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(format!("{digest:016x}"), "2586c2a6e37d7e7d");
}

/// `numpy.random.RandomState(7).uniform(-b, b, shape)` layer by layer, then its permutations of five.
#[test]
fn draws_as_numpy() {
    let shape = Shape::new(16, 16, 3);
    let mut generator = Mt19937::new(7);
    let parameters = Parameters::draw(&shape, &mut generator);
    let first = [0xbf31_1f6b, 0x3eea_09bb, 0xbdcd_fb79].map(f32::from_bits);
    assert_eq!(parameters.values[..3], first);
    assert_eq!(parameters.values[9 * CHANNELS[0] - 1].to_bits(), 0xbeb6_a86f);
    let last = [0x3d96_910f, 0x3d93_7575].map(f32::from_bits);
    assert_eq!(parameters.values[shape.dense_intercepts_at - 2..][..2], last);
    let mut order = Order::new(5, generator);
    let rows: Vec<usize> = (0..10).map(|_| order.next_row()).collect();
    assert_eq!(rows, [1, 0, 4, 3, 2, 2, 3, 4, 0, 1]);
}

#[test]
fn steps_and_rates() {
    let n_steps = |n| network(16, 16, 2).n_steps(n);
    assert_eq!(
        [1, 3_840, 3_841, 10_000, usize::MAX].map(n_steps),
        [600, 600, 601, 1563, 1563]
    );
    let rates = [0, 59, 60, 599].map(|at| schedule::step(at, 600).rate);
    let wanted: [f32; 4] = [0.05 / 60.0, 0.05, 0.05, 0.05 / 540.0];
    assert_eq!(rates.map(f32::to_bits), wanted.map(f32::to_bits));
}

/// One image's network in plain loops of 64 bits.
struct Plain {
    parameters: Vec<f64>,
    n_classes: usize,
}

impl Plain {
    fn loss(&self, image: &[u8], height: usize, width: usize, class: usize) -> f64 {
        let logits = self.logits(image, height, width);
        logits.iter().map(|logit| logit.exp()).sum::<f64>().ln() - logits[class]
    }

    fn logits(&self, image: &[u8], height: usize, width: usize) -> Vec<f64> {
        let n = image.len() as f64;
        let mean = image.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / n;
        let variance = image
            .iter()
            .map(|&pixel| (f64::from(pixel) - mean).powi(2))
            .sum::<f64>()
            / n;
        let unit = variance.sqrt().max(1.0);
        let mut grid: Vec<f64> = image
            .iter()
            .map(|&pixel| (f64::from(pixel) - mean) / unit)
            .collect();
        let (mut height, mut width, mut n_in, mut at) = (height, width, 1, 0);
        for (layer, n_out) in CHANNELS.into_iter().enumerate() {
            grid = self.convolved(&grid, (height, width, n_in, n_out), at);
            at += (9 * n_in + 1) * n_out;
            if layer < 3 {
                grid = pooled(&grid, height, width, n_out);
                (height, width) = (height / 2, width / 2);
            }
            n_in = n_out;
        }
        let area = (height * width) as f64;
        let logit = |class: usize| {
            let terms = (0..n_in).map(|channel| {
                let sum: f64 = grid.iter().skip(channel).step_by(n_in).sum();
                sum / area * self.parameters[at + channel * self.n_classes + class]
            });
            terms.sum::<f64>() + self.parameters[at + n_in * self.n_classes + class]
        };
        (0..self.n_classes).map(logit).collect()
    }

    fn convolved(
        &self,
        grid: &[f64],
        (height, width, n_in, n_out): (usize, usize, usize, usize),
        at: usize,
    ) -> Vec<f64> {
        let mut out = Vec::new();
        for place in 0..height * width * n_out {
            let (y, x, to) = (place / n_out / width, place / n_out % width, place % n_out);
            let mut sum = self.parameters[at + 9 * n_in * n_out + to];
            for (tap, from) in (0..9).flat_map(|tap| (0..n_in).map(move |from| (tap, from))) {
                let (y, x) = (y + tap / 3, x + tap % 3);
                if (1..=height).contains(&y) && (1..=width).contains(&x) {
                    let number = grid[((y - 1) * width + x - 1) * n_in + from];
                    sum += number * self.parameters[at + (tap * n_in + from) * n_out + to];
                }
            }
            out.push(sum.max(0.0));
        }
        out
    }
}

fn pooled(grid: &[f64], height: usize, width: usize, n: usize) -> Vec<f64> {
    let places = (0..height / 2).flat_map(|y| (0..width / 2).map(move |x| (y, x)));
    let cell = |y: usize, x: usize, channel: usize| grid[(y * width + x) * n + channel];
    let largest = |y, x, c| {
        f64::max(cell(y, x, c), cell(y, x + 1, c))
            .max(cell(y + 1, x, c))
            .max(cell(y + 1, x + 1, c))
    };
    places
        .flat_map(|(y, x)| (0..n).map(move |channel| (2 * y, 2 * x, channel)))
        .map(|(y, x, channel)| largest(y, x, channel))
        .collect()
}

#[test]
fn logits_of_plain_loops() {
    for (height, width) in [(16, 16), (17, 23), (32, 32), (31, 18)] {
        let network = network(height, width, 4);
        let (images, classes) = squares(11, &network);
        let trained = Training::new(&images, &classes, &network).unwrap().finish();
        let parameters = trained.parameters().into_iter().map(f64::from).collect();
        let plain = Plain {
            parameters,
            n_classes: 4,
        };
        let logits = trained.logits(&images);
        for (image, got) in images.chunks_exact(height * width).zip(logits.chunks_exact(4)) {
            for (got, wanted) in got.iter().zip(plain.logits(image, height, width)) {
                assert!((f64::from(*got) - wanted).abs() < 1e-5, "{got} {wanted}");
            }
        }
    }
}

/// Each layer's gradient for one part of a batch, compared with differences of the plain loss.
#[test]
fn gradients_of_plain_loops() {
    let network = network(18, 16, 3);
    let (images, classes) = squares(PART, &network);
    let mut training = Training::new(&images, &classes, &network).unwrap();
    let (model, workspace) = (&training.trained, &mut training.workspaces[0]);
    let rows: Vec<usize> = (0..PART).collect();
    model.arch.dispatch(Gradient {
        workspace,
        model: (&model.shape, &model.parameters),
        images: training.images,
        classes: &classes,
        rows: &rows,
    });
    let gradient = model.shape.without_padding(&workspace.gradient);
    let parameters: Vec<f64> = model.parameters().into_iter().map(f64::from).collect();
    let loss = |at: usize, by: f64| {
        let mut plain = Plain {
            parameters: parameters.clone(),
            n_classes: 3,
        };
        plain.parameters[at] += by;
        let images = images.chunks_exact(network.image_bytes());
        let losses = images
            .zip(&classes)
            .map(|(image, &class)| plain.loss(image, 18, 16, class));
        losses.sum::<f64>() / BATCH as f64
    };
    let largest = gradient
        .iter()
        .fold(0.0f32, |most, number| most.max(number.abs()));
    // checks some of each layer's weights and intercepts, since the step is a prime
    for at in (0..gradient.len())
        .rev()
        .step_by(1_499)
        .chain([3, 150, 4_770, 23_250, 60_150])
    {
        let (h, got) = (1e-6, f64::from(gradient[at]));
        let wanted = (loss(at, h) - loss(at, -h)) / (2.0 * h);
        assert!(
            (got - wanted).abs() < 1e-4 * f64::from(largest),
            "{at}: {got} {wanted}"
        );
    }
}

#[test]
fn learns_few_images() {
    let network = network(16, 20, 4);
    let (images, classes) = squares(8, &network);
    let mut n_told = 0;
    let trained = train(&images, &classes, &network, &mut || n_told += 1).unwrap();
    assert_eq!(n_told, 600);
    let predicted: Vec<usize> = trained.predict(&images).into_iter().map(usize::from).collect();
    assert_eq!(predicted, classes);
    for probabilities in trained.probabilities(&images).chunks_exact(4) {
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

/// Training does not produce NaN from images without contrast, from classes without images, or from both at once.
#[test]
fn learns_from_nothing() {
    let network = network(40, 16, 3);
    let trained = Training::new(&[200; 640], &[2], &network).map(|mut training| {
        for _ in 0..40 {
            training.step();
        }
        training.finish()
    });
    let trained = trained.unwrap();
    assert_eq!(trained.predict(&[9; 640]), [2]);
    assert!(trained.predict(&[]).is_empty());
    assert!(trained.parameters().iter().all(|number| number.is_finite()));
}

#[test]
fn refuses() {
    let refused = |height, width, n_classes, n_bytes, classes: &[usize]| {
        let network = network(height, width, n_classes);
        let refused = Training::new(&vec![0; n_bytes], classes, &network).err();
        refused.map(|error| error.to_string()).unwrap_or_default()
    };
    for (problem, why) in [
        (refused(16, 65, 2, 1040, &[0]), "from 16 to 64"),
        (refused(15, 16, 2, 240, &[0]), "from 16 to 64"),
        (refused(16, 16, 257, 256, &[0]), "at most 256"),
        (refused(16, 16, 2, 257, &[0]), "multiple of an image's 256"),
        (refused(16, 16, 2, 256, &[0, 1]), "2 labels for 1 training rows"),
        (refused(16, 16, 2, 0, &[]), "at least 1"),
        (refused(16, 16, 2, 512, &[0, 2]), "label of row 1 is `2`"),
    ] {
        assert!(problem.contains(why), "`{problem}` has no `{why}`");
    }
}
