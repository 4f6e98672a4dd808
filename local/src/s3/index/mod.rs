//! Rows of the index: buckets and the versions of their objects.

pub(crate) mod changes;
pub(crate) mod uploads;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use s3s::{S3Error, s3_error};

use super::bodies::SMALL_BYTES;
use super::failure::Failure;
use crate::database::now_ms;

/// The version id of objects in a bucket without versions.
pub(crate) const NULL_VERSION: &str = "null";

/// Whether a bucket keeps versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Versioning {
    Never,
    Enabled,
}

impl Versioning {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Enabled => "Enabled",
        }
    }

    fn parse(text: &str) -> Self {
        if text == Self::Enabled.as_str() {
            Self::Enabled
        } else {
            Self::Never
        }
    }
}

/// One version of an object, or a delete marker.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) seq: i64,
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) is_latest: bool,
    pub(crate) is_delete_marker: bool,
    pub(crate) body: String,
    pub(crate) n_bytes: u64,
    pub(crate) etag: String,
    pub(crate) created_ms: i64,
    pub(crate) headers: String,
}

/// The columns that [`Version::from_row`] reads, in its order.
pub(crate) const VERSION_COLUMNS: &str =
    "seq, key, version_id, is_latest, is_delete_marker, body, n_bytes, etag, created_ms, headers";

impl Version {
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            key: row.get(1)?,
            id: row.get(2)?,
            is_latest: row.get(3)?,
            is_delete_marker: row.get(4)?,
            body: row.get(5)?,
            n_bytes: row.get(6)?,
            etag: row.get(7)?,
            created_ms: row.get(8)?,
            headers: row.get(9)?,
        })
    }
}

/// Whether the bucket keeps versions; `NoSuchBucket` if there is no such bucket.
pub(crate) fn versioning(connection: &Connection, bucket: &str) -> Result<Versioning, Failure> {
    let mut statement = connection.prepare_cached("SELECT versioning FROM bucket WHERE name = ?")?;
    let text: Option<String> = statement.query_row([bucket], |row| row.get(0)).optional()?;
    match text {
        Some(text) => Ok(Versioning::parse(&text)),
        None => Err(s3_error!(NoSuchBucket, "bucket `{bucket}` does not exist").into()),
    }
}

/// Makes a bucket; whether it is new.
pub(crate) fn create_bucket(
    transaction: &Transaction<'_>,
    bucket: &str,
    versioning: Versioning,
) -> rusqlite::Result<bool> {
    let sql = "INSERT INTO bucket (name, versioning, created_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    Ok(transaction.execute(sql, params![bucket, versioning.as_str(), now_ms()])? == 1)
}

/// The newest row of a key, delete markers too.
pub(crate) fn latest(connection: &Connection, bucket: &str, key: &str) -> rusqlite::Result<Option<Version>> {
    let sql = format!("SELECT {VERSION_COLUMNS} FROM version WHERE bucket = ? AND key = ? AND is_latest");
    connection
        .prepare_cached(&sql)?
        .query_row([bucket, key], Version::from_row)
        .optional()
}

/// The version that a client asks for: the newest, or the one with the id.
pub(crate) fn find(
    connection: &Connection,
    bucket: &str,
    key: &str,
    version_id: Option<&str>,
) -> Result<Version, Failure> {
    let version = match version_id {
        None => latest(connection, bucket, key)?,
        Some(version_id) => find_version(connection, bucket, key, version_id)?,
    };
    let Some(version) = version else {
        versioning(connection, bucket)?; // no such bucket is another error than no such object
        let missing = match version_id {
            None => s3_error!(NoSuchKey, "no object `{key}` in bucket `{bucket}`"),
            Some(version_id) => s3_error!(
                NoSuchVersion,
                "no version `{version_id}` of `{key}` in bucket `{bucket}`"
            ),
        };
        return Err(missing.into());
    };
    if !version.is_delete_marker {
        return Ok(version);
    }
    let error = match version_id {
        None => s3_error!(NoSuchKey, "the newest version of `{key}` is a delete marker"),
        Some(version_id) => s3_error!(MethodNotAllowed, "version `{version_id}` is a delete marker"),
    };
    Err(marked(error, &version).into())
}

/// Tells the client by headers that it met a delete marker.
fn marked(mut error: S3Error, version: &Version) -> S3Error {
    let mut headers = http::HeaderMap::new();
    headers.insert("x-amz-delete-marker", http::HeaderValue::from_static("true"));
    if let Ok(id) = http::HeaderValue::from_str(&version.id) {
        headers.insert("x-amz-version-id", id);
    }
    headers.insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/xml"),
    );
    error.set_headers(headers);
    error
}

/// Stores a small body in the index.
pub(crate) fn insert_small_body(
    transaction: &Transaction<'_>,
    name: &str,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO small_body (name, bytes) VALUES (?, ?)";
    transaction.prepare_cached(sql)?.execute(params![name, bytes])?;
    Ok(())
}

/// The body of a version if it is in the index; `None` if it is in a file.
pub(crate) fn small_body(connection: &Connection, version: &Version) -> rusqlite::Result<Option<Vec<u8>>> {
    if version.n_bytes > SMALL_BYTES as u64 {
        return Ok(None);
    }
    connection
        .prepare_cached("SELECT bytes FROM small_body WHERE name = ?")?
        .query_row([&version.body], |row| row.get(0))
        .optional()
}

/// Removes what the index has of a body that no row names any more.
pub(crate) fn remove_body(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM small_body WHERE name = ?",
        "DELETE FROM removed_body WHERE name = ?",
    ] {
        transaction.prepare_cached(sql)?.execute([name])?;
    }
    Ok(())
}

/// One version of a key by its id.
pub(crate) fn find_version(
    connection: &Connection,
    bucket: &str,
    key: &str,
    version_id: &str,
) -> rusqlite::Result<Option<Version>> {
    let sql =
        format!("SELECT {VERSION_COLUMNS} FROM version WHERE bucket = ? AND key = ? AND version_id = ?");
    connection
        .prepare_cached(&sql)?
        .query_row([bucket, key, version_id], Version::from_row)
        .optional()
}
