//! The frozen model: a logistic regression for each concept.

use rayon::prelude::*;

use super::frozen::{Frozen, N_CLASSES, TestSet};
use super::metric::{N_EXAMPLES, N_POSITIVE};
use super::validation::Chosen;
use super::{Checked, POOL_FILE};
use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::numbers::Numbers;

/// The classes that each concept's classifier predicts for the images of its test set.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let chosen = checked.concepts().iter().zip(frozen.concepts());
    let concepts: Vec<((&Chosen, &String), &TestSet)> = chosen.zip(frozen.test_sets()?).collect();
    let n_features = frozen.n_features();
    let unit = |((chosen, concept), test): ((&Chosen, &String), &TestSet)| {
        let damaged = |why: String| FrozenError::damaged(POOL_FILE, why);
        let rows = Numbers::F32(&chosen.features);
        let model = LogisticRegression::fit_stored(rows, n_features, &chosen.labels);
        let model = model.map_err(|error| damaged(error.to_string()))?;
        let predicted = model.predict(test.features.view());
        let predicted = predicted.into_iter().map(|class| class as u8).collect();
        let unit = UnitEvidence::new(Repeats::Once, test.labels.len(), N_CLASSES, predicted)
            .with_count(N_EXAMPLES, chosen.labels.len())
            .with_count(N_POSITIVE, chosen.labels.iter().sum());
        Ok((concept.clone(), unit))
    };
    let units = concepts
        .into_par_iter()
        .map(unit)
        .collect::<Result<Vec<_>, FrozenError>>();
    units.map(Evidence::from_iter)
}
