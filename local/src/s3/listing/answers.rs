//! The answers that list objects.

use s3s::dto::{
    CommonPrefix, ETag, EncodingType, ListObjectsV2Input, ListObjectsV2Output, Object, ObjectStorageClass,
};
use s3s::s3_error;

use super::list::{Page, Position, Query, list, url_encoded};
use crate::queue::events::percent_encoded;
use crate::s3::failure::Failure;
use crate::s3::index::Version;
use crate::s3::objects::last_modified;
use crate::s3::store::Store;

/// The most entries of one answer.
const MAX_KEYS: i32 = 1000;

/// Keys as they are, or encoded as in an HTML form if the client asks for it: a space is `+`, as S3 has it.
pub(crate) struct Shown {
    is_url: bool,
}

impl Shown {
    pub(crate) fn new(encoding_type: Option<&EncodingType>) -> Self {
        Self {
            is_url: encoding_type.is_some_and(|encoding| encoding.as_str() == EncodingType::URL),
        }
    }

    pub(crate) fn key(&self, key: &str) -> String {
        if self.is_url {
            percent_encoded(key, "+")
        } else {
            key.to_owned()
        }
    }

    pub(crate) fn common_prefixes(&self, page: &Page) -> Vec<CommonPrefix> {
        page.common_prefixes
            .iter()
            .map(|prefix| CommonPrefix {
                prefix: Some(self.key(prefix)),
            })
            .collect()
    }

    fn object(&self, version: &Version) -> Object {
        Object {
            e_tag: Some(ETag::Strong(version.etag.clone())),
            key: Some(self.key(&version.key)),
            last_modified: Some(last_modified(version.created_ms)),
            size: i64::try_from(version.n_bytes).ok(),
            storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
            ..Object::default()
        }
    }
}

/// The maximum number of entries, as a count and as the answer repeats it.
pub(crate) fn n_max(max_keys: Option<i32>) -> Result<(usize, i32), Failure> {
    let max_keys = max_keys.unwrap_or(MAX_KEYS);
    match usize::try_from(max_keys.min(MAX_KEYS)) {
        Ok(n_max) => Ok((n_max, max_keys.min(MAX_KEYS))),
        Err(_) => Err(s3_error!(InvalidArgument, "`max-keys` is `{max_keys}`, less than 0").into()),
    }
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The key at which a listing was cut off.
pub(crate) fn position_key(position: Position) -> String {
    match position {
        Position::Start => String::new(),
        Position::After(key) | Position::AfterVersion { key, .. } => key,
    }
}

impl Store {
    pub(crate) async fn page(&self, query: Query) -> Result<Page, Failure> {
        self.database
            .read(move |connection| list(connection, &query))
            .await
    }

    pub(crate) async fn list_v2(&self, input: ListObjectsV2Input) -> Result<ListObjectsV2Output, Failure> {
        let shown = Shown::new(input.encoding_type.as_ref());
        let (n_max, max_keys) = n_max(input.max_keys)?;
        // a continuation token is the last key or group, in percent encoding: headers and XML carry it unharmed
        let after = match (&input.continuation_token, &input.start_after) {
            (Some(token), _) => Position::After(decoded(token)?),
            (None, Some(key)) => Position::After(key.clone()),
            (None, None) => Position::Start,
        };
        let query = Query {
            bucket: input.bucket.clone(),
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: input.delimiter.clone().unwrap_or_default(),
            after,
            max_keys: n_max,
            all_versions: false,
        };
        let page = self.page(query).await?;
        Ok(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: Some(shown.key(&input.prefix.unwrap_or_default())),
            delimiter: input.delimiter.map(|delimiter| shown.key(&delimiter)),
            start_after: input.start_after.map(|key| shown.key(&key)),
            encoding_type: input.encoding_type,
            max_keys: Some(max_keys),
            key_count: Some(count(page.versions.len() + page.common_prefixes.len())),
            contents: Some(
                page.versions
                    .iter()
                    .map(|version| shown.object(version))
                    .collect(),
            ),
            common_prefixes: Some(shown.common_prefixes(&page)),
            is_truncated: Some(page.truncated_at.is_some()),
            continuation_token: input.continuation_token,
            next_continuation_token: page
                .truncated_at
                .map(|position| url_encoded(&position_key(position))),
            ..ListObjectsV2Output::default()
        })
    }
}

/// A continuation token of ours in plain text.
fn decoded(token: &str) -> Result<String, Failure> {
    let invalid = || {
        s3_error!(
            InvalidArgument,
            "`{token}` is not a continuation token of this service"
        )
    };
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let [first, after @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .ok_or_else(invalid)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| invalid())?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| invalid().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continuation_token_comes_back_as_it_went() {
        let key = "a b/ü+%\u{1}\u{10FFFF}";
        assert_eq!(decoded(&url_encoded(key)).unwrap(), key);
        assert!(decoded("%").is_err());
        assert!(decoded("%zz").is_err());
        assert!(decoded("%ff").is_err());
    }
}
