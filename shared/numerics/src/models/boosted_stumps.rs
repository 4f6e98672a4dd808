//! Gradient boosting with stumps: scikit-learn 1.2.2's
//! `GradientBoostingClassifier(learning_rate=1.0, max_depth=1, random_state=0)` for two classes.
//!
//! Features never change between rounds, so each is sorted once. Everything else follows the library to the order
//! of its sums, because features that split alike tie, and the last bit then decides which one is taken.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::mt19937::{Mt19937, seed_below_31_bits};
use super::{FitError, check_training_set, numpy_log};
use crate::simd::vector::pairwise_sum;

/// Feature values closer than this are the same value to the library's splitter.
const FEATURE_THRESHOLD: f32 = 1e-7;
/// A node with an impurity of at most this is not split.
const MIN_IMPURITY: f64 = f64::EPSILON;
/// A Newton step with a smaller denominator is not taken.
const MIN_DENOMINATOR: f64 = 1e-150;
/// The number of features whose splits one task searches.
const CHUNK_FEATURES: usize = 64;

/// A fitted ensemble.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::boosted_stumps::BoostedStumps;
/// use ndarray::array;
/// let x = array![[0.0], [1.0], [2.0], [3.0]];
/// let model = BoostedStumps::fit(x.view(), &[0, 0, 1, 1], 5)?;
/// assert_eq!(model.predict(array![[-1.0], [1.4], [1.6]].view()), [0, 0, 1]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedStumps {
    classes: [usize; 2],
    /// The log odds of the second class before any stump.
    prior: f64,
    stumps: Vec<Stump>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Stump {
    feature: usize,
    /// The value up to which rows go left; infinite if the root was not split, so that all rows do.
    threshold: f64,
    left: f64,
    right: f64,
}

impl Stump {
    fn value(&self, feature: f32) -> f64 {
        if f64::from(feature) <= self.threshold {
            self.left
        } else {
            self.right
        }
    }
}

/// A feature's rows in ascending order of their values.
struct Sorted {
    rows: Vec<u32>,
    values: Vec<f32>,
}

/// The best place at which to cut one feature.
#[derive(Clone, Copy)]
struct Cut {
    gain: f64,
    threshold: f64,
}

impl BoostedStumps {
    /// Fits the ensemble.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`, used as 32-bit floats; `class_idx`: `(n_rows,)`, two labels.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are not two classes, or if the shapes don't fit each other.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/ensemble/_gb.py`, `_gb_losses.py` and `sklearn/tree/_splitter.pyx`.
    pub fn fit(x: ArrayView2<f64>, class_idx: &[usize], n_stumps: usize) -> Result<Self, FitError> {
        let labels = check_training_set(x, class_idx)?;
        let &[first, second] = labels.classes.as_slice() else {
            return Err(FitError::TooManyClasses {
                n_classes_total: labels.classes.len(),
            });
        };
        let sorted: Vec<Sorted> = (0..x.ncols())
            .into_par_iter()
            .map(|feature| Sorted::new(x, feature))
            .collect();
        let y: Vec<f64> = labels.local_idx.iter().map(|&class| class as f64).collect();
        let epsilon = f64::from(f32::EPSILON);
        let share = (y.iter().sum::<f64>() / y.len() as f64).clamp(epsilon, 1.0 - epsilon);
        let prior = numpy_log::log(share / (1.0 - share));
        let mut raw = vec![prior; y.len()];
        let mut generator = Mt19937::new(0);
        let mut stumps = Vec::with_capacity(n_stumps);
        for _ in 0..n_stumps {
            let residuals: Vec<f64> = y.iter().zip(&raw).map(|(y, raw)| y - logistic(*raw)).collect();
            let mut order = FeatureOrder::new(seed_below_31_bits(&mut generator));
            let cut = best_cut(&sorted, &residuals, &mut order);
            let (feature, threshold) = cut.unwrap_or((0, f64::INFINITY));
            let is_left: Vec<bool> = x
                .column(feature)
                .iter()
                .map(|&v| f64::from(v as f32) <= threshold)
                .collect();
            let step = |left: bool| newton_step(&y, &residuals, |row| is_left[row] == left);
            let stump = Stump {
                feature,
                threshold,
                left: step(true),
                right: step(false),
            };
            for (raw, &left) in raw.iter_mut().zip(&is_left) {
                *raw += if left { stump.left } else { stump.right };
            }
            stumps.push(stump);
        }
        Ok(Self {
            classes: [first, second],
            prior,
            stumps,
        })
    }

    /// The more probable class of each row, `(n_rows,)`; the first if both are equally probable.
    ///
    /// # Panics
    /// If a row has fewer features than the training set.
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let class = |row: ndarray::ArrayView1<f64>| {
            let raw = self.stumps.iter().fold(self.prior, |raw, stump| {
                raw + stump.value(row[stump.feature] as f32)
            });
            let probability = logistic(raw);
            self.classes[usize::from(probability > 1.0 - probability)]
        };
        rows.outer_iter().map(class).collect()
    }
}

