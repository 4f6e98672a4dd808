//! A submission's receipt and its artifact: its submitter's and the organizer's.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::Receipt;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::leaderboard::Submission;

use super::rounds::artifacts_are_public;
use super::submission::found;
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::problem::Problem;
use crate::query::{NoQuery, Strict};

fn ended(submission: Submission) -> Result<Receipt, Problem> {
    submission.receipt.ok_or_else(|| {
        let detail = "the submission is still being evaluated: ask again in some seconds";
        Problem::not_found("unfinished", "submission", detail)
    })
}

/// The receipt, the document that `dataperf verify` recomputes. Its submitter's and the organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/receipt", operation_id = "receipt",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection"),
        ("submission" = String, Path, description = "The submission's id", pattern = "^[0-9a-f]{32}$"),
    ),
    responses(
        (status = 200, description = "The receipt, as docs/wire-formats.md describes it", body = Object),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = []))
)]
pub(super) async fn receipt(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = found(&app, &benchmark, &id).await?;
    caller.must_act_for(&submission.submitter, "a receipt")?;
    let receipt = ended(submission)?;
    Ok(wishes.json(&caller, &receipt))
}

/// The file that was uploaded. Its submitter's and the organizer's, and everybody's where the round says so and it has a score.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/artifact", operation_id = "artifact",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection"),
        ("submission" = String, Path, description = "The submission's id", pattern = "^[0-9a-f]{32}$"),
    ),
    responses(
        (status = 200, description = "The file, byte for byte", content_type = "application/octet-stream"),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = []))
)]
pub(super) async fn artifact(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = found(&app, &benchmark, &id).await?;
    let entry = submission.entry();
    let is_public = entry.is_on_board() && {
        let challenge = catalogue::challenge(&app, &benchmark).await?;
        artifacts_are_public(challenge.as_ref(), &entry.board.round)
    };
    if !is_public {
        caller.must_act_for(&entry.submitter, "an artifact")?;
    }
    let receipt = ended(submission)?;
    let max_bytes = catalogue::benchmark(&benchmark)?.max_artifact_bytes;
    let bucket = app.bucket(&receipt.bucket).await;
    match bucket
        .get(&receipt.key, receipt.version.as_deref(), max_bytes)
        .await?
    {
        Got::Object(object) => Ok(wishes.attachment(&caller, object.bytes.to_vec())),
        Got::TooLarge { n_bytes } => {
            let detail =
                format!("the file has {n_bytes} bytes, which is why it was refused unread: take it from S3");
            Err(Problem::not_found("too_large", "submission", detail))
        }
        Got::Missing => {
            let detail = "the file has been deleted since it was uploaded";
            Err(Problem::not_found("deleted", "submission", detail))
        }
    }
}
