//! What is shared by functions that take files of lines: they read the rules and the file, and have each line judged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dataperf::admission::Admission;
use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::{Challenge, Terms};
use dataperf::dataset::DatasetError;
use dataperf::frozen::FrozenError;
use dataperf::in_force::no_leaderboard;
use dataperf::ports::leaderboard::Submission;
use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{Descriptor, Digest, LineOutcome, Reason, Rejection, Timestamp, Upload, Verdict};
use dataperf_aws::{Fault, Resources, Table};
use dataperf_collection::{Disqualified, Line, LineItem, read};
use lambda_runtime::Context;
use serde_json::{Value, json};

use crate::collection::Collection;
use crate::disqualified::read_disqualified;
use crate::places::Places;
use crate::rules::{Kept, Rules};

/// What a function keeps between invocations.
pub struct Common<C: Collection> {
    /// The cloud.
    pub resources: Resources,
    /// The rules that were read last.
    pub kept: Kept<C>,
}

impl<C: Collection> Common<C> {
    /// Reads the function's environment.
    ///
    /// # Errors
    /// When it lacks a variable.
    pub fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            resources: Resources::from_environment()?,
            kept: Kept::default(),
        })
    }

    /// Where items are decided and scores are written.
    pub async fn places(&self) -> Places {
        let resources = &self.resources;
        Places {
            table: resources.leaderboards().await,
            datasets: resources.datasets().await,
            results: resources.results().await,
            signer: resources.signer().await,
        }
    }
}

/// A function that judges the lines of one kind of file.
pub trait LineFunction {
    /// The collection that its files belong to.
    type Collection: Collection;
    /// A line of its kind of file.
    type Line: LineItem;
    /// The part of the keys under which its files are uploaded.
    const KIND: &'static str;

    /// What the function keeps between invocations.
    fn common(&self) -> &Common<Self::Collection>;

    /// The rules that lines have to obey.
    fn held_against(configuration: &Configuration<Self>) -> &<Self::Line as LineItem>::Rules;

    /// The reason for which nothing is taken of a person, if the person is disqualified.
    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason>;

    /// The reason for which nothing is taken that was uploaded at `_at`, if there is one.
    fn refused_at(&self, _terms: &Terms, _at: Timestamp) -> Option<Reason> {
        None
    }

    /// The outcome of each line of a file. A file without lines, or of another kind, is rejected before.
    fn judge(
        &self,
        case: &Case<'_, Self::Collection>,
        lines: Vec<Line<Self::Line>>,
    ) -> impl Future<Output = Result<Judged, WorkflowError>>;
}

/// The configuration of a function's collection.
pub type Configuration<F> = <<F as LineFunction>::Collection as Collection>::Configuration;

/// One upload that is being judged.
pub struct Case<'a, C: Collection> {
    /// The file.
    pub artifact: &'a [u8],
    /// What the organizer has decided.
    pub rules: Arc<Rules<C::Configuration>>,
    /// The round it counts in.
    pub round: String,
    /// The table.
    pub table: &'a Table,
    /// The upload, as the table knows it.
    pub submission: &'a Submission,
    /// The context of the invocation.
    pub context: &'a Context,
    /// What was disqualified when the run began.
    pub disqualified: Disqualified,
}

/// The time that a run keeps in reserve: with less left it begins no further line, because it has to store what it has begun.
pub const RESERVE: Duration = Duration::from_secs(15);

impl<C: Collection> Case<'_, C> {
    /// How much of the run's time is left.
    pub fn time_left(&self) -> Duration {
        let deadline = self.context.deadline();
        deadline.duration_since(SystemTime::now()).unwrap_or_default()
    }

    /// Checks that the run has time for another line, which may take as long as `line`. If not, another run goes on after the finished lines, in an
    /// event of its own, because the retries of this event are for faults. A run that has finished no line anew (`n_new` is 0) tries one whatever
    /// time is left, so that every file ends.
    ///
    /// # Errors
    /// [`WorkflowError::GoesOn`] when it has not.
    pub fn has_time(&self, line: Duration, n_new: usize) -> Result<(), WorkflowError> {
        if n_new == 0 || self.time_left() >= line + RESERVE {
            return Ok(());
        }
        Err(WorkflowError::GoesOn)
    }
}

/// What a receipt says of an upload beside its lines.
pub type Notes = BTreeMap<String, Value>;

/// What a function says of a file.
pub enum Judged {
    /// It is rejected as a whole.
    Rejected(Rejection),
    /// Each line has its outcome.
    Lines(Vec<LineOutcome>, Notes),
}

/// Settles an upload by what `function` says of its lines.
///
/// # Errors
/// [`Fault`].
pub async fn settle_lines<F: LineFunction>(
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
        F::Collection::DESCRIPTOR
    }

    fn max_artifact_bytes(&self) -> u64 {
        F::Line::MAX_BYTES
    }

    /// The round that counts is that of the first board: all are of one challenge. Nothing is counted against its limits,
    /// which are about scores.
    fn terms(&self, challenge: Option<&Challenge>, submission: &Submission) -> Terms {
        let at = submission.received_at;
        let terms = Terms::of(challenge, F::Collection::BOARD, &submission.submitter, at);
        Terms {
            limits: None,
            daily_failures: None,
            ranking: F::Collection::RANKING,
            refusal: wrong_kind::<F>(&submission.board.leaderboard)
                .or_else(|| self.function.refused_at(&terms, at))
                .or(terms.refusal),
            ..terms
        }
    }

    async fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
        admission: &Admission<'_>,
    ) -> Result<Verdict, WorkflowError> {
        let Common { resources, kept } = self.function.common();
        let (benchmark, kind) = (F::Collection::DESCRIPTOR.id, &submission.board.leaderboard);
        let digest = Digest::of(artifact);
        let rejected =
            |rejection: &Rejection| Verdict::rejected(benchmark, kind, None, Some(digest), rejection);
        let rules = match kept.rules(resources.datasets().await, terms.dataset).await {
            Err(DatasetError::Frozen(FrozenError::NotInForce { .. })) => {
                return Ok(rejected(&no_leaderboard(benchmark).into()));
            }
            rules => rules?,
        };
        let lines = match read::<F::Line>(artifact, F::held_against(&rules.configuration)) {
            Ok(lines) => lines,
            Err(rejection) => return Ok(rejected(&rejection)),
        };
        let dataset = rules.dataset;
        let table = &resources.leaderboards().await;
        let disqualified = read_disqualified(table, F::Collection::SPACE).await?;
        if let Some(reason) = self.function.refused(&disqualified, &submission.submitter) {
            return Ok(rejected(&reason.into()));
        }
        if let Some(reason) = admission.refusal().await? {
            return Ok(rejected(&reason.into()));
        }
        let case = Case {
            artifact,
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
                notes.insert("well_being".into(), json!(F::Collection::WELL_BEING));
                Verdict::of_lines(benchmark, kind, dataset, digest, lines, notes)
            }
        })
    }
}

fn wrong_kind<F: LineFunction>(kind: &str) -> Option<Reason> {
    if kind == F::KIND {
        return None;
    }
    let message = format!(
        "there is nothing called {}: upload to one of `{}`",
        dataperf::quote(kind),
        F::Collection::DESCRIPTOR.kinds.join("`, `")
    );
    Some(Reason::new("unknown_kind", "", message))
}
