//! Decides which requests a port admits, before any body is read: requests under one of the cloud's
//! own names and, from browsers, only those of the page.
//!
//! The organizer's key is public as long as only this machine can reach the ports. So the local
//! cloud has to refuse every request that a browser sends for a page of another origin, signed or
//! not: a form, an image's address, a request by a name that its owner points to this machine (DNS
//! rebinding).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;

/// The content security policy of stored objects and errors: in a browser they may do nothing, and have an origin of their own.
const INERT: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'");
/// The headers of an answer that a page may read, besides the body.
const EXPOSED: HeaderValue = HeaderValue::from_static("etag, x-amz-request-id, x-amz-version-id");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, PUT, POST, DELETE");

/// The paths of the page that other pages may embed: boards without navigation, which send no token.
const EMBEDDED: [&str; 2] = ["/embed", "/embed.html"];

/// The names that a port is reached by.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// `HOST:PORT` in small letters, and `HOST` alone for port 80.
    names: Arc<BTreeSet<String>>,
    /// The port, if the cloud listens on every address of the machine: any IP address with this port is then a host, because only a name can be
    /// made to point here.
    any_address: Option<u16>,
}

impl Hosts {
    /// The machine's own names for itself, the address that is listened on, and the names in `named`, each with or without a port.
    pub(crate) fn new(listens: SocketAddr, named: &[String]) -> Self {
        let port = listens.port();
        let mut hosts = Vec::new();
        // where only another address is listened on, another user may serve `localhost`
        let is_localhost = listens.ip() == Ipv4Addr::LOCALHOST || listens.ip() == Ipv6Addr::LOCALHOST;
        if is_localhost || listens.ip().is_unspecified() {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        if !listens.ip().is_unspecified() {
            hosts.push(written(listens.ip()));
        }
        let mut names = BTreeSet::new();
        for host in hosts.iter().chain(named) {
            let host = host.to_ascii_lowercase();
            if port_of(&host).is_some() {
                names.insert(host);
                continue;
            }
            names.insert(format!("{host}:{port}"));
            if port == 80 {
                names.insert(host);
            }
        }
        Self {
            names: Arc::new(names),
            any_address: listens.ip().is_unspecified().then_some(port),
        }
    }

    fn contains(&self, authority: &str) -> bool {
        let is_address = |port: u16| match authority.parse::<SocketAddr>() {
            Ok(address) => address.port() == port,
            Err(_) => port == 80 && authority.parse::<IpAddr>().is_ok(),
        };
        self.names.contains(&authority.to_ascii_lowercase()) || self.any_address.is_some_and(is_address)
    }

    fn have_origin(&self, origin: &str) -> bool {
        origin
            .strip_prefix("http://")
            .is_some_and(|authority| self.contains(authority))
    }
}

/// An address as URLs write it.
fn written(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The port at the end of `HOST:PORT`; the colons within an IPv6 address in brackets don't begin one.
fn port_of(host: &str) -> Option<u16> {
    let (name, port) = host.rsplit_once(':')?;
    let is_whole = !name.contains(':') || name.ends_with(']');
    is_whole.then(|| port.parse().ok()).flatten()
}

/// Which browsers' requests are let in.
#[derive(Clone, Debug)]
enum Browsers {
    /// None.
    Nobody,
    /// For S3: requests of the page if there is one, its links to signed addresses, and reads of addresses that somebody types in.
    Page(Option<Hosts>),
    /// For the page's own port: requests of the page itself, links to it, and boards that other pages embed.
    Own,
}

/// How a refusal is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Xml,
    Json,
    Text,
}

/// The admission rules of a port. Clones are cheap.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    hosts: Hosts,
    browsers: Browsers,
    form: Form,
}

/// How a request that was let in is answered.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The origin of the page, if the page sent the request from its own port.
    page: Option<HeaderValue>,
    is_inert: bool,
}

impl Admission {
    /// For a service that programs alone use.
    pub(crate) fn programs(hosts: Hosts) -> Self {
        Self {
            hosts,
            browsers: Browsers::Nobody,
            form: Form::Json,
        }
    }

    /// For S3, which the page at `page` may use as well.
    pub(crate) fn s3(hosts: Hosts, page: Option<Hosts>) -> Self {
        Self {
            hosts,
            browsers: Browsers::Page(page),
            form: Form::Xml,
        }
    }

    /// For the page.
    pub(crate) fn page(hosts: Hosts) -> Self {
        Self {
            hosts,
            browsers: Browsers::Own,
            form: Form::Text,
        }
    }

