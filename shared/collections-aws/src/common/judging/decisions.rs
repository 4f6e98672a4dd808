//! Applies an item's last verdict in one transaction: the decision, the item's removal from the
//! queue, and the next edition of its submitter's standing. A disqualification and its undoing do
//! the same.

use dataperf::ports::PortError;
use dataperf::{Digest, SubmissionId};
use dataperf_aws::{
    Change, Condition, Item, Key, Operation, Partition, Reader, Retry, SCHEMA, Step as Part, Table, count,
    now, text,
};
use dataperf_collections::common::Disqualified;

use crate::common::collection::{Collected, Collection, Decision, Score};
use crate::common::disqualified::read_disqualified;
use crate::common::items::json::{as_json, parsed};
use crate::common::items::{self, JUDGED, UNJUDGED};
use crate::common::judging::verdicts::{Judged, read_judged};
use crate::common::rules::{Rules, RulesOfItem};
use crate::common::scores::standings::{
    CHANGES, Changes, Progress, Standings, edition_key, standing_partition, step_key,
};
use crate::common::scores::steps::{Step, step};

const ITEM: Part = Part::Named("item");
const EDITION: Part = Part::Named("edition");
const OTHER: Part = Part::Named("other");

/// Why an item is decided now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A verdict has come.
    Verdict,
    /// Something was disqualified, or no longer is, or the organizer has decided.
    Disqualification,
}

