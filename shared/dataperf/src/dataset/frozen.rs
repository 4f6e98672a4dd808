//! The frozen data set: a manifest that names every file by its digest, and plain tensors next to
//! it.
//!
//! The files are [safetensors](https://github.com/huggingface/safetensors): a JSON header, then little-endian
//! row-major numbers, so that any tool can open them, a laptop can map them and a function can read single rows.
//! The manifest repeats where each tensor begins: a reader needs no header to ask S3 for row 17.
//! The data set's own name is the digest of `manifest.json`, byte for byte.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use dataperf_numerics::agreement::{ShareEstimate, Stratum, stratified_share};
use ndarray::ArrayView2;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Digest, quote};

/// The format's name and version, the first thing in every manifest.
pub const FORMAT: &str = "dataperf-frozen/1";
/// The manifest's file name.
pub const MANIFEST: &str = "manifest.json";
/// The tensor of a [`row_digests_file`]: bytes, `(n_rows, 8)`.
pub const ROW_DIGESTS: &str = "row_digests";
/// No manifest may be larger: 16 MiB.
pub const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// Whether `path` is one of a file within a data set: relative, plain steps, the same on every system.
pub fn is_within(path: &str) -> bool {
    !path.contains('\\') && path.split('/').all(|step| !["", ".", ".."].contains(&step))
}

/// The file that holds the digests of `path`'s rows: rows read on their own can't be compared with the digest of
/// their whole file.
///
/// ```
/// let file = dataperf::dataset::frozen::row_digests_file("en/train.safetensors");
/// assert_eq!(file, "en/train.row_digests.safetensors");
/// ```
pub fn row_digests_file(path: &str) -> String {
    let stem = path.strip_suffix(".safetensors").unwrap_or(path);
    format!("{stem}.{ROW_DIGESTS}.safetensors")
}

/// The first eight bytes of the SHA-256 of a row's bytes: enough against damage, and short enough for large pools.
pub fn row_digest(row: &[u8]) -> [u8; 8] {
    Digest::compute(row).first_8()
}

/// The kinds of numbers a frozen tensor can hold, by their safetensors names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dtype {
    /// Unsigned bytes.
    U8,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    I32,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

impl Dtype {
    /// Bytes a number.
    pub fn size(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// The place of a tensor in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorEntry {
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its extents, slowest first.
    pub shape: Vec<usize>,
    /// The byte of the file at which it begins.
    pub begin: u64,
}

impl TensorEntry {
    /// Bytes a row, which is one step along the first axis. `None` when the extents overflow.
    pub fn row_bytes(&self) -> Option<u64> {
        let rest = self.shape.get(1..).unwrap_or_default();
        rest.iter()
            .try_fold(self.dtype.size(), |bytes, &n| bytes.checked_mul(n as u64))
    }

    /// The number of rows; a tensor without axes has none.
    pub fn n_rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// The tensor's bytes within the file. `None` if its extents exceed the address space, even if
    /// one of them is 0 and it has no bytes.
    fn range(&self) -> Option<Range<u64>> {
        let mut extents = self.shape.iter().filter(|&&extent| extent > 0);
        let is_addressable = extents
            .try_fold(1_isize, |n, &extent| n.checked_mul(isize::try_from(extent).ok()?))
            .is_some();
        if !is_addressable {
            return None;
        }
        let n_bytes = self.row_bytes()?.checked_mul(self.n_rows() as u64)?;
        Some(self.begin..self.begin.checked_add(n_bytes)?)
    }

    /// The bytes of one row within the file.
    pub fn row_range(&self, row: usize) -> Option<Range<u64>> {
        if row >= self.n_rows() {
            return None;
        }
        let n_bytes = self.row_bytes()?;
        let begin = self.begin + n_bytes * row as u64;
        Some(begin..begin + n_bytes)
    }
}

/// One file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its size.
    pub n_bytes: u64,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The tensors in it, none for a text file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, TensorEntry>,
}

