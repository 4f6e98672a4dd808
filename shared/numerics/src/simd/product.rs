//! Products of many rows, of 32-bit or 64-bit floats, with a few packed `f64` columns.

use pulp::Simd;

/// The number of rows multiplied at a time: their converted features and their products stay in the cache.
pub(crate) const BLOCK_ROWS: usize = 64;
/// The number of columns in a packed panel: three registers of eight numbers, six of four, or twelve of two.
const PANEL: usize = 24;
/// The number of features in one pass, so that its part of a panel (24 KiB) stays in the first-level cache.
const DEPTH: usize = 128;
/// The number of partial sums of a row's squared norm.
const NORM_LANES: usize = 16;

/// Columns of a product, interleaved feature by feature for the kernel.
#[derive(Debug, Clone)]
pub(crate) struct PackedColumns {
    n_panels: usize,
    /// `(n_features,)`, subtracted from every row before it is multiplied.
    centre: Vec<f64>,
    /// `(n_panels, n_features, PANEL)`, padded with zero columns.
    panels: Vec<f64>,
}

/// Working memory of one thread, and the products of the last block.
pub(crate) struct ProductScratch {
    /// `(n_columns padded, BLOCK_ROWS)`: the products.
    pub(crate) products: Vec<f64>,
    /// `(BLOCK_ROWS,)`: the squared norms of the centred rows.
    pub(crate) squared_norms: Vec<f64>,
    /// `(BLOCK_ROWS, DEPTH)`: centred features of one pass.
    converted: Vec<f64>,
    /// `(BLOCK_ROWS, n_columns padded)`
    sums: Vec<f64>,
    norm_lanes: Vec<[f64; NORM_LANES]>,
}

impl PackedColumns {
    /// Packs columns of `centre.len()` features each.
    pub(crate) fn new(centre: Vec<f64>, columns: impl Iterator<Item = Vec<f64>>) -> Self {
        let n_features = centre.len();
        let mut panels = Vec::new();
        let mut n_columns = 0;
        for column in columns {
            if n_columns % PANEL == 0 {
                panels.resize(panels.len() + n_features * PANEL, 0.0);
            }
            let panel = &mut panels[n_columns / PANEL * n_features * PANEL..];
            for (k, &value) in column.iter().enumerate() {
                panel[k * PANEL + n_columns % PANEL] = value;
            }
            n_columns += 1;
        }
        Self {
            n_panels: n_columns.div_ceil(PANEL),
            centre,
            panels,
        }
    }

    /// Allocates working memory for one thread.
    pub(crate) fn scratch(&self) -> ProductScratch {
        let width = self.n_panels * PANEL;
        ProductScratch {
            products: vec![0.0; width * BLOCK_ROWS],
            squared_norms: vec![0.0; BLOCK_ROWS],
            converted: vec![0.0; BLOCK_ROWS * DEPTH],
            sums: vec![0.0; BLOCK_ROWS * width],
            norm_lanes: vec![[0.0; NORM_LANES]; BLOCK_ROWS],
        }
    }

    /// Multiplies up to [`BLOCK_ROWS`] rows, given row after row; missing rows count as zero.
    ///
    /// Each product is one chain of fused multiply-adds in feature order, whatever the processor.
    #[inline(always)]
    pub(crate) fn multiply<S: Simd, T: Copy + Into<f64>>(
        &self,
        simd: S,
        rows: &[T],
        scratch: &mut ProductScratch,
    ) {
        let n_features = self.centre.len();
        let width = self.n_panels * PANEL;
        scratch.sums.fill(0.0);
        scratch.norm_lanes.fill([0.0; NORM_LANES]);
        for first in (0..n_features).step_by(DEPTH) {
            let depth = DEPTH.min(n_features - first);
            let centre = &self.centre[first..][..depth];
            for (row, (features, lanes)) in rows
                .chunks_exact(n_features)
                .zip(&mut scratch.norm_lanes)
                .enumerate()
            {
                let converted = &mut scratch.converted[row * DEPTH..][..depth];
                convert(simd, &features[first..][..depth], centre, converted, lanes);
            }
            for panel in 0..self.n_panels {
                let columns = &self.panels[(panel * n_features + first) * PANEL..][..depth * PANEL];
                let sums = &mut scratch.sums[panel * PANEL..];
                multiply_panel(simd, &scratch.converted, columns, sums, width);
            }
        }
        for (norm, lanes) in scratch.squared_norms.iter_mut().zip(&scratch.norm_lanes) {
            *norm = lanes.iter().sum();
        }
        transpose(&scratch.sums, &mut scratch.products, width);
    }
}

/// Converts one row's features to `f64`, centres them and adds up their squares.
#[inline(always)]
fn convert<S: Simd, T: Copy + Into<f64>>(
    simd: S,
    from: &[T],
    centre: &[f64],
    to: &mut [f64],
    lanes: &mut [f64; NORM_LANES],
) {
    for ((to, from), centre) in to.iter_mut().zip(from).zip(centre) {
        let wide: f64 = (*from).into();
        *to = wide - centre;
    }
    let n_registers = NORM_LANES / S::F64_LANES;
    let (body, tail) = to.split_at(to.len() - to.len() % NORM_LANES);
    let sums = S::as_mut_simd_f64s(lanes).0;
    for values in S::as_simd_f64s(body).0.chunks_exact(n_registers) {
        for i in 0..n_registers {
            sums[i] = simd.mul_add_f64s(values[i], values[i], sums[i]);
        }
    }
    for (sum, value) in lanes.iter_mut().zip(tail) {
        *sum = value.mul_add(*value, *sum);
    }
}

