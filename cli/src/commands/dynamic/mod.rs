//! `dataperf dynamic`: train models on rounds of texts that were written to fool models, ask them, and compare them.

mod ask;
mod data;
mod matrix;
#[cfg(feature = "closed")]
mod models;
mod train;

use anyhow::Result;
use clap::Subcommand;

use crate::Done;
use crate::output::RowFormat;

pub(super) use matrix::print as print_matrix;

#[derive(Debug, Subcommand)]
pub(crate) enum DynamicCommand {
    /// Train a model on the train sets of rounds, which the next round can name as its target
    Train(train::TrainArgs),
    /// Ask models about a text, or about the lines of a file
    Try(ask::TryArgs),
    /// Show how often models are wrong about rounds' test sets
    Matrix(matrix::MatrixArgs),
    /// Run programs on rounds' test sets and compare them: right answers, compute, memory, robustness, fairness
    #[cfg(feature = "closed")]
    Models(models::ModelsArgs),
}

pub(crate) fn run(command: DynamicCommand, rows: RowFormat) -> Result<Done> {
    match command {
        DynamicCommand::Train(args) => train::run(&args, rows.of_documents()?),
        DynamicCommand::Try(args) => ask::run(&args, rows),
        DynamicCommand::Matrix(args) => matrix::run(&args, rows),
        #[cfg(feature = "closed")]
        DynamicCommand::Models(args) => models::run(&args, rows),
    }
}
