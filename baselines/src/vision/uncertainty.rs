//! Modified uncertainty sampling: a classifier of noisy labels divides the pool, and both sides are drawn from.

use dataperf_numerics::models::logistic_regression::LogisticRegression;
use rayon::prelude::*;

use super::{Concept, Labelled, MAX_CANDIDATES, draw_from_both};
use crate::BaselineError;
use crate::random::Random;

/// The number of classifiers whose probabilities are averaged; each draws its own images as negative examples.
pub const N_CLASSIFIERS: usize = 30;

/// Trains logistic regressions on the examples and as many images drawn from the pool, which are
/// almost all negative. The images that they classify as positive on average are one side, the
/// others the other. The training set is drawn from both, as many of each.
///
/// # Errors
/// [`BaselineError`] when there are too few examples or one side is empty.
///
/// # Source
/// Paper, 2.3.2 and Table 2; `baselines/modified_uncertainty_sampling` of CoactiveAI/dataperf-vision-selection has
/// noisy labels of the whole pool, which a participant of ours has not. Averaging over draws of negatives: Mordelet
/// and Vert, "A bagging SVM to learn from positive and unlabeled examples", Pattern Recognition Letters 37 (2014).
pub fn select(concept: &Concept, seed: u32) -> Result<Vec<Labelled>, BaselineError> {
    let mut random = Random::new(seed);
    let seeds = (0..N_CLASSIFIERS)
        .map(|_| concept.seeds(&mut random))
        .collect::<Result<Vec<_>, _>>()?;
    let mut candidates = random.permutation(concept.pool.nrows());
    candidates.truncate(MAX_CANDIDATES);
    let pool = concept.features(&candidates);
    let probabilities = |(rows, labels): &(Vec<usize>, Vec<usize>)| {
        let model = LogisticRegression::fit(concept.features(rows).view(), labels)?;
        Ok(model.predict_proba(pool.view()).column(1).to_vec())
    };
    let all = seeds
        .par_iter()
        .map(probabilities)
        .collect::<Result<Vec<_>, BaselineError>>()?;
    let mean = |place: usize| all.iter().map(|of_one| of_one[place]).sum::<f64>() / all.len() as f64;
    let (positive, negative): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|&place| mean(place) >= 0.5);
    if positive.is_empty() || negative.is_empty() {
        return Err(BaselineError::TooFew {
            noun: "sides that the classifiers see in the pool".into(),
            n: 1,
            n_needed: 2,
        });
    }
    let rows = |places: Vec<usize>| {
        places
            .into_iter()
            .map(|place| candidates[place])
            .collect::<Vec<_>>()
    };
    Ok(draw_from_both(
        &rows(positive),
        &rows(negative),
        concept.max_images,
        &mut random,
    ))
}
