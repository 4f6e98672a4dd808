//! The public data set of a round.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use dataperf::challenge::Challenge;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf_collections::nibbler::BENCHMARK;
use dataperf_collections::nibbler::export::{About, Export, JudgedPair, Origin};
use dataperf_collections::nibbler::write_nibbler_export;
use dataperf_collections_aws::common::{
    Collection as _, Kept, decided_in, pseudonym_key, read, read_disqualified, verdicts_on,
};
use dataperf_collections_aws::nibbler::{Pairs, pair_image_key};
use serde_json::json;

use super::images::MAX_IMAGE_BYTES;
use super::round_or_latest;
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::progress;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The round [default: the latest]
    #[arg(long)]
    round: Option<String>,
    /// The licence of the data
    #[arg(long, default_value = "CC-BY-4.0")]
    licence: String,
    /// The secret with `image-ids`, the key for pseudonyms
    #[arg(long, default_value = "dataperf-nibbler")]
    secret: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ExportArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.clone().connect().await?;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let named = round_or_latest(args.round.as_deref(), challenge.as_ref())?;
    let round = challenge.as_ref().and_then(|challenge| challenge.round(&named));
    let is_over = round.is_some_and(|round| round.is_closed(now()));
    let judged = judged_in(&cloud, &named).await?;
    if judged.is_empty() {
        bail!("no pair of round `{named}` has a verdict yet");
    }
    let endpoint = cloud.lambda_endpoint();
    let key = pseudonym_key::<Pairs>(&cloud.clients, endpoint.as_deref(), &args.secret).await?;
    let export = Export::build(judged, &key, is_over);
    let rules = Kept::<Pairs>::default()
        .rules(cloud.datasets(), round.and_then(|round| round.dataset))
        .await?;
    let about = About {
        title: challenge
            .as_ref()
            .map_or("Adversarial Nibbler", |challenge| &challenge.title),
        exported_at: now(),
        embedding: rules.configuration.embedding.as_str(),
        licence: &args.licence,
    };
    write_nibbler_export(&export, &about, &args.out)?;
    copy_images(&cloud, &export, &args).await?;
    match format {
        Format::Json => print_json(&json!({
            "round": named, "pairs": export.pairs.len(), "verdicts": export.verdicts.len(), "judged": export.n_judged,
            "providers_revealed": is_over, "agreement": export.agreement, "directory": args.out,
        }))?,
        Format::Text => println!(
            "round {named}: {} validated pairs of {} judged ones, with {} verdicts, are in `{}`; providers are {}",
            export.pairs.len(),
            export.n_judged,
            export.verdicts.len(),
            args.out.display(),
            if is_over {
                "named"
            } else {
                "not named before the round has closed"
            }
        ),
    }
    Ok(Done::Fine)
}

async fn judged_in(cloud: &Cloud, round: &str) -> Result<Vec<JudgedPair>> {
    let leaderboards = cloud.leaderboards();
    let table = &leaderboards;
    let disqualified = read_disqualified(table, Pairs::SPACE).await?;
    let mut judged = Vec::new();
    for (id, _) in decided_in::<Pairs>(table, round).await? {
        let item = read::<Pairs>(table, &id).await?;
        let item = item.with_context(|| format!("the pair `{id}` is decided and not in the table"))?;
        let Some(decision) = item.decision else { continue };
        if disqualified.has_item(id.as_str(), &item.submitter) {
            continue;
        }
        let mut named = verdicts_on::<Pairs>(table, &id).await?;
        named.retain(|named| !disqualified.has_verdict(id.as_str(), &named.rater));
        judged.push(JudgedPair {
            pair: id,
            submitter: item.submitter,
            submission: item.content,
            is_duplicate: item.duplicate.is_one(),
            origin: Origin {
                provider: item.more.origin.0,
                model: item.more.origin.1,
            },
            verdicts: named
                .into_iter()
                .map(|named| (named.rater, named.verdict))
                .collect(),
            consensus: decision.consensus,
        });
    }
    Ok(judged)
}

async fn copy_images(cloud: &Cloud, export: &Export, args: &ExportArgs) -> Result<()> {
    std::fs::create_dir_all(args.out.join("images"))?;
    let bar = progress::counting(export.pairs.len() as u64, "images");
    for row in &export.pairs {
        let key = pair_image_key(&row.pair.parse()?);
        let Got::Object(image) = cloud.results().get(&key, None, MAX_IMAGE_BYTES).await? else {
            bail!("the image `{key}` is not in the results bucket");
        };
        let path = args.out.join(&row.image);
        std::fs::write(&path, image.bytes).with_context(|| format!("can't write `{}`", path.display()))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}
