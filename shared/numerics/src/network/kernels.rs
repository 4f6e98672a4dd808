//! The two products that take nearly all of the time, computed in registers.
//!
//! Each output is one chain of fused multiply-adds in a fixed order, and the lanes are different outputs. So the width of the
//! registers affects the time and nothing else.

use pulp::Simd;

/// The inputs of a convolution's positions.
#[derive(Clone, Copy)]
pub(super) struct Windows<'a> {
    pub(super) numbers: &'a [f32],
    /// The place of each position's first run.
    pub(super) at: &'a [usize],
    pub(super) n_runs: usize,
    pub(super) run_len: usize,
    pub(super) run_stride: usize,
}

/// The number of numbers of a run that are multiplied without a bounds check; the length of every run is a multiple of it.
const BLOCK: usize = 12;

/// Packs `(n_rows, n_columns)`, read by `weight(row, column)`, into panels as wide as a tile of [`product`].
#[inline(always)]
pub(super) fn pack<S: Simd>(
    _: S,
    (n_rows, n_columns): (usize, usize),
    weight: impl Fn(usize, usize) -> f32,
    packed: &mut Vec<f32>,
) {
    let width = match (S::F32_LANES, n_columns % 32) {
        (16, 0) => 32,
        (16 | 8, _) => 16,
        (lanes, _) => 4 * lanes,
    };
    packed.clear();
    for first in (0..n_columns).step_by(width) {
        for row in 0..n_rows {
            packed.extend((first..first + width).map(|column| weight(row, column)));
        }
    }
}

/// `out[position][column]` = the sum over what the position reads, in order, of number times weight.
///
/// Shapes: `panels` as [`pack`] makes it, `out` `(n_positions, n_columns)`.
#[inline(always)]
pub(super) fn product<S: Simd>(
    simd: S,
    windows: Windows<'_>,
    panels: &[f32],
    n_columns: usize,
    out: &mut [f32],
) {
    match (S::F32_LANES, n_columns % 32) {
        (16, 0) => product_panels::<S, 12, 2>(simd, windows, panels, n_columns, out),
        (16, _) => product_panels::<S, 12, 1>(simd, windows, panels, n_columns, out),
        (8, _) => product_panels::<S, 6, 2>(simd, windows, panels, n_columns, out),
        _ => product_panels::<S, 4, 4>(simd, windows, panels, n_columns, out),
    }
}

#[inline(always)]
fn product_panels<S: Simd, const P: usize, const V: usize>(
    simd: S,
    windows: Windows<'_>,
    panels: &[f32],
    n_columns: usize,
    out: &mut [f32],
) {
    let span = V * S::F32_LANES;
    let last = windows.at.len() - 1;
    let n_rows = windows.n_runs * windows.run_len;
    for (panel, weights) in panels.chunks_exact(n_rows * span).enumerate() {
        let (weights, _) = S::as_simd_f32s(weights).0.as_chunks::<V>();
        let (weights, _) = weights.as_chunks::<BLOCK>();
        for first in (0..=last).step_by(P) {
            let mut begin = [0; P];
            for (p, begin) in begin.iter_mut().enumerate() {
                *begin = windows.at[(first + p).min(last)];
            }
            let total = product_tile::<S, P, V>(simd, windows, weights, begin);
            // beyond the last position, the last one is written again
            for (p, total) in total.iter().enumerate() {
                let at = (first + p).min(last) * n_columns + panel * span;
                S::as_mut_simd_f32s(&mut out[at..][..span])
                    .0
                    .copy_from_slice(total);
            }
        }
    }
}

#[inline(always)]
fn product_tile<S: Simd, const P: usize, const V: usize>(
    simd: S,
    windows: Windows<'_>,
    weights: &[[[S::f32s; V]; BLOCK]],
    begin: [usize; P],
) -> [[S::f32s; V]; P] {
    let Windows {
        numbers,
        n_runs,
        run_len,
        run_stride,
        ..
    } = windows;
    let mut total = [[simd.splat_f32s(0.0); V]; P];
    let mut blocks = weights.iter();
    for run in 0..n_runs {
        for first in (0..run_len).step_by(BLOCK) {
            let Some(weights) = blocks.next() else { break };
            let mut rows = [&[0.0; BLOCK]; P];
            for p in 0..P {
                let Some(row) = array_at(numbers, begin[p] + run * run_stride + first) else {
                    break;
                };
                rows[p] = row;
            }
            for k in 0..BLOCK {
                for p in 0..P {
                    let number = simd.splat_f32s(rows[p][k]);
                    for v in 0..V {
                        total[p][v] = simd.mul_add_f32s(number, weights[k][v], total[p][v]);
                    }
                }
            }
        }
    }
    in_memory::<S, P, V>(simd, total)
}

