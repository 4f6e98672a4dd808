//! The judge of artifacts: it decides whether an artifact is evaluated at all, and has it evaluated.

use std::future::Future;

use bytes::Bytes;

use crate::benchmark::descriptor::Descriptor;
use crate::board::Board;
use crate::challenge::{Challenge, Terms};
use crate::evaluation::admission::Admission;
use crate::evaluation::evaluate::too_large;
use crate::evaluation::workflow::{Judge, WorkflowError};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::programs::{Output, Programs};
use crate::receipt::verdict::Verdict;
use crate::rejection::{Reason, Rejection};
use crate::submission::Submission;
use crate::table::leaderboard::Leaderboards;
use crate::upload::Upload;

/// Evaluates artifacts: a benchmark with its data sets, or whatever else takes artifacts.
pub trait Evaluator {
    /// The description of the artifacts' benchmark.
    fn hosted(&self) -> &'static Descriptor;

    /// The largest artifact that is read at all.
    fn max_artifact_bytes(&self) -> u64;

    /// The terms that a challenge has for a submission.
    fn terms(&self, challenge: Option<&Challenge>, submission: &Submission) -> Terms {
        let Submission { board, submitter, .. } = submission;
        Terms::resolve(challenge, &board.leaderboard, submitter, submission.received_at)
    }

    /// The verdict on an artifact. What is not admitted is not scored.
    ///
    /// # Errors
    /// [`WorkflowError`] when there can't be a verdict this time. A bad artifact is a verdict.
    fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
        admission: &Admission<'_>,
    ) -> impl Future<Output = Result<Verdict, WorkflowError>>;

    /// Judges the output of a program, and returns when the verdict may be recorded: after
    /// [`Output::wait`] if it is shown.
    fn held(
        &self,
        _submission: &Submission,
        _output: &Output,
        judged: impl Future<Output = Result<Verdict, WorkflowError>>,
    ) -> impl Future<Output = Result<Verdict, WorkflowError>> {
        judged
    }

    /// Requests a run of a submitted program on the data set of its terms. Returns once the request
    /// is sent.
    ///
    /// # Errors
    /// [`WorkflowError`] if the request fails, or this benchmark takes no programs.
    fn ask_for_run(
        &self,
        submission: &Submission,
        _terms: &Terms,
        _programs: &Programs,
    ) -> impl Future<Output = Result<(), WorkflowError>> {
        let message = format!("`{}` takes no programs", submission.board.benchmark);
        std::future::ready(Err(WorkflowError::organizer(message)))
    }
}

/// Judges an upload by its artifact.
pub struct ArtifactJudge<'a, E> {
    /// Evaluates the artifact.
    pub evaluator: &'a E,
    /// The challenge that is published, if one is. If it can't be read, the upload is received all the same, so that a mistake in the challenge makes
    /// no upload unknown.
    pub challenge: Result<Option<Challenge>, WorkflowError>,
    /// The bucket with the artifact.
    pub submissions: &'a dyn Bucket,
    /// The table, which knows what has been used of the limits.
    pub leaderboards: &'a dyn Leaderboards,
}

impl<E: Evaluator> Judge for ArtifactJudge<'_, E> {
    fn hosted(&self) -> &'static Descriptor {
        self.evaluator.hosted()
    }

    fn ready(self) -> Result<Self, WorkflowError> {
        let challenge = Ok(self.challenge?);
        Ok(Self { challenge, ..self })
    }

    fn terms(&self, submission: &Submission) -> Terms {
        let challenge = self.challenge.as_ref().ok().and_then(Option::as_ref);
        self.evaluator.terms(challenge, submission)
    }

    fn challenge(&self) -> Option<Challenge> {
        self.challenge.as_ref().ok().cloned().flatten()
    }

    async fn judge(self, submission: &Submission, terms: &Terms) -> Result<Verdict, WorkflowError> {
        let benchmark = self.evaluator.hosted().id;
        if let Some(misplaced) = submission.misplaced(benchmark) {
            return Ok(rejected(submission, &misplaced));
        }
        if let Some(reason) = refusal(submission, terms, self.leaderboards).await? {
            return Ok(rejected(submission, &reason.into()));
        }
        let admission = Admission::limited(self.leaderboards, submission, terms);
        evaluated(self.evaluator, submission, terms, self.submissions, &admission).await
    }
}

