//! Functions that run by the clock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::arns::{ACCOUNT_ID, REGION};
use crate::config::Schedule;
use crate::database::now_ms;
use crate::queue::Queue;
use crate::queue::events::timestamp;

/// The event of a schedule, in the form of `EventBridge`.
pub(crate) fn scheduled_event() -> Value {
    json!({
        "version": "0",
        "id": uuid::Uuid::new_v4().to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT_ID,
        "time": timestamp(now_ms()),
        "region": REGION,
        "resources": [],
        "detail": {},
    })
}

/// Queues an invocation each time the schedule says so, until `stop`.
pub(crate) async fn keep(schedule: Schedule, queue: Arc<Queue>, stop: CancellationToken) {
    let every = schedule.every.max(Duration::from_millis(1));
    let mut rest = schedule.first_after;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(rest) => rest = every,
        }
        let event = schedule.input.clone().unwrap_or_else(scheduled_event).to_string();
        if let Err(error) = queue.invoke(schedule.function.clone(), event).await {
            tracing::error!(function = schedule.function, %error, "cannot queue a scheduled invocation");
        }
    }
}
