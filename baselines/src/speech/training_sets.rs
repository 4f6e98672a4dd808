//! Compares training sets by how well the frozen model does when trained on them.

use dataperf::progress::Progress;
use dataperf_numerics::metrics::macro_f1;
use dataperf_numerics::models::FitError;
use dataperf_numerics::models::soft_voting::SoftVoting;
use ndarray::Axis;
use rayon::prelude::*;

use super::Clips;

/// The macro F1 of each training set on the clips outside of it, `(n_sets,)`, with the clip of row `row` counted `times(row)`
/// times. A set is a list of rows of `clips`, of at least two classes.
///
/// Two things make this fast: the logistic part is fitted in the span of its few rows, see [`SoftVoting::fit_in_span`],
/// and the rows of all sets are multiplied with all clips once, see [`SoftVoting::predict_each`].
///
/// # Errors
/// [`FitError`] when a set can't be fitted.
pub fn scores(
    clips: &Clips,
    sets: &[Vec<usize>],
    times: impl Fn(usize) -> usize + Sync,
    seed: u32,
    progress: &dyn Progress,
) -> Result<Vec<f64>, FitError> {
    progress.begin("fits", sets.len() as u64);
    let fit = |rows: &Vec<usize>| {
        let classes: Vec<usize> = rows.iter().map(|&row| clips.classes[row]).collect();
        let x = clips.x.select(Axis(0), rows);
        let vote = SoftVoting::fit_in_span(x.view(), &classes, clips.n_classes, &[seed]);
        progress.advance(1);
        vote
    };
    let votes = sets.par_iter().map(fit).collect::<Result<Vec<_>, _>>()?;
    let predicted = SoftVoting::predict_each(&votes, clips.x);
    let score = |(rows, predicted): (&Vec<usize>, ndarray::ArrayView1<u8>)| {
        let mut times: Vec<usize> = (0..clips.classes.len()).map(&times).collect();
        for &row in rows {
            times[row] = 0;
        }
        let repeated = || (0..times.len()).flat_map(|row| std::iter::repeat_n(row, times[row]));
        let truth: Vec<usize> = repeated().map(|row| clips.classes[row]).collect();
        let predicted: Vec<usize> = repeated().map(|row| predicted[row].into()).collect();
        macro_f1(&truth, &predicted)
    };
    let scored: Vec<_> = sets.iter().zip(predicted.outer_iter()).collect();
    Ok(scored.into_par_iter().map(score).collect())
}

/// The index of the highest score, the first among equal ones; 0 if there are none.
pub fn first_of_the_best(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, set| if scores[set] > scores[best] { set } else { best })
}
