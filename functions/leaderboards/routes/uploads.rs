//! Describes the requests and answers of the function that signs forms, so that one document has
//! all. That function answers them.

use dataperf_http::{UploadAnswer, UploadRequest};

/// A form with which the file is uploaded straight to the bucket, by its submitter's token: good for one key, one size and five minutes.
/// Nothing is stored or counted by asking. Where files are of several kinds, the kind stands in the leaderboard's place.
#[utoipa::path(
    post, path = "/api/v1/uploads", operation_id = "upload",
    request_body = UploadRequest,
    responses((status = 201, description = "The form", body = UploadAnswer)),
    security(("token" = []))
)]
#[expect(dead_code, reason = "`functions/uploads` answers")]
pub(super) fn upload() {}
