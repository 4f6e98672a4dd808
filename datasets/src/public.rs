//! The participants' part of what is no benchmark: files to read, and no rules to hold an artifact against.

use std::fs;
use std::path::Path;

use dataperf::benchmark::PUBLIC;
use dataperf::frozen::{FrozenError, Manifest};

use crate::import::ImportError;
use crate::writer::digest_of;

/// Copies the files of the data set `from` that are for participants into `out`, without the `public/` in front of
/// their paths. Gives the paths, ascending; none when the data set has no such part.
///
/// # Errors
/// [`ImportError::Io`] when a file can't be read or written; [`ImportError::Occupied`] when one is there already;
/// [`ImportError::Frozen`] when one is damaged. Nothing is written unless all can be read.
pub fn export_public(from: &Path, manifest: &Manifest, out: &Path) -> Result<Vec<String>, ImportError> {
    let public = || {
        manifest
            .files
            .iter()
            .filter_map(|(path, entry)| Some((path.strip_prefix(PUBLIC)?, path, entry)))
    };
    for (public, path, entry) in public() {
        let (source, to) = (from.join(path), out.join(public));
        if to.exists() {
            return Err(ImportError::Occupied(to));
        }
        let digest = digest_of(&source).map_err(ImportError::io("can't read", &source))?;
        if digest != entry.digest {
            return Err(FrozenError::damaged(path, "its digest is another than the manifest's").into());
        }
    }
    let mut exported = Vec::new();
    for (public, path, _) in public() {
        let to = out.join(public);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(ImportError::io("can't make the directory", parent))?;
        }
        fs::copy(from.join(path), &to).map_err(ImportError::io("can't write", &to))?;
        exported.push(public.to_owned());
    }
    Ok(exported)
}
