//! Errors as `application/problem+json` (RFC 9457): what, where, and what to do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dataperf::Timestamp;
use dataperf::challenge::ChallengeError;
use dataperf::dataset::DatasetError;
use dataperf::ports::PortError;
use dataperf_aws::PageError;
use serde::Serialize;
use utoipa::ToSchema;

/// An error with its place and remedy.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// A stable name for the kind of problem.
    #[schema(example = "unknown_leaderboard")]
    code: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The kind of problem in words.
    title: &'static str,
    /// What happened, and what to do about it.
    detail: String,
    /// The part of the request that it is about, such as `limit`.
    at: String,
}

impl Problem {
    /// What happened, and what to do about it.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        at: &str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            code,
            status: status.as_u16(),
            title,
            detail: detail.into(),
            at: at.to_owned(),
        }
    }

    /// The problem of a request that can't be understood.
    pub fn bad_request(at: &str, detail: impl Into<String>) -> Self {
        let title = "the request is not valid";
        Self::new(StatusCode::BAD_REQUEST, "bad_request", title, at, detail)
    }

    /// The problem of a cursor that belongs to another list.
    pub fn bad_cursor(detail: impl Into<String>) -> Self {
        let title = "the cursor does not belong to this list";
        Self::new(StatusCode::NOT_FOUND, "unknown_cursor", title, "cursor", detail)
    }

    /// The problem of a request without a token that needs one.
    pub fn no_token(detail: impl Into<String>) -> Self {
        let title = "this needs a token";
        Self::new(
            StatusCode::UNAUTHORIZED,
            "token_needed",
            title,
            "Authorization",
            detail,
        )
    }

    /// The problem of a token that was never issued, or was revoked.
    pub fn bad_token() -> Self {
        let detail = "the platform does not know this token: send `Authorization: Bearer TOKEN` with a token of \
            `dataperf token create`, or no `Authorization` for public data";
        Self::new(
            StatusCode::UNAUTHORIZED,
            "bad_token",
            "the token is not valid",
            "Authorization",
            detail,
        )
    }

    /// The problem of a token that has expired.
    pub fn expired_token(expired_at: Timestamp) -> Self {
        let detail = format!(
            "the token expired at {expired_at}: ask the organizer for another (`dataperf token create`)"
        );
        Self::new(
            StatusCode::UNAUTHORIZED,
            "expired_token",
            "the token has expired",
            "Authorization",
            detail,
        )
    }

    /// The problem of a token without the permission for the request.
    pub fn not_yours(detail: impl Into<String>) -> Self {
        let title = "this token may not do that";
        Self::new(StatusCode::FORBIDDEN, "not_yours", title, "Authorization", detail)
    }

    /// The problem of something that does not exist.
    pub fn not_found(code: &'static str, at: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, "not found", at, detail)
    }

    /// The problem of a fault of the service itself.
    pub fn fault(detail: &str) -> Self {
        let title = "a fault of the service";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "fault", title, "", detail)
    }

    /// The problem of a request with the wrong HTTP method.
    pub fn method(detail: &str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "wrong method",
            "",
            detail,
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"dataperf\""),
            );
        }
        response
    }
}

/// Faults of the service itself: the log has their causes, and the answer does not name buckets or tables.
impl From<PortError> for Problem {
    fn from(error: PortError) -> Self {
        tracing::error!(error = %causes(&error), "the table or a bucket did not answer");
        if error.is_transient() {
            let detail = "the table or a bucket did not answer in time: retry in some seconds";
            let title = "temporarily unavailable";
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", title, "", detail)
        } else {
            let detail = "the table or a bucket refused: the organizer finds the cause in the function's log";
            Self::fault(detail)
        }
    }
}

impl From<PageError> for Problem {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Cursor => Self::bad_cursor(error.to_string()),
            PageError::Port(error) => error.into(),
        }
    }
}

impl From<ChallengeError> for Problem {
    fn from(error: ChallengeError) -> Self {
        match error {
            ChallengeError::Port(error) => error.into(),
            ChallengeError::Malformed { .. } | ChallengeError::Gone { .. } => {
                tracing::error!(%error, "the challenge can't be read");
                let title = "a fault of the service";
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "challenge",
                    title,
                    "",
                    error.to_string(),
                )
            }
        }
    }
}

impl From<DatasetError> for Problem {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::Port(error) => error.into(),
            DatasetError::Frozen(error) => {
                tracing::error!(%error, "the data set can't be described");
                let detail = format!("{error}: tell the organizer, who has to fix the data set");
                let title = "a fault of the service";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "dataset", title, "", detail)
            }
        }
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}
