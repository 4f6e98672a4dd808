//! The log of every function: one JSON object a line, as `CloudWatch` queries it. Spans go to X-Ray where it is switched on.

use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::xray::XRay;

/// Logs to standard output as JSON, from the level that `RUST_LOG` names, `info` without it; sends the spans of sampled
/// invocations to X-Ray. Once a process.
pub fn log_as_json() {
    let level = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false);
    let spans = XRay::from_environment().map(|xray| xray.with_filter(filter_fn(XRay::shows)));
    tracing_subscriber::registry()
        .with(lines.with_filter(level))
        .with(spans)
        .init();
}