/// The logistic function with the C library's exponential, as in the library: near the end many features differ in the last bits
/// only.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The value of a leaf: one Newton step on the rows for which `belongs` is true, or 0 if there are none.
fn newton_step(y: &[f64], residuals: &[f64], belongs: impl Fn(usize) -> bool) -> f64 {
    let rows: Vec<usize> = (0..y.len()).filter(|&row| belongs(row)).collect();
    let numerators: Vec<f64> = rows.iter().map(|&row| residuals[row]).collect();
    let weight = |row: usize| (y[row] - residuals[row]) * (1.0 - y[row] + residuals[row]);
    let denominators: Vec<f64> = rows.iter().map(|&row| weight(row)).collect();
    let denominator = pairwise_sum(&denominators);
    if denominator.abs() < MIN_DENOMINATOR {
        0.0
    } else {
        pairwise_sum(&numerators) / denominator
    }
}

impl Sorted {
    fn new(x: ArrayView2<f64>, feature: usize) -> Self {
        let column: Vec<f32> = x.column(feature).iter().map(|&value| value as f32).collect();
        let mut rows: Vec<u32> = (0..column.len() as u32).collect();
        rows.sort_by(|&a, &b| column[a as usize].total_cmp(&column[b as usize]));
        let values = rows.iter().map(|&row| column[row as usize]).collect();
        Self { rows, values }
    }

    /// Whether all values are the same to the library's splitter.
    fn is_constant(&self) -> bool {
        match (self.values.first(), self.values.last()) {
            (Some(first), Some(last)) => *last <= *first + FEATURE_THRESHOLD,
            _ => true,
        }
    }

    /// The best cut by Friedman's improvement, the first among equal ones.
    fn cut(&self, residuals: &[f64], total: f64) -> Option<Cut> {
        let n_rows = self.rows.len();
        let mut best: Option<Cut> = None;
        let (mut left, mut position) = (0.0, 0);
        let mut p = 0;
        loop {
            while p + 1 < n_rows && self.values[p + 1] <= self.values[p] + FEATURE_THRESHOLD {
                p += 1;
            }
            p += 1;
            if p >= n_rows {
                return best;
            }
            // the library adds up the side with fewer rows
            if p - position <= n_rows - p {
                left = self.rows[position..p]
                    .iter()
                    .fold(left, |sum, &row| sum + residuals[row as usize]);
            } else {
                left = self.rows[p..]
                    .iter()
                    .rev()
                    .fold(total, |sum, &row| sum - residuals[row as usize]);
            }
            position = p;
            let (n_left, n_right) = (p as f64, (n_rows - p) as f64);
            let difference = n_right * left - n_left * (total - left);
            let gain = difference * difference / (n_left * n_right);
            if best.is_none_or(|best| gain > best.gain) {
                let (below, above) = (f64::from(self.values[p - 1]), f64::from(self.values[p]));
                let middle = below / 2.0 + above / 2.0;
                // between two neighbouring floats the middle may be rounded to the upper one
                best = Some(Cut {
                    gain,
                    threshold: if middle >= above { below } else { middle },
                });
            }
        }
    }
}

/// The best feature and threshold; among equal gains the feature that is drawn first. `None` if the root is not split.
fn best_cut(sorted: &[Sorted], residuals: &[f64], order: &mut FeatureOrder) -> Option<(usize, f64)> {
    let n_rows = residuals.len() as f64;
    let total = residuals.iter().fold(0.0, |sum, residual| sum + residual);
    let squares = residuals
        .iter()
        .fold(0.0, |sum, residual| sum + residual * residual);
    let impurity = squares / n_rows - (total / n_rows).powi(2);
    if impurity <= MIN_IMPURITY {
        return None;
    }
    let chunks = sorted.par_chunks(CHUNK_FEATURES);
    let cuts: Vec<Option<Cut>> = chunks
        .flat_map_iter(|chunk| chunk.iter().map(|one| one.cut(residuals, total)))
        .collect();
    let mut best: Option<(usize, Cut)> = None;
    for feature in order.draw(sorted) {
        if let Some(cut) = cuts[feature].filter(|cut| best.is_none_or(|(_, best)| cut.gain > best.gain)) {
            best = Some((feature, cut));
        }
    }
    best.map(|(feature, cut)| (feature, cut.threshold))
}

/// The order in which the library's splitter tries the features at a root: drawn without replacement by its xorshift generator.
struct FeatureOrder {
    state: u32,
}

impl FeatureOrder {
    fn new(state: u32) -> Self {
        Self {
            state: if state == 0 { 1 } else { state },
        }
    }

    fn below(&mut self, range: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 17;
        self.state ^= self.state << 5;
        (self.state % (1 << 31)) as usize % range
    }

    /// The features that are not constant, as they are drawn.
    fn draw(&mut self, sorted: &[Sorted]) -> Vec<usize> {
        let mut features: Vec<usize> = (0..sorted.len()).collect();
        let (mut end, mut n_constant) = (sorted.len(), 0);
        let mut drawn = Vec::with_capacity(sorted.len());
        while end > n_constant {
            let place = self.below(end - n_constant) + n_constant;
            let feature = features[place];
            if sorted[feature].is_constant() {
                features.swap(place, n_constant);
                n_constant += 1;
            } else {
                end -= 1;
                features.swap(place, end);
                drawn.push(feature);
            }
        }
        drawn
    }
}
