//! The files of a frozen data set behind a bucket: whole files kept in memory, single rows read as they are needed, and the
//! reader through which a benchmark asks for both.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::Digest;
use crate::dataset::errors::{DatasetError, NotScored};
use crate::dataset::frozen::{
    Dtype, FrozenError, MANIFEST, MAX_MANIFEST_BYTES, Manifest, Matrix, ROW_DIGESTS, ReadRows, row_digest,
    row_digests_file, slice,
};
use crate::dataset::row_cache::RowCache;
use crate::ports::bucket::{Bucket, Got};
use crate::rejection::{Reason, Rejection};

/// The largest request in bytes: many neighbouring rows are read by several requests side by side.
const MAX_SPAN_BYTES: u64 = 8 << 20;
/// The maximum bytes of unrequested rows per read, unless the request is larger.
const MAX_ALONG_BYTES: u64 = 8 << 20;

/// Whether whole files are hashed when they are first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Compare each file's digest with the manifest, and each single row's with the data set's row digests: for what came over a network, or is to be
    /// verified.
    Digests,
    /// Compare sizes only: for files on one's own disk.
    Sizes,
}

/// The files of a data set, of whatever benchmark it is: each is read whole, once, and kept.
pub struct FrozenFiles {
    bucket: Box<dyn Bucket>,
    prefix: String,
    manifest: Manifest,
    digest: Digest,
    integrity: Integrity,
    whole: Mutex<BTreeMap<String, Bytes>>,
    rows: RowCache,
}

/// Reads the manifest at `prefix` (empty, or ending in a slash), and its digest.
///
/// # Errors
/// [`DatasetError`] if the data set is missing, differs from `expected`, or belongs to another
/// benchmark.
pub(crate) async fn read_manifest(
    bucket: &dyn Bucket,
    benchmark: &str,
    prefix: &str,
    expected: Option<Digest>,
) -> Result<(Manifest, Digest), DatasetError> {
    let Got::Object(object) = bucket
        .get(&format!("{prefix}{MANIFEST}"), None, MAX_MANIFEST_BYTES)
        .await?
    else {
        let place = if prefix.is_empty() { "." } else { prefix };
        return Err(FrozenError::Missing { place: place.into() }.into());
    };
    let digest = Digest::compute(&object.bytes);
    if let Some(expected) = expected.filter(|&expected| expected != digest) {
        return Err(FrozenError::damaged(MANIFEST, format!("its digest is {digest}, not {expected}")).into());
    }
    Ok((Manifest::parse(&object.bytes, benchmark)?, digest))
}

impl FrozenFiles {
    /// Opens the data set of `benchmark` whose manifest is at `prefix` (empty, or ending in a slash).
    ///
    /// # Errors
    /// [`DatasetError`] if the data set is missing, differs from `expected`, or belongs to another
    /// benchmark.
    pub async fn open(
        bucket: impl Bucket + 'static,
        benchmark: &str,
        prefix: String,
        expected: Option<Digest>,
        integrity: Integrity,
    ) -> Result<Self, DatasetError> {
        let (manifest, digest) = read_manifest(&bucket, benchmark, &prefix, expected).await?;
        Ok(Self {
            bucket: Box::new(bucket),
            prefix,
            manifest,
            digest,
            integrity,
            whole: Mutex::default(),
            rows: RowCache::default(),
        })
    }

    /// The data set's digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The data set's table of contents.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Keeps only the files whose paths are `kept`, as if the data set had no others. The digest
    /// stays that of the full data set.
    pub(crate) fn retain(&mut self, kept: impl Fn(&str) -> bool) {
        self.manifest.files.retain(|path, _| kept(path));
    }

    /// Changes the parameters. The digest stays that of the full data set.
    pub(crate) fn change_parameters(&mut self, change: impl FnOnce(&mut serde_json::Value)) {
        change(&mut self.manifest.parameters);
    }

