//! Ends processes that outlived a host that was killed.
//!
//! A function that waits for work ends by itself when its Runtime API is gone; one that is busy ends when it wants to
//! answer. One that hangs would stay for ever, so the next start looks for it by its working directory.

use std::path::Path;

/// Kills every process whose working directory lies in `dir`.
#[cfg(target_os = "linux")]
pub(crate) fn kill_all_in(dir: &Path) {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // a process of somebody else has no readable directory
        let Ok(cwd) = std::fs::read_link(process.path().join("cwd")) else {
            continue;
        };
        if cwd.starts_with(dir)
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            let killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            tracing::info!(?pid, ?killed, "ended a process that outlived its host");
        }
    }
}

/// Other systems do not tell the working directories of processes.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_all_in(_dir: &Path) {}
