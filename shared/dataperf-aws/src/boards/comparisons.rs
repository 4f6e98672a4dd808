//! Compares the rows of a changed board, and writes the result next to it.
//!
//! A board is compared at most once per [`interval`]. A change leaves a mark in the table. For a
//! small board, the function that left the mark waits for the end of the interval, takes the mark
//! and compares. Meanwhile it holds another mark, which it removes when the result is written. The
//! caretaker hands remaining marks, such as those of a killed function, to the benchmark's
//! function. That takes a minute, or six if the function was killed while it compared.
//!
//! A comparison after the close of the round also writes the [paired differences](Pairs) of its
//! first rows. A closed round gets no new score, so finishing leaves a mark if the differences are
//! missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::board_log::EvidenceKey;
use dataperf::challenge::{Challenge, ChallengeError};
use dataperf::comparison::leading_pairs::{PAIRED_ROWS, Pairs};
use dataperf::comparison::{Comparison, FIRST_BYTES, MAX_COUNTED_ROWS, MAX_ROWS, Rows, Summary};
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::published_manifest;
use dataperf::ladder::Ladder;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::replicates::{HEAD_BYTES, Replicates};
use dataperf::rows::facts::Rules;
use dataperf::rows::ranking::Ranked;
use dataperf::{Descriptor, Digest, Direction, SubmissionId, Timestamp};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::boards::log::{LogStores, RowsToPublish};
use crate::boards::projections::of_facts;
use crate::runtime::now;
use crate::table::Condition;
use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::Key;
use crate::table::query::Partition;
use crate::table::reader::Reader;
use crate::{S3Bucket, Table};

/// Objects that are read at once.
const READS_AT_ONCE: usize = 32;
/// The largest object with replicates, in bytes; the evidence in it has a limit of its own.
const MAX_OBJECT_BYTES: u64 = 80 << 20;
/// How often one call compares a board at most while others write the same board's comparison.
const TRIES: usize = 3;
/// Above this many bytes only the replicates of the last board stay in memory.
const MAX_KEPT_BYTES: usize = 128 << 20;
/// In milliseconds. A comparison takes seconds; a comparer that needs longer than this was killed.
const LONGEST_MILLIS: i64 = 5 * 60 * 1000;
/// The attribute that says until when somebody is comparing a board.
const UNTIL: &str = "until";
/// The bytes with the header and the deviations of an object with replicates.
const HEAD: Range<u64> = 0..HEAD_BYTES as u64;

/// How long after a comparison a small board is not compared again. The rest of the second after a score is for waiting for the index, up to twice, and
/// for comparing.
const INTERVAL: Duration = Duration::from_millis(700);
/// The same for a board of many rows, which takes seconds to compare.
const INTERVAL_OF_LARGE: Duration = Duration::from_mins(1);
/// The variable with another interval of small boards, in milliseconds.
const COMPARED_EVERY: &str = "DATAPERF_COMPARED_EVERY_MILLIS";

/// A board to compare, as the caretaker asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareRequest {
    /// The leaderboard.
    pub leaderboard: String,
    /// The round.
    pub round: String,
}

impl CompareRequest {
    /// The board, of this benchmark.
    pub fn board(&self, benchmark: &str) -> Board {
        Board {
            benchmark: benchmark.to_owned(),
            leaderboard: self.leaderboard.clone(),
            round: self.round.clone(),
        }
    }
}

/// The table and the buckets that a comparison is read from and written to.
pub(crate) struct Stores<'a> {
    pub(crate) table: &'a Table,
    pub(crate) results: &'a S3Bucket,
    pub(crate) datasets: &'a S3Bucket,
}

/// A board's rows with what they are compared by.
struct BoardFacts {
    rows: Vec<Ranked>,
    replicates: BTreeMap<SubmissionId, Arc<Replicates>>,
    n_submissions: BTreeMap<String, u64>,
    direction: Direction,
    dataset: Option<Digest>,
    shows_every_score: bool,
}

