//! Objects as files and rows: what the S3 operations are made of.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use rusqlite::{Connection, Transaction};
use s3s::dto::StreamingBlob;
use s3s::{Body, s3_error};

use super::bodies::{Bodies, NewBody};
use super::failure::Failure;
use super::headers::{ObjectHeaders, Preconditions};
use super::index::changes::{self, NewVersion, Written};
use super::index::{self, Version};
use crate::database::{Database, blocking};
use crate::error::DatabaseError;
use crate::lock::locked;
use crate::queue::Queue;
use crate::queue::events::{ObjectCreated, Origin};

/// How many bytes of a body are read at a time.
const READ_BYTES: u64 = 256 << 10;

/// Objects, their index, and the queue that hears of new ones.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) database: Arc<Database>,
    pub(crate) bodies: Bodies,
    pub(crate) queue: Arc<Queue>,
    /// The object that was read last: a client that reads a few bytes of an object mostly comes back for more.
    pub(crate) recent: Arc<Mutex<Option<Recent>>>,
}

/// The last object read, which is valid until something is written. Its file stays open, deleted or
/// not, until another object is read.
pub(crate) struct Recent {
    n_commits: u64,
    request: ObjectRequest,
    object: Arc<StoredObject>,
}

/// A version whose body is open: it stays readable when it is replaced or deleted.
pub(crate) struct StoredObject {
    pub(crate) version: Version,
    pub(crate) headers: ObjectHeaders,
    content: Content,
}

/// The place of a body's bytes.
enum Content {
    File(File),
    Index(Bytes),
}

/// An object that is about to be written.
#[derive(Debug)]
pub(crate) struct NewObject {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) headers: ObjectHeaders,
    pub(crate) conditions: Preconditions,
    pub(crate) origin: Origin,
    /// When its upload began, if it came in parts.
    pub(crate) begun_ms: Option<i64>,
}

impl Store {
    /// Refuses with `NoSuchBucket` before a body is read for nothing.
    pub(crate) fn require_bucket(&self, bucket: &str) -> Result<(), Failure> {
        self.database
            .read_now(|connection| index::versioning(connection, bucket).map(drop))
    }