    /// Lets a request in, or answers it.
    pub(crate) fn admit<B>(&self, request: &Request<B>) -> Result<Admitted, Box<Response<Full<Bytes>>>> {
        let page = self.check(request).map_err(|reason| {
            tracing::debug!(reason, uri = %request.uri(), "a request was refused");
            Box::new(self.refusal(&reason))
        })?;
        let admitted = Admitted {
            page,
            is_inert: matches!(self.browsers, Browsers::Page(_)),
        };
        let asks_before = request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if admitted.page.is_some() && request.method() == Method::OPTIONS && asks_before {
            return Err(Box::new(admitted.permission(request.headers())));
        }
        Ok(admitted)
    }

    /// Returns the origin of the page if the page sent the request from another port. An error says
    /// why the request is refused.
    fn check<B>(&self, request: &Request<B>) -> Result<Option<HeaderValue>, String> {
        let headers = request.headers();
        let host = one(headers, &header::HOST)?.ok_or("the request names no host")?;
        // a request to a proxy names it twice
        let named = request.uri().authority().map(http::uri::Authority::as_str);
        if let Some(foreign) = [host]
            .into_iter()
            .chain(named)
            .find(|host| !self.hosts.contains(host))
        {
            let own: Vec<&str> = self.hosts.names.iter().map(String::as_str).collect();
            return Err(format!(
                "`{foreign}` is not one of this cloud's hosts ({}; buckets belong in the path). \
                    `--allow-host` allows another name",
                own.join(", ")
            ));
        }
        let site = one(headers, &HeaderName::from_static("sec-fetch-site"))?;
        if let Some(origin) = one(headers, &header::ORIGIN)? {
            return match &self.browsers {
                Browsers::Page(Some(page)) if page.have_origin(origin) => {
                    Ok(headers.get(header::ORIGIN).cloned())
                }
                Browsers::Own if origin == format!("http://{host}") => Ok(None),
                _ => Err(format!(
                    "pages of `{origin}` may not use this port; programs send no `Origin`"
                )),
            };
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is = |name: &'static str, value: &str| headers.get(name).is_some_and(|given| given == value);
        let is_link = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
        let is_framed = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "iframe");
        let is_embedded = is_framed && EMBEDDED.contains(&request.uri().path());
        let query = request.uri().query().unwrap_or_default();
        let is_let_in = match (&self.browsers, site) {
            (_, None) | (Browsers::Own, Some("none" | "same-origin")) => true,
            (Browsers::Page(_), Some("none")) => is_read,
            // a link of the page to an address that carries its signature: what comes is inert, and only who follows it sees it
            (Browsers::Page(Some(_)), Some("same-site")) => {
                is_read && is_link && query.contains("X-Amz-Signature=")
            }
            (Browsers::Nobody | Browsers::Page(_), Some(_)) => false,
            (Browsers::Own, Some(_)) => is_read && (is_link || is_embedded),
        };
        if is_let_in {
            return Ok(None);
        }
        Err(
            "pages of other origins may not use this port; to open an address, type it into the browser"
                .into(),
        )
    }

    fn refusal(&self, reason: &str) -> Response<Full<Bytes>> {
        let (content_type, body) = match self.form {
            Form::Xml => (
                "application/xml",
                format!(
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>AccessDenied</Code><Message>{}</Message></Error>",
                    reason
                        .replace('&', "&amp;")
                        .replace('<', "&lt;")
                        .replace('>', "&gt;")
                ),
            ),
            Form::Json => (
                "application/json",
                json!({"__type": "AccessDeniedException", "message": reason}).to_string(),
            ),
            Form::Text => ("text/plain; charset=utf-8", format!("{reason}\n")),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = StatusCode::FORBIDDEN;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        headers.insert(header::CONTENT_SECURITY_POLICY, INERT);
        response
    }
}

impl Admitted {
    /// Says in an answer's head what a browser may do with it.
    pub(crate) fn finish(&self, headers: &mut HeaderMap) {
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        for name in [
            header::ACCESS_CONTROL_ALLOW_ORIGIN,
            header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        ] {
            headers.remove(name);
        }
        if self.is_inert {
            headers.insert(header::CONTENT_SECURITY_POLICY, INERT);
        }
        if let Some(page) = &self.page {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page.clone());
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
    }

    /// The answer to a browser that asks whether the page may send a request.
    fn permission(&self, header_map: &HeaderMap) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        self.finish(headers);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        if let Some(names) = header_map.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
        response
    }
}