impl BoardFacts {
    fn rows(&self) -> Rows<'_> {
        Rows {
            rows: &self.rows,
            replicates: &self.replicates,
            n_submissions: &self.n_submissions,
            direction: self.direction,
            dataset: self.dataset,
            shows_every_score: self.shows_every_score,
        }
    }
}

/// Compares boards, and caches the replicates that it has read.
pub(crate) struct Comparer {
    /// How long after a comparison a small board is not compared again.
    interval: Duration,
    kept: Mutex<BTreeMap<SubmissionId, Arc<Replicates>>>,
}

/// The place in that partition of the mark that rounds are not finished yet, which is no board's.
pub(crate) const TO_GO_ON: &str = "finish";

/// The partition of a benchmark's boards whose comparison is due.
pub(crate) fn due_partition(benchmark: &str) -> String {
    format!("{benchmark}#compare")
}

fn due_key(board: &Board) -> Key {
    let Board {
        benchmark,
        leaderboard,
        round,
    } = board;
    Key::new(due_partition(benchmark), format!("{leaderboard}#{round}"))
}

/// The key of the note that somebody is comparing a board.
fn taken_key(board: &Board) -> Key {
    let Board {
        leaderboard, round, ..
    } = board;
    Key::new(
        due_partition(&board.benchmark),
        format!("taken#{leaderboard}#{round}"),
    )
}

/// The mark of a board whose rows have changed.
pub(crate) fn comparison_mark(board: &Board) -> Item {
    marked(due_key(board), board)
}

fn marked(key: Key, board: &Board) -> Item {
    let mut item = key.item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("benchmark".into(), text(&board.benchmark));
    item.insert("leaderboard".into(), text(&board.leaderboard));
    item.insert("round".into(), text(&board.round));
    item
}

impl Table {
    /// Marks a board whose rows have changed, so that it is compared within a minute. Says whether there was no mark before.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn mark_to_compare(&self, board: &Board) -> Result<bool, PortError> {
        self.put_new(comparison_mark(board)).await
    }

    /// Takes the mark of a board away to compare it. Others leave the board to the caller `until` this time, or until the caller says that it has
    /// compared it.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn take_to_compare(&self, board: &Board, until: Timestamp) -> Result<(), PortError> {
        let mut taken = marked(taken_key(board), board);
        taken.insert(UNTIL.into(), text(until.to_string()));
        // first, so that one of the two items exists at any time, and not in one transaction, since every upload writes the mark; and once more,
        // since another call may have compared the board and deleted its note between the two, and a mark that was left after that is taken away here
        self.put_item(taken.clone()).await?;
        self.delete_item(due_key(board)).await?;
        self.put_item(taken).await
    }

    /// Notes that the caller, who took a board `until` this time, has compared it, unless somebody else has taken it since: their comparison sees all
    /// that this one saw.
    ///
    /// # Errors
    /// [`PortError`].
    async fn compared(&self, board: &Board, until: Timestamp) -> Result<(), PortError> {
        let own = Condition {
            text: "#until = :until",
            names: &[UNTIL],
            values: vec![("until", text(until.to_string()))],
        };
        self.delete_item_if(taken_key(board), Some(own)).await
    }

    /// The boards of a benchmark whose comparison is due, or was begun and not ended in its time.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn boards_to_compare(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        let (mut boards, now) = (BTreeSet::new(), now());
        for item in self.query(&Partition::new(due_partition(benchmark))).await? {
            let reader = Reader { item: &item };
            if reader.text("sk")? == TO_GO_ON {
                continue; // of rounds, not of a board
            }
            let until: Option<Timestamp> = reader.maybe(UNTIL)?;
            if until.is_none_or(|until| until <= now) {
                boards.insert(crate::table::reader::board(&item)?);
            }
        }
        Ok(boards.into_iter().collect())
    }
}

