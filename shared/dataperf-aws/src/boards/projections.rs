//! Writes the rows of boards, which follow from facts.
//!
//! One caller at a time projects a board: it takes the lease of the board's projection, reads facts, writes the rows that differ and gives the lease
//! back. Every change of a fact raises the projection's version and notes whose fact it is. Whoever gives the lease back notes the version from before
//! the facts were read, so that a later change leaves the two apart. Then the same caller goes round again, or the caretaker does.
//!
//! A projection reads only the facts of the noted submitters, so its cost does not depend on the
//! board's size. If the rules differ from the previous projection's, it reads all facts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::board::{Board, Order};
use dataperf::board_log::INTERVAL_MILLIS;
use dataperf::challenge::{Challenge, ChallengeError};
use dataperf::comparison::MAX_COUNTED_ROWS;
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::ports::PortError;
use dataperf::rows::facts::{self, Fact, FinalOutcome, Rules, count_scored, scored_with};
use dataperf::rows::ranking::{Ranked, rank_key_of, with_shared_ranks};
use dataperf::rows::revision::Finalized;
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Projected;
use dataperf::{Descriptor, Digest, Direction, SubmissionId, Timestamp};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::S3Bucket;
use crate::runtime::now;
use crate::table::items::{self, DATASET, Item, SCHEMA, count, entry_item, number, row_item, text};
use crate::table::keys::{Key, facts_of, facts_partition, projections_partition, rows_partition};
use crate::table::query::Partition;
use crate::table::reader::{self, Reader};
use crate::table::row_spread::{RowSpread, SPREAD};
use crate::table::{Change, Condition, Operation, Step, Table};

/// Rows that are written at once.
const WRITES_AT_ONCE: usize = 16;
/// In milliseconds. A projector that has not returned the lease after this time was killed, or is
/// so slow that another projection follows.
const LEASE_MILLIS: i64 = 30_000;

/// How often the facts of a board have changed.
const VERSION: &str = "version";
/// The version that the rows follow from.
const PROJECTED: &str = "projected";
/// The version with which the board was published last, and when.
const LOGGED: &str = "logged";
const LOGGED_AT: &str = "logged_at";
/// Until when somebody projects the board.
const UNTIL: &str = "until";
/// The submitters whose facts have changed since the rows were written. Each change has its own
/// note, so that a change during a projection is not removed together with an earlier one of the
/// same submitter.
const CHANGED: &str = "changed";
/// How often something has changed that may concern all rows, and the number of the last whole projection.
const ALL_CHANGED: &str = "all_changed";
const ALL_PROJECTED: &str = "all_projected";
/// The rules that the rows were written by, as JSON.
const RULES: &str = "rules";
/// The data set whose scores were compared.
const COMPARED: &str = "compared";
/// How many of a submitter's submissions to the board were scored, on rows.
pub(crate) const N_SCORED: &str = "n_scored";
/// When the rules change by the clock that the rows were written by.
const DUE_AT: &str = "due_at";
/// How many rows a board has, in its view for dashboards.
const N_ROWS: &str = "n_rows";
/// Of a board with more rows not all are read whenever a row changes.
const LARGE_BOARD: usize = 1_000;
/// How often one call projects a board for the changes that come meanwhile; after that the next change or the caretaker does.
const MOST_ROUNDS: usize = 20;
/// How often somebody looks who waits for a lease.
const POLL_MILLIS: i64 = 250;
/// The rows that the public view of a board has at most.
const PUBLIC_ROWS: usize = 100;
/// The projector.
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

/// The spread to store for a fact.
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
    let (_, spread) = RowSpread::from_verdict(&last.verdict, hosted).attribute()?;
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
        subject: format!("the rules of the boards of `{}`", hosted.id),
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

/// The change of a projection that notes that the facts of a submitter have changed.
fn note_of_change(board: &Board, submitter: &str) -> Change {
    Change {
        set: about(board),
        add: vec![(VERSION, 1)],
        add_to: vec![(CHANGED, change_note(submitter))],
        ..Change::default()
    }
}

/// The change that makes the next projection write all rows.
fn note_of_rules(board: &Board) -> Change {
    Change {
        set: about(board),
        add: vec![(VERSION, 1), (ALL_CHANGED, 1)],
        ..Change::default()
    }
}

/// A note that the facts of a submitter have changed, which is like no other.
fn change_note(submitter: &str) -> String {
    format!("{submitter}#{:016x}", fastrand::u64(..))
}