    /// Makes `body` the newest version of the object and queues its events, in one transaction.
    pub(crate) async fn publish(
        &self,
        object: NewObject,
        body: NewBody,
        etag: String,
        in_same_transaction: impl FnOnce(&Transaction<'_>) -> Result<(), Failure> + Send + 'static,
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
                begun_ms: object.begun_ms,
            };
            let (written, with_work) = store.database.write_now(|transaction| {
                in_same_transaction(transaction)?;
                if let Some(bytes) = &body.small {
                    index::insert_small_body(transaction, &body.name, bytes)?;
                }
                store.insert(transaction, &new, &object.conditions, object.origin)
            })?;
            body.keep();
            store.settle(&with_work);
            Ok(written)
        })
        .await
    }

    /// Makes another object from the body of `source`, which stays in place: bodies never change.
    pub(crate) async fn copy(
        &self,
        object: NewObject,
        source: Source,
        replace_headers: bool,
    ) -> Result<(Version, Written), Failure> {
        let store = self.clone();
        blocking(move || {
            let (version, written, with_work) = store.database.write_now(|transaction| {
                let request = &source.request;
                let version = index::find(
                    transaction,
                    &request.bucket,
                    &request.key,
                    request.version_id.as_deref(),
                )?;
                source.conditions.check(Some(&version.etag))?;
                let old: ObjectHeaders = serde_json::from_str(&version.headers)?;
                old.check_readable(source.sse_customer_key_md5.as_deref())?;
                let new = object.headers.clone();
                // the request for the copy decides how the copy is stored
                let headers = serde_json::to_string(&if replace_headers {
                    ObjectHeaders {
                        checksums: old.checksums,
                        ..new
                    }
                } else {
                    ObjectHeaders {
                        storage_class: new.storage_class,
                        sse_customer_key_md5: new.sse_customer_key_md5,
                        ..old
                    }
                })?;
                let new = NewVersion {
                    bucket: &object.bucket,
                    key: &object.key,
                    body: &version.body,
                    n_bytes: version.n_bytes,
                    etag: &version.etag,
                    headers: &headers,
                    is_delete_marker: false,
                    begun_ms: None,
                };
                let (written, with_work) =
                    store.insert(transaction, &new, &object.conditions, object.origin)?;
                Ok::<_, Failure>((version, written, with_work))
            })?;
            store.settle(&with_work);
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
    ) -> Result<(Written, Vec<String>), Failure> {
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
        let with_work = self.queue.enqueue(transaction, &created)?;
        Ok((written, with_work))
    }

    /// Does what follows a commit: tells the functions that have work, and removes files that no row names. Blocks.
    pub(crate) fn settle(&self, with_work: &[String]) {
        for function in with_work {
            self.queue.announce_work(function);
        }
        if let Err(error) = self.remove_unnamed() {
            tracing::warn!(%error, "cannot remove bodies that no row names; the next start does");
        }
    }

    fn remove_unnamed(&self) -> Result<(), DatabaseError> {
        let unnamed: Vec<String> = self.database.read_now(|connection| {
            let sql = "SELECT name FROM removed_body WHERE name NOT IN (SELECT body FROM version WHERE body = name)";
            let mut statement = connection.prepare_cached(sql)?;
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect::<rusqlite::Result<_>>()
        })?;
        if unnamed.is_empty() {
            return Ok(());
        }
        for name in &unnamed {
            self.bodies.remove(name);
        }
        self.database.write_now(|transaction| {
            for name in &unnamed {
                index::remove_body(transaction, name)?;
            }
            Ok(())
        })
    }

    /// The version that a client asks for, with its headers.
    pub(crate) fn find(&self, request: &ObjectRequest) -> Result<(Version, ObjectHeaders), Failure> {
        self.database.read_now(|connection| find(connection, request))
    }

    /// [`Self::find`] with the bytes of the body that `choose` wants.
    pub(crate) fn open<T>(
        &self,
        request: ObjectRequest,
        choose: impl FnOnce(&Version) -> Result<(Range<u64>, T), Failure>,
    ) -> Result<Opened<T>, Failure> {
        let n_commits = self.database.n_commits();
        let recent = locked(&self.recent)
            .as_ref()
            .filter(|recent| recent.n_commits == n_commits && recent.request == request)
            .map(|recent| Arc::clone(&recent.object));
        let object = if let Some(object) = recent {
            object
        } else {
            let object = Arc::new(self.look_up(&request)?);
            *locked(&self.recent) = Some(Recent {
                n_commits,
                request,
                object: Arc::clone(&object),
            });
            object
        };
        let (range, chosen) = choose(&object.version)?;
        Ok(Opened {
            object,
            range,
            chosen,
        })
    }

    fn look_up(&self, request: &ObjectRequest) -> Result<StoredObject, Failure> {
        let mut missing = None;
        loop {
            let (version, headers, small) = self.database.read_now(|connection| {
                let (version, headers) = find(connection, request)?;
                let small = index::small_body(connection, &version)?;
                Ok::<_, Failure>((version, headers, small))
            })?;
            let content = match small {
                Some(bytes) => Ok(Content::Index(bytes.into())),
                None => self.bodies.read(&version.body).map(Content::File),
            };
            match content {
                Ok(content) => {
                    return Ok(StoredObject {
                        version,
                        headers,
                        content,
                    });
                }
                // replaced or deleted since the index was read: look again, once for each new row
                Err(error) if error.kind() == ErrorKind::NotFound && missing != Some(version.seq) => {
                    missing = Some(version.seq);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A range that lies outside of an object.
pub(crate) fn invalid_range(n_bytes: u64) -> s3s::S3Error {
    s3_error!(
        InvalidRange,
        "the range lies outside of the object's {n_bytes} bytes"
    )
}

fn find(connection: &Connection, request: &ObjectRequest) -> Result<(Version, ObjectHeaders), Failure> {
    let version = index::find(
        connection,
        &request.bucket,
        &request.key,
        request.version_id.as_deref(),
    )?;
    let headers = serde_json::from_str(&version.headers)?;
    Ok((version, headers))
}

/// A version that is being read.
pub(crate) struct Opened<T> {
    pub(crate) object: Arc<StoredObject>,
    pub(crate) range: Range<u64>,
    /// The additional result of the function that chose the range.
    pub(crate) chosen: T,
}

impl<T> Opened<T> {
    /// The bytes of the range, as the body of an answer; few are read at once.
    pub(crate) fn body(&self) -> Result<StreamingBlob, Failure> {
        let (object, range) = (Arc::clone(&self.object), self.range.clone());
        if range.end - range.start <= READ_BYTES {
            return Ok(StreamingBlob::from(Body::from(object.read(range)?)));
        }
        Ok(StreamingBlob::wrap(stream::try_unfold(
            range.start,
            move |start| {
                let (object, block) = (Arc::clone(&object), start..range.end.min(start + READ_BYTES));
                async move {
                    if block.is_empty() {
                        return Ok(None);
                    }
                    let next = block.end;
                    let read = tokio::task::spawn_blocking(move || object.read(block)).await;
                    Ok::<_, io::Error>(Some((read.map_err(io::Error::other)??, next)))
                }
            },
        )))
    }
}

impl StoredObject {
    /// Reads a range of the body without a position in the file, which readers could change for each other.
    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let file = match &self.content {
            Content::Index(bytes) => return Ok(bytes.slice(range.start as usize..range.end as usize)),
            Content::File(file) => file,
        };
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes.into())
    }
}

/// The object or version that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRequest {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) version_id: Option<String>,
}

/// The object that a copy is made of.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) request: ObjectRequest,
    pub(crate) conditions: Preconditions,
    pub(crate) sse_customer_key_md5: Option<String>,
}
