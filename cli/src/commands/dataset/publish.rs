//! `dataperf dataset publish`: immutable files first, then the one object that says which data set is in force.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bytes::Bytes;
use clap::Args;
use dataperf::Digest;
use dataperf::dataset::{Current, dataset_prefix};
use dataperf::frozen::MANIFEST;
use dataperf::ports::bucket::Bucket;
use serde_json::json;

use super::objects::{Found, Object};
use super::{Opened, damages, open};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::output::{Format, print_json};
use crate::progress;

#[derive(Debug, Args)]
#[command(after_help = "Example: dataperf dataset publish frozen/ --local")]
pub(crate) struct PublishArgs {
    /// The frozen data set's directory
    directory: PathBuf,
    /// Upload only; the data set in force stays the one it is
    #[arg(long)]
    stage: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn run(args: PublishArgs, format: Format) -> Result<Done> {
    let opened = open(&args.directory)?;
    let cloud = args.cloud.connect().await;
    let n_uploaded = publish(&cloud, &args.directory, &opened, args.stage).await?;
    let Opened { manifest, digest, .. } = opened;
    match format {
        Format::Json => print_json(&json!({ "dataset": digest, "benchmark": manifest.benchmark,
                                            "uploaded_files": n_uploaded, "in_force": !args.stage }))?,
        Format::Text => {
            println!(
                "{n_uploaded} of {} files were uploaded, the others were there",
                manifest.files.len()
            );
            let state = if args.stage { "is uploaded" } else { "is in force" };
            println!("{digest} {state} for {}", manifest.benchmark);
        }
    }
    Ok(Done::Fine)
}

/// Uploads what is missing, and switches to the data set unless it is only staged. Gives the number of files
/// uploaded. What is in the bucket already is compared by its SHA-256, and never overwritten. Evaluations that run meanwhile see the old data set whole or the new one whole.
pub(crate) async fn publish(cloud: &Cloud, directory: &Path, opened: &Opened, stage: bool) -> Result<usize> {
    let Opened {
        manifest,
        digest,
        bytes,
    } = opened;
    let damages = damages(directory, manifest);
    if !damages.is_empty() {
        bail!(
            "`{}` is damaged; import it again\n  - {}",
            directory.display(),
            damages.join("\n  - ")
        );
    }
    let prefix = dataset_prefix(&manifest.benchmark, *digest);
    let manifest_path = directory.join(MANIFEST);
    let files = manifest.files.iter();
    let files = files.map(|(name, entry)| (name.as_str(), directory.join(name), entry.n_bytes, entry.digest));
    // the manifest last: where it is, all that it names is there
    let last = (MANIFEST, manifest_path, bytes.len() as u64, *digest);
    let mut missing = Vec::new();
    let mut other = Vec::new();
    for (name, path, n_bytes, digest) in files.chain([last]) {
        let key = format!("{prefix}{name}");
        match object(cloud, &key, &path, n_bytes, digest).find().await? {
            Found::Same => {}
            Found::Nothing => missing.push((name, key, path, n_bytes, digest)),
            Found::Other(how) => {
                other.push(format!("`s3://{}/{key}` has {how}", cloud.names.datasets_bucket));
            }
        }
    }
    if !other.is_empty() {
        bail!(
            "the bucket has other files under the name of this data set; nothing was uploaded, and what is in force stays. Data sets \
             are never overwritten: find out who stored these, delete them, and publish again\n  - {}",
            other.join("\n  - ")
        );
    }
    let n_missing = missing.iter().filter(|(name, ..)| *name != MANIFEST).count();
    let bar = progress::bytes(
        missing.iter().map(|(_, _, _, n_bytes, _)| n_bytes).sum(),
        "publishing",
    );
    for (_, key, path, n_bytes, digest) in &missing {
        object(cloud, key, path, *n_bytes, *digest).upload().await?;
        bar.inc(*n_bytes);
    }
    bar.finish_and_clear();
    let datasets = cloud.datasets();
    if !stage {
        let mut current = serde_json::to_vec_pretty(&Current { dataset: *digest })?;
        current.push(b'\n');
        datasets
            .put(&Current::key(&manifest.benchmark), Bytes::from(current))
            .await?;
    }
    Ok(n_missing)
}

fn object<'a>(cloud: &'a Cloud, key: &'a str, path: &'a Path, n_bytes: u64, digest: Digest) -> Object<'a> {
    Object {
        s3: &cloud.clients.s3,
        bucket: &cloud.names.datasets_bucket,
        key,
        path,
        n_bytes,
        digest,
    }
}
