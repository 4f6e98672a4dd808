//! The function that takes raters' verdicts: when enough of them say the same, the example is decided, and its author's score
//! follows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{LineOutcome, Reason, Rejection, Upload, quote};
use dataperf_aws::{Fault, Function, Resources};
use dataperf_collection::Disqualified;
use dataperf_collection_aws::{
    Case, Collection, Common, Deciding, Given, Judged as Outcome, LineFunction, Reservation, Reserving, give,
    is_given, is_rater, no_more, read,
};
use dataperf_text::{BENCHMARK, Line, Rules, Task, VERDICTS, Verdict};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde_json::{Value, json};

use crate::examples::{Examples, Judged};
use crate::refusals;

struct JudgeFunction(Deciding<Examples>);

/// Runs the function until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_verdict() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    dataperf_aws::serve(JudgeFunction(Deciding::from_environment()?)).await
}

impl Function for JudgeFunction {
    fn benchmark(&self) -> &'static str {
        BENCHMARK
    }

    fn resources(&self) -> &Resources {
        &self.0.common.resources
    }

    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>> {
        async move {
            let boards = Task::ALL.map(Task::as_str);
            self.0.settle(self, upload, context, &boards).await
        }
        .boxed_local()
    }
}

impl LineFunction for JudgeFunction {
    type Collection = Examples;
    type Line = Verdict;
    const KIND: &'static str = "verdict";

    fn common(&self) -> &Common<Examples> {
        &self.0.common
    }

