//! Computes metrics under many draws at once.

use pulp::{Arch, Simd, WithSimd};

use super::batch::{Batch, LANES};
use super::divisions::Divisions;
use crate::metrics::{
    ClassCounts, ItemWeights, balanced_accuracy, class_counts, f1_of_counts, macro_f1_of_classes, mean,
    mean_f1, weighted_accuracy, worst_group_accuracy,
};

/// The most classes for which pairs of true and predicted class are counted; with more, true and predicted classes are counted
/// separately.
const MAX_CONFUSED: usize = 16;

/// A metric of a model's predictions, a number in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemMetric<'a> {
    /// The share of the items that are predicted correctly.
    Accuracy,
    /// The mean of the recalls of the classes that occur.
    BalancedAccuracy,
    /// F1 of one class.
    F1(u8),
    /// The mean of F1 over the classes that occur.
    MacroF1,
    /// The mean of F1 over this number of classes, whether they occur or not.
    MacroF1OfClasses(usize),
    /// The lowest accuracy of any group of items; `(n_items,)` group numbers.
    WorstGroupAccuracy(&'a [usize]),
}

impl ItemMetric<'_> {
    /// The metric of one model's predictions.
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
            Self::F1(class) => ClassCounts::new(truth, predicted, class, weights).f1(),
            Self::MacroF1 => mean_f1(&f1_of_counts(&class_counts(truth, predicted, weights))),
            Self::MacroF1OfClasses(n) => macro_f1_of_classes(truth, predicted, *n, weights),
            Self::WorstGroupAccuracy(groups) => worst_group_accuracy(truth, predicted, groups, weights),
        }
    }
}

/// The predictions of some models for one test set, prepared for a metric under many draws.
#[derive(Debug, Clone)]
pub struct Answers<'a> {
    metric: ItemMetric<'a>,
    n_models: usize,
    cells: Cells,
    divisions: Divisions,
}

/// How the items are divided into cells for each model.
#[derive(Debug, Clone, Copy)]
enum Cells {
    /// For this number of parts of the items: the right items of each part, then the wrong ones.
    Parts(usize),
    /// The pairs of true and predicted class.
    Pairs(usize),
    /// The true classes, once; then for each model the predicted classes, and those of right items.
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
    /// Prepares the predictions of some models.
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

    /// The metric of each model under each draw of a batch, `(n_models,)`; it equals [`ItemMetric::value`] with the draw's weights
    /// to the last bit.
    ///
    /// # Panics
    /// If the batch is of another number of items.
    pub fn values(&self, batch: &Batch) -> Vec<[f64; LANES]> {
        let sums = self.divisions.sums(batch);
        if let Cells::Parts(n_parts) = self.cells {
            return sums.iter().map(|sums| smallest_share(sums, n_parts)).collect();
        }
        (0..self.n_models)
            .map(|model| self.of_counts(&self.counts(&sums, model)))
            .collect()
    }

    /// The counts of every class, up to the largest class that occurs.
    fn counts(&self, sums: &[Vec<[u32; LANES]>], model: usize) -> Vec<LaneCounts> {
        let n_classes = match self.cells {
            Cells::Pairs(n_classes) | Cells::Classes(n_classes) | Cells::Parts(n_classes) => n_classes,
        };
        if let Cells::Pairs(n_classes) = self.cells {
            let mut counts = vec![LaneCounts::default(); n_classes];
            for (cell, sums) in sums[model].iter().enumerate() {
                let (t, p) = (cell / n_classes, cell % n_classes);
                add(&mut counts[t].actual, sums);
                add(&mut counts[p].predicted, sums);
                if t == p {
                    counts[t].correct = *sums;
                }
            }
            return counts;
        }
        let (actual, predicted, correct) = (&sums[0], &sums[1 + 2 * model], &sums[2 + 2 * model]);
        let of_class = |class: usize| LaneCounts {
            actual: actual[class],
            predicted: predicted[class],
            correct: correct[class],
        };
        (0..n_classes).map(of_class).collect()
    }

    /// The metric of one model, from the counts of its classes.
    fn of_counts(&self, counts: &[LaneCounts]) -> [f64; LANES] {
        match self.metric {
            ItemMetric::F1(class) => counts
                .get(usize::from(class))
                .map_or([0.0; LANES], LaneCounts::f1),
            ItemMetric::BalancedAccuracy => mean_of_some(counts.iter().map(|of_class| {
                let recall = each(|lane| of_class.at(lane).recall());
                (recall, each(|lane| of_class.actual[lane] > 0))
            })),
            ItemMetric::MacroF1OfClasses(n_classes) => {
                let mut scores: Vec<[f64; LANES]> = counts.iter().map(LaneCounts::f1).collect();
                scores.resize(n_classes, [0.0; LANES]);
                mean_of_some(scores.into_iter().map(|of_class| (of_class, [true; LANES])))
            }
            ItemMetric::MacroF1 | ItemMetric::Accuracy | ItemMetric::WorstGroupAccuracy(_) => {
                let (mut sums, mut n) = ([0.0; LANES], [0u32; LANES]);
                for of_class in counts {
                    let f1 = of_class.f1();
                    for lane in 0..LANES {
                        // a class that does not occur adds nothing
                        sums[lane] += f1[lane];
                        n[lane] += u32::from(of_class.actual[lane] + of_class.predicted[lane] > 0);
                    }
                }
                each(|lane| sums[lane] / f64::from(n[lane].max(1)))
            }
        }
    }
}

/// [`ClassCounts`] under each draw of a batch.
#[derive(Debug, Clone, Default)]
struct LaneCounts {
    predicted: [u32; LANES],
    actual: [u32; LANES],
    correct: [u32; LANES],
}

impl LaneCounts {
    fn at(&self, lane: usize) -> ClassCounts {
        ClassCounts {
            predicted: self.predicted[lane].into(),
            actual: self.actual[lane].into(),
            correct: self.correct[lane].into(),
        }
    }

    /// [`ClassCounts::f1`] under each draw.
    fn f1(&self) -> [f64; LANES] {
        Arch::new().dispatch(F1(self))
    }
}

struct F1<'a>(&'a LaneCounts);

impl WithSimd for F1<'_> {
    type Output = [f64; LANES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; LANES] {
        each(|lane| {
            let (correct, predicted, actual) =
                (self.0.correct[lane], self.0.predicted[lane], self.0.actual[lane]);
            let share = |total: u32| {
                if total == 0 {
                    0.0
                } else {
                    f64::from(correct) / f64::from(total)
                }
            };
            let (precision, recall) = (share(predicted), share(actual));
            let sum = precision + recall;
            if sum == 0.0 {
                0.0
            } else {
                2.0 * precision * recall / sum
            }
        })
    }
}

fn add(sums: &mut [u32; LANES], more: &[u32; LANES]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// The mean over the classes that count, under each draw; 0 if none does.
fn mean_of_some(classes: impl Iterator<Item = ([f64; LANES], [bool; LANES])>) -> [f64; LANES] {
    let classes: Vec<_> = classes.collect();
    let mut scores = Vec::with_capacity(classes.len());
    std::array::from_fn(|lane| {
        scores.clear();
        scores.extend(
            classes
                .iter()
                .filter(|(_, counts)| counts[lane])
                .map(|(score, _)| score[lane]),
        );
        if scores.is_empty() { 0.0 } else { mean(&scores) }
    })
}

/// The lowest share of right items among the parts of the items whose weight is above 0.
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

fn each<T>(of_lane: impl Fn(usize) -> T) -> [T; LANES] {
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
                Resampler::of_clusters(&truth, None, &groups, [seed; 32]),
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