/// The sums in memory, copied by loops that are short enough to be unrolled: an array that is indexed can't be in registers.
#[inline(always)]
#[allow(clippy::manual_memcpy, reason = "a copy of memory would keep the sums there")]
fn in_memory<S: Simd, const N: usize, const V: usize>(
    simd: S,
    total: [[S::f32s; V]; N],
) -> [[S::f32s; V]; N] {
    let mut copy = [[simd.splat_f32s(0.0); V]; N];
    for n in 0..N {
        for v in 0..V {
            copy[n][v] = total[n][v];
        }
    }
    copy
}

/// `N` items from `at`, or `None` if there are fewer: a panic would keep the sums of a tile out of registers.
#[inline(always)]
fn array_at<T, const N: usize>(items: &[T], at: usize) -> Option<&[T; N]> {
    items.get(at..)?.first_chunk()
}

/// The derivatives by a convolution's output.
#[derive(Clone, Copy)]
pub(super) struct Deltas<'a> {
    pub(super) numbers: &'a [f32],
    /// The place of each position's first channel.
    pub(super) at: &'a [usize],
    pub(super) n_channels: usize,
}

/// `gradient[k][channel]` += the sum over positions, in order, of the position's k-th input times its derivative.
///
/// Shapes: `gradient` `(n_runs * run_len, n_channels)`.
#[inline(always)]
pub(super) fn add_gradient<S: Simd>(simd: S, windows: Windows<'_>, deltas: Deltas<'_>, gradient: &mut [f32]) {
    match (S::F32_LANES, deltas.n_channels % 32) {
        (16, 0) => gradient_tiles::<S, 12, 2>(simd, windows, deltas, gradient),
        (16, _) => gradient_tiles::<S, 12, 1>(simd, windows, deltas, gradient),
        (8, _) => gradient_tiles::<S, 6, 2>(simd, windows, deltas, gradient),
        _ => gradient_tiles::<S, 4, 4>(simd, windows, deltas, gradient),
    }
}

#[inline(always)]
fn gradient_tiles<S: Simd, const T: usize, const V: usize>(
    simd: S,
    windows: Windows<'_>,
    deltas: Deltas<'_>,
    gradient: &mut [f32],
) {
    let span = V * S::F32_LANES;
    for run in 0..windows.n_runs {
        for first in (0..windows.run_len).step_by(T) {
            for column in (0..deltas.n_channels).step_by(span) {
                let at = (run * windows.run_len + first) * deltas.n_channels + column;
                let gradient = &mut gradient[at..];
                gradient_tile::<S, T, V>(
                    simd,
                    windows,
                    deltas,
                    (run * windows.run_stride + first, column),
                    gradient,
                );
            }
        }
    }
}

#[inline(always)]
fn gradient_tile<S: Simd, const T: usize, const V: usize>(
    simd: S,
    windows: Windows<'_>,
    deltas: Deltas<'_>,
    (number, column): (usize, usize),
    gradient: &mut [f32],
) {
    let span = V * S::F32_LANES;
    let mut before = [[simd.splat_f32s(0.0); V]; T];
    for (t, before) in before.iter_mut().enumerate() {
        before.copy_from_slice(&S::as_simd_f32s(&gradient[t * deltas.n_channels..][..span]).0[..V]);
    }
    let mut total = [[simd.splat_f32s(0.0); V]; T];
    for t in 0..T {
        for v in 0..V {
            total[t][v] = before[t][v];
        }
    }
    for (window, delta) in windows.at.iter().zip(deltas.at) {
        let Some(numbers) = array_at::<_, T>(windows.numbers, window + number) else {
            break;
        };
        let Some(delta) = deltas.numbers.get(delta + column..delta + column + span) else {
            break;
        };
        let Some(delta) = S::as_simd_f32s(delta).0.first_chunk::<V>() else {
            break;
        };
        for t in 0..T {
            let number = simd.splat_f32s(numbers[t]);
            for v in 0..V {
                total[t][v] = simd.mul_add_f32s(number, delta[v], total[t][v]);
            }
        }
    }
    let total = in_memory::<S, T, V>(simd, total);
    for (t, total) in total.iter().enumerate() {
        S::as_mut_simd_f32s(&mut gradient[t * deltas.n_channels..][..span])
            .0
            .copy_from_slice(total);
    }
}
