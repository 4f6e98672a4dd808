//! The function that takes raters' verdicts: when a pair has as many as it needs, the majority decides, and its submitter's
//! scores follow.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{
    Case, Deciding, Judged, Judging, Notes, is_participant, is_rater, read as read_pair, unless_noted,
};
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::{LineOutcome, Reason, Rejection, quote};
use dataperf_collections::nibbler::{BENCHMARK, Line, PairId, Verdict, read};
use serde::Deserialize;

use crate::nibbler::pairs::Pairs;

/// Runs the function until the host ends it.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_verdict() -> Result<(), lambda_runtime::Error> {
    crate::common::run_verdict::<Pairs>().await
}

impl Judging for Pairs {
    type Line = Verdict;
    const MEMBER: &'static str = "submission";
    const NEXT: &'static str = "dataperf nibbler next";
    const FEWER_DECIDE: bool = false;

    fn enough(n_raters: u64) -> String {
        format!(
            "already has its {n_raters} verdicts, because others were faster. Nothing is wrong with yours"
        )
    }

    async fn judge(
        deciding: &Deciding<Self>,
        case: &Case<'_, Self>,
        lines: Vec<Line<Verdict>>,
    ) -> Result<Judged, WorkflowError> {
        let (table, rater) = (case.table, &case.submission.submitter);
        if let Some(refused) = refused(
            is_rater::<Pairs>(table, rater).await?,
            is_participant::<Pairs>(table, rater).await?,
            rater,
        ) {
            return Ok(Judged::Rejected(refused));
        }
        let mut outcomes = Vec::with_capacity(lines.len());
        let (mut n_new, mut fault) = (0, None);
        let mut other_rounds = BTreeMap::new();
        for line in lines {
            case.has_time(Duration::ZERO, n_new)?;
            let named = (line.number, "a pair");
            let judged = judged(deciding, case, line, &mut n_new, &mut other_rounds).await;
            outcomes.extend(unless_noted(judged, named, &mut fault)?);
        }
        fault.map_or_else(|| Ok(Judged::Lines(outcomes, Notes::new())), Err)
    }
}

/// The content of a file's lines, by the rules of a round.
type ByRules = BTreeMap<usize, Result<Verdict, Rejection>>;

/// The result for a line.
async fn judged(
    deciding: &Deciding<Pairs>,
    case: &Case<'_, Pairs>,
    line: Line<Verdict>,
    n_new: &mut usize,
    other_rounds: &mut BTreeMap<String, ByRules>,
) -> Result<LineOutcome, WorkflowError> {
    let verdicts = by_its_round(deciding, case, (line.number, line.outcome), other_rounds).await?;
    let judged = match verdicts {
        Err(rejection) => Err(rejection),
        Ok(verdict) => deciding.take(case, line.number, &verdict, n_new).await?,
    };
    Ok(match judged {
        Err(rejection) => LineOutcome::rejected(line.number, &rejection),
        Ok(details) => LineOutcome::accepted(line.number, details),
    })
}

/// The content of a line, by the rules of its pair's round, which may differ from the file's.
async fn by_its_round(
    deciding: &Deciding<Pairs>,
    case: &Case<'_, Pairs>,
    (number, parsed): (usize, Result<Verdict, Rejection>),
    other_rounds: &mut BTreeMap<String, ByRules>,
) -> Result<Result<Verdict, Rejection>, WorkflowError> {
    let pair = match &parsed {
        Ok(verdict) => Some(verdict.submission.clone()),
        Err(_) => pair_of(case.artifact, number),
    };
    let Some(pair) = pair else {
        return Ok(parsed);
    };
    let pair = read_pair::<Pairs>(case.table, &pair).await?;
    let Some(round) = pair.map(|pair| pair.round).filter(|round| *round != case.round) else {
        return Ok(parsed);
    };
    if !other_rounds.contains_key(&round) {
        let rules = deciding.rules_of(case, &round).await?;
        let lines = read::<Verdict>(case.artifact, &rules.configuration).unwrap_or_default();
        let lines = lines.into_iter().map(|line| (line.number, line.outcome));
        other_rounds.insert(round.clone(), lines.collect());
    }
    let by_round = other_rounds
        .get_mut(&round)
        .and_then(|lines| lines.remove(&number));
    Ok(by_round.unwrap_or(parsed))
}

/// The pair that a line is about, whatever else it says.
fn pair_of(file: &[u8], number: usize) -> Option<PairId> {
    #[derive(Deserialize)]
    struct About {
        submission: PairId,
    }
    let line = file.split(|&byte| byte == b'\n').nth(number - 1)?;
    let about: About = serde_json::from_slice(line).ok()?;
    Some(about.submission)
}

fn refused(is_rater: bool, is_participant: bool, name: &str) -> Option<Rejection> {
    let name = quote(name);
    let reason = if !is_rater {
        let message = format!(
            "{name} is not a rater, and only trained raters give verdicts: the organizer adds raters with \
                `dataperf submitter add NAME {BENCHMARK} --rater`"
        );
        Reason::new("not_a_rater", "", message)
    } else if is_participant {
        let message = format!(
            "{name} has submitted pairs, and participants can't judge: use the name of somebody who does not \
            take part"
        );
        Reason::new("participant", "", message)
    } else {
        return None;
    };
    Some(reason.into())
}
