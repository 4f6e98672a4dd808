//! `dataperf dynamic`: write texts that fool the round's models, judge those of others, see what came of it, train models on it, ask them,
//! and compare them.

mod agreement;
mod annotator;
mod ask;
mod board;
mod compared;
mod data;
mod decide;
mod disqualify;
mod export;
#[cfg(feature = "local")]
mod local;
mod matrix;
#[cfg(feature = "closed")]
mod models;
mod rater;
mod registered;
mod train;

use anyhow::Result;
use clap::Subcommand;

use super::collection::agreement::AgreementArgs;
use crate::Done;
use crate::rows::RowFormat;

#[cfg(feature = "local")]
pub(super) use matrix::print as print_matrix;
pub(crate) use registered::Text;

/// Where help is, for whoever needs it; said by every command that shows what others have written.
pub(crate) const WELL_BEING: &str = "Texts may be hateful or disturbing. No hate speech is shown before you consent. You may skip or stop at any \
         time. docs/dynamic.md#well-being names places to get help.";

#[derive(Debug, Subcommand)]
pub(crate) enum DynamicCommand {
    /// Submit examples that fool models, and see the models' answers
    Submit(annotator::SubmitArgs),
    /// Show a rater the next example to judge
    Next(rater::NextArgs),
    /// Judge an example, as a rater
    Judge(rater::JudgeArgs),
    /// Decide an example, as the organizer
    Decide(decide::DecideArgs),
    /// Disqualify a submitter, rater, example or verdict, or undo it
    Disqualify(disqualify::DisqualifyArgs),
    /// Measure how far the raters of a round agree
    Agreement(AgreementArgs),
    /// Write the data set of a round, without names
    Export(export::ExportArgs),
    /// Train a model on the train sets of rounds
    Train(train::TrainArgs),
    /// Ask models about a text, or about the lines of a file
    Try(ask::TryArgs),
    /// Show the error rates of models on rounds' test sets
    Matrix(matrix::MatrixArgs),
    /// Compare the programs of a hosted round, as the organizer
    Board(board::BoardArgs),
    /// Run programs on rounds' test sets and compare them
    #[cfg(feature = "closed")]
    Models(models::ModelsArgs),
}

pub(crate) async fn run(command: DynamicCommand, rows: RowFormat) -> Result<Done> {
    match command {
        DynamicCommand::Try(args) => ask::run(&args, rows),
        DynamicCommand::Matrix(args) => matrix::run(&args, rows),
        DynamicCommand::Board(args) => board::run(args, rows).await,
        #[cfg(feature = "closed")]
        DynamicCommand::Models(args) => models::run(&args, rows),
        DynamicCommand::Train(args) => train::run(&args, rows.of_documents()?),
        DynamicCommand::Submit(args) => annotator::submit(args, rows).await,
        DynamicCommand::Next(args) => rater::next(args, rows.of_documents()?).await,
        DynamicCommand::Judge(args) => rater::judge(args, rows).await,
        DynamicCommand::Decide(args) => decide::run(args, rows.of_documents()?).await,
        DynamicCommand::Disqualify(args) => disqualify::run(args, rows.of_documents()?).await,
        DynamicCommand::Agreement(args) => agreement::run(args, rows).await,
        DynamicCommand::Export(args) => export::run(args, rows.of_documents()?).await,
    }
}
