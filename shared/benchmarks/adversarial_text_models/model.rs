//! The model is the submitted program, which has answered already: here its answers become classes.

use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf::frozen::FrozenError;
use dataperf_text::Gold;
use dataperf_text::compare::{Judged, Numbered};

use super::frozen::{Frozen, N_CLASSES, Round, class, number_of};
use super::metric::{FUEL, MEMORY_BYTES};
use super::validation::Checked;

/// What a program says of every example, round by round.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let rounds = frozen.rounds()?;
    let trial = frozen.trial();
    let judged = trial.judged(&checked.answers);
    let all = trial.items().iter().zip(&judged);
    let classes: Vec<u8> = all
        .map(|(item, judged)| class_of(item, *judged, &checked.answers[item.plain]))
        .collect();
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

/// What there is nothing to change in stays. A span is right, 0, or wrong, 1.
fn class_of(item: &Numbered, judged: Judged, said: &Gold) -> u8 {
    let answer = if item.task.has_spans() {
        u8::from(!judged.is_right)
    } else {
        number_of(item.task, said)
    };
    class(
        answer,
        judged.is_robust.unwrap_or(true),
        judged.is_fair.unwrap_or(true),
    )
}
