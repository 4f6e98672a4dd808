//! Writes the rows of boards, which follow from facts.
//!
//! One caller at a time projects a board: it takes the lease of the board's projection, reads the facts, writes the rows that differ and gives the lease
//! back. Every change of a fact raises the projection's version. Whoever gives the lease back notes the version from before the facts were read, so
//! that a later change leaves the two apart. Then the same caller goes round again, or the caretaker does.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::challenge::{Challenge, ChallengeError};
use dataperf::dataset::DatasetError;
use dataperf::facts::{self, Fact, FinalOutcome, Rules};
use dataperf::in_force::InForce;
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Board, Entry, Projected, Ranked, rank_key_of, with_shared_ranks};
use dataperf::ports::maintenance::{Finalized, Ranking};
use dataperf::{Descriptor, Digest, SubmissionId, Timestamp};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::S3Bucket;
use crate::items::{self, DATASET, Item, SCHEMA, count, entry_item, number, row_item, text};
use crate::keys::{Key, facts_partition, projections_partition, rows_partition};
use crate::query::Partition;
use crate::reader::{self, Reader};
use crate::row_spread::{RowSpread, SPREAD};
use crate::runtime::now;
use crate::table::{Change, Condition, Operation, Step, Table};

/// Rows that are written at once.
const WRITES_AT_ONCE: usize = 16;
/// In milliseconds: whoever has not given the lease back after this time was killed, or is so slow that another projection follows.
const LEASE_MILLIS: i64 = 10_000;

/// How often the facts of a board have changed.
const VERSION: &str = "version";
/// The version that the rows follow from.
const PROJECTED: &str = "projected";
/// Until when somebody projects the board.
const UNTIL: &str = "until";
/// When the rules change by the clock that the rows were written by.
const DUE_AT: &str = "due_at";
/// The rows that the public view of a board has at most.
const PUBLIC_ROWS: usize = 100;
/// Who does.
const HOLDER: &str = "holder";

/// Attributes of a fact: how the submission ended with the final data set.
const FINAL_STATUS: &str = "final_status";
const FINAL_SCORE: &str = "final_score";
const FINAL_DATASET: &str = "final_dataset";
const FINAL_SPREAD: &str = "final_spread";
const SCORE_BEFORE: &str = "score_before";
const DATASET_BEFORE: &str = "dataset_before";

/// A fact as an item. Its outcome with the final data set is not in it.
pub(crate) fn fact_item(entry: &Entry, spread: Option<&RowSpread>) -> Result<Item, PortError> {
    let mut item = entry_item(Key::fact(entry), entry);
    item.extend(spread.map(RowSpread::attribute).transpose()?);
    Ok(item)
}

/// What becomes of the spread that a fact keeps.
#[derive(Clone, Copy)]
pub(crate) enum SpreadChange<'a> {
    /// It stays.
    Keep,
    /// This takes its place; `None` where the score that is shown has none.
    Replace(Option<&'a RowSpread>),
}

/// The change that brings a fact into its new state. What the final data set gave stays.
pub(crate) fn fact_change(entry: &Entry, spread: SpreadChange<'_>) -> Result<Change, PortError> {
    let mut item = entry_item(Key::fact(entry), entry);
    item.retain(|name, _| !["pk", "sk"].contains(&name.as_str()));
    let mut optional = vec!["withdrawn_at", "score", items::LADDER, DATASET];
    if let SpreadChange::Replace(spread) = spread {
        item.extend(spread.map(RowSpread::attribute).transpose()?);
        optional.push(SPREAD);
    }
    optional.retain(|name| !item.contains_key(*name));
    Ok(Change {
        set: item.into_iter().collect(),
        remove: optional,
        ..Change::default()
    })
}