/// The submitter whose facts have changed, by note.
fn submitter_of(note: &str) -> String {
    note.rsplit_once('#')
        .map_or(note, |(submitter, _)| submitter)
        .to_owned()
}

/// The right to project a board, for a time.
struct Lease {
    key: Key,
    holder: String,
    /// The version from before the facts are read.
    version: u64,
    /// The notes of the changes so far.
    changed: Vec<String>,
    /// The rules of the projection before.
    rules: Option<String>,
    /// How often something has changed that may concern all rows, and whether it has since the last whole projection.
    all_changed: u64,
    is_whole: bool,
}

/// The rules that rows are written by, in a projection's item.
fn written_by(rules: &Rules) -> String {
    let Rules {
        order: Order { direction, ranking },
        dataset,
        ..
    } = rules;
    let is_hidden = rules.hidden_until.is_some_and(|until| now() < until);
    let higher_is_better = *direction == Direction::HigherIsBetter;
    serde_json::json!({
        "ranking": ranking.as_str(),
        "higher_is_better": higher_is_better,
        "dataset": dataset.map(|dataset| dataset.to_string()),
        "is_hidden": is_hidden,
    })
    .to_string()
}

impl Table {
    /// The operation that notes that a fact of a submission changes in the same transaction, so that the submitter's rows are due.
    pub(crate) fn due_to_project(&self, entry: &Entry) -> Operation {
        let board = of_facts(&entry.board);
        let change = note_of_change(&board, &entry.submitter);
        (Step::Other, self.update(Key::projection(&board), change))
    }

    /// The operation that notes that one of many facts of a board changes in the same transaction, so that all rows are due.
    pub(crate) fn all_due_to_project(&self, board: &Board) -> Operation {
        let board = of_facts(board);
        (
            Step::Other,
            self.update(Key::projection(&board), note_of_rules(&board)),
        )
    }

