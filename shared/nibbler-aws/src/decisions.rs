//! What follows from a pair's last verdict, in one transaction: the majority's decision, the pair's end in the queue, and the
//! next edition of how its submitter stands.

use std::collections::BTreeMap;

use dataperf::Timestamp;
use dataperf::ports::PortError;
use dataperf_aws::{
    Change, Condition, Item, Key, Operation, Partition, Reader, Retry, SCHEMA, Step, Table, count, now, text,
};
use dataperf_nibbler::{
    BENCHMARK, Board, Configuration, Consensus, PairId, Standing, ValidatedPair, Verdict, consensus,
};

use crate::pairs::{self, Decision, JUDGED, Pair, Score, UNJUDGED, parsed};
use crate::rules::Rules;
use crate::verdicts::verdicts_on;

const PAIR: Step = Step::Named("pair");
const EDITION: Step = Step::Named("edition");
const OTHER: Step = Step::Named("other");

fn standing_partition(round: &str, submitter: &str) -> String {
    format!("{BENCHMARK}#standing#{round}#{submitter}")
}

fn edition_key(pair: &Pair) -> Key {
    Key::new(standing_partition(&pair.round, &pair.submitter), "edition")
}

/// Where the verdicts of a round are that its agreement is worked out from.
fn agreement_partition(round: &str) -> String {
    format!("{BENCHMARK}#agreement#{round}")
}

/// How a submitter stands in a round.
#[derive(Clone)]
struct Stands {
    edition: u64,
    at: Option<Timestamp>,
    validated: Vec<ValidatedPair>,
}

/// How the submitters stand whose pairs a file decides, by the partitions of their pairs: all vectors of a submitter are read for
/// its first decision, and not again for each of the next as long as nobody else decides on its pairs.
#[derive(Default)]
pub(crate) struct Standings(BTreeMap<String, Stands>);

impl Standings {
    async fn of(&mut self, table: &Table, pair: &Pair) -> Result<Stands, PortError> {
        // before the pairs: whoever adds one changes it
        let edition = table.item(edition_key(pair)).await?;
        let (mut number, mut at) = (0, None);
        if let Some(item) = &edition {
            let reader = Reader { item };
            number = reader.number("edition")?.unwrap_or_default();
            at = Some(reader.parsed("decided_at")?);
        }
        let partition = standing_partition(&pair.round, &pair.submitter);
        if let Some(kept) = self.0.get(&partition).filter(|kept| kept.edition == number) {
            return Ok(kept.clone());
        }
        let mut validated = Vec::new();
        for item in table.query(&Partition::of(&partition)).await? {
            if item.contains_key("validated") {
                validated.push(parsed(&Reader { item: &item }, "validated")?);
            }
        }
        let stands = Stands {
            edition: number,
            at,
            validated,
        };
        self.0.insert(partition, stands.clone());
        Ok(stands)
    }

    /// What a decision has changed.
    fn follow(&mut self, pair: &Pair, decision: &Decision, validated: Option<ValidatedPair>) {
        let partition = standing_partition(&pair.round, &pair.submitter);
        if let Some(kept) = self.0.get_mut(&partition) {
            kept.edition = decision.edition;
            kept.at = Some(decision.at);
            kept.validated.extend(validated);
        }
    }
}

