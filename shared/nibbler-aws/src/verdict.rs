//! The function that takes raters' verdicts: when a pair has as many as it needs, the majority decides, and its submitter's
//! scores follow.

use std::collections::BTreeMap;
use std::time::Duration;

use dataperf::failure::FaultKind;
use dataperf::ports::leaderboard::Submission as Filed;
use dataperf::workflow::{Ports, Settled, WorkflowError};
use dataperf::{LineOutcome, Reason, Rejection, Upload, UploadKey, quote};
use dataperf_aws::{Fault, Function, Resources, now};
use dataperf_nibbler::{BENCHMARK, Board, Line, PairId, Verdict};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::decisions::{self, Occasion, Step, decide};
use crate::files::{Case, Common, Judged, LineFunction, Notes, settle_lines};
use crate::pairs;
use crate::raters::{is_participant, is_rater};
use crate::scores;
use crate::standings::Standings;
use crate::verdicts::{self, Given};

struct JudgeFunction {
    common: Common,
    /// How submitters stand, as far as this process has read it.
    standings: Mutex<Standings>,
}

/// Runs the function until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_verdict() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    let common = Common::from_environment()?;
    let standings = Mutex::default();
    dataperf_aws::serve(JudgeFunction { common, standings }).await
}

impl Function for JudgeFunction {
    fn benchmark(&self) -> &'static str {
        BENCHMARK
    }

    fn resources(&self) -> &Resources {
        &self.common.resources
    }

    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>> {
        async move {
            if let Some((pair, edition)) = step_of_a_score(upload) {
                return Ok(Some(Box::pin(self.publish_again(upload, &pair, edition)).await?));
            }
            settle_lines(self, upload, context).await
        }
        .boxed_local()
    }
}

/// The pair and the number of what was filed as a step of a score and not completed: no upload, but swept like one. What was filed
/// before steps had numbers has none.
fn step_of_a_score(upload: &Upload) -> Option<(PairId, Option<u64>)> {
    let key = UploadKey::parse(BENCHMARK, &upload.key).ok()?;
    let is_board = Board::ALL.iter().any(|board| board.as_str() == key.leaderboard);
    let name = upload.key.rsplit('/').next().filter(|_| is_board)?;
    match name.split_once('-') {
        Some((pair, edition)) => Some((pair.parse().ok()?, Some(edition.parse().ok()?))),
        None => Some((name.parse().ok()?, None)),
    }
}

impl LineFunction for JudgeFunction {
    type Line = Verdict;

    fn common(&self) -> &Common {
        &self.common
    }

