//! `dataperf submitter refresh`: forms name leaderboards, so that those which have come into force since are missing.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::SubmitterName;
use dataperf_aws::{Grant, MAX_FORM_SECONDS};
use serde_json::{Value, json};

use super::{Right, Uploads, documents, leaderboards, print_forms};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
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
    /// How long forms are valid
    #[arg(long, default_value_t = MAX_FORM_SECONDS / 3600, value_parser = clap::value_parser!(u32).range(1..=168))]
    hours: u32,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The submitters without forms for some leaderboards of a benchmark, with these leaderboards.
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

pub(crate) async fn run(args: RefreshArgs, format: Format) -> Result<Done> {
    if descriptor(&args.benchmark)?.fixed.is_some() {
        bail!(
            "the leaderboards of {} never change: there is nothing to refresh",
            args.benchmark
        );
    }
    let cloud = args.cloud.clone().connect().await?;
    let boards = leaderboards(&cloud, &args.benchmark).await?;
    if let Some(name) = &args.name {
        let grants = cloud.leaderboards().grants(&args.benchmark).await?;
        if !grants.iter().any(|grant| grant.submitter == *name) {
            bail!(
                "`{name}` was given no forms for {}: use `dataperf submitter add`",
                args.benchmark
            );
        }
    }
    let mut lacking = lacking(&cloud, &args.benchmark, &boards.leaderboards).await?;
    lacking.retain(|(grant, _)| args.name.as_ref().is_none_or(|name| grant.submitter == *name));
    let mut rows: Vec<Value> = Vec::new();
    for (grant, lacks) in lacking {
        rows.push(refreshed(&args, &cloud, &boards, &grant, &lacks, format).await?);
        let grant = Grant {
            leaderboards: boards.leaderboards.clone(),
            at: now(),
            ..grant
        };
        cloud.leaderboards().note_grant(&args.benchmark, &grant).await?;
    }
    match format {
        Format::Json => print_json(&rows)?,
        Format::Text if rows.is_empty() => println!("nobody lacks a leaderboard of {}", args.benchmark),
        Format::Text => {}
    }
    Ok(Done::Fine)
}

/// Makes the forms that one submitter lacks, and reports them as a document and in words.
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
    let forms = right.forms(lacks, args.hours).await?;
    if format == Format::Text {
        print!("# {} lacks `{}`\n", grant.submitter, lacks.join("`, `"));
        print_forms(&forms, format)?;
    }
    Ok(json!({
        "submitter": grant.submitter.as_str(), "access": "forms", "added": lacks, "forms": documents(&forms),
    }))
}
