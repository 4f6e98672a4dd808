//! Whether a `SQLite` file is what a start expects, before anything writes to it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::StartError;

/// How many of the faults that `SQLite` finds are reported.
const N_FAULTS: usize = 3;

/// Refuses a file that is missing, damaged, or has no table called `table`; `loss` says what is unknown without the file.
///
/// Every page is read, and every index is compared with its table; damage within a value that no index holds is noticed at
/// the earliest when the row is read.
///
/// # Errors
/// [`StartError::Lost`] or [`StartError::Damaged`].
pub(crate) fn check(path: &Path, loss: &'static str, table: &str) -> Result<(), StartError> {
    // opening a missing file would make it, and throw away the `-wal` file that may still hold what was written last
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
        return Err(StartError::Lost {
            path: path.to_owned(),
            loss,
        });
    }
    let damaged = |reason: String| StartError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let faults = faults(path, table).map_err(|error| damaged(error.to_string()))?;
    if faults.is_empty() {
        return Ok(());
    }
    Err(damaged(faults.join("; ")))
}

fn faults(path: &Path, table: &str) -> rusqlite::Result<Vec<String>> {
    // with the right to write, which a file with a `-wal` file needs to be read
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({N_FAULTS})"))?;
    let mut faults: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    faults.retain(|fault| fault != "ok");
    let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
    if faults.is_empty() && !connection.prepare(sql)?.exists([table])? {
        faults.push(format!("it has no table `{table}`"));
    }
    Ok(faults)
}
