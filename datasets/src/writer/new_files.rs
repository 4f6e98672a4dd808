//! Writes files of a directory together, if none of them exists.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::errors::ImportError;

/// Writes files by their names into the directory `out`, which it creates if missing.
///
/// # Errors
/// [`ImportError::Occupied`] when one of them is there already, before anything is written; [`ImportError::Io`].
pub fn write_new_files(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), ImportError> {
    if let Some((name, _)) = files.iter().find(|(name, _)| out.join(name).exists()) {
        return Err(ImportError::Occupied(out.join(name)));
    }
    fs::create_dir_all(out).map_err(ImportError::io("can't make the directory", out))?;
    for (name, bytes) in files {
        let path = out.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(ImportError::io("can't write", &path))?;
    }
    Ok(())
}
