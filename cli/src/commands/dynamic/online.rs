//! The commands of `dataperf dynamic` that need a cloud.

use anyhow::Result;
use clap::Subcommand;

use super::{
    board, export,
    people::{agreement, annotator, decide, disqualify, rater},
};
use crate::Done;
use crate::commands::collection::agreement::AgreementArgs;
use crate::output::rows::RowFormat;

/// The commands of `dataperf dynamic` that need a cloud.
#[derive(Debug, Subcommand)]
pub(crate) enum OnlineCommand {
    /// Submit examples that fool models, and see the models' answers
    Submit(annotator::SubmitArgs),
    /// Show a rater the next example to judge
    Next(rater::NextArgs),
    /// Judge an example, as a rater
    Judge(rater::JudgeArgs),
    /// Decide an example, as the organizer
    Decide(decide::DecideArgs),
    /// Disqualify a submitter, rater, example or verdict, or undo it
    #[command(subcommand)]
    Disqualify(disqualify::SubjectArgs),
    /// Measure the agreement of a round's raters
    Agreement(AgreementArgs),
    /// Write the data set of a round, without names
    Export(export::ExportArgs),
    /// Compare the programs of a hosted round, as the organizer
    Board(board::BoardArgs),
}

/// Runs one of these commands.
pub(super) async fn run(command: OnlineCommand, rows: RowFormat) -> Result<Done> {
    match command {
        OnlineCommand::Board(args) => board::run(args, rows).await,
        OnlineCommand::Submit(args) => annotator::submit(args, rows).await,
        OnlineCommand::Next(args) => rater::next(args, rows.of_documents()?).await,
        OnlineCommand::Judge(args) => rater::judge(args, rows).await,
        OnlineCommand::Decide(args) => decide::run(args, rows.of_documents()?).await,
        OnlineCommand::Disqualify(subject) => disqualify::run(subject, rows.of_documents()?).await,
        OnlineCommand::Agreement(args) => agreement::run(args, rows).await,
        OnlineCommand::Export(args) => export::run(args, rows.of_documents()?).await,
    }
}