impl Comparer {
    /// With the intervals that the environment sets.
    ///
    /// # Errors
    /// When the variable is not a number.
    pub(crate) fn from_environment() -> Result<Self, lambda_runtime::Error> {
        let interval = match std::env::var(COMPARED_EVERY) {
            Ok(text) => Duration::from_millis(text.parse().map_err(|_| {
                format!("`{COMPARED_EVERY}` has to be a whole number of milliseconds, not `{text}`")
            })?),
            Err(_) => INTERVAL,
        };
        Ok(Self {
            interval,
            kept: Mutex::default(),
        })
    }

    /// Publishes a board as it was compared, and the final board that belongs to it.
    ///
    /// # Errors
    /// [`PortError`]; it is published by a later call.
    pub(crate) async fn publish(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &LogStores<'_>,
    ) -> Result<(), PortError> {
        let version = stores.table.version(board).await?;
        let rules = stores.table.rules(board, hosted, stores.datasets).await?;
        let (public, mut is_current) = (of_facts(board), true);
        let ladder = ladder(&public, stores.datasets).await?;
        for board in [public.of_final(), public] {
            // not by the index, which follows the rows later
            let (rows, n_rows) = stores.table.all_rows(&board, MAX_ROWS).await?;
            let mut replicates = self.replicates(&board, &rows, stores.results).await?;
            let dataset = if board.is_final() {
                dataset_of(&board, &rules, &rows)
            } else {
                stores.table.compared_dataset(&board).await?
            };
            if ladder == Some(Ladder::Auto) {
                // equal digests of held scores would tell that nothing has changed
                for row in rows.iter().filter(|row| row.entry.climb.is_some()) {
                    replicates.remove(&row.entry.id);
                }
            }
            let evidence = evidence(&board, hosted, dataset, &replicates, stores.datasets).await?;
            let rows = RowsToPublish {
                rows: &rows,
                n_rows,
                evidence: &evidence,
                is_compared: true,
                dataset,
                version,
            };
            is_current &= stores.publish(&board, hosted, &rules, &rows).await?;
        }
        if is_current {
            stores.table.note_published(board, version).await?;
        }
        Ok(())
    }

    /// Compares a board after one of its submissions has been scored, or marks it to be compared.
    ///
    /// # Errors
    /// [`PortError`] when the mark can't be written.
    pub(crate) async fn after_score(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        // on a busy board most calls find a mark, whose writer compares their rows as well
        match stores.table.mark_to_compare(board).await {
            Ok(true) => self.after_change(board, hosted, stores).await,
            marked => marked.map(drop),
        }
    }

    /// Compares a board after many of its facts have changed, or marks it to be compared.
    ///
    /// # Errors
    /// [`PortError`] when the mark can't be written.
    pub(crate) async fn after_change(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        stores.table.mark_to_compare(board).await?;
        if let Err(error) = self.now_or_later(board, hosted, stores).await {
            tracing::warn!(board = ?board, %error, "not compared now: a later run compares it");
            stores.table.mark_to_compare(board).await?;
        }
        Ok(())
    }

    /// The wait until a board may be compared again; `None` if it may be compared now.
    async fn rest_of_interval(
        &self,
        board: &Board,
        results: &S3Bucket,
    ) -> Result<Option<Duration>, PortError> {
        let Some(before) = summary(board, results).await? else {
            return Ok(None);
        };
        let passed = now()
            .unix_millis()
            .saturating_sub(before.compared_at.unix_millis());
        let passed = Duration::from_millis(u64::try_from(passed).unwrap_or(0));
        let interval = if before.n_rows <= MAX_COUNTED_ROWS {
            self.interval
        } else {
            INTERVAL_OF_LARGE
        };
        Ok(interval.checked_sub(passed).filter(|rest| !rest.is_zero()))
    }

