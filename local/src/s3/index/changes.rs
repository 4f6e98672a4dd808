//! Changes of the index: a new version, a delete marker, a version deleted for good.

use rusqlite::{Transaction, params};

use crate::database::now_ms;
use crate::ids;
use crate::s3::failure::Failure;
use crate::s3::headers::Preconditions;
use crate::s3::index::{self, NULL_VERSION, Versioning};

/// A version to be.
#[derive(Clone, Debug)]
pub(crate) struct NewVersion<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) body: &'a str,
    pub(crate) n_bytes: u64,
    pub(crate) etag: &'a str,
    pub(crate) headers: &'a str,
    pub(crate) is_delete_marker: bool,
    /// When the upload of an object that came in parts began: this is the object's time. `None` for all other objects.
    pub(crate) begun_ms: Option<i64>,
}

/// The result of a write.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) seq: i64,
    /// `None` where the bucket has never kept versions.
    pub(crate) version_id: Option<String>,
    pub(crate) created_ms: i64,
}

/// Makes a version the newest of its key if the conditions hold.
pub(crate) fn insert(
    transaction: &Transaction<'_>,
    new: &NewVersion<'_>,
    conditions: &Preconditions,
) -> Result<Written, Failure> {
    let versioning = index::versioning(transaction, new.bucket)?;
    let current = index::latest(transaction, new.bucket, new.key)?;
    let current_etag = current
        .as_ref()
        .filter(|version| !version.is_delete_marker)
        .map(|version| version.etag.as_str());
    conditions.check(current_etag)?;

    let version_id = match versioning {
        Versioning::Enabled => ids::fresh(),
        Versioning::Never => NULL_VERSION.to_owned(),
    };
    if versioning != Versioning::Enabled {
        remove_row(transaction, new.bucket, new.key, NULL_VERSION)?;
    }
    let sql = "UPDATE version SET is_latest = 0 WHERE bucket = ? AND key = ? AND is_latest";
    transaction.prepare_cached(sql)?.execute([new.bucket, new.key])?;
    // time never runs back within a bucket's history, whatever the clock does
    let created_ms = current
        .map_or(i64::MIN, |version| version.created_ms)
        .max(now_ms());
    let sql = "INSERT INTO version (bucket, key, version_id, is_latest, is_delete_marker, body, n_bytes, etag, created_ms, headers)
        VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(params![
        new.bucket,
        new.key,
        version_id,
        new.is_delete_marker,
        new.body,
        new.n_bytes,
        new.etag,
        new.begun_ms.unwrap_or(created_ms),
        new.headers
    ])?;
    let seq = transaction.last_insert_rowid();
    let version_id = (versioning != Versioning::Never).then_some(version_id);
    Ok(Written {
        seq,
        version_id,
        created_ms,
    })
}

/// Removes one row. The index notes its body, whose file goes after the commit if no other row names it.
fn remove_row(
    transaction: &Transaction<'_>,
    bucket: &str,
    key: &str,
    version_id: &str,
) -> rusqlite::Result<()> {
    let sql = "DELETE FROM version WHERE bucket = ? AND key = ? AND version_id = ?";
    transaction
        .prepare_cached(sql)?
        .execute([bucket, key, version_id])?;
    Ok(())
}

/// The result of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deleted {
    /// Whether a delete marker was made or removed.
    pub(crate) is_delete_marker: bool,
    pub(crate) version_id: Option<String>,
}

/// Deletes a key (a marker where versions are kept) or one version for good.
pub(crate) fn delete(
    transaction: &Transaction<'_>,
    bucket: &str,
    key: &str,
    version_id: Option<&str>,
    conditions: &Preconditions,
) -> Result<Deleted, Failure> {
    let versioning = index::versioning(transaction, bucket)?;
    if let Some(version_id) = version_id {
        return delete_version(transaction, bucket, key, version_id, conditions);
    }
    if versioning == Versioning::Never {
        let current = index::latest(transaction, bucket, key)?;
        conditions.check(current.as_ref().map(|version| version.etag.as_str()))?;
        remove_row(transaction, bucket, key, NULL_VERSION)?;
        return Ok(Deleted::default());
    }
    let marker = NewVersion {
        bucket,
        key,
        body: "",
        n_bytes: 0,
        etag: "",
        headers: "{}",
        is_delete_marker: true,
        begun_ms: None,
    };
    let written = insert(transaction, &marker, conditions)?;
    Ok(Deleted {
        is_delete_marker: true,
        version_id: written.version_id,
    })
}

fn delete_version(
    transaction: &Transaction<'_>,
    bucket: &str,
    key: &str,
    version_id: &str,
    conditions: &Preconditions,
) -> Result<Deleted, Failure> {
    let version_id_out = Some(version_id.to_owned());
    let Some(version) = index::find_version(transaction, bucket, key, version_id)? else {
        conditions.check(None)?;
        return Ok(Deleted {
            version_id: version_id_out,
            ..Deleted::default()
        });
    };
    conditions.check(Some(&version.etag))?;
    remove_row(transaction, bucket, key, version_id)?;
    if version.is_latest {
        let sql = "UPDATE version SET is_latest = 1 WHERE seq =
            (SELECT seq FROM version WHERE bucket = ? AND key = ? ORDER BY seq DESC LIMIT 1)";
        transaction.prepare_cached(sql)?.execute([bucket, key])?;
    }
    Ok(Deleted {
        is_delete_marker: version.is_delete_marker,
        version_id: version_id_out,
    })
}
