//! Serves the page of leaderboards: its files are part of this program, and the functions answer
//! its requests.

use std::io::Write;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{any_service, get};

/// The content security policy of the page: it loads only its own files, sends only to itself and to the bucket, and may be embedded nowhere.
/// infra/page.yaml sets the same for `CloudFront`.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self' UPLOADS; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The policy of a board that is embedded in somebody else's page: any page may embed it, and it sends only to itself.
const EMBEDDED_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *";
/// The file of an embedded board, which is at `/embed` too.
const EMBEDDED: &str = "/embed.html";

/// A file of the page.
struct File {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($path:literal $content_type:literal,)*) => {
        /// All files of `page/` that are served; a test compares them with the folder.
        const FILES: &[File] = &[$(File {
            path: concat!("/", $path),
            content_type: $content_type,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../page/", $path)),
        }),*];
    };
}
files! {
    "index.html" "text/html; charset=utf-8",
    "icon.svg" "image/svg+xml",
    "style.css" "text/css; charset=utf-8",
    "across.js" "text/javascript; charset=utf-8",
    "announcements.js" "text/javascript; charset=utf-8",
    "app.js" "text/javascript; charset=utf-8",
    "api.js" "text/javascript; charset=utf-8",
    "archive.js" "text/javascript; charset=utf-8",
    "artifact.js" "text/javascript; charset=utf-8",
    "audit.js" "text/javascript; charset=utf-8",
    "board.js" "text/javascript; charset=utf-8",
    "boards.js" "text/javascript; charset=utf-8",
    "brackets.js" "text/javascript; charset=utf-8",
    "charts.js" "text/javascript; charset=utf-8",
    "compare.js" "text/javascript; charset=utf-8",
    "consent.js" "text/javascript; charset=utf-8",
    "dom.js" "text/javascript; charset=utf-8",
    "drop.js" "text/javascript; charset=utf-8",
    "embed.html" "text/html; charset=utf-8",
    "embed.js" "text/javascript; charset=utf-8",
    "home.js" "text/javascript; charset=utf-8",
    "inspect.js" "text/javascript; charset=utf-8",
    "markdown.js" "text/javascript; charset=utf-8",
    "models.js" "text/javascript; charset=utf-8",
    "organizer.js" "text/javascript; charset=utf-8",
    "places.js" "text/javascript; charset=utf-8",
    "send.js" "text/javascript; charset=utf-8",
    "submission.js" "text/javascript; charset=utf-8",
    "submitter.js" "text/javascript; charset=utf-8",
    "token.js" "text/javascript; charset=utf-8",
    "upload.js" "text/javascript; charset=utf-8",
    "validate.js" "text/javascript; charset=utf-8",
    "write.js" "text/javascript; charset=utf-8",
    "vendor/uPlot.min.css" "text/css; charset=utf-8",
    "vendor/uPlot.iife.min.js" "text/javascript; charset=utf-8",
    "vendor/LICENSE-uPlot" "text/plain; charset=utf-8",
}

/// The function that answers below `/api`.
pub(crate) struct Functions {
    /// The read API.
    pub(crate) reader: Router,
    /// The function that signs forms for uploads.
    pub(crate) uploads: Router,
    /// The addresses of this cloud's parts.
    pub(crate) addresses: serde_json::Value,
}

/// The path at which commands learn the ports of a local cloud.
pub(crate) const CLOUD: &str = "/cloud.json";

/// The page at `/`, and the functions that answer its questions. It uploads to S3, which listens at `s3_endpoint`.
pub(crate) fn router(functions: Functions, s3_endpoint: &str) -> Router {
    let Functions {
        reader,
        uploads,
        addresses,
    } = functions;
    let s3_port = s3_endpoint.parse::<Uri>().ok().and_then(|uri| uri.port_u16());
    let file = |path: &'static str| {
        let file = FILES
            .iter()
            .position(|file| file.path == path)
            .unwrap_or_default();
        get(async move |headers: HeaderMap| answer(file, &headers, s3_port))
    };
    let mut router = Router::new()
        .route(CLOUD, get(async move || axum::Json(addresses)))
        .route("/", file(FILES[0].path))
        .route("/embed", file(EMBEDDED))
        .route("/api/v1/uploads", any_service(uploads))
        .merge(
            Router::new()
                .route("/api/{*path}", any_service(reader.clone()))
                .route("/openapi.json", any_service(reader))
                .layer(axum::middleware::from_fn(compressing)),
        );
    for at in FILES {
        router = router.route(at.path, file(at.path));
    }
    router
}

