//! Cleans the clips by confident learning, and chooses the most central of the remaining ones.

use std::ops::Range;

use dataperf::progress::Progress;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use ndarray::{Array2, ArrayView2, Axis};

use super::confident_learning::{flagged, label_quality};
use super::training_sets::{first_of_the_best, scores};
use super::{Clips, k_medoids};
use crate::BaselineError;
use crate::distances::between_all;
use crate::splits::stratified_folds;

/// The number of folds for the out-of-sample probabilities.
pub const N_FOLDS: usize = 10;
/// The share of each class that is dropped besides the flagged clips: those with the lowest label quality.
pub const DROPPED_SHARE: f64 = 0.5;

/// The shares of targets among the chosen clips that are tried, with the same number of clips of each word; the frozen model
/// decides between them. Medoids of the nontargets represent many different words, and how many of them are needed depends on the
/// clips.
pub const TARGET_SHARES: [f64; 3] = [0.4, 0.5, 0.6];
/// The number of nontargets for each target on which the frozen model compares choices. The clips to choose from have two or three,
/// real use of a keyword spotter has many, and the public test sets have 24 to 41.
const NONTARGETS_A_TARGET: f64 = 10.0;

/// The chosen clips, and how they came to be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    /// The chosen rows: word by word, then the nontargets.
    pub rows: Vec<usize>,
    /// The rows whose labels are in doubt, ascending.
    pub flagged: Vec<usize>,
    /// The rows that are left after cleaning, ascending.
    pub kept: Vec<usize>,
    /// The sum of the distances of each class's kept rows from their nearest medoids, `(n_classes,)`.
    pub costs: Vec<f64>,
    /// The frozen model's score for each choice that was tried, one for each share of targets that leaves room for a nontarget:
    /// first the choices from the better halves of the words, then those from whole words.
    pub scores: Vec<f64>,
}

/// Drops the clips whose label is in doubt and the half of each class with the lowest label quality; of the rest it
/// takes the medoids of each word, and of the nontargets. A word of which nothing is left is left out.
///
/// Halves of the classes, not of all clips, because label quality is relative to what is usual for a class and can't be compared
/// between them: nontargets that are many and told for certain are mostly behind the words' clips. The lower half of all clips
/// is then nearly one of nontargets alone, and the words keep the clips of other words that were filed under them.
///
/// Two things depend on the clips, so that the frozen model decides them, by how well it does on the clips outside whose
/// label is not in doubt: how many clips are targets, see [`TARGET_SHARES`], and whether the words lose their half. A word of a
/// dozen clips has more use for their variety than harm from the few that are wrong; one of hundreds has not.
///
/// # Errors
/// [`BaselineError`] when there are too few clips or fewer allowed than words, or all nontargets or all targets are dropped.
///
/// # Source
/// Paper, 2.3.1; `selection/implementations/cleanlab_selection.py` of harvard-edge/dataperf-speech-example, whose
/// support vector machine of twelve thousand clips is a logistic regression here, and where half of the clips are targets and the
/// lower half of all clips is dropped.
pub fn select(clips: &Clips, seed: u32, progress: &dyn Progress) -> Result<Cleaned, BaselineError> {
    let probabilities = out_of_sample(clips.x, clips.classes, clips.n_classes, seed, progress)?;
    let flagged = flagged(clips.classes, probabilities.view());
    let quality = label_quality(clips.classes, probabilities.view());
    let mut choices = Vec::new();
    for halved in [0..clips.n_classes, 0..1] {
        let kept = kept(&flagged, &quality, clips.classes, halved);
        choices.extend(self::choices(clips, &kept, seed, progress)?);
    }
    let sets: Vec<Vec<usize>> = choices.iter().map(|choice| choice.rows.clone()).collect();
    let n_sure = |is_target: bool| {
        let of_kind = |&row: &usize| !flagged[row] && (clips.classes[row] > 0) == is_target;
        (0..flagged.len()).filter(of_kind).count() as f64
    };
    let of_nontarget = (NONTARGETS_A_TARGET * n_sure(true) / n_sure(false))
        .round()
        .max(1.0) as usize;
    let times = |row: usize| match (flagged[row], clips.classes[row]) {
        (true, _) => 0,
        (false, 0) => of_nontarget,
        (false, _) => 1,
    };
    let scores = scores(clips, &sets, times, seed, progress)?;
    let Choice { kept, rows, costs } = choices.swap_remove(first_of_the_best(&scores));
    let flagged = (0..flagged.len()).filter(|&row| flagged[row]).collect();
    Ok(Cleaned {
        rows,
        flagged,
        kept,
        costs,
        scores,
    })
}

/// The medoids of all classes, with the numbers of each that one share of targets asks for.
struct Choice {
    /// The rows from which the medoids are chosen.
    kept: Vec<usize>,
    rows: Vec<usize>,
    costs: Vec<f64>,
}