/// The value of a header that may occur once at most; an error if it occurs twice or is no text.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    match (first.map(HeaderValue::to_str), second) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => Err(format!("the header `{name}` appears twice, or is no text")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts_include_machine_names_with_the_port() {
        let hosts = Hosts::new(
            "127.0.0.1:9000".parse().unwrap(),
            &["Box".into(), "proxy:80".into()],
        );
        for own in [
            "127.0.0.1:9000",
            "LOCALHOST:9000",
            "[::1]:9000",
            "box:9000",
            "proxy:80",
        ] {
            assert!(hosts.contains(own), "{own}");
        }
        for foreign in [
            "localhost",
            "localhost:9001",
            "localhost.:9000",
            "submissions.localhost:9000",
            "192.168.1.6:9000",
            "127.0.0.2:9000",
            "proxy:9000",
            "",
        ] {
            assert!(!hosts.contains(foreign), "{foreign}");
        }
        assert!(Hosts::new("127.0.0.1:80".parse().unwrap(), &[]).contains("localhost"));
    }

    #[test]
    fn wildcard_listening_accepts_numeric_hosts_and_configured_names() {
        for any in ["0.0.0.0:9000", "[::]:9000"] {
            let hosts = Hosts::new(any.parse().unwrap(), &["box".into()]);
            for own in ["10.1.2.3:9000", "[fe80::1]:9000", "localhost:9000", "box:9000"] {
                assert!(hosts.contains(own), "{own}");
            }
            for foreign in ["10.1.2.3:9001", "10.1.2.3", "rebound.example:9000"] {
                assert!(!hosts.contains(foreign), "{foreign}");
            }
        }
    }

    #[test]
    fn listening_on_a_network_address_excludes_localhost() {
        let hosts = Hosts::new("10.0.0.5:9000".parse().unwrap(), &["box".into()]);
        for own in ["10.0.0.5:9000", "box:9000"] {
            assert!(hosts.contains(own), "{own}");
        }
        for foreign in ["localhost:9000", "127.0.0.1:9000", "[::1]:9000"] {
            assert!(!hosts.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_page_origin_includes_scheme_host_and_port() {
        let hosts = Hosts::new("127.0.0.1:8080".parse().unwrap(), &[]);
        assert!(hosts.have_origin("http://127.0.0.1:8080") && hosts.have_origin("http://localhost:8080"));
        for foreign in [
            "https://127.0.0.1:8080",
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://127.0.0.1:8080.example",
            "null",
            "",
        ] {
            assert!(!hosts.have_origin(foreign), "{foreign}");
        }
    }

    #[test]
    fn other_pages_may_embed_boards_and_nothing_else() {
        let admission = Admission::page(Hosts::new("127.0.0.1:1".parse().unwrap(), &[]));
        let is_let_in = |method: &str, path: &str, mode: &str, destination: &str| {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("host", "127.0.0.1:1")
                .header("sec-fetch-site", "cross-site")
                .header("sec-fetch-mode", mode)
                .header("sec-fetch-dest", destination);
            admission.admit(&request.body(()).unwrap()).is_ok()
        };
        assert!(is_let_in("GET", "/embed?benchmark=b", "navigate", "iframe"));
        assert!(is_let_in("GET", "/", "navigate", "document"), "a link");
        for (method, path, mode, destination) in [
            ("GET", "/", "navigate", "iframe"),
            ("GET", "/index.html", "navigate", "iframe"),
            ("GET", "/api/v1/benchmarks", "navigate", "iframe"),
            ("GET", "/embed/../", "navigate", "iframe"),
            ("POST", "/embed", "navigate", "iframe"),
            ("GET", "/embed", "no-cors", "image"),
            ("GET", "/embed", "cors", "empty"),
        ] {
            assert!(
                !is_let_in(method, path, mode, destination),
                "{method} {path} {destination}"
            );
        }
    }

    #[test]
    fn a_request_that_names_two_hosts_is_refused() {
        let admission = Admission::programs(Hosts::new("127.0.0.1:1".parse().unwrap(), &[]));
        let twice = Request::get("/")
            .header("host", "127.0.0.1:1")
            .header("host", "127.0.0.1:1");
        assert!(admission.admit(&twice.body(()).unwrap()).is_err());
        let proxied = Request::get("http://elsewhere.example/").header("host", "127.0.0.1:1");
        assert!(admission.admit(&proxied.body(()).unwrap()).is_err());
        assert!(
            admission.admit(&Request::get("/").body(()).unwrap()).is_err(),
            "none"
        );
        let once = Request::get("/").header("host", "127.0.0.1:1");
        assert!(admission.admit(&once.body(()).unwrap()).is_ok());
    }
}
