//! Labels in doubt.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use dataperf_baselines::random::Random;
use dataperf_baselines::splits::stratified_folds;
use dataperf_numerics::confident_learning::flagged;
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use crate::learners::{LEARNERS, Learner};

/// Folds of the cross-validation; fewer if even the largest class has fewer items.
pub const FOLDS: usize = 5;
/// The seed with which the folds are drawn: the same data gives the same folds.
const SEED: u32 = 0;
/// Classes with this many items or fewer are not flagged: cleanlab's default.
const MIN_OF_CLASS: usize = 1;

/// Why a test set's labels can't be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// All items have one class.
    #[error("all {n_items} items have the same class, so the audit can't find wrong labels")]
    OneClass {
        /// How many there are.
        n_items: usize,
    },
    /// No class has two items.
    #[error("none of its classes has two of the {n_items} items, so the audit can't learn any class")]
    TooFew {
        /// How many there are.
        n_items: usize,
    },
    /// Features that are not finite.
    #[error(
        "{n_columns} of its columns have numbers that are not finite: fix them and import the data set again"
    )]
    NotFinite {
        /// How many columns.
        n_columns: usize,
    },
    /// A learner failed.
    #[error("the {learner} learner failed: {why}")]
    Learner {
        /// Which one.
        learner: &'static str,
        /// Its prediction.
        why: String,
    },
}

/// A label that a learner or both contradict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Doubt {
    /// The row, from 0.
    pub row: usize,
    /// The class that it has.
    pub given: usize,
    /// The class that the doubting learners suggest.
    pub suggested: usize,
    /// How much more probable the suggested class is than the given one: the mean over the doubting learners.
    pub margin: f64,
    /// The learners that doubt the label.
    pub flagged_by: Vec<Learner>,
}

impl Doubt {
    /// Whether both learners doubt.
    pub fn is_likely(&self) -> bool {
        self.flagged_by.len() == LEARNERS.len()
    }
}

/// The labels in doubt: likely errors first, then by margin, the largest first.
///
/// # Shapes and units
/// `rows`: `(n_items, n_features)`, finite; `labels`: `(n_items,)`, below `n_classes`.
///
/// # Errors
/// [`AuditError`] when there is too little to learn from, or a learner fails.
pub fn doubts(rows: ArrayView2<f64>, labels: &[usize], n_classes: usize) -> Result<Vec<Doubt>, AuditError> {
    let folds = with_copies_together(rows, labels, &folds(labels, n_classes)?);
    let of_learner = |learner: Learner| {
        let predicted = learner
            .out_of_sample(rows, labels, n_classes, &folds)
            .map_err(|why| AuditError::Learner {
                learner: learner.name(),
                why,
            })?;
        let flags = flagged(labels, predicted.view(), MIN_OF_CLASS);
        Ok((learner, predicted, flags))
    };
    let of_learners = LEARNERS
        .into_iter()
        .map(of_learner)
        .collect::<Result<Vec<_>, AuditError>>()?;
    let mut doubts: Vec<Doubt> = (0..labels.len())
        .filter_map(|row| {
            let who = of_learners.iter().filter(|(_, _, flags)| flags[row]);
            let (learners, predicted): (Vec<Learner>, Vec<&Array2<f64>>) =
                who.map(|(learner, predicted, _)| (*learner, predicted)).unzip();
            (!learners.is_empty()).then(|| doubt(row, labels[row], learners, &predicted))
        })
        .collect();
    doubts.sort_by(|a, b| {
        let by_learners = b.flagged_by.len().cmp(&a.flagged_by.len());
        by_learners
            .then(b.margin.total_cmp(&a.margin))
            .then(a.row.cmp(&b.row))
    });
    Ok(doubts)
}

/// A random sample of the rows whose labels no learner doubts, ascending: what people find there tells how many wrong labels an audit
/// misses.
///
/// # Shapes and units
/// `n_items`: of the test set; `doubts`: its labels in doubt; `n`: the size of the sample, or all rows if there are fewer. The sample
/// follows from the seed.
pub fn control_sample(n_items: usize, doubts: &[Doubt], n: usize, seed: u32) -> Vec<usize> {
    let doubted: BTreeSet<usize> = doubts.iter().map(|doubt| doubt.row).collect();
    let others: Vec<usize> = (0..n_items).filter(|row| !doubted.contains(row)).collect();
    let mut sample = Random::new(seed).choose(&others, n);
    sample.sort_unstable();
    sample
}

/// The mean over both learners of their out-of-fold probabilities for each row: `(n_items,
/// n_classes)`.
pub(crate) fn predicted_by_both(
    rows: ArrayView2<f64>,
    labels: &[usize],
    n_classes: usize,
) -> Result<Array2<f64>, AuditError> {
    let folds = with_copies_together(rows, labels, &folds(labels, n_classes)?);
    let mut sum = Array2::zeros((labels.len(), n_classes));
    for learner in LEARNERS {
        let predicted = learner.out_of_sample(rows, labels, n_classes, &folds);
        sum += &predicted.map_err(|why| AuditError::Learner {
            learner: learner.name(),
            why,
        })?;
    }
    Ok(sum / LEARNERS.len() as f64)
}

/// The fold of each item.
fn folds(labels: &[usize], n_classes: usize) -> Result<Vec<usize>, AuditError> {
    let mut counts = vec![0_usize; n_classes];
    for &label in labels {
        counts[label] += 1;
    }
    let n_of_classes = counts.iter().filter(|&&n| n > 0).count();
    if n_of_classes < 2 {
        return Err(AuditError::OneClass {
            n_items: labels.len(),
        });
    }
    let largest = counts.into_iter().max().unwrap_or(0);
    if largest < 2 {
        return Err(AuditError::TooFew {
            n_items: labels.len(),
        });
    }
    let folds = stratified_folds(labels, FOLDS.min(largest), SEED);
    folds.map_err(|error| AuditError::Learner {
        learner: "cross-validation",
        why: error.to_string(),
    })
}