/// One choice among the kept clips for each share of targets that leaves room for a nontarget; at least one.
fn choices(
    clips: &Clips,
    kept: &[usize],
    seed: u32,
    progress: &dyn Progress,
) -> Result<Vec<Choice>, BaselineError> {
    let of_class = |class: usize| {
        kept.iter()
            .copied()
            .filter(move |&row| clips.classes[row] == class)
    };
    let candidates: Vec<Vec<usize>> = (0..clips.n_classes)
        .map(|class| of_class(class).collect())
        .collect();
    let n_targets: usize = candidates[1..].iter().map(Vec::len).sum();
    for (noun, n) in [("nontarget", candidates[0].len()), ("target", n_targets)] {
        if n == 0 {
            return Err(BaselineError::TooFew {
                noun: format!("{noun} clips after cleaning"),
                n: 0,
                n_needed: 1,
            });
        }
    }
    let n_words = (clips.n_classes - 1).max(1);
    let mut sizes: Vec<usize> = TARGET_SHARES
        .map(|share| (share * clips.max_clips as f64 / n_words as f64).round().max(1.0) as usize)
        .into_iter()
        .filter(|n_of_word| n_of_word * n_words < clips.max_clips)
        .collect();
    sizes.dedup();
    if sizes.is_empty() {
        return Err(BaselineError::TooFew {
            noun: "clips that the leaderboard allows".into(),
            n: clips.max_clips,
            n_needed: n_words + 1,
        });
    }
    progress.begin("medoids", (sizes.len() * clips.n_classes) as u64);
    let mut choices: Vec<Choice> = sizes
        .iter()
        .map(|_| Choice {
            kept: kept.to_vec(),
            rows: Vec::new(),
            costs: vec![0.0; clips.n_classes],
        })
        .collect();
    for class in (1..clips.n_classes).chain([0]) {
        let distances = between_all(clips.x.select(Axis(0), &candidates[class]).view());
        for (choice, n_of_word) in choices.iter_mut().zip(&sizes) {
            let n_medoids = if class == 0 {
                clips.max_clips - n_of_word * n_words
            } else {
                *n_of_word
            };
            let clustering = k_medoids::cluster(distances.view(), n_medoids, seed);
            let medoids = clustering.medoids.iter().map(|&place| candidates[class][place]);
            choice.rows.extend(medoids);
            choice.costs[class] = clustering.cost;
            progress.advance(1);
        }
    }
    Ok(choices)
}

/// The rows that cleaning keeps, ascending; of the classes in `halved` it keeps only those in the upper half by label quality.
fn kept(flagged: &[bool], quality: &[f64], classes: &[usize], halved: Range<usize>) -> Vec<usize> {
    let mut is_kept: Vec<bool> = flagged.iter().map(|flag| !flag).collect();
    for class in halved {
        let mut order: Vec<usize> = (0..classes.len()).filter(|&row| classes[row] == class).collect();
        order.sort_by(|&a, &b| quality[a].total_cmp(&quality[b]));
        let n_dropped = (DROPPED_SHARE * order.len() as f64) as usize;
        order[..n_dropped].iter().for_each(|&row| is_kept[row] = false);
    }
    (0..flagged.len()).filter(|&row| is_kept[row]).collect()
}

/// The class probabilities of each row, `(n_rows, n_classes)`, by a logistic regression that was fitted without it.
///
/// # Errors
/// [`BaselineError`] when there are too few rows, or they can't be fitted.
pub fn out_of_sample(
    x: ArrayView2<f32>,
    classes: &[usize],
    n_classes: usize,
    seed: u32,
    progress: &dyn Progress,
) -> Result<Array2<f64>, BaselineError> {
    let folds = stratified_folds(classes, N_FOLDS, seed)?;
    let x = x.mapv(f64::from);
    let mut probabilities = Array2::zeros((classes.len(), n_classes));
    progress.begin("folds", N_FOLDS as u64);
    for fold in 0..N_FOLDS {
        let (held_out, train): (Vec<usize>, Vec<usize>) =
            (0..classes.len()).partition(|&row| folds[row] == fold);
        let of_train: Vec<usize> = train.iter().map(|&row| classes[row]).collect();
        let model = LogisticRegression::fit(x.select(Axis(0), &train).view(), &of_train)?;
        let predicted = model.predict_proba(x.select(Axis(0), &held_out).view());
        for (&row, predicted) in held_out.iter().zip(predicted.outer_iter()) {
            for (&class, &probability) in model.classes().iter().zip(predicted) {
                probabilities[[row, class]] = probability;
            }
        }
        progress.advance(1);
    }
    Ok(probabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_halved_class_loses_its_own_lower_half() {
        // the labels of the words are more reliable than those of nontargets
        let classes = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2];
        let quality = [0.1, 0.6, 0.2, 0.5, 0.3, 0.4, 0.9, 0.7, 0.8, 0.95, 0.99];
        let mut flagged = [false; 11];
        assert_eq!(kept(&flagged, &quality, &classes, 0..3), [1, 3, 5, 6, 8, 10]);
        assert_eq!(
            kept(&flagged, &quality, &classes, 0..1),
            [1, 3, 5, 6, 7, 8, 9, 10]
        );
        flagged[3] = true;
        assert_eq!(kept(&flagged, &quality, &classes, 0..3), [1, 5, 6, 8, 10]);
    }

    #[test]
    fn clips_of_other_words_are_always_removed() {
        // two words of 20 clips, the last six of each misfiled; the model is sure of each nontarget, and hardly of two of each word
        let classes: Vec<usize> = (0..160)
            .map(|row| if row < 40 { row / 20 + 1 } else { 0 })
            .collect();
        let is_misfiled = |row: usize| row < 40 && row % 20 >= 14;
        let probabilities = Array2::from_shape_fn((160, 3), |(row, class)| {
            let own = match row {
                40.. => 0.998 - 1e-6 * row as f64,
                _ if is_misfiled(row) => 0.98,
                _ if row % 20 < 2 => 0.8,
                _ => 0.995,
            };
            if class == classes[row] {
                own
            } else {
                (1.0 - own) / 2.0
            }
        });
        let flagged = flagged(&classes, probabilities.view());
        let quality = label_quality(&classes, probabilities.view());
        let is_behind = (40..160).all(|row| quality[row] < quality[19]);
        assert!(is_behind, "the lower half of all clips is of nontargets alone");
        let kept = kept(&flagged, &quality, &classes, 0..3);
        assert_eq!(kept.iter().find(|&&row| is_misfiled(row)), None);
        assert_eq!(kept.len(), 10 + 10 + 60);
    }
}
