//! Browsers' forms. `s3s` holds a form in memory before it checks who sends it, signed or not. So this module limits what a form may have and how
//! many forms are read at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::service::Service;
use s3s::config::S3Config;
use s3s::service::S3Service;
use s3s::{Body, HttpError, HttpResponse};
use tokio::sync::Semaphore;

/// The largest file, in bytes, that a browser's form may send.
pub const MAX_FORM_FILE_BYTES: u64 = 32 << 20;
/// The maximum bytes of a form besides its file: its fields, and their separators.
const MAX_FIELDS_BYTES: usize = 1 << 20;
/// The most parts that a form may have; those that are signed here have fewer than ten.
const MAX_PARTS: usize = 32;
/// The most forms that are read at once; of the others nothing is read until there is room.
const MAX_AT_ONCE: usize = 8;
/// The time limit for receiving a form before it is refused to make room for the next: the validity
/// of the page's forms.
const PATIENCE: Duration = Duration::from_mins(5);

/// Bounds what `s3s` takes of a form.
pub(super) fn bound(config: &mut S3Config) {
    config.post_object_max_file_size = MAX_FORM_FILE_BYTES;
    config.form_max_fields_size = MAX_FIELDS_BYTES;
    config.form_max_field_size = MAX_FIELDS_BYTES;
    config.form_max_parts = MAX_PARTS;
}

/// S3 with a bound on the forms that are read at once. Clones share it.
#[derive(Clone)]
pub(crate) struct Forms {
    service: S3Service,
    room: Arc<Semaphore>,
}

impl Forms {
    pub(super) fn new(service: S3Service) -> Self {
        Self {
            service,
            room: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }
}

impl Service<Request<Incoming>> for Forms {
    type Response = HttpResponse;
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (service, room) = (self.service.clone(), Arc::clone(&self.room));
        let is_form = is_form(&request);
        let n_bytes = request.body().size_hint().exact();
        let request = request.map(Body::from);
        if !is_form {
            return Box::pin(async move { service.call(request).await });
        }
        if let Some(refusal) = refusal(n_bytes) {
            return Box::pin(std::future::ready(Ok(refusal)));
        }
        Box::pin(async move {
            // held until the answer, and never closed
            let _room = room.acquire().await;
            let answer = tokio::time::timeout(PATIENCE, service.call(request)).await;
            answer.unwrap_or_else(|_| {
                let message = "the form did not come in time";
                Ok(error(StatusCode::BAD_REQUEST, "RequestTimeout", message))
            })
        })
    }
}

/// Whether `s3s` may take a request for a form.
fn is_form<B>(request: &Request<B>) -> bool {
    let is_multipart = |value: &HeaderValue| {
        let start = value.as_bytes().get(..b"multipart/".len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(b"multipart/"))
    };
    let mut types = request.headers().get_all(CONTENT_TYPE).iter();
    request.method() == Method::POST && types.any(is_multipart)
}

/// Refuses a form without a length, whose bytes could come one by one and take tens of bytes in memory each, or with too large a length.
fn refusal(n_bytes: Option<u64>) -> Option<HttpResponse> {
    let most = MAX_FORM_FILE_BYTES + MAX_FIELDS_BYTES as u64;
    let Some(n_bytes) = n_bytes else {
        let message = "a form says its length: send `Content-Length`";
        return Some(error(
            StatusCode::LENGTH_REQUIRED,
            "MissingContentLength",
            message,
        ));
    };
    let message = format!("the form has {n_bytes} bytes, and the limit is {most}: send a smaller file");
    (n_bytes > most).then(|| error(StatusCode::BAD_REQUEST, "EntityTooLarge", &message))
}

/// An error as S3 writes it.
fn error(status: StatusCode, code: &str, message: &str) -> HttpResponse {
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    let mut response = HttpResponse::new(Body::from(xml));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("application/xml");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_possible_s3_form_is_recognized() {
        let is_form = |method: Method, types: &[&str]| {
            let mut request = Request::builder().method(method);
            for content_type in types {
                request = request.header(CONTENT_TYPE, *content_type);
            }
            is_form(&request.body(()).unwrap())
        };
        let forms: [&[&str]; 3] = [
            &["multipart/form-data; boundary=edge"],
            &["Multipart/Form-Data;boundary=edge"],
            &["text/plain", "multipart/form-data; boundary=edge"],
        ];
        for types in forms {
            assert!(is_form(Method::POST, types), "{types:?}");
            assert!(!is_form(Method::PUT, types), "{types:?}");
        }
        let others: [&[&str]; 3] = [&[], &["application/xml"], &["multipart"]];
        for types in others {
            assert!(!is_form(Method::POST, types), "{types:?}");
        }
    }

    #[test]
    fn a_form_says_its_length_which_is_bounded() {
        let most = MAX_FORM_FILE_BYTES + MAX_FIELDS_BYTES as u64;
        let status = |n_bytes| refusal(n_bytes).map(|refusal| refusal.status().as_u16());
        assert_eq!(status(None), Some(411));
        assert_eq!(status(Some(most + 1)), Some(400));
        assert_eq!(status(Some(most)), None);
    }
}
