//! What follows from a pair's last verdict, in one transaction: the majority's decision, the pair's end in the queue, and the
//! next edition of how its submitter stands. The same again when something is disqualified, or no longer.

use std::collections::BTreeMap;

use dataperf::ports::PortError;
use dataperf::{Digest, Scorecard, Timestamp};
use dataperf_aws::{
    Change, Condition, Item, Key, Operation, Partition, Reader, Retry, SCHEMA, Step as Part, Table, count,
    now, text,
};
use dataperf_collection::Disqualified;
use dataperf_nibbler::{
    BENCHMARK, Board, Configuration, Consensus, PairId, Scoring, Standing, ValidatedPair, Verdict, consensus,
};
use serde_json::json;

use crate::disqualified::read_disqualified;
use crate::pairs::{self, Decision, JUDGED, Pair, Score, UNJUDGED, parsed};
use crate::rules::Rules;
use crate::scoring::scoring_of;
use crate::standings::{Standings, Stands, edition_key, standing_partition, step_key};
use crate::verdicts::verdicts_on;

const PAIR: Part = Part::Named("pair");
const EDITION: Part = Part::Named("edition");
const OTHER: Part = Part::Named("other");

/// Where the verdicts of a round are that its agreement is worked out from.
fn agreement_partition(round: &str) -> String {
    format!("{BENCHMARK}#agreement#{round}")
}

/// One step of how a submitter stands: what a decision has changed, and the scores that follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The pair that it was about.
    pub pair: PairId,
    /// Whose pair that is.
    pub submitter: String,
    /// The round.
    pub round: String,
    /// Its number among the submitter's in the round, from 1.
    pub edition: u64,
    /// When; later for each edition.
    pub at: Timestamp,
    /// The data set whose rules the scores follow.
    pub dataset: Digest,
    /// The scores; none where there is none yet, or the submitter is disqualified.
    pub scores: Vec<Score>,
}

/// Why a pair is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A verdict has come.
    Verdict,
    /// Something was disqualified, or no longer is.
    Disqualification,
}

