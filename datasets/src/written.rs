//! Code shared by importers and kits whose data sets are documents that an organizer writes.

use std::fs;
use std::path::{Path, PathBuf};

use dataperf::Rejection;
use dataperf::dataset::frozen::FrozenError;
use serde_json::Value;

use crate::errors::ImportError;
use crate::tables::lines::read_text;

/// Reads the configuration of the layout at `from`, in YAML or JSON, from the first existing file
/// of `names`. Returns its path too. `layout` describes the expected contents of `from`.
///
/// # Errors
/// [`ImportError`] if it is missing or can't be read.
pub fn read_configuration(
    from: &Path,
    names: &[&str],
    layout: &str,
) -> Result<(PathBuf, Value), ImportError> {
    let mut paths = names.iter().map(|name| from.join(name));
    let Some(path) = paths.find(|path| path.is_file()) else {
        let message = format!("it has no configuration; expected {layout}");
        return Err(ImportError::refused(from, message));
    };
    let refused = |why: String| ImportError::refused(from, format!("`{}`: {why}", path.display()));
    let text = read_text(&path).map_err(refused)?;
    // JSON is YAML
    let document =
        serde_saphyr::from_str(&text).map_err(|error| refused(format!("it is not valid YAML: {error}")))?;
    Ok((path, document))
}

/// Reads a file of the data set at `directory`, and checks it with `parse`.
///
/// # Errors
/// [`FrozenError`] when it can't be read, or breaks rules.
pub fn parsed_file<T>(
    directory: &Path,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, Rejection>,
) -> Result<T, FrozenError> {
    let damaged = |why: String| FrozenError::damaged(name, why);
    let bytes = fs::read(directory.join(name)).map_err(|error| damaged(error.to_string()))?;
    parse(&bytes).map_err(|rejection| {
        let reasons = rejection.reasons().iter();
        let message: Vec<&str> = reasons.map(|reason| reason.message.as_str()).collect();
        damaged(message.join("; "))
    })
}
