//! A bucket: named, versioned bytes.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use super::PortError;
use crate::Timestamp;

/// An object as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// All its bytes.
    pub bytes: Bytes,
    /// When this version was stored, where the store knows.
    pub stored_at: Option<Timestamp>,
    /// The entity tag, where the store has them.
    pub tag: Option<String>,
}

/// The result of a bounded read.
#[derive(Debug, Clone, PartialEq)]
pub enum Got {
    /// The whole object.
    Object(Object),
    /// There is no object (or no such version) under this key.
    Missing,
    /// The object is larger than the caller allowed; nothing of it was kept.
    TooLarge {
        /// Its size in bytes.
        n_bytes: u64,
    },
}

/// One bucket, or a directory that plays one.
#[async_trait]
pub trait Bucket: Send + Sync {
    /// Reads an object of at most `max_bytes`, in the given version or the newest.
    ///
    /// # Errors
    /// [`PortError`] when the store does not answer; a missing or too large object is an answer.
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError>;

    /// Up to how many bytes between two ranges are read along, since a second request would cost more.
    fn gap_bytes(&self) -> u64 {
        64 << 10
    }

    /// Reads byte ranges of the newest version, in the requested order. `None` if there is no such
    /// object.
    ///
    /// # Errors
    /// [`PortError`]; a range beyond the object's end is [`PortError::Malformed`].
    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError>;

    /// Stores an object, whatever was there before. Readers see the old or the new bytes, never a mixture.
    ///
    /// # Errors
    /// [`PortError`].
    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError>;

    /// Stores an object unless there is one; of several at once exactly one stores. Says whether this call has
    /// stored it; one that was there before is left alone.
    ///
    /// # Errors
    /// [`PortError`].
    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError>;

    /// Stores an object in the place of one that was read. A store with entity tags does so only if that one is still there: of several at
    /// once exactly one stores. Says whether this call has stored it.
    ///
    /// # Errors
    /// [`PortError`].
    async fn put_over(&self, key: &str, bytes: Bytes, _read: &Object) -> Result<bool, PortError> {
        self.put(key, bytes).await?;
        Ok(true)
    }
}

#[async_trait]
impl<B: Bucket + ?Sized> Bucket for &B {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        (**self).get(key, version, max_bytes).await
    }

    fn gap_bytes(&self) -> u64 {
        (**self).gap_bytes()
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        (**self).get_ranges(key, ranges).await
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        (**self).put(key, bytes).await
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        (**self).put_if_absent(key, bytes).await
    }

    async fn put_over(&self, key: &str, bytes: Bytes, read: &Object) -> Result<bool, PortError> {
        (**self).put_over(key, bytes, read).await
    }
}
