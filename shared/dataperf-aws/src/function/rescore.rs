//! Handles a request to score submissions again.

use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf::evaluation::artifact_judge::Evaluator;
use dataperf::evaluation::rescoring::{Request, Rescored, Rescorer, RunOver};
use dataperf::evaluation::workflow::{Settled, WorkflowError};
use dataperf::ports::bucket::Bucket;
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{SubmissionId, Upload};

use crate::S3Bucket;
use crate::function::resources::Resources;
use crate::runtime::now;

/// Scores the submissions of a request again, and says of which board how many have a new verdict; `None` when the upload is no request.
pub(crate) async fn rescore<E: Evaluator>(
    evaluator: &E,
    resources: &Resources,
    upload: &Upload,
    request_id: &str,
) -> Result<Option<(Option<Board>, usize)>, WorkflowError> {
    let benchmark = evaluator.hosted().id;
    if !Request::is_one(benchmark, upload) {
        return Ok(None);
    }
    let s3 = resources.clients().await.s3.clone();
    let Some(request) = Request::read(&S3Bucket::new(s3, &upload.bucket), upload).await? else {
        tracing::warn!(
            request_id,
            key = upload.key,
            outcome = "ignored",
            "no request to score again"
        );
        return Ok(Some((None, 0)));
    };
    let n_recorded = go_through(evaluator, resources, &request, request_id).await?;
    Ok(Some((Some(request.board(benchmark)), n_recorded)))
}

/// Goes on with the run over a board that waits for what the program of a submission has written, if one does.
pub(crate) async fn go_on<E: Evaluator>(
    evaluator: &E,
    resources: &Resources,
    board: &Board,
    id: &SubmissionId,
    request_id: &str,
) -> Result<usize, WorkflowError> {
    let table = resources.leaderboards().await;
    let Some(run) = table.run(board).await?.filter(|run| run.ended_at.is_none()) else {
        return Ok(0);
    };
    let request = Request {
        leaderboard: board.leaderboard.clone(),
        round: board.round.clone(),
        run: run.id,
        submissions: vec![id.clone()],
    };
    go_through(evaluator, resources, &request, request_id).await
}

/// Scores the submissions of a request again, and returns how many have a new verdict. Programs
/// that have to run first are started, and [`go_on`] continues when they have run.
async fn go_through<E: Evaluator>(
    evaluator: &E,
    resources: &Resources,
    request: &Request,
    request_id: &str,
) -> Result<usize, WorkflowError> {
    let clients = resources.clients().await;
    let (datasets, table) = (resources.datasets().await, resources.leaderboards().await);
    let challenge = Challenge::published(&datasets, evaluator.hosted().id).await?;
    let with = Rescorer {
        challenge: challenge.as_ref(),
        submissions: &|name| Box::new(S3Bucket::new(clients.s3.clone(), name)) as Box<dyn Bucket>,
        table: &table,
        results: &resources.results().await,
        signer: &resources.signer().await,
        now: &now,
    };
    let run = RunOver { request, with };
    let (mut n_recorded, mut failed) = (0, None);
    for id in &request.submissions {
        let work = resources.begin();
        let receipt = match Box::pin(run.rescore(id, evaluator)).await {
            Ok(Rescored::Recorded(receipt)) => receipt,
            Ok(Rescored::Settled) | Err(WorkflowError::GoesOn) => continue,
            Err(error) => {
                failed = failed.or(Some(error)); // it keeps none of the others from being scored
                continue;
            }
        };
        let settled = Settled {
            receipt,
            recorded: true,
        };
        work.report(request_id, &settled);
        n_recorded += 1;
    }
    let Some(error) = failed else {
        return Ok(n_recorded);
    };
    if n_recorded > 0 {
        table
            .mark_to_compare(&request.board(evaluator.hosted().id))
            .await?;
    }
    Err(error)
}