/// The table of contents of a data set, and the parameters that belong to the benchmark's definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// The benchmark's id.
    pub benchmark: String,
    /// The benchmark's own parameters: limits, seeds, classes. Each benchmark documents its form.
    pub parameters: serde_json::Value,
    /// The files by their path relative to the manifest.
    pub files: BTreeMap<String, FileEntry>,
    /// The data set that it corrects, if it is a correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Corrected>,
}

/// Says that a data set is another one with corrected test labels and no other change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corrected {
    /// The data set that it was made of.
    pub parent: Digest,
    /// The file with every edit, a line each. Hidden, as the labels are.
    pub edits: String,
    /// How many labels were changed.
    pub n_edits: usize,
    /// How many labels somebody has looked at, those that were right included.
    pub n_reviewed: usize,
    /// How many labels of each test set somebody has looked at; empty in data sets of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reviewed: BTreeMap<String, usize>,
    /// The labels in doubt and the control sample of each test set, where the work list named them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub samples: BTreeMap<String, Samples>,
}

/// The labels in doubt and the control sample of a test set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// The labels in doubt, and how many of them were wrong.
    pub doubts: Stratum,
    /// The labels that nobody doubts, of which the control sample was looked at.
    pub others: Stratum,
}

impl Samples {
    /// The share of wrong labels in the test set, with its interval of 95 % confidence; `None` where the control sample has no verdict.
    pub fn error_rate(&self) -> Option<ShareEstimate> {
        stratified_share(self.doubts, self.others)
    }
}

/// The file of a corrected data set with its edits.
pub const CORRECTIONS: &str = "corrections.csv";

/// A frozen data set that can't be used: for the organizer to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrozenError {
    /// An expected data set is missing.
    #[error(
        "`{place}` has no frozen data set, because it has no `{MANIFEST}`: make one with `dataperf dataset import`"
    )]
    Missing {
        /// The directory or key prefix.
        place: String,
    },
    /// Nothing says which data set a benchmark is scored with.
    #[error(
        "no data set is active, because `{key}` is missing or empty: publish one with `dataperf dataset publish`"
    )]
    NotInForce {
        /// The object that would say so.
        key: String,
    },
    /// The object that names the active data sets can't be used.
    #[error(
        "`{key}` in the datasets bucket does not list the active data sets: {why}. Restore an earlier \
            version of the object, or activate one data set alone with `dataperf dataset publish --replace`"
    )]
    Current {
        /// The object.
        key: String,
        /// The expected value.
        why: String,
    },
    /// The manifest can't be read.
    #[error("`{MANIFEST}` is not a manifest of this format: {why}. Import the data set again")]
    Manifest {
        /// The expected value.
        why: String,
    },
    /// The data set is another benchmark's.
    #[error("the data set is for `{actual}`, not for `{expected}`: choose a data set of that benchmark")]
    OtherBenchmark {
        /// The requested benchmark.
        expected: String,
        /// The data set's benchmark.
        actual: String,
    },
    /// It is what participants get, without the hidden files.
    #[error(
        "a participants' kit has no {missing}, so it can only validate an artifact. Those data stay \
            hidden, because an artifact could be fitted to them. Upload the artifact to get a score"
    )]
    ForParticipants {
        /// The parameter that scoring needs.
        missing: &'static str,
    },
    /// The data set does not have a file.
    #[error(
        "the frozen file `{file}` is damaged: the manifest does not list it. Fetch or import the data set again"
    )]
    NotListed {
        /// The file's path in the data set.
        file: String,
    },
    /// A file is missing or is not what the manifest says.
    #[error("the frozen file `{file}` is damaged: {why}. Fetch or import the data set again")]
    Damaged {
        /// The file's path in the data set.
        file: String,
        /// How it differs from the manifest.
        why: String,
    },
}

