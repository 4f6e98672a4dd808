//! The participants' part of a frozen data set.

use std::fs::{self, File};
use std::path::Path;

use dataperf::Benchmark;
use dataperf::benchmark::PUBLIC;
use dataperf::dataset::{Dataset, DatasetError, Integrity};
use dataperf::frozen::{FrozenError, Manifest};

use crate::DirectoryBucket;
use crate::import::ImportError;
use crate::writer::{DatasetWriter, digest_of};

/// Makes the participants' kit of a data set: a data set as well, of the files for participants only, with which an artifact can
/// be held against the rules. `None` when the rules of one of the boards need hidden files.
///
/// # Errors
/// As [`export_public`].
pub async fn export_kit<B: Benchmark>(
    from: &Path,
    manifest: &Manifest,
    out: &Path,
) -> Result<Option<Vec<String>>, ImportError> {
    let mut kit = manifest.clone();
    kit.files.retain(|path, _| path.starts_with(PUBLIC));
    let bucket = DirectoryBucket::new(from);
    let whole = Dataset::<B>::open(bucket, String::new(), None, Integrity::Sizes).await?;
    let public = whole.retaining(|path| path.starts_with(PUBLIC));
    for board in B::leaderboards(&kit)? {
        match public.frozen(&board.name).await {
            Ok(_) => {}
            Err(DatasetError::Frozen(FrozenError::NotListed { .. })) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    let mut writer = DatasetWriter::create(out)?;
    for (path, entry) in &kit.files {
        let source = from.join(path);
        let file = File::open(&source).map_err(ImportError::io("can't read", &source))?;
        writer.copy_entry(path, entry, file)?;
    }
    let paths = kit.files.into_keys().collect();
    writer.finish(B::ID, kit.parameters)?;
    Ok(Some(paths))
}

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