/// Why a submission is not evaluated at all: its round is not open, or a limit is used up already.
async fn refusal(
    submission: &Submission,
    terms: &Terms,
    leaderboards: &dyn Leaderboards,
) -> Result<Option<Reason>, PortError> {
    let limited = terms
        .limits
        .filter(|limits| limits.daily.or(limits.total).is_some());
    if terms.refusal.is_some() || limited.is_none() {
        return Ok(terms.refusal.clone());
    }
    let Submission {
        board,
        submitter,
        received_at,
        ..
    } = submission;
    let board = Board {
        round: terms.round.clone(),
        ..board.clone()
    };
    let usage = leaderboards
        .usage(&terms.counter(&board), submitter, *received_at)
        .await?;
    if terms.over_limit(usage).is_none() {
        return Ok(None);
    }
    // a delivery of this upload that broke off may have been counted already
    Admission::limited(leaderboards, submission, terms)
        .refusal()
        .await
}

/// Reads the artifact within its limit and evaluates it. Where programs are uploaded, it is what the program has written.
pub(crate) async fn evaluated<E: Evaluator>(
    evaluator: &E,
    submission: &Submission,
    terms: &Terms,
    submissions: &dyn Bucket,
    admission: &Admission<'_>,
) -> Result<Verdict, WorkflowError> {
    if let Some(programs) = &terms.programs {
        return written(evaluator, submission, terms, programs, submissions, admission).await;
    }
    if evaluator.hosted().only_programs {
        return Ok(rejected(submission, &programs_only().into()));
    }
    match read_artifact(&submission.upload, submissions, evaluator.max_artifact_bytes()).await? {
        Ok(artifact) => evaluator.evaluate(submission, terms, &artifact, admission).await,
        Err(rejection) => Ok(rejected(submission, &rejection)),
    }
}

/// Why the platform can't evaluate the artifact: its scores depend on the cost of a program's run,
/// and an artifact has none.
fn programs_only() -> Reason {
    let message = "this board takes only programs, and only in a round of the closed division, because the score counts \
        what a program's run takes. Upload a program in such a round";
    Reason::new("programs_only", "", message)
}

/// Evaluates the output of a program. If there is no output yet, requests a run of the program.
async fn written<E: Evaluator>(
    evaluator: &E,
    submission: &Submission,
    terms: &Terms,
    programs: &Programs,
    submissions: &dyn Bucket,
    admission: &Admission<'_>,
) -> Result<Verdict, WorkflowError> {
    let benchmark = &submission.board.benchmark;
    let output = Output::read(submissions, benchmark, &submission.id, terms.dataset).await?;
    let Some(output) = output else {
        // counted before it is run, as others are before they are evaluated
        if let Some(refused) = admission.refusal().await? {
            return Ok(rejected(submission, &refused.into()));
        }
        evaluator.ask_for_run(submission, terms, programs).await?;
        return Err(WorkflowError::GoesOn);
    };
    let judged = async {
        match output.artifact() {
            Ok(artifact) => evaluator.evaluate(submission, terms, artifact, admission).await,
            Err(rejection) => Ok(rejected(submission, &rejection)),
        }
    };
    let verdict = evaluator.held(submission, &output, judged).await?;
    Ok(output.disclose(verdict))
}

/// The rejection of a submission whose artifact was not evaluated.
fn rejected(submission: &Submission, rejection: &Rejection) -> Verdict {
    let Board {
        benchmark,
        leaderboard,
        ..
    } = &submission.board;
    Verdict::rejected(benchmark, leaderboard, None, None, rejection)
}

/// The bytes of an upload, at most `max_bytes`. A file that is too large, deleted, or stored so that it can't be read is a rejection.
#[tracing::instrument(name = "read artifact", skip_all)]
async fn read_artifact(
    upload: &Upload,
    submissions: &dyn Bucket,
    max_bytes: u64,
) -> Result<Result<Bytes, Rejection>, PortError> {
    let got = submissions.get(&upload.key, upload.version.as_deref(), max_bytes);
    let got = match got.await {
        Err(PortError::Unreadable { why, .. }) => return Ok(Err(why.into())),
        got => got?,
    };
    Ok(match got {
        Got::Object(object) => Ok(object.bytes),
        Got::TooLarge { n_bytes } => Err(too_large(max_bytes, n_bytes)),
        Got::Missing => {
            let message = "somebody deleted the file before the platform could evaluate it: upload it again";
            Err(Reason::new("deleted", "", message).into())
        }
    })
}
