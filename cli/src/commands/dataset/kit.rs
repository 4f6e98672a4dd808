//! The participants' kit of a data set.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use dataperf::Digest;
use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::MANIFEST;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::evaluate::check;
use dataperf::progress::Silent;
use dataperf_baselines::Baselines;
use dataperf_datasets::{DirectoryBucket, Example, Import, Kit, export_kit};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::on_disk::Opened;
use crate::registry::{Action, extension, with_benchmark};

/// Makes the kit of the data set in `directory`.
struct MakeKit<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
    out: &'a Path,
}

impl Action for MakeKit<'_> {
    type Output = Kit;

    async fn run<B: Import + Baselines>(self) -> Result<Kit> {
        let examples = examples::<B>(self.directory, self.manifest).await?;
        Ok(export_kit::<B>(
            self.directory,
            self.manifest,
            &examples,
            self.out,
        )?)
    }
}

/// A valid artifact for each board, made from the participants' files.
async fn examples<B: Import + Baselines>(directory: &Path, manifest: &Manifest) -> Result<Vec<Example>> {
    let bucket = DirectoryBucket::new(directory);
    let whole = Dataset::<B>::open(bucket, String::new(), None, Integrity::Sizes).await?;
    let public = whole.retaining(B::Frozen::is_public);
    let mut examples = Vec::new();
    for board in B::Frozen::leaderboards(manifest)? {
        if let Some(artifact) = example(&public, &board.name).await? {
            let frozen = public.frozen(&board.name).await?;
            examples.push(Example {
                can_score: frozen.eval_items().is_ok(),
                leaderboard: board.name,
                artifact,
            });
        }
    }
    Ok(examples)
}

/// The artifact of the first baseline that makes a valid one, or else the largest artifact.
async fn example<B: Import + Baselines>(dataset: &Dataset<B>, leaderboard: &str) -> Result<Option<Vec<u8>>> {
    for method in B::methods(dataset.manifest())? {
        let Ok(made) = B::artifact(dataset, leaderboard, method.name, 0, &Silent).await else {
            continue; // not every method works with every data set
        };
        if check(dataset, leaderboard, &made.artifact).await.is_ok() {
            return Ok(Some(made.artifact));
        }
    }
    Ok(B::largest_artifact(dataset, leaderboard).await?)
}

/// Makes the kit of the data set in `directory`; `None` if the data set has nothing for
/// participants.
pub(super) async fn export(directory: &Path, opened: &Opened, out: &Path) -> Result<Option<Kit>> {
    let manifest = &opened.manifest;
    if let Some(extension) = extension(&manifest.benchmark) {
        return extension.kit(directory, opened, out);
    }
    let task = MakeKit {
        directory,
        manifest,
        out,
    };
    with_benchmark(&manifest.benchmark, task).await.map(Some)
}

/// A kit as a zip archive.
pub(super) struct Archive {
    /// The size of the archive.
    pub(super) n_bytes: u64,
    /// The digest of the archive.
    pub(super) digest: Digest,
    /// The rules in the kit's README, in Markdown.
    pub(super) rules: String,
}

/// Makes the kit of the data set in `directory` as the zip archive `path` with one folder. The same
/// kit gives the same archive. `None` if the data set has nothing for participants.
pub(super) async fn archive(
    directory: &Path,
    opened: &Opened,
    scratch: &Path,
    path: &Path,
) -> Result<Option<Archive>> {
    let out = &scratch.join("kit");
    let manifest = &opened.manifest;
    let Some(Kit { mut files, rules }) = export(directory, opened, out).await? else {
        return Ok(None);
    };
    files.push(MANIFEST.to_owned());
    files.sort();
    let about = || format!("can't write `{}`", path.display());
    let archive = File::create(path).with_context(about)?;
    let mut archive = ZipWriter::new(BufWriter::with_capacity(1 << 20, archive));
    // matrices of floats hardly get smaller
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let options = stored.large_file(true).unix_permissions(0o644);
    for file in &files {
        let mut source = File::open(out.join(file)).with_context(|| format!("can't read `{file}`"))?;
        archive.start_file(format!("{}-kit/{file}", manifest.benchmark), options)?;
        std::io::copy(&mut source, &mut archive).with_context(about)?;
    }
    archive.finish()?.flush().with_context(about)?;
    let (digest, n_bytes) = Digest::of_all(File::open(path)?).with_context(about)?;
    Ok(Some(Archive {
        n_bytes,
        digest,
        rules,
    }))
}
