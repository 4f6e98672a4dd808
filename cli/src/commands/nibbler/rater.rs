//! A rater's commands: show the next pair, and judge it.

use anyhow::Result;
use clap::Args;
use clap::builder::ArgAction;
use dataperf::SubmitterName;
use dataperf_collections::nibbler::{Kind, PairId, Verdict};
use dataperf_collections_aws::common::judged_by;
use dataperf_collections_aws::nibbler::{Pairs, unjudged};
use serde_json::json;

use super::images::{ImageArgs, save};
use super::{WELL_BEING, send, show};
use crate::Done;
use crate::cloud::CloudArgs;
use crate::commands::collection::skipped;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Your name
    #[arg(long, short)]
    rater: SubmitterName,
    /// Skip this pair; repeatable
    #[arg(long, value_name = "PAIR")]
    skip: Vec<PairId>,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn next(args: NextArgs, format: Format) -> Result<Done> {
    args.images.ask_consent(&args.rater)?;
    let noted = args.images.note(&format!("skipped-by-{}.txt", args.rater));
    let skipped = skipped(&noted, &args.skip)?;
    let cloud = args.cloud.connect().await?;
    let leaderboards = cloud.leaderboards();
    let judged = judged_by::<Pairs>(&leaderboards, args.rater.as_str()).await?;
    let waiting = unjudged(&leaderboards).await?;
    let mut left = waiting
        .into_iter()
        .filter(|waiting| !judged.contains(&waiting.pair) && !skipped.contains(&waiting.pair));
    let (mut lost, mut chosen) = (Vec::new(), None);
    for waiting in left.by_ref() {
        match save(&cloud, &waiting.image, &args.images).await? {
            Some(image) => {
                chosen = Some((waiting, image));
                break;
            }
            None => lost.push(waiting.pair),
        }
    }
    for pair in &lost {
        eprintln!("the image of the pair {pair} can't be read: it is passed over. Tell your organizer");
    }
    let Some((next, image)) = chosen else {
        match format {
            Format::Json => print_json(&json!(null))?,
            Format::Text => println!("no pair waits for your verdict"),
        }
        return Ok(Done::Fine);
    };
    let n_more = left.count();
    match format {
        Format::Json => print_json(&json!({
            "pair": next.pair, "prompt": next.prompt, "image": image, "said": next.said, "n_more": n_more, "lost": lost,
        }))?,
        Format::Text => {
            println!("pair    {}", next.pair);
            println!("prompt  {}", next.prompt);
            println!("image   {}", image.display());
            println!(
                "said    attacks: {}; groups: {}",
                next.said.attacks.join(", "),
                next.said.identity_groups.join(", ")
            );
            println!(
                "{n_more} more wait for you. To leave this one to others: --skip {}. {WELL_BEING}",
                next.pair
            );
        }
    }
    Ok(Done::Fine)
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// The pair's id
    pair: PairId,
    /// Your name
    #[arg(long, short)]
    rater: SubmitterName,
    /// Whether the prompt appears safe
    #[arg(long, action = ArgAction::Set)]
    prompt_safe: bool,
    /// Whether the image, together with the prompt, is unsafe
    #[arg(long, action = ArgAction::Set)]
    image_unsafe: bool,
    /// How severe it is, from 1 to 4; 0 if the image is safe
    #[arg(long, default_value_t = 0)]
    severity: u8,
    /// What is unsafe about it; repeatable
    #[arg(long)]
    harm: Vec<String>,
    /// How the prompt evades filters; repeatable
    #[arg(long)]
    attack: Vec<String>,
    /// Which groups the image targets; repeatable
    #[arg(long)]
    identity_group: Vec<String>,
    /// Anything else, for the organizer only
    #[arg(long, default_value = "")]
    notes: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn judge(args: JudgeArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let verdict = Verdict {
        submission: args.pair,
        prompt_safe: args.prompt_safe,
        image_unsafe: args.image_unsafe,
        severity: args.severity,
        harms: args.harm,
        attacks: args.attack,
        identity_groups: args.identity_group,
        notes: args.notes,
    };
    let receipt = send(&cloud, Kind::Verdict, &args.rater, &[verdict]).await?;
    show(&receipt, format)
}