    async fn now_or_later(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        if let Some(rest) = self.rest_of_interval(board, stores.results).await? {
            if rest > self.interval {
                return Ok(());
            }
            tokio::time::sleep(rest).await;
        }
        self.compare(board, hosted, stores).await
    }

    /// Compares a board and takes its mark away.
    ///
    /// # Errors
    /// [`PortError`]; the mark stays.
    pub(crate) async fn compare(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        let compared = self.compared(board, hosted, stores).await;
        if compared.is_err() {
            stores.table.mark_to_compare(board).await?;
        }
        compared
    }

    async fn compared(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        let Stores { table, results, .. } = stores;
        // before the facts are read: a later change leaves another mark
        let until = Timestamp::from_unix_millis(now().unix_millis().saturating_add(LONGEST_MILLIS));
        table.take_to_compare(board, until).await?;
        let key = Comparison::key(board);
        for _ in 0..TRIES {
            let before = results.get_beginning(&key, FIRST_BYTES as u64).await?;
            let at = now();
            let facts = self.gather(board, hosted, stores).await?;
            let bytes = Bytes::from(Comparison::compute(&facts.rows(), at).to_bytes()?);
            let tag = before.map(|before| before.tag);
            if results.put_if(&key, bytes, tag.as_deref()).await? {
                self.write_pairs(board, facts, at, stores).await?;
                return table.compared(board, until).await;
            }
        }
        table.mark_to_compare(board).await?;
        table.compared(board, until).await
    }

    async fn gather(
        &self,
        board: &Board,
        hosted: &Descriptor,
        stores: &Stores<'_>,
    ) -> Result<BoardFacts, PortError> {
        let Stores {
            table,
            results,
            datasets,
        } = stores;
        let rules = table.rules(board, hosted, datasets).await?;
        // the writer of a score may have known older rules, or another active data set
        table.project_often(board, &rules).await?;
        if is_large(board, results).await? {
            table.refresh_public_view(board, &rules).await?;
        }
        let (rows, n_submissions) = table.rows_with_counts(board, MAX_ROWS).await?;
        let replicates = self.replicates(board, &rows, results).await?;
        let dataset = dataset_of(board, &rules, &rows);
        let is_released = rows.iter().any(|row| row.entry.climb.is_some());
        let ladder = if is_released {
            ladder(board, stores.datasets).await?
        } else {
            None
        };
        Ok(BoardFacts {
            shows_every_score: ladder == Some(Ladder::Rounded),
            rows,
            replicates,
            n_submissions,
            direction: hosted.direction,
            dataset,
        })
    }

    /// Writes the paired differences of the first rows of a board that was compared `at` a time, where they may be shown by then.
    async fn write_pairs(
        &self,
        board: &Board,
        mut facts: BoardFacts,
        at: Timestamp,
        stores: &Stores<'_>,
    ) -> Result<(), PortError> {
        if board.round == OPEN_ROUND || board.is_post_round() {
            return Ok(()); // no close shows them
        }
        // if the challenge can't be read, write nothing: whoever finishes rounds leaves a mark once
        // it is fixed
        let challenge = challenge(board, stores.datasets).await?;
        let from = Pairs::shown_from(challenge.as_ref(), board, facts.dataset);
        if from.is_none_or(|from| from > at) {
            return Ok(());
        }
        let results = stores.results;
        let before = Pairs::read(results, board).await?;
        if before.is_some_and(|before| before.compared_at > at) {
            return Ok(()); // somebody who compared it later was faster
        }
        facts.rows.retain(|row| row.entry.dataset == facts.dataset);
        facts.rows.truncate(PAIRED_ROWS);
        // of a large board only the heads were read
        facts.replicates = self.replicates(board, &facts.rows, results).await?;
        let bytes = Bytes::from(Pairs::compute(&facts.rows(), at).to_bytes()?);
        results.put(&Pairs::key(board), bytes).await
    }

