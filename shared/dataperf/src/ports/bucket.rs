//! A bucket: named, versioned bytes.

use std::future::Future;
use std::ops::Range;

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
}

/// What a bounded read found.
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

/// Whether a conditional write took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutIfAbsent {
    /// This call stored the object.
    Stored,
    /// An object was there before and has been left alone.
    Existed,
}

/// One bucket, or a directory that plays one.
pub trait Bucket: Send + Sync {
    /// Reads an object of at most `max_bytes`, in the given version or the newest.
    ///
    /// # Errors
    /// [`PortError`] when the store does not answer; a missing or too large object is an answer.
    fn get(
        &self,
        key: &str,
        version: Option<&str>,
        max_bytes: u64,
    ) -> impl Future<Output = Result<Got, PortError>> + Send;

    /// How many bytes between two ranges are read along rather than asking twice: what a request costs.
    fn gap_bytes(&self) -> u64 {
        64 << 10
    }

    /// Reads byte ranges of the newest version, in the order asked. `None` when there is no such object.
    ///
    /// # Errors
    /// [`PortError`]; a range beyond the object's end is [`PortError::Malformed`].
    fn get_ranges(
        &self,
        key: &str,
        ranges: &[Range<u64>],
    ) -> impl Future<Output = Result<Option<Vec<Bytes>>, PortError>> + Send;

    /// Stores an object, whatever was there before. Readers see the old or the new bytes, never a mixture.
    ///
    /// # Errors
    /// [`PortError`].
    fn put(&self, key: &str, bytes: Bytes) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Stores an object unless there is one; of several at once exactly one stores.
    ///
    /// # Errors
    /// [`PortError`].
    fn put_if_absent(
        &self,
        key: &str,
        bytes: Bytes,
    ) -> impl Future<Output = Result<PutIfAbsent, PortError>> + Send;
}

impl<B: Bucket> Bucket for &B {
    fn get(
        &self,
        key: &str,
        version: Option<&str>,
        max_bytes: u64,
    ) -> impl Future<Output = Result<Got, PortError>> + Send {
        (**self).get(key, version, max_bytes)
    }

    fn gap_bytes(&self) -> u64 {
        (**self).gap_bytes()
    }

    fn get_ranges(
        &self,
        key: &str,
        ranges: &[Range<u64>],
    ) -> impl Future<Output = Result<Option<Vec<Bytes>>, PortError>> + Send {
        (**self).get_ranges(key, ranges)
    }

    fn put(&self, key: &str, bytes: Bytes) -> impl Future<Output = Result<(), PortError>> + Send {
        (**self).put(key, bytes)
    }

    fn put_if_absent(
        &self,
        key: &str,
        bytes: Bytes,
    ) -> impl Future<Output = Result<PutIfAbsent, PortError>> + Send {
        (**self).put_if_absent(key, bytes)
    }
}
