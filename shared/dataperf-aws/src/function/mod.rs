//! The Lambda function of a benchmark: a function crate is a call of [`run`].

pub(crate) mod evaluators;
pub(crate) mod fail_upload;
mod finish;
pub(crate) mod report;
pub(crate) mod requests;
mod rescore;
pub(crate) mod resources;
pub(crate) mod serve;
mod time_limit;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use dataperf::benchmark::NotScored;
use dataperf::benchmark::warm::Warm;
use dataperf::board::Board;
use dataperf::challenge::Terms;
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::artifact_judge::Evaluator;
use dataperf::evaluation::evaluate::evaluate_to_compare;
use dataperf::evaluation::workflow::{Settled, WorkflowError};
use dataperf::ports::bucket::Bucket;
use dataperf::programs::{Output, ProgramRequest, Programs};
use dataperf::replicates::Replicates;
use dataperf::submission::Submission;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Benchmark, Descriptor, Digest, Ending, Upload, Verdict};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde_json::Value;
use tracing::{Instrument, info_span};

use crate::S3Bucket;
use crate::boards::comparisons::{Comparer, Stores};
use crate::events::fault::Fault;
use crate::function::rescore::{go_on, rescore};
use crate::function::resources::Resources;
use crate::function::serve::{Function, serve};
use crate::function::time_limit::{Watch, last_moment};
use crate::runtime::now;

/// How often an upload is evaluated at most while others keep changing its board's data set.
const EVALUATIONS: usize = 3;

/// The function reads the active data set first if an evaluation takes longer than this.
const QUICK: Duration = Duration::from_secs(1);

/// The variable with the budget of data sets in memory, in MiB.
const WARM: &str = "DATAPERF_WARM_MIB";
/// The budget in MiB unless the variable says otherwise: more than all boards of the largest public data set take.
const WARM_MIB: u64 = 512;

/// The budget in bytes.
fn warm_bytes() -> Result<u64, lambda_runtime::Error> {
    let mib = match std::env::var(WARM) {
        Ok(text) => text
            .parse::<u64>()
            .map_err(|_| format!("`{WARM}` has to be a whole number of MiB, not `{text}`"))?,
        Err(_) => WARM_MIB,
    };
    Ok(mib.saturating_mul(1 << 20))
}

/// Scores artifacts. Only this part depends on the benchmark's type; all other code is compiled once for all benchmarks.
trait Scorer {
    /// The benchmark.
    fn hosted(&self) -> &'static Descriptor;

    /// The verdict with one data set and, for a score, what is kept so that it can be compared with others.
    fn score<'a>(
        &'a self,
        datasets: S3Bucket,
        case: Case<'a>,
    ) -> LocalBoxFuture<'a, Result<Scored, DatasetError>>;
}

/// An artifact to be scored.
#[derive(Clone, Copy)]
struct Case<'a> {
    dataset: Digest,
    leaderboard: &'a str,
    artifact: &'a [u8],
    admission: &'a Admission<'a>,
    /// Whether the score is rounded to the precision that the hidden items support.
    is_rounded: bool,
}

/// A verdict and, for a score, the bytes of its replicates.
type Scored = (Verdict, Option<Vec<u8>>);

impl<B: Benchmark> Scorer for Warm<B> {
    fn hosted(&self) -> &'static Descriptor {
        &const { Descriptor::for_benchmark::<B>() }
    }

    fn score<'a>(
        &'a self,
        datasets: S3Bucket,
        case: Case<'a>,
    ) -> LocalBoxFuture<'a, Result<Scored, DatasetError>> {
        async move {
            let dataset = self.dataset(datasets, case.dataset);
            let dataset = dataset.instrument(info_span!("open data set")).await?;
            let Case {
                leaderboard,
                artifact,
                admission,
                is_rounded,
                ..
            } = case;
            evaluate_to_compare(&dataset, leaderboard, artifact, admission, is_rounded).await
        }
        .boxed_local()
    }
}

/// A benchmark's function, with what is kept between invocations.
struct BenchmarkFunction {
    resources: Resources,
    scorer: Box<dyn Scorer>,
    /// By leaderboard, the data set of the last score. The next submission is evaluated with it
    /// before the function reads which one is active. If that is another one, the submission is
    /// evaluated again. So only data sets whose evaluation takes at most [`QUICK`] are kept.
    scored_with: Mutex<BTreeMap<String, Digest>>,
    comparer: Comparer,
    /// Until when the verdict that is under way can be held.
    last_moment: Mutex<Option<SystemTime>>,
}

/// Runs a benchmark's function until the host ends it: for each upload an event announces, one verdict.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run<B: Benchmark>() -> Result<(), lambda_runtime::Error> {
    crate::log_as_json();
    run_scorer(Box::new(Warm::<B>::new(warm_bytes()?))).await
}