    async fn judge(&self, case: &Case<'_>, lines: Vec<Line<Verdict>>) -> Result<Judged, WorkflowError> {
        let (table, rater) = (case.table, &case.submission.submitter);
        if let Some(refused) = refused(
            is_rater(table, rater).await?,
            is_participant(table, rater).await?,
            rater,
        ) {
            return Ok(Judged::Rejected(refused));
        }
        let mut outcomes = Vec::with_capacity(lines.len());
        let (mut n_new, mut fault) = (0, None);
        for line in lines {
            case.has_time(Duration::ZERO, n_new)?;
            let judged = match line.outcome {
                Err(rejection) => Err(rejection),
                Ok(verdict) => match self.one(case, line.number, &verdict, &mut n_new).await {
                    Ok(judged) => judged,
                    // one pair that can't be decided does not keep the others from it
                    Err(WorkflowError::Port(error)) if !error.is_transient() => {
                        tracing::error!(line = line.number, %error, "a pair can't be decided, the file's others can");
                        fault = fault.or(Some(WorkflowError::Port(error)));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            outcomes.push(match judged {
                Err(rejection) => LineOutcome::rejected(line.number, &rejection),
                Ok(details) => LineOutcome::accepted(line.number, details),
            });
        }
        match fault {
            Some(fault) => Err(fault), // its verdicts are counted, and whoever mends it has the file judged again
            None => Ok(Judged::Lines(outcomes, Notes::new())),
        }
    }
}

impl JudgeFunction {
    async fn one(
        &self,
        case: &Case<'_>,
        line: usize,
        verdict: &Verdict,
        n_new: &mut usize,
    ) -> Result<Result<BTreeMap<String, Value>, Rejection>, WorkflowError> {
        let Filed {
            submitter: rater, id, ..
        } = case.submission;
        let table = case.table;
        let at = format!("line {line} /submission");
        let refuse = |code: &str, message: String| Ok(Err(Reason::new(code, at.as_str(), message).into()));
        let pair = quote(verdict.submission.as_str());
        let given = verdicts::give(table, verdict, rater, (id, line as u64), &case.disqualified).await?;
        match given {
            Given::NoSuchPair => {
                let message = format!("there is no pair {pair}: copy its id from `dataperf nibbler next`");
                return refuse("unknown_pair", message);
            }
            Given::Before => {
                let message = format!("you have judged the pair {pair} before, and that verdict stands");
                return refuse("judged_before", message);
            }
            Given::Enough { n_raters } => {
                let message = format!(
                    "the pair {pair} has its {n_raters} verdicts: nothing is wrong with yours, others were faster"
                );
                return refuse("enough_verdicts", message);
            }
            Given::Disqualified => {
                let message = format!(
                    "the pair {pair} does not count any more: leave it out, nothing is wrong with your verdict"
                );
                return refuse("disqualified_pair", message);
            }
            Given::Counted { is_last, is_new } => {
                *n_new += usize::from(is_new);
                if is_last {
                    let standings = &mut *self.standings.lock().await;
                    let occasion = Occasion::Verdict;
                    let step = decide(table, &verdict.submission, &case.rules, standings, occasion).await?;
                    if let Some(step) = step {
                        self.publish(&step).await?;
                    }
                }
            }
        }
        // What the others say is not told: the next rater could hear of it.
        Ok(Ok(BTreeMap::from([("pair".into(), json!(verdict.submission))])))
    }

    /// Writes the scores that follow from a decision, as far as they are not written.
    async fn publish(&self, step: &Step) -> Result<Option<Settled>, WorkflowError> {
        let resources = &self.common.resources;
        let ports = Ports {
            leaderboards: &resources.leaderboards().await,
            results: &resources.results().await,
            signer: &resources.signer().await,
            now: &now,
        };
        scores::publish(step, ports).await
    }

    /// Writes the scores that an earlier run has begun to write.
    async fn publish_again(
        &self,
        upload: &Upload,
        id: &PairId,
        edition: Option<u64>,
    ) -> Result<Settled, WorkflowError> {
        let table = self.common.resources.leaderboards().await;
        let mut published = None;
        if let Some(pair) = pairs::read(&table, id).await? {
            let decided = pair.decision.as_ref().map(|decision| decision.edition);
            if let Some(edition) = edition.or(decided)
                && let Some(step) = decisions::step(&table, &pair, edition).await?
            {
                published = self.publish(&step).await?;
            }
        }
        published.ok_or_else(|| {
            let message = format!("`{}` is a step of no score", upload.key);
            WorkflowError::judge(FaultKind::Organizer, message)
        })
    }
}

fn refused(is_rater: bool, is_participant: bool, name: &str) -> Option<Rejection> {
    let name = quote(name);
    let reason = if !is_rater {
        let message = format!(
            "{name} is no rater: verdicts come from trained raters only, whom the organizer names with \
             `dataperf submitter add NAME {BENCHMARK} --rater`"
        );
        Reason::new("not_a_rater", "", message)
    } else if is_participant {
        let message = format!("{name} has submitted pairs: who takes part judges nobody's, not even others'");
        Reason::new("participant", "", message)
    } else {
        return None;
    };
    Some(reason.into())
}
