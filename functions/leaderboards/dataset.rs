//! What is said of a data set: its files, and the contexts in it.

use dataperf::benchmark::Leaderboard;
use dataperf::dataset::frozen::{CORRECTIONS, FrozenError, Manifest};
use dataperf::{Descriptor, Digest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A data set in force.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Described {
    /// Its digest, which names it for good: receipts repeat it.
    #[schema(example = "sha256:…")]
    pub(crate) digest: String,
    /// The boards it defines.
    #[serde(skip)]
    pub(crate) leaderboards: Vec<Leaderboard>,
    /// Files in all.
    n_files: usize,
    /// Bytes that participants may have.
    n_public_bytes: u64,
    /// The files.
    files: Vec<DatasetFile>,
    /// What the contest is, a line each; empty where nothing was stored of it.
    summary: Vec<SummaryLine>,
    /// The form of a file with an example, and the rules, in Markdown; `null` where nothing was stored of them.
    rules: Option<String>,
}

/// A line of what a contest is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct SummaryLine {
    /// What it is about.
    #[schema(example = "features")]
    name: String,
    /// What it says.
    #[schema(example = "3, matched by name: `age`, `height`, `weight`")]
    text: String,
}

/// A file of a data set.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct DatasetFile {
    /// Its path in the data set.
    path: String,
    /// Its size; `null` for a hidden file, whose size can tell of the labels in it.
    n_bytes: Option<u64>,
    /// Whether participants may have it.
    is_public: bool,
    /// Its tensors.
    tensors: Vec<Tensor>,
}

/// A tensor of a file.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Tensor {
    /// Its name.
    name: String,
    /// `U8`, `F32` or `F64`.
    dtype: String,
    /// Its length along each axis.
    shape: Vec<usize>,
}

impl Described {
    /// What is said of the data set with this manifest.
    pub(crate) fn new(
        facts: &Descriptor,
        digest: Digest,
        manifest: &Manifest,
        summary: Vec<SummaryLine>,
        rules: Option<String>,
    ) -> Result<Self, FrozenError> {
        let files: Vec<DatasetFile> = manifest
            .files
            .iter()
            .filter(|(path, _)| *path != CORRECTIONS)
            .map(|(path, file)| DatasetFile {
                path: path.clone(),
                n_bytes: (facts.is_public)(path).then_some(file.n_bytes),
                is_public: (facts.is_public)(path),
                tensors: file
                    .tensors
                    .iter()
                    .map(|(name, tensor)| Tensor {
                        name: name.clone(),
                        dtype: format!("{:?}", tensor.dtype),
                        shape: tensor.shape.clone(),
                    })
                    .collect(),
            })
            .collect();
        Ok(Self {
            digest: digest.to_string(),
            leaderboards: (facts.leaderboards)(manifest)?,
            n_files: files.len(),
            n_public_bytes: files.iter().filter_map(|file| file.n_bytes).sum(),
            files,
            summary,
            rules,
        })
    }

    /// The description without sizes and rules, for a data set whose pool only programs see. The
    /// sizes of its files reveal something about their labels, and the example in the rules has ids
    /// of the pool.
    pub(crate) fn without_sizes(&self) -> Self {
        let mut described = self.clone();
        described.n_public_bytes = 0;
        described.summary.clear();
        described.rules = None;
        for file in &mut described.files {
            file.n_bytes = None;
        }
        described
    }
}

/// A text for which participants write theirs.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct OneContext {
    /// Its id, as lines name it.
    id: String,
    /// The task that it is for.
    pub(crate) task: String,
    /// The text.
    text: String,
}