/// Boxed, so that this crate compiles the code and not each function.
fn run_scorer(scorer: Box<dyn Scorer>) -> LocalBoxFuture<'static, Result<(), lambda_runtime::Error>> {
    async {
        let resources = Resources::from_environment()?;
        serve(BenchmarkFunction {
            resources,
            scorer,
            scored_with: Mutex::default(),
            comparer: Comparer::from_environment()?,
            last_moment: Mutex::default(),
        })
        .await
    }
    .boxed_local()
}

impl Function for BenchmarkFunction {
    fn benchmark(&self) -> &'static str {
        self.hosted().id
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn settle<'a>(
        &'a self,
        object: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>> {
        async move {
            let Some(upload) = self.upload_of(object).await? else {
                return Ok(None);
            };
            let _watch = self.watch(&upload, context);
            let span = info_span!("submission", benchmark = self.benchmark(), submission = %upload.id());
            match self.resources.settle(&upload, self).instrument(span).await {
                Err(WorkflowError::GoesOn) => Ok(None), // its program is run
                settled => Ok(Some(settled?)),
            }
        }
        .boxed_local()
    }

    fn follow_up<'a>(
        &'a self,
        object: &'a Upload,
        settled: &'a Settled,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<(), Fault>> {
        async move {
            let receipt = &settled.receipt;
            let (board, id) = (receipt.board(), &receipt.submission);
            if receipt.verdict.status == Ending::Scored {
                self.compare_after(&board, true).await?;
            }
            let is_output = object.key != receipt.key; // of a program, which may have been run for a run of `rescore`
            if is_output
                && !settled.recorded
                && go_on(self, &self.resources, &board, id, &context.request_id).await? > 0
            {
                self.compare_after(&board, false).await?;
            }
            Ok(())
        }
        .boxed_local()
    }

    fn rescore<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<usize>, Fault>> {
        async move {
            self.set_last_moment(context);
            let rescored = rescore(self, &self.resources, upload, &context.request_id).await?;
            if let Some((Some(board), 1..)) = &rescored {
                self.compare_after(board, false).await?;
            }
            Ok(rescored.map(|(_, n_recorded)| n_recorded))
        }
        .boxed_local()
    }

    fn answer<'a>(
        &'a self,
        event: &'a Value,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Value>, Fault>> {
        self.answer_request(event, context).boxed_local()
    }
}

impl Evaluator for BenchmarkFunction {
    fn hosted(&self) -> &'static Descriptor {
        self.scorer.hosted()
    }

    fn max_artifact_bytes(&self) -> u64 {
        self.hosted().max_artifact_bytes
    }

    async fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
        admission: &Admission<'_>,
    ) -> Result<Verdict, WorkflowError> {
        let leaderboard = &submission.board.leaderboard;
        let datasets = self.resources.datasets().await;
        let terms = &self.of_closed_round(submission, terms).await?;
        // `None` if it has to be read first
        let mut known = self.last_dataset(leaderboard).filter(|_| terms.dataset.is_none());
        let n_evaluations = EVALUATIONS + usize::from(known.is_some());
        for _ in 0..n_evaluations {
            let (scoring, is_read) = match known.take() {
                Some(digest) => (Ok(digest), false),
                None => (self.scoring(&datasets, terms, leaderboard).await, true),
            };
            let digest = match scoring {
                Ok(digest) => digest,
                Err(not_scored) => {
                    let rejection = not_scored.rejection()?;
                    let artifact = Some(Digest::compute(artifact));
                    return Ok(Verdict::rejected(
                        self.benchmark(),
                        leaderboard,
                        None,
                        artifact,
                        &rejection,
                    ));
                }
            };
            let began = Instant::now();
            let case = Case {
                dataset: digest,
                leaderboard,
                artifact,
                admission,
                is_rounded: terms.programs.is_some(),
            };
            let evaluated = self.scorer.score(self.resources.datasets().await, case).await;
            let took = began.elapsed();
            if is_read && !matches!(&evaluated, Ok((_, Some(_)))) {
                return Ok(evaluated?.0);
            }
            // Somebody may have published another data set for the board meanwhile, or before.
            let current = self.scoring(&datasets, terms, leaderboard).await;
            if !matches!(current, Ok(current) if current == digest) {
                continue;
            }
            let (verdict, kept) = evaluated?;
            if let Some(kept) = kept {
                let key = Replicates::key_on(&submission.board, &submission.id);
                self.resources.results().await.put(&key, kept.into()).await?;
                if terms.dataset.is_none() {
                    self.remember(leaderboard, digest, took);
                }
            }
            return Ok(verdict);
        }
        let message =
            format!("the data set of `{leaderboard}` was changed during {EVALUATIONS} evaluations in a row");
        Err(WorkflowError::transient(message))
    }

    async fn held(
        &self,
        submission: &Submission,
        output: &Output,
        judged: impl Future<Output = Result<Verdict, WorkflowError>>,
    ) -> Result<Verdict, WorkflowError> {
        let begun = now();
        let judged = judged.await;
        let wait = output.wait(submission.received_at, begun, now());
        let last_moment = *self.last_moment.lock().unwrap_or_else(PoisonError::into_inner);
        let left = last_moment.map(|last| last.duration_since(SystemTime::now()).unwrap_or_default());
        tokio::time::sleep(left.map_or(wait, |left| wait.min(left))).await;
        judged
    }

    async fn ask_for_run(
        &self,
        submission: &Submission,
        terms: &Terms,
        programs: &Programs,
    ) -> Result<(), WorkflowError> {
        let leaderboard = &submission.board.leaderboard;
        let Some(dataset) = terms.dataset else {
            let message = format!("the round of `{leaderboard}` takes programs and names no data set");
            return Err(WorkflowError::organizer(message));
        };
        let request = ProgramRequest {
            benchmark: self.benchmark().to_owned(),
            leaderboard: leaderboard.clone(),
            dataset,
            programs: programs.clone(),
        };
        let is_public = self.hosted().is_public;
        let upload = &submission.upload;
        self.resources.ask_for_run(upload, &request, is_public).await
    }
}

