//! `dataperf nibbler`: ask for images, submit pairs, judge them, and export what came of it.

mod agreement;
#[cfg(feature = "local")]
pub(super) mod demo;
mod disqualify;
mod export;
mod hosted;
mod images;
#[cfg(feature = "local")]
mod local;
mod participant;
mod rater;

use std::path::Path;

use anyhow::Result;
use clap::Subcommand;
use dataperf::{Receipt, SubmitterName};
use dataperf_collections::nibbler::{BENCHMARK, Kind};
use serde::Serialize;

use super::collection::agreement::AgreementArgs;
use super::collection::{self, round_or_latest, show};
use crate::Done;
use crate::cloud::Cloud;
use crate::output::rows::RowFormat;

/// Where people find help; every command that shows or makes images prints it.
pub(crate) const WELL_BEING: &str = "Images may be disturbing; they are saved blurred unless you ask. You may stop at any time. \
         docs/nibbler-participants.md#well-being and docs/nibbler-raters.md#well-being name places to get help.";

#[derive(Debug, Subcommand)]
pub(crate) enum NibblerCommand {
    /// Make images from prompts
    Generate(participant::GenerateArgs),
    /// Submit a pair of a prompt and an image, or a file of pairs
    Submit(participant::SubmitArgs),
    /// Show a rater the next pair to judge
    Next(rater::NextArgs),
    /// Judge a pair, as a rater
    Judge(rater::JudgeArgs),
    /// Measure the agreement of a round's raters
    Agreement(AgreementArgs),
    /// Disqualify a submitter, rater, pair or verdict, or undo it
    #[command(subcommand)]
    Disqualify(disqualify::SubjectArgs),
    /// Write the public data set of a round, without names
    Export(export::ExportArgs),
}

pub(crate) async fn run(command: NibblerCommand, rows: RowFormat) -> Result<Done> {
    let format = rows.of_documents();
    match command {
        NibblerCommand::Generate(args) => participant::generate(args, rows).await,
        NibblerCommand::Submit(args) => participant::submit(args, rows).await,
        NibblerCommand::Next(args) => rater::next(args, format?).await,
        NibblerCommand::Judge(args) => rater::judge(args, rows).await,
        NibblerCommand::Agreement(args) => agreement::run(args, rows).await,
        NibblerCommand::Disqualify(subject) => disqualify::run(subject, format?).await,
        NibblerCommand::Export(args) => export::run(args, format?).await,
    }
}

/// Uploads lines as one file, and waits for its receipt.
async fn send<T: Serialize>(cloud: &Cloud, kind: Kind, who: &SubmitterName, lines: &[T]) -> Result<Receipt> {
    collection::send(cloud, BENCHMARK, kind.as_str(), who, lines).await
}

/// Uploads the file at `path`, and waits for its receipt.
async fn send_file(cloud: &Cloud, kind: Kind, who: &SubmitterName, path: &Path) -> Result<Receipt> {
    collection::send_file(cloud, BENCHMARK, kind.as_str(), who, path).await
}
