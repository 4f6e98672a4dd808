//! What the three functions do alike: they read the rules and the file, and have each line judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dataperf::admission::Admission;
use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::{Challenge, Terms};
use dataperf::ports::leaderboard::Submission;
use dataperf::upload::FiledUnder;
use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{Descriptor, Digest, LineOutcome, Reason, Rejection, Timestamp, Upload, Verdict};
use dataperf_aws::{Fault, Resources, Table};
use dataperf_collection::Disqualified;
use dataperf_nibbler::{Artifact, BENCHMARK, Board, DESCRIPTOR, Kind, Line, LineItem as _, RANKING, read};
use lambda_runtime::Context;
use serde_json::{Value, json};

use crate::WELL_BEING;
use crate::disqualified::read_disqualified;
use crate::rules::{Kept, Rules};

/// What a function keeps between invocations, whichever of the three it is.
pub(crate) struct Common {
    pub(crate) resources: Resources,
    kept: Kept,
}

impl Common {
    pub(crate) fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            resources: Resources::from_environment()?,
            kept: Kept::default(),
        })
    }
}

/// One of the three functions: it judges the lines of its kind of file.
pub(crate) trait LineFunction {
    /// A line of its kind of file.
    type Line: Artifact;

    /// What it keeps.
    fn common(&self) -> &Common;

    /// What becomes of the lines of a file. A file without lines, or of another kind, is rejected before.
    async fn judge(&self, case: &Case<'_>, lines: Vec<Line<Self::Line>>) -> Result<Judged, WorkflowError>;
}

/// One upload that is being judged.
pub(crate) struct Case<'a> {
    pub(crate) rules: Arc<Rules>,
    /// The round it counts in.
    pub(crate) round: String,
    pub(crate) table: &'a Table,
    pub(crate) submission: &'a Submission,
    pub(crate) context: &'a Context,
    /// What was disqualified when the run began.
    pub(crate) disqualified: Disqualified,
}

/// A run that has less time left begins no further line: what it has begun needs the bucket and the table.
pub(crate) const RESERVE: Duration = Duration::from_secs(15);

impl Case<'_> {
    /// How much of the run's time is left.
    pub(crate) fn time_left(&self) -> Duration {
        let deadline = self.context.deadline();
        deadline.duration_since(SystemTime::now()).unwrap_or_default()
    }

    /// Whether the run has time for another line, which may take so long. If not, another run goes on after the lines that are done,
    /// in an event of its own: the retries of this one are for faults. A run that has done no line anew, of `n_new`, tries
    /// one whatever time is left, so that no file goes on for ever.
    ///
    /// # Errors
    /// [`WorkflowError::GoesOn`] when it has not.
    pub(crate) fn has_time(&self, line: Duration, n_new: usize) -> Result<(), WorkflowError> {
        if n_new == 0 || self.time_left() >= line + RESERVE {
            return Ok(());
        }
        Err(WorkflowError::GoesOn)
    }
}

/// What is worth saying of an upload beside its lines.
pub(crate) type Notes = BTreeMap<String, Value>;

/// What a function says of a file.
pub(crate) enum Judged {
    /// It is rejected as a whole.
    Rejected(Rejection),
    /// Each line has its outcome.
    Lines(Vec<LineOutcome>, Notes),
}

/// Settles an upload by what `function` says of its lines.
pub(crate) async fn settle_lines<F: LineFunction>(
    function: &F,
    upload: &Upload,
    context: &Context,
) -> Result<Option<Settled>, Fault> {
    let evaluator = LineEvaluator { function, context };
    let resources = &function.common().resources;
    match resources.settle(upload, &evaluator).await {
        Err(WorkflowError::GoesOn) => {
            resources.go_on(upload, context).await?;
            Ok(None)
        }
        settled => Ok(Some(settled?)),
    }
}

/// A function in one invocation, which has this context.
struct LineEvaluator<'a, F> {
    function: &'a F,
    context: &'a Context,
}

impl<F: LineFunction> Evaluator for LineEvaluator<'_, F> {
    fn hosted(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn max_artifact_bytes(&self) -> u64 {
        F::Line::MAX_BYTES
    }

    /// The round that counts is that of the first board: both are of one challenge. Nothing is counted against its limits,
    /// which are about scores.
    fn terms(&self, challenge: Option<&Challenge>, key: &FiledUnder, at: Timestamp) -> Terms {
        let board = Board::ALL[0].as_str();
        let terms = Terms::of(challenge, board, &key.submitter, at);
        Terms {
            limits: None,
            ranking: RANKING,
            refusal: wrong_kind::<F::Line>(&key.leaderboard)
                .or_else(|| after_the_close::<F::Line>(&terms, at))
                .or(terms.refusal),
            ..terms
        }
    }

    async fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
        _admission: &Admission<'_>, // nothing is counted against limits
    ) -> Result<Verdict, WorkflowError> {
        let Common { resources, kept } = self.function.common();
        let kind = &submission.board.leaderboard;
        let digest = Digest::of(artifact);
        let rejected =
            |rejection: &Rejection| Verdict::rejected(BENCHMARK, kind, None, Some(digest), rejection);
        let rules = kept.rules(resources.datasets().await, terms.dataset).await?;
        let lines = match read::<F::Line>(artifact, &rules.configuration) {
            Ok(lines) => lines,
            Err(rejection) => return Ok(rejected(&rejection)),
        };
        let dataset = rules.dataset;
        let table = &resources.leaderboards().await;
        let disqualified = read_disqualified(table).await?;
        if let Some(reason) = refused::<F::Line>(&disqualified, &submission.submitter) {
            return Ok(rejected(&reason.into()));
        }
        let case = Case {
            rules,
            round: terms.round.clone(),
            table,
            disqualified,
            submission,
            context: self.context,
        };
        Ok(match Box::pin(self.function.judge(&case, lines)).await? {
            Judged::Rejected(rejection) => rejected(&rejection),
            Judged::Lines(lines, mut notes) => {
                notes.insert("well_being".into(), json!(WELL_BEING));
                Verdict::of_lines(BENCHMARK, kind, dataset, digest, lines, notes)
            }
        })
    }
}

/// Nothing is taken of who is disqualified in that role.
fn refused<T: Artifact>(disqualified: &Disqualified, name: &str) -> Option<Reason> {
    let (is_refused, whose) = match T::KIND {
        Kind::Verdict => (disqualified.has_rater(name), "verdicts"),
        Kind::Generate | Kind::Submit => (disqualified.has_submitter(name), "requests and pairs"),
    };
    is_refused.then(|| {
        let name = dataperf::quote(name);
        let message = format!("{name} is disqualified, no more {whose} are taken: ask the organizer why");
        Reason::new("disqualified", "", message)
    })
}

/// Images cost money, and after the close nothing is scored that they could be for.
fn after_the_close<T: Artifact>(terms: &Terms, at: Timestamp) -> Option<Reason> {
    let closed = terms
        .closes
        .filter(|closes| T::KIND == Kind::Generate && *closes <= at)?;
    let message = format!(
        "the round has closed at {closed}: no more images are made. Pairs of the images that you have are taken still, and count for no round"
    );
    Some(Reason::new("round_closed", "", message))
}

fn wrong_kind<T: Artifact>(kind: &str) -> Option<Reason> {
    if kind == T::KIND.as_str() {
        return None;
    }
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    let message = format!(
        "there is nothing called {}: upload to one of `{}`",
        dataperf::quote(kind),
        kinds.join("`, `")
    );
    Some(Reason::new("unknown_kind", "", message))
}
