//! What a benchmark has to say so that the platform can host it: of its data sets, and of what is submitted.

pub mod allowance;
pub mod closed;
pub(crate) mod column;
pub mod dataset;
pub(crate) mod descriptor;
pub(crate) mod feedback;
pub mod scorecard;
pub mod warm;

use std::ops::RangeInclusive;

use crate::benchmark::closed::ClosedBoards;
use crate::benchmark::scorecard::{Metric, Scorecard};
use crate::board::rank_key::Direction;
use crate::dataset::errors::DatasetError;
use crate::dataset::files::Files;
use crate::dataset::frozen::{FrozenError, Manifest};
use crate::evidence::{Draws, EvalItems, Evidence, EvidenceError, OnCurves, Weights, mean_over_units};
use crate::rejection::Rejection;

pub use crate::dataset::errors::NotScored;
pub use crate::dataset::leaderboard::{Leaderboard, PUBLIC, PictureForm};

/// The frozen part of a data set: what scoring keeps in memory of it between submissions to one leaderboard.
pub trait FrozenPart: Sized + Send + Sync + 'static {
    /// The leaderboards of a data set.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest's parameters are not this benchmark's.
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError>;

    /// Whether participants may have a file of a data set. The others are hidden: nothing of them is in a kit, and the read API does
    /// not say how large they are.
    fn is_public(path: &str) -> bool {
        path.starts_with(PUBLIC)
    }

    /// Reads the frozen part of a leaderboard: everything that every evaluation needs and that fits in memory. Of a participants' kit it
    /// is what the rules need, and nothing hidden.
    ///
    /// # Errors
    /// [`DatasetError`] when a file can't be read or is not what the manifest says, or there is no such leaderboard.
    fn open(files: &Files<'_>, leaderboard: &str) -> impl Future<Output = Result<Self, DatasetError>> + Send;

    /// The hidden items that a leaderboard is scored with and the metric of a model's answers to them, by the names of the units of its
    /// evidence.
    ///
    /// # Errors
    /// [`EvidenceError`] where the data set has no hidden items, such as one for participants.
    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError>;
}

/// Sorts the lists of texts in a value.
fn sort_names(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(sort_names);
            if items.iter().all(serde_json::Value::is_string) {
                items.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
        }
        serde_json::Value::Object(members) => members.values_mut().for_each(sort_names),
        _ => {}
    }
}

