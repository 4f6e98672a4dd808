//! Replaces a round's data set by a fresh one. The board's submissions are scored with the fresh
//! one in place. A report says how much scores fell and how far ranks agree.
//!
//! The upload's time decides which of the two data sets scores it, so nothing needs switching. The
//! caretaker calls the benchmark's function repeatedly for the rest, as for [finishing
//! rounds](crate::closing::finishing). The work may stop at any point: each submission is noted in the
//! transaction that replaces its verdict.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, future, stream};

use crate::Direction;
use crate::board::{Board, Ranking};
use crate::challenge::{Retire, Round};
use crate::closing::finishing::GRACE_MILLIS;
use crate::evaluation::artifact_judge::Evaluator;
use crate::evaluation::rescoring::{Rescored, Rescorer};
use crate::evaluation::workflow::WorkflowError;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::replicates::Replicates;
use crate::rows::ranking::standing;
use crate::rows::revision::Revision;
use crate::submission::Entry;
use crate::upload::{SubmissionId, UNNAMED};

pub use report::{Estimate, MAX_BYTES, MAX_WITH_INTERVALS, OnBoth, RetiredLine, RetirementReport};

/// Of how many submissions replicates are read at once.
const READS_AT_ONCE: usize = 16;
/// How many receipts each call writes again. Calls go through submissions in one order, and one that breaks off may leave its last one without.
const LAST_RECEIPTS: usize = 8;

/// A board whose data set was retired, and what its submissions are scored with.
pub struct Retirement<'a> {
    /// The board.
    pub board: Board,
    /// Its round, with the moment of the retirement.
    pub round: &'a Round,
    /// The scorer of the submissions.
    pub with: Rescorer<'a>,
    /// Whether there is time for another submission.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// The result of a call of [`Retirement::run`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retired {
    /// Submissions that were scored with the data set that follows.
    pub n_rescored: usize,
    /// Whether no work is left.
    pub is_complete: bool,
}

impl Retirement<'_> {
    /// Does what there is time for. Nothing is done before uploads from before the retirement can have been recorded.
    ///
    /// # Errors
    /// [`WorkflowError`]; what was done stays done.
    pub async fn run<E: Evaluator>(&self, evaluator: &E) -> Result<Retired, WorkflowError> {
        let (table, now) = (self.with.table, self.with.now);
        let nothing = Retired::default();
        let complete = Retired {
            is_complete: true,
            ..nothing
        };
        let Some(retire) = self.round.retired(now()) else {
            return Ok(nothing);
        };
        let of_run = retire.run(&self.board);
        let known = table.run(&of_run).await?;
        if known.is_some_and(|run| run.ended_at.is_some()) {
            return Ok(complete);
        }
        let since = retire.at.unix_millis().saturating_add(GRACE_MILLIS);
        if now().unix_millis() < since || self.has_unfinished(retire).await? {
            return Ok(nothing);
        }
        let run = table.begin_only_run(&of_run, now()).await?;
        if run.ended_at.is_some() {
            return Ok(complete); // by a call beside this one, meanwhile
        }
        let hosted = evaluator.hosted();
        let challenge = self.with.challenge.map_or_else(Ranking::default, |challenge| {
            challenge.ranking(&self.board.leaderboard)
        });
        let ranking = hosted.ranking(challenge);
        // in this order: what another call scores between the two reads is in what was done, with its score before
        let series = table.series(&self.board).await?;
        let mut done = table.revisions(&self.board, &run.id).await?;
        // a call that broke off after a transaction has not written that submission's receipt
        done.sort_by(|a, b| order(&a.submitter, &a.id).cmp(&order(&b.submitter, &b.id)));
        for last in done.iter().rev().take(LAST_RECEIPTS) {
            self.with.keep_receipt(&last.id, hosted).await?;
        }
        let (mut n_rescored, mut failed) = (0, None);
        for id in standing_before(&series, &done, retire, &self.board, ranking, hosted.direction) {
            if !(self.goes_on)() {
                let part = Retired {
                    n_rescored,
                    is_complete: false,
                };
                return failed.map_or(Ok(part), Err);
            }
            match self.rescore(&id, retire, &run.id, evaluator).await {
                Ok(rescored) => n_rescored += usize::from(matches!(rescored, Rescored::Recorded(_))),
                Err(error) => failed = failed.or(Some(error)), // it keeps none of the others from being scored
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let revisions = table.revisions(&self.board, &run.id).await?;
        let on_both = self.on_both(revisions, retire).await?;
        let report = RetirementReport::new(on_both, retire, hosted.direction, now());
        let key = RetirementReport::key(&self.board, retire.dataset);
        self.with.results.put(&key, report.to_json()?).await?;
        let changed = std::slice::from_ref(&self.board);
        table.end_run(&of_run, &run, now(), changed).await?;
        Ok(Retired {
            n_rescored,
            is_complete: true,
        })
    }

    async fn rescore<E: Evaluator>(
        &self,
        id: &SubmissionId,
        retire: &Retire,
        run: &str,
        evaluator: &E,
    ) -> Result<Rescored, WorkflowError> {
        self.keep_replicates(id, retire).await?;
        let dataset = Some(retire.dataset);
        self.with.rescore(&self.board, id, dataset, run, evaluator).await
    }

    /// Whether something that was uploaded before the retirement is still being evaluated.
    async fn has_unfinished(&self, retire: &Retire) -> Result<bool, WorkflowError> {
        let unfinished = self.with.table.unfinished(&self.board.benchmark).await?;
        let is_before = |line: &Entry| line.received_at < retire.at;
        Ok(unfinished
            .iter()
            .any(|line| line.board == self.board && is_before(line)))
    }

    /// Stores the replicates of the retired data set next to those that replace them.
    async fn keep_replicates(&self, id: &SubmissionId, retire: &Retire) -> Result<(), PortError> {
        let results = self.with.results;
        let Some((head, replicates)) =
            Replicates::head(results, &Replicates::key(&self.board.benchmark, id)).await?
        else {
            return Ok(());
        };
        if replicates.header.dataset == retire.dataset {
            return Ok(()); // they were kept by a call that broke off after it
        }
        results.put(&kept_key(&self.board, id, retire), head).await
    }

    /// The submissions that were scored, with their replicates of both data sets.
    async fn on_both(&self, revisions: Vec<Revision>, retire: &Retire) -> Result<Vec<OnBoth>, PortError> {
        let results = self.with.results;
        let has_intervals = revisions.len() <= MAX_WITH_INTERVALS;
        let one = async |revision: Revision| {
            let (mut before, mut after) = (None, None);
            if has_intervals {
                let keys = [
                    kept_key(&self.board, &revision.id, retire),
                    Replicates::key(&self.board.benchmark, &revision.id),
                ];
                let [of_retired, of_fresh] = keys.each_ref().map(|key| Replicates::head(results, key));
                let (of_retired, of_fresh) = future::try_join(of_retired, of_fresh).await?;
                // the replicates of a submission that was scored once more meanwhile are of another data set
                let score_with = |replicates: Option<(Bytes, Replicates)>, score: Option<f64>| {
                    let replicates = replicates.map(|(_, replicates)| Arc::new(replicates));
                    replicates.filter(|replicates| Some(replicates.header.score) == score)
                };
                (before, after) = (
                    score_with(of_retired, revision.before),
                    score_with(of_fresh, revision.after),
                );
            }
            Ok(OnBoth {
                revision,
                before,
                after,
            })
        };
        stream::iter(revisions.into_iter().map(one))
            .buffered(READS_AT_ONCE)
            .try_collect()
            .await
    }
}

fn kept_key(board: &Board, id: &SubmissionId, retire: &Retire) -> String {
    let Board { benchmark, .. } = board;
    format!(
        "{benchmark}/{UNNAMED}/_replicates/before-{}/{id}",
        retire.dataset.hex()
    )
}

/// The order in which submissions are scored again: those that a call left undone come after those
/// that it completed.
fn order<'a>(submitter: &'a str, id: &'a SubmissionId) -> (&'a str, &'a SubmissionId) {
    (submitter, id)
}

