//! A frozen data set behind a bucket: whole files kept warm, single rows read as they are needed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::Digest;
use crate::benchmark::{Benchmark, RowRequest};
use crate::frozen::{
    Dtype, FrozenError, MANIFEST, MAX_MANIFEST_BYTES, Manifest, ROW_DIGESTS, ReadRows, row_digest,
    row_digests_file, slice,
};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::row_cache::RowCache;

/// No request is longer, so that the requests of many neighbouring rows go out side by side.
const MAX_SPAN_BYTES: u64 = 8 << 20;
/// What a read may hold of rows nobody asked for, unless what was asked for is more.
const MAX_ALONG_BYTES: u64 = 8 << 20;

/// The prefix of a data set's objects in the datasets bucket, with the slash at its end.
pub fn dataset_prefix(benchmark: &str, dataset: Digest) -> String {
    format!("{benchmark}/{}/", dataset.hex())
}

/// Whether whole files are hashed when they are first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Compare each file's digest with the manifest, and each single row's with the data set's row digests: what came over a network, or is to be verified.
    Digests,
    /// Compare sizes only: files on one's own disk.
    Sizes,
}

/// Why a data set could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The bucket did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The data set is missing or damaged.
    #[error(transparent)]
    Frozen(#[from] FrozenError),
}

/// The files of a data set, of whatever benchmark it is: each is read whole, once, and kept.
pub struct FrozenFiles<S> {
    bucket: S,
    prefix: String,
    manifest: Manifest,
    digest: Digest,
    integrity: Integrity,
    files: Mutex<BTreeMap<String, Bytes>>,
}

