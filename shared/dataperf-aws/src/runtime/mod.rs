//! The common frame of every function: its environment, the clock, and panics.

pub(crate) mod logging;
pub(crate) mod metrics;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::{SystemTime, UNIX_EPOCH};

use dataperf::Timestamp;
use futures_util::FutureExt;

use crate::events::fault::Fault;

/// A variable of the environment.
///
/// # Errors
/// When it is not set.
pub fn variable(name: &str) -> Result<String, lambda_runtime::Error> {
    std::env::var(name).map_err(|_| format!("the environment variable `{name}` is not set").into())
}

/// A variable of the environment that is a whole number of seconds.
pub(crate) fn seconds(name: &str) -> Result<i64, lambda_runtime::Error> {
    let value = variable(name)?;
    let wrong =
        || format!("the environment variable `{name}` is `{value}`, it must be whole seconds from 0 on");
    let seconds: u32 = value.parse().map_err(|_| wrong())?;
    Ok(i64::from(seconds))
}

/// The time.
pub fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// Does the work; a panic becomes a fault of its own kind, and the function lives on.
///
/// # Errors
/// The work's, or that it panicked.
pub async fn guarded<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::panic(message.as_deref().unwrap_or("without a message")))
    })
}
