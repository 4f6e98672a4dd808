//! `dataperf withdraw`: takes a scored submission off its board, or puts it back.

use anyhow::{Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::submission::{Submission, Withdrawal};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::table::maintenance::{Maintenance, Reinstated, Withdrawn};
use serde_json::json;

use crate::Done;
use crate::cloud::known;
use crate::cloud::{CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::{Format, line_of, print_json};

#[derive(Debug, Args)]
pub(crate) struct WithdrawArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The submission's id, or its first digits
    submission: String,
    /// The reason, which the submitter sees
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Put a withdrawn submission back
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: WithdrawArgs, format: Format) -> Result<Done> {
    let benchmark = &args.benchmark;
    let reason = args.reason.as_deref();
    ensure!(
        reason.is_none_or(|reason| !reason.trim().is_empty() && !reason.chars().any(char::is_control)),
        "`--reason` is one line of text that the submitter reads"
    );
    let n_chars = reason.map_or(0, |reason| reason.chars().count());
    ensure!(
        n_chars <= Withdrawal::MAX_REASON_CHARS,
        "the reason has {n_chars} characters: use at most {}",
        Withdrawal::MAX_REASON_CHARS
    );
    let cloud = args.cloud.connect().await?;
    let table = cloud.leaderboards();
    let named = known::named(&cloud, &[benchmark], &args.submission).await?;
    let target = match named.first() {
        Some((_, id)) => table.submission(benchmark, id).await?,
        None => None,
    };
    let Some(target) = target else {
        return Err(known::no_submission(&cloud, benchmark, &args.submission).await?);
    };
    let id = &target.id;
    let direction = descriptor(benchmark)?.direction;
    let (submission, outcome) = if args.undo {
        match table.reinstate(benchmark, id, now(), direction, reason).await? {
            Reinstated::Now(submission) => (submission, "is on its board again"),
            Reinstated::NotWithdrawn(_) => {
                bail!("submission `{id}` is not withdrawn: there is nothing to undo")
            }
        }
    } else {
        match table.withdraw(benchmark, id, now(), direction, reason).await? {
            Withdrawn::Now(submission) => (submission, "is withdrawn"),
            Withdrawn::Before(submission) => (submission, "was withdrawn before"),
            Withdrawn::NothingToWithdraw(_) => {
                bail!("submission `{id}` has no score: only scored submissions can be withdrawn")
            }
        }
    };
    cloud.project(&target.board).await?;
    match format {
        Format::Json => print_json(
            &json!({ "submission": id, "leaderboard": submission.board.leaderboard,
            "round": submission.board.round, "submitter": submission.submitter, "withdrawn_at": submission.withdrawn_at,
            "withdrawals": submission.withdrawals }),
        )?,
        Format::Text => println!("submission {id} by {} {outcome}", submission.submitter),
    }
    Ok(Done::Fine)
}

/// The later events of a submission, one per line.
pub(crate) fn in_words(submission: &Submission) -> Vec<String> {
    let because = |reason: &Option<String>| {
        reason
            .as_ref()
            .map_or_else(String::new, |reason| format!(": {}", line_of(reason)))
    };
    let mut lines = Vec::new();
    for Withdrawal {
        at,
        reason,
        undone_at,
        undo_reason,
    } in &submission.withdrawals
    {
        lines.push(format!("withdrawn {at}{}", because(reason)));
        lines.extend(undone_at.map(|at| format!("put back {at}{}", because(undo_reason))));
    }
    lines
}
