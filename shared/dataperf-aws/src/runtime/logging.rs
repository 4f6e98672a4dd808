//! The log of every function: one JSON object a line, as `CloudWatch` queries it.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Logs to standard output as JSON, from the level that `RUST_LOG` names, `info` without it. Once a process.
pub fn log_as_json() {
    let named = std::env::var("RUST_LOG")
        .ok()
        .and_then(|level| level.parse().ok());
    let levels = named.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false);
    tracing_subscriber::registry().with(lines).with(levels).init();
}
