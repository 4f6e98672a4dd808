//! `dataperf submitter refresh`: rights name leaderboards, so that those which have come into force since are missing in them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::SubmitterName;
use dataperf_aws::{Access, Grant, MAX_FORM_SECONDS};
use serde_json::{Value, json};

use super::{Right, Uploads, documents, leaderboards, print_forms};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
#[command(
    after_help = "Of who was given access by `dataperf submitter add` to all leaderboards: forms for the leaderboards that are new, or \
    the whole policy in a file, with the command that attaches it. Who was given chosen leaderboards keeps these.\n\n\
    Examples:\n  dataperf submitter refresh speech-selection ada --local\n  \
    dataperf submitter refresh speech-selection --all --out policies/"
)]
pub(crate) struct RefreshArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The submitter
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<SubmitterName>,
    /// Everybody who lacks a leaderboard
    #[arg(long)]
    all: bool,
    /// The directory for policies: one file NAME-policy.json each
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// How long forms are valid; no longer than the credentials that sign them
    #[arg(long, default_value_t = MAX_FORM_SECONDS / 3600, value_parser = clap::value_parser!(u32).range(1..=168))]
    hours: u32,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// Who lacks leaderboards of a benchmark, with these.
pub(crate) async fn lacking(
    cloud: &Cloud,
    benchmark: &str,
    in_force: &[String],
) -> Result<Vec<(Grant, Vec<String>)>> {
    let grants = cloud.leaderboards().grants(benchmark).await?;
    let lacking = grants.into_iter().map(|grant| {
        let lacks = grant.lacks(in_force);
        (grant, lacks)
    });
    Ok(lacking.filter(|(_, lacks)| !lacks.is_empty()).collect())
}

pub(super) async fn run(args: RefreshArgs, format: Format) -> Result<Done> {
    if descriptor(&args.benchmark)?.fixed.is_some() {
        bail!(
            "the leaderboards of {} never change: there is nothing to refresh",
            args.benchmark
        );
    }
    let cloud = args.cloud.clone().connect().await;
    let boards = leaderboards(&cloud, &args.benchmark).await?;
    if let Some(name) = &args.name {
        let grants = cloud.leaderboards().grants(&args.benchmark).await?;
        if !grants.iter().any(|grant| grant.submitter == *name) {
            bail!(
                "`{name}` was given no access to {}: use `dataperf submitter add`",
                args.benchmark
            );
        }
    }
    let mut lacking = lacking(&cloud, &args.benchmark, &boards.leaderboards).await?;
    lacking.retain(|(grant, _)| args.name.as_ref().is_none_or(|name| grant.submitter == *name));
    let mut said: Vec<Value> = Vec::new();
    for (grant, lacks) in lacking {
        said.push(refreshed(&args, &cloud, &boards, &grant, &lacks, format).await?);
        let grant = Grant {
            leaderboards: boards.leaderboards.clone(),
            at: now(),
            ..grant
        };
        cloud.leaderboards().note_grant(&args.benchmark, &grant).await?;
    }
    match format {
        Format::Json => print_json(&said)?,
        Format::Text if said.is_empty() => println!("nobody lacks a leaderboard of {}", args.benchmark),
        Format::Text => {}
    }
    Ok(Done::Fine)
}

/// Replaces the rights of one submitter, and reports it as a document and in words.
async fn refreshed(
    args: &RefreshArgs,
    cloud: &Cloud,
    boards: &Uploads,
    grant: &Grant,
    lacks: &[String],
    format: Format,
) -> Result<Value> {
    let right = Right {
        cloud,
        benchmark: &args.benchmark,
        name: &grant.submitter,
        boards,
    };
    let mut document =
        json!({ "submitter": grant.submitter.as_str(), "access": grant.access.as_str(), "added": lacks });
    if format == Format::Text {
        println!("# {} lacks `{}`", grant.submitter, lacks.join("`, `"));
    }
    match grant.access {
        Access::Forms => {
            let forms = right.forms(lacks, args.hours).await?;
            if format == Format::Text {
                print_forms(&forms, format)?;
            }
            document["forms"] = documents(&forms).into();
        }
        Access::Policy => {
            let policy = right.policy(&boards.leaderboards);
            let path = written(&args.out, &grant.submitter, &policy)?;
            if format == Format::Text {
                println!(
                    "aws iam put-user-policy --user-name {} --policy-name submit --policy-document file://{}\n",
                    grant.submitter,
                    path.display()
                );
            }
            document["policy"] = policy;
            document["file"] = json!(path);
        }
    }
    Ok(document)
}

fn written(directory: &Path, name: &SubmitterName, policy: &Value) -> Result<PathBuf> {
    let path = directory.join(format!("{name}-policy.json"));
    let writing = || format!("can't write `{}`", path.display());
    fs::create_dir_all(directory).with_context(writing)?;
    fs::write(&path, format!("{policy:#}\n")).with_context(writing)?;
    Ok(path)
}