/// The change that notes the outcome with the final data set, on condition that the submission has the public score that was read.
pub(crate) fn final_change(last: &Finalized, hosted: &Descriptor) -> Result<Change, PortError> {
    let FinalOutcome {
        ending,
        score,
        dataset,
        before,
        dataset_before,
    } = last.outcome();
    let mut set = vec![(FINAL_STATUS.to_owned(), text(ending.as_str()))];
    let scores = [(FINAL_SCORE, score), (SCORE_BEFORE, before)];
    set.extend(
        scores
            .into_iter()
            .filter_map(|(name, score)| Some((name.to_owned(), number(score?)))),
    );
    let datasets = [(FINAL_DATASET, dataset), (DATASET_BEFORE, dataset_before)];
    let datasets = datasets.into_iter();
    set.extend(datasets.filter_map(|(name, dataset)| Some((name.to_owned(), text(dataset?.to_string())))));
    let (_, spread) = RowSpread::of(&last.verdict, hosted).attribute()?;
    set.push((FINAL_SPREAD.to_owned(), spread));
    let (as_read, values) = match before {
        Some(before) => (
            "attribute_not_exists(#withdrawn_at) AND #score = :before",
            vec![("before", number(before))],
        ),
        None => (
            "attribute_not_exists(#withdrawn_at) AND attribute_not_exists(#score)",
            Vec::new(),
        ),
    };
    Ok(Change {
        set,
        remove: score.is_none().then_some(FINAL_SCORE).into_iter().collect(),
        condition: Some(Condition {
            text: as_read,
            names: &["withdrawn_at", "score"],
            values,
        }),
        ..Change::default()
    })
}

pub(crate) fn read_fact(item: &Item) -> Result<Fact, PortError> {
    let reader = Reader { item };
    let ending = reader.maybe(FINAL_STATUS)?;
    let outcome = |ending| {
        Ok::<_, PortError>(FinalOutcome {
            ending,
            score: reader.number(FINAL_SCORE)?,
            dataset: reader.maybe(FINAL_DATASET)?,
            before: reader.number(SCORE_BEFORE)?,
            dataset_before: reader.maybe(DATASET_BEFORE)?,
        })
    };
    Ok(Fact {
        entry: reader::entry(item)?,
        last: ending.map(outcome).transpose()?,
    })
}

fn malformed(hosted: &Descriptor, error: &dyn std::error::Error) -> PortError {
    PortError::Malformed {
        what: format!("the rules of the boards of `{}`", hosted.id),
        why: error.to_string(),
    }
}

/// The public board of which a board has the facts.
pub(crate) fn of_facts(board: &Board) -> Board {
    board.public().unwrap_or_else(|| board.clone())
}

/// The base of a projection's item: which board it is about.
fn about(board: &Board) -> Vec<(String, AttributeValue)> {
    vec![
        ("schema".to_owned(), count(SCHEMA.into())),
        ("benchmark".to_owned(), text(&board.benchmark)),
        ("leaderboard".to_owned(), text(&board.leaderboard)),
        ("round".to_owned(), text(&board.round)),
    ]
}

/// The right to project a board, for a time.
struct Lease {
    key: Key,
    holder: String,
    /// The version from before the facts are read.
    version: u64,
}

impl Table {
    /// The operation that notes that a fact of a board changes in the same transaction, so that its rows are due.
    pub(crate) fn due_to_project(&self, board: &Board) -> Operation {
        let board = of_facts(board);
        let change = Change {
            set: about(&board),
            add: vec![(VERSION, 1)],
            ..Change::default()
        };
        (Step::Other, self.update(Key::projection(&board), change))
    }

