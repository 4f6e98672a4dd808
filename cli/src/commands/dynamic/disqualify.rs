//! What an organizer takes out of the count: an annotator, a validator, an example or a verdict.

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use dataperf::challenge::Challenge;
use dataperf::ports::leaderboard::{Leaderboards, Withdrawal};
use dataperf::ports::maintenance::{Maintenance, Order};
use dataperf::workflow::Ports;
use dataperf::{Ending, SubmitterName};
use dataperf_collection::Subject;
use dataperf_collection_aws::{Kept, Occasion, Standings, concerned, decide, disqualify, publish};
use dataperf_text::{BENCHMARK, DESCRIPTOR, ExampleId, RANKING, Task};
use dataperf_text_aws::Examples;
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dataperf dynamic disqualify submitter ada --reason 'bought examples' --local\n  \
    dataperf dynamic disqualify verdict 0123456789abcdef0123456789abcdef --rater rosa --reason 'a slip' --local\n  \
    dataperf dynamic disqualify submitter ada --undo --reason 'she did not' --local\n\nFor the organizer. It holds for \
    everything that is decided later, until it is undone. Of what is decided the scores are worked out anew: examples without enough verdicts \
    wait for validators again. Nothing is deleted. If the command is cut short, give it again."
)]
pub(crate) struct DisqualifyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All examples of an annotator, whose rows leave the boards and whose uploads are refused
    Submitter {
        /// The annotator
        name: SubmitterName,
        #[command(flatten)]
        how: How,
    },
    /// All verdicts of a validator, whose further ones are refused
    Rater {
        /// The validator
        name: SubmitterName,
        #[command(flatten)]
        how: How,
    },
    /// An example
    Example {
        /// The example's id
        example: ExampleId,
        #[command(flatten)]
        how: How,
    },
    /// One verdict on an example
    Verdict {
        /// The example's id
        example: ExampleId,
        /// Whose verdict
        #[arg(long)]
        rater: SubmitterName,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, Args)]
struct How {
    /// Why; it is kept beside the subject
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Let it count again
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

impl What {
    fn parts(self) -> (Subject, How) {
        match self {
            Self::Submitter { name, how } => (Subject::Submitter(name.to_string()), how),
            Self::Rater { name, how } => (Subject::Rater(name.to_string()), how),
            Self::Example { example, how } => (Subject::Item(example.to_string()), how),
            Self::Verdict { example, rater, how } => {
                (Subject::Verdict(example.to_string(), rater.to_string()), how)
            }
        }
    }
}

pub(crate) async fn run(args: DisqualifyArgs, format: Format) -> Result<Done> {
    let (subject, How { reason, undo, cloud }) = args.what.parts();
    let n_chars = reason.chars().count();
    ensure!(
        (1..=Withdrawal::MAX_REASON_CHARS).contains(&n_chars),
        "the reason has {n_chars} characters: give from 1 to {}",
        Withdrawal::MAX_REASON_CHARS
    );
    let cloud = cloud.connect().await;
    let table = cloud.leaderboards();
    let examples = concerned::<Examples>(&table, &subject).await?;
    let is_known = !examples.is_empty() || matches!(subject, Subject::Submitter(_) | Subject::Rater(_));
    ensure!(is_known, "there is no such example: check the id");
    let notes = disqualify::<Examples>(&table, &subject, now(), &reason, undo).await?;
    ensure!(
        !undo || !notes.is_empty(),
        "it is not disqualified: there is nothing to undo"
    );
    // what was submitted or judged meanwhile is concerned, too
    let examples = concerned::<Examples>(&table, &subject).await?;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let (results, signer) = (cloud.results(), cloud.signer());
    let ports = Ports {
        leaderboards: &table,
        results: &results,
        signer: &signer,
        now: &now,
    };
    let (rules, mut standings, mut n_steps) =
        (Kept::<Examples>::default(), Standings::<Examples>::default(), 0);
    for example in &examples {
        let round = challenge
            .as_ref()
            .and_then(|challenge| challenge.round(&example.round));
        let pinned = round.and_then(|round| round.dataset);
        let rules = rules.rules(cloud.datasets(), pinned).await?;
        let occasion = Occasion::Disqualification;
        if let Some(step) = decide(&table, &example.id, &rules, &mut standings, occasion).await? {
            publish(&step, ports).await?;
            n_steps += usize::from(!step.scores.is_empty());
        }
    }
    let n_withdrawn = match &subject {
        Subject::Submitter(name) if !undo => withdraw_all(&cloud, name, &reason).await?,
        _ => 0,
    };
    match format {
        Format::Json => print_json(&json!({
            "subject": subject.to_string(), "is_disqualified": !undo, "notes": notes, "examples": examples.len(), "steps": n_steps,
            "withdrawn": n_withdrawn,
        }))?,
        Format::Text => {
            let said = if undo { "counts again" } else { "is disqualified" };
            println!(
                "{subject} {said}: {} examples were looked at anew, {n_steps} scores follow",
                examples.len()
            );
            if n_withdrawn > 0 {
                println!("{n_withdrawn} steps of scores are withdrawn, so that no row is left");
            }
        }
    }
    Ok(Done::Fine)
}

/// Takes a submitter's rows off the boards: the latest score stands, so that none may be left.
async fn withdraw_all(cloud: &Cloud, name: &str, reason: &str) -> Result<usize> {
    let table = cloud.leaderboards();
    let order = Order {
        direction: DESCRIPTOR.direction,
        ranking: RANKING,
    };
    let mut n_withdrawn = 0;
    for entry in table
        .history(BENCHMARK, name, usize::MAX)
        .await?
        .into_iter()
        .rev()
    {
        let is_step = Task::ALL
            .iter()
            .any(|task| task.as_str() == entry.board.leaderboard);
        if is_step && entry.ending == Some(Ending::Scored) && entry.withdrawn_at.is_none() {
            table
                .withdraw(BENCHMARK, &entry.id, now(), order, Some(reason))
                .await?;
            n_withdrawn += 1;
        }
    }
    Ok(n_withdrawn)
}