    /// A whole file, read once and kept.
    ///
    /// # Errors
    /// [`DatasetError::Frozen`] when it is missing or differs from the manifest.
    pub async fn file(&self, path: &str) -> Result<Bytes, DatasetError> {
        if let Some(bytes) = lock(&self.whole).get(path) {
            return Ok(bytes.clone());
        }
        let entry = self.manifest.file(path)?;
        let bytes = match self
            .bucket
            .get(&format!("{}{path}", self.prefix), None, entry.n_bytes)
            .await?
        {
            Got::Object(object) => object.bytes,
            Got::Missing => return Err(FrozenError::damaged(path, "it is missing").into()),
            Got::TooLarge { n_bytes } => return Err(wrong_size(path, n_bytes, entry.n_bytes).into()),
        };
        if bytes.len() as u64 != entry.n_bytes {
            return Err(wrong_size(path, bytes.len() as u64, entry.n_bytes).into());
        }
        if self.integrity == Integrity::Digests && Digest::compute(&bytes) != entry.digest {
            return Err(FrozenError::damaged(path, format!("its digest is not {}", entry.digest)).into());
        }
        lock(&self.whole).insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    /// Bytes of the whole files and the rows that are kept.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let whole: u64 = lock(&self.whole).values().map(|bytes| bytes.len() as u64).sum();
        whole + self.rows.n_bytes()
    }

    fn has_read(&self, path: &str) -> bool {
        lock(&self.whole).contains_key(path)
    }

    async fn rows(&self, file: &str, tensor: &str, rows: &[usize]) -> Result<ReadRows, DatasetError> {
        let entry = self.manifest.any_tensor(file, tensor)?;
        let mut wanted = Vec::with_capacity(rows.len());
        for &row in rows {
            let range = entry.row_range(row);
            wanted.push(range.ok_or_else(|| FrozenError::damaged(file, format!("it has no row {row}")))?);
        }
        let Some(first) = wanted.first() else {
            return Ok(ReadRows::default());
        };
        let row_bytes = (first.end - first.start) as usize;
        let n_bytes = row_bytes * rows.len();
        let known = self.known(file, rows, n_bytes);
        let unknown = wanted.iter().zip(&known).filter(|(_, known)| known.is_none());
        let ranges = coalesced(unknown.map(|(range, _)| range), self.bucket.gap_bytes());
        let mut spans = Vec::new();
        if !ranges.is_empty() {
            let key = format!("{}{file}", self.prefix);
            let read = self.bucket.get_ranges(&key, &ranges).await?;
            spans = read.ok_or_else(|| FrozenError::damaged(file, "it is missing"))?;
        }
        let mut begins = Vec::with_capacity(rows.len());
        let mut fresh = Vec::new();
        for (idx, (range, known)) in wanted.iter().zip(known).enumerate() {
            if let Some(row) = known {
                spans.push(row);
                begins.push((spans.len() as u32 - 1, 0));
            } else {
                let span_idx = ranges.partition_point(|span| span.end < range.end);
                begins.push((span_idx as u32, (range.start - ranges[span_idx].start) as u32));
                fresh.push(idx);
            }
        }
        let read = ReadRows::new(spans, begins, row_bytes);
        self.check_rows(file, rows, &read, &fresh).await?;
        if self.integrity == Integrity::Digests {
            let fresh = fresh.iter().map(|&idx| (rows[idx], read.row(idx)));
            self.rows.keep(file, fresh, n_bytes);
        }
        Ok(read)
    }

    /// The rows that an earlier evaluation has read; none for files on one's own disk, which are no farther than the cache.
    fn known(&self, file: &str, rows: &[usize], n_bytes: usize) -> Vec<Option<Bytes>> {
        match self.integrity {
            Integrity::Digests => self.rows.get(file, rows, n_bytes),
            Integrity::Sizes => vec![None; rows.len()],
        }
    }

    /// Compares the `fresh` ones of the rows with their digests, where the data set has them.
    async fn check_rows(
        &self,
        file: &str,
        rows: &[usize],
        read: &ReadRows,
        fresh: &[usize],
    ) -> Result<(), DatasetError> {
        let path = row_digests_file(file);
        if fresh.is_empty() || self.integrity == Integrity::Sizes || !self.manifest.files.contains_key(&path)
        {
            return Ok(());
        }
        let entry = self.manifest.tensor(&path, ROW_DIGESTS, Dtype::U8, 2)?;
        let digests = slice(entry, &path, &self.file(&path).await?)?;
        for &idx in fresh {
            let row = rows[idx];
            if digests.get(8 * row..8 * row + 8) != Some(&row_digest(read.row(idx))[..]) {
                let why = format!("row {row} is not the one that was imported");
                return Err(FrozenError::damaged(file, why).into());
            }
        }
        Ok(())
    }
}

/// Makes room in memory for so many bytes.
pub(crate) type MakeRoom = dyn Fn(u64) + Send + Sync;

