//! The function that takes raters' verdicts: when enough of them say the same, the example is decided, and its author's score
//! follows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::common::{
    Case, Collection, Deciding, Judged, Judging, Reservation, Reserving, counted, is_given, is_rater,
    no_such_item, read, refusal, unless_noted,
};
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::{LineOutcome, Reason, Rejection, quote};
use dataperf_collections::text::{BENCHMARK, Line, VERDICTS, Verdict};
use serde_json::Value;

use crate::text::examples::{Examples, InterpretedVerdict};
use crate::text::refusals;

/// Runs the function until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_verdict() -> Result<(), lambda_runtime::Error> {
    crate::common::run_verdict::<Examples>().await
}

impl Judging for Examples {
    type Line = Verdict;
    const MEMBER: &'static str = "example";
    const NEXT: &'static str = "dataperf dynamic next";
    const FEWER_DECIDE: bool = true;

    fn enough(_n_raters: u64) -> String {
        "is already decided, because others were faster. Nothing is wrong with your verdict".into()
    }

    async fn judge(
        deciding: &Deciding<Self>,
        case: &Case<'_, Self>,
        lines: Vec<Line<Verdict>>,
    ) -> Result<Judged, WorkflowError> {
        let (table, submission) = (case.table, case.submission);
        if !is_rater::<Examples>(table, &submission.submitter).await? {
            let message = format!(
                "{} is not a rater: the organizer adds raters with `dataperf submitter add NAME {BENCHMARK} --rater`",
                quote(&submission.submitter)
            );
            return Ok(Judged::Rejected(Reason::new("not_a_rater", "", message).into()));
        }
        let limit = case
            .rules
            .configuration
            .configuration
            .validation
            .verdicts_a_day
            .into();
        let reserving = Reserving {
            noun: VERDICTS,
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
                Ok(verdict) => {
                    let judged = one(deciding, case, line.number, &verdict, &mut n_new).await;
                    let Some(judged) = unless_noted(judged, (line.number, "an example"), &mut fault)? else {
                        n_fresh += is_fresh; // its verdict may stand
                        continue;
                    };
                    judged
                }
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
            return Err(fault);
        }
        let n_taken = given.len() as u64 + n_fresh;
        reservation.keep(&submission.id, n_taken).await?;
        let n_unused = reserved.n_granted.saturating_sub(n_taken);
        let n_used = reserved.n_taken.saturating_sub(n_unused);
        let notes = counted(VERDICTS, n_used, limit, submission.received_at);
        Ok(Judged::Lines(outcomes, notes))
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

async fn one(
    deciding: &Deciding<Examples>,
    case: &Case<'_, Examples>,
    line: usize,
    verdict: &Verdict,
    n_new: &mut usize,
) -> Result<Result<BTreeMap<String, Value>, Rejection>, WorkflowError> {
    let (table, id) = (case.table, &verdict.example);
    let example = read::<Examples>(table, id).await?;
    // an example that goes to no rater is treated as missing: nobody learns which examples there are
    let Some(example) = example.filter(|example| example.n_raters > 0) else {
        return Ok(Err(no_such_item::<Examples>(line, id)));
    };
    if example.submitter == case.submission.submitter {
        let message = format!(
            "the example {} is your own: leave it to others",
            quote(id.as_str())
        );
        return Ok(Err(refusal::<Examples>("own_example", line, message)));
    }
    let context = example.more.context.as_deref();
    let finding = &verdict.found;
    let text = match finding.about(&example.content, context, &format!("line {line}")) {
        Ok(text) => text,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let judged = InterpretedVerdict {
        example: id.clone(),
        found: finding.clone(),
        said: text,
    };
    deciding.take(case, line, &judged, n_new).await
}
