//! The interface for a benchmark's baselines: their descriptions, and the making of an artifact from a frozen data set.

use dataperf::benchmark::Benchmark;
use dataperf::benchmark::dataset::Dataset;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf::dataset::DatasetError;
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::offer;
use dataperf::progress::Progress;
use dataperf_numerics::models::FitError;
use serde::Serialize;
use serde_json::Value;

/// The description of a method, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// The method's name on the command line.
    pub name: &'static str,
    /// One line about the method.
    pub about: &'static str,
    /// The publication or program that the method comes from.
    pub source: &'static str,
}

impl Method {
    /// The name that the method's artifacts are submitted under: boards show such rows without ranking them.
    pub fn submitter(&self) -> String {
        format!("{BASELINE_PREFIX}{}", self.name)
    }
}

/// The result of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The artifact, ready to be submitted.
    pub artifact: Vec<u8>,
    /// The basis of the choice, in the method's own form, for people who want to understand or
    /// check it.
    pub details: Value,
}

impl Made {
    /// The artifact as compact JSON.
    ///
    /// # Errors
    /// [`BaselineError::Learner`] when it can't be written as JSON.
    pub fn new(artifact: &impl Serialize, details: Value) -> Result<Self, BaselineError> {
        let artifact =
            serde_json::to_vec(artifact).map_err(|error| BaselineError::Learner(error.to_string()))?;
        Ok(Self { artifact, details })
    }
}

/// Why a method made no artifact.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The benchmark has no such method.
    #[error("`{benchmark}` has no baseline `{method}`: {remedy}")]
    NoSuchMethod {
        /// The benchmark's id.
        benchmark: &'static str,
        /// The requested name.
        method: String,
        /// The most similar names, or all of them.
        remedy: String,
    },
    /// The data set is too small for the method.
    #[error("this method needs {n_needed} {noun}, and there are {n}")]
    TooFew {
        /// The scarce rows or items.
        noun: String,
        /// The number that there is.
        n: usize,
        /// The number that the method needs.
        n_needed: usize,
    },
    /// A learner failed.
    #[error("a learner of this method failed: {0}")]
    Learner(String),
    /// A frozen model can't be fitted to the data.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The data set can't be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}

impl From<FrozenError> for BaselineError {
    fn from(error: FrozenError) -> Self {
        Self::Dataset(error.into())
    }
}

/// A benchmark with baselines. One that has none implements this with an empty body.
///
/// A method sees what a participant sees, never a test set or a hidden label, and nothing but its seed is random:
/// the same data set, leaderboard, method and seed give the same bytes on any machine and any number of threads.
pub trait Baselines: Benchmark {
    /// The methods, the weakest first.
    const METHODS: &'static [Method] = &[];

    /// The methods that work on a data set: all, unless some need parts that not every data set has.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's.
    fn methods(_manifest: &Manifest) -> Result<Vec<&'static Method>, FrozenError> {
        Ok(Self::METHODS.iter().collect())
    }

    /// Makes the artifact of one method.
    ///
    /// # Errors
    /// [`BaselineError`] if there is no such method or leaderboard, or the data set is damaged or too small for the method.
    fn artifact(
        _dataset: &Dataset<Self>,
        _leaderboard: &str,
        method: &str,
        _seed: u32,
        _progress: &dyn Progress,
    ) -> impl Future<Output = Result<Made, BaselineError>> {
        std::future::ready(Err(no_such_method::<Self>(method)))
    }
}

/// The error for a name that none of the benchmark's methods has.
pub fn no_such_method<B: Baselines>(method: &str) -> BaselineError {
    BaselineError::NoSuchMethod {
        benchmark: B::ID,
        method: method.to_owned(),
        remedy: if B::METHODS.is_empty() {
            "it has none at all".into()
        } else {
            offer(method, B::METHODS.iter().map(|known| known.name))
        },
    }
}

/// The lines of a frozen text file.
///
/// # Errors
/// [`FrozenError`] when it is not UTF-8.
pub fn lines<'a>(path: &str, bytes: &'a [u8]) -> Result<Vec<&'a str>, FrozenError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FrozenError::damaged(path, "it is not UTF-8"))?;
    Ok(text.lines().collect())
}
