//! Messages from the processes of a function to its dispatcher.

use tokio::sync::mpsc;

use crate::queue::Queued;

/// A process's message to the dispatcher.
#[derive(Debug)]
pub(crate) enum Message {
    /// The invocation ended, and the queue knows, or it goes back as it came.
    Done {
        /// The invocation.
        id: i64,
    },
    /// The process waits for work that comes by `jobs`.
    Idle {
        /// The channel for the next work.
        jobs: mpsc::Sender<Queued>,
    },
    /// The process is gone.
    Ended,
}