/// The largest answer that is compressed, as `CloudFront` has it; more than a function answers with.
const MAX_COMPRESSED_BYTES: usize = 10_000_000;

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("gzip"))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default() // writing to memory can't fail
}

/// Compresses JSON and CSV for clients that accept it, as `CloudFront` does.
async fn compressing(request: Request, next: Next) -> Response {
    let accepts = accepts_gzip(request.headers());
    let (mut parts, body) = next.run(request).await.into_parts();
    let media = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|media| media.to_str().ok());
    let is_text = media.is_some_and(|media| media.contains("json") || media.starts_with("text/"));
    if !accepts || !is_text {
        return Response::from_parts(parts, body);
    }
    let Ok(bytes) = axum::body::to_bytes(body, MAX_COMPRESSED_BYTES).await else {
        return axum::http::StatusCode::BAD_GATEWAY.into_response();
    };
    if bytes.is_empty() {
        return Response::from_parts(parts, bytes.into());
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts
        .headers
        .insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(parts, gzip(&bytes).into())
}

/// Each file compressed, as `CloudFront` sends them.
static COMPRESSED: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| FILES.iter().map(|file| gzip(file.bytes)).collect());

/// The origin of S3, with the host name under which the request came.
fn uploads_origin(headers: &HeaderMap, s3_port: Option<u16>) -> Option<String> {
    let host: Authority = headers.get(header::HOST)?.to_str().ok()?.parse().ok()?;
    Some(format!("http://{}:{}", host.host(), s3_port?))
}

fn answer(file: usize, headers: &HeaderMap, s3_port: Option<u16>) -> Response {
    let compressed = &COMPRESSED[file];
    let file = &FILES[file];
    let accepts = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|accepts| accepts.to_str().ok());
    let is_compressed = accepts.is_some_and(|accepts| accepts.contains("gzip")) && !compressed.is_empty();
    let uploads = uploads_origin(headers, s3_port).unwrap_or_default();
    let policy = match file.path {
        EMBEDDED => EMBEDDED_POLICY.to_owned(),
        _ => CONTENT_SECURITY_POLICY.replace("UPLOADS", &uploads),
    };
    let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
    let fixed = [
        fixed(header::CONTENT_TYPE, file.content_type),
        fixed(header::CACHE_CONTROL, "no-cache"),
        fixed(header::VARY, "accept-encoding"),
        fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(header::REFERRER_POLICY, "no-referrer"),
    ];
    let body = if is_compressed {
        compressed.as_slice()
    } else {
        file.bytes
    };
    let mut response = (fixed, body).into_response();
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if is_compressed {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn collect(root: &Path, directory: &Path, files: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, files);
            } else {
                files.insert(format!("/{}", path.strip_prefix(root).unwrap().display()));
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page");
        let mut files = BTreeSet::new();
        collect(&root, &root, &mut files);
        let served: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(served, files);
    }

    #[test]
    fn cloudfront_policy_matches_the_page_policy() {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/page.yaml");
        let template = std::fs::read_to_string(template).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let policy = CONTENT_SECURITY_POLICY.replace("UPLOADS", "https://${UploadsDomain}");
        for policy in [&policy, EMBEDDED_POLICY] {
            assert!(words(&template).contains(&words(policy)), "{policy}");
        }
    }

    #[test]
    fn the_page_may_upload_to_its_own_bucket() {
        let headers =
            |host: &'static str| HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        let origin = |host| uploads_origin(&headers(host), Some(9000)).unwrap();
        assert_eq!(origin("localhost:8080"), "http://localhost:9000");
        assert_eq!(origin("[::1]:8080"), "http://[::1]:9000");
        assert_eq!(uploads_origin(&headers("localhost"), None), None);
    }
}
