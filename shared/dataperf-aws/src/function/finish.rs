//! A function's work after the close of a round or the retirement of its data set.

use std::time::{Duration, SystemTime};

use dataperf::Descriptor;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Round};
use dataperf::closing::finishing::{Finish, FinishRequest, Finished, due_time};
use dataperf::closing::receipt_release::{self, Release, is_over};
use dataperf::closing::retirement::{Retired, Retirement};
use dataperf::evaluation::artifact_judge::Evaluator;
use dataperf::evaluation::rescoring::Rescorer;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::PortError;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::signer::Signer;
use dataperf::rows::facts::Rules;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::table::maintenance::Maintenance;
use lambda_runtime::Context;

use crate::boards::comparisons::mark_without_pairs;
use crate::function::resources::Resources;
use crate::runtime::now;
use crate::{S3Bucket, Table};

/// How long a run starts new evaluations. An evaluation takes a part of the run, and the next
/// request continues.
const LONGEST: Duration = Duration::from_mins(4);

/// The results for each board, and the first error: a failing board does not keep others from being
/// finished.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) boards: Vec<(Board, Finished)>,
    pub(crate) failed: Option<WorkflowError>,
}

/// Finishes the boards of a benchmark's rounds that are due, as far as there is time: half of the run's.
pub(crate) async fn finish<E: Evaluator>(
    evaluator: &E,
    resources: &Resources,
    request: &FinishRequest,
    context: &Context,
) -> Result<Done, WorkflowError> {
    let benchmark = evaluator.hosted().id;
    let mut done = Done::default();
    let table = resources.leaderboards().await;
    let Some(challenge) = Challenge::published(&resources.datasets().await, benchmark).await? else {
        return Ok(done);
    };
    let is_asked = |round: &Round| request.round.as_ref().is_none_or(|wanted| *wanted == round.id);
    for round in challenge.rounds.iter().filter(|round| is_asked(round)) {
        // whatever is published from now on, it stays known
        round.note_retired(&table, benchmark, now()).await?;
    }
    let is_due = |round: &Round| has_closed(round, request.early) || round.retired(now()).is_some();
    let rounds = challenge.rounds.iter();
    let due: Vec<&Round> = rounds.filter(|round| is_asked(round) && is_due(round)).collect();
    if due.is_empty() {
        return Ok(done);
    }
    let began = SystemTime::now();
    let left = context.deadline().duration_since(began).unwrap_or_default();
    let until = began + (left / 2).min(LONGEST);
    let clients = resources.clients().await;
    let finishing = Finishing {
        challenge: &challenge,
        table: &table,
        results: &resources.results().await,
        signer: &resources.signer().await,
        submissions: &|name| Box::new(S3Bucket::new(clients.s3.clone(), name)) as Box<dyn Bucket>,
        goes_on: &|| SystemTime::now() < until,
        early: request.early,
    };
    let mut boards = table.boards(benchmark).await?;
    boards.sort_by_key(Board::is_post_round); // final boards come first, should the time not do for all
    for board in boards {
        let Some(round) = due.iter().find(|round| board.is_of_round(&round.id)) else {
            continue;
        };
        match Box::pin(finishing.one(&board, round, evaluator)).await {
            Ok(finished) => done.boards.push((board, finished)),
            Err(error) => {
                tracing::error!(?board, %error, "can't be finished now");
                done.failed = done.failed.or(Some(error));
                if let Err(error) = mark_both(&board, round, &table).await {
                    tracing::warn!(?board, %error, "can't be marked to be compared");
                }
            }
        }
    }
    let is_left = |(_, finished): &(Board, Finished)| !finished.is_complete;
    let has_gone_on = |(_, finished): &(Board, Finished)| finished.n_done() > 0;
    // if nothing could be done, something else has to happen first; a failed call is repeated
    // anyway
    if done.failed.is_none()
        && done.boards.iter().any(is_left)
        && done.boards.iter().any(has_gone_on)
        && let Err(error) = table.mark_to_go_on(benchmark, now()).await
    {
        tracing::warn!(benchmark, %error, "it goes on at the next quarter of an hour");
    }
    Ok(done)
}

/// Marks a board, and that of its final data set, for comparison: their rows may have changed
/// before a failure.
async fn mark_both(board: &Board, round: &Round, table: &Table) -> Result<(), PortError> {
    table.mark_to_compare(board).await?;
    let last = board.of_final();
    if round.final_dataset.is_some() && table.run(&last).await?.is_some() {
        table.mark_to_compare(&last).await?;
    }
    Ok(())
}