    /// The boards of a benchmark whose rows do not follow from their facts, and which nobody projects.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn boards_to_project(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let (mut boards, now) = (Vec::new(), now());
        for item in self
            .query(&Partition::of(projections_partition(benchmark)))
            .await?
        {
            let reader = Reader { item: &item };
            let [version, projected] = [VERSION, PROJECTED].map(|name| reader.number::<u64>(name));
            let [until, due_at] = [UNTIL, DUE_AT].map(|name| reader.maybe::<Timestamp>(name));
            let is_due = version? != projected? || due_at?.is_some_and(|due_at| due_at <= now);
            if is_due && until?.is_none_or(|until| until <= now) {
                boards.push(reader::board(&item)?);
            }
        }
        Ok(boards)
    }

    /// The rules of a board now.
    ///
    /// # Errors
    /// [`PortError`], also where the challenge or the active data sets can't be read.
    pub async fn rules(
        &self,
        board: &Board,
        hosted: &Descriptor,
        datasets: &S3Bucket,
    ) -> Result<Rules, PortError> {
        let board = of_facts(board);
        let challenge = match Challenge::current(datasets, self, hosted.id).await {
            Ok(challenge) => challenge,
            Err(ChallengeError::Port(error)) => return Err(error),
            Err(error) => return Err(malformed(hosted, &error)),
        };
        let active = match InForce::read(datasets, hosted.id).await {
            Ok(in_force) => in_force.scored_with(challenge.as_ref(), &board, now()),
            Err(DatasetError::Port(error)) => return Err(error),
            Err(error) => return Err(malformed(hosted, &error)),
        };
        Ok(Rules::new(hosted, challenge.as_ref(), &board, active, now()))
    }

    /// Projects a board until its rows follow from all facts, or somebody else does.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn project_now(
        &self,
        board: &Board,
        hosted: &Descriptor,
        datasets: &S3Bucket,
    ) -> Result<(), PortError> {
        let rules = self.rules(board, hosted, datasets).await?;
        while self.project_board(board, &rules).await? == Projected::Behind {}
        Ok(())
    }

    /// The items of a board's facts.
    async fn fact_items(&self, board: &Board) -> Result<Vec<Item>, PortError> {
        self.query(&Partition::of(facts_partition(&of_facts(board))))
            .await
    }

    pub(crate) async fn read_facts(&self, board: &Board) -> Result<Vec<Fact>, PortError> {
        self.fact_items(board).await?.iter().map(read_fact).collect()
    }

    pub(crate) async fn project_board(&self, board: &Board, rules: &Rules) -> Result<Projected, PortError> {
        let board = of_facts(board);
        let Some(lease) = self.take_lease(&board).await? else {
            return Ok(Projected::TakenOver);
        };
        match self.write_rows(&board, rules).await {
            Ok(()) => self.give_back(lease, rules).await,
            Err(error) => {
                // as soon as possible somebody else projects the board; if this fails too, after the lease's time
                let _ = self.update_if(lease.key.clone(), lease.released(None)).await;
                Err(error)
            }
        }
    }

    /// Takes the lease of a board's projection and raises its version. `None` where somebody has it, who sees the raised version.
    async fn take_lease(&self, board: &Board) -> Result<Option<Lease>, PortError> {
        let key = Key::projection(board);
        loop {
            let at = now();
            let until = Timestamp::from_unix_millis(at.unix_millis().saturating_add(LEASE_MILLIS));
            let holder = format!("{:016x}", fastrand::u64(..));
            let mut set = about(board);
            set.push((UNTIL.to_owned(), text(until.to_string())));
            set.push((HOLDER.to_owned(), text(&holder)));
            let take = Change {
                set,
                add: vec![(VERSION, 1)],
                condition: Some(Condition {
                    text: "attribute_not_exists(#until) OR #until < :now",
                    names: &[UNTIL],
                    values: vec![("now", text(at.to_string()))],
                }),
                ..Change::default()
            };
            if let Some(taken) = self.update_if(key.clone(), take).await? {
                let version = Reader { item: &taken }.number(VERSION)?.unwrap_or_default();
                return Ok(Some(Lease { key, holder, version }));
            }
            let raise = Change {
                add: vec![(VERSION, 1)],
                condition: Some(Condition {
                    text: "attribute_exists(#until)",
                    names: &[UNTIL],
                    values: Vec::new(),
                }),
                ..Change::default()
            };
            if self.update_if(key.clone(), raise).await?.is_some() {
                return Ok(None);
            }
        }
    }

    async fn give_back(&self, lease: Lease, rules: &Rules) -> Result<Projected, PortError> {
        let version = lease.version;
        let change = lease.released(Some(rules));
        let Some(item) = self.update_if(lease.key, change).await? else {
            // It took too long, and somebody else has written rows meanwhile, over which this call may have written older ones.
            return Ok(Projected::Behind);
        };
        let now = Reader { item: &item }.number::<u64>(VERSION)?;
        Ok(if now == Some(version) {
            Projected::Current
        } else {
            Projected::Behind
        })
    }

    /// Writes the rows that differ from those that follow from the facts.
    async fn write_rows(&self, board: &Board, rules: &Rules) -> Result<(), PortError> {
        let items = self.fact_items(board).await?;
        let facts: Vec<Fact> = items.iter().map(read_fact).collect::<Result<_, _>>()?;
        let of_submission: BTreeMap<&SubmissionId, &Item> =
            facts.iter().map(|fact| &fact.entry.id).zip(&items).collect();
        let rows = facts::board(&facts, rules);
        let item = |row: &Entry, spread: &str| {
            let mut item = row_of(row, rules)?;
            let kept = of_submission.get(&row.id).and_then(|fact| fact.get(spread));
            item.extend(kept.map(|spread| (SPREAD.to_owned(), spread.clone())));
            Some(item)
        };
        let public = rows.public.iter().filter_map(|row| item(row, SPREAD));
        self.replace_rows(board, public.collect()).await?;
        let is_hidden = rules.hidden_until.is_some_and(|until| now() < until);
        self.replace_public_view(board, if is_hidden { &[] } else { &rows.public }, rules.dataset)
            .await?;
        let has_final = facts.iter().any(|fact| fact.last.is_some());
        if has_final {
            let last = rows.last.iter().filter_map(|row| item(row, FINAL_SPREAD));
            self.replace_rows(&board.of_final(), last.collect()).await?;
            self.replace_public_view(&board.of_final(), &rows.last, None)
                .await?;
        }
        Ok(())
    }

    /// Writes the view of a board for dashboards, or deletes it where there is nothing to see.
    async fn replace_public_view(
        &self,
        board: &Board,
        rows: &[Entry],
        dataset: Option<Digest>,
    ) -> Result<(), PortError> {
        let key = Key::public(board);
        let before = self.item(key.clone()).await?;
        if rows.is_empty() {
            return match before {
                Some(_) => self.delete_item(key).await,
                None => Ok(()),
            };
        }
        let ranked = with_shared_ranks(rows.iter().cloned(), dataset);
        let shown = ranked.iter().take(PUBLIC_ROWS).map(public_row).collect();
        let mut view = key.item();
        view.extend(about(board));
        view.insert("n_rows".to_owned(), count(rows.len() as u64));
        view.insert("rows".to_owned(), AttributeValue::L(shown));
        if before.as_ref() == Some(&view) {
            return Ok(());
        }
        self.put_item(view).await
    }

    async fn replace_rows(&self, board: &Board, rows: Vec<Item>) -> Result<(), PortError> {
        let place = |item: &Item| item.get("sk").cloned().and_then(|sk| sk.as_s().ok().cloned());
        let before = self.query(&Partition::of(rows_partition(board))).await?;
        let mut before: BTreeMap<Option<String>, Item> =
            before.into_iter().map(|item| (place(&item), item)).collect();
        let mut changed = Vec::new();
        for row in rows {
            if before.remove(&place(&row)).as_ref() != Some(&row) {
                changed.push(row);
            }
        }
        let gone = before.into_keys().flatten();
        let gone: Vec<Key> = gone.map(|sk| Key::new(rows_partition(board), sk)).collect();
        let put = stream::iter(changed).map(|row| self.put_item(row));
        put.buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        let delete = stream::iter(gone).map(|key| self.delete_item(key));
        delete.buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await
    }
}

