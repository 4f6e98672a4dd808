//! What a function does with a request to score submissions again.

use dataperf::Upload;
use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::Challenge;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::leaderboard::Board;
use dataperf::rescoring::{Pass, Request, Rescored, Rescorer};
use dataperf::workflow::{Settled, WorkflowError};

use crate::S3Bucket;
use crate::resources::Resources;
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
    let clients = resources.clients().await;
    let bucket = |name: &str| S3Bucket::new(clients.s3.clone(), name);
    let Some(request) = Request::read(&bucket(&upload.bucket), upload).await? else {
        tracing::warn!(
            request_id,
            key = upload.key,
            outcome = "ignored",
            "no request to score again"
        );
        return Ok(Some((None, 0)));
    };
    let (datasets, table) = (resources.datasets().await, resources.leaderboards().await);
    let challenge = Challenge::current(&datasets, &table, benchmark).await?;
    let with = Rescorer {
        challenge: challenge.as_ref(),
        submissions: &|name| Box::new(bucket(name)) as Box<dyn Bucket>,
        table: &table,
        results: &resources.results().await,
        signer: &resources.signer().await,
        now: &now,
    };
    let pass = Pass {
        request: &request,
        with,
    };
    let mut n_recorded = 0;
    for id in &request.submissions {
        let work = resources.begin();
        if let Rescored::Recorded(receipt) = Box::pin(pass.rescore(id, evaluator)).await? {
            let settled = Settled {
                receipt,
                recorded: true,
            };
            work.report(request_id, &settled);
            n_recorded += 1;
        }
    }
    Ok(Some((Some(request.board(benchmark)), n_recorded)))
}