impl<S: Bucket> FrozenFiles<S> {
    /// Opens the data set of `benchmark` whose manifest is at `prefix` (empty, or ending in a slash).
    ///
    /// # Errors
    /// [`DatasetError`] when there is none, it is not what `expected` names, or it is another benchmark's.
    pub async fn open(
        bucket: S,
        benchmark: &str,
        prefix: String,
        expected: Option<Digest>,
        integrity: Integrity,
    ) -> Result<Self, DatasetError> {
        let Got::Object(object) = bucket
            .get(&format!("{prefix}{MANIFEST}"), None, MAX_MANIFEST_BYTES)
            .await?
        else {
            return Err(FrozenError::Missing {
                place: if prefix.is_empty() { ".".into() } else { prefix },
            }
            .into());
        };
        let digest = Digest::of(&object.bytes);
        if let Some(expected) = expected.filter(|&expected| expected != digest) {
            return Err(
                FrozenError::damaged(MANIFEST, format!("its digest is {digest}, not {expected}")).into(),
            );
        }
        let manifest = Manifest::parse(&object.bytes, benchmark)?;
        Ok(Self {
            bucket,
            prefix,
            manifest,
            digest,
            integrity,
            files: Mutex::default(),
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

    /// A whole file, read once and kept.
    ///
    /// # Errors
    /// [`DatasetError::Frozen`] when it is missing or differs from the manifest.
    pub async fn file(&self, path: &str) -> Result<Bytes, DatasetError> {
        if let Some(bytes) = lock(&self.files).get(path) {
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
        if self.integrity == Integrity::Digests && Digest::of(&bytes) != entry.digest {
            return Err(FrozenError::damaged(path, format!("its digest is not {}", entry.digest)).into());
        }
        lock(&self.files).insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }
}

/// The frozen part of a leaderboard.
struct Decoded<F> {
    frozen: Arc<F>,
    /// The bytes of the files it was decoded from.
    n_bytes: u64,
}

/// A data set of one benchmark.
pub struct Dataset<B: Benchmark, S> {
    files: FrozenFiles<S>,
    /// By leaderboard.
    frozen: Mutex<BTreeMap<String, Decoded<B::Frozen>>>,
    rows: RowCache,
}

impl<B: Benchmark, S: Bucket> Dataset<B, S> {
    /// Opens the data set whose manifest is at `prefix` (empty, or ending in a slash).
    ///
    /// # Errors
    /// [`DatasetError`] when there is none, it is not what `expected` names, or it is another benchmark's.
    pub async fn open(
        bucket: S,
        prefix: String,
        expected: Option<Digest>,
        integrity: Integrity,
    ) -> Result<Self, DatasetError> {
        Ok(Self {
            files: FrozenFiles::open(bucket, B::ID, prefix, expected, integrity).await?,
            frozen: Mutex::default(),
            rows: RowCache::default(),
        })
    }

    /// Opens a data set in the bucket of published data sets, whose bytes are compared with their digests.
    ///
    /// # Errors
    /// [`DatasetError`] when there is none with this digest, or it is another benchmark's.
    pub async fn published(bucket: S, digest: Digest) -> Result<Self, DatasetError> {
        let prefix = dataset_prefix(B::ID, digest);
        Self::open(bucket, prefix, Some(digest), Integrity::Digests).await
    }

    /// The data set's digest.
    pub fn digest(&self) -> Digest {
        self.files.digest
    }

    /// The data set's table of contents.
    pub fn manifest(&self) -> &Manifest {
        &self.files.manifest
    }

    /// Where the data set is.
    pub fn bucket(&self) -> &S {
        &self.files.bucket
    }

    /// A whole file, read once and kept: two leaderboards that share it share its bytes.
    ///
    /// # Errors
    /// [`DatasetError::Frozen`] when it is missing or differs from the manifest.
    pub async fn file(&self, path: &str) -> Result<Bytes, DatasetError> {
        self.files.file(path).await
    }

    /// The frozen part of a leaderboard, decoded on first use and kept.
    ///
    /// # Errors
    /// [`DatasetError`].
    #[tracing::instrument(name = "load data set", skip_all)]
    pub async fn frozen(&self, leaderboard: &str) -> Result<Arc<B::Frozen>, DatasetError> {
        if let Some(decoded) = lock(&self.frozen).get(leaderboard) {
            return Ok(decoded.frozen.clone());
        }
        let mut files = BTreeMap::new();
        for path in B::whole_files(&self.files.manifest, leaderboard)? {
            let bytes = self.file(&path).await?;
            files.insert(path, bytes);
        }
        let frozen = Arc::new(B::decode(&self.files.manifest, leaderboard, &files)?);
        let n_bytes = files.values().map(|bytes| bytes.len() as u64).sum();
        let decoded = Decoded {
            frozen: frozen.clone(),
            n_bytes,
        };
        lock(&self.frozen).insert(leaderboard.to_owned(), decoded);
        Ok(frozen)
    }

    /// About how many bytes are kept in memory: the whole files that were read, as much again for what they were decoded to, and rows.
    pub fn kept_bytes(&self) -> u64 {
        let whole: u64 = lock(&self.files.files)
            .values()
            .map(|bytes| bytes.len() as u64)
            .sum();
        let decoded: u64 = lock(&self.frozen).values().map(|decoded| decoded.n_bytes).sum();
        whole + decoded + self.rows.n_bytes()
    }

    /// The same once the frozen part of `leaderboard` is there too, if it is not. The sizes of whole files stand for those of what they
    /// are decoded to.
    pub fn bytes_with(&self, leaderboard: &str) -> u64 {
        let kept = self.kept_bytes();
        if lock(&self.frozen).contains_key(leaderboard) {
            return kept;
        }
        let manifest = self.manifest();
        let mut n_bytes = kept;
        for path in B::whole_files(manifest, leaderboard).unwrap_or_default() {
            let size = manifest.files.get(&path).map_or(0, |file| file.n_bytes);
            let copies = if lock(&self.files.files).contains_key(&path) {
                1
            } else {
                2
            };
            n_bytes = n_bytes.saturating_add(size.saturating_mul(copies));
        }
        n_bytes
    }

    /// The bytes of what the requests ask for.
    ///
    /// # Errors
    /// [`DatasetError::Frozen`] for a tensor that the data set does not have.
    pub fn n_bytes(&self, requests: &[RowRequest]) -> Result<u64, DatasetError> {
        let mut n_bytes = 0_u64;
        for RowRequest { file, tensor, rows } in requests {
            let row_bytes = self.manifest().any_tensor(file, tensor)?.row_bytes();
            let of_request = row_bytes.unwrap_or(u64::MAX).saturating_mul(rows.len() as u64);
            n_bytes = n_bytes.saturating_add(of_request);
        }
        Ok(n_bytes)
    }

    /// What each request asks for. Neighbouring rows are read together, and so are rows with little between them: then at
    /// most as much is read along as was asked for, or `MAX_ALONG_BYTES`.
    ///
    /// # Errors
    /// [`DatasetError::Frozen`] for a row that the tensor does not have or that is damaged.
    #[tracing::instrument(name = "read rows", skip_all)]
    pub async fn rows(&self, requests: &[RowRequest]) -> Result<Vec<ReadRows>, DatasetError> {
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            answers.push(self.rows_of(request).await?);
        }
        Ok(answers)
    }

    async fn rows_of(&self, request: &RowRequest) -> Result<ReadRows, DatasetError> {
        let RowRequest { file, tensor, rows } = request;
        let entry = self.files.manifest.any_tensor(file, tensor)?;
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
        let known = self.known(request, n_bytes);
        let unknown = wanted.iter().zip(&known).filter(|(_, known)| known.is_none());
        let ranges = coalesced(unknown.map(|(range, _)| range), self.files.bucket.gap_bytes());
        let mut spans = Vec::new();
        if !ranges.is_empty() {
            let key = format!("{}{file}", self.files.prefix);
            let read = self.files.bucket.get_ranges(&key, &ranges).await?;
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
        self.check_rows(request, &read, &fresh).await?;
        if self.files.integrity == Integrity::Digests {
            let fresh = fresh.iter().map(|&idx| (rows[idx], read.row(idx)));
            self.rows.keep(file, fresh, n_bytes);
        }
        Ok(read)
    }

    /// The rows that an earlier evaluation has read. On one's own disk they are no farther than in the cache.
    fn known(&self, request: &RowRequest, n_bytes: usize) -> Vec<Option<Bytes>> {
        match self.files.integrity {
            Integrity::Digests => self.rows.get(&request.file, &request.rows, n_bytes),
            Integrity::Sizes => vec![None; request.rows.len()],
        }
    }

    /// Compares the `fresh` ones of the rows with their digests, where the data set has them.
    async fn check_rows(
        &self,
        request: &RowRequest,
        read: &ReadRows,
        fresh: &[usize],
    ) -> Result<(), DatasetError> {
        let path = row_digests_file(&request.file);
        if fresh.is_empty()
            || self.files.integrity == Integrity::Sizes
            || !self.files.manifest.files.contains_key(&path)
        {
            return Ok(());
        }
        let entry = self.files.manifest.tensor(&path, ROW_DIGESTS, Dtype::U8, 2)?;
        let digests = slice(entry, &path, &self.file(&path).await?)?;
        for &idx in fresh {
            let row = request.rows[idx];
            if digests.get(8 * row..8 * row + 8) != Some(&row_digest(read.row(idx))[..]) {
                let why = format!("row {row} is not the one that was imported");
                return Err(FrozenError::damaged(&request.file, why).into());
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
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

/// The largest gap up to `gap_bytes` that may be read along wherever it or a smaller one occurs.
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
    fn no_more_is_read_along_than_was_asked_for_or_a_few_megabytes() {
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
        // where much is asked for, as much may be read along
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
