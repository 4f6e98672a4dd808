//! Rows kept between evaluations, since a resubmission mostly chooses the same rows.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// The most bytes that are kept: the vectors of some 16,000 images.
const MAX_BYTES: usize = 16 << 20;
/// Reads of more than this are not kept: they would push out everything else and come from a benchmark that reads other
/// rows each time.
const MAX_READ_BYTES: usize = MAX_BYTES / 4;

/// A file of a data set and a row of its tensor.
type Place = (String, usize);

/// A bounded cache of rows. The half that was not used for longest is forgotten as a whole.
#[derive(Debug, Default)]
pub(crate) struct RowCache(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    young: HashMap<Place, Bytes>,
    old: HashMap<Place, Bytes>,
    young_bytes: usize,
    old_bytes: usize,
}

impl RowCache {
    /// The rows of a read of `n_bytes`, each if cached.
    pub(crate) fn get(&self, file: &str, rows: &[usize], n_bytes: usize) -> Vec<Option<Bytes>> {
        if n_bytes > MAX_READ_BYTES {
            return vec![None; rows.len()];
        }
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |&row: &usize| halves.get(&(file.to_owned(), row));
        rows.iter().map(known).collect()
    }

    /// Keeps rows of a read of `n_bytes`.
    pub(crate) fn keep<'a>(&self, file: &str, rows: impl Iterator<Item = (usize, &'a [u8])>, n_bytes: usize) {
        if n_bytes > MAX_READ_BYTES {
            return;
        }
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, bytes) in rows {
            // a copy: a slice would keep all the bytes that were read along with it
            halves.insert((file.to_owned(), row), Bytes::copy_from_slice(bytes));
        }
    }

    /// About how many bytes are kept.
    pub(crate) fn n_bytes(&self) -> u64 {
        let halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (halves.young_bytes + halves.old_bytes) as u64
    }
}

impl Halves {
    fn get(&mut self, place: &Place) -> Option<Bytes> {
        if let Some(bytes) = self.young.get(place) {
            return Some(bytes.clone());
        }
        let bytes = self.old.remove(place)?;
        self.insert(place.clone(), bytes.clone());
        Some(bytes)
    }

    fn insert(&mut self, place: Place, bytes: Bytes) {
        // short rows take less than what finds them
        let n_bytes = bytes.len() + place.0.len() + size_of::<(Place, Bytes)>();
        if self.young_bytes + n_bytes > MAX_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = std::mem::take(&mut self.young_bytes);
        }
        self.young_bytes += n_bytes;
        self.young.insert(place, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_cache_keeps_used_rows_within_bounds() {
        let cache = RowCache::default();
        let n_bytes = 1 << 20;
        for row in 0..64 {
            cache.keep("pool", [(row, vec![1; n_bytes].as_slice())].into_iter(), n_bytes);
            assert!(cache.get("pool", &[0], n_bytes)[0].is_some(), "after row {row}");
            let halves = cache.0.lock().expect("not poisoned");
            let n_kept: usize = halves.young.len() + halves.old.len();
            assert!(n_kept * n_bytes <= MAX_BYTES, "after row {row}");
        }
        assert_eq!(cache.get("pool", &[1], n_bytes), [None]);
        assert_eq!(cache.get("other", &[0], n_bytes), [None]);
    }

    #[test]
    fn long_reads_leave_it_alone() {
        let cache = RowCache::default();
        cache.keep("pool", [(0, [1].as_slice())].into_iter(), MAX_READ_BYTES + 1);
        assert_eq!(cache.get("pool", &[0], 1), [None]);
    }
}
