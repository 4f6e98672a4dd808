//! `dataperf dataset publish`: immutable files first, then the one object that says which data set is in force.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use clap::Args;
use dataperf::dataset::{Current, dataset_prefix};
use dataperf::frozen::MANIFEST;
use dataperf::ports::bucket::Bucket;
use serde_json::json;

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
/// uploaded. Evaluations that run meanwhile see the old data set whole or the new one whole.
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
    let bar = progress::bytes(
        manifest.files.values().map(|file| file.n_bytes).sum(),
        "publishing",
    );
    let mut n_uploaded = 0;
    for (name, entry) in &manifest.files {
        let key = format!("{prefix}{name}");
        if size(cloud, &key).await? != Some(entry.n_bytes) {
            upload(cloud, &key, &directory.join(name)).await?;
            n_uploaded += 1;
        }
        bar.inc(entry.n_bytes);
    }
    bar.finish_and_clear();
    let datasets = cloud.datasets();
    datasets
        .put(&format!("{prefix}{MANIFEST}"), Bytes::from(bytes.clone()))
        .await?;
    if !stage {
        let mut current = serde_json::to_vec_pretty(&Current { dataset: *digest })?;
        current.push(b'\n');
        datasets
            .put(&Current::key(&manifest.benchmark), Bytes::from(current))
            .await?;
    }
    Ok(n_uploaded)
}

/// An object's size, `None` when there is none.
async fn size(cloud: &Cloud, key: &str) -> Result<Option<u64>> {
    let bucket = &cloud.names.datasets_bucket;
    match cloud
        .clients
        .s3
        .head_object()
        .bucket(bucket)
        .key(key)
        .send()
        .await
    {
        Ok(head) => Ok(head
            .content_length()
            .and_then(|n_bytes| u64::try_from(n_bytes).ok())),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(aws_sdk_s3::operation::head_object::HeadObjectError::is_not_found) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("can't ask for `s3://{bucket}/{key}`")),
    }
}

async fn upload(cloud: &Cloud, key: &str, path: &Path) -> Result<()> {
    let bucket = &cloud.names.datasets_bucket;
    let body = ByteStream::from_path(path)
        .await
        .with_context(|| format!("can't read `{}`", path.display()))?;
    let sent = cloud
        .clients
        .s3
        .put_object()
        .bucket(bucket)
        .key(key)
        .body(body)
        .send()
        .await;
    sent.map(drop)
        .with_context(|| format!("can't upload to `s3://{bucket}/{key}`"))
}
