//! How often a unit is evaluated, and what each time is called.

use serde::{Deserialize, Serialize};

use super::EvidenceError;

/// The repeats of a unit: how many models answered for every item, and what distinguishes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// One model.
    Once,
    /// One model for each of these seeds.
    Seeds(Vec<u32>),
    /// One model for each of so many training sets that were sampled, numbered from 0.
    Trials(u32),
    /// The models of a training set whose labels are put right one after another.
    Fixes(Fixes),
}

/// The name of one repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// The one model of [`Repeats::Once`].
    Only,
    /// The model of this seed.
    Seed(u32),
    /// The model of this trial, from 0.
    Trial(u32),
    /// The model after so many fixes; 0 is before any.
    AfterFixes(u32),
}

/// Which models a course of fixes has. A fix that changes no label leaves the model as it was, so that there are fewer
/// models than fixes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixes {
    /// The number of fixes before each model, ascending from 0. The last model is trained on right
    /// labels.
    pub models: Vec<u32>,
    /// Up to this number of fixes every model is here. The models from there to the last one were not fitted.
    pub n_known: u32,
}

impl Fixes {
    /// The place of the model after so many fixes; `None` if it was not fitted.
    pub fn model_after(&self, n_fixes: u32) -> Option<usize> {
        let place = self
            .models
            .partition_point(|&begins| begins <= n_fixes)
            .checked_sub(1)?;
        let is_last = place + 1 == self.models.len();
        (is_last || n_fixes <= self.n_known).then_some(place)
    }

    /// The area under a whole curve: the mean of the models' values over the numbers of fixes, from 0 to all of them.
    ///
    /// # Shapes and units
    /// `values`: one for each model. Where models between the known fixes and the last one are missing, the curve is not whole, and this is not its area.
    pub fn area(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        let until = self.models.iter().skip(1).copied().chain([self.n_known + 1]);
        let weights = self
            .models
            .iter()
            .zip(until)
            .map(|(begins, until)| f64::from(until.saturating_sub(*begins)));
        let sum: f64 = weights.zip(values).map(|(weight, value)| weight * value).sum();
        sum / f64::from(self.n_known + 1)
    }
}

impl Repeats {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Once => 1,
            Self::Seeds(seeds) => seeds.len(),
            Self::Trials(n) => *n as usize,
            Self::Fixes(fixes) => fixes.models.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a repeat; `None` when there is no such one.
    pub fn place(&self, repeat: Repeat) -> Option<usize> {
        match (self, repeat) {
            (Self::Once, Repeat::Only) => Some(0),
            (Self::Seeds(seeds), Repeat::Seed(seed)) => seeds.iter().position(|&known| known == seed),
            (Self::Trials(n), Repeat::Trial(trial)) => (trial < *n).then_some(trial as usize),
            (Self::Fixes(fixes), Repeat::AfterFixes(n_fixes)) => fixes.model_after(n_fixes),
            _ => None,
        }
    }

    /// The course of fixes.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when the repeats are of another kind.
    pub fn fixes(&self) -> Result<&Fixes, EvidenceError> {
        match self {
            Self::Fixes(fixes) => Ok(fixes),
            other => Err(EvidenceError::OtherData {
                why: format!("its repeats are {other:?} and no course of fixes"),
            }),
        }
    }

    /// The first contradiction, if there is one.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self::Fixes(Fixes { models, n_known }) = self else {
            return Ok(());
        };
        if models.first() != Some(&0) || !models.is_sorted_by(|a, b| a < b) {
            return Err("the models of its fixes do not ascend from 0".into());
        }
        if models[..models.len() - 1].iter().any(|begins| begins > n_known) {
            return Err("it has models beyond the fixes that are known".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_applies_until_the_next_one() {
        let whole = Fixes {
            models: vec![0, 2, 5],
            n_known: 7,
        };
        let places: Vec<_> = (0..8).map(|n| whole.model_after(n)).collect();
        assert_eq!(places, [0, 0, 1, 1, 1, 2, 2, 2].map(Some));
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the sums are exact")]
    fn an_area_is_the_mean_over_all_steps() {
        let whole = Fixes {
            models: vec![0, 2, 5],
            n_known: 7,
        };
        // two steps, three and three
        assert_eq!(whole.area([0.5, 1.0, 2.0]), (2.0 * 0.5 + 3.0 + 3.0 * 2.0) / 8.0);
    }

    #[test]
    fn no_model_is_known_after_a_curves_cut() {
        let cut = Fixes {
            models: vec![0, 2, 9],
            n_known: 4,
        };
        let places: Vec<_> = (0..=10).map(|n| cut.model_after(n)).collect();
        let (known, gap, right) = (
            [Some(0), Some(0), Some(1), Some(1), Some(1)],
            [None; 4],
            [Some(2); 2],
        );
        assert_eq!(places, [&known[..], &gap, &right].concat());
    }

    #[test]
    fn a_repeat_matches_only_its_own_name() {
        let seeds = Repeats::Seeds(vec![5, 69]);
        assert_eq!(seeds.place(Repeat::Seed(69)), Some(1));
        assert_eq!(seeds.place(Repeat::Seed(1)), None);
        assert_eq!(seeds.place(Repeat::Trial(1)), None);
        assert_eq!(Repeats::Trials(2).place(Repeat::Trial(2)), None);
        assert_eq!(Repeats::Once.place(Repeat::Only), Some(0));
        let fixes = |models| Repeats::Fixes(Fixes { models, n_known: 3 });
        for bad in [vec![], vec![1, 2], vec![0, 2, 2], vec![0, 4, 5]] {
            assert!(fixes(bad.clone()).check().is_err(), "{bad:?}");
        }
        assert!(fixes(vec![0, 3, 9]).check().is_ok());
    }
}