/// Decides an item whose verdicts suffice, unless it is decided; returns the step that follows, or followed before. When something was disqualified,
/// the item is decided again by the verdicts that count, or waits for more of them. Where [`RulesOfItem::own`] and [`RulesOfItem::of_round`] are the
/// same, `rules` may be these.
///
/// # Errors
/// [`PortError`].
pub async fn decide<C: Collection>(
    table: &Table,
    id: &C::Id,
    rules: impl Into<RulesOfItem<'_, C::Configuration>>,
    standings: &mut Standings<C>,
    occasion: Occasion,
) -> Result<Option<Step<C>>, PortError> {
    let RulesOfItem { own, of_round } = rules.into();
    let subject = C::SPACE.describe(&id.to_string());
    let malformed = |why: String| PortError::Malformed {
        subject: subject.clone(),
        why,
    };
    let mut retry = Retry::new(subject.clone());
    loop {
        let item = items::there::<C>(table, id).await?;
        if let Some(decision) = item.decision.as_ref().filter(|_| occasion == Occasion::Verdict) {
            return step(table, &item, decision.edition).await;
        }
        // The edition is read before the disqualifications. A disqualification changes the edition
        // afterwards, so a decision made without knowing of it fails.
        let standing = standings.load(table, &item).await?;
        let disqualified = read_disqualified(table, C::SPACE).await?;
        let Judged { verdicts, ruling } = read_judged::<C>(table, id).await?;
        let n_verdicts = verdicts.len() as u64;
        let counted = verdicts
            .into_iter()
            .filter(|named| !disqualified.has_verdict(&id.to_string(), &named.rater));
        let verdicts: Vec<C::Verdict> = counted.map(|named| named.verdict).collect();
        let all_count = verdicts.len() as u64 == n_verdicts;
        let consensus = ruling.or_else(|| C::consensus(&item, &verdicts, &own.configuration));
        if consensus.is_none() && all_count && occasion == Occasion::Verdict {
            return Ok(None); // it waits for more, as the queue says
        }
        let version = C::version(table, &item.round, &of_round.configuration).await?;
        let duplicate = match &consensus {
            // earlier items may have come since it was submitted
            Some(_) => {
                let from = C::near_duplicate_from(&own.configuration);
                items::duplicate(table, &item, from, version).await?
            }
            None => item.duplicate.clone(),
        };
        let item = Collected { duplicate, ..item };
        let state = C::state(&item, consensus.as_ref());
        let mut next = first_of(&item, standing, of_round.dataset)?;
        let changes = consensus.is_some()
            || item.decision.is_some()
            || (C::COUNTS_UNDECIDED && occasion == Occasion::Disqualification);
        let changed = vec![(id.clone(), state.clone())];
        if changes {
            next.scores =
                scores(&item, standing, &changed, &disqualified, of_round, version).map_err(malformed)?;
        }
        let now = Now {
            consensus,
            dataset: own.dataset,
            state: state.as_ref(),
            verdicts: &verdicts,
            n_verdicts,
            is_disqualified: disqualified.has_item(&id.to_string(), &item.submitter),
        };
        match table
            .transact(operations(table, &item, &next, &now, changes)?)
            .await
        {
            Ok(()) => {
                let changed = if changes { changed } else { Vec::new() };
                standings.follow(&item, (next.edition, next.at), changed);
                return Ok(changes.then_some(next));
            }
            // This also happens when another item of the same submitter was decided meanwhile, or this one.
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// Counts the items of an upload, all of one group, before they are decided, each once; returns the step that follows, or followed before. A second
/// run of the upload may bring more items than the first.
///
/// # Errors
/// [`PortError`].
pub async fn count_submitted<C: Collection>(
    table: &Table,
    items: &[Collected<C>],
    submission: &SubmissionId,
    rules: &Rules<C::Configuration>,
    standings: &mut Standings<C>,
) -> Result<Option<Step<C>>, PortError> {
    let Some(first) = items.first() else {
        return Ok(None);
    };
    let subject = first.describe();
    let malformed = |why: String| PortError::Malformed {
        subject: subject.clone(),
        why,
    };
    let mark = Key::new(standing_partition(first), format!("counted#{submission}"));
    let mut retry = Retry::new(subject.clone());
    loop {
        let counted = table.item(mark.clone()).await?;
        let standing = standings.load(table, first).await?;
        let fresh = items
            .iter()
            .filter(|item| !standing.validated.contains_key(&item.id));
        let changed: Changes<C> = fresh
            .filter_map(|item| Some((item.id.clone(), Some(C::state(item, None)?))))
            .collect();
        if let Some(item) = counted.filter(|_| changed.is_empty()) {
            let edition = Reader { item: &item }.number("edition")?;
            let edition =
                edition.ok_or_else(|| malformed("what was counted of its upload has no `edition`".into()))?;
            return step(table, first, edition).await;
        }
        let disqualified = read_disqualified(table, C::SPACE).await?;
        let version = C::version(table, &first.round, &rules.configuration).await?;
        let mut next = first_of(first, standing, rules.dataset)?;
        next.scores = scores(first, standing, &changed, &disqualified, rules, version).map_err(malformed)?;
        let (mut written, mut marked) = (written(first, &next)?, mark.clone().item());
        written.insert(CHANGES.into(), text(as_json(&subject, &changed)?));
        marked.insert("edition".into(), count(next.edition));
        let mut operations = vec![(EDITION, table.update(edition_key(first), edition(&next)))];
        put(table, &mut operations, written);
        put(table, &mut operations, marked);
        match table.transact(operations).await {
            Ok(()) => {
                standings.follow(first, (next.edition, next.at), changed);
                return Ok(Some(next));
            }
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// The next step of an item's group, without scores.
fn first_of<C: Collection>(
    item: &Collected<C>,
    standing: &Progress<C>,
    dataset: Digest,
) -> Result<Step<C>, PortError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| PortError::Malformed {
        subject: "a random number".into(),
        why: error.to_string(),
    })?;
    Ok(Step {
        item: item.id.clone(),
        submitter: item.submitter.clone(),
        round: item.round.clone(),
        edition: standing.edition + 1,
        at: standing.next_at(now()),
        dataset,
        scores: Vec::new(),
        nonce: format!("{:032x}", u128::from_be_bytes(random)),
    })
}

/// The state of an item at one moment.
struct Now<'a, C: Collection> {
    consensus: Option<C::Consensus>,
    /// The data set whose rules that follows.
    dataset: Digest,
    state: Option<&'a C::State>,
    /// The verdicts that count.
    verdicts: &'a [C::Verdict],
    /// The number of all verdicts, with those that don't count.
    n_verdicts: u64,
    is_disqualified: bool,
}

/// The scores of all items that count and are not disqualified, after a change of some.
fn scores<C: Collection>(
    item: &Collected<C>,
    standing: &Progress<C>,
    changed: &Changes<C>,
    disqualified: &Disqualified,
    rules: &Rules<C::Configuration>,
    version: C::Version,
) -> Result<Vec<Score>, String> {
    let submitter = item.submitter.as_str();
    if disqualified.has_submitter(submitter) {
        return Ok(Vec::new()); // its rows are taken off the boards
    }
    let others = standing
        .validated
        .iter()
        .filter(|(other, _)| changed.iter().all(|(id, _)| id != *other));
    let new = changed
        .iter()
        .filter_map(|(id, state)| Some((id, state.as_ref()?)));
    let states: Vec<&C::State> = others
        .chain(new.clone())
        .filter(|(id, _)| !disqualified.has_item(&id.to_string(), submitter))
        .map(|(_, state)| state)
        .collect();
    // a submitter who had a score and has no item any more gets the score of no items
    let had_one = !standing.validated.is_empty() || new.count() > 0;
    C::scores(item, &states, had_one, &rules.configuration, version)
}

/// All operations of one transaction. The edition always changes, so that nobody decides with
/// outdated data.
fn operations<C: Collection>(
    table: &Table,
    item: &Collected<C>,
    next: &Step<C>,
    now: &Now<'_, C>,
    changes: bool,
) -> Result<Vec<Operation>, PortError> {
    let (id, subject) = (item.id.to_string(), item.describe());
    let status = if item.decision.is_some() { JUDGED } else { UNJUDGED };
    let same = Condition {
        text: "#status = :status AND #n_verdicts = :n_verdicts",
        names: &["status", "n_verdicts"],
        values: vec![("status", text(status)), ("n_verdicts", count(now.n_verdicts))],
    };
    let n_disqualified = now.n_verdicts - now.verdicts.len() as u64;
    let mut set = vec![
        ("n_disqualified".to_owned(), count(n_disqualified)),
        ("duplicate".to_owned(), text(as_json(&subject, &item.duplicate)?)),
    ];
    let mut remove = Vec::new();
    if let Some(consensus) = &now.consensus {
        let decision = Decision {
            consensus: consensus.clone(),
            edition: next.edition,
            at: next.at,
            dataset: now.dataset,
        };
        set.push(("status".into(), text(JUDGED)));
        set.push(("decision".into(), text(as_json(&subject, &decision)?)));
    } else {
        set.push(("status".into(), text(UNJUDGED)));
        remove.push("decision");
    }
    let change = Change {
        set,
        remove,
        condition: Some(same),
        ..Change::default()
    };
    let mut operations = vec![
        (ITEM, table.update(item.key(), change)),
        (EDITION, table.update(edition_key(item), edition(next))),
    ];
    let is_waiting = now.consensus.is_none() && !now.is_disqualified && C::is_judged(item);
    if is_waiting {
        operations.push((OTHER, table.put(items::queued(item)?, None)));
    } else {
        operations.push((OTHER, table.delete(item.queue_key(), None)));
    }
    let agreement = Key::new(C::SPACE.agreement_partition(&item.round), id.as_str());
    if now.consensus.is_some() {
        let mut of_round = agreement.item();
        let verdicts: Vec<C::Verdict> = now.verdicts.iter().map(C::without_notes).collect();
        of_round.insert("verdicts".into(), text(as_json(&subject, &verdicts)?));
        put(table, &mut operations, of_round);
    } else {
        operations.push((OTHER, table.delete(agreement, None)));
    }
    if changes {
        let mut written = written(item, next)?;
        if let Some(state) = now.state {
            written.insert(C::SPACE.state.into(), text(as_json(&subject, state)?));
        }
        put(table, &mut operations, written);
    }
    Ok(operations)
}

/// A step in the table.
fn written<C: Collection>(item: &Collected<C>, step: &Step<C>) -> Result<Item, PortError> {
    let mut written = Key::new(standing_partition(item), step_key(step.edition)).item();
    written.insert(C::SPACE.item.into(), text(item.id.to_string()));
    written.insert("edition".into(), count(step.edition));
    written.insert("decided_at".into(), text(step.at.to_string()));
    written.insert("dataset".into(), text(step.dataset.to_string()));
    written.insert("scores".into(), text(as_json(&item.describe(), &step.scores)?));
    written.insert("nonce".into(), text(&step.nonce));
    Ok(written)
}

fn edition<C: Collection>(next: &Step<C>) -> Change {
    let same = Condition {
        text: "attribute_not_exists(#edition) OR #edition = :seen",
        names: &["edition"],
        values: vec![("seen", count(next.edition - 1))],
    };
    Change {
        set: vec![
            ("schema".into(), count(SCHEMA.into())),
            ("edition".into(), count(next.edition)),
            ("decided_at".into(), text(next.at.to_string())),
        ],
        condition: Some(same),
        ..Change::default()
    }
}

fn put(table: &Table, operations: &mut Vec<Operation>, mut item: Item) {
    item.insert("schema".into(), count(SCHEMA.into()));
    operations.push((OTHER, table.put(item, None)));
}

/// The verdicts on each decided item of a round, as they counted when it was decided last, disqualified items included: what an export begins with.
///
/// # Errors
/// [`PortError`].
pub async fn decided_in<C: Collection>(
    table: &Table,
    round: &str,
) -> Result<Vec<(C::Id, Vec<C::Verdict>)>, PortError> {
    let partition = Partition::new(C::SPACE.agreement_partition(round));
    let items = table.query(&partition).await?;
    let one = |item: &Item| {
        let reader = Reader { item };
        reader.schema()?;
        Ok((reader.parsed("sk")?, parsed(&reader, "verdicts")?))
    };
    items.iter().map(one).collect()
}

/// Of each decided item of a round, if the item counts, the verdicts that count: what agreement is worked out from. Disqualifying does not have every
/// decision written again, so what is disqualified is left out here.
///
/// # Errors
/// [`PortError`].
pub async fn counted_in<C: Collection>(
    table: &Table,
    round: &str,
) -> Result<Vec<(Collected<C>, Vec<C::Verdict>)>, PortError> {
    let disqualified = read_disqualified(table, C::SPACE).await?;
    let mut counted = Vec::new();
    for (id, mut verdicts) in decided_in::<C>(table, round).await? {
        let name = id.to_string();
        let Some(item) = items::read::<C>(table, &id).await? else {
            continue;
        };
        if disqualified.has_item(&name, &item.submitter) {
            continue;
        }
        if !disqualified.is_empty() {
            let named = read_judged::<C>(table, &id).await?.verdicts.into_iter();
            verdicts = named
                .filter(|named| !disqualified.has_verdict(&name, &named.rater))
                .map(|named| named.verdict)
                .collect();
        }
        if !verdicts.is_empty() {
            counted.push((item, verdicts));
        }
    }
    Ok(counted)
}