/// A benchmark's access to its data set: tensors of whole files, which stay in memory, and single
/// rows, which do not.
///
/// Every error names the file and the problem, because the organizer has to fix it. A missing file
/// is such an error too, unless the benchmark checks with [`has`](Self::has) first.
pub struct Files<'a> {
    frozen: &'a FrozenFiles,
    make_room: &'a MakeRoom,
    /// The sizes of the whole files that this reader has read.
    sizes: Mutex<BTreeMap<String, u64>>,
}

impl<'a> Files<'a> {
    /// A reader that makes no room for what it reads.
    pub fn new(frozen: &'a FrozenFiles) -> Self {
        Self::making_room(frozen, &|_| ())
    }

    pub(crate) fn making_room(frozen: &'a FrozenFiles, make_room: &'a MakeRoom) -> Self {
        Self {
            frozen,
            make_room,
            sizes: Mutex::default(),
        }
    }

    /// The data set's table of contents.
    pub fn manifest(&self) -> &'a Manifest {
        &self.frozen.manifest
    }

    /// Whether the data set has this file.
    pub fn has(&self, path: &str) -> bool {
        self.frozen.manifest.files.contains_key(path)
    }

    /// A whole file.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set does not have it or it differs from the manifest.
    pub async fn whole(&self, path: &str) -> Result<Bytes, DatasetError> {
        let n_bytes = self.frozen.manifest.file(path)?.n_bytes;
        let decoded = {
            let mut sizes = lock(&self.sizes);
            sizes.insert(path.to_owned(), n_bytes);
            sizes.values().sum::<u64>()
        };
        // what files are decoded to takes about as much again as they do
        let itself = if self.frozen.has_read(path) { 0 } else { n_bytes };
        (self.make_room)(decoded.saturating_add(itself));
        self.frozen.file(path).await
    }

    /// A matrix of 32-bit floats of a whole file.
    ///
    /// # Errors
    /// [`DatasetError`] when there is no such matrix.
    pub async fn matrix(&self, path: &str, tensor: &str) -> Result<Matrix, DatasetError> {
        let whole = self.whole(path).await?;
        Ok(Matrix::new(self.manifest(), path, tensor, &whole)?)
    }

    /// The class numbers of a whole file, `(n_rows,)` bytes.
    ///
    /// # Errors
    /// [`DatasetError`] when there is no such tensor of bytes with one axis.
    pub async fn classes(&self, path: &str, tensor: &str) -> Result<Bytes, DatasetError> {
        self.manifest().tensor(path, tensor, Dtype::U8, 1)?;
        self.tensor(path, tensor).await
    }

    /// The bytes of a tensor of a whole file, little-endian and row-major, whatever its numbers are: the manifest has its kind and shape.
    ///
    /// # Errors
    /// [`DatasetError`] when there is no such tensor.
    pub async fn tensor(&self, path: &str, tensor: &str) -> Result<Bytes, DatasetError> {
        let entry = self.manifest().any_tensor(path, tensor)?;
        Ok(slice(entry, path, &self.whole(path).await?)?)
    }

    /// Rows of a tensor in the requested order, without the rest of the file; a row may appear
    /// twice. Neighbouring rows are read together, and so are rows with small gaps. The gaps add at
    /// most as many bytes as the request, or 8 MiB.
    ///
    /// # Errors
    /// [`DatasetError`] for a row that the tensor does not have or that is damaged.
    #[tracing::instrument(name = "read rows", skip_all)]
    pub async fn rows(&self, path: &str, tensor: &str, rows: &[usize]) -> Result<ReadRows, DatasetError> {
        self.frozen.rows(path, tensor, rows).await
    }

    /// Rows that the rules have to see, where a submitter decides how many: as [`rows`](Self::rows), and more than `max_bytes` of them is a
    /// rejection before any is read.
    ///
    /// # Errors
    /// [`NotScored`] for too many bytes, and as [`rows`](Self::rows).
    pub async fn rows_within(
        &self,
        max_bytes: u64,
        path: &str,
        tensor: &str,
        rows: &[usize],
    ) -> Result<ReadRows, NotScored> {
        let row_bytes = self.manifest().any_tensor(path, tensor)?.row_bytes();
        let n_bytes = row_bytes.unwrap_or(u64::MAX).saturating_mul(rows.len() as u64);
        if n_bytes > max_bytes {
            return Err(too_much_to_look_up(max_bytes, n_bytes).into());
        }
        Ok(self.rows(path, tensor, rows).await?)
    }

    /// Bytes of the whole files that this reader has read.
    pub(crate) fn n_bytes(&self) -> u64 {
        lock(&self.sizes).values().sum()
    }
}