    /// Notes that the rules of a board may be other ones, so that all its rows are due.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn note_rules_changed(&self, board: &Board) -> Result<(), PortError> {
        let board = of_facts(board);
        let change = note_of_rules(&board);
        self.update_if(Key::projection(&board), change).await.map(drop)
    }

    /// Notes that the facts of a submitter have changed, so that a function that may write rows projects the board within a minute. Gives the item of
    /// the projection.
    pub(crate) async fn note_change(&self, board: &Board, submitter: &str) -> Result<Item, PortError> {
        let board = of_facts(board);
        let change = note_of_change(&board, submitter);
        let noted = self.update_if(Key::projection(&board), change).await?;
        Ok(noted.unwrap_or_default())
    }

    /// The boards of a benchmark whose rows do not follow from their facts, and which nobody projects.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn boards_to_project(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let (mut boards, now) = (Vec::new(), now());
        for item in self
            .query(&Partition::new(projections_partition(benchmark)))
            .await?
        {
            let reader = Reader { item: &item };
            let [version, projected] = [VERSION, PROJECTED].map(|name| reader.number::<u64>(name));
            let [until, due_at] = [UNTIL, DUE_AT].map(|name| reader.maybe::<Timestamp>(name));
            let is_due = version?.unwrap_or_default() != projected?.unwrap_or_default()
                || due_at?.is_some_and(|due_at| due_at <= now);
            if is_due && until?.is_none_or(|until| until <= now) {
                boards.push(reader::board(&item)?);
            }
        }
        Ok(boards)
    }

    /// The boards of a benchmark that have changed since they were published, a minute ago or more.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn boards_to_publish(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let (mut boards, now) = (Vec::new(), now());
        let partition = Partition::new(projections_partition(benchmark));
        for item in self.query(&partition).await? {
            let reader = Reader { item: &item };
            let [version, logged] = [VERSION, LOGGED].map(|name| reader.number::<u64>(name));
            let (version, logged) = (version?.unwrap_or_default(), logged?.unwrap_or_default());
            let last: Option<Timestamp> = reader.maybe(LOGGED_AT)?;
            let next = last.map(|last| last.unix_millis().saturating_add(INTERVAL_MILLIS));
            if version != logged && next.is_none_or(|next| next <= now.unix_millis()) {
                boards.push(reader::board(&item)?);
            }
        }
        Ok(boards)
    }

    /// How often the facts of a board have changed.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn version(&self, board: &Board) -> Result<u64, PortError> {
        let item = self.item(Key::projection(&of_facts(board))).await?;
        let version = item.as_ref().map(|item| Reader { item }.number(VERSION));
        Ok(version.transpose()?.flatten().unwrap_or_default())
    }

    /// Notes that a board was published with the changes up to a version.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn note_published(&self, board: &Board, version: u64) -> Result<(), PortError> {
        let change = Change {
            set: vec![
                (LOGGED.to_owned(), count(version)),
                (LOGGED_AT.to_owned(), text(now().to_string())),
            ],
            ..Change::default()
        };
        self.update_if(Key::projection(&of_facts(board)), change)
            .await
            .map(drop)
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
        let challenge = match Challenge::published(datasets, hosted.id).await {
            Ok(challenge) => challenge,
            Err(ChallengeError::Port(error)) => return Err(error),
            Err(error) => return Err(malformed(hosted, &error)),
        };
        if hosted.fixed.is_some() {
            return Ok(Rules::new(hosted, challenge.as_ref(), &board, None, now()));
        }
        let active = match InForce::read(datasets, hosted.id).await {
            Ok(in_force) => in_force.scored_with(challenge.as_ref(), &board, now()),
            Err(DatasetError::Port(error)) => return Err(error),
            Err(error) => return Err(malformed(hosted, &error)),
        };
        Ok(Rules::new(hosted, challenge.as_ref(), &board, active, now()))
    }

    /// Projects a board by its current rules. Waits for anybody who projects it by other rules.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn project_now(
        &self,
        board: &Board,
        hosted: &Descriptor,
        datasets: &S3Bucket,
    ) -> Result<(), PortError> {
        let key = Key::projection(&of_facts(board));
        for _ in 0..LEASE_MILLIS / POLL_MILLIS * 2 {
            let item = self.item(key.clone()).await?;
            let until = item
                .as_ref()
                .map(|item| Reader { item }.maybe::<Timestamp>(UNTIL));
            let is_free = until.transpose()?.flatten().is_none_or(|until| until < now());
            // read each time: who waits longest has to know the newest
            let rules = self.rules(board, hosted, datasets).await?;
            if is_free && self.project_board(board, &rules, None).await? == Projected::Current {
                return Ok(());
            }
            if !is_free {
                tokio::time::sleep(Duration::from_millis(POLL_MILLIS.unsigned_abs())).await;
            }
        }
        Err(PortError::Transient {
            subject: format!("projecting `{}`", board.leaderboard),
            source: "its facts change all the time: its rows follow within a minute".into(),
        })
    }

    /// Projects a board until its rows follow from its facts, somebody else does it, or this call's
    /// time is up.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn project_often(&self, board: &Board, rules: &Rules) -> Result<(), PortError> {
        for _ in 0..MOST_ROUNDS {
            if self.project_board(board, rules, None).await? != Projected::Behind {
                break;
            }
        }
        Ok(())
    }

    /// The facts of a board, in the order of the uploads.
    pub(crate) async fn read_facts(&self, board: &Board) -> Result<Vec<Fact>, PortError> {
        let items = self
            .query(&Partition::new(facts_partition(&of_facts(board))))
            .await?;
        let mut facts: Vec<Fact> = items.iter().map(read_fact).collect::<Result<_, _>>()?;
        facts.sort_by(|a, b| a.entry.time_order().cmp(&b.entry.time_order()));
        Ok(facts)
    }

    /// The first rows of a board, and how many submissions to it were scored of each of their submitters.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn rows_with_counts(
        &self,
        board: &Board,
        max_rows: usize,
    ) -> Result<(Vec<Ranked>, BTreeMap<String, u64>), PortError> {
        let rank = |item: &Item| item.get("rank").and_then(|rank| rank.as_s().ok()).cloned();
        let mut items = self.query_first(&Partition::ranking(board), max_rows).await?;
        if items.len() <= MAX_COUNTED_ROWS {
            // the index may be behind by any time, the rows themselves are not
            items = self.query(&Partition::new(rows_partition(board))).await?;
            items.sort_by_cached_key(rank);
            items.truncate(max_rows);
        }
        let (mut entries, mut counts) = (Vec::new(), BTreeMap::new());
        for item in &items {
            let entry = reader::entry(item)?;
            let n_scored: Option<u64> = Reader { item }.number(N_SCORED)?;
            counts.insert(entry.submitter.clone(), n_scored.unwrap_or_default());
            entries.push(entry);
        }
        Ok((with_shared_ranks(entries, None), counts))
    }

    /// The first rows of a board, read without the index, and how many it has.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn all_rows(
        &self,
        board: &Board,
        max_rows: usize,
    ) -> Result<(Vec<Ranked>, usize), PortError> {
        let mut items = self.query(&Partition::new(rows_partition(board))).await?;
        items.sort_by_cached_key(|item| item.get("rank").and_then(|rank| rank.as_s().ok()).cloned());
        let n_rows = items.len();
        items.truncate(max_rows);
        let entries: Vec<Entry> = items.iter().map(reader::entry).collect::<Result<_, _>>()?;
        Ok((with_shared_ranks(entries, None), n_rows))
    }

    /// The data set whose scores were compared when a board was projected last.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn compared_dataset(&self, board: &Board) -> Result<Option<Digest>, PortError> {
        let item = self.item(Key::projection(&of_facts(board))).await?;
        let compared = item.as_ref().map(|item| Reader { item }.maybe(COMPARED));
        compared.transpose().map(Option::flatten)
    }

    /// Notes whose facts have changed, and projects the board unless somebody else does. Once the
    /// change is noted it is safe: others complete the work after a failure.
    pub(crate) async fn project_board(
        &self,
        board: &Board,
        rules: &Rules,
        changed: Option<&str>,
    ) -> Result<Projected, PortError> {
        let board = of_facts(board);
        let Some(submitter) = changed else {
            return self.project_noted(&board, rules).await;
        };
        let noted = self.note_change(&board, submitter).await?;
        let until: Option<Timestamp> = Reader { item: &noted }.maybe(UNTIL)?;
        if until.is_some_and(|until| until > now()) {
            return Ok(Projected::TakenOver);
        }
        Ok(self.project_noted(&board, rules).await.unwrap_or_else(|error| {
            tracing::warn!(?board, %error, "the next change or the caretaker updates the rows");
            Projected::TakenOver
        }))
    }

    async fn project_noted(&self, board: &Board, rules: &Rules) -> Result<Projected, PortError> {
        let Some(lease) = self.take_lease(board).await? else {
            return Ok(Projected::TakenOver);
        };
        let is_whole = lease.is_whole
            || lease.rules.as_deref() != Some(&written_by(rules))
            || !rules.are_of_each_submitter();
        if is_whole && lease.rules.is_some() {
            // if this call is broken off, rows of several rules are there
            let mixed = Change {
                remove: vec![RULES],
                ..lease.held()
            };
            if self.update_if(lease.key.clone(), mixed).await?.is_none() {
                return Ok(Projected::Behind);
            }
        }
        match self.write_rows(board, rules, &lease, is_whole).await {
            Ok(compared) => self.give_back(lease, rules, compared).await,
            Err(error) => {
                // as soon as possible somebody else projects the board; if this fails too, after the lease's time
                if let Ok(None) = self.update_if(lease.key.clone(), lease.released(None)).await {
                    let _ = self.note_lost_lease(lease.key).await;
                }
                Err(error)
            }
        }
    }

    /// Takes the lease of a board's projection. `None` where somebody has it, who goes round again if the version is raised meanwhile.
    async fn take_lease(&self, board: &Board) -> Result<Option<Lease>, PortError> {
        let (key, at) = (Key::projection(board), now());
        let until = Timestamp::from_unix_millis(at.unix_millis().saturating_add(LEASE_MILLIS));
        let holder = format!("{:016x}", fastrand::u64(..));
        let mut set = about(board);
        set.push((UNTIL.to_owned(), text(until.to_string())));
        set.push((HOLDER.to_owned(), text(&holder)));
        let take = Change {
            set,
            condition: Some(Condition {
                text: "attribute_not_exists(#until) OR #until < :now",
                names: &[UNTIL],
                values: vec![("now", text(at.to_string()))],
            }),
            ..Change::default()
        };
        let Some(taken) = self.update_if(key.clone(), take).await? else {
            return Ok(None);
        };
        let reader = Reader { item: &taken };
        let changed = taken.get(CHANGED).and_then(|set| set.as_ss().ok());
        let all_changed = reader.number(ALL_CHANGED)?.unwrap_or_default();
        let all_projected: u64 = reader.number(ALL_PROJECTED)?.unwrap_or_default();
        Ok(Some(Lease {
            key,
            holder,
            version: reader.number(VERSION)?.unwrap_or_default(),
            changed: changed.into_iter().flatten().cloned().collect(),
            rules: reader.optional_text(RULES),
            all_changed,
            is_whole: all_changed != all_projected,
        }))
    }

    /// Notes that a projection took longer than its lease: it may have overwritten the next
    /// holder's rows with older ones.
    async fn note_lost_lease(&self, projection: Key) -> Result<(), PortError> {
        let change = Change {
            add: vec![(VERSION, 1), (ALL_CHANGED, 1)],
            ..Change::default()
        };
        self.update_if(projection, change).await.map(drop)
    }

    async fn give_back(
        &self,
        lease: Lease,
        rules: &Rules,
        compared: Option<Digest>,
    ) -> Result<Projected, PortError> {
        let (version, key) = (lease.version, lease.key.clone());
        let change = lease.released(Some((rules, compared)));
        let Some(item) = self.update_if(lease.key, change).await? else {
            self.note_lost_lease(key).await?;
            return Ok(Projected::Behind);
        };
        let now: u64 = Reader { item: &item }.number(VERSION)?.unwrap_or_default();
        Ok(if now == version {
            Projected::Current
        } else {
            Projected::Behind
        })
    }

    /// Writes the rows that differ from those that follow from the facts. Gives the data set whose scores are compared.
    async fn write_rows(
        &self,
        board: &Board,
        rules: &Rules,
        lease: &Lease,
        is_whole: bool,
    ) -> Result<Option<Digest>, PortError> {
        let partition = Partition::new(facts_partition(board));
        let changed: BTreeSet<String> = lease.changed.iter().map(|note| submitter_of(note)).collect();
        let submitters = if is_whole { None } else { Some(&changed) };
        let mut items = Vec::new();
        match submitters {
            None => items = self.query(&partition).await?,
            Some(submitters) => {
                for submitter in submitters {
                    let own = partition.clone().beginning_with(facts_of(submitter));
                    items.extend(self.query(&own).await?);
                }
            }
        }
        let facts: Vec<Fact> = items.iter().map(read_fact).collect::<Result<_, _>>()?;
        let of_submission: BTreeMap<&SubmissionId, &Item> =
            facts.iter().map(|fact| &fact.entry.id).zip(&items).collect();
        let n_scored = count_scored(&facts);
        let rows = facts::board(&facts, rules);
        let item = |row: &Entry, spread: &str| {
            let mut item = row_of(row, rules)?;
            let kept = of_submission.get(&row.id).and_then(|fact| fact.get(spread));
            item.extend(kept.map(|spread| (SPREAD.to_owned(), spread.clone())));
            let n_scored = n_scored.get(&row.submitter).copied().unwrap_or_default();
            item.insert(N_SCORED.to_owned(), count(n_scored));
            Some(item)
        };
        // the facts of some submitters do not reveal the newest data set of all
        let compared = if is_whole {
            scored_with(&facts, rules)
        } else {
            rules.dataset
        };
        let public = rows.public.iter().filter_map(|row| item(row, SPREAD)).collect();
        self.replace_rows(board, public, submitters, rules).await?;
        if facts.iter().any(|fact| fact.last.is_some()) {
            let last = rows
                .last
                .iter()
                .filter_map(|row| item(row, FINAL_SPREAD))
                .collect();
            let rules = Rules {
                dataset: None,
                hidden_until: None,
                ..*rules
            };
            self.replace_rows(&board.of_final(), last, submitters, &rules)
                .await?;
        }
        Ok(compared)
    }

    /// Replaces the rows of `submitters`, or all rows, by `rows`, and updates the view for
    /// dashboards.
    async fn replace_rows(
        &self,
        board: &Board,
        rows: Vec<Item>,
        submitters: Option<&BTreeSet<String>>,
        rules: &Rules,
    ) -> Result<(), PortError> {
        let view = self.item(Key::public(board)).await?;
        let n_rows = view.as_ref().map(|item| Reader { item }.number::<usize>(N_ROWS));
        let n_rows = n_rows.transpose()?.flatten().unwrap_or_default();
        let of_few = submitters.filter(|_| n_rows > LARGE_BOARD);
        let mut all = match of_few {
            None => self.query(&Partition::new(rows_partition(board))).await?,
            Some(submitters) => self.rows_of(board, submitters).await?,
        };
        let place = |item: &Item| Reader { item }.text("sk").map(str::to_owned);
        let (mut kept, mut before) = (Vec::new(), BTreeMap::new());
        for row in all.drain(..) {
            let row_submitter = Reader { item: &row }.text("submitter").map(str::to_owned)?;
            if submitters.is_none_or(|submitters| submitters.contains(&row_submitter)) {
                before.insert(place(&row)?, row);
            } else {
                kept.push(row);
            }
        }
        let mut changed = Vec::new();
        for row in &rows {
            if before.remove(&place(row)?).as_ref() != Some(row) {
                changed.push(row.clone());
            }
        }
        let put = stream::iter(changed).map(|row| self.put_item(row));
        put.buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        let gone = before
            .into_keys()
            .map(|place| Key::new(rows_partition(board), place));
        let delete = stream::iter(gone).map(|key| self.delete_item(key));
        delete
            .buffer_unordered(WRITES_AT_ONCE)
            .try_collect::<()>()
            .await?;
        if of_few.is_some() {
            return Ok(()); // once a minute, when the board is compared
        }
        kept.extend(rows);
        self.replace_public_view(board, &kept, rules, view).await
    }

    /// The rows of some submitters.
    async fn rows_of(&self, board: &Board, submitters: &BTreeSet<String>) -> Result<Vec<Item>, PortError> {
        let mut rows = Vec::new();
        for submitter in submitters {
            let key = Key::new(rows_partition(board), submitter.clone());
            rows.extend(self.item(key).await?);
        }
        Ok(rows)
    }

    /// Projects the dashboards' view of a large board from its rows, because writing the row of a score does not.
    pub(crate) async fn refresh_public_view(&self, board: &Board, rules: &Rules) -> Result<(), PortError> {
        let view = self.item(Key::public(board)).await?;
        let n_rows = view.as_ref().map(|item| Reader { item }.number::<usize>(N_ROWS));
        if n_rows
            .transpose()?
            .flatten()
            .is_none_or(|n_rows| n_rows <= LARGE_BOARD)
        {
            return Ok(());
        }
        let rows = self.query(&Partition::new(rows_partition(board))).await?;
        let of_final = Rules {
            dataset: None,
            hidden_until: None,
            ..*rules
        };
        let rules = if board.is_final() { &of_final } else { rules };
        self.replace_public_view(board, &rows, rules, view).await
    }

    /// Writes a board's view for dashboards, or deletes it if it is empty.
    async fn replace_public_view(
        &self,
        board: &Board,
        rows: &[Item],
        rules: &Rules,
        before: Option<Item>,
    ) -> Result<(), PortError> {
        let key = Key::public(board);
        let is_hidden = rules.hidden_until.is_some_and(|until| now() < until);
        if rows.is_empty() || is_hidden {
            return match before {
                Some(_) => self.delete_item(key).await,
                None => Ok(()),
            };
        }
        let mut entries: Vec<Entry> = rows.iter().map(reader::entry).collect::<Result<_, _>>()?;
        entries.sort_by_cached_key(|row| rank_key_of(row, rules.order.direction));
        entries.truncate(PUBLIC_ROWS);
        let shown = with_shared_ranks(entries, rules.dataset);
        let mut view = key.item();
        view.extend(about(board));
        view.insert(N_ROWS.to_owned(), count(rows.len() as u64));
        view.insert(
            "rows".to_owned(),
            AttributeValue::L(shown.iter().map(public_row).collect()),
        );
        if before.as_ref() == Some(&view) {
            return Ok(());
        }
        self.put_item(view).await
    }
}

