//! Metrics under many draws at once.

use super::batch::{Batch, LANES, NO_CELL};
use crate::metrics::{
    ClassCounts, ItemWeights, balanced_accuracy, class_counts, f1_of_counts, macro_f1_of_classes, mean,
    mean_f1, weighted_accuracy, worst_group_accuracy,
};

/// Up to so many classes the pairs of true and predicted class are counted, and classes by themselves above.
const MAX_CONFUSED: usize = 16;

/// What of a model's answers is a number in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemMetric<'a> {
    /// The share of the items that are right.
    Accuracy,
    /// The mean over the classes that occur of the share that is right.
    BalancedAccuracy,
    /// F1 of one class.
    F1(u8),
    /// The mean of F1 over the classes that occur.
    MacroF1,
    /// The mean of F1 over so many classes.
    MacroF1OfClasses(usize),
    /// The smallest accuracy of a group; `(n_items,)` group numbers.
    WorstGroupAccuracy(&'a [usize]),
}

impl ItemMetric<'_> {
    /// The metric of one model's answers.
    ///
    /// # Shapes and units
    /// `truth`, `predicted`: `(n_items,)` classes.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn value(&self, truth: &[u8], predicted: &[u8], weights: ItemWeights<'_>) -> f64 {
        match self {
            Self::Accuracy => weighted_accuracy(truth, predicted, weights),
            Self::BalancedAccuracy => balanced_accuracy(truth, predicted, weights),
            Self::F1(class) => ClassCounts::of(truth, predicted, class, weights).f1(),
            Self::MacroF1 => mean_f1(&f1_of_counts(&class_counts(truth, predicted, weights))),
            Self::MacroF1OfClasses(n) => macro_f1_of_classes(truth, predicted, *n, weights),
            Self::WorstGroupAccuracy(groups) => worst_group_accuracy(truth, predicted, groups, weights),
        }
    }

    /// The metric of one model's answers under each draw of a batch: to the last bit what [`value`](Self::value) gives for the
    /// draw's weights.
    ///
    /// # Shapes and units
    /// As [`value`](Self::value).
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn values(&self, truth: &[u8], predicted: &[u8], batch: &Batch) -> [f64; LANES] {
        assert_eq!(truth.len(), predicted.len(), "one answer for each item");
        match self {
            Self::Accuracy => {
                let sums = parts(truth, predicted, batch, &|_| 0, 1);
                each(|lane| share(sums[0][lane], sums[1][lane]))
            }
            Self::WorstGroupAccuracy(groups) => {
                let n_groups = groups.iter().max().map_or(0, |group| group + 1);
                let sums = parts(truth, predicted, batch, &|item| groups[item], n_groups);
                each(|lane| {
                    let of_groups = (0..n_groups).filter(|group| sums[n_groups + group][lane] > 0);
                    let accuracies =
                        of_groups.map(|group| share(sums[group][lane], sums[n_groups + group][lane]));
                    accuracies.reduce(f64::min).unwrap_or(0.0)
                })
            }
            Self::F1(class) => {
                let class = usize::from(*class);
                let counts = counts(truth, predicted, batch);
                each(|lane| {
                    counts
                        .get(class)
                        .map_or_else(ClassCounts::default, |of_class| of_class[lane])
                        .f1()
                })
            }
            Self::BalancedAccuracy => {
                let counts = counts(truth, predicted, batch);
                each(|lane| {
                    let occurring = counts.iter().filter(|of_class| of_class[lane].actual > 0);
                    let recalls: Vec<f64> = occurring.map(|of_class| of_class[lane].recall()).collect();
                    if recalls.is_empty() { 0.0 } else { mean(&recalls) }
                })
            }
            Self::MacroF1 => {
                let counts = counts(truth, predicted, batch);
                each(|lane| {
                    let of_lane: Vec<ClassCounts> = counts.iter().map(|of_class| of_class[lane]).collect();
                    mean_f1(&f1_of_counts(&of_lane))
                })
            }
            Self::MacroF1OfClasses(n_classes) => {
                let mut counts = counts(truth, predicted, batch);
                counts.resize(*n_classes, [ClassCounts::default(); LANES]);
                each(|lane| {
                    let scores: Vec<f64> = counts.iter().map(|of_class| of_class[lane].f1()).collect();
                    if scores.is_empty() { 0.0 } else { mean(&scores) }
                })
            }
        }
    }
}

fn each(of_lane: impl Fn(usize) -> f64) -> [f64; LANES] {
    std::array::from_fn(of_lane)
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        0.0
    } else {
        f64::from(part) / f64::from(whole)
    }
}