/// Decides a pair that has all its verdicts, unless it is decided; gives it as it is then.
pub(crate) async fn decide(
    table: &Table,
    id: &PairId,
    rules: &Rules,
    standings: &mut Standings,
) -> Result<Pair, PortError> {
    let what = format!("pair `{id}`");
    let malformed = |why: String| PortError::Malformed {
        what: what.clone(),
        why,
    };
    let mut retry = Retry::of(what.clone());
    loop {
        let pair = pairs::read(table, id).await?;
        let mut pair = pair.ok_or_else(|| malformed("it was there and is gone".into()))?;
        if pair.decision.is_some() {
            return Ok(pair);
        }
        let verdicts: Vec<Verdict> = verdicts_on(table, id)
            .await?
            .into_iter()
            .map(|named| named.verdict)
            .collect();
        let consensus = consensus(&verdicts, usize::try_from(pair.n_raters).unwrap_or(usize::MAX));
        let consensus = consensus
            .ok_or_else(|| malformed(format!("it has {} verdicts of {}", verdicts.len(), pair.n_raters)))?;
        let stands = standings.of(table, &pair).await?;
        let validated = ValidatedPair::of(
            id.clone(),
            &pair.said,
            &consensus,
            pair.duplicate.is_one(),
            pair.embedding.clone(),
        );
        let scores = scores(&stands, validated.as_ref(), rules).map_err(malformed)?;
        let seen = stands.edition;
        let decision = next(consensus, &stands, rules, scores);
        let operations = operations(table, &pair, &decision, validated.as_ref(), &verdicts, seen)?;
        match table.transact(operations).await {
            Ok(()) => {
                standings.follow(&pair, &decision, validated);
                pair.decision = Some(decision);
                return Ok(pair);
            }
            // Among others when another pair of the same submitter was decided meanwhile, or this one.
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// Its time is later than that of the edition before, whatever the clocks say: the latest score is the one that stands.
fn next(consensus: Consensus, stands: &Stands, rules: &Rules, scores: Vec<Score>) -> Decision {
    let after = stands.at.map_or(0, |at| at.unix_millis() + 1);
    Decision {
        consensus,
        edition: stands.edition + 1,
        at: Timestamp::from_unix_millis(now().unix_millis().max(after)),
        dataset: rules.dataset,
        scores,
    }
}

/// The scores of all validated pairs so far, with the one that is decided.
fn scores(stands: &Stands, validated: Option<&ValidatedPair>, rules: &Rules) -> Result<Vec<Score>, String> {
    let Configuration {
        vocabulary,
        embedding,
        ..
    } = &rules.configuration;
    let all = stands.validated.iter().chain(validated);
    let standing = Standing::of(*embedding, all).map_err(|error| error.to_string())?;
    let cards = [
        (Board::ModelFooling, standing.model_fooling()),
        (Board::PromptCreativity, standing.prompt_creativity(vocabulary)),
    ];
    let score = |(board, card): (Board, Option<dataperf::Scorecard>)| {
        card.map(|card| Score {
            board: board.as_str().into(),
            score: card.score,
            metrics: card.metrics,
        })
    };
    Ok(cards.into_iter().filter_map(score).collect())
}

fn operations(
    table: &Table,
    pair: &Pair,
    decision: &Decision,
    validated: Option<&ValidatedPair>,
    verdicts: &[Verdict],
    seen: u64,
) -> Result<Vec<Operation>, PortError> {
    let unjudged = Condition {
        text: "#status = :unjudged",
        names: &["status"],
        values: vec![("unjudged", text(UNJUDGED))],
    };
    let judged = Change {
        set: vec![
            ("status".into(), text(JUDGED)),
            ("decision".into(), text(json(pair, decision)?)),
        ],
        condition: Some(unjudged),
        ..Change::default()
    };
    let same = Condition {
        text: "attribute_not_exists(#edition) OR #edition = :seen",
        names: &["edition"],
        values: vec![("seen", count(seen))],
    };
    let edition = Change {
        set: vec![
            ("schema".into(), count(SCHEMA.into())),
            ("edition".into(), count(decision.edition)),
            ("decided_at".into(), text(decision.at.to_string())),
        ],
        condition: Some(same),
        ..Change::default()
    };
    let mut operations = vec![
        (PAIR, table.update(pairs::key(&pair.id), judged)),
        (OTHER, table.delete(pairs::queue_key(pair), None)),
        (EDITION, table.update(edition_key(pair), edition)),
    ];
    let mut of_round = Key::new(agreement_partition(&pair.round), pair.id.as_str()).item();
    of_round.insert("verdicts".into(), text(json(pair, &without_notes(verdicts))?));
    put(table, &mut operations, of_round);
    if let Some(validated) = validated {
        let partition = standing_partition(&pair.round, &pair.submitter);
        let mut item = Key::new(partition, format!("pair#{}", pair.id)).item();
        item.insert("validated".into(), text(json(pair, validated)?));
        put(table, &mut operations, item);
    }
    Ok(operations)
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

fn json<T: serde::Serialize>(pair: &Pair, value: &T) -> Result<String, PortError> {
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
