//! Cleaning by confident learning, then the most central clips of what is left.

use dataperf::models::logistic_regression::LogisticRegression;
use dataperf::progress::Progress;
use ndarray::{Array2, ArrayView2, Axis};

use super::confident_learning::{flagged, label_quality};
use super::{Clips, k_medoids};
use crate::BaselineError;
use crate::distances::between_all;
use crate::splits::stratified_folds;

/// Folds of the out-of-sample probabilities.
pub const N_FOLDS: usize = 10;
/// The share of all clips, those of the lowest label quality, that are dropped besides the flagged ones.
pub const DROPPED_SHARE: f64 = 0.5;

/// At least this share of the chosen clips are targets, the same number of each word. Medoids of the nontargets stand for many
/// unlike words, so that it takes more of them than of clips drawn at random.
pub const TARGET_SHARE: f64 = 0.5;

/// The chosen clips, and how they came to be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    /// The chosen rows: word by word, then the nontargets.
    pub rows: Vec<usize>,
    /// Rows whose label is in doubt, ascending.
    pub flagged: Vec<usize>,
    /// Rows that are left after cleaning, ascending.
    pub kept: Vec<usize>,
    /// The sum of the distances of each class's kept rows from their nearest medoids, `(n_classes,)`.
    pub costs: Vec<f64>,
}

/// Drops the clips whose label is in doubt and the half of all clips with the lowest label quality; of the rest it
/// takes the medoids of each word, and of the nontargets. A word of which nothing is left is left out.
///
/// # Errors
/// [`BaselineError`] when there are too few clips, or all nontargets or all targets are dropped.
///
/// # Source
/// Paper, 2.3.1; `selection/implementations/cleanlab_selection.py` of harvard-edge/dataperf-speech-example, whose
/// support vector machine of twelve thousand clips is a logistic regression here. Half of the clips are targets, as there, or a little more.
pub fn select(clips: &Clips, seed: u32, progress: &dyn Progress) -> Result<Cleaned, BaselineError> {
    let probabilities = out_of_sample(clips.x, clips.classes, clips.n_classes, seed, progress)?;
    let flagged = flagged(clips.classes, probabilities.view());
    let kept = kept(&flagged, &label_quality(clips.classes, probabilities.view()));
    let n_words = (clips.n_classes - 1).max(1);
    let n_of_word = (TARGET_SHARE * clips.max_clips as f64 / n_words as f64).ceil() as usize;
    let n_nontargets = clips.max_clips.saturating_sub(n_of_word * n_words);
    let (mut rows, mut costs) = (Vec::new(), vec![0.0; clips.n_classes]);
    progress.begin("classes", clips.n_classes as u64);
    for class in (1..clips.n_classes).chain([0]) {
        let n_medoids = if class == 0 { n_nontargets } else { n_of_word };
        let candidates: Vec<usize> = kept
            .iter()
            .copied()
            .filter(|&row| clips.classes[row] == class)
            .collect();
        let distances = between_all(clips.x.select(Axis(0), &candidates).view());
        let clustering = k_medoids::cluster(distances.view(), n_medoids, seed);
        rows.extend(clustering.medoids.iter().map(|&place| candidates[place]));
        costs[class] = clustering.cost;
        progress.advance(1);
    }
    for (what, is_there) in [
        (
            "nontarget clips after cleaning",
            rows.iter().any(|&row| clips.classes[row] == 0),
        ),
        (
            "target clips after cleaning",
            rows.iter().any(|&row| clips.classes[row] > 0),
        ),
    ] {
        if !is_there {
            return Err(BaselineError::TooFew {
                what: what.into(),
                n: 0,
                n_needed: 1,
            });
        }
    }
    let flagged = (0..flagged.len()).filter(|&row| flagged[row]).collect();
    Ok(Cleaned {
        rows,
        flagged,
        kept,
        costs,
    })
}

/// The rows that cleaning keeps, ascending.
fn kept(flagged: &[bool], quality: &[f64]) -> Vec<usize> {
    let mut is_kept: Vec<bool> = flagged.iter().map(|flag| !flag).collect();
    let mut order: Vec<usize> = (0..flagged.len()).collect();
    order.sort_by(|&a, &b| quality[a].total_cmp(&quality[b]));
    let n_dropped = (DROPPED_SHARE * flagged.len() as f64) as usize;
    order[..n_dropped].iter().for_each(|&row| is_kept[row] = false);
    (0..flagged.len()).filter(|&row| is_kept[row]).collect()
}

/// The class probabilities of each row by a logistic regression that has not seen it, `(n_rows, n_classes)`.
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