impl Lease {
    /// The change that gives the lease back. Where rows were written by `rules`, it notes the version that they follow from, and when they are due
    /// again by the clock.
    fn released(&self, rules: Option<&Rules>) -> Change {
        let (mut set, mut remove) = (Vec::new(), vec![UNTIL, HOLDER]);
        if let Some(rules) = rules {
            set.push((PROJECTED.to_owned(), count(self.version)));
            match rules.next_change {
                Some(at) => set.push((DUE_AT.to_owned(), text(at.to_string()))),
                None => remove.push(DUE_AT),
            }
        }
        Change {
            set,
            remove,
            condition: Some(Condition {
                text: "#holder = :holder",
                names: &[HOLDER],
                values: vec![("holder", text(&self.holder))],
            }),
            ..Change::default()
        }
    }
}

/// A row as everybody may see it.
fn public_row(row: &Ranked) -> AttributeValue {
    let entry = &row.entry;
    let mut attributes = Item::from([
        ("submitter".to_owned(), text(&entry.submitter)),
        ("submission".to_owned(), text(entry.id.as_str())),
        ("received_at".to_owned(), text(entry.received_at.to_string())),
    ]);
    attributes.extend(entry.score.map(|score| ("score".to_owned(), number(score))));
    attributes.extend(
        row.shown_rank()
            .map(|rank| ("rank".to_owned(), count(rank as u64))),
    );
    attributes.extend(entry.is_baseline.then(|| (items::BASELINE.to_owned(), count(1))));
    AttributeValue::M(attributes)
}

/// A row as an item; `None` for a line without a place.
fn row_of(row: &Entry, rules: &Rules) -> Option<Item> {
    let rank = rank_key_of(row, rules.order.direction)?;
    let key = if rules.order.ranking == Ranking::All {
        Key::own_row(row)
    } else {
        Key::row(row)
    };
    Some(row_item(key, row, &rank))
}
