//! The page of leaderboards: its files, which are part of this program, and beside them the read API.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::{any_service, get};

/// What the page may load and where it may stand: its own files, and nowhere. infra/page.yaml says the same to `CloudFront`.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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
    "announcements.js" "text/javascript; charset=utf-8",
    "app.js" "text/javascript; charset=utf-8",
    "api.js" "text/javascript; charset=utf-8",
    "board.js" "text/javascript; charset=utf-8",
    "charts.js" "text/javascript; charset=utf-8",
    "dom.js" "text/javascript; charset=utf-8",
    "home.js" "text/javascript; charset=utf-8",
    "markdown.js" "text/javascript; charset=utf-8",
    "organizer.js" "text/javascript; charset=utf-8",
    "submission.js" "text/javascript; charset=utf-8",
    "submitter.js" "text/javascript; charset=utf-8",
    "token.js" "text/javascript; charset=utf-8",
    "vendor/uPlot.min.css" "text/css; charset=utf-8",
    "vendor/uPlot.iife.min.js" "text/javascript; charset=utf-8",
    "vendor/LICENSE-uPlot" "text/plain; charset=utf-8",
}

/// Where commands learn the ports of a cloud on one machine.
pub(crate) const CLOUD: &str = "/cloud.json";

/// The page at `/`, `api`, the function that answers its questions, and the cloud's `addresses`.
pub(crate) fn router(api: Router, addresses: serde_json::Value) -> Router {
    let mut router = Router::new()
        .route(CLOUD, get(async move || axum::Json(addresses)))
        .route("/", get(async || answer(&FILES[0])))
        .route("/api/{*path}", any_service(api.clone()))
        .route("/openapi.json", any_service(api));
    for file in FILES {
        router = router.route(file.path, get(async || answer(file)));
    }
    router
}

fn answer(file: &'static File) -> impl IntoResponse {
    let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
    let headers = [
        fixed(header::CONTENT_TYPE, file.content_type),
        fixed(header::CACHE_CONTROL, "no-cache"),
        fixed(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        fixed(header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, file.bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn collect(root: &Path, directory: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, found);
            } else {
                found.insert(format!("/{}", path.strip_prefix(root).unwrap().display()));
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page");
        let mut found = BTreeSet::new();
        collect(&root, &root, &mut found);
        let served: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(served, found);
    }

    #[test]
    fn cloudfront_says_the_same_of_what_the_page_may_load() {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/page.yaml");
        let template = std::fs::read_to_string(template).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&template).contains(&words(CONTENT_SECURITY_POLICY)));
    }
}