    /// The replicates of each row: on a small board from whole objects, on a large one from their heads alone.
    async fn replicates(
        &self,
        board: &Board,
        rows: &[Ranked],
        results: &S3Bucket,
    ) -> Result<BTreeMap<SubmissionId, Arc<Replicates>>, PortError> {
        let is_small = rows.len() <= MAX_COUNTED_ROWS;
        let mut replicates = BTreeMap::new();
        let mut unknown = Vec::new();
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            for row in rows {
                let id = &row.entry.id;
                match kept
                    .get(id)
                    .filter(|kept| kept.is_of(&row.entry) && (!is_small || is_whole(kept)))
                {
                    Some(kept) => drop(replicates.insert(id.clone(), kept.clone())),
                    None => unknown.push(id.clone()),
                }
            }
        }
        let read = stream::iter(unknown)
            .map(|id| async move {
                let read = read(board, &id, is_small, results).await?;
                Ok::<_, PortError>((id, read))
            })
            .buffer_unordered(READS_AT_ONCE);
        let read: Vec<(SubmissionId, Option<Replicates>)> = read.try_collect().await?;
        for (id, read) in read {
            replicates.extend(read.map(|read| (id, Arc::new(read))));
        }
        if !is_small {
            // what was kept of a smaller board would make intervals depend on what this process has seen
            for replicates in replicates
                .values_mut()
                .filter(|replicates| !replicates.correctness.is_empty())
            {
                let head = Replicates {
                    correctness: Vec::new(),
                    ..Replicates::clone(replicates)
                };
                *replicates = Arc::new(head);
            }
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(
            replicates
                .iter()
                .map(|(id, replicates)| (id.clone(), replicates.clone())),
        );
        let n_bytes = |kept: &Replicates| {
            4 * (kept.deviations.len() + kept.areas.len() + kept.parts.len()) + kept.correctness.len()
        };
        if kept.values().map(|kept| n_bytes(kept)).sum::<usize>() > MAX_KEPT_BYTES {
            kept.retain(|id, _| replicates.contains_key(id));
        }
        Ok(replicates)
    }
}

/// The data set whose scores are compared: the rules' data set, or that of the newest upload with a
/// row.
fn dataset_of(board: &Board, rules: &Rules, rows: &[Ranked]) -> Option<Digest> {
    let newest = rows.iter().max_by_key(|row| row.entry.received_at);
    let newest = newest.and_then(|newest| newest.entry.dataset);
    rules.dataset.filter(|_| !board.is_final()).or(newest)
}

