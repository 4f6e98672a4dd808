//! Waiting until somebody stops the program.

use anyhow::Result;

/// Waits for Ctrl-C or a request to end.
pub(crate) async fn stopped() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}