/// Puts all copies of a row into the fold of the first. Otherwise a wrong label that copies share
/// would be learnt from some of them and confirmed on the others. The folds of a class stay
/// unchanged if it would be left in one fold, and be in no training set when it is tested.
fn with_copies_together(rows: ArrayView2<f64>, labels: &[usize], folds: &[usize]) -> Vec<usize> {
    let mut first = HashMap::new();
    let together: Vec<usize> = rows
        .rows()
        .into_iter()
        .zip(folds)
        .map(|(row, &fold)| {
            let mut content = DefaultHasher::new();
            for value in row {
                (value + 0.0).to_bits().hash(&mut content); // + 0.0 makes -0 a 0
            }
            *first.entry(content.finish()).or_insert(fold)
        })
        .collect();
    let mut of_classes: HashMap<usize, BTreeSet<usize>> = HashMap::new();
    for (&label, &fold) in labels.iter().zip(&together) {
        of_classes.entry(label).or_default().insert(fold);
    }
    let rows = labels.iter().zip(together.iter().zip(folds));
    rows.map(|(label, (&together, &apart))| {
        if of_classes[label].len() > 1 {
            together
        } else {
            apart
        }
    })
    .collect()
}

fn doubt(row: usize, given: usize, flagged_by: Vec<Learner>, predicted: &[&Array2<f64>]) -> Doubt {
    let n = predicted.len() as f64;
    let mean = |class: usize| {
        predicted
            .iter()
            .map(|predicted| predicted[[row, class]])
            .sum::<f64>()
            / n
    };
    let others = (0..predicted[0].ncols()).filter(|&class| class != given);
    // the first one of equals
    let best = others.fold(None, |best: Option<(usize, f64)>, class| {
        let mean = mean(class);
        if best.is_none_or(|(_, most)| mean > most) {
            Some((class, mean))
        } else {
            best
        }
    });
    let (suggested, most) = best.unwrap_or((given, 0.0));
    Doubt {
        row,
        given,
        suggested,
        margin: most - mean(given),
        flagged_by,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, 4), |(row, column)| {
            let side = [3.0, -3.0, 0.0][row % 3] * if column % 2 == 0 { 1.0 } else { -1.0 };
            let noise = ((row * 2_654_435_761 + column * 40_503) % 1_000) as f64 / 1_000.0;
            side + noise
        })
    }

    #[test]
    fn wrong_labels_among_plain_rows_are_likely_errors() {
        let mut labels: Vec<usize> = (0..90).map(|row| row % 3).collect();
        labels[7] = 0;
        labels[50] = 1;
        let doubts = doubts(rows(90).view(), &labels, 3).unwrap();
        let likely: Vec<(usize, usize)> = doubts
            .iter()
            .filter(|doubt| doubt.is_likely())
            .map(|doubt| (doubt.row, doubt.suggested))
            .collect();
        assert!(
            likely.contains(&(7, 1)) && likely.contains(&(50, 2)) && likely.len() == 2,
            "{likely:?}"
        );
    }

    #[test]
    fn mislabelled_copies_do_not_confirm_each_other() {
        let (mut copied, mut labels) = (rows(90), (0..90).map(|row| row % 3).collect::<Vec<_>>());
        let of_copies = copied.row(7).to_owned();
        for row in [7, 22, 37, 52, 67] {
            copied.row_mut(row).assign(&of_copies);
            labels[row] = 0;
        }
        let doubts = doubts(copied.view(), &labels, 3).unwrap();
        for row in [7, 22, 37, 52, 67] {
            let doubt = doubts.iter().find(|doubt| doubt.row == row);
            assert!(doubt.is_some_and(Doubt::is_likely), "{row}: {doubts:?}");
        }
        // a class of copies alone is still learnt
        let same = Array2::from_elem((4, 2), 1.0);
        assert_eq!(
            with_copies_together(same.view(), &[0; 4], &[0, 1, 0, 1]),
            [0, 1, 0, 1]
        );
    }

    #[test]
    fn a_control_sample_avoids_labels_in_doubt() {
        let doubt = |row| Doubt {
            row,
            given: 0,
            suggested: 1,
            margin: 0.5,
            flagged_by: vec![Learner::Logistic],
        };
        let doubts = [doubt(3), doubt(7)];
        let sample = control_sample(50, &doubts, 10, 1);
        assert_eq!(sample.len(), 10);
        assert!(sample.is_sorted() && sample.iter().all(|row| ![3, 7].contains(row)));
        assert_eq!(control_sample(50, &doubts, 10, 1), sample);
        assert_ne!(control_sample(50, &doubts, 10, 2), sample);
        assert_eq!(control_sample(50, &doubts, 100, 1).len(), 48);
    }

    #[test]
    fn training_needs_two_classes_and_enough_rows() {
        let one_class = doubts(rows(5).view(), &[1; 5], 3);
        assert!(matches!(one_class, Err(AuditError::OneClass { n_items: 5 })));
        assert!(matches!(
            doubts(rows(1).view(), &[0], 3),
            Err(AuditError::OneClass { n_items: 1 })
        ));
        assert!(matches!(
            doubts(rows(2).view(), &[0, 1], 3),
            Err(AuditError::TooFew { n_items: 2 })
        ));
        assert!(doubts(rows(4).view(), &[0, 1, 0, 2], 3).is_ok());
    }
}
