//! What an organizer decides of an example, whatever validators say of it.

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use dataperf::challenge::Challenge;
use dataperf::ports::leaderboard::Withdrawal;
use dataperf::workflow::Ports;
use dataperf_collection_aws::{Kept, Occasion, Standings, decide, publish, read, rule};
use dataperf_text::{BENCHMARK, Decision, ExampleId, Gold};
use dataperf_text_aws::Examples;
use serde_json::json;

use crate::Done;
use crate::cloud::{CloudArgs, now};
use crate::output::{Format, print_json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum As {
    /// Its author is right
    Correct,
    /// Something else is right
    Incorrect,
    /// It is no example of the task
    Flagged,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  dataperf dynamic decide 0123456789abcdef0123456789abcdef correct --reason 'the context says so' --local\n\n\
    For the organizer. It goes before what validators say, now and later; the author's score is worked out anew. If the command is cut \
    short, give it again."
)]
pub(crate) struct DecideArgs {
    /// The example's id
    example: ExampleId,
    /// What is decided
    decision: As,
    /// Of an incorrect one: the label that is right
    #[arg(long)]
    label: Option<String>,
    /// Why; it is kept beside the example
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: DecideArgs, format: Format) -> Result<Done> {
    let n_chars = args.reason.chars().count();
    ensure!(
        (1..=Withdrawal::MAX_REASON_CHARS).contains(&n_chars),
        "the reason has {n_chars} characters: give from 1 to {}",
        Withdrawal::MAX_REASON_CHARS
    );
    ensure!(
        args.label.is_none() || args.decision == As::Incorrect,
        "a label is only said of an incorrect example: leave `--label` out"
    );
    let cloud = args.cloud.connect().await;
    let table = cloud.leaderboards();
    let Some(example) = read::<Examples>(&table, &args.example).await? else {
        bail!("there is no such example: check the id");
    };
    let labels = example.said.task.labels();
    if let Some(label) = args
        .label
        .as_ref()
        .filter(|label| !labels.contains(&label.as_str()))
    {
        bail!(
            "`{label}` is no label of `{}`: choose one of `{}`",
            example.said.task,
            labels.join("`, `")
        );
    }
    let decision = match args.decision {
        As::Correct => Decision::Correct,
        As::Incorrect => Decision::Incorrect(args.label.map(Gold::Label)),
        As::Flagged => Decision::Flagged,
    };
    rule::<Examples>(&table, &args.example, &decision, now(), &args.reason).await?;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let round = challenge
        .as_ref()
        .and_then(|challenge| challenge.round(&example.round));
    let pinned = round.and_then(|round| round.dataset);
    let rules = Kept::<Examples>::default()
        .rules(cloud.datasets(), pinned)
        .await?;
    let mut standings = Standings::<Examples>::default();
    let occasion = Occasion::Disqualification;
    let step = decide(&table, &args.example, &rules, &mut standings, occasion).await?;
    let (results, signer) = (cloud.results(), cloud.signer());
    if let Some(step) = &step {
        let ports = Ports {
            leaderboards: &table,
            results: &results,
            signer: &signer,
            now: &now,
        };
        publish(step, ports).await?;
    }
    match format {
        Format::Json => print_json(&json!({ "example": args.example, "decision": decision }))?,
        Format::Text => println!("the example {} is decided: {}", args.example, decision.as_str()),
    }
    Ok(Done::Fine)
}
