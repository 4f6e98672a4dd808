//! The function that takes raters' verdicts: when a pair has as many as it needs, the majority decides, and its submitter's
//! scores follow.

use std::collections::BTreeMap;
use std::time::Duration;

use dataperf::ports::leaderboard::Submission as Filed;
use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{LineOutcome, Reason, Rejection, Upload, quote};
use dataperf_aws::{Fault, Function, Resources};
use dataperf_collection::Disqualified;
use dataperf_collection_aws::{
    Case, Common, Deciding, Given, Judged, LineFunction, Notes, give, is_participant, is_rater, no_more,
    read as read_pair,
};
use dataperf_nibbler::{BENCHMARK, Board, Configuration, Line, PairId, Verdict, read};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::pairs::Pairs;

struct JudgeFunction(Deciding<Pairs>);

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
            let boards = Board::ALL.map(Board::as_str);
            self.0.settle(self, upload, context, &boards).await
        }
        .boxed_local()
    }
}

impl LineFunction for JudgeFunction {
    type Collection = Pairs;
    type Line = Verdict;
    const KIND: &'static str = "verdict";

    fn common(&self) -> &Common<Pairs> {
        &self.0.common
    }

    fn held_against(configuration: &Configuration) -> &Configuration {
        configuration
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_rater(name), name, "verdicts")
    }

    async fn judge(
        &self,
        case: &Case<'_, Pairs>,
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
            let number = line.number;
            match self.judged(case, line, &mut n_new, &mut other_rounds).await {
                Ok(outcome) => outcomes.push(outcome),
                // one pair that can't be decided does not keep the others from being decided
                Err(WorkflowError::Port(error)) if !error.is_transient() => {
                    tracing::error!(line = number, %error, "a pair can't be decided, the file's others can");
                    fault = fault.or(Some(WorkflowError::Port(error)));
                }
                Err(error) => return Err(error),
            }
        }
        match fault {
            Some(fault) => Err(fault), // its verdicts are counted, and whoever mends it has the file judged again
            None => Ok(Judged::Lines(outcomes, Notes::new())),
        }
    }
}

/// What the lines of a file say by the rules of a round.
type ByRules = BTreeMap<usize, Result<Verdict, Rejection>>;

impl JudgeFunction {
    /// What becomes of a line.
    async fn judged(
        &self,
        case: &Case<'_, Pairs>,
        line: Line<Verdict>,
        n_new: &mut usize,
        other_rounds: &mut BTreeMap<String, ByRules>,
    ) -> Result<LineOutcome, WorkflowError> {
        let said = self
            .by_its_round(case, (line.number, line.outcome), other_rounds)
            .await?;
        let judged = match said {
            Err(rejection) => Err(rejection),
            Ok(verdict) => self.one(case, line.number, &verdict, n_new).await?,
        };
        Ok(match judged {
            Err(rejection) => LineOutcome::rejected(line.number, &rejection),
            Ok(details) => LineOutcome::accepted(line.number, details),
        })
    }

    /// What a line says by the rules of its pair's round, which may be another one than the file's.
    async fn by_its_round(
        &self,
        case: &Case<'_, Pairs>,
        (number, said): (usize, Result<Verdict, Rejection>),
        other_rounds: &mut BTreeMap<String, ByRules>,
    ) -> Result<Result<Verdict, Rejection>, WorkflowError> {
        let pair = match &said {
            Ok(verdict) => Some(verdict.submission.clone()),
            Err(_) => pair_of(case.artifact, number),
        };
        let Some(pair) = pair else {
            return Ok(said);
        };
        let pair = read_pair::<Pairs>(case.table, &pair).await?;
        let Some(round) = pair.map(|pair| pair.round).filter(|round| *round != case.round) else {
            return Ok(said);
        };
        if !other_rounds.contains_key(&round) {
            let rules = self.0.rules_of(case, &round).await?;
            let lines = read::<Verdict>(case.artifact, &rules.configuration).unwrap_or_default();
            let lines = lines.into_iter().map(|line| (line.number, line.outcome));
            other_rounds.insert(round.clone(), lines.collect());
        }
        let by_round = other_rounds
            .get_mut(&round)
            .and_then(|lines| lines.remove(&number));
        Ok(by_round.unwrap_or(said))
    }

    async fn one(
        &self,
        case: &Case<'_, Pairs>,
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
        let given = give::<Pairs>(table, verdict, rater, (id, line as u64), &case.disqualified).await?;
        match given {
            Given::NoSuchItem => {
                let message = format!("there is no pair {pair}: copy its id from `dataperf nibbler next`");
                return refuse("unknown_pair", message);
            }
            Given::Before => {
                let message = format!("you have judged the pair {pair} before, and that verdict stands");
                return refuse("judged_before", message);
            }
            Given::Enough { n_raters } => {
                self.0.decide(case, &verdict.submission).await?; // who gave the last verdict may not have come to it
                let message = format!(
                    "the pair {pair} has its {n_raters} verdicts: nothing is wrong with yours, others were faster"
                );
                return refuse("enough_verdicts", message);
            }
            Given::Disqualified | Given::Own => {
                let message = format!(
                    "the pair {pair} does not count any more: leave it out, nothing is wrong with your verdict"
                );
                return refuse("disqualified_pair", message);
            }
            Given::Counted {
                n_counted,
                n_raters,
                is_new,
            } => {
                *n_new += usize::from(is_new);
                if n_counted >= n_raters {
                    self.0.decide(case, &verdict.submission).await?;
                }
            }
        }
        // What the other raters say is not told: the next rater could hear of it.
        Ok(Ok(BTreeMap::from([("pair".into(), json!(verdict.submission))])))
    }
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