impl FrozenError {
    /// A file that differs from the manifest.
    pub fn damaged(file: &str, why: impl Into<String>) -> Self {
        Self::Damaged {
            file: file.to_owned(),
            why: why.into(),
        }
    }

    /// A board that the manifest's parameters don't have.
    pub fn no_leaderboard(name: &str) -> Self {
        Self::Manifest {
            why: format!("it has no leaderboard {}", quote(name)),
        }
    }
}

impl Manifest {
    /// Reads a manifest and checks that it holds together.
    ///
    /// # Errors
    /// [`FrozenError::Manifest`] for another format, a path that leaves the data set, or a tensor that leaves its
    /// file; [`FrozenError::OtherBenchmark`].
    pub fn parse(bytes: &[u8], benchmark: &str) -> Result<Self, FrozenError> {
        let refuse = |why: String| FrozenError::Manifest { why };
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| refuse(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(refuse(format!(
                "its format is `{}`, this version reads `{FORMAT}`",
                manifest.format
            )));
        }
        if manifest.benchmark != benchmark {
            return Err(FrozenError::OtherBenchmark {
                expected: benchmark.into(),
                actual: manifest.benchmark,
            });
        }
        for (path, file) in &manifest.files {
            if !is_within(path) {
                return Err(refuse(format!("`{path}` is not a path within the data set")));
            }
            for (name, tensor) in &file.tensors {
                let aligned = tensor.begin % tensor.dtype.size() == 0;
                if !aligned || tensor.range().is_none_or(|range| range.end > file.n_bytes) {
                    return Err(refuse(format!(
                        "the tensor `{name}` of shape {:?} from byte {} on does not fit into `{path}`",
                        tensor.shape, tensor.begin
                    )));
                }
            }
        }
        Ok(manifest)
    }

    /// The bytes that are stored and digested: pretty-printed JSON with sorted keys.
    ///
    /// # Errors
    /// [`FrozenError::Manifest`] when the parameters can't be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FrozenError> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| FrozenError::Manifest {
            why: error.to_string(),
        })?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The benchmark's parameters in their own type.
    ///
    /// # Errors
    /// [`FrozenError::Manifest`] when they don't have its form.
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P, FrozenError> {
        P::deserialize(&self.parameters).map_err(|error| FrozenError::Manifest {
            why: format!("parameters: {error}"),
        })
    }

    /// A file's entry.
    ///
    /// # Errors
    /// [`FrozenError::NotListed`] when the manifest has no such file.
    pub fn file(&self, path: &str) -> Result<&FileEntry, FrozenError> {
        let missing = || FrozenError::NotListed {
            file: path.to_owned(),
        };
        self.files.get(path).ok_or_else(missing)
    }

    /// A tensor's entry, whatever its numbers are.
    ///
    /// # Errors
    /// [`FrozenError::NotListed`] if the file does not exist, [`FrozenError::Damaged`] if it has no
    /// such tensor.
    pub fn any_tensor(&self, path: &str, name: &str) -> Result<&TensorEntry, FrozenError> {
        let tensor = self.file(path)?.tensors.get(name);
        tensor.ok_or_else(|| FrozenError::damaged(path, format!("it has no tensor `{name}`")))
    }

    /// A tensor's entry.
    ///
    /// # Errors
    /// As [`any_tensor`](Self::any_tensor), and [`FrozenError::Damaged`] when the tensor's numbers are of another kind.
    pub fn tensor(
        &self,
        path: &str,
        name: &str,
        dtype: Dtype,
        n_axes: usize,
    ) -> Result<&TensorEntry, FrozenError> {
        let tensor = self.any_tensor(path, name)?;
        if tensor.dtype != dtype || tensor.shape.len() != n_axes {
            let why = format!(
                "the tensor `{name}` is {:?} {:?}, not {dtype:?} of {n_axes} axes",
                tensor.dtype, tensor.shape
            );
            return Err(FrozenError::damaged(path, why));
        }
        Ok(tensor)
    }
}

