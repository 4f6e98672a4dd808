//! A participant's commands: request images, and submit pairs.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use dataperf::{Receipt, SubmitterName};
use dataperf_collections::nibbler::Kind;
use serde_json::{Value, json};

use super::images::{ImageArgs, save};
use super::{send, send_file, show};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::output::rows::RowFormat;

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// The prompts, each in quotes
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    prompts: Vec<String>,
    /// A file of requests, one JSON object a line: {"prompt": "…"}
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Your name
    #[arg(long, short)]
    submitter: SubmitterName,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn generate(args: GenerateArgs, format: RowFormat) -> Result<Done> {
    args.images.ask_consent(&args.submitter)?;
    let cloud = args.cloud.connect().await?;
    let receipt = match &args.file {
        Some(path) => send_file(&cloud, Kind::Generate, &args.submitter, path).await?,
        None => ask(&cloud, &args.submitter, &args.prompts).await?,
    };
    let done = show(&receipt, format)?;
    for image in images_of(&receipt) {
        let key = image["key"].as_str().unwrap_or_default();
        match save(&cloud, key, &args.images).await? {
            Some(path) if format == RowFormat::Text => println!("{}", path.display()),
            Some(_) => {}
            None => eprintln!(
                "the image `{key}` is not in the results bucket, or you may not read it: it is left out"
            ),
        }
    }
    Ok(done)
}

/// Asks for images of prompts.
pub(crate) async fn ask(cloud: &Cloud, who: &SubmitterName, prompts: &[String]) -> Result<Receipt> {
    let lines: Vec<Value> = prompts.iter().map(|prompt| json!({ "prompt": prompt })).collect();
    send(cloud, Kind::Generate, who, &lines).await
}

/// All images of a receipt, as it describes them.
pub(crate) fn images_of(receipt: &Receipt) -> impl Iterator<Item = &Value> {
    let lines = receipt.verdict.lines.iter();
    lines
        .filter_map(|line| line.details.get("images")?.as_array())
        .flatten()
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// A file of pairs, one JSON object a line
    #[arg(conflicts_with_all = ["prompt", "image", "mode", "attack", "rewrite", "harm", "identity_group"])]
    file: Option<PathBuf>,
    /// Your name
    #[arg(long, short)]
    submitter: SubmitterName,
    /// The prompt
    #[arg(long)]
    prompt: Option<String>,
    /// The id of an image that was made for the prompt
    #[arg(long)]
    image: Option<String>,
    /// `subversive` if the prompt evades filters, else `benign`
    #[arg(long)]
    mode: Option<String>,
    /// How the prompt evades filters; repeatable
    #[arg(long)]
    attack: Vec<String>,
    /// The prompt, rewritten to describe the image
    #[arg(long)]
    rewrite: Option<String>,
    /// What is unsafe about the image; repeatable
    #[arg(long)]
    harm: Vec<String>,
    /// Which groups the image targets, or `none`; repeatable
    #[arg(long)]
    identity_group: Vec<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn submit(args: SubmitArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let receipt = match (&args.file, &args.prompt, &args.image) {
        (Some(path), ..) => send_file(&cloud, Kind::Submit, &args.submitter, path).await?,
        (None, Some(prompt), Some(image)) => {
            let line = json!({
                "prompt": prompt, "image": image, "mode": args.mode, "attacks": args.attack, "rewrite": args.rewrite,
                "harms": args.harm, "identity_groups": args.identity_group,
            });
            send(&cloud, Kind::Submit, &args.submitter, &[line]).await?
        }
        _ => bail!(
            "there is nothing to submit: name a file, or give `--prompt`, `--image` and the annotations"
        ),
    };
    show(&receipt, format)
}
