//! The shared parts of the functions behind HTTP: problems as answers, tokens, and the address of S3 on one machine.

mod problem;
mod token;
mod upload;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

pub use problem::Problem;
pub use token::token;
pub use upload::{Field, UploadAnswer, UploadRequest};

/// The address of S3 on one machine, which listens at `endpoint`, with the host name of the
/// request. A browser or another machine reaches S3 by that name too.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue};
/// let asked = HeaderMap::from_iter([(axum::http::header::HOST, HeaderValue::from_static("box:8080"))]);
/// assert_eq!(dataperf_http::s3_as_reached("http://127.0.0.1:9000", &asked), "http://box:9000");
/// ```
pub fn s3_as_reached(endpoint: &str, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host: Option<Authority> = host.and_then(|host| host.parse().ok());
    let port = endpoint.parse::<Uri>().ok().and_then(|uri| uri.port_u16());
    match (host, port) {
        (Some(host), Some(port)) => format!("http://{}:{port}", host.host()),
        _ => endpoint.to_owned(),
    }
}