/// The keyed digests of the inputs of the rows' intervals.
async fn evidence(
    board: &Board,
    hosted: &Descriptor,
    dataset: Option<Digest>,
    replicates: &BTreeMap<SubmissionId, Arc<Replicates>>,
    datasets: &S3Bucket,
) -> Result<BTreeMap<SubmissionId, Digest>, PortError> {
    let Some(dataset) = dataset.filter(|_| !replicates.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let manifest = match published_manifest(datasets, &board.benchmark, dataset).await {
        Ok(manifest) => manifest,
        Err(DatasetError::Port(error)) => return Err(error),
        Err(error) => {
            tracing::warn!(?board, %error, "published without digests of evidence");
            return Ok(BTreeMap::new());
        }
    };
    let Some(key) = EvidenceKey::new(&manifest, hosted.is_public) else {
        return Ok(BTreeMap::new());
    };
    let of_dataset = replicates
        .iter()
        .filter(|(_, stored)| stored.header.dataset == dataset);
    Ok(of_dataset
        .map(|(id, stored)| (id.clone(), key.digest(stored)))
        .collect())
}

/// How a board's round releases scores; `None` also where the published challenge can't be read.
async fn ladder(board: &Board, datasets: &S3Bucket) -> Result<Option<Ladder>, PortError> {
    let challenge = challenge(board, datasets).await?;
    let round = challenge
        .as_ref()
        .and_then(|challenge| challenge.round(&board.round));
    Ok(round.and_then(dataperf::challenge::Round::release))
}

/// The challenge of a board's benchmark; `None` also if it can't be read, which makes finishing
/// rounds fail as well.
async fn challenge(board: &Board, datasets: &S3Bucket) -> Result<Option<Challenge>, PortError> {
    match Challenge::published(datasets, &board.benchmark).await {
        Err(ChallengeError::Port(error)) => Err(error),
        Err(error) => {
            tracing::warn!(board = ?board, %error, "the challenge can't be read");
            Ok(None)
        }
        Ok(challenge) => Ok(challenge),
    }
}

fn is_whole(kept: &Replicates) -> bool {
    kept.correctness.len() == kept.header.n_items
}

/// The replicates of a submission, `whole` or without item data; `None` if they are missing, or the
/// object has another form.
async fn read(
    board: &Board,
    id: &SubmissionId,
    whole: bool,
    results: &S3Bucket,
) -> Result<Option<Replicates>, PortError> {
    let key = Replicates::key_on(board, id);
    if whole {
        return Ok(match results.get(&key, None, MAX_OBJECT_BYTES).await? {
            Got::Object(object) => parsed(&key, &object.bytes),
            Got::Missing | Got::TooLarge { .. } => None,
        });
    }
    let Some(head) = range(&key, HEAD, results).await? else {
        return Ok(None);
    };
    let Some(read) = parsed(&key, &head) else {
        return Ok(None);
    };
    let begin = read.header.items_begin();
    if begin == HEAD_BYTES {
        return Ok(Some(read));
    }
    let with_areas = range(&key, 0..begin as u64, results).await?;
    Ok(with_areas.and_then(|bytes| parsed(&key, &bytes)))
}

async fn range(key: &str, bytes: Range<u64>, results: &S3Bucket) -> Result<Option<Bytes>, PortError> {
    match results.get_ranges(key, &[bytes]).await {
        Err(PortError::Malformed { .. }) => Ok(None),
        read => Ok(read?.and_then(|ranges| ranges.into_iter().next())),
    }
}

fn parsed(key: &str, bytes: &[u8]) -> Option<Replicates> {
    match Replicates::from_bytes(key, bytes) {
        Ok(read) => Some(read),
        Err(error) => {
            tracing::warn!(%error, "left out of the comparison");
            None
        }
    }
}

/// Marks a board of a closed round to be compared where its paired differences may be shown and are missing or older than its comparison.
///
/// # Errors
/// [`PortError`].
pub(crate) async fn mark_without_pairs(
    board: &Board,
    challenge: &Challenge,
    table: &Table,
    results: &S3Bucket,
) -> Result<(), PortError> {
    let summary = summary(board, results).await?;
    let dataset = summary.as_ref().and_then(|summary| summary.dataset);
    let from = Pairs::shown_from(Some(challenge), board, dataset);
    if from.is_none_or(|from| from > now()) {
        return Ok(());
    }
    let pairs = Pairs::read(results, board).await?;
    let is_there = pairs
        .zip(summary)
        .is_some_and(|(pairs, summary)| pairs.compared_at == summary.compared_at);
    if !is_there {
        table.mark_to_compare(board).await?;
    }
    Ok(())
}

/// Whether a board had many rows when it was compared before.
async fn is_large(board: &Board, results: &S3Bucket) -> Result<bool, PortError> {
    let before = summary(board, results).await?;
    Ok(before.is_some_and(|before| before.n_rows > MAX_COUNTED_ROWS))
}

/// The summary of a board's comparison; `None` where the board has not been compared or the object has another form.
async fn summary(board: &Board, results: &S3Bucket) -> Result<Option<Summary>, PortError> {
    let before = results
        .get_beginning(&Comparison::key(board), FIRST_BYTES as u64)
        .await?;
    let read = before.and_then(|before| Comparison::from_bytes(&before.bytes).ok());
    Ok(read.map(|comparison| comparison.summary))
}
