//! `dataperf withdraw`: takes a scored submission off its board.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::SubmissionId;
use dataperf::ports::leaderboard::Leaderboards;
use dataperf::ports::maintenance::{Maintenance, Withdrawn};
use serde_json::json;

use crate::Done;
use crate::cloud::{CloudArgs, now};
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf withdraw speech-selection SUBMISSION --local\n\nFor the organizer, on a submitter's wish or \
    one's own. The submitter's next best moves up. Receipt and history stay, and it goes on counting against the limits. It can't \
    be undone: the submitter can upload the same file again."
)]
pub(crate) struct WithdrawArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The submission's id
    submission: SubmissionId,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: WithdrawArgs, format: Format) -> Result<Done> {
    let (benchmark, id) = (&args.benchmark, &args.submission);
    let cloud = args.cloud.connect().await;
    let table = cloud.leaderboards();
    let Some(known) = table.submission(benchmark, id).await? else {
        bail!("{benchmark} has no submission `{id}`: check the id");
    };
    let order = cloud.order(&known.board).await?;
    let (submission, said) = match table.withdraw(benchmark, id, now(), order).await? {
        Withdrawn::Now(submission) => (submission, "is withdrawn"),
        Withdrawn::Before(submission) => (submission, "was withdrawn before"),
        Withdrawn::NothingToWithdraw(_) => bail!("submission `{id}` has no score that could be withdrawn"),
    };
    match format {
        Format::Json => print_json(
            &json!({ "submission": id, "leaderboard": submission.board.leaderboard,
            "round": submission.board.round, "submitter": submission.submitter, "withdrawn_at": submission.withdrawn_at }),
        )?,
        Format::Text => println!("submission {id} by {} {said}", submission.submitter),
    }
    Ok(Done::Fine)
}
