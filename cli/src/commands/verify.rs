//! `dataperf verify`: anybody with the data set and the artifact can check a receipt.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use dataperf::dataset::Integrity;
use dataperf::{Ending, Feedback, Receipt, Verdict};
use serde_json::{Value, json};

use super::score::Judge;
use crate::Done;
use crate::output::{Format, print_json, table};
use crate::registry::with_benchmark;

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf verify receipt.json --dataset frozen/ --artifact my-selection.json\n\n\
    Exit codes: 0 the receipt says exactly what recomputing gives, 1 it does not, or it could not be recomputed."
)]
pub(crate) struct VerifyArgs {
    /// The receipt: a file of the results bucket
    receipt: PathBuf,
    /// The frozen data set the receipt names
    #[arg(long, short)]
    dataset: PathBuf,
    /// The artifact the receipt names
    #[arg(long, short)]
    artifact: PathBuf,
}

pub(crate) async fn run(args: VerifyArgs, format: Format) -> Result<Done> {
    let about = || format!("can't read the receipt `{}`", args.receipt.display());
    let text = fs::read_to_string(&args.receipt).with_context(about)?;
    let receipt: Receipt = serde_json::from_str(&text).with_context(about)?;
    let claimed = receipt.verdict;
    if claimed.status == Ending::Failed {
        bail!("the receipt says that the platform failed: there is no score to verify");
    }
    let judge = Judge {
        leaderboard: &claimed.leaderboard,
        dataset: &args.dataset,
        artifact: &args.artifact,
        integrity: Integrity::Digests,
    };
    let whole = with_benchmark(&claimed.benchmark, judge).await?;
    let feedback = receipt.feedback.unwrap_or(Feedback::Full);
    let (recomputed, withheld) = (whole.shown(feedback), whole.withheld(feedback));
    let differences = differences(&claimed, &recomputed)?;
    let is_same = differences.is_empty();
    match format {
        Format::Json => {
            let differing: Vec<Value> = differences
                .iter()
                .map(|(field, claimed, recomputed)| json!({ "field": field, "claimed": claimed, "recomputed": recomputed }))
                .collect();
            print_json(
                &json!({ "verified": is_same, "submission": receipt.submission, "feedback": feedback, "withheld": withheld,
                         "differences": differing }),
            )?;
        }
        Format::Text if is_same => {
            println!(
                "verified: submission {} is exactly what its receipt says",
                receipt.submission
            );
            if !withheld.is_empty() {
                println!(
                    "the receipt shows the feedback `{}`, without {}",
                    feedback.as_str(),
                    withheld.join(", ")
                );
            }
        }
        Format::Text => {
            println!(
                "not verified: submission {} differs from its receipt",
                receipt.submission
            );
            let mut table = table(&["field", "receipt", "recomputed"]);
            for (field, claimed, recomputed) in &differences {
                table.add_row([field.clone(), claimed.to_string(), recomputed.to_string()]);
            }
            println!("{table}");
        }
    }
    if is_same {
        Ok(Done::Fine)
    } else {
        bail!("the receipt is not verified")
    }
}

/// The fields in which two verdicts differ, by their JSON: numbers are compared by their shortest exact decimals.
/// A verdict reached without reading the data set or the artifact does not name their digests.
fn differences(claimed: &Verdict, recomputed: &Verdict) -> Result<Vec<(String, Value, Value)>> {
    let (claimed, recomputed) = (serde_json::to_value(claimed)?, serde_json::to_value(recomputed)?);
    let fields = |value: &Value| {
        value
            .as_object()
            .map(|object| object.keys().cloned().collect::<Vec<_>>())
            .unwrap_or_default()
    };
    let mut names = fields(&claimed);
    names.extend(fields(&recomputed));
    names.sort();
    names.dedup();
    let differing = names.into_iter().filter_map(|name| {
        let (one, other) = (claimed[&name].clone(), recomputed[&name].clone());
        let was_not_read = one.is_null() && ["dataset", "artifact"].contains(&name.as_str());
        (one != other && !was_not_read).then_some((name, one, other))
    });
    Ok(differing.collect())
}
