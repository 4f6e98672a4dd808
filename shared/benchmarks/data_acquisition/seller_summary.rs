//! The public summary of a seller, which participants see instead of its rows.

use serde::Serialize;

/// The number of bins of a feature's histogram.
const N_BINS: usize = 10;
/// The number of a seller's rows that its summary shows.
const N_SAMPLES: usize = 5;

/// The summary of one seller, a JSON file of its own.
#[derive(Debug, Serialize)]
pub(crate) struct SellerSummary {
    pub(crate) market: u32,
    pub(crate) seller: u32,
    pub(crate) max_price: f64,
    pub(crate) n_rows: usize,
    /// The number of columns: the features and the label.
    pub(crate) n_columns: usize,
    /// The number of rows with label 0 and with label 1.
    pub(crate) n_rows_by_label: [usize; 2],
    pub(crate) features: Features,
    /// Some of the rows, spread evenly over the seller's own order; the label is the last number of each.
    pub(crate) samples: Vec<Vec<f64>>,
}

/// Figures of the features; each list has one entry for each feature.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Features {
    pub(crate) min: Vec<f64>,
    pub(crate) max: Vec<f64>,
    /// The number of rows in each of ten bins of equal width from min to max; the last bin includes its upper edge.
    pub(crate) histogram: Vec<[usize; N_BINS]>,
    /// Pearson's correlation with the label; null where the feature or the label does not vary.
    pub(crate) correlation: Vec<Option<f64>>,
}

impl SellerSummary {
    /// `features`: `(n_rows, n_features)`, row after row; `labels`: `(n_rows,)`, 0 or 1.
    pub(crate) fn new((market, seller): (u32, u32), max_price: f64, features: &[f64], labels: &[u8]) -> Self {
        let n_rows = labels.len();
        let n_features = features.len() / n_rows.max(1);
        let n_positive: usize = labels.iter().map(|&label| usize::from(label)).sum();
        let sample = |k: usize| {
            let row = k * n_rows / N_SAMPLES;
            let mut sample = features[row * n_features..(row + 1) * n_features].to_vec();
            sample.push(labels[row].into());
            sample
        };
        let samples = (0..N_SAMPLES.min(n_rows)).map(sample).collect();
        Self {
            market,
            seller,
            max_price,
            n_rows,
            n_columns: n_features + 1,
            n_rows_by_label: [n_rows - n_positive, n_positive],
            features: Features::summarize(features, labels, 2),
            samples,
        }
    }
}

impl Features {
    /// `features`: `(n_rows, n_features)`, row after row; `labels`: `(n_rows,)`, below `n_classes`. With more than two classes no
    /// correlations are computed.
    pub(crate) fn summarize(features: &[f64], labels: &[u8], n_classes: usize) -> Self {
        let n_rows = labels.len();
        let n_features = features.len() / n_rows.max(1);
        let mut summary = Self::default();
        let mut column = vec![0.0; n_rows];
        for feature in 0..n_features {
            for (value, row) in column.iter_mut().zip(features.chunks_exact(n_features)) {
                *value = row[feature];
            }
            let min = column.iter().copied().fold(f64::INFINITY, f64::min);
            let max = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            summary.min.push(min);
            summary.max.push(max);
            summary.histogram.push(histogram(&column, min, max));
            if n_classes == 2 {
                summary.correlation.push(correlation(&column, labels));
            }
        }
        summary
    }
}

/// Counts as `numpy.histogram` does: if all values are equal, the value lies in the middle of a range of width 1.
fn histogram(column: &[f64], min: f64, max: f64) -> [usize; N_BINS] {
    let (first, last) = if max <= min {
        (min - 0.5, max + 0.5)
    } else {
        (min, max)
    };
    let step = (last - first) / N_BINS as f64;
    let edge = |bin: usize| {
        if bin == N_BINS {
            last
        } else {
            step * bin as f64 + first
        }
    };
    let mut counts = [0; N_BINS];
    for &value in column {
        let mut bin = (((value - first) / (last - first) * N_BINS as f64) as usize).min(N_BINS - 1);
        if value < edge(bin) {
            bin -= 1;
        } else if bin < N_BINS - 1 && value >= edge(bin + 1) {
            bin += 1;
        }
        counts[bin] += 1;
    }
    counts
}

fn correlation(column: &[f64], labels: &[u8]) -> Option<f64> {
    let n = column.len() as f64;
    let mean = column.iter().sum::<f64>() / n;
    let label_mean = labels.iter().map(|&label| f64::from(label)).sum::<f64>() / n;
    let (mut covariance, mut variance, mut label_variance) = (0.0, 0.0, 0.0);
    for (value, &label) in column.iter().zip(labels) {
        let (value, label) = (value - mean, f64::from(label) - label_mean);
        covariance += value * label;
        variance += value * value;
        label_variance += label * label;
    }
    let is_varied = variance > 0.0 && label_variance > 0.0;
    is_varied.then(|| (covariance / (variance.sqrt() * label_variance.sqrt())).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected numbers come from `numpy.histogram`, `numpy.corrcoef`, `min` and `max` for the
    /// same input.
    #[test]
    fn a_summary_matches_numpy() {
        let column = [0.1, 0.2, 0.3, 0.3, 0.7, 0.95, 1.1];
        let features: Vec<f64> = column.iter().flat_map(|&value| [value, 3.0]).collect();
        let summary = SellerSummary::new((2, 4), 100.0, &features, &[0, 0, 1, 0, 1, 1, 1]);
        assert_eq!(
            (summary.n_rows, summary.n_columns, summary.n_rows_by_label),
            (7, 3, [3, 4])
        );
        assert_eq!(
            summary.features.histogram,
            [[1, 3, 0, 0, 0, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 7, 0, 0, 0, 0]]
        );
        assert_eq!(
            (summary.features.min, summary.features.max),
            (vec![0.1, 3.0], vec![1.1, 3.0])
        );
        let [Some(correlation), None] = summary.features.correlation.as_slice() else {
            panic!("one correlates")
        };
        assert!(
            (correlation - 0.763_993_210_991_563).abs() < 1e-12,
            "{correlation}"
        );
        assert_eq!(summary.samples[1], [0.2, 3.0, 0.0]);
        assert_eq!(summary.samples.len(), 5);
    }
}