/// The submissions that stood on the board, were uploaded before the retirement, are scored with another data set than the one that follows, and are
/// not `done`.
fn standing_before(
    series: &[Entry],
    done: &[Revision],
    retire: &Retire,
    board: &Board,
    ranking: Ranking,
    direction: Direction,
) -> Vec<SubmissionId> {
    let scores: BTreeMap<&SubmissionId, Option<f64>> =
        done.iter().map(|done| (&done.id, done.before)).collect();
    let rejected: BTreeSet<&str> = done
        .iter()
        .filter(|done| done.after.is_none())
        .map(|done| done.submitter.as_str())
        .collect();
    let mut of_submitters: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
    for entry in series {
        let before = scores.get(&entry.id);
        let is_before = entry.received_at < retire.at;
        if is_before && (before.is_some() || entry.dataset != Some(retire.dataset)) {
            let line = Entry {
                score: before.copied().unwrap_or(entry.score),
                dataset: None, // all of them are of the data set that was retired
                ..entry.clone()
            };
            of_submitters.entry(&entry.submitter).or_default().push(line);
        }
    }
    let mut todo: Vec<&Entry> = Vec::new();
    for (submitter, lines) in &of_submitters {
        // where a row is against the rules of the data set that follows, no other submission takes its place
        let row = standing(lines, board, ranking, direction, None).filter(|_| !rejected.contains(submitter));
        todo.extend(row.filter(|line| !scores.contains_key(&line.id)));
    }
    todo.sort_by(|a, b| order(&a.submitter, &a.id).cmp(&order(&b.submitter, &b.id)));
    todo.into_iter().map(|line| line.id.clone()).collect()
}

/// The report of a board's newest complete retirement: the round's current one, or the one that
/// introduced its present data set.
///
/// # Errors
/// When the bucket does not answer, or the object is of another form.
pub async fn report_of(
    results: &dyn Bucket,
    round: &Round,
    board: &Board,
) -> Result<Option<RetirementReport>, PortError> {
    let successor = round.retire.map(|retire| retire.dataset);
    for dataset in [successor, round.dataset].into_iter().flatten() {
        let key = RetirementReport::key(board, dataset);
        if let Got::Object(object) = results.get(&key, None, MAX_BYTES).await? {
            return RetirementReport::from_json(&key, &object.bytes).map(Some);
        }
    }
    Ok(None)
}
