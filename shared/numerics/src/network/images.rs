//! Prepares what the first layer reads of an image.

use super::Network;
use super::shape::{PATCH, Shape};

/// The images as they are given, and the settings for reading them.
#[derive(Clone, Copy)]
pub(super) struct Images<'a> {
    /// `(n_images, height, width)`
    pixels: &'a [u8],
    height: usize,
    width: usize,
}

impl<'a> Images<'a> {
    /// Images of the network's size.
    pub(super) fn new(pixels: &'a [u8], network: &Network) -> Self {
        Self {
            pixels,
            height: network.height,
            width: network.width,
        }
    }

    /// The number of images.
    pub(super) fn len(self) -> usize {
        self.pixels.len() / (self.height * self.width)
    }

    fn image(self, idx: usize) -> &'a [u8] {
        &self.pixels[idx * self.height * self.width..][..self.height * self.width]
    }

    /// Writes the 3 x 3 patches around all positions of the grid: `(area, PATCH)`.
    ///
    /// `grid` is working memory.
    pub(super) fn write_patches(self, idx: usize, shape: &Shape, grid: &mut Vec<f32>, patches: &mut [f32]) {
        let layer = &shape.convolutions[0];
        let values = if shape.is_halved {
            halved(self.image(idx), self.width)
        } else {
            self.image(idx).iter().map(|&pixel| u32::from(pixel)).collect()
        };
        standardise(&values, layer.width, if shape.is_halved { 4 } else { 1 }, grid);
        let row_len = layer.width + 2;
        for (at, patch) in patches.chunks_exact_mut(PATCH).enumerate() {
            let corner = at / layer.width * row_len + at % layer.width;
            for y in 0..3 {
                patch[3 * y..][..3].copy_from_slice(&grid[corner + y * row_len..][..3]);
            }
        }
    }
}

/// Sums of 2 x 2 pixels; if a side is odd, its last row or column is left out.
fn halved(image: &[u8], width: usize) -> Vec<u32> {
    let mut sums = Vec::with_capacity(image.len() / 4);
    for rows in image.chunks_exact(2 * width) {
        let (upper, lower) = rows.split_at(width);
        for (upper, lower) in upper.chunks_exact(2).zip(lower.chunks_exact(2)) {
            sums.push(upper.iter().chain(lower).map(|&pixel| u32::from(pixel)).sum());
        }
    }
    sums
}

/// Writes a grid with a border of zeros: each value minus the image's mean, divided by its standard deviation or by one grey level,
/// whichever is greater. `parts` of the values' units are one grey level.
fn standardise(values: &[u32], width: usize, parts: u32, grid: &mut Vec<f32>) {
    let n = values.len() as u64;
    let sum: u64 = values.iter().map(|&value| u64::from(value)).sum();
    let squares: u64 = values
        .iter()
        .map(|&value| u64::from(value) * u64::from(value))
        .sum();
    let mean = sum as f64 / n as f64;
    let deviation = ((n * squares - sum * sum) as f64).sqrt() / n as f64;
    let unit = deviation.max(f64::from(parts));
    grid.clear();
    grid.resize(width + 2, 0.0);
    for row in values.chunks_exact(width) {
        grid.push(0.0);
        grid.extend(row.iter().map(|&value| ((f64::from(value) - mean) / unit) as f32));
        grid.push(0.0);
    }
    grid.resize(grid.len() + width + 2, 0.0);
}
