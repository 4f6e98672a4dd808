//! The participants' part of a frozen data set.

use std::fs;
use std::path::Path;

use dataperf::frozen::Manifest;

use crate::import::ImportError;

/// Files below this folder of a data set are for participants; everything else stays with the organizer.
const PUBLIC: &str = "public/";

/// Copies the files of the data set `from` that are for participants into `out`, without the `public/` in front of
/// their paths. Gives the paths, ascending; none when the data set has no such part.
///
/// # Errors
/// [`ImportError::Io`] when a file can't be read or written; [`ImportError::Occupied`] when one is there already.
pub fn export_public(from: &Path, manifest: &Manifest, out: &Path) -> Result<Vec<String>, ImportError> {
    let mut exported = Vec::new();
    for path in manifest.files.keys() {
        let Some(public) = path.strip_prefix(PUBLIC) else {
            continue;
        };
        let to = out.join(public);
        if to.exists() {
            return Err(ImportError::Occupied(to));
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
        }
        fs::copy(from.join(path), &to).map_err(ImportError::io("can't write", &to))?;
        exported.push(public.to_owned());
    }
    Ok(exported)
}
