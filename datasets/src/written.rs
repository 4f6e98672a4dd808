//! What importers and kits share whose data sets are documents that an organizer writes.

use std::fs;
use std::path::{Path, PathBuf};

use dataperf::Rejection;
use dataperf::frozen::FrozenError;
use serde_json::Value;

use crate::errors::ImportError;
use crate::lines::read_text;

/// Reads the configuration of the layout at `from`, in YAML or JSON, from the first of the files `names` that
/// is there. Gives its path too. `layout` is what is expected of `from`.
///
/// # Errors
/// [`ImportError`] when there is none, or it can't be read.
pub fn read_configuration(
    from: &Path,
    names: &[&str],
    layout: &str,
) -> Result<(PathBuf, Value), ImportError> {
    let mut paths = names.iter().map(|name| from.join(name));
    let Some(path) = paths.find(|path| path.is_file()) else {
        let said = format!("it has no configuration; expected {layout}");
        return Err(ImportError::refused(from, said));
    };
    let refused = |why: String| ImportError::refused(from, format!("`{}`: {why}", path.display()));
    let text = read_text(&path).map_err(refused)?;
    // JSON is YAML
    let document =
        serde_saphyr::from_str(&text).map_err(|error| refused(format!("it is no YAML: {error}")))?;
    Ok((path, document))
}

/// Reads a file of the data set at `directory`, which has to obey the rules that `parse` holds it against.
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
        let said: Vec<&str> = reasons.map(|reason| reason.message.as_str()).collect();
        damaged(said.join("; "))
    })
}
