//! Makes more images from those of the training set.

use super::Images;
use dataperf_baselines::random::Random;

/// Standard deviation of the tangent of half the angle by which images are turned: some 10 degrees.
const HALF_TANGENT: f64 = 0.09;
/// Standard deviation of the slant: the distance to the right for each downwards.
const SLANT: f64 = 0.2;
/// The smallest and the largest factor by which images are scaled.
const SCALE: [f64; 2] = [0.6, 1.2];
/// Standard deviation of the shift, as a share of the image's height or width.
const SHIFT: f64 = 0.08;

/// The images, followed by deformed copies of them in turn, until there are `max_images`.
///
/// A copy is turned, slanted, scaled and moved at random. Pixels from outside the image repeat the nearest pixel of its edge. If
/// there are `max_images` images or more, none is added.
pub fn augmented(images: &Images, max_images: usize, seed: u32) -> Images {
    let mut random = Random::new(seed);
    let mut more = images.clone();
    let n_images = images.classes.len();
    for row in (0..n_images).cycle().take(max_images.saturating_sub(n_images)) {
        let deformation = Deformation::draw(&mut random);
        more.pixels.extend(deformation.apply(images, images.image(row)));
        more.classes.push(images.classes[row]);
    }
    more
}

/// Maps a pixel of a copy to its place in the image: a matrix around the middle, and a shift as a share of height or width.
struct Deformation {
    matrix: [[f64; 2]; 2],
    shift: [f64; 2],
}

impl Deformation {
    fn draw(random: &mut Random) -> Self {
        let half_tangent = HALF_TANGENT * spread(random);
        let slant = SLANT * spread(random);
        let scale = SCALE[0] + (SCALE[1] - SCALE[0]) * fraction(random);
        let square = half_tangent * half_tangent;
        let cosine = (1.0 - square) / (1.0 + square) / scale;
        let sine = 2.0 * half_tangent / (1.0 + square) / scale;
        Self {
            matrix: [[cosine, slant * cosine - sine], [sine, slant * sine + cosine]],
            shift: [SHIFT * spread(random), SHIFT * spread(random)],
        }
    }

    /// The deformed copy of an image, by linear interpolation between four pixels.
    fn apply(&self, images: &Images, image: &[u8]) -> Vec<u8> {
        let (height, width) = (images.height, images.width);
        let middle = [(width as f64 - 1.0) / 2.0, (height as f64 - 1.0) / 2.0];
        let value = |at: usize| {
            let x = (at % width) as f64 - middle[0] - self.shift[0] * width as f64;
            let y = (at / width) as f64 - middle[1] - self.shift[1] * height as f64;
            let [right, down] = self.matrix.map(|[by_x, by_y]| by_x * x + by_y * y);
            let (left, right, x) = between(right + middle[0], width);
            let (upper, lower, y) = between(down + middle[1], height);
            let pixel = |row: usize, column: usize| f64::from(image[row * width + column]);
            let above = pixel(upper, left) * (1.0 - x) + pixel(upper, right) * x;
            let below = pixel(lower, left) * (1.0 - x) + pixel(lower, right) * x;
            (above * (1.0 - y) + below * y + 0.5) as u8
        };
        (0..height * width).map(value).collect()
    }
}

/// The two pixels of a row or column between which a place lies, and the weight of the second.
fn between(place: f64, n: usize) -> (usize, usize, f64) {
    let place = place.clamp(0.0, n as f64 - 1.0);
    let first = place as usize;
    (first, (first + 1).min(n - 1), place - first as f64)
}

/// Uniform in `0..=1`.
fn fraction(random: &mut Random) -> f64 {
    const STEPS: usize = 1 << 24;
    random.below(STEPS) as f64 / (STEPS - 1) as f64
}

/// A roughly normal number with standard deviation 1, at most 3.5 from 0: the sum of four uniform numbers.
fn spread(random: &mut Random) -> f64 {
    let sum: f64 = (0..4).map(|_| fraction(random)).sum();
    (sum - 2.0) * 3.0_f64.sqrt()
}
