//! The log of every function: one JSON object a line, as `CloudWatch` queries it.

use tracing_subscriber::EnvFilter;

/// Logs to standard output as JSON, from the level that `RUST_LOG` names, `info` without it. Once a process.
pub fn log_as_json() {
    let level = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_env_filter(level)
        .init();
}
