//! Decisions and what follows from them: an item is decided by the rules by which it was taken, and its
//! submitter's scores are written.

use std::collections::BTreeSet;

use dataperf::challenge::Challenge;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::PortError;
use dataperf_aws::Table;
use dataperf_collections::common::Subject;

use crate::common::collection::{Collected, Collection};
use crate::common::items::{items_of, read};
use crate::common::judging::decisions::{Occasion, decide};
use crate::common::judging::raters::judged_by;
use crate::common::rules::{Kept, Rules, RulesOfItem};
use crate::common::scores::places::Places;
use crate::common::scores::publish;
use crate::common::scores::standings::Standings;
use crate::common::scores::steps::Step;

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
    let before = if item.dataset == of_round.dataset {
        None
    } else {
        Some(kept.rules(places.datasets.clone(), Some(item.dataset)).await?)
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

/// The items that have to be decided again: all that wait, and for a submitter one decided item of each group, because a standing is made of all items
/// of its group.
///
/// # Errors
/// [`PortError`].
pub async fn concerned<C: Collection>(
    table: &Table,
    subject: &Subject,
) -> Result<Vec<Collected<C>>, PortError> {
    let ids = match subject {
        Subject::Submitter(name) => items_of::<C>(table, name, usize::MAX).await?,
        Subject::Rater(name) => judged_by::<C>(table, name).await?,
        Subject::Item(item) | Subject::Verdict(item, _) => item.parse().into_iter().collect(),
    };
    let (mut items, mut groups) = (Vec::new(), BTreeSet::new());
    for id in ids {
        let item = read::<C>(table, &id).await?;
        let is_needed = |item: &Collected<C>| {
            let waits = item.decision.is_none() && C::is_judged(item);
            let one_a_group = matches!(subject, Subject::Submitter(_)) && !waits;
            !one_a_group || groups.insert(C::group(item))
        };
        items.extend(item.filter(is_needed));
    }
    Ok(items)
}
