//! Decisions and what follows from them: an item is decided by the rules by which it was taken, and its
//! submitter's scores are written.

use dataperf::challenge::Challenge;
use dataperf::evaluation::workflow::WorkflowError;

use crate::common::collection::{Collected, Collection};
use crate::common::judging::decisions::{Occasion, Step, decide};
use crate::common::rules::{Kept, Rules, RulesOfItem};
use crate::common::scores::places::Places;
use crate::common::scores::publish;
use crate::common::scores::standings::Standings;

/// Decides an item by the rules of its submission, and writes the resulting scores. `of_round` are
/// the round's current rules, and `kept` reads the item's rules if they differ.
///
/// # Errors
/// [`WorkflowError`].
pub(crate) async fn decide_and_publish<C: Collection>(
    places: &Places,
    item: &Collected<C>,
    of_round: &Rules<C::Configuration>,
    kept: &Kept<C>,
    standings: &mut Standings<C>,
    occasion: Occasion,
) -> Result<Option<Step<C>>, WorkflowError> {
    let taken_by = item.dataset.filter(|dataset| *dataset != of_round.dataset);
    let before = match taken_by {
        Some(dataset) => Some(kept.rules(places.datasets.clone(), Some(dataset)).await?),
        None => None,
    };
    let rules = RulesOfItem {
        own: before.as_deref().unwrap_or(of_round),
        of_round,
    };
    let step = decide(&places.table, &item.id, rules, standings, occasion).await?;
    if let Some(step) = &step {
        publish(places, step).await?;
    }
    Ok(step)
}

/// Decides items again after the organizer has disqualified or decided something, and writes the scores that
/// follow. Gives the number of steps that have scores.
///
/// # Errors
/// [`WorkflowError`].
pub async fn decide_again<C: Collection>(
    places: &Places,
    items: &[Collected<C>],
) -> Result<usize, WorkflowError> {
    let Places { datasets, .. } = places;
    let challenge = Challenge::published(datasets, C::DESCRIPTOR.id).await?;
    let (kept, kept_before) = (Kept::<C>::default(), Kept::<C>::default());
    let (mut standings, mut n_steps) = (Standings::<C>::default(), 0);
    let occasion = Occasion::Disqualification;
    for item in items {
        let rules = kept.of_round(datasets, challenge.as_ref(), &item.round).await?;
        let step = decide_and_publish(places, item, &rules, &kept_before, &mut standings, occasion).await?;
        n_steps += usize::from(step.is_some_and(|step| !step.scores.is_empty()));
    }
    Ok(n_steps)
}
