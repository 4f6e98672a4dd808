//! A submission's receipt, its artifact, and the images made for it: its submitter's and the organizer's.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::benchmark::PictureForm;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::submission::Submission;
use dataperf::{LineOutcome, Receipt};

use super::find_submission;
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{NoQuery, Strict};
use crate::routes::rounds::artifacts_are_public;
use dataperf_http::Problem;

/// The most bytes that fit in base64 into a function's answer of six megabytes.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
const MAX_IMAGE_BYTES: u64 = MAX_ANSWER_BYTES;
/// The largest receipt that is read, in bytes: a larger one is shown as the table has it.
const MAX_RECEIPT_BYTES: u64 = 4 << 20;

/// Whether a stored receipt says the same as the table's, and is signed. The form's version is that of whoever wrote it.
fn is_same(stored: &Receipt, receipt: &Receipt) -> bool {
    let bare = Receipt {
        schema: receipt.schema,
        ..stored.unsigned()
    };
    stored.signature.is_some() && bare == *receipt
}

fn ended(submission: Submission) -> Result<Receipt, Problem> {
    submission.receipt.ok_or_else(|| {
        let detail = "the submission is still being evaluated: ask again in some seconds";
        Problem::not_found("unfinished", "submission", detail)
    })
}

/// The receipt, the document that `dataperf verify` checks. Its submitter's and the organizer's, for the submitter with as
/// much as the round shows. It is the signed one of the results bucket where that shows as much as the caller may see.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/receipt", operation_id = "receipt",
    responses((status = 200, description = "The receipt, as docs/wire-formats.md describes it", body = Object)),
    security(("token" = []))
)]
pub(crate) async fn receipt(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = find_submission(&app, &benchmark, &id).await?;
    caller.must_act_for(&submission.submitter, "a receipt")?;
    let receipt = ended(submission)?;
    let shown = catalogue::shown(&app, &caller, &receipt).await?;
    let receipt = receipt.shown(shown, catalogue::benchmark(&benchmark)?);
    let (results, key) = (app.results().await, receipt.object_key());
    let Got::Object(object) = results.get(&key, None, MAX_RECEIPT_BYTES).await? else {
        return Ok(wishes.json(&caller, &receipt));
    };
    let signed = serde_json::from_slice(&object.bytes)
        .ok()
        .filter(|stored| is_same(stored, &receipt));
    Ok(wishes.json(&caller, &signed.unwrap_or(receipt)))
}

/// The file that was uploaded. Its submitter's and the organizer's, and everybody's where the round says so and it has a score.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/artifact", operation_id = "artifact",
    responses((status = 200, description = "The file, byte for byte", content_type = "application/octet-stream")),
)]
pub(crate) async fn artifact(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = find_submission(&app, &benchmark, &id).await?;
    let entry = submission.entry();
    let is_public = entry.is_shown() && {
        let challenge = catalogue::challenge(&app, &benchmark).await?;
        artifacts_are_public(challenge.as_ref(), &entry.board.round)
            && caller.sees(&entry, challenge.as_ref())
    };
    if !is_public {
        caller.must_act_for(&entry.submitter, "an artifact")?;
    }
    let receipt = ended(submission)?;
    let max_bytes = catalogue::benchmark(&benchmark)?
        .max_artifact_bytes
        .min(MAX_ANSWER_BYTES);
    let bucket = app.bucket(&receipt.bucket).await;
    let got = bucket.get(&receipt.key, receipt.version.as_deref(), max_bytes);
    let got = match got.await {
        Err(PortError::Unreadable { why, .. }) => {
            return Err(Problem::not_found(why.code(), "submission", why.description()));
        }
        got => got?,
    };
    match got {
        Got::Object(object) => Ok(wishes.attachment(&caller, object.bytes.to_vec())),
        Got::TooLarge { n_bytes } => {
            let detail = format!(
                "the file has {n_bytes} bytes, and the API returns at most {max_bytes}: get it from S3"
            );
            Err(Problem::not_found("too_large", "submission", detail))
        }
        Got::Missing => {
            let detail = "somebody deleted the file after the upload";
            Err(Problem::not_found("deleted", "submission", detail))
        }
    }
}

/// An image that was made for a request. Its submitter's and the organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/images/{image}", operation_id = "image",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id"),
        ("submission" = String, Path, description = "The submission's id", pattern = "^[0-9a-f]{32}$"),
        ("image" = String, Path, description = "The image's id, as the receipt's lines have it"),
    ),
    responses((status = 200, description = "The image", content_type = "image/png")),
    security(("token" = []))
)]
pub(crate) async fn image(
    State(app): State<App>,
    Path((benchmark, id, image)): Path<(String, String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = find_submission(&app, &benchmark, &id).await?;
    caller.must_act_for(&submission.submitter, "an image")?;
    let receipt = ended(submission)?;
    let missing = |detail: &str| Problem::not_found("unknown_image", "image", detail);
    // Only what the receipt names: an id never becomes a key by itself.
    let of_line = |line: &LineOutcome| line.details.get("images")?.as_array().cloned();
    let listed = receipt.verdict.lines.iter().filter_map(of_line).flatten();
    let key = listed
        .filter(|listed| listed["id"] == image.as_str())
        .find_map(|listed| Some(listed["key"].as_str()?.to_owned()))
        .ok_or_else(|| missing("the receipt has no such image: use an id of its lines"))?;
    match app.results().await.get(&key, None, MAX_IMAGE_BYTES).await? {
        Got::Object(object) => Ok(wishes.picture(&caller, PictureForm::Png, object.bytes.to_vec())),
        Got::TooLarge { n_bytes } => Err(missing(&format!(
            "the image has {n_bytes} bytes, too many for the API: get it from S3"
        ))),
        Got::Missing => Err(missing("somebody deleted the image")),
    }
}
