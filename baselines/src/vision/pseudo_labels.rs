//! Pseudo-labels: compares several learners and lets the best one label the pool.

use dataperf_numerics::metrics::binary_f1;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use rayon::prelude::*;

use super::learners::Learner;
use super::{Concept, Labelled, MAX_CANDIDATES, draw_from_both};
use crate::BaselineError;
use crate::random::Random;
use crate::splits::stratified_folds;

/// The number of folds in which the learners are compared; fewer if there are fewer examples.
pub const N_FOLDS: usize = 5;
/// The number of training sets that are drawn from the labelled pool.
pub const N_EXPERIMENTS: usize = 10;

/// Compares learners by their F1 in cross-validation on the examples and as many images drawn from the pool, has the
/// best one label the pool, draws ten balanced training sets from it, and takes the one with which the frozen model
/// does best on the examples and the drawn images. Returns it and which learner was best.
///
/// # Errors
/// [`BaselineError`] when there are too few examples, or a learner fails.
///
/// # Source
/// Paper, 2.3.2 and Table 2; `baselines/pseudo_label_generation` of CoactiveAI/dataperf-vision-selection, which labels
/// with a neural network.
pub fn select(concept: &Concept, seed: u32) -> Result<(Vec<Labelled>, &'static str), BaselineError> {
    let mut random = Random::new(seed);
    let (rows, labels) = concept.seeds(&mut random)?;
    let x = concept.features(&rows);
    let folds = stratified_folds(&labels, N_FOLDS.min(concept.examples.len()), seed)?;
    let learners = [Learner::Logistic, Learner::Forest { seed }, Learner::Neighbors];
    let score = |learner: &Learner| cross_validated(*learner, &x, &labels, &folds);
    let scores = learners.par_iter().map(score).collect::<Result<Vec<f64>, _>>()?;
    let best = (1..learners.len()).fold(0, |best, idx| if scores[idx] > scores[best] { idx } else { best });
    let learner = learners[best];

    let mut candidates = random.permutation(concept.pool.nrows());
    candidates.truncate(MAX_CANDIDATES);
    let predicted = learner.predict(x.view(), &labels, concept.features(&candidates).view())?;
    let side = |wanted: usize| {
        let both = candidates.iter().zip(&predicted);
        both.filter(|(_, label)| **label == wanted)
            .map(|(&row, _)| row)
            .collect::<Vec<_>>()
    };
    let (positive, negative) = (side(1), side(0));
    if positive.is_empty() || negative.is_empty() {
        return Err(BaselineError::TooFew {
            noun: "sides that the best learner sees in the pool".into(),
            n: 1,
            n_needed: 2,
        });
    }
    let drawn: Vec<Vec<Labelled>> = (0..N_EXPERIMENTS)
        .map(|_| draw_from_both(&positive, &negative, concept.max_images, &mut random))
        .collect();
    let score = |drawn: &Vec<Labelled>| {
        let (rows, of_drawn): (Vec<usize>, Vec<usize>) = drawn
            .iter()
            .map(|&(row, label)| (row, usize::from(label)))
            .unzip();
        let model = LogisticRegression::fit(concept.features(&rows).view(), &of_drawn)?;
        Ok(binary_f1(&labels, &model.predict(x.view()), &1))
    };
    let scores = drawn
        .par_iter()
        .map(score)
        .collect::<Result<Vec<f64>, BaselineError>>()?;
    let best = (1..scores.len()).fold(0, |best, idx| if scores[idx] > scores[best] { idx } else { best });
    Ok((drawn.into_iter().nth(best).unwrap_or_default(), learner.name()))
}

/// The F1 of a learner's cross-validated predictions: each row is predicted by a fit without it.
fn cross_validated(
    learner: Learner,
    x: &ndarray::Array2<f64>,
    labels: &[usize],
    folds: &[usize],
) -> Result<f64, BaselineError> {
    let mut predicted = vec![0; labels.len()];
    let n_folds = folds.iter().max().map_or(0, |last| last + 1);
    for fold in 0..n_folds {
        let (held_out, train): (Vec<usize>, Vec<usize>) =
            (0..labels.len()).partition(|&row| folds[row] == fold);
        let of_train: Vec<usize> = train.iter().map(|&row| labels[row]).collect();
        let select = |rows: &[usize]| x.select(ndarray::Axis(0), rows);
        let of_fold = learner.predict(select(&train).view(), &of_train, select(&held_out).view())?;
        held_out
            .iter()
            .zip(of_fold)
            .for_each(|(&row, label)| predicted[row] = label);
    }
    Ok(binary_f1(labels, &predicted, &1))
}