/// Adds one panel's products to the sums, in register tiles that suit the processor.
#[inline(always)]
fn multiply_panel<S: Simd>(simd: S, converted: &[f64], columns: &[f64], sums: &mut [f64], width: usize) {
    match S::F64_LANES {
        8 => tiles::<S, 8, 3>(simd, converted, columns, sums, width),
        4 => tiles::<S, 4, 3>(simd, converted, columns, sums, width),
        _ => tiles::<S, 4, 4>(simd, converted, columns, sums, width),
    }
}

#[inline(always)]
fn tiles<S: Simd, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    converted: &[f64],
    columns: &[f64],
    sums: &mut [f64],
    width: usize,
) {
    for offset in (0..PANEL).step_by(VECTORS * S::F64_LANES) {
        for row in (0..BLOCK_ROWS).step_by(ROWS) {
            let sums = &mut sums[row * width + offset..];
            tile::<S, ROWS, VECTORS>(simd, &converted[row * DEPTH..], columns, offset, sums, width);
        }
    }
}

#[inline(always)]
fn tile<S: Simd, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    converted: &[f64],
    columns: &[f64],
    offset: usize,
    sums: &mut [f64],
    width: usize,
) {
    let span = VECTORS * S::F64_LANES;
    let (columns, _) = columns.as_chunks::<PANEL>();
    let rows: [&[f64]; ROWS] = std::array::from_fn(|r| &converted[r * DEPTH..][..columns.len()]);
    let mut total = [[simd.splat_f64s(0.0); VECTORS]; ROWS];
    for (r, total) in total.iter_mut().enumerate() {
        total.copy_from_slice(&S::as_simd_f64s(&sums[r * width..][..span]).0[..VECTORS]);
    }
    for k in 0..columns.len() {
        let column = &S::as_simd_f64s(&columns[k][offset..offset + span]).0[..VECTORS];
        for r in 0..ROWS {
            let value = simd.splat_f64s(rows[r][k]);
            for v in 0..VECTORS {
                total[r][v] = simd.mul_add_f64s(value, column[v], total[r][v]);
            }
        }
    }
    for (r, total) in total.iter().enumerate() {
        S::as_mut_simd_f64s(&mut sums[r * width..][..span])
            .0
            .copy_from_slice(total);
    }
}

/// Turns `(BLOCK_ROWS, width)` into `(width, BLOCK_ROWS)`.
#[inline(always)]
fn transpose(from: &[f64], to: &mut [f64], width: usize) {
    for (row, sums) in from.chunks_exact(width).enumerate() {
        for (column, &sum) in sums.iter().enumerate() {
            to[column * BLOCK_ROWS + row] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;
    use crate::simd::architectures;

    struct Multiply<'a>(&'a PackedColumns, &'a [f32], &'a mut ProductScratch);

    impl WithSimd for Multiply<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.multiply(simd, self.1, self.2);
        }
    }

    #[test]
    fn products_of_ragged_sizes() {
        for (n_rows, n_features, n_columns) in
            [(1, 1, 1), (3, 15, 2), (64, 128, 24), (37, 300, 25), (64, 129, 71)]
        {
            let value = |i: usize, k: usize| ((i * 31 + k * 17 + i * k) % 97) as f64 / 32.0 - 1.5;
            let rows: Vec<f32> = (0..n_rows * n_features).map(|i| value(i, 3) as f32).collect();
            let centre: Vec<f64> = (0..n_features).map(|k| value(k, 5)).collect();
            let columns: Vec<Vec<f64>> = (0..n_columns)
                .map(|c| (0..n_features).map(|k| value(c, k)).collect())
                .collect();
            let packed = PackedColumns::new(centre.clone(), columns.clone().into_iter());
            for arch in architectures() {
                let mut scratch = packed.scratch();
                // twice, to check that nothing is left of the block before
                for _ in 0..2 {
                    arch.dispatch(Multiply(&packed, &rows, &mut scratch));
                }
                for (row, features) in rows.chunks_exact(n_features).enumerate() {
                    let centred: Vec<f64> = features
                        .iter()
                        .zip(&centre)
                        .map(|(x, c)| f64::from(*x) - c)
                        .collect();
                    for (c, column) in columns.iter().enumerate() {
                        let chain = centred
                            .iter()
                            .zip(column)
                            .fold(0.0, |sum, (a, b)| a.mul_add(*b, sum));
                        let ours = scratch.products[c * BLOCK_ROWS + row];
                        assert_eq!(
                            ours.to_bits(),
                            f64::to_bits(chain),
                            "{arch:?}, row {row}, column {c}"
                        );
                    }
                    let norm: f64 = centred.iter().map(|v| v * v).sum();
                    assert!(
                        (scratch.squared_norms[row] - norm).abs() <= 1e-12 * norm,
                        "{arch:?}, row {row}"
                    );
                }
            }
        }
    }
}
