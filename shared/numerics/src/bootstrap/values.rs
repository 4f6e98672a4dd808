//! Metrics under many draws at once.

use super::batch::{Batch, LANES};
use super::divisions::Divisions;
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
}

/// The answers of some models to one eval set, made ready for a metric under many draws.
#[derive(Debug, Clone)]
pub struct Answers<'a> {
    metric: ItemMetric<'a>,
    n_models: usize,
    cells: Cells,
    divisions: Divisions,
}

/// How the items are divided into cells, for each model.
#[derive(Debug, Clone, Copy)]
enum Cells {
    /// For each part of the items those that are right, and then those that are wrong.
    Parts(usize),
    /// Each pair of true and predicted class.
    Pairs(usize),
    /// The true classes, once; then of each model the predicted ones, and the right ones.
    Classes(usize),
}

impl Cells {
    fn n_cells(self) -> usize {
        match self {
            Self::Parts(n_parts) => 2 * n_parts,
            Self::Pairs(n_classes) => n_classes * n_classes,
            Self::Classes(n_classes) => n_classes,
        }
    }
}

impl<'a> Answers<'a> {
    /// The answers of some models.
    ///
    /// # Shapes and units
    /// `truth` and each of `models`: `(n_items,)` classes.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new<'b>(metric: ItemMetric<'a>, truth: &[u8], models: impl IntoIterator<Item = &'b [u8]>) -> Self {
        let models: Vec<&[u8]> = models.into_iter().collect();
        assert!(
            models.iter().all(|model| model.len() == truth.len()),
            "one answer for each item"
        );
        let classes = models.iter().copied().flatten().chain(truth);
        let n_classes = classes.max().map_or(0, |&class| usize::from(class) + 1);
        let cells = match metric {
            ItemMetric::Accuracy => Cells::Parts(1),
            ItemMetric::WorstGroupAccuracy(groups) => {
                Cells::Parts(groups.iter().max().map_or(0, |group| group + 1))
            }
            _ if n_classes <= MAX_CONFUSED => Cells::Pairs(n_classes),
            _ => Cells::Classes(n_classes),
        };
        let divisions: Vec<Vec<u16>> = match cells {
            Cells::Parts(n_parts) => {
                let part = |item: usize| match metric {
                    ItemMetric::WorstGroupAccuracy(groups) => groups[item],
                    _ => 0,
                };
                let of_model = |model: &&[u8]| {
                    let cell = |item| part(item) + n_parts * usize::from(truth[item] != model[item]);
                    (0..truth.len()).map(|item| cell(item) as u16).collect()
                };
                models.iter().map(of_model).collect()
            }
            Cells::Pairs(n_classes) => {
                let pair = |(&t, &p): (&u8, &u8)| u16::from(t) * n_classes as u16 + u16::from(p);
                let of_model = |model: &&[u8]| truth.iter().zip(*model).map(pair).collect();
                models.iter().map(of_model).collect()
            }
            Cells::Classes(n_classes) => {
                let all = |classes: &[u8]| classes.iter().map(|&class| class.into()).collect();
                let right = |(&t, &p): (&u8, &u8)| if t == p { t.into() } else { n_classes as u16 };
                let of_model = |model: &&[u8]| [all(model), truth.iter().zip(*model).map(right).collect()];
                let of_models = models.iter().flat_map(of_model);
                std::iter::once(all(truth)).chain(of_models).collect()
            }
        };
        Self {
            metric,
            n_models: models.len(),
            cells,
            divisions: Divisions::new(cells.n_cells(), &divisions),
        }
    }

    /// The metric of each model under each draw of a batch, `(n_models,)`: to the last bit what [`ItemMetric::value`] gives for the
    /// draw's weights.
    ///
    /// # Panics
    /// If the batch is of another number of items.
    pub fn values(&self, batch: &Batch) -> Vec<[f64; LANES]> {
        let sums = self.divisions.sums(batch);
        if let Cells::Parts(n_parts) = self.cells {
            return sums.iter().map(|sums| smallest_share(sums, n_parts)).collect();
        }
        (0..self.n_models)
            .map(|model| self.of_counts(self.counts(&sums, model)))
            .collect()
    }

    /// The counts of every class, up to the largest that occurs.
    fn counts(&self, sums: &[Vec<[u32; LANES]>], model: usize) -> Vec<[ClassCounts; LANES]> {
        let n_classes = match self.cells {
            Cells::Pairs(n_classes) | Cells::Classes(n_classes) | Cells::Parts(n_classes) => n_classes,
        };
        let mut counts = vec![[ClassCounts::default(); LANES]; n_classes];
        if let Cells::Pairs(n_classes) = self.cells {
            for (cell, sums) in sums[model].iter().enumerate() {
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
        let (actual, predicted, correct) = (&sums[0], &sums[1 + 2 * model], &sums[2 + 2 * model]);
        for (class, counts) in counts.iter_mut().enumerate() {
            for (lane, counts) in counts.iter_mut().enumerate() {
                *counts = ClassCounts {
                    actual: actual[class][lane].into(),
                    predicted: predicted[class][lane].into(),
                    correct: correct[class][lane].into(),
                };
            }
        }
        counts
    }

    /// The metric of one model by its classes' counts.
    fn of_counts(&self, mut counts: Vec<[ClassCounts; LANES]>) -> [f64; LANES] {
        match self.metric {
            ItemMetric::F1(class) => {
                let of_class = counts.get(usize::from(class));
                each(|lane| {
                    of_class
                        .map_or_else(ClassCounts::default, |of_class| of_class[lane])
                        .f1()
                })
            }
            ItemMetric::BalancedAccuracy => each(|lane| {
                let occurring = counts.iter().filter(|of_class| of_class[lane].actual > 0);
                let recalls: Vec<f64> = occurring.map(|of_class| of_class[lane].recall()).collect();
                if recalls.is_empty() { 0.0 } else { mean(&recalls) }
            }),
            ItemMetric::MacroF1OfClasses(n_classes) => {
                counts.resize(n_classes, [ClassCounts::default(); LANES]);
                each(|lane| {
                    let scores: Vec<f64> = counts.iter().map(|of_class| of_class[lane].f1()).collect();
                    if scores.is_empty() { 0.0 } else { mean(&scores) }
                })
            }
            ItemMetric::MacroF1 | ItemMetric::Accuracy | ItemMetric::WorstGroupAccuracy(_) => each(|lane| {
                let of_lane: Vec<ClassCounts> = counts.iter().map(|of_class| of_class[lane]).collect();
                mean_f1(&f1_of_counts(&of_lane))
            }),
        }
    }
}

/// The smallest share that is right of a part of the items, of those parts that have weight.
fn smallest_share(sums: &[[u32; LANES]], n_parts: usize) -> [f64; LANES] {
    let (right, wrong) = sums.split_at(n_parts);
    each(|lane| {
        let totals = right
            .iter()
            .zip(wrong)
            .map(|(right, wrong)| (right[lane], right[lane] + wrong[lane]));
        let shares = totals
            .filter(|(_, total)| *total > 0)
            .map(|(right, total)| f64::from(right) / f64::from(total));
        shares.reduce(f64::min).unwrap_or(0.0)
    })
}

fn each(of_lane: impl Fn(usize) -> f64) -> [f64; LANES] {
    std::array::from_fn(of_lane)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
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
                    let values = Answers::new(metric, &truth, [&predicted[..], &truth[..]]).values(&batch);
                    for (values, model) in values.iter().zip([&predicted, &truth]) {
                        for (lane, value) in values.iter().enumerate() {
                            let weights = batch.weights_of(lane);
                            let alone = metric.value(&truth, model, ItemWeights::Each(&weights));
                            prop_assert_eq!(value.to_bits(), alone.to_bits(), "{:?} of lane {}", metric, lane);
                        }
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
        let answers = Answers::new(ItemMetric::Accuracy, &truth, [&truth[..]]);
        assert_eq!(answers.values(&batch), [[1.0; LANES]]);
        assert_eq!(batch.sums(&vec![0; n], 1), [[n as u32; LANES]]);
    }
}
