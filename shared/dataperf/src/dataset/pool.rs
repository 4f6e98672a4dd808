//! A pool of vectors with ids, too large to read: one record a row, found by the fingerprint of its id.
//!
//! Two tensors make a pool:
//! - [`RECORDS`], `(n_rows, id_bytes + 4 * n_features)` bytes: the id, padded with zero bytes to a multiple of four,
//!   then the vector as little-endian 32-bit floats, so that one read gives both. Rows are in the order of
//!   ([`fingerprint`], id);
//! - [`FINGERPRINTS`], `(n_rows,)` unsigned 32-bit integers: the fingerprint of each row's id, ascending. It is the
//!   only part that is kept in memory, 4 MB a million rows.
//!
//! Two ids may share a fingerprint, and an unknown id may hit one: a row is the id's only if its record says so.

use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::dataset::frozen::{Dtype, FrozenError, Manifest, slice};

/// The name of the records' tensor.
pub const RECORDS: &str = "records";
/// The name of the fingerprints' tensor.
pub const FINGERPRINTS: &str = "fingerprints";

/// The first four bytes of the id's SHA-256, as a big-endian number: spread evenly whatever the ids look like.
///
/// ```
/// assert_eq!(dataperf::dataset::pool::fingerprint(""), 0xe3b0_c442);
/// ```
pub fn fingerprint(id: &str) -> u32 {
    let digest = Sha256::digest(id.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Bytes that the longest id of `max_id_bytes` takes in a record.
pub fn padded_id_bytes(max_id_bytes: usize) -> usize {
    max_id_bytes.next_multiple_of(4)
}

/// The fingerprints of a pool's rows.
#[derive(Debug, Clone)]
pub struct PoolIndex {
    fingerprints: Bytes,
    id_bytes: usize,
}

impl PoolIndex {
    /// The index in the whole file `path`, of a pool whose ids take `id_bytes` in a record.
    ///
    /// # Errors
    /// [`FrozenError::Damaged`] if the file lacks the tensor, or the records have another number or
    /// width.
    pub fn new(
        manifest: &Manifest,
        path: &str,
        whole: &Bytes,
        records: &str,
        id_bytes: usize,
        n_features: usize,
    ) -> Result<Self, FrozenError> {
        let tensor = manifest.tensor(path, FINGERPRINTS, Dtype::U32, 1)?;
        let expected = [tensor.n_rows(), id_bytes + 4 * n_features];
        let shape = &manifest.tensor(records, RECORDS, Dtype::U8, 2)?.shape;
        if *shape != expected {
            return Err(FrozenError::damaged(
                records,
                format!("its records are {shape:?} bytes instead of {expected:?}"),
            ));
        }
        Ok(Self {
            fingerprints: slice(tensor, path, whole)?,
            id_bytes,
        })
    }

    /// How many rows the pool has.
    pub fn n_rows(&self) -> usize {
        self.fingerprints.len() / 4
    }

    fn fingerprint_of(&self, row: usize) -> u32 {
        let at = &self.fingerprints[4 * row..];
        u32::from_le_bytes([at[0], at[1], at[2], at[3]])
    }

    /// The first row whose fingerprint is not below `limit`.
    fn first_from(&self, limit: u64) -> usize {
        let (mut low, mut high) = (0, self.n_rows());
        while low < high {
            let middle = low.midpoint(high);
            if u64::from(self.fingerprint_of(middle)) < limit {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The rows that may be the id's: mostly none or one.
    pub fn candidates(&self, id: &str) -> Range<usize> {
        let wanted = u64::from(fingerprint(id));
        self.first_from(wanted)..self.first_from(wanted + 1)
    }

    /// The vector of a record, if it is the id's.
    pub fn vector<'a>(&self, record: &'a [u8], id: &str) -> Option<&'a [u8]> {
        let (own, vector) = record.split_at_checked(self.id_bytes)?;
        let padding = own.strip_prefix(id.as_bytes())?;
        padding.iter().all(|&byte| byte == 0).then_some(vector)
    }
}
