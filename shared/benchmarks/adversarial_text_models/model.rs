//! The submitted program is the model, and its answers are in the artifact: this module turns them into classes.

use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf::frozen::FrozenError;
use dataperf_text::compare::Judged;

use super::frozen::{FAIR, Frozen, N_CLASSES, RIGHT, ROBUST, Round};
use super::metric::{FUEL, MEMORY_BYTES};
use super::validation::Checked;

/// The class of every example, round by round: how the program's answers to it were judged. The fuel and
/// memory that the program took stand beside the classes, as counts.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let rounds = frozen.rounds()?;
    let trial = frozen.trial();
    let judged = trial.judged(&checked.answers);
    let classes: Vec<u8> = judged.iter().copied().map(class).collect();
    let unit = |round: &Round| {
        let n_items = round.truth.len();
        let predicted = classes[round.begin..][..n_items].to_vec();
        let unit = UnitEvidence::new(Repeats::Once, n_items, N_CLASSES, predicted)
            .with_count(FUEL, checked.measured.fuel as usize)
            .with_count(MEMORY_BYTES, checked.measured.memory_bytes as usize);
        (round.name.clone(), unit)
    };
    Ok(rounds.iter().map(unit).collect())
}

/// The class of a judged example. An answer counts as unchanged where the example has no misspelt text, or none with other people.
fn class(judged: Judged) -> u8 {
    let part = |is_so: bool, part: u8| u8::from(is_so) * part;
    part(judged.is_right, RIGHT)
        + part(judged.is_robust.unwrap_or(true), ROBUST)
        + part(judged.is_fair.unwrap_or(true), FAIR)
}