fn has_closed(round: &Round, early: bool) -> bool {
    round
        .closes
        .is_some_and(|closes| is_over(closes, due_time(now(), early)))
}

/// The resources for finishing boards.
struct Finishing<'a> {
    challenge: &'a Challenge,
    table: &'a Table,
    results: &'a S3Bucket,
    signer: &'a dyn Signer,
    submissions: &'a dyn Fn(&str) -> Box<dyn Bucket>,
    goes_on: &'a dyn Fn() -> bool,
    early: bool,
}

impl Finishing<'_> {
    /// Does what is due on one board.
    async fn one<E: Evaluator>(
        &self,
        board: &Board,
        round: &Round,
        evaluator: &E,
    ) -> Result<Finished, WorkflowError> {
        let Self {
            challenge,
            table,
            results,
            signer,
            submissions,
            goes_on,
            early,
        } = *self;
        let mut finished = Finished::default();
        if board.is_post_round() {
            let released = self.release(board, evaluator.hosted()).await?;
            return Ok(Finished {
                n_released: released.n_written,
                n_lifted: released.n_lifted,
                is_complete: released.is_complete,
                ..finished
            });
        }
        if round.retired(now()).is_some() {
            let retirement = Retirement {
                board: board.clone(),
                round,
                with: Rescorer {
                    challenge: Some(challenge),
                    submissions,
                    table,
                    results,
                    signer,
                    now: &now,
                },
                goes_on,
            };
            let Retired {
                n_rescored,
                is_complete,
            } = Box::pin(retirement.run(evaluator)).await?;
            finished = Finished {
                n_rescored,
                is_complete,
                ..finished
            };
        }
        // retirement comes first: the final board starts from scores with the successor data set
        let is_retired = round.retired(now()).is_none() || finished.is_complete;
        if is_retired && challenge.is_due(round, due_time(now(), early)) {
            let finish = Finish {
                board: board.clone(),
                challenge,
                submissions,
                table,
                results,
                signer,
                now: &now,
                goes_on,
                early,
            };
            finished = Finished {
                n_rescored: finished.n_rescored,
                ..Box::pin(finish.run(evaluator)).await?
            };
        }
        if is_retired && has_closed(round, false) {
            let released = self.release(board, evaluator.hosted()).await?;
            finished = Finished {
                n_released: released.n_written,
                n_lifted: finished.n_lifted + released.n_lifted,
                is_complete: released.is_complete && (finished.is_complete || !round.has_work()),
                ..finished
            };
            mark_to_pair(board, round, &finished, challenge, table, results).await?;
        }
        Ok(finished)
    }

    /// Projects the rows of a board from its facts, and marks it to be compared.
    async fn follow(&self, board: &Board, hosted: &Descriptor) -> Result<(), PortError> {
        let rules = Rules::new(hosted, Some(self.challenge), board, None, now());
        self.table.project_often(board, &rules).await?;
        self.table.mark_to_compare(board).await.map(drop)
    }

    /// Writes the whole receipts of a board, as far as they may be shown by now.
    async fn release(
        &self,
        board: &Board,
        hosted: &Descriptor,
    ) -> Result<receipt_release::Done, WorkflowError> {
        let release = Release {
            board: board.clone(),
            hosted,
            challenge: self.challenge,
            table: self.table,
            results: self.results,
            signer: self.signer,
            now: &now,
            goes_on: self.goes_on,
        };
        let released = release.run().await;
        // a release that failed may have lifted something before
        let followed = match released.as_ref().map(|released| released.n_lifted) {
            Ok(0) => Ok(()),
            Ok(_) | Err(_) => self.follow(board, hosted).await,
        };
        let released = released?;
        followed?;
        Ok(released)
    }
}

/// Marks the boards of a finished round to be compared where their paired differences are missing. A board that has changed just now is compared
/// anyway.
async fn mark_to_pair(
    board: &Board,
    round: &Round,
    finished: &Finished,
    challenge: &Challenge,
    table: &Table,
    results: &S3Bucket,
) -> Result<(), WorkflowError> {
    if !finished.is_complete {
        return Ok(());
    }
    if finished.n_lifted + finished.n_rescored == 0 {
        mark_without_pairs(board, challenge, table, results).await?;
    }
    if finished.n_scored == 0 && round.final_dataset.is_some() {
        mark_without_pairs(&board.of_final(), challenge, table, results).await?;
    }
    Ok(())
}
