//! Forms for submitters: to put files under their own name, and nothing else.

use aws_credential_types::Credentials;
use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dataperf::Timestamp;
use serde::Serialize;
use serde_json::json;

/// The longest that a form may be valid, as S3 has it: seven days.
pub const MAX_FORM_SECONDS: u32 = 7 * 24 * 3600;

/// A form with which anybody can upload to one key or below one prefix, until it expires: the fields of a `POST` to a bucket.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UploadForm {
    /// The address to send it to.
    pub url: String,
    /// The fields to send before the field `file`, in this order. What `key` has after a prefix may be changed; the same key
    /// again is another submission.
    pub fields: Vec<(String, String)>,
    /// The largest file that is taken, in bytes.
    pub max_bytes: u64,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// Which keys a form is good for.
#[derive(Debug, Clone, Copy)]
pub enum FormKey<'a> {
    /// Those that begin with this, which has a slash at its end.
    Below(&'a str),
    /// This one.
    Exactly(&'a str),
}

/// The upload that a form permits.
#[derive(Debug, Clone)]
pub struct FormRequest<'a> {
    /// The address of the bucket.
    pub url: &'a str,
    /// The bucket.
    pub bucket: &'a str,
    /// Which keys may be uploaded to.
    pub key: FormKey<'a>,
    /// The bucket's region.
    pub region: &'a str,
    /// The largest file, in bytes.
    pub max_bytes: u64,
    /// How long the form is valid, at most [`MAX_FORM_SECONDS`].
    pub valid_seconds: u32,
}

/// Signs a form with the credentials of somebody who may upload there. It is valid no longer than these are.
///
/// # Source
/// Amazon S3 API Reference, "Browser-based uploads using POST", "Creating a POST policy".
pub fn upload_form(request: &FormRequest<'_>, credentials: &Credentials, now: Timestamp) -> UploadForm {
    let moment: String = now.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    let (day, moment) = (&moment[..8], format!("{}Z", &moment[..15]));
    let seconds = i64::from(request.valid_seconds.min(MAX_FORM_SECONDS));
    let expires_at = Timestamp::from_unix_millis(now.unix_millis() + seconds * 1000);
    let credential = format!(
        "{}/{day}/{}/s3/aws4_request",
        credentials.access_key_id(),
        request.region
    );
    let mut signed = vec![
        ("x-amz-algorithm", "AWS4-HMAC-SHA256".to_owned()),
        ("x-amz-credential", credential),
        ("x-amz-date", moment),
    ];
    if let Some(token) = credentials.session_token() {
        signed.push(("x-amz-security-token", token.to_owned()));
    }
    let (key, condition) = match request.key {
        FormKey::Below(prefix) => (
            format!("{prefix}submission"),
            json!(["starts-with", "$key", prefix]),
        ),
        FormKey::Exactly(key) => (key.to_owned(), json!(["eq", "$key", key])),
    };
    let mut conditions = vec![
        json!({"bucket": request.bucket}),
        condition,
        json!(["content-length-range", 1, request.max_bytes]),
    ];
    conditions.extend(signed.iter().map(|(name, value)| json!({*name: value})));
    let policy = json!({"expiration": expires_at, "conditions": conditions});
    let policy = STANDARD.encode(policy.to_string());
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(now.unix_millis().unsigned_abs());
    let signing_key = generate_signing_key(credentials.secret_access_key(), at, request.region, "s3");
    let signature = calculate_signature(signing_key, policy.as_bytes());
    let mut fields = vec![("key".to_owned(), key)];
    fields.extend(signed.into_iter().map(|(name, value)| (name.to_owned(), value)));
    fields.extend([
        ("policy".to_owned(), policy),
        ("x-amz-signature".to_owned(), signature),
    ]);
    UploadForm {
        url: request.url.to_owned(),
        fields,
        max_bytes: request.max_bytes,
        expires_at,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_form_allows_one_prefix_size_and_time() {
        let request = FormRequest {
            url: "https://b.s3.eu-central-1.amazonaws.com/",
            bucket: "b",
            key: FormKey::Below("speech-selection/en-25/ada/"),
            region: "eu-central-1",
            max_bytes: 1 << 20,
            valid_seconds: u32::MAX,
        };
        let credentials = Credentials::new("AK", "SK", Some("TOKEN".into()), None, "test");
        let form = upload_form(
            &request,
            &credentials,
            Timestamp::from_unix_millis(1_772_366_400_250),
        );
        let field = |name: &str| {
            let field = form.fields.iter().find(|(field, _)| field == name);
            field.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        assert_eq!(
            form.expires_at.to_string(),
            "2026-03-08T12:00:00.250Z",
            "seven days at most"
        );
        assert_eq!(field("key"), "speech-selection/en-25/ada/submission");
        assert_eq!(
            field("x-amz-credential"),
            "AK/20260301/eu-central-1/s3/aws4_request"
        );
        assert_eq!(field("x-amz-date"), "20260301T120000Z");
        assert_eq!(field("x-amz-security-token"), "TOKEN");
        let policy: Value =
            serde_json::from_slice(&STANDARD.decode(field("policy")).expect("base 64")).expect("JSON");
        assert_eq!(policy["expiration"], "2026-03-08T12:00:00.250Z");
        let conditions = policy["conditions"].as_array().expect("a list");
        for condition in [
            json!({"bucket": "b"}),
            json!(["starts-with", "$key", "speech-selection/en-25/ada/"]),
            json!(["content-length-range", 1, 1 << 20]),
            json!({"x-amz-security-token": "TOKEN"}),
        ] {
            assert!(conditions.contains(&condition), "{condition}");
        }
    }

    #[test]
    fn a_form_allows_one_key() {
        let request = FormRequest {
            url: "https://b.s3.eu-central-1.amazonaws.com/",
            bucket: "b",
            key: FormKey::Exactly("speech-selection/en-25/ada/x.json"),
            region: "eu-central-1",
            max_bytes: 1 << 20,
            valid_seconds: 300,
        };
        let credentials = Credentials::new("AK", "SK", None, None, "test");
        let form = upload_form(
            &request,
            &credentials,
            Timestamp::from_unix_millis(1_772_366_400_250),
        );
        assert_eq!(
            form.fields[0],
            ("key".into(), "speech-selection/en-25/ada/x.json".into())
        );
        let (_, policy) = form
            .fields
            .iter()
            .find(|(name, _)| name == "policy")
            .expect("a policy");
        let policy: Value = serde_json::from_slice(&STANDARD.decode(policy).expect("base 64")).expect("JSON");
        assert_eq!(policy["expiration"], "2026-03-01T12:05:00.250Z");
        assert_eq!(
            policy["conditions"][1],
            json!(["eq", "$key", "speech-selection/en-25/ada/x.json"])
        );
    }
}
