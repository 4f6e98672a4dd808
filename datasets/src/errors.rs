//! Why data sets can't be imported or written.

use std::path::{Path, PathBuf};

use dataperf::dataset::DatasetError;
use dataperf::dataset::frozen::FrozenError;
use dataperf::ports::PortError;
use dataperf::{Reason, Rejection};

/// Why a directory can't be imported. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The directory does not have the benchmark's layout or is no data set of the kind that is needed, or its contents contradict each other.
    #[error("`{}` can't be used:{}", .from.display(), list(.problems))]
    Refused {
        /// The directory.
        from: PathBuf,
        /// Everything that is wrong, one sentence each.
        problems: Vec<String>,
    },
    /// There is something at the destination.
    #[error("`{}` exists already and is not this data set: choose another directory, or remove it", .0.display())]
    Occupied(PathBuf),
    /// A name of the source would become a path that leaves the data set.
    #[error(
        "a name in the source would become the file `{0}`, which is not a valid path: change the name in the source"
    )]
    Name(String),
    /// Reading or writing failed.
    #[error("{action} `{}`: {source}", .path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The manifest could not be made.
    #[error(transparent)]
    Frozen(#[from] FrozenError),
    /// The data set that was made could not be read.
    #[error(transparent)]
    Port(#[from] PortError),
}

const MAX_LISTED_PROBLEMS: usize = 20;

fn list(problems: &[String]) -> String {
    let listed = problems
        .iter()
        .take(MAX_LISTED_PROBLEMS)
        .map(|problem| format!("\n  - {problem}"));
    let more = problems.len().saturating_sub(MAX_LISTED_PROBLEMS);
    listed
        .chain((more > 0).then(|| format!("\n  - and {more} more")))
        .collect()
}

impl From<DatasetError> for ImportError {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::Port(error) => Self::Port(error),
            DatasetError::Frozen(error) => Self::Frozen(error),
        }
    }
}

impl ImportError {
    /// An error of reading or writing `path`; `action` says what failed.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// The error for a directory with one problem.
    pub fn refused(from: &Path, problem: impl Into<String>) -> Self {
        Self::Refused {
            from: from.to_owned(),
            problems: vec![problem.into()],
        }
    }

    /// The error for a document that breaks rules.
    pub fn rejected(from: PathBuf, rejection: &Rejection) -> Self {
        let sentence = |reason: &Reason| match reason.at.as_str() {
            "" => reason.message.clone(),
            at => format!("{at}: {}", reason.message),
        };
        Self::Refused {
            from,
            problems: rejection.reasons().iter().map(sentence).collect(),
        }
    }
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Csv(#[from] csv::Error),
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    #[error(transparent)]
    Frozen(#[from] FrozenError),
}
