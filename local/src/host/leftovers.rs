//! Ends processes that outlived a host that was killed, and removes their working directories.
//!
//! A function that waits for work ends by itself when its Runtime API is gone; one that is busy ends when it wants to
//! answer. One that hangs would stay for ever, so the next start looks for it.

use std::fs::DirEntry;
use std::path::Path;

use crate::ids;

/// The variable that identifies a process's owner: the id of the data directory that it was started
/// for.
pub(super) const OWNER: &str = "DATAPERF_LOCAL_ID";

/// Clears `functions_dir` of the data directory with this id, which no host uses.
pub(crate) fn clear_leftovers(functions_dir: &Path, id: &str) {
    end_processes(functions_dir, id);
    remove_working_directories(functions_dir);
}

/// Removes the directories `FUNCTION/PROCESS` that a host makes, and nothing else.
fn remove_working_directories(functions_dir: &Path) {
    for function in directories_in(functions_dir) {
        for process in directories_in(&function.path()) {
            if process.file_name().to_str().is_some_and(ids::is_one) {
                remove_dir(&process.path());
            }
        }
        // fails when something else is in it, which stays
        let _ = std::fs::remove_dir(function.path());
    }
}

/// Removes a working directory; a failure is logged.
pub(super) fn remove_dir(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir) {
        tracing::debug!(dir = %dir.display(), %error, "cannot remove a working directory");
    }
}

/// The directories in `dir`, without symbolic links to directories.
fn directories_in(dir: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
}

/// Kills every process that was started for the data directory `id` and works in `functions_dir`. Neither is enough
/// alone: a copy of a data directory has the same id, and anybody may work in any directory.
#[cfg(target_os = "linux")]
fn end_processes(functions_dir: &Path, id: &str) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else {
            continue;
        };
        if !was_started_for(&process.path(), functions_dir, id) {
            continue;
        }
        let killed = pidfd_open(pid, PidfdFlags::empty()).and_then(|process_fd| {
            // once more, because another process may have got the number meanwhile
            if was_started_for(&process.path(), functions_dir, id) {
                pidfd_send_signal(process_fd, Signal::KILL)?;
            }
            Ok(())
        });
        tracing::info!(?pid, ?killed, "ended a process that outlived its host");
    }
}

/// Whether the process in `proc_dir` works in `functions_dir` and carries `id`. A process of another user can't be read, and counts as not started
/// for it.
#[cfg(target_os = "linux")]
fn was_started_for(proc_dir: &Path, functions_dir: &Path, id: &str) -> bool {
    let works_there = std::fs::read_link(proc_dir.join("cwd"))
        .is_ok_and(|working_dir| working_dir.starts_with(functions_dir));
    let owner = format!("{OWNER}={id}");
    works_there
        && std::fs::read(proc_dir.join("environ")).is_ok_and(|environment| {
            environment
                .split(|&byte| byte == 0)
                .any(|entry| entry == owner.as_bytes())
        })
}

/// Other systems do not tell the working directories of processes.
#[cfg(not(target_os = "linux"))]
fn end_processes(_functions_dir: &Path, _id: &str) {}
