//! The commands of `dataperf challenge` that need a cloud.

use anyhow::Result;
use clap::Subcommand;

#[cfg(feature = "local")]
use super::preview;
use super::{finish, history, publish, release, report};
use crate::Done;
use crate::output::rows::RowFormat;

/// The commands of `dataperf challenge` that need a cloud.
#[derive(Debug, Subcommand)]
pub(crate) enum OnlineCommand {
    /// Show the page of a document on this machine, before publishing
    #[cfg(feature = "local")]
    Preview(preview::PreviewArgs),
    /// Check a document and make it the active challenge
    Publish(publish::PublishArgs),
    /// Show a benchmark's active challenge and its rounds
    Show(publish::ShowArgs),
    /// List the published challenges, newest first
    History(history::HistoryArgs),
    /// Publish an earlier challenge again
    Rollback(history::RollbackArgs),
    /// Make the final board of a closed round now
    Finish(finish::FinishArgs),
    /// Write the closing report of a round as Markdown or HTML
    Report(report::ReportArgs),
    /// Write the full receipts of a closed round
    Release(release::ReleaseArgs),
    /// End a challenge; the round `open` without limits remains
    Remove(publish::RemoveArgs),
}

/// Runs one of these commands.
pub(super) async fn run(command: OnlineCommand, rows: RowFormat) -> Result<Done> {
    match command {
        #[cfg(feature = "local")]
        OnlineCommand::Preview(args) => preview::run(args, rows).await,
        OnlineCommand::Publish(args) => publish::publish(args, rows).await,
        OnlineCommand::Show(args) => publish::show(args, rows).await,
        OnlineCommand::History(args) => history::show(args, rows).await,
        OnlineCommand::Rollback(args) => history::roll_back(args, rows).await,
        OnlineCommand::Finish(args) => finish::run(args, rows.of_documents()?).await,
        OnlineCommand::Release(args) => release::run(args, rows.of_documents()?).await,
        OnlineCommand::Report(args) => report::run(args, rows.of_documents()?).await,
        OnlineCommand::Remove(args) => publish::remove(args, rows.of_documents()?).await,
    }
}