impl BenchmarkFunction {
    /// Watches the time of an evaluation.
    fn watch(&self, upload: &Upload, context: &Context) -> Watch {
        self.set_last_moment(context);
        Watch::begin(self.hosted(), upload, context)
    }

    fn set_last_moment(&self, context: &Context) {
        let mut last = self.last_moment.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(last_moment(last_moment(context.deadline()))); // before the evaluation is given up
    }

    fn last_dataset(&self, leaderboard: &str) -> Option<Digest> {
        let known = self.scored_with.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(leaderboard).copied()
    }

    /// Keeps the data set of a score, if the evaluation took no longer than [`QUICK`].
    fn remember(&self, leaderboard: &str, dataset: Digest, took: Duration) {
        let mut known = self.scored_with.lock().unwrap_or_else(PoisonError::into_inner);
        if took <= QUICK {
            known.insert(leaderboard.to_owned(), dataset);
        } else {
            known.remove(leaderboard);
        }
    }

    /// The upload itself or, if it is a program's output, the upload of that program; `None` for an output of no submission.
    async fn upload_of<'a>(&self, upload: &'a Upload) -> Result<Option<Cow<'a, Upload>>, Fault> {
        let Some(submission) = Output::parse_upload(self.benchmark(), upload) else {
            return Ok(Some(Cow::Borrowed(upload)));
        };
        let table = self.resources.leaderboards().await;
        let known = match submission {
            Some(id) => table.submission(self.benchmark(), &id).await,
            None => Ok(None),
        };
        let known = known?;
        if known.is_none() {
            tracing::warn!(
                key = upload.key,
                outcome = "ignored",
                "the output of no submission"
            );
        }
        Ok(known.map(|submission| Cow::Owned(submission.upload)))
    }

    /// Compares a board after one score or after many changes, now or soon.
    async fn compare_after(&self, board: &Board, is_one_score: bool) -> Result<(), Fault> {
        let (table, results) = (
            self.resources.leaderboards().await,
            self.resources.results().await,
        );
        let stores = Stores {
            table: &table,
            results: &results,
            datasets: &self.resources.datasets().await,
        };
        let span = info_span!("compare", benchmark = self.benchmark());
        let compared = async {
            if is_one_score {
                self.comparer.after_score(board, self.hosted(), &stores).await
            } else {
                self.comparer.after_change(board, self.hosted(), &stores).await
            }
        };
        Ok(compared.instrument(span).await?)
    }

    /// The terms of a submission that is processed after its round has closed. A board that takes
    /// no uploads keeps the data set of its newest score, even if another one is active now.
    async fn of_closed_round(&self, submission: &Submission, terms: &Terms) -> Result<Terms, WorkflowError> {
        let mut terms = terms.clone();
        let is_over = terms.closes.is_some_and(|closes| closes <= now()) && !submission.board.is_post_round();
        if terms.dataset.is_none() && is_over {
            let table = self.resources.leaderboards().await;
            terms.dataset = table.compared_dataset(&submission.board).await?;
        }
        Ok(terms)
    }

    /// The data set that the round pins, or the board's active one; a rejection if the board does
    /// not exist.
    async fn scoring(
        &self,
        datasets: &impl Bucket,
        terms: &Terms,
        leaderboard: &str,
    ) -> Result<Digest, NotScored> {
        if let Some(pinned) = terms.dataset {
            return Ok(pinned);
        }
        Ok(InForce::read(datasets, self.benchmark())
            .await?
            .scoring(self.benchmark(), leaderboard)?)
    }
}