/// A benchmark: its wire format, its rules, its frozen models and its score. The same artifact and the same data set give the same
/// verdict on any machine and any number of threads: nothing here may look at a clock, an environment or another file.
///
/// The platform calls, in this order: [`FrozenPart::open`] (once a leaderboard, then kept in memory),
/// [`check`](Benchmark::check), [`run`](Benchmark::run) and [`score`](Benchmark::score). Whatever they need of the data set they read
/// through [`Files`]. [`FrozenPart::eval_items`] and [`replicates`](Benchmark::replicates) tell what a score is worth.
pub trait Benchmark: Sized + Send + Sync + 'static {
    /// The id: the first part of every key, the function's name, the first word of every partition.
    const ID: &'static str;
    /// One line for people.
    const ABOUT: &'static str;
    /// The largest artifact that is read at all.
    const MAX_ARTIFACT_BYTES: u64;
    /// The forms that an artifact may have, of `json`, `csv` and `zip`.
    const FORMS: &'static [&'static str] = &["json"];
    /// Which scores are better.
    const DIRECTION: Direction;
    /// The scores there can be.
    const SCORE_RANGE: RangeInclusive<f64> = 0.0..=1.0;
    /// What the metrics of a score are, and who sees them when.
    const METRICS: &'static [Metric];
    /// The codes of rejections that follow from hidden data, which tell something about it as a score does, and of those that take the
    /// time of a score. They count against a submitter's limits.
    const COUNTED_REJECTIONS: &'static [&'static str] = &[];

    /// What scoring keeps in memory between submissions to one leaderboard.
    type Frozen: FrozenPart;
    /// A submission that obeys the rules: only [`check`](Benchmark::check) makes one.
    type Checked: Send + Sync;
    /// What submitted programs are given and what becomes of what they write: [`NoClosedBoards`](crate::benchmark::closed::NoClosedBoards) where only
    /// artifacts are taken.
    type ClosedBoards: ClosedBoards;

    /// Holds an artifact against its form alone, which needs no data set: what can be said before an upload.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong with the form.
    fn check_form(artifact: &[u8]) -> Result<(), Rejection>;

    /// Reads an artifact of at most [`MAX_ARTIFACT_BYTES`](Benchmark::MAX_ARTIFACT_BYTES) and holds it against the rules.
    ///
    /// Artifacts are hostile. Where the rules have to see rows of the data set, [`Files::rows_within`] reads them: the submitter decides
    /// how many. Rules that need no row come first, and for an artifact that breaks them no row is read.
    ///
    /// # Errors
    /// [`NotScored::Rejected`] with everything that is wrong with the artifact's form and every broken rule, or
    /// [`NotScored::Dataset`].
    fn check(
        artifact: &[u8],
        frozen: &Self::Frozen,
        files: &Files<'_>,
    ) -> impl Future<Output = Result<Self::Checked, NotScored>> + Send;

    /// What an artifact says, in one form: artifacts that say the same have the same bytes, whatever form and order they are written in. `None` for
    /// one that can't be read. Unless a benchmark says otherwise, the order of names does not count.
    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        let mut json: serde_json::Value = serde_json::from_slice(artifact).ok()?;
        sort_names(&mut json);
        // keys are sorted
        serde_json::to_vec(&json).ok()
    }

    /// Fits the frozen models and asks them for every item of the test sets. Rows that are too many to be kept in memory are read here,
    /// and dropped as soon as they have been used.
    ///
    /// # Errors
    /// [`NotScored::Dataset`] when rows can't be read, or the frozen numbers can't be used (not finite, of another width);
    /// [`NotScored::Rejected`] when no model comes of what obeys the rules. By then the artifact has taken as much time as one that is
    /// scored, so that the codes of these rejections belong to [`COUNTED_REJECTIONS`](Benchmark::COUNTED_REJECTIONS).
    fn run(
        checked: &Self::Checked,
        frozen: &Self::Frozen,
        files: &Files<'_>,
    ) -> impl Future<Output = Result<Evidence, NotScored>> + Send;

    /// The score of evidence, where each item of the test sets counts as often as its weight says. With
    /// [`Weights::ones`] it is the score of the receipt; with other weights it is, to the last bit, the score of a data set
    /// whose test sets have each item as often as its weight says.
    ///
    /// # Errors
    /// [`EvidenceError`] when evidence or weights are not of this data set, or the evidence ends before the score is known.
    fn score(
        frozen: &Self::Frozen,
        evidence: &Evidence,
        weights: &Weights,
    ) -> Result<Scorecard, EvidenceError>;

    /// The score of a receipt: of evidence in which each item counts once.
    ///
    /// # Errors
    /// As [`score`](Benchmark::score).
    fn scorecard(frozen: &Self::Frozen, evidence: &Evidence) -> Result<Scorecard, EvidenceError> {
        Self::score(frozen, evidence, &Weights::ones())
    }

    /// The scores under all draws of the test sets, `(N_DRAWS,)`: for each draw, to the last bit, what
    /// [`score`](Benchmark::score) gives for the draw's weights. Where training sets are drawn by chance, these trials are drawn too.
    ///
    /// Unless a benchmark says otherwise, the score is the mean over the units of the mean over the repeats of the metric in
    /// [`eval_items`](FrozenPart::eval_items).
    ///
    /// # Errors
    /// As [`score`](Benchmark::score).
    fn replicates(
        frozen: &Self::Frozen,
        evidence: &Evidence,
        draws: &Draws,
    ) -> Result<Vec<f64>, EvidenceError> {
        mean_over_units(frozen.eval_items()?, evidence, draws)
    }

    /// The number of equal steps in which the score moves from 0 to 1, where it counts something; `None` where it does not.
    fn n_steps(_frozen: &Self::Frozen) -> Option<usize> {
        None
    }

    /// What the draws tell of curves, where the score is the place where these reach their target: the interval of that place, by a test on the
    /// draws, and the area under the curves. `None` where the score is no such place, and where the curves are not whole.
    ///
    /// # Errors
    /// [`EvidenceError`] when the evidence is not of this data set.
    fn on_curves(
        _frozen: &Self::Frozen,
        _evidence: &Evidence,
        _draws: &Draws,
    ) -> Result<Option<OnCurves>, EvidenceError> {
        Ok(None)
    }
}