    fn held_against(rules: &Rules) -> &Rules {
        rules
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_rater(name), name, "verdicts")
    }

    async fn judge(
        &self,
        case: &Case<'_, Examples>,
        lines: Vec<Line<Verdict>>,
    ) -> Result<Outcome, WorkflowError> {
        let (table, submission) = (case.table, case.submission);
        if !is_rater::<Examples>(table, &submission.submitter).await? {
            let message = format!(
                "{} is no rater: verdicts come from people whom the organizer names with `dataperf submitter add NAME \
                 {BENCHMARK} --rater`",
                quote(&submission.submitter)
            );
            return Ok(Outcome::Rejected(Reason::new("not_a_rater", "", message).into()));
        }
        let limit = case
            .rules
            .configuration
            .configuration
            .validation
            .verdicts_a_day
            .into();
        let reserving = Reserving {
            what: VERDICTS,
            submitter: &submission.submitter,
            submission: &submission.id,
            at: submission.received_at,
            limit,
            listed: Examples::SPACE.rater_partition(&submission.submitter),
        };
        let reservation = Reservation {
            table,
            benchmark: BENCHMARK,
        };
        let n_good = lines.iter().filter(|line| line.outcome.is_ok()).count() as u64;
        let reserved = reservation.reserve(&reserving, n_good).await?;
        let given = if reserved.is_again {
            given_before(case, &lines).await?
        } else {
            BTreeSet::new()
        };
        let n_left = reserved.n_granted.saturating_sub(given.len() as u64);
        let mut outcomes = Vec::with_capacity(lines.len());
        let (mut n_new, mut n_fresh, mut fault) = (0, 0, None);
        for line in lines {
            case.has_time(Duration::ZERO, n_new)?;
            let is_fresh = u64::from(!given.contains(&line.number));
            let judged = match line.outcome {
                Err(rejection) => Err(rejection),
                Ok(_) if is_fresh > 0 && n_fresh >= n_left => {
                    let at = submission.received_at;
                    Err(refusals::used_up(VERDICTS, line.number, limit, reserved, at).into())
                }
                Ok(verdict) => match self.one(case, line.number, &verdict, &mut n_new).await {
                    Ok(judged) => judged,
                    // one example that can't be decided does not keep the others from being decided
                    Err(WorkflowError::Port(error)) if !error.is_transient() => {
                        tracing::error!(line = line.number, %error, "an example can't be decided, the file's others can");
                        fault = fault.or(Some(WorkflowError::Port(error)));
                        n_fresh += is_fresh; // its verdict may stand
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            outcomes.push(match judged {
                Err(rejection) => LineOutcome::rejected(line.number, &rejection),
                Ok(details) => {
                    n_fresh += is_fresh;
                    LineOutcome::accepted(line.number, details)
                }
            });
        }
        if let Some(fault) = fault {
            return Err(fault); // its verdicts are counted, and whoever mends it has the file judged again
        }
        let n_taken = given.len() as u64 + n_fresh;
        reservation.keep(&submission.id, n_taken).await?;
        let n_unused = reserved.n_granted.saturating_sub(n_taken);
        let n_used = reserved.n_taken.saturating_sub(n_unused);
        let notes = refusals::counted(VERDICTS, n_used, limit, submission.received_at);
        Ok(Outcome::Lines(outcomes, notes))
    }
}

/// The lines whose verdicts an earlier run has recorded.
async fn given_before(
    case: &Case<'_, Examples>,
    lines: &[Line<Verdict>],
) -> Result<BTreeSet<usize>, WorkflowError> {
    let (table, submission) = (case.table, case.submission);
    let mut given = BTreeSet::new();
    for line in lines {
        let Ok(verdict) = &line.outcome else {
            continue;
        };
        let by = (&submission.id, line.number as u64);
        if is_given::<Examples>(table, &verdict.example, &submission.submitter, by).await? {
            given.insert(line.number);
        }
    }
    Ok(given)
}

impl JudgeFunction {
    async fn one(
        &self,
        case: &Case<'_, Examples>,
        line: usize,
        verdict: &Verdict,
        n_new: &mut usize,
    ) -> Result<Result<BTreeMap<String, Value>, Rejection>, WorkflowError> {
        let (table, submission) = (case.table, case.submission);
        let at = format!("line {line} /example");
        let refuse = |code: &str, message: String| Ok(Err(Reason::new(code, at.as_str(), message).into()));
        let id = quote(verdict.example.as_str());
        let example = read::<Examples>(table, &verdict.example).await?;
        // an example that goes to no rater is treated as missing: nobody learns which examples there are
        let Some(example) = example.filter(|example| example.n_raters > 0) else {
            let message = format!("there is no example {id}: copy its id from `dataperf dynamic next`");
            return refuse("unknown_example", message);
        };
        if example.submitter == submission.submitter {
            return refuse(
                "own_example",
                format!("the example {id} is your own: others judge it"),
            );
        }
        let context = example.more.context.as_deref();
        let said = match verdict
            .found
            .about(&example.said, context, &format!("line {line}"))
        {
            Ok(said) => said,
            Err(rejection) => return Ok(Err(rejection)),
        };
        let judged = Judged {
            example: verdict.example.clone(),
            found: verdict.found.clone(),
            said,
        };
        let (who, place) = (&submission.submitter, (&submission.id, line as u64));
        match give::<Examples>(table, &judged, who, place, &case.disqualified).await? {
            Given::NoSuchItem => return refuse("unknown_example", format!("there is no example {id}")),
            Given::Own => return refuse("own_example", format!("the example {id} is your own")),
            Given::Before => {
                let message = format!("you have judged the example {id} before, and that verdict stands");
                return refuse("judged_before", message);
            }
            Given::Enough { .. } => {
                self.0.decide(case, &verdict.example).await?; // who gave the last verdict may not have come to it
                let message = format!(
                    "the example {id} is decided: nothing is wrong with your verdict, others were faster"
                );
                return refuse("enough_verdicts", message);
            }
            Given::Disqualified => {
                let message = format!(
                    "the example {id} does not count any more: leave it out, nothing is wrong with your verdict"
                );
                return refuse("disqualified_example", message);
            }
            Given::Counted { is_new, .. } => {
                *n_new += usize::from(is_new);
                self.0.decide(case, &verdict.example).await?;
            }
        }
        // What the other raters say is not told, and neither is what the author says: the next rater could hear of it.
        Ok(Ok(BTreeMap::from([("example".into(), json!(verdict.example))])))
    }
}
