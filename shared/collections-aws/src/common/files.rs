//! Code shared by functions that take files of lines: they read the rules and the file, and have
//! each line judged.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dataperf::challenge::{Challenge, Terms};
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::no_leaderboard;
use dataperf::dataset::frozen::FrozenError;
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::artifact_judge::Evaluator;
use dataperf::evaluation::workflow::{Settled, WorkflowError};
use dataperf::submission::Submission;
use dataperf::{Descriptor, Digest, LineOutcome, Reason, Rejection, Timestamp, Upload, Verdict};
use dataperf_aws::{Fault, Function, Resources, Table};
use dataperf_collections::common::{Disqualified, Line, LineItem, read};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde_json::json;

use crate::common::collection::{Collection, Notes};
use crate::common::disqualified::read_disqualified;
use crate::common::rules::{Kept, Rules};
use crate::common::scores::places::Places;

/// A function's state between invocations.
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

    /// The stores for decisions and scores.
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

    /// The function's state between invocations.
    fn common(&self) -> &Common<Self::Collection>;

    /// The rules that lines have to obey.
    fn held_against(configuration: &Configuration<Self>) -> &<Self::Line as LineItem>::Rules;

    /// Why a person's lines are refused, if the person is disqualified.
    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason>;

    /// Why lines uploaded at `_at` are refused, if so.
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
    /// The organizer's configuration.
    pub rules: Arc<Rules<C::Configuration>>,
    /// The round it counts in.
    pub round: String,
    /// The table.
    pub table: &'a Table,
    /// The upload, as the table knows it.
    pub submission: &'a Submission,
    /// The context of the invocation.
    pub context: &'a Context,
    /// The disqualifications at the beginning of the run.
    pub disqualified: Disqualified,
}

/// The reserved time of a run: with less left it starts no further line, because it has to store
/// the finished ones.
pub const RESERVE: Duration = Duration::from_secs(15);

impl<C: Collection> Case<'_, C> {
    /// How much of the run's time is left.
    pub fn time_left(&self) -> Duration {
        let deadline = self.context.deadline();
        deadline.duration_since(SystemTime::now()).unwrap_or_default()
    }

    /// Checks that the run has time for another line, which may take as long as `line`. If not, a
    /// separate event starts a run that continues after the finished lines, because retries of this
    /// event are for faults. A run that has finished no new line (`n_new` is 0) tries one anyway,
    /// so that every file ends.
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

/// A function's answer for a file.
pub enum Judged {
    /// It is rejected as a whole.
    Rejected(Rejection),
    /// Each line has its outcome.
    Lines(Vec<LineOutcome>, Notes),
}

/// Serves a function that takes files of lines, until the host ends it.
///
/// # Errors
/// When the runtime's host is gone.
pub async fn serve_lines<F: LineFunction>(function: F) -> Result<(), lambda_runtime::Error> {
    dataperf_aws::serve(Lines(function)).await
}

/// A function that takes nothing but files of lines.
struct Lines<F>(F);

impl<F: LineFunction> Function for Lines<F> {
    fn benchmark(&self) -> &'static str {
        F::Collection::DESCRIPTOR.id
    }

    fn resources(&self) -> &Resources {
        &self.0.common().resources
    }

    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>> {
        settle_lines(&self.0, upload, context).boxed_local()
    }
}

/// Settles an upload by what `function` says of its lines.
///
/// # Errors
/// [`Fault`].
pub(super) async fn settle_lines<F: LineFunction>(
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

    /// The first board's round counts, because all boards belong to one challenge. Nothing counts
    /// against its limits, which apply to scores.
    fn terms(&self, challenge: Option<&Challenge>, submission: &Submission) -> Terms {
        let at = submission.received_at;
        let terms = Terms::resolve(challenge, F::Collection::BOARD, &submission.submitter, at);
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
        let digest = Digest::compute(artifact);
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
        "{} is not a leaderboard here: upload to one of `{}`",
        dataperf::quote(kind),
        F::Collection::DESCRIPTOR.kinds.join("`, `")
    );
    Some(Reason::new("unknown_kind", "", message))
}
