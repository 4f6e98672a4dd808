//! AWS Signature Version 4 of requests with an `Authorization` header, for every service but S3.
//!
//! # Source
//! AWS IAM User Guide, "Create a signed AWS API request".

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use http::HeaderName;
use http::request::Parts;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use time::PrimitiveDateTime;
use time::macros::format_description;

/// How far the clocks may differ.
const LARGEST_SKEW: Duration = Duration::from_mins(15);

/// The content of the header.
#[derive(Debug, PartialEq)]
pub(crate) struct Claim<'a> {
    pub(crate) access_key: &'a str,
    scope: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

impl<'a> Claim<'a> {
    /// Reads the header; `None` if it has another form.
    pub(crate) fn read(parts: &'a Parts) -> Option<Self> {
        let header = parts.headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
        let fields = header.strip_prefix("AWS4-HMAC-SHA256 ")?;
        let field = |name: &str| {
            fields
                .split(',')
                .find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='))
        };
        let (access_key, scope) = field("Credential")?.split_once('/')?;
        Some(Self {
            access_key,
            scope,
            signed_headers: field("SignedHeaders")?,
            signature: field("Signature")?,
        })
    }

    /// Whether the request was signed with `secret`, just now, for `service`.
    pub(crate) fn holds(&self, parts: &Parts, body: &[u8], secret: &str, service: &str) -> bool {
        let expected = self.expected(parts, body, secret, service);
        let is_equal = |expected: String| expected.as_bytes().ct_eq(self.signature.as_bytes()).into();
        self.is_whole(parts) && expected.is_some_and(is_equal)
    }

    /// Whether the host, the date and each `x-amz-` header of the request are signed: the signature would hold for others too.
    fn is_whole(&self, parts: &Parts) -> bool {
        let is_signed = |name: &str| self.signed_headers.split(';').any(|signed| signed == name);
        let names = parts.headers.keys().map(HeaderName::as_str);
        let mut needed = names
            .filter(|name| name.starts_with("x-amz-"))
            .chain(["host", "x-amz-date"]);
        needed.all(is_signed)
    }

    fn expected(&self, parts: &Parts, body: &[u8], secret: &str, service: &str) -> Option<String> {
        let mut scope = self.scope.split('/');
        let (day, region, scope_service) = (scope.next()?, scope.next()?, scope.next()?);
        let moment = parts.headers.get("x-amz-date")?.to_str().ok()?;
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let signed_at: SystemTime = PrimitiveDateTime::parse(moment, format).ok()?.assume_utc().into();
        let now = SystemTime::now();
        let skew = now
            .duration_since(signed_at)
            .or_else(|_| signed_at.duration_since(now))
            .ok()?;
        if skew > LARGEST_SKEW || !moment.starts_with(day) || scope_service != service {
            return None;
        }
        let request = self.canonical(parts, body)?;
        let text = format!(
            "AWS4-HMAC-SHA256\n{moment}\n{}\n{}",
            self.scope,
            hex(&Sha256::digest(request))
        );
        let key = generate_signing_key(secret, signed_at, region, service);
        Some(calculate_signature(key, text.as_bytes()))
    }

    fn canonical(&self, parts: &Parts, body: &[u8]) -> Option<String> {
        let mut headers = String::new();
        for name in self.signed_headers.split(';') {
            let values = parts
                .headers
                .get_all(name)
                .iter()
                .map(|value| value.to_str().ok());
            let values: Vec<&str> = values.collect::<Option<_>>()?;
            let value = values.join(",");
            let words: Vec<&str> = value.split_whitespace().collect();
            let _ = writeln!(headers, "{name}:{}", words.join(" ")); // writing to a string can't fail
        }
        let path = parts.uri.path().replace('%', "%25"); // encoded once more than it was sent
        let mut query: Vec<&str> = parts.uri.query().unwrap_or_default().split('&').collect();
        query.sort_unstable();
        let (query, payload) = (query.join("&"), hex(&Sha256::digest(body)));
        Some(format!(
            "{}\n{path}\n{query}\n{headers}\n{}\n{payload}",
            parts.method, self.signed_headers
        ))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    /// Whether a request of `DynamoDB` with these headers is valid when those of `signed` are
    /// signed, with this beginning of the right signature.
    fn holds(signed: &str, n_characters: usize) -> bool {
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let moment = OffsetDateTime::now_utc().format(format).expect("a moment");
        let request = |signature: &str| {
            let claim = format!(
                "AWS4-HMAC-SHA256 Credential=key/{}/us-east-1/dynamodb/aws4_request, SignedHeaders={signed}, Signature={signature}",
                &moment[..8]
            );
            let request = http::Request::post("/")
                .header("host", "127.0.0.1:8000")
                .header("x-amz-date", &moment)
                .header("x-amz-target", "DynamoDB_20120810.GetItem")
                .header("amz-sdk-request", "attempt=1")
                .header("authorization", claim);
            request.body(()).expect("a request").into_parts().0
        };
        let unsigned = request("");
        let claim = Claim::read(&unsigned).expect("a claim");
        let signature = claim
            .expected(&unsigned, b"{}", "secret", "dynamodb")
            .expect("a signature");
        let parts = request(&signature[..n_characters]);
        let claim = Claim::read(&parts).expect("a claim");
        claim.holds(&parts, b"{}", "secret", "dynamodb")
    }

    #[test]
    fn host_date_and_amazon_headers_must_be_signed() {
        assert!(holds("host;x-amz-date;x-amz-target", 64));
        assert!(holds("amz-sdk-request;host;x-amz-date;x-amz-target", 64));
        for signed in [
            "host",
            "host;x-amz-date",
            "host;x-amz-target",
            "x-amz-date;x-amz-target",
            "",
        ] {
            assert!(!holds(signed, 64), "{signed}");
        }
    }

    #[test]
    fn a_shortened_signature_does_not_hold() {
        for n_characters in [0, 1, 63] {
            assert!(!holds("host;x-amz-date;x-amz-target", n_characters));
        }
    }
}
