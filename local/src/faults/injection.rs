//! Answers as a service in trouble gives them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::faults::exposure::Service;
use crate::faults::storm::Injection;

/// How late a slow answer comes.
const SLOW: Duration = Duration::from_millis(30);

/// An answer that can be replaced by an error, or cut off.
pub(crate) trait Replaceable: Sized {
    /// An answer of the given status and text.
    fn error(status: StatusCode, content_type: &'static str, text: String) -> Self;
    /// The same head, and half of the body.
    fn cut(self) -> impl Future<Output = Self> + Send;
}

/// The answer with the injected fault; `answer` has its effect only when it is awaited.
pub(crate) async fn inject<R: Replaceable, E>(
    injection: Injection,
    kind: Service,
    answer: impl Future<Output = Result<R, E>>,
) -> Result<R, E> {
    Ok(match injection {
        Injection::KillBefore | Injection::KillAfter => answer.await?,
        Injection::Refuse => refusal(kind),
        Injection::Skew => s3_error(StatusCode::FORBIDDEN, "RequestTimeTooSkewed"),
        Injection::Fail => failure(kind),
        Injection::LoseAnswer => {
            answer.await?;
            failure(kind)
        }
        Injection::Slow => {
            tokio::time::sleep(SLOW).await;
            answer.await?
        }
        Injection::Cut => answer.await?.cut().await,
    })
}

fn refusal<R: Replaceable>(kind: Service) -> R {
    match kind {
        Service::S3 => s3_error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown"),
        Service::Table => table_error(StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException"),
        Service::Lambda => failure(kind),
    }
}

fn failure<R: Replaceable>(kind: Service) -> R {
    match kind {
        Service::S3 => s3_error(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        Service::Table | Service::Lambda => {
            table_error(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError")
        }
    }
}

fn s3_error<R: Replaceable>(status: StatusCode, code: &str) -> R {
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code><Message>a storm in the local cloud</Message></Error>"
    );
    R::error(status, "application/xml", xml)
}

fn table_error<R: Replaceable>(status: StatusCode, code: &str) -> R {
    let json = format!(
        r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"a storm in the local cloud"}}"#
    );
    R::error(status, "application/x-amz-json-1.0", json)
}

/// The first half of a body that promised to be whole.
struct Half {
    first: Option<Bytes>,
    promised: u64,
}

impl Body for Half {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(match self.first.take() {
            Some(first) => Ok(Frame::data(first)),
            None => Err(std::io::ErrorKind::ConnectionReset.into()),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.promised)
    }
}

async fn half<B>(body: B) -> Half
where
    B: Body<Data = Bytes>,
{
    let whole = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    Half {
        promised: whole.len() as u64,
        first: Some(whole.slice(..whole.len() / 2)),
    }
}

macro_rules! replaceable {
    ($body:ty, $wrap:expr) => {
        impl Replaceable for Response<$body> {
            fn error(status: StatusCode, content_type: &'static str, text: String) -> Self {
                let mut response = Response::new(<$body>::from(text));
                *response.status_mut() = status;
                let content_type = http::HeaderValue::from_static(content_type);
                response
                    .headers_mut()
                    .insert(http::header::CONTENT_TYPE, content_type);
                response
            }

            async fn cut(self) -> Self {
                let (head, body) = self.into_parts();
                Response::from_parts(head, $wrap(half(body).await))
            }
        }
    };
}
replaceable!(s3s::Body, s3s::Body::http_body);
replaceable!(axum::body::Body, axum::body::Body::new);