/// Decides a pair that has all its verdicts, unless it is decided; the step that follows, or followed. When something was disqualified
/// it is decided anew, of the verdicts that count, or waits for more of them.
///
/// # Errors
/// [`PortError`].
pub async fn decide(
    table: &Table,
    id: &PairId,
    rules: &Rules,
    standings: &mut Standings,
    occasion: Occasion,
) -> Result<Option<Step>, PortError> {
    let what = format!("pair `{id}`");
    let malformed = |why: String| PortError::Malformed {
        what: what.clone(),
        why,
    };
    let mut retry = Retry::of(what.clone());
    loop {
        let pair = pairs::read(table, id).await?;
        let pair = pair.ok_or_else(|| malformed("it was there and is gone".into()))?;
        if let Some(decision) = pair.decision.as_ref().filter(|_| occasion == Occasion::Verdict) {
            return step(table, &pair, decision.edition).await;
        }
        // First the edition, then what is disqualified: who disqualifies something changes the edition afterwards, so that whatever is
        // decided without knowing of it fails.
        let stands = standings.of(table, &pair).await?;
        let disqualified = read_disqualified(table).await?;
        let all = verdicts_on(table, id).await?;
        let n_verdicts = all.len() as u64;
        let counted = all
            .into_iter()
            .filter(|named| !disqualified.has_verdict(id.as_str(), &named.rater));
        let verdicts: Vec<Verdict> = counted.map(|named| named.verdict).collect();
        let consensus = consensus(&verdicts, usize::try_from(pair.n_raters).unwrap_or(usize::MAX));
        let scoring = scoring_of(table, &pair.round, rules.configuration.scoring).await?;
        let duplicate = match &consensus {
            // earlier pairs may have come since it was submitted
            Some(_) => {
                pairs::duplicate(table, &pair, rules.configuration.near_duplicate_from, scoring).await?
            }
            None => pair.duplicate.clone(),
        };
        let pair = Pair { duplicate, ..pair };
        let validated = consensus.as_ref().and_then(|consensus| {
            let vector = pair.embedding.clone();
            ValidatedPair::of(id.clone(), &pair.said, consensus, &pair.duplicate, vector)
        });
        let mut next = Step {
            pair: id.clone(),
            submitter: pair.submitter.clone(),
            round: pair.round.clone(),
            edition: stands.edition + 1,
            at: stands.next_at(now()),
            dataset: rules.dataset,
            scores: Vec::new(),
        };
        let changes = consensus.is_some() || pair.decision.is_some();
        if changes {
            let scored = Scored {
                stands,
                disqualified: &disqualified,
                pair: &pair,
                validated: validated.as_ref(),
            };
            next.scores = scored.scores(&rules.configuration, scoring).map_err(malformed)?;
        }
        let now = Now {
            consensus,
            validated: validated.as_ref(),
            verdicts: &verdicts,
            n_verdicts,
            is_disqualified: disqualified.has_item(id.as_str(), &pair.submitter),
        };
        match table
            .transact(operations(table, &pair, &next, &now, changes)?)
            .await
        {
            Ok(()) => {
                standings.follow(&pair, &next, validated);
                return Ok(changes.then_some(next));
            }
            // Among others when another pair of the same submitter was decided meanwhile, or this one.
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// What is known of a pair when it is looked at.
struct Now<'a> {
    consensus: Option<Consensus>,
    validated: Option<&'a ValidatedPair>,
    /// Those that count.
    verdicts: &'a [Verdict],
    /// With those that don't.
    n_verdicts: u64,
    is_disqualified: bool,
}

/// What scores are made of.
struct Scored<'a> {
    stands: &'a Stands,
    disqualified: &'a Disqualified,
    /// The pair that is decided.
    pair: &'a Pair,
    validated: Option<&'a ValidatedPair>,
}

impl Scored<'_> {
    /// The scores of all validated pairs that are not disqualified, with the one that is decided.
    fn scores(&self, configuration: &Configuration, scoring: Scoring) -> Result<Vec<Score>, String> {
        let (disqualified, submitter) = (self.disqualified, self.pair.submitter.as_str());
        if disqualified.has_submitter(submitter) {
            return Ok(Vec::new()); // its rows are taken off the boards
        }
        let known = self.stands.validated.values();
        let others = known.filter(|other| other.pair != self.pair.id);
        let all = others
            .chain(self.validated)
            .filter(|one| !disqualified.has_item(one.pair.as_str(), submitter));
        let standing =
            Standing::of(configuration.embedding, scoring, all).map_err(|error| error.to_string())?;
        // who had a score and has no pair any more has none of it
        let had_one = !self.stands.validated.is_empty() || self.validated.is_some();
        let nothing = had_one.then(|| Scorecard {
            score: 0.0,
            metrics: BTreeMap::from([("n_validated".to_owned(), json!(0))]),
        });
        let cards = [
            (Board::ModelFooling, standing.model_fooling()),
            (
                Board::PromptCreativity,
                standing.prompt_creativity(&configuration.vocabulary),
            ),
        ];
        let score = |(board, card): (Board, Option<Scorecard>)| {
            card.or_else(|| nothing.clone()).map(|card| Score {
                board: board.as_str().into(),
                score: card.score,
                metrics: card.metrics,
            })
        };
        Ok(cards.into_iter().filter_map(score).collect())
    }
}