/// For each part of the items, the weight of those that are right, and then for each part the weight of all.
fn parts(
    truth: &[u8],
    predicted: &[u8],
    batch: &Batch,
    part_of: &dyn Fn(usize) -> usize,
    n_parts: usize,
) -> Vec<[u32; LANES]> {
    let cells: Vec<u16> = (0..truth.len())
        .map(|item| (part_of(item) + n_parts * usize::from(truth[item] != predicted[item])) as u16)
        .collect();
    let mut sums = batch.sums(&cells, 2 * n_parts);
    for part in 0..n_parts {
        for lane in 0..LANES {
            sums[n_parts + part][lane] += sums[part][lane]; // the right and the wrong are all
        }
    }
    sums
}

/// The counts of every class, up to the largest that occurs in either vector.
fn counts(truth: &[u8], predicted: &[u8], batch: &Batch) -> Vec<[ClassCounts; LANES]> {
    let n_classes = truth
        .iter()
        .chain(predicted)
        .max()
        .map_or(0, |&class| usize::from(class) + 1);
    let mut counts = vec![[ClassCounts::default(); LANES]; n_classes];
    if n_classes <= MAX_CONFUSED {
        let cell = |(&t, &p): (&u8, &u8)| u16::from(t) * n_classes as u16 + u16::from(p);
        let cells: Vec<u16> = truth.iter().zip(predicted).map(cell).collect();
        let sums = batch.sums(&cells, n_classes * n_classes);
        for (cell, sums) in sums.iter().enumerate() {
            let (t, p) = (cell / n_classes, cell % n_classes);
            for lane in 0..LANES {
                let sum = u64::from(sums[lane]);
                counts[t][lane].actual += sum;
                counts[p][lane].predicted += sum;
                counts[p][lane].correct += if t == p { sum } else { 0 };
            }
        }
        return counts;
    }
    let cells_of = |classes: &[u8]| -> Vec<u16> { classes.iter().map(|&class| class.into()).collect() };
    let right = |(&t, &p): (&u8, &u8)| if t == p { t.into() } else { NO_CELL };
    let right: Vec<u16> = truth.iter().zip(predicted).map(right).collect();
    let actual = batch.sums(&cells_of(truth), n_classes);
    let foretold = batch.sums(&cells_of(predicted), n_classes);
    let correct = batch.sums(&right, n_classes);
    for (class, counts) in counts.iter_mut().enumerate() {
        for (lane, counts) in counts.iter_mut().enumerate() {
            *counts = ClassCounts {
                actual: actual[class][lane].into(),
                predicted: foretold[class][lane].into(),
                correct: correct[class][lane].into(),
            };
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bootstrap::Resampler;

    fn answers() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Vec<usize>)> {
        (1u8..40, 1usize..80).prop_flat_map(|(n_classes, n_items)| {
            let classes = || proptest::collection::vec(0..n_classes, n_items);
            (
                classes(),
                classes(),
                proptest::collection::vec(0usize..6, n_items),
            )
        })
    }

    proptest! {
        #[test]
        fn values_are_those_of_each_draws_weights((truth, predicted, groups) in answers(), seed: u8) {
            for resampler in [
                Resampler::of_items(&truth, Some(&groups), [seed; 32]),
                Resampler::of_clusters(&truth, &groups, [seed; 32]),
            ] {
                let batch = resampler.batch(1);
                for metric in [
                    ItemMetric::Accuracy,
                    ItemMetric::BalancedAccuracy,
                    ItemMetric::F1(1),
                    ItemMetric::MacroF1,
                    ItemMetric::MacroF1OfClasses(45),
                    ItemMetric::WorstGroupAccuracy(&groups),
                ] {
                    let values = metric.values(&truth, &predicted, &batch);
                    for (lane, value) in values.iter().enumerate() {
                        let weights = batch.weights_of(lane);
                        let alone = metric.value(&truth, &predicted, ItemWeights::Each(&weights));
                        prop_assert_eq!(value.to_bits(), alone.to_bits(), "{:?} of lane {}", metric, lane);
                    }
                }
            }
        }
    }

    #[test]
    fn sums_beyond_16_bits_are_whole() {
        let n = 70_000;
        let truth = vec![0u8; n];
        let batch = Resampler::of_items(&truth, None, [1; 32]).batch(0);
        assert_eq!(ItemMetric::Accuracy.values(&truth, &truth, &batch), [1.0; LANES]);
        assert_eq!(batch.sums(&vec![0; n], 1), [[n as u32; LANES]]);
    }
}
