//! How often each item of each unit counts.

use std::collections::BTreeMap;

use super::{EvidenceError, quote};
use dataperf_numerics::metrics::ItemWeights;

/// How often each item of an evaluation counts. A weight of 2 is the same as the item twice in the test set, 0 as the item
/// left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weights {
    /// By unit; `None` is each item once.
    of_units: Option<BTreeMap<String, Vec<u32>>>,
}

impl Weights {
    /// Each item once: the weights of every receipt.
    pub fn ones() -> Self {
        Self::default()
    }

    /// The weights of the items of every unit, by the unit's name, in the order of its test set.
    pub fn of_units(weights: BTreeMap<String, Vec<u32>>) -> Self {
        Self {
            of_units: Some(weights),
        }
    }

    /// The weights of one unit's `n_items` items.
    ///
    /// # Errors
    /// [`EvidenceError::OtherWeights`] when the unit has none, or another number of them.
    pub fn unit(&self, name: &str, n_items: usize) -> Result<ItemWeights<'_>, EvidenceError> {
        let Some(of_units) = &self.of_units else {
            return Ok(ItemWeights::Ones);
        };
        match of_units.get(name) {
            Some(weights) if weights.len() == n_items => Ok(ItemWeights::Each(weights)),
            other => Err(EvidenceError::OtherWeights {
                why: format!(
                    "the unit {} has {} weights and {n_items} items",
                    quote(name),
                    other.map_or(0, Vec::len)
                ),
            }),
        }
    }
}
