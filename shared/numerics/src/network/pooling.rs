//! The steps between the convolutions, and their derivatives: the largest of four numbers, and the rectifier.

use super::shape::Convolution;

/// The largest of each 2 x 2 numbers (the first among equal ones), plus the channel's intercept, rectified.
///
/// Shapes: `raw` `(n_images, height, width, channels)`; `out` `(n_images, height/2 + 2, width/2 + 2, channels)`, whose border
/// stays as it is; `argmax` `(n_images, height/2, width/2, channels)` is which of the four it was.
#[inline(always)]
pub(super) fn pool(
    layer: &Convolution,
    intercepts: &[f32],
    raw: &[f32],
    out: &mut [f32],
    argmax: &mut [u32],
) {
    let (n, width) = (layer.n_out, layer.width);
    let (rows, columns) = (layer.height / 2, width / 2);
    let images = raw.chunks_exact(layer.area() * n);
    let outs = out.chunks_exact_mut((rows + 2) * (columns + 2) * n);
    for ((raw, out), argmax) in images.zip(outs).zip(argmax.chunks_exact_mut(rows * columns * n)) {
        for y in 0..rows {
            for x in 0..columns {
                let four =
                    |row: usize, column: usize| &raw[((2 * y + row) * width + 2 * x + column) * n..][..n];
                let out = &mut out[((y + 1) * (columns + 2) + x + 1) * n..][..n];
                let argmax = &mut argmax[(y * columns + x) * n..][..n];
                largest(
                    [four(0, 0), four(0, 1), four(1, 0), four(1, 1)],
                    intercepts,
                    out,
                    argmax,
                );
            }
        }
    }
}

#[inline(always)]
fn largest(four: [&[f32]; 4], intercepts: &[f32], out: &mut [f32], argmax: &mut [u32]) {
    let n = out.len();
    let [a, b, c, d] = four.map(|numbers| &numbers[..n]);
    let (intercepts, argmax) = (&intercepts[..n], &mut argmax[..n]);
    for i in 0..n {
        let (mut best, mut at) = (a[i], 0);
        if b[i] > best {
            (best, at) = (b[i], 1);
        }
        if c[i] > best {
            (best, at) = (c[i], 2);
        }
        if d[i] > best {
            (best, at) = (d[i], 3);
        }
        out[i] = rectified(best + intercepts[i]);
        argmax[i] = at;
    }
}

/// The number, or 0 if it is not above 0.
#[inline(always)]
fn rectified(number: f32) -> f32 {
    if number > 0.0 { number } else { 0.0 }
}

/// Passes derivatives back through [`pool`], and adds up those of the intercepts.
///
/// Shapes: `pooled` is what [`pool`] wrote, `argmax` too; `from` `(n_images, height/2, width/2, channels)`; `to` as
/// `layer.delta_at` says.
#[inline(always)]
pub(super) fn unpool(
    layer: &Convolution,
    (pooled, argmax): (&[f32], &[u32]),
    from: &[f32],
    to: &mut [f32],
    intercepts: &mut [f32],
) {
    let (n, width) = (layer.n_out, layer.width);
    let (rows, columns) = (layer.height / 2, width / 2);
    for (at, (from, argmax)) in from.chunks_exact(n).zip(argmax.chunks_exact(n)).enumerate() {
        let (image, y, x) = (at / (rows * columns), at / columns % rows, at % columns);
        let pooled = &pooled[((image * (rows + 2) + y + 1) * (columns + 2) + x + 1) * n..][..n];
        let corner = (image * layer.height + 2 * y) * width + 2 * x;
        for (quarter, at) in [corner, corner + 1, corner + width, corner + width + 1]
            .into_iter()
            .enumerate()
        {
            let to = &mut to[layer.delta_at[at]..][..n];
            for i in 0..n {
                let delta = kept(pooled[i] > 0.0, from[i]);
                to[i] = kept(argmax[i] == quarter as u32, delta);
            }
        }
        let intercepts = &mut intercepts[..n];
        for i in 0..n {
            intercepts[i] += kept(pooled[i] > 0.0, from[i]);
        }
    }
}

/// The number if `is_kept`, else 0, without a branch.
#[inline(always)]
fn kept(is_kept: bool, number: f32) -> f32 {
    f32::from_bits(number.to_bits() & 0u32.wrapping_sub(u32::from(is_kept)))
}

/// Adds the intercepts, rectifies, and takes the mean over each image's positions.
///
/// Shapes: `raw` `(n_images, area, channels)`, which is rectified in place; `means` `(n_images, channels)`.
#[inline(always)]
pub(super) fn rectified_means(layer: &Convolution, intercepts: &[f32], raw: &mut [f32], means: &mut [f32]) {
    let n = layer.n_out;
    for (raw, means) in raw
        .chunks_exact_mut(layer.area() * n)
        .zip(means.chunks_exact_mut(n))
    {
        means.fill(0.0);
        for numbers in raw.chunks_exact_mut(n) {
            for i in 0..n {
                numbers[i] = rectified(numbers[i] + intercepts[i]);
                means[i] += numbers[i];
            }
        }
        for mean in means {
            *mean /= layer.area() as f32;
        }
    }
}

/// Passes derivatives back through [`rectified_means`], and adds up those of the intercepts.
///
/// Shapes: `rectified` `(n_images, area, channels)`; `from` `(n_images, channels)`; `to` as `layer.delta_at` says.
#[inline(always)]
pub(super) fn spread_means(
    layer: &Convolution,
    rectified: &[f32],
    from: &[f32],
    to: &mut [f32],
    intercepts: &mut [f32],
) {
    let n = layer.n_out;
    for (at, rectified) in rectified.chunks_exact(n).enumerate() {
        let from = &from[at / layer.area() * n..][..n];
        let to = &mut to[layer.delta_at[at]..][..n];
        for i in 0..n {
            let delta = from[i] / layer.area() as f32;
            to[i] = if rectified[i] > 0.0 { delta } else { 0.0 };
            intercepts[i] += to[i];
        }
    }
}
