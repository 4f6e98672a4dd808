//! `dataperf nibbler`: ask for images, submit pairs, judge them, and export what came of it.

mod agreement;
#[cfg(feature = "local")]
mod demo;
mod disqualify;
mod export;
mod images;
#[cfg(feature = "local")]
mod local;
mod participant;
mod rater;
mod registered;

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use dataperf::challenge::Challenge;
use dataperf::ports::leaderboard::OPEN_ROUND;
use dataperf::{Ending, Receipt, SubmitterName};
use dataperf_nibbler::{BENCHMARK, Kind};
use serde::Serialize;

use super::submit::{receipt, upload};
use crate::Done;
use crate::cloud::{Cloud, now};
use crate::output::{Format, print_json, print_verdict};
use crate::progress;

pub(crate) use registered::Nibbler;

/// Where help is, for whoever needs it; said by every command that has to do with images.
pub(crate) const WELL_BEING: &str = "The images may be disturbing. They are saved blurred unless you ask, you may stop at any time, and \
    docs/nibbler-participants.md#well-being and docs/nibbler-raters.md#well-being say where help is.";

#[derive(Debug, Subcommand)]
#[command(after_help = WELL_BEING)]
pub(crate) enum NibblerCommand {
    /// Ask for images of prompts
    Generate(participant::GenerateArgs),
    /// Submit a pair of a prompt and an image, or a file of pairs
    Submit(participant::SubmitArgs),
    /// Show a rater the next pair to judge, without saying whose it is
    Next(rater::NextArgs),
    /// Judge a pair, as a rater
    Judge(rater::JudgeArgs),
    /// Say how far the raters of a round agree beyond chance
    Agreement(agreement::AgreementArgs),
    /// Take a submitter, a rater, a pair or a verdict out of the count, or let it count again
    Disqualify(disqualify::DisqualifyArgs),
    /// Write the public data set of a round: validated pairs, their verdicts and images, without anybody's name
    Export(export::ExportArgs),
}

pub(crate) async fn run(command: NibblerCommand, format: Format) -> Result<Done> {
    match command {
        NibblerCommand::Generate(args) => participant::generate(args, format).await,
        NibblerCommand::Submit(args) => participant::submit(args, format).await,
        NibblerCommand::Next(args) => rater::next(args, format).await,
        NibblerCommand::Judge(args) => rater::judge(args, format).await,
        NibblerCommand::Agreement(args) => agreement::run(args, format).await,
        NibblerCommand::Disqualify(args) => disqualify::run(args, format).await,
        NibblerCommand::Export(args) => export::run(args, format).await,
    }
}

/// The round that is meant where none is named: the one that has begun last by the challenge in force, or the one outside of any.
fn round_or_latest(named: Option<&str>, challenge: Option<&Challenge>) -> Result<String> {
    if let Some(round) = named {
        return Ok(round.to_owned());
    }
    let Some(challenge) = challenge else {
        return Ok(OPEN_ROUND.into());
    };
    let begun = challenge
        .rounds
        .iter()
        .filter(|round| round.opens <= now())
        .max_by_key(|round| round.opens);
    let round = begun.context("no round of the challenge has begun: name one by `--round`")?;
    Ok(round.id.clone())
}

/// Uploads lines as one file, and waits for its receipt.
async fn send<T: Serialize>(cloud: &Cloud, kind: Kind, who: &SubmitterName, lines: &[T]) -> Result<Receipt> {
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let path = scratch.path().join(format!("{kind}.jsonl"));
    let lines: Vec<String> = lines
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    std::fs::write(&path, lines.join("\n") + "\n").context("can't write a temporary file")?;
    send_file(cloud, kind, who, &path).await
}

/// The same with a file that is there.
async fn send_file(cloud: &Cloud, kind: Kind, who: &SubmitterName, path: &Path) -> Result<Receipt> {
    let submitted = upload(cloud, BENCHMARK, kind.as_str(), who, path).await?;
    let spinner = progress::waiting(&format!("waiting for the receipt of {}", submitted.id));
    let receipt = receipt(cloud, &submitted).await;
    spinner.finish_and_clear();
    receipt
}

/// Prints a receipt; what it means for the exit code.
fn show(receipt: &Receipt, format: Format) -> Result<Done> {
    match format {
        Format::Json => print_json(receipt)?,
        Format::Text => {
            println!("submission {}", receipt.submission);
            print_verdict(&receipt.verdict);
        }
    }
    match receipt.verdict.status {
        Ending::Failed => bail!("the platform failed: it does not count against you, and can be tried again"),
        Ending::Rejected => Ok(Done::Rejected),
        Ending::Accepted | Ending::Scored => Ok(Done::Fine),
    }
}