/// Everything that follows, in one transaction. Only the edition changes where nothing else does, so that nobody decides by what was
/// read before.
fn operations(
    table: &Table,
    pair: &Pair,
    next: &Step,
    now: &Now<'_>,
    changes: bool,
) -> Result<Vec<Operation>, PortError> {
    let status = if pair.decision.is_some() { JUDGED } else { UNJUDGED };
    let same = Condition {
        text: "#status = :status AND #n_verdicts = :n_verdicts",
        names: &["status", "n_verdicts"],
        values: vec![("status", text(status)), ("n_verdicts", count(now.n_verdicts))],
    };
    let n_disqualified = now.n_verdicts - now.verdicts.len() as u64;
    let mut set = vec![
        ("n_disqualified".to_owned(), count(n_disqualified)),
        ("duplicate".to_owned(), text(as_json(pair, &pair.duplicate)?)),
    ];
    let mut remove = Vec::new();
    if let Some(consensus) = &now.consensus {
        let decision = Decision {
            consensus: consensus.clone(),
            edition: next.edition,
            at: next.at,
            dataset: next.dataset,
        };
        set.push(("status".into(), text(JUDGED)));
        set.push(("decision".into(), text(as_json(pair, &decision)?)));
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
        (PAIR, table.update(pairs::key(&pair.id), change)),
        (EDITION, table.update(edition_key(pair), edition(next))),
    ];
    let is_waiting = now.consensus.is_none() && !now.is_disqualified;
    if is_waiting {
        operations.push((OTHER, table.put(pairs::queued(pair)?, None)));
    } else {
        operations.push((OTHER, table.delete(pairs::queue_key(pair), None)));
    }
    let agreement = Key::new(agreement_partition(&pair.round), pair.id.as_str());
    if now.consensus.is_some() {
        let mut of_round = agreement.item();
        of_round.insert(
            "verdicts".into(),
            text(as_json(pair, &without_notes(now.verdicts))?),
        );
        put(table, &mut operations, of_round);
    } else {
        operations.push((OTHER, table.delete(agreement, None)));
    }
    if changes {
        let mut item = Key::new(standing_partition(pair), step_key(next.edition)).item();
        item.insert("pair".into(), text(pair.id.as_str()));
        item.insert("edition".into(), count(next.edition));
        item.insert("decided_at".into(), text(next.at.to_string()));
        item.insert("dataset".into(), text(next.dataset.to_string()));
        item.insert("scores".into(), text(as_json(pair, &next.scores)?));
        if let Some(validated) = now.validated {
            item.insert("validated".into(), text(as_json(pair, validated)?));
        }
        put(table, &mut operations, item);
    }
    Ok(operations)
}

fn edition(next: &Step) -> Change {
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

/// A step as it was recorded; `None` where there is none of this number.
pub(crate) async fn step(table: &Table, pair: &Pair, edition: u64) -> Result<Option<Step>, PortError> {
    let key = Key::new(standing_partition(pair), step_key(edition));
    let Some(item) = table.item(key).await? else {
        return Ok(None);
    };
    let reader = Reader { item: &item };
    reader.schema()?;
    Ok(Some(Step {
        pair: reader.parsed("pair")?,
        submitter: pair.submitter.clone(),
        round: pair.round.clone(),
        edition,
        at: reader.parsed("decided_at")?,
        dataset: reader.parsed("dataset")?,
        scores: parsed(&reader, "scores")?,
    }))
}

fn put(table: &Table, operations: &mut Vec<Operation>, mut item: Item) {
    item.insert("schema".into(), count(SCHEMA.into()));
    operations.push((OTHER, table.put(item, None)));
}

/// What raters have noted is for the organizer, beside the pair.
fn without_notes(verdicts: &[Verdict]) -> Vec<Verdict> {
    let without = |verdict: &Verdict| Verdict {
        notes: String::new(),
        ..verdict.clone()
    };
    verdicts.iter().map(without).collect()
}

fn as_json<T: serde::Serialize>(pair: &Pair, value: &T) -> Result<String, PortError> {
    serde_json::to_string(value).map_err(|error| PortError::Malformed {
        what: format!("pair `{}`", pair.id),
        why: error.to_string(),
    })
}

/// The verdicts on each decided pair of a round: what agreement is worked out from, and what is exported.
///
/// # Errors
/// [`PortError`].
pub async fn decided_in(table: &Table, round: &str) -> Result<Vec<(PairId, Vec<Verdict>)>, PortError> {
    let partition = Partition::of(agreement_partition(round));
    let items = table.query(&partition).await?;
    let one = |item: &Item| {
        let reader = Reader { item };
        reader.schema()?;
        Ok((reader.parsed("sk")?, parsed(&reader, "verdicts")?))
    };
    items.iter().map(one).collect()
}
