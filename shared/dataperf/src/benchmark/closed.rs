//! The closed division: what a submitted program is given of a board instead of the data set, and what its artifact says in the data set's
//! own ids.
//!
//! A program sees the participants' part only, under other ids and in another order. It can't use
//! earlier knowledge of the data, and its output means nothing without the data set. An exception
//! are data sets whose own ids and order reveal nothing. A benchmark's [`ClosedBoards`] define
//! this. The program's output is [translated](ClosedTask::artifact) into an artifact, which is then
//! scored as usual.

use serde::{Deserialize, Serialize};

use crate::dataset::errors::DatasetError;
use crate::dataset::files::Files;
use crate::dataset::frozen::{FrozenError, Manifest};
use crate::formats::json::Json;
use crate::rejection::{Reasons, Rejection};
use crate::{Digest, pointer};

/// A file that a program finds below `/data`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its name, without a slash.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The engine's count of a program's run, which is the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Units of fuel of the whole run.
    pub fuel: u64,
    /// Bytes of the program's memory at the end of the run, which never shrinks.
    pub memory_bytes: u64,
}

/// Puts the data set's ids in the place of a program's, and notes those that are none.
pub type Translate = Box<dyn Fn(Json, &mut Reasons) -> Json + Send + Sync>;

/// The input of a program for one board.
pub struct ClosedTask {
    /// The files below `/data`: `task.json` and the data.
    pub files: Vec<DataFile>,
    /// Translates the program's artifact to the benchmark's.
    pub translate: Translate,
}

impl ClosedTask {
    /// Turns a program's output into an ordinary artifact: the benchmark's JSON form with the ids
    /// of `/data`.
    ///
    /// # Errors
    /// A [`Rejection`] when it is not JSON or names what is not in `/data`; every other rule is held on the ordinary way.
    pub fn artifact(&self, written: &[u8]) -> Result<Vec<u8>, Rejection> {
        let mut reasons = Reasons::default();
        let translated = (self.translate)(Json::parse(written)?, &mut reasons);
        reasons.into_verdict(translated.to_bytes())
    }
}

/// Defines the input of submitted programs for a benchmark's boards, and the use of their output.
pub trait ClosedBoards {
    /// Whether there may be closed boards: [`NoClosedBoards`] alone says no.
    const EXIST: bool = true;
    /// Whether boards take only programs, because scores depend on the cost of a run. Then
    /// [`with_measured`](ClosedBoards::with_measured) adds the cost to the artifact, and artifacts
    /// that people upload are rejected.
    const ONLY: bool = false;

    /// The files that a program sees of a board. They come from the participants' part, with ids
    /// and order derived from the seed, unless the data set's own ids reveal nothing.
    ///
    /// # Errors
    /// [`DatasetError`] if a file can't be read, a file differs from the manifest, or the
    /// leaderboard does not exist.
    fn task(
        files: &Files<'_>,
        leaderboard: &str,
        seed: Seed,
    ) -> impl Future<Output = Result<ClosedTask, DatasetError>> + Send;

    /// The rules that the public data set of a round for programs must share with the hidden one,
    /// as an object. `null` by default.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not the benchmark's.
    fn rules(_manifest: &Manifest) -> Result<serde_json::Value, FrozenError> {
        Ok(serde_json::Value::Null)
    }

    /// The artifact that a program wrote, with the cost of its run if scores depend on it. `took`
    /// is `None` if nothing is counted, as for Python programs.
    ///
    /// # Errors
    /// A [`Rejection`] where the score depends on what was not counted.
    fn with_measured(artifact: Vec<u8>, _took: Option<Measured>) -> Result<Vec<u8>, Rejection> {
        Ok(artifact)
    }
}

/// A benchmark that takes no programs has no closed boards.
pub struct NoClosedBoards;

impl ClosedBoards for NoClosedBoards {
    const EXIST: bool = false;

    async fn task(_: &Files<'_>, _: &str, _: Seed) -> Result<ClosedTask, DatasetError> {
        let why = "its benchmark takes no programs".to_owned();
        Err(FrozenError::Manifest { why }.into())
    }
}

/// The seed of the order of `/data` and a program's random numbers. It depends only on the board
/// and the data set, so another upload changes neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(Digest);

impl Seed {
    /// The seed of a board. It is made of the whole manifest, so that the data set's digest is not enough to find it out.
    pub(crate) fn new(benchmark: &str, manifest: &Manifest, leaderboard: &str) -> Result<Self, FrozenError> {
        let mut text = format!("closed division\n{benchmark}\n{leaderboard}\n").into_bytes();
        text.extend(manifest.to_bytes()?);
        Ok(Self(Digest::compute(&text)))
    }

    fn block(self, purpose: &str, number: u64) -> [u8; 32] {
        Digest::compute(format!("{}\n{purpose}\n{number}", self.0.hex()).as_bytes()).bytes()
    }

    /// The seed of a program's random numbers. It does not tell the order of `/data`.
    pub fn of_random_numbers(self) -> [u8; 32] {
        self.block("random numbers", 0)
    }

    /// The numbers `0..n`, in an order that depends on `name`, `(n,)`.
    pub fn order(self, name: &str, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            let block = self.block(name, last as u64);
            let [a, b, c, d, e, f, g, h, ..] = block;
            let drawn = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            order.swap(last, (drawn % (last as u64 + 1)) as usize);
        }
        order
    }
}

/// Translates the values of an object's members. A value that is not an object stays unchanged, and
/// the ordinary rules refuse it.
pub fn each_member(value: Json, at: &str, mut translate: impl FnMut(&str, Json, &str) -> Json) -> Json {
    let Json::Object(members) = value else {
        return value;
    };
    let members = members.into_iter().map(|(key, value)| {
        let translated = translate(&key, value, &pointer(at, &key));
        (key, translated)
    });
    Json::Object(members.collect())
}
