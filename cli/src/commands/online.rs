//! The commands that need a cloud.

use anyhow::Result;
use clap::Subcommand;

use super::{
    cloud, leaderboard, nibbler,
    organizer::{export, keys, redrive, rescore, submitter, token, withdraw},
    participant::{login, receipt, status, submit},
};
use crate::Done;
use crate::output::rows::RowFormat;

/// The commands that need a cloud, or the page of one.
#[derive(Debug, Subcommand)]
pub(crate) enum OnlineCommand {
    /// Store the token with which you submit and read your results
    Login(login::LoginArgs),
    /// Remove a stored token
    #[command(hide = true)]
    Logout(login::LogoutArgs),
    /// Upload an artifact and wait for its score
    Submit(submit::SubmitArgs),
    /// Add and list submitters
    #[command(subcommand)]
    Submitter(submitter::SubmitterCommand),
    /// Show submissions: one, a submitter's, or failed ones
    Status(status::StatusArgs),
    /// Print or save the signed receipt of a submission
    Receipt(receipt::ReceiptArgs),
    /// Retry submissions that failed because of a platform error
    Redrive(redrive::RedriveArgs),
    /// Show leaderboards
    Leaderboard(Box<leaderboard::LeaderboardArgs>),
    /// Export boards, submissions and metrics as Parquet or CSV
    Export(export::ExportArgs),
    /// Create, list and revoke tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Publish, rotate and show the keys that sign receipts
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Take a scored submission off its board
    Withdraw(withdraw::WithdrawArgs),
    /// Score a whole board again
    Rescore(rescore::RescoreArgs),
    /// Adversarial Nibbler: make images, submit and judge pairs
    #[command(subcommand)]
    Nibbler(nibbler::NibblerCommand),
    /// Show which cloud the commands use, and every connection option
    Cloud(cloud::ShowArgs),
}

/// Runs one of these commands.
pub(crate) async fn run(command: OnlineCommand, rows: RowFormat) -> Result<Done> {
    match command {
        OnlineCommand::Leaderboard(args) => Box::pin(leaderboard::run(*args, rows)).await,
        OnlineCommand::Status(args) => status::run(args, rows).await,
        OnlineCommand::Submitter(command) => submitter::run(command, rows).await,
        OnlineCommand::Token(command) => token::run(command, rows).await,
        OnlineCommand::Redrive(args) => redrive::run(args, rows).await,
        OnlineCommand::Submit(args) => Box::pin(submit::run(args, rows)).await,
        OnlineCommand::Keys(command) => keys::run(command, rows).await,
        OnlineCommand::Rescore(args) => rescore::run(args, rows).await,
        OnlineCommand::Nibbler(command) => nibbler::run(command, rows).await,
        OnlineCommand::Login(args) => login::login(args, rows.of_documents()?).await,
        OnlineCommand::Logout(args) => login::logout(&args, rows.of_documents()?),
        OnlineCommand::Receipt(args) => receipt::run(args, rows.of_documents()?).await,
        OnlineCommand::Export(args) => Box::pin(export::run(args, rows.of_documents()?)).await,
        OnlineCommand::Withdraw(args) => Box::pin(withdraw::run(args, rows.of_documents()?)).await,
        OnlineCommand::Cloud(args) => cloud::run(args, rows.of_documents()?).await,
    }
}
