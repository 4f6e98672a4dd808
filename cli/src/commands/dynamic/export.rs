//! The data set of a round.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dataperf::Digest;
use dataperf::challenge::Challenge;
use dataperf_collections::text::export::{About, Export, JudgedExample, Row, RulesOfExamples, Split};
use dataperf_collections::text::{BENCHMARK, write_text_export};
use dataperf_collections_aws::common::{
    Collection as _, Kept, pseudonym_key, read, read_disqualified, verdicts_on,
};
use dataperf_collections_aws::text::{Examples, examples_in};
use dataperf_datasets::tables::lines::read_text;
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::commands::collection::round_or_latest;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A directory that does not exist yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The round [default: the latest]
    #[arg(long)]
    round: Option<String>,
    /// The export of an earlier round, to keep each annotator in one set; repeatable
    #[arg(long, value_name = "DIR")]
    earlier: Vec<PathBuf>,
    /// The licence of the data
    #[arg(long, default_value = "CC-BY-4.0")]
    licence: String,
    /// The source of the data, if no people wrote them
    #[arg(long, value_name = "TEXT")]
    simulated: Option<String>,
    /// The secret with `pseudonyms`, the key for pseudonyms
    #[arg(long, default_value = "dataperf-text")]
    secret: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: ExportArgs, format: Format) -> Result<Done> {
    let earlier = earlier(&args.earlier)?;
    let cloud = args.cloud.clone().connect().await?;
    let challenge = Challenge::published(&cloud.datasets(), BENCHMARK).await?;
    let named = round_or_latest(args.round.as_deref(), challenge.as_ref())?;
    let round = challenge.as_ref().and_then(|challenge| challenge.round(&named));
    let (judged, followed) = judged_in(&cloud, &named).await?;
    if judged.is_empty() {
        bail!("nothing was submitted to round `{named}` yet");
    }
    let endpoint = cloud.lambda_endpoint();
    let key = pseudonym_key::<Examples>(&cloud.clients, endpoint.as_deref(), &args.secret).await?;
    let export = Export::build(judged, &named, &key, &earlier);
    let pinned = round.and_then(|round| round.dataset);
    let about = About {
        title: challenge
            .as_ref()
            .map_or("Adversarial Text", |challenge| &challenge.title)
            .to_owned(),
        exported_at: now(),
        rules: rules_of(&cloud, &export, &followed, pinned).await?,
        licence: args.licence.clone(),
        simulated: args.simulated.clone(),
    };
    write_text_export(&export, &about, &args.out)?;
    let parts: BTreeMap<&str, usize> = Split::ALL
        .iter()
        .map(|(split, _)| (split.as_str(), export.part(*split).count()))
        .collect();
    match format {
        Format::Json => print_json(&json!({
            "round": named, "parts": parts, "counts": export.counts, "agreement": export.agreement, "directory": args.out,
        }))?,
        Format::Text => {
            println!("round {named}: `{}` has", args.out.display());
            for (part, n) in parts {
                println!("  {part:5} {n} examples");
            }
        }
    }
    Ok(Done::Fine)
}

/// The data sets whose rules examples follow, by the examples' ids.
type Followed = BTreeMap<String, Digest>;

/// The rules that the exported examples follow, those of most examples first; the round's current
/// rules for an empty export.
async fn rules_of(
    cloud: &Cloud,
    export: &Export,
    followed: &Followed,
    pinned: Option<Digest>,
) -> Result<Vec<RulesOfExamples>> {
    let kept = Kept::<Examples>::default();
    let of_round = kept.rules(cloud.datasets(), pinned).await?.dataset;
    let mut n_examples: BTreeMap<Digest, usize> = BTreeMap::new();
    for row in &export.rows {
        let dataset = followed.get(&row.id).copied().unwrap_or(of_round);
        *n_examples.entry(dataset).or_default() += 1;
    }
    if n_examples.is_empty() {
        n_examples.insert(of_round, 0);
    }
    let mut of_examples = Vec::with_capacity(n_examples.len());
    for (dataset, n_examples) in n_examples {
        let rules = kept.rules(cloud.datasets(), Some(dataset)).await?;
        let configuration = &rules.configuration.configuration;
        let targets = configuration.targets.iter();
        of_examples.push(RulesOfExamples {
            dataset: dataset.to_string(),
            n_examples,
            targets: targets
                .map(|(name, target)| (name.clone(), target.kind().to_owned()))
                .collect(),
            validation: configuration.validation.clone(),
        });
    }
    of_examples.sort_by_key(|rules| Reverse(rules.n_examples));
    Ok(of_examples)
}

/// Everything of a round that is not disqualified, and the rules that it follows.
async fn judged_in(cloud: &Cloud, round: &str) -> Result<(Vec<JudgedExample>, Followed)> {
    let leaderboards = cloud.leaderboards();
    let table = &leaderboards;
    let disqualified = read_disqualified(table, Examples::SPACE).await?;
    let (mut judged, mut followed) = (Vec::new(), Followed::new());
    let ids: BTreeSet<_> = examples_in(table, round).await?.into_iter().collect();
    for id in ids {
        let item = read::<Examples>(table, &id).await?;
        let item = item.with_context(|| format!("the example `{id}` is listed and not in the table"))?;
        if disqualified.has_item(id.as_str(), &item.submitter) {
            continue;
        }
        let mut named = if item.n_raters > 0 {
            verdicts_on::<Examples>(table, &id).await?
        } else {
            Vec::new()
        };
        named.retain(|named| !disqualified.has_verdict(id.as_str(), &named.rater));
        let decided_by = item.decision.as_ref().map(|decision| decision.dataset);
        followed.insert(id.to_string(), decided_by.unwrap_or(item.dataset));
        let models = item.more.models;
        judged.push(JudgedExample {
            id,
            annotator: item.submitter,
            example: item.content,
            context: item.more.context,
            is_duplicate: item.duplicate.is_one(),
            is_fooling: item.more.is_fooling,
            fooled: models
                .iter()
                .map(|(name, verdict)| (name.clone(), verdict.fooled))
                .collect(),
            answers: models
                .into_iter()
                .map(|(name, verdict)| (name, verdict.answer))
                .collect(),
            verdicts: named
                .into_iter()
                .map(|named| (named.rater, named.verdict.said))
                .collect(),
            decision: item.decision.map(|decision| decision.consensus),
        });
    }
    Ok((judged, followed))
}

/// The parts of earlier rounds' data sets in which their annotators are.
fn earlier(folders: &[PathBuf]) -> Result<BTreeMap<String, Split>> {
    let mut parts = BTreeMap::new();
    for folder in folders {
        for (split, _) in Split::ALL {
            let path = folder.join(format!("{}.jsonl", split.as_str()));
            for row in rows(&path)? {
                parts.insert(row.annotator, split);
            }
        }
    }
    Ok(parts)
}

fn rows(path: &Path) -> Result<Vec<Row>> {
    let text = read_text(path).map_err(|why| anyhow!("can't read `{}`: {why}", path.display()))?;
    let about = || format!("`{}` is no part of a round's data set", path.display());
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(about))
        .collect()
}
