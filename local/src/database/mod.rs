//! The one `SQLite` file that holds the index of objects and the queue of events.
//!
//! They share a file so that an object becomes visible and its event queued in one transaction.

pub(crate) mod flush;
pub(crate) mod sqlite_file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::database::flush::Flush;
use crate::error::{DatabaseError, StartError};
use crate::lock::locked;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS bucket (
    name TEXT PRIMARY KEY,
    versioning TEXT NOT NULL,              -- '' (never) or 'Enabled'
    created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS version (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of all writes, and the sequencer of events
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    version_id TEXT NOT NULL,              -- 'null' where the bucket is not versioned
    is_latest INTEGER NOT NULL,
    is_delete_marker INTEGER NOT NULL,
    body TEXT NOT NULL,                    -- name of the body's file; '' for a delete marker
    n_bytes INTEGER NOT NULL,
    etag TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    headers TEXT NOT NULL,                 -- JSON
    UNIQUE (bucket, key, version_id)
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS latest ON version (bucket, key) WHERE is_latest;
CREATE INDEX IF NOT EXISTS newest_first ON version (bucket, key, seq DESC);
CREATE INDEX IF NOT EXISTS version_body ON version (body);
CREATE TABLE IF NOT EXISTS upload (
    id TEXT PRIMARY KEY,
    bucket TEXT NOT NULL,
    key TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    headers TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS part (
    upload_id TEXT NOT NULL REFERENCES upload (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    n_bytes INTEGER NOT NULL,
    etag TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    checksums TEXT NOT NULL,
    PRIMARY KEY (upload_id, number)
) STRICT;
CREATE TABLE IF NOT EXISTS small_body (    -- bodies that are in no file, by their names
    name TEXT PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS removed_body (  -- bodies to remove, unless another row names them
    name TEXT PRIMARY KEY
) STRICT;
CREATE TRIGGER IF NOT EXISTS version_removed AFTER DELETE ON version WHEN OLD.body <> '' BEGIN
    INSERT OR IGNORE INTO removed_body (name) VALUES (OLD.body);
END;
CREATE TRIGGER IF NOT EXISTS part_removed AFTER DELETE ON part BEGIN
    INSERT OR IGNORE INTO removed_body (name) VALUES (OLD.body);
END;
CREATE TABLE IF NOT EXISTS invocation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    function TEXT NOT NULL,
    payload TEXT NOT NULL,
    n_attempts INTEGER NOT NULL,           -- attempts that ended, all in failure
    queued_ms INTEGER NOT NULL,
    due_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS due ON invocation (function, due_ms, id);
CREATE TABLE IF NOT EXISTS on_failure (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    function TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
";

/// The open index: one connection that writes, and two that read.
pub(crate) struct Database {
    writer: Mutex<Connection>,
    /// For what reads many rows.
    reader: Mutex<Connection>,
    /// For what reads a few rows by their keys, and waits for nothing that reads many.
    lookups: Mutex<Connection>,
    n_commits: AtomicU64,
    flush: Flush,
    path: PathBuf,
}

impl Database {
    /// Opens the index at `path`, or makes it unless it `must_exist`.
    ///
    /// # Errors
    /// [`StartError::Lost`] when it is missing, [`StartError::Damaged`] when it is no index, [`StartError::Index`].
    pub(crate) fn open(path: &Path, must_exist: bool) -> Result<Self, StartError> {
        if must_exist {
            let loss = "the objects have no names and the events that wait are unknown";
            sqlite_file::check(path, loss, "version")?;
        }
        Self::open_checked(path).map_err(|source| StartError::Index {
            path: path.to_owned(),
            source,
        })
    }

    fn open_checked(path: &Path) -> Result<Self, DatabaseError> {
        let writer = Connection::open(path)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        // `flush` brings a commit to the disk before a client hears of it
        writer.pragma_update(None, "synchronous", "normal")?;
        writer.pragma_update(None, "foreign_keys", true)?;
        writer.execute_batch(SCHEMA)?;
        let [reader, lookups] = [Connection::open(path)?, Connection::open(path)?];
        reader.pragma_update(None, "query_only", true)?;
        lookups.pragma_update(None, "query_only", true)?;
        for connection in [&writer, &reader, &lookups] {
            connection.set_prepared_statement_cache_capacity(64);
        }
        Ok(Self {
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
            lookups: Mutex::new(lookups),
            n_commits: AtomicU64::new(0),
            flush: Flush::open(path)?,
            path: path.to_owned(),
        })
    }

    /// The index's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` in one transaction. If `work` returns `Ok`, the transaction is committed and on the disk when this returns. Writers wait for
    /// each other, and share the disk's flushes.
    pub(crate) fn write_now<T, E: From<DatabaseError>>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let done = self.write_unflushed(work)?;
        self.flush.wait().map_err(DatabaseError::from)?;
        Ok(done)
    }

    /// [`Self::write_now`] without a flush, for what may be lost when the machine loses its power: it is on the disk after the next flushed write.
    fn write_unflushed<T, E: From<DatabaseError>>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = locked(&self.writer);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(DatabaseError::from)?;
        let done = work(&transaction)?;
        transaction.commit().map_err(DatabaseError::from)?;
        self.n_commits.fetch_add(1, Ordering::Release);
        Ok(done)
    }

    /// The number of commits. Data read after this number stays valid as long as the number does
    /// not change.
    pub(crate) fn n_commits(&self) -> u64 {
        self.n_commits.load(Ordering::Acquire)
    }

    /// Runs `work` on the last committed state, on the calling thread. For reads of a few rows by their keys: waking another thread takes longer.
    pub(crate) fn read_now<T, E>(&self, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        work(&locked(&self.lookups))
    }

    /// [`Self::write_now`] on a thread that may block.
    pub(crate) async fn write<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let database = Arc::clone(self);
        blocking(move || database.write_now(work)).await
    }

    /// [`Self::write_unflushed`] on a thread that may block.
    pub(crate) async fn write_soon<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let database = Arc::clone(self);
        blocking(move || database.write_unflushed(work)).await
    }

    /// Runs `work` on the last committed state, on a thread that may block.
    pub(crate) async fn read<T, E>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let database = Arc::clone(self);
        blocking(move || work(&locked(&database.reader))).await
    }
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<DatabaseError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(DatabaseError::Stopping.into()),
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    let now = time::OffsetDateTime::now_utc();
    i64::try_from(now.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}
