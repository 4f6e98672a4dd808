//! `dataperf dynamic`: write texts that fool the round's models, judge other people's texts, see
//! the results, and train, query and compare models.

#[cfg(feature = "cloud")]
mod board;
mod comparison;
#[cfg(feature = "cloud")]
mod export;
#[cfg(feature = "cloud")]
mod hosted;
#[cfg(feature = "local")]
mod local;
#[cfg(feature = "closed")]
mod models;
#[cfg(feature = "cloud")]
mod online;
#[cfg(feature = "cloud")]
pub(crate) mod people;
pub(crate) mod training;

use anyhow::Result;
use clap::Subcommand;

use crate::Done;
use crate::output::rows::RowFormat;

#[cfg(feature = "local")]
pub(super) use training::matrix::print as print_matrix;

/// The place to find help; every command that shows other people's texts prints it.
pub(crate) const WELL_BEING: &str = "Texts may be hateful or disturbing. No hate speech is shown before you consent. You may skip or stop at any \
         time. docs/dynamic.md#well-being names places to get help.";

#[derive(Debug, Subcommand)]
pub(crate) enum DynamicCommand {
    #[cfg(feature = "cloud")]
    #[command(flatten)]
    Online(Box<online::OnlineCommand>),
    /// Train a model on the train sets of rounds
    Train(training::train::TrainArgs),
    /// Show models' answers to a text, or to the lines of a file
    Try(training::ask::TryArgs),
    /// Show the error rates of models on rounds' test sets
    Matrix(training::matrix::MatrixArgs),
    /// Run programs on rounds' test sets and compare them
    #[cfg(feature = "closed")]
    Models(models::ModelsArgs),
}

pub(crate) async fn run(command: DynamicCommand, rows: RowFormat) -> Result<Done> {
    match command {
        DynamicCommand::Try(args) => training::ask::run(&args, rows),
        DynamicCommand::Matrix(args) => training::matrix::run(&args, rows),
        #[cfg(feature = "cloud")]
        DynamicCommand::Online(command) => Box::pin(online::run(*command, rows)).await,
        #[cfg(feature = "closed")]
        DynamicCommand::Models(args) => models::run(&args, rows),
        DynamicCommand::Train(args) => training::train::run(&args, rows.of_documents()?),
    }
}
