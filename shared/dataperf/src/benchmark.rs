//! The one abstraction: what a benchmark has to say so that the platform can host it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::evidence::{Draws, EvalItems, Evidence, EvidenceError, Weights};
use crate::frozen::{FrozenError, Manifest, ReadRows};
use crate::rank::Direction;
use crate::rejection::Rejection;
use crate::scorecard::Metric;
use crate::verdict::Scorecard;

pub use crate::leaderboard::{Leaderboard, PUBLIC, PictureForm};

/// Rows to read from a frozen tensor: only what a submission chose, never the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRequest {
    /// The file's path in the data set.
    pub file: String,
    /// The tensor's name.
    pub tensor: String,
    /// The rows in the order they are wanted; a row may be asked for twice.
    pub rows: Vec<usize>,
}

/// A benchmark: its wire format, its rules, its frozen model and its score. Everything here is synchronous and
/// pure: the same inputs give the same verdict on any machine and any number of threads.
///
/// The platform calls, in this order: [`parse`](Benchmark::parse), [`decode`](Benchmark::decode) (once a
/// leaderboard, then kept warm), [`lookups`](Benchmark::lookups), [`validate`](Benchmark::validate),
/// [`parts`](Benchmark::parts), [`run`](Benchmark::run) for each of them, and [`score`](Benchmark::score).
/// Between these it reads what they ask for, so that none of them has to wait for anything.
pub trait Benchmark: Sized + Send + Sync + 'static {
    /// The id: the first part of every key, the function's name, the first word of every partition.
    const ID: &'static str;
    /// One line for people.
    const ABOUT: &'static str;
    /// The largest artifact that is read at all.
    const MAX_ARTIFACT_BYTES: u64;
    /// The most bytes of rows that [`lookups`](Benchmark::lookups) may ask for; a submission that needs more is rejected
    /// before any of them is read. Where the rules look nothing up, nothing may be asked for.
    const MAX_LOOKUP_BYTES: u64 = 0;
    /// Which scores are better.
    const DIRECTION: Direction;
    /// The scores there can be.
    const SCORE_RANGE: RangeInclusive<f64>;
    /// What the metrics of a score are, and who sees them when.
    const METRICS: &'static [Metric];
    /// The codes of rejections that follow from hidden data. They tell something about it, as a score does, and so they
    /// count against a submitter's limits.
    const COUNTED_REJECTIONS: &'static [&'static str] = &[];

    /// What scoring keeps in memory between submissions to one leaderboard.
    type Frozen: Send + Sync + 'static;
    /// A parsed artifact that may break every rule.
    type Submission: Send;
    /// A submission that obeys the rules: only [`validate`](Benchmark::validate) makes one.
    type Checked: Send + Sync;

    /// The boards of a data set.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's.
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError>;

    /// The evaluation data that each board is scored with, by a name for it. Boards that share it are counted together: a score
    /// on one is an answer about the others. Each has its own unless the benchmark says otherwise.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's.
    fn evaluations(manifest: &Manifest) -> Result<BTreeMap<String, String>, FrozenError> {
        let boards = Self::leaderboards(manifest)?.into_iter();
        Ok(boards.map(|board| (board.name.clone(), board.name)).collect())
    }

    /// The files that [`decode`](Benchmark::decode) needs whole.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's or have no such leaderboard.
    fn whole_files(manifest: &Manifest, leaderboard: &str) -> Result<Vec<String>, FrozenError>;

    /// Makes the frozen part of a leaderboard from the files it asked for, by path.
    ///
    /// # Errors
    /// [`FrozenError`] when a file is not what the manifest says.
    fn decode(
        manifest: &Manifest,
        leaderboard: &str,
        files: &BTreeMap<String, Bytes>,
    ) -> Result<Self::Frozen, FrozenError>;

    /// Reads an artifact of at most [`MAX_ARTIFACT_BYTES`](Benchmark::MAX_ARTIFACT_BYTES).
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong with its form.
    fn parse(artifact: &[u8]) -> Result<Self::Submission, Rejection>;

    /// The rows that the rules have to see: where what may be chosen is too much to keep in memory. Whoever uploads decides
    /// what is read here, before anything is known to be within the rules: so rules that need no row, such as how much may
    /// be chosen, are applied first, and of a submission that breaks them nothing is looked up.
    fn lookups(_submission: &Self::Submission, _frozen: &Self::Frozen) -> Vec<RowRequest> {
        Vec::new()
    }

    /// Holds a submission against the rules. `found` answers [`lookups`](Benchmark::lookups), one for each request.
    ///
    /// # Errors
    /// A [`Rejection`] with every broken rule.
    fn validate(
        submission: Self::Submission,
        frozen: &Self::Frozen,
        found: &[ReadRows],
    ) -> Result<Self::Checked, Rejection>;

    /// The parts of the evaluation, done one after another, each with the rows that it needs beyond the frozen
    /// part: never more than one part's rows are in memory.
    fn parts(checked: &Self::Checked, frozen: &Self::Frozen) -> Vec<Vec<RowRequest>>;

    /// Does one part: what the frozen models answer in it. `rows` answers its requests, one for each.
    ///
    /// # Errors
    /// [`FrozenError`] when the frozen numbers can't be used (not finite, of another width).
    fn run(
        checked: &Self::Checked,
        frozen: &Self::Frozen,
        part_idx: usize,
        rows: &[ReadRows],
    ) -> Result<Evidence, FrozenError>;

    /// The score of the evidence of all parts, where each item of the eval sets counts as often as its weight says. With
    /// [`Weights::ones`] it is the score of the receipt; with other weights it is, to the last bit, the score of a data set
    /// whose eval sets have each item as often as its weight says.
    ///
    /// # Errors
    /// [`EvidenceError`] when evidence or weights are not of this data set, or the evidence ends before the score is known.
    fn score(
        frozen: &Self::Frozen,
        evidence: &Evidence,
        weights: &Weights,
    ) -> Result<Scorecard, EvidenceError>;

    /// The hidden items that a board is scored with, by the names of the units of its evidence.
    ///
    /// # Errors
    /// [`EvidenceError`] where the data set has no hidden items, such as one for participants.
    fn eval_items(frozen: &Self::Frozen) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError>;

    /// The scores under all draws of the eval sets, `(N_DRAWS,)`: for each draw, to the last bit, what
    /// [`score`](Benchmark::score) gives for the draw's weights. Where training sets are drawn by chance, these trials are drawn too.
    ///
    /// # Errors
    /// As [`score`](Benchmark::score).
    fn replicates(
        frozen: &Self::Frozen,
        evidence: &Evidence,
        draws: &Draws,
    ) -> Result<Vec<f64>, EvidenceError>;
}
