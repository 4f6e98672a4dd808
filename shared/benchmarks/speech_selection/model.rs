//! The frozen model: the soft vote of an SVC and a logistic regression.

use super::frozen::{EvalSet, Frozen};
use super::metric::{N_CLIPS, N_NONTARGETS};
use super::{Checked, train_file};
use dataperf::dataset::frozen::{FrozenError, Matrix, ReadRows};
use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf_numerics::models::soft_voting::SoftVoting;

/// The predicted class of every test clip under every seed; the language is the only unit. `chosen` are the embeddings of the
/// checked rows.
pub(super) fn evidence(
    checked: &Checked,
    frozen: &Frozen,
    chosen: &ReadRows,
) -> Result<Evidence, FrozenError> {
    let damaged = |why: String| FrozenError::damaged(&train_file(frozen.language()), why);
    let EvalSet { embeddings, classes } = frozen.eval()?;
    let (n_rows, n_cols) = (checked.rows().len(), embeddings.view().ncols());
    let x = Matrix::from_rows(chosen.concatenated(), n_rows, n_cols)
        .ok_or_else(|| damaged(format!("its rows are not {n_cols} floats wide")))?;
    let ensemble = SoftVoting::fit(x.view(), checked.classes(), frozen.n_classes(), frozen.seeds())
        .map_err(|error| damaged(error.to_string()))?;
    let predicted = ensemble.predict(embeddings.view());
    let predicted = predicted
        .as_standard_layout()
        .into_owned()
        .into_raw_vec_and_offset()
        .0;
    let seeds = Repeats::Seeds(frozen.seeds().to_vec());
    let n_nontargets = checked.classes().iter().filter(|&&class| class == 0).count();
    let unit = UnitEvidence::new(seeds, classes.len(), frozen.n_classes(), predicted)
        .with_count(N_CLIPS, n_rows)
        .with_count(N_NONTARGETS, n_nontargets);
    Ok(Evidence::of_unit(frozen.language().to_owned(), unit))
}
