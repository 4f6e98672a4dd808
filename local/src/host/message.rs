//! What the processes of a function tell its dispatcher.

use tokio::sync::mpsc;

use crate::queue::Queued;

/// What a process tells the dispatcher.
#[derive(Debug)]
pub(crate) enum Message {
    /// The invocation ended, and the queue knows, or it goes back as it came.
    Done {
        /// The invocation.
        id: i64,
    },
    /// The process waits for work that comes by `jobs`.
    Idle {
        /// Where to send the next work.
        jobs: mpsc::Sender<Queued>,
    },
    /// The process is gone.
    Ended,
}
