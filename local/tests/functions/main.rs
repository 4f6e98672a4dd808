//! The function host with a real Lambda binary.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

#[path = "../common/mod.rs"]
mod common;
mod failures;
mod invocations;
mod restarts;

fn is_running(pid: &serde_json::Value) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}