impl Lease {
    /// A change on condition that the lease is still held.
    fn held(&self) -> Change {
        Change {
            condition: Some(Condition {
                text: "#holder = :holder",
                names: &[HOLDER],
                values: vec![("holder", text(&self.holder))],
            }),
            ..Change::default()
        }
    }

    /// The change that gives the lease back. Where rows were written by rules, which compare the scores of a data set, it notes the version that they
    /// follow from, and when they are due again by the clock.
    fn released(&self, written: Option<(&Rules, Option<Digest>)>) -> Change {
        let (mut set, mut remove, mut take_from) = (Vec::new(), vec![UNTIL, HOLDER], Vec::new());
        if let Some((rules, compared)) = written {
            set.push((PROJECTED.to_owned(), count(self.version)));
            set.push((ALL_PROJECTED.to_owned(), count(self.all_changed)));
            set.push((RULES.to_owned(), text(written_by(rules))));
            match rules.next_change {
                Some(at) => set.push((DUE_AT.to_owned(), text(at.to_string()))),
                None => remove.push(DUE_AT),
            }
            if let Some(compared) = compared {
                set.push((COMPARED.to_owned(), text(compared.to_string())));
            }
            if !self.changed.is_empty() {
                take_from.push((CHANGED, self.changed.clone()));
            }
        }
        Change {
            set,
            remove,
            take_from,
            ..self.held()
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
    Some(row_item(Key::row(row), row, &rank))
}