fn too_much_to_look_up(limit: u64, n_bytes: u64) -> Rejection {
    let message = format!(
        "the submission's choice has {n_bytes} bytes in the data set, the limit is {limit}: choose less"
    );
    Reason::over("too_much_to_look_up", "", limit, n_bytes, message).into()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner) // a cache is never half-written: inserting is its only change
}

fn wrong_size(path: &str, actual: u64, expected: u64) -> FrozenError {
    FrozenError::damaged(path, format!("it has {actual} bytes instead of {expected}"))
}

/// Sorted, disjoint spans that cover `ranges`. Those closer than `gap_bytes` become one, up to [`MAX_SPAN_BYTES`], the closest
/// first, as long as all the gaps together are no more than `ranges` or [`MAX_ALONG_BYTES`].
fn coalesced<'a>(ranges: impl Iterator<Item = &'a Range<u64>>, gap_bytes: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges.cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let gap_bytes = affordable_gap(&sorted, gap_bytes);
    let mut spans: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match spans.last_mut() {
            Some(span) if range.end <= span.end => {}
            Some(span) if range.start <= span.end + gap_bytes && range.end - span.start <= MAX_SPAN_BYTES => {
                span.end = range.end;
            }
            _ => spans.push(range),
        }
    }
    spans
}

/// The largest gap up to `gap_bytes` such that all gaps of at most this size may be read along.
fn affordable_gap(sorted: &[Range<u64>], gap_bytes: u64) -> u64 {
    let wanted: u64 = sorted.iter().map(|range| range.end - range.start).sum();
    let mut end = sorted.first().map_or(0, |range| range.end);
    let mut gaps = Vec::with_capacity(sorted.len());
    for range in sorted {
        gaps.push(range.start.saturating_sub(end));
        end = end.max(range.end);
    }
    gaps.retain(|&gap| gap > 0 && gap <= gap_bytes);
    gaps.sort_unstable();
    let mut left = wanted.max(MAX_ALONG_BYTES);
    for gap in gaps {
        match left.checked_sub(gap) {
            Some(rest) => left = rest,
            None => return gap - 1,
        }
    }
    gap_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_gaps_costs_at_most_a_few_megabytes() {
        let n_bytes = |spans: &[Range<u64>]| spans.iter().map(|span| span.end - span.start).sum::<u64>();
        // 10,000 short rows, each 60 kB from the next: all of them and the gaps would be 600 MB
        let rows: Vec<_> = (0..10_000).map(|n| n * 60_000..n * 60_000 + 1000).collect();
        assert_eq!(coalesced(rows.iter(), 64 << 10).len(), 10_000);
        // the closest are still read together
        let near: Vec<_> = (0..1_000).map(|n| n * 1_500..n * 1_500 + 1000).collect();
        let far = near.iter().cloned().chain(rows.iter().map(|row| {
            let begin = 10_000_000;
            begin + row.start..begin + row.end
        }));
        let far: Vec<_> = far.collect();
        let spans = coalesced(far.iter(), 64 << 10);
        assert_eq!(spans.len(), 10_001);
        assert!(n_bytes(&spans) <= 11_000_000 + MAX_ALONG_BYTES);
        // a large request permits as many additional bytes
        let wide: Vec<_> = (0..1_000).map(|n| n * 60_000..n * 60_000 + 50_000).collect();
        let spans = coalesced(wide.iter(), 64 << 10);
        assert!(spans.len() < 10, "{}", spans.len());
    }

    #[test]
    fn neighbours_are_read_together_and_far_rows_alone() {
        let rows = [1104..1108, 0..4, 4..8, 100..104, 0..4];
        assert_eq!(coalesced(rows.iter(), 999), [0..104, 1104..1108]);
        let all = 0..1108;
        assert_eq!(
            coalesced(rows.iter(), 1000).as_slice(),
            std::slice::from_ref(&all)
        );
        assert_eq!(coalesced(rows.iter(), 0), [0..8, 100..104, 1104..1108]);
        let far = [0..8, MAX_SPAN_BYTES - 4..MAX_SPAN_BYTES + 4];
        assert_eq!(coalesced(far.iter(), u64::MAX / 2).len(), 2);
    }
}
