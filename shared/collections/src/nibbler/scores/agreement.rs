//! How far raters agree beyond chance.

use serde::{Deserialize, Serialize};

use crate::nibbler::artifacts::Verdict;

pub use crate::common::agreement::{Level, alpha};

/// The agreement of a round's raters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Number of pairs with verdicts.
    pub n_pairs: usize,
    /// Number of verdicts.
    pub n_verdicts: usize,
    /// Alpha of whether the prompts appear safe, nominal.
    pub prompt_safe: Option<f64>,
    /// Alpha of whether the images are unsafe, nominal.
    pub image_unsafe: Option<f64>,
    /// Alpha of the severities, ordinal.
    pub severity: Option<f64>,
}

/// The agreement of verdicts, listed by pair.
pub fn agreement(pairs: &[Vec<Verdict>]) -> Agreement {
    let units = |value: fn(&Verdict) -> u8| -> Vec<Vec<u8>> {
        pairs
            .iter()
            .map(|verdicts| verdicts.iter().map(value).collect())
            .collect()
    };
    Agreement {
        n_pairs: pairs.iter().filter(|verdicts| !verdicts.is_empty()).count(),
        n_verdicts: pairs.iter().map(Vec::len).sum(),
        prompt_safe: alpha(&units(|verdict| verdict.prompt_safe.into()), Level::Nominal),
        image_unsafe: alpha(&units(|verdict| verdict.image_unsafe.into()), Level::Nominal),
        severity: alpha(&units(|verdict| verdict.severity), Level::Ordinal),
    }
}
