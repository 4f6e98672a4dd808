//! Waiting until somebody stops the program.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C, a request to end, or the end of the terminal.
pub(crate) async fn stopped() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}
