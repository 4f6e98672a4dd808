//! The directory that holds all state, used by one local cloud at a time.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::host;

/// Makes the data directory; its absolute path.
pub(crate) fn prepare(data_dir: &Path) -> Result<PathBuf, StartError> {
    let failed = |source| StartError::DataDir {
        path: data_dir.to_owned(),
        source,
    };
    std::fs::create_dir_all(data_dir).map_err(failed)?;
    let data_dir = data_dir.canonicalize().map_err(failed)?;
    Ok(data_dir)
}

/// Locks the directory, and clears away what a killed host left in it.
pub(crate) fn lock(data_dir: &Path) -> Result<File, StartError> {
    let path = data_dir.join("lock");
    let failed = |source| StartError::DataDir {
        path: path.clone(),
        source,
    };
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // processes and their working directories that a crash left behind
            let functions_dir = data_dir.join("functions");
            host::kill_all_in(&functions_dir);
            let _ = std::fs::remove_dir_all(functions_dir);
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => Err(StartError::DataDirInUse {
            path: data_dir.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
