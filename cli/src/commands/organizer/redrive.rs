//! `dataperf redrive`: have submissions evaluated again that the platform failed or left unfinished.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::table::leaderboard::{Leaderboards, Reopened};
use dataperf::{SubmissionId, similar};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::known;
use crate::cloud::{Cloud, CloudArgs};
use crate::output::progress;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{digits_apart, short, table};

#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    /// The submissions' ids, or their first digits
    #[arg(required_unless_present = "all_failed", conflicts_with = "all_failed")]
    submissions: Vec<String>,
    /// Retry all failed submissions
    #[arg(long)]
    all_failed: bool,
    /// Look in this benchmark only
    #[arg(long, short, value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: RedriveArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let benchmarks: Vec<&str> = match &args.benchmark {
        Some(benchmark) => vec![benchmark],
        None => dataperf_hosted::IDS.to_vec(),
    };
    let mut chosen: BTreeSet<(&str, SubmissionId)> = BTreeSet::new();
    let mut named: Vec<(&str, Vec<SubmissionId>)> = Vec::new();
    if args.all_failed {
        for &benchmark in &benchmarks {
            let failed = cloud.leaderboards().failed(benchmark).await?;
            chosen.extend(failed.into_iter().map(|entry| (benchmark, entry.id)));
        }
    }
    for id in &args.submissions {
        let of_id = known::named(&cloud, &benchmarks, id).await?;
        named.push((id, of_id.iter().map(|(_, id)| id.clone()).collect()));
        chosen.extend(of_id);
    }
    let bar = progress::counting(chosen.len() as u64, "submissions");
    let mut documents = Vec::new();
    for (benchmark, id) in chosen {
        documents.extend(redrive(&cloud, benchmark, &id).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let ended: Vec<&str> = documents
        .iter()
        .filter_map(|document| document["submission"].as_str())
        .collect();
    let unknown: Vec<&str> = named
        .iter()
        .filter(|(_, ids)| !ids.iter().any(|id| ended.contains(&id.as_str())))
        .map(|(name, _)| *name)
        .collect();
    if !unknown.is_empty() {
        if !documents.is_empty() {
            print(&documents, format)?;
        }
        let mut known = BTreeSet::new();
        for benchmark in benchmarks {
            known.extend(known::ids(&cloud, benchmark).await?);
        }
        let known: Vec<&str> = known.iter().map(SubmissionId::as_str).collect();
        let nearest: Vec<String> = unknown.iter().filter_map(|id| similar(id, &known)).collect();
        bail!(
            "there is no submission `{}`: {}; `dataperf status BENCHMARK --failed` lists what has failed",
            unknown.join("`, `"),
            if nearest.is_empty() {
                "check the id, or whether its upload arrived".to_owned()
            } else {
                nearest.join(" ")
            }
        );
    }
    print(&documents, format)?;
    Ok(Done::Fine)
}

/// Reopens one submission and has it evaluated; `None` when the benchmark does not know it.
async fn redrive(cloud: &Cloud, benchmark: &str, id: &SubmissionId) -> Result<Option<Value>> {
    let (submission, became) = match cloud.leaderboards().reopen(benchmark, id).await? {
        Reopened::Unknown => return Ok(None),
        Reopened::Final(receipt) => {
            let status = receipt.verdict.status.as_str();
            let became = "left as it is";
            return Ok(Some(
                json!({ "submission": id, "benchmark": benchmark, "was": status, "became": became }),
            ));
        }
        Reopened::Reopened(submission) => (submission, "failed"),
        Reopened::Unfinished(submission) => (submission, "unfinished"),
    };
    let hosted = crate::hosted::descriptor(benchmark)?;
    cloud.evaluators().evaluate(hosted, &submission.upload).await?;
    Ok(Some(
        json!({ "submission": id, "benchmark": benchmark, "was": became, "became": "evaluation requested" }),
    ))
}

fn print(documents: &[Value], format: RowFormat) -> Result<()> {
    print_rows(
        documents,
        &["benchmark", "submission", "was", "became"],
        format,
        || {
            print_text(documents);
            Ok(())
        },
    )
}

fn print_text(documents: &[Value]) {
    if documents.is_empty() {
        println!("Nothing has failed.");
        return;
    }
    let mut table = table(&["benchmark", "submission", "was", "is"]);
    let ids = documents
        .iter()
        .filter_map(|document| document["submission"].as_str());
    let n_digits = digits_apart(ids);
    for document in documents {
        let cell = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        table.add_row([
            cell("benchmark"),
            short(&cell("submission"), n_digits),
            cell("was"),
            cell("became"),
        ]);
    }
    println!("{table}");
}
