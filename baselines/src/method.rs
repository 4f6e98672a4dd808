//! What a benchmark says about its baselines, and how one is made on a frozen data set.

use dataperf::benchmark::Benchmark;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf::dataset::{Dataset, DatasetError};
use dataperf::frozen::{FrozenError, Manifest};
use dataperf::offer;
use dataperf::progress::Progress;
use dataperf_numerics::models::FitError;
use serde::Serialize;
use serde_json::Value;

/// A method, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

impl Method {
    /// The name that its artifacts are submitted under: boards show such rows and don't rank them.
    pub fn submitter(&self) -> String {
        format!("{BASELINE_PREFIX}{}", self.name)
    }
}

/// What a method made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The artifact, ready to be submitted.
    pub artifact: Vec<u8>,
    /// What led to the choice, for whoever wants to look into it or check it: the method's own form.
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

/// Why there is no artifact.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The benchmark has no such method.
    #[error("`{benchmark}` has no baseline `{method}`: {remedy}")]
    NoSuchMethod {
        /// The benchmark's id.
        benchmark: &'static str,
        /// What was asked for.
        method: String,
        /// The most similar ones, or all there are.
        remedy: String,
    },
    /// The data set is too small for the method.
    #[error("there are {n} {what}, this method needs {n_needed}")]
    TooFew {
        /// Of what.
        what: String,
        /// How many there are.
        n: usize,
        /// How many it takes.
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
/// A method sees what a participant sees, never an eval set or a hidden label, and nothing but its seed is random:
/// the same data set, leaderboard, method and seed give the same bytes on any machine and any number of threads.
pub trait Baselines: Benchmark {
    /// The methods, the weakest first.
    const METHODS: &'static [Method] = &[];

    /// Those of the methods that work on a data set: all, unless some need what not every data set has.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's.
    fn methods(_manifest: &Manifest) -> Result<Vec<&'static Method>, FrozenError> {
        Ok(Self::METHODS.iter().collect())
    }

    /// Makes the artifact of one method.
    ///
    /// # Errors
    /// [`BaselineError`] when there is no such method or leaderboard, the data set is too small for it or damaged.
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

/// The error for a name that is none of the benchmark's.
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
