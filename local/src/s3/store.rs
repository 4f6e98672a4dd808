//! Objects as files and rows: what the S3 operations are made of.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use s3s::dto::StreamingBlob;
use s3s::{Body, s3_error};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use super::bodies::{Announced, Bodies, NewBody};
use super::changes::{self, NewVersion, Written};
use super::failure::Failure;
use super::headers::{ObjectHeaders, Preconditions};
use super::index::{self, Version};
use crate::database::{Database, blocking};
use crate::error::DatabaseError;
use crate::events::{ObjectCreated, Origin};
use crate::queue::Queue;

/// How many bytes of a body are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Objects, their index, and the queue that hears of new ones.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    pub(crate) bodies: Bodies,
    pub(crate) queue: Arc<Queue>,
}

/// An object that is about to be written.
#[derive(Debug)]
pub(crate) struct NewObject {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) headers: ObjectHeaders,
    pub(crate) conditions: Preconditions,
    pub(crate) origin: Origin,
}

impl Store {
    /// The names of all bodies that a row names.
    pub(crate) fn named_bodies(database: &Database) -> Result<BTreeSet<String>, DatabaseError> {
        database.read_now(|connection| {
            let mut statement = connection.prepare("SELECT body FROM version UNION SELECT body FROM part")?;
            let names = statement.query_map([], |row| row.get(0))?;
            Ok(names.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Refuses with `NoSuchBucket` before a body is read for nothing.
    pub(crate) async fn require_bucket(&self, bucket: &str) -> Result<(), Failure> {
        let bucket = bucket.to_owned();
        self.database
            .read(move |connection| index::versioning(connection, &bucket).map(drop))
            .await
    }

    /// Makes `body` the newest version of the object and queues its events, in one transaction.
    pub(crate) async fn publish(
        &self,
        object: NewObject,
        body: NewBody,
        etag: String,
        in_same_transaction: impl FnOnce(&Transaction<'_>) -> Result<Vec<String>, Failure> + Send + 'static,
    ) -> Result<Written, Failure> {
        let store = self.clone();
        blocking(move || {
            let headers = serde_json::to_string(&object.headers)?;
            let new = NewVersion {
                bucket: &object.bucket,
                key: &object.key,
                body: &body.name,
                n_bytes: body.n_bytes,
                etag: &etag,
                headers: &headers,
                is_delete_marker: false,
            };
            let (written, n_queued) = store.database.write_now(|transaction| {
                let mut orphans = in_same_transaction(transaction)?;
                let (mut written, n_queued) =
                    store.insert(transaction, &new, &object.conditions, object.origin)?;
                written.orphans.append(&mut orphans);
                Ok::<_, Failure>((written, n_queued))
            })?;
            body.keep();
            store.settle(&written.orphans, n_queued);
            Ok(written)
        })
        .await
    }

    /// Makes another object of the body of `source`, which stays where it is: bodies never change.
    pub(crate) async fn copy(
        &self,
        object: NewObject,
        source: Source,
        replace_headers: bool,
    ) -> Result<(Version, Written), Failure> {
        let store = self.clone();
        blocking(move || {
            let (version, written, n_queued) = store.database.write_now(|transaction| {
                let asked = &source.asked;
                let version = index::find(
                    transaction,
                    &asked.bucket,
                    &asked.key,
                    asked.version_id.as_deref(),
                )?;
                source.conditions.check(Some(&version.etag))?;
                let headers = if replace_headers {
                    let old: ObjectHeaders = serde_json::from_str(&version.headers)?;
                    serde_json::to_string(&ObjectHeaders {
                        checksums: old.checksums,
                        ..object.headers.clone()
                    })?
                } else {
                    version.headers.clone()
                };
                let new = NewVersion {
                    bucket: &object.bucket,
                    key: &object.key,
                    body: &version.body,
                    n_bytes: version.n_bytes,
                    etag: &version.etag,
                    headers: &headers,
                    is_delete_marker: false,
                };
                let (written, n_queued) =
                    store.insert(transaction, &new, &object.conditions, object.origin)?;
                // an object copied onto itself drops the row that named the body, but the new row names it again
                let orphans = written
                    .orphans
                    .into_iter()
                    .filter(|name| *name != version.body)
                    .collect();
                Ok::<_, Failure>((version, Written { orphans, ..written }, n_queued))
            })?;
            store.settle(&written.orphans, n_queued);
            Ok((version, written))
        })
        .await
    }

    fn insert(
        &self,
        transaction: &Transaction<'_>,
        new: &NewVersion<'_>,
        conditions: &Preconditions,
        origin: Origin,
    ) -> Result<(Written, usize), Failure> {
        let written = changes::insert(transaction, new, conditions)?;
        let created = ObjectCreated {
            origin,
            bucket: new.bucket,
            key: new.key,
            version_id: written.version_id.as_deref(),
            n_bytes: new.n_bytes,
            etag: new.etag,
            seq: written.seq,
            created_ms: written.created_ms,
        };
        let n_queued = self.queue.enqueue(transaction, &created)?;
        Ok((written, n_queued))
    }

    /// What follows a commit: files that no row names go, functions that have work wake.
    pub(crate) fn settle(&self, orphans: &[String], n_queued: usize) {
        if n_queued > 0 {
            self.queue.announce();
        }
        self.bodies.remove_all(orphans);
    }

    /// The version that a client asks for, with its headers.
    pub(crate) async fn find(&self, asked: Asked) -> Result<(Version, ObjectHeaders), Failure> {
        self.database
            .read(move |connection| find(connection, &asked))
            .await
    }

    /// [`Self::find`] with the bytes of the body that `choose` wants, which stay readable when the version is replaced or
    /// deleted. Everything on one thread, because many clients ask for a few bytes only.
    pub(crate) async fn open<T: Send + 'static>(
        &self,
        asked: Asked,
        choose: impl FnOnce(&Version) -> Result<(Range<u64>, T), Failure> + Send + 'static,
    ) -> Result<Opened<T>, Failure> {
        let store = self.clone();
        blocking(move || {
            let mut missing = None;
            let (version, headers, file) = loop {
                let (version, headers) = store.database.read_now(|connection| find(connection, &asked))?;
                match File::open(store.bodies.path(&version.body)) {
                    Ok(file) => break (version, headers, file),
                    // replaced or deleted since the index was read: look again, once for each new row
                    Err(error) if error.kind() == ErrorKind::NotFound && missing != Some(version.seq) => {
                        missing = Some(version.seq);
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            let (range, chosen) = choose(&version)?;
            Ok(Opened {
                body: Content::new(file, &range)?,
                version,
                headers,
                range,
                chosen,
            })
        })
        .await
    }

    /// Copies the bytes `range` of a version to a new body.
    pub(crate) async fn extract(
        &self,
        asked: Asked,
        range: Option<s3s::dto::Range>,
    ) -> Result<NewBody, Failure> {
        let choose = move |version: &Version| match range {
            Some(range) => {
                let checked = range.check(version.n_bytes);
                Ok((checked.map_err(|_| invalid_range(version.n_bytes))?, ()))
            }
            None => Ok((0..version.n_bytes, ())),
        };
        let opened = self.open(asked, choose).await?;
        let stream = opened.body.stream(&opened.range).await?;
        self.bodies.receive(Some(stream), Announced::default()).await
    }
}

/// A range that lies outside of an object.
pub(crate) fn invalid_range(n_bytes: u64) -> s3s::S3Error {
    s3_error!(
        InvalidRange,
        "the range lies outside of the object's {n_bytes} bytes"
    )
}

fn find(connection: &Connection, asked: &Asked) -> Result<(Version, ObjectHeaders), Failure> {
    let version = index::find(connection, &asked.bucket, &asked.key, asked.version_id.as_deref())?;
    let headers = serde_json::from_str(&version.headers)?;
    Ok((version, headers))
}

/// A version that is being read.
pub(crate) struct Opened<T> {
    pub(crate) version: Version,
    pub(crate) headers: ObjectHeaders,
    pub(crate) range: Range<u64>,
    /// What the choice of the range has to say besides.
    pub(crate) chosen: T,
    pub(crate) body: Content,
}

/// The bytes of a range: read already where they are few.
pub(crate) enum Content {
    Few(Vec<u8>),
    Many(File),
}

impl Content {
    fn new(file: File, range: &Range<u64>) -> Result<Self, Failure> {
        let length = range.end - range.start;
        if length > READ_BYTES as u64 {
            return Ok(Self::Many(file));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(Self::Few(bytes))
    }

    /// As the body of an answer.
    pub(crate) async fn stream(self, range: &Range<u64>) -> Result<StreamingBlob, Failure> {
        let file = match self {
            Self::Few(bytes) => return Ok(StreamingBlob::from(Body::from(bytes))),
            Self::Many(file) => file,
        };
        let mut file = tokio::fs::File::from_std(file);
        file.seek(SeekFrom::Start(range.start)).await?;
        Ok(StreamingBlob::wrap(ReaderStream::with_capacity(
            file.take(range.end - range.start),
            READ_BYTES,
        )))
    }
}

/// The object or version that a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) version_id: Option<String>,
}

/// The object that a copy is made of.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) asked: Asked,
    pub(crate) conditions: Preconditions,
}