/// A matrix of 32-bit floats over frozen bytes, mapped or downloaded, without a copy.
#[derive(Debug, Clone)]
pub struct Matrix {
    bytes: Bytes,
    n_rows: usize,
    n_cols: usize,
}

impl Matrix {
    /// The tensor `name` of a whole file's `bytes`.
    ///
    /// # Errors
    /// [`FrozenError::Damaged`] when the manifest has no such matrix or the file is too short for it.
    pub fn new(manifest: &Manifest, path: &str, name: &str, bytes: &Bytes) -> Result<Self, FrozenError> {
        let tensor = manifest.tensor(path, name, Dtype::F32, 2)?;
        Self::from_rows(slice(tensor, path, bytes)?, tensor.n_rows(), tensor.shape[1])
            .ok_or_else(|| FrozenError::damaged(path, "it has not as many bytes as its shape says"))
    }

    /// A matrix of `bytes`, little-endian and row-major. `None` when there are not `n_rows` x `n_cols` numbers.
    pub fn from_rows(bytes: Bytes, n_rows: usize, n_cols: usize) -> Option<Self> {
        if bytes.len() != n_rows.checked_mul(n_cols)?.checked_mul(4)?
            || n_rows.max(n_cols) > isize::MAX as usize
        {
            return None;
        }
        let usable = cfg!(target_endian = "little") && bytemuck::try_cast_slice::<u8, f32>(&bytes).is_ok();
        let bytes = if usable { bytes } else { realigned(&bytes) };
        Some(Self {
            bytes,
            n_rows,
            n_cols,
        })
    }

    /// The numbers, shape `(n_rows, n_cols)`.
    ///
    /// # Panics
    /// Never: the constructor has checked the length.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        let numbers = bytemuck::cast_slice(&self.bytes);
        #[expect(clippy::expect_used, reason = "the constructor has checked the length")]
        ArrayView2::from_shape((self.n_rows, self.n_cols), numbers).expect("length was checked")
    }
}

/// Rows read from a frozen tensor, in spans that may include unrequested rows.
#[derive(Debug, Clone, Default)]
pub struct ReadRows {
    spans: Vec<Bytes>,
    /// For each row, its span and the byte of the span where it begins.
    begins: Vec<(u32, u32)>,
    row_bytes: usize,
}

impl ReadRows {
    /// Rows of `row_bytes` each: `begins` says for each in which span it is, and at which byte of it.
    pub(crate) fn new(spans: Vec<Bytes>, begins: Vec<(u32, u32)>, row_bytes: usize) -> Self {
        Self {
            spans,
            begins,
            row_bytes,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.begins.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// The bytes of the row at this place of the request.
    ///
    /// # Panics
    /// If the request has fewer rows.
    pub fn row(&self, idx: usize) -> &[u8] {
        let (span, begin) = self.begins[idx];
        &self.spans[span as usize][begin as usize..][..self.row_bytes]
    }

    /// All rows in one piece.
    pub fn concatenated(&self) -> Bytes {
        (0..self.len()).flat_map(|idx| self.row(idx)).copied().collect()
    }
}

/// The tensor's part of its whole file.
///
/// # Errors
/// [`FrozenError::Damaged`] when the file is too short.
pub fn slice(tensor: &TensorEntry, path: &str, bytes: &Bytes) -> Result<Bytes, FrozenError> {
    let too_short = || FrozenError::damaged(path, format!("it has only {} bytes", bytes.len()));
    let range = tensor.range().ok_or_else(too_short)?;
    let (begin, end) = (range.start as usize, range.end as usize);
    if end > bytes.len() {
        Err(too_short())
    } else {
        Ok(bytes.slice(begin..end))
    }
}

struct Aligned(Vec<f32>);

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// A copy in native byte order at an address where floats may lie.
fn realigned(bytes: &[u8]) -> Bytes {
    let numbers = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    Bytes::from_owner(Aligned(numbers.collect()))
}
