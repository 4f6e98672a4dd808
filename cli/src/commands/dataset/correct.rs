//! `dataperf dataset correct`: a new data set with labels put right.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use dataperf::dataset::frozen::Samples;
use dataperf::quote;
use dataperf_datasets::{Verdicts, correct};
use serde_json::{Value, json};

use crate::Done;
use crate::commands::audit::{ReadSets, check_has_labels};
use crate::on_disk::{open, open_verified};
use crate::output::{Format, print_json};
use crate::registry::with_benchmark;

#[derive(Debug, Args)]
pub(crate) struct CorrectArgs {
    /// The frozen data set's directory
    dataset: PathBuf,
    /// The work list with verdicts
    #[arg(long, value_name = "FILE.csv")]
    verdicts: PathBuf,
    /// The corrected data set's directory, new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) async fn run(args: &CorrectArgs, format: Format) -> Result<Done> {
    check_has_labels(&open(&args.dataset)?.manifest)?;
    let opened = open_verified(&args.dataset)?;
    let read = ReadSets {
        directory: &args.dataset,
        manifest: &opened.manifest,
    };
    let sets = with_benchmark(&opened.manifest.benchmark, read).await?;
    let verdicts = match Verdicts::read(&args.verdicts, &sets) {
        Ok(verdicts) => verdicts,
        Err(problems) => bail!(
            "`{}` can't be used, and nothing was written\n  - {}",
            args.verdicts.display(),
            listed(&problems).join("\n  - ")
        ),
    };
    let digest = correct(&args.dataset, &opened.manifest, &sets, &verdicts, &args.out)?;
    let (n_edits, n_reviewed) = (verdicts.edits.len(), verdicts.n_reviewed());
    match format {
        Format::Json => print_json(&json!({
            "dataset": digest, "parent": opened.digest, "benchmark": opened.manifest.benchmark, "out": args.out,
            "n_edits": n_edits, "n_reviewed": n_reviewed, "error_rates": rates(&verdicts),
        }))?,
        Format::Text => {
            println!(
                "{digest} in `{}`\n{n_edits} labels corrected, {n_reviewed} reviewed; made from {}",
                args.out.display(),
                opened.digest
            );
            for sentence in error_rates(&verdicts) {
                println!("{sentence}");
            }
        }
    }
    Ok(Done::Fine)
}

/// The share of wrong labels in each test set, `null` where nobody has looked at a control sample.
fn rates(verdicts: &Verdicts) -> BTreeMap<&String, Value> {
    let rate = |samples: &Samples| {
        let rate = samples.error_rate();
        json!(rate.map(|(share, interval)| json!({ "share": share, "interval": interval })))
    };
    let samples = verdicts.samples.iter();
    samples.map(|(set, samples)| (set, rate(samples))).collect()
}

/// The share of wrong labels in each test set, in words.
pub(crate) fn error_rates(verdicts: &Verdicts) -> Vec<String> {
    let sentence = |(set, samples): (&String, &Samples)| match samples.error_rate() {
        Some((share, (low, high))) => format!(
            "{}: {:.1} % of all labels are wrong, with 95 % confidence {:.1} to {:.1} %, from {} decided labels in doubt and {} of the control \
             sample",
            quote(set),
            100.0 * share,
            100.0 * low,
            100.0 * high,
            samples.doubts.n_decided,
            samples.others.n_decided
        ),
        None => format!(
            "{}: no error rate, because the control sample has no verdict: decide the lines of the work list with `control` in the column `sample`",
            quote(set)
        ),
    };
    verdicts.samples.iter().map(sentence).collect()
}

/// Problems that are listed.
const MAX_LISTED: usize = 50;

fn listed(problems: &[String]) -> Vec<String> {
    let more = problems.len().saturating_sub(MAX_LISTED);
    let listed = problems.iter().take(MAX_LISTED).cloned();
    listed
        .chain((more > 0).then(|| format!("and {more} more")))
        .collect()
}
