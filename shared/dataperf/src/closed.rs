//! The closed division: what a submitted program is given of a board instead of the data set, and what its artifact says in the data set's
//! own ids.
//!
//! A program sees the participants' part only, under other ids and in another order, unless the data set's own say nothing: what it has
//! seen elsewhere of the same data does not help it, and what it writes says nothing to somebody who has not the data set. A benchmark's
//! [`ClosedBoards`] say what that is. The artifact that a program writes is [translated](ClosedTask::artifact) and
//! then goes the ordinary way.

use serde::{Deserialize, Serialize};

use crate::errors::DatasetError;
use crate::files::Files;
use crate::frozen::{FrozenError, Manifest};
use crate::json::Json;
use crate::rejection::{Reasons, Rejection};
use crate::{Digest, pointer};

/// A file that a program finds below `/data`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its name, without a slash.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What the engine has counted of a program's run: the same on every machine.
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

/// What a program is given of a board.
pub struct ClosedTask {
    /// What it finds below `/data`: `task.json` and the data.
    pub files: Vec<DataFile>,
    /// Translates the program's artifact to the benchmark's.
    pub translate: Translate,
}

impl ClosedTask {
    /// Makes the artifact that goes the ordinary way of what a program has written: the benchmark's JSON form with the ids of `/data`.
    ///
    /// # Errors
    /// A [`Rejection`] when it is not JSON or names what is not in `/data`; every other rule is held on the ordinary way.
    pub fn artifact(&self, written: &[u8]) -> Result<Vec<u8>, Rejection> {
        let mut reasons = Reasons::default();
        let translated = (self.translate)(Json::parse(written)?, &mut reasons);
        reasons.into_verdict(translated.to_bytes())
    }
}

/// What submitted programs are given of a benchmark's boards, and what becomes of what they write.
pub trait ClosedBoards {
    /// Whether there may be closed boards: [`NoClosedBoards`] alone says no.
    const EXIST: bool = true;
    /// Whether boards take programs and nothing else, because scores depend on what a program's run takes: then
    /// [`with_measured`](ClosedBoards::with_measured) puts that into the artifact, and artifacts that people upload are rejected.
    const ONLY: bool = false;

    /// What a program is given of a board: of the participants' part only, in an order and under ids that follow from the seed, unless
    /// the data set's own say nothing.
    ///
    /// # Errors
    /// [`DatasetError`] when a file can't be read or is not what the manifest says, or there is no such leaderboard.
    fn task(
        files: &Files<'_>,
        leaderboard: &str,
        seed: Seed,
    ) -> impl Future<Output = Result<ClosedTask, DatasetError>> + Send;

    /// What the public data set of a round that takes programs has to have in common with its hidden one, as an object: the rules by
    /// which both score. By default nothing.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not the benchmark's.
    fn rules(_manifest: &Manifest) -> Result<serde_json::Value, FrozenError> {
        Ok(serde_json::Value::Null)
    }

    /// The artifact that a program has written, with what its run took, where scores depend on that. `took` is `None` where nothing
    /// is counted: of programs in Python.
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

/// Where the order of `/data` and a program's random numbers come from. It follows from the board and the data set alone, so that
/// another upload changes neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(Digest);

impl Seed {
    /// The seed of a board. It is made of the whole manifest, so that the data set's digest is not enough to find it out.
    pub(crate) fn new(benchmark: &str, manifest: &Manifest, leaderboard: &str) -> Result<Self, FrozenError> {
        let mut text = format!("closed division\n{benchmark}\n{leaderboard}\n").into_bytes();
        text.extend(manifest.to_bytes()?);
        Ok(Self(Digest::of(&text)))
    }

    fn block(self, what: &str, number: u64) -> [u8; 32] {
        Digest::of(format!("{}\n{what}\n{number}", self.0.hex()).as_bytes()).bytes()
    }

    /// The seed of a program's random numbers. It does not tell the order of `/data`.
    pub fn of_random_numbers(self) -> [u8; 32] {
        self.block("random numbers", 0)
    }

    /// The numbers `0..n`, in an order of its own for each `of`, `(n,)`.
    pub fn order(self, of: &str, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            let block = self.block(of, last as u64);
            let [a, b, c, d, e, f, g, h, ..] = block;
            let drawn = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            order.swap(last, (drawn % (last as u64 + 1)) as usize);
        }
        order
    }
}

/// Translates the values of an object's members. A value of another kind stays as it is, and the ordinary rules refuse it.
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
