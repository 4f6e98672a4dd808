//! Frozen data sets on disk: their manifests, and whether their files are what these say.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use dataperf::dataset::frozen::{FrozenError, MANIFEST, Manifest};
use dataperf::{Digest, quote};
use serde::Deserialize;

use crate::output::progress;

/// A data set's manifest and name.
pub(crate) struct Opened {
    pub(crate) manifest: Manifest,
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the manifest, of whatever benchmark it is.
pub(crate) fn open(directory: &Path) -> Result<Opened> {
    #[derive(Deserialize)]
    struct Head {
        benchmark: String,
    }
    let path = directory.join(MANIFEST);
    let place = directory.display().to_string();
    let bytes = fs::read(&path)
        .map_err(|error| anyhow::Error::from(error).context(FrozenError::Missing { place }))?;
    let about = || format!("`{}` is not a manifest", path.display());
    let head: Head = serde_json::from_slice(&bytes).with_context(about)?;
    let manifest = Manifest::parse(&bytes, &head.benchmark)?;
    Ok(Opened {
        digest: Digest::compute(&bytes),
        manifest,
        bytes,
    })
}

/// The files that differ from the manifest, each with what is wrong.
pub(crate) fn damages(directory: &Path, manifest: &Manifest) -> Vec<String> {
    let bar = progress::bytes(
        manifest.files.values().map(|file| file.n_bytes).sum(),
        "verifying",
    );
    let mut damages = Vec::new();
    for (name, entry) in &manifest.files {
        let path = directory.join(name);
        let read = fs::File::open(&path).and_then(|file| Digest::of_all(bar.wrap_read(file)));
        match read {
            Err(error) => damages.push(format!("{}: {error}", quote(name))),
            Ok((_, n_bytes)) if n_bytes != entry.n_bytes => {
                damages.push(format!(
                    "{}: it has {n_bytes} bytes instead of {}",
                    quote(name),
                    entry.n_bytes
                ));
            }
            Ok((digest, _)) if digest != entry.digest => {
                damages.push(format!(
                    "{}: its bytes are not those the manifest names",
                    quote(name)
                ));
            }
            Ok(_) => {}
        }
    }
    bar.finish_and_clear();
    damages
}

/// Refuses a data set that is not what its manifest says.
pub(crate) fn refuse_damaged(directory: &Path, damages: &[String]) -> Result<()> {
    if !damages.is_empty() {
        bail!(
            "`{}` is damaged; fetch or import it again\n  - {}",
            directory.display(),
            damages.join("\n  - ")
        );
    }
    Ok(())
}

/// Opens a data set all of whose files are what its manifest says.
pub(crate) fn open_verified(directory: &Path) -> Result<Opened> {
    let opened = open(directory)?;
    refuse_damaged(directory, &damages(directory, &opened.manifest))?;
    Ok(opened)
}
