//! The submitted program is the model, and its answers are in the artifact: this module turns them into classes.

use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf_collections::text::compare::Judged;

use super::frozen::{EXAMPLES, FAIR, Frozen, N_CLASSES, RIGHT, ROBUST};
use super::metric::{FUEL, MEMORY_BYTES};
use super::validation::Checked;

/// The class of every example: how the program's answers to it were judged. The program's fuel and
/// memory are counts next to the classes.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let n_items = frozen.items()?.len();
    let judged = frozen.trial().judged(&checked.answers);
    let classes: Vec<u8> = judged.into_iter().map(class).collect();
    let unit = UnitEvidence::new(Repeats::Once, n_items, N_CLASSES, classes)
        .with_count(FUEL, checked.measured.fuel as usize)
        .with_count(MEMORY_BYTES, checked.measured.memory_bytes as usize);
    Ok(Evidence::of_unit(EXAMPLES, unit))
}

/// The class of a judged example. An answer counts as unchanged where the example has no misspelt text, or none with other people.
fn class(judged: Judged) -> u8 {
    let part = |is_so: bool, part: u8| u8::from(is_so) * part;
    part(judged.is_right, RIGHT)
        + part(judged.is_robust.unwrap_or(true), ROBUST)
        + part(judged.is_fair.unwrap_or(true), FAIR)
}
