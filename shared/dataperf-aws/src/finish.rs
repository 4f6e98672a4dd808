//! What a function does when a round has closed.

use std::time::{Duration, SystemTime};

use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::{Challenge, Round};
use dataperf::finishing::{Finish, FinishRequest, Finished};
use dataperf::ports::bucket::Bucket;
use dataperf::ports::leaderboard::{Board, Leaderboards};
use dataperf::workflow::WorkflowError;
use lambda_runtime::Context;

use crate::S3Bucket;
use crate::resources::Resources;
use crate::runtime::now;

/// Nothing is begun later than so long after the beginning: an evaluation takes a part of a run, and the next request goes on.
const LONGEST: Duration = Duration::from_mins(4);

/// Finishes the boards of a benchmark's rounds that are due, as far as there is time: half of the run's.
pub(crate) async fn finish<E: Evaluator>(
    evaluator: &E,
    resources: &Resources,
    request: &FinishRequest,
    context: &Context,
) -> Result<Vec<(Board, Finished)>, WorkflowError> {
    let benchmark = evaluator.hosted().id;
    let mut all = Vec::new();
    let Some(challenge) = Challenge::published(&resources.datasets().await, benchmark).await? else {
        return Ok(all);
    };
    let is_asked = |round: &Round| request.round.as_ref().is_none_or(|asked| *asked == round.id);
    let rounds = challenge.rounds.iter();
    let due: Vec<&Round> = rounds
        .filter(|round| is_asked(round) && challenge.is_due(round, now()))
        .collect();
    if due.is_empty() {
        return Ok(all);
    }
    let began = SystemTime::now();
    let left = context.deadline().duration_since(began).unwrap_or_default();
    let until = began + (left / 2).min(LONGEST);
    let clients = resources.clients().await;
    let (table, results) = (resources.leaderboards().await, resources.results().await);
    let signer = resources.signer().await;
    for board in table.boards(benchmark).await? {
        if !due.iter().any(|round| round.id == board.round) {
            continue;
        }
        let finish = Finish {
            board: board.clone(),
            challenge: &challenge,
            submissions: &|name| Box::new(S3Bucket::new(clients.s3.clone(), name)) as Box<dyn Bucket>,
            table: &table,
            results: &results,
            signer: &signer,
            now: &now,
            goes_on: &|| SystemTime::now() < until,
        };
        all.push((board, Box::pin(finish.run(evaluator)).await?));
    }
    Ok(all)
}
