//! `dataperf submitter list` and `identical`: who submits, how much, and the same file twice.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::challenge::{Challenge, Terms};
use dataperf::ports::leaderboard::{Board, Entry, Leaderboards};
use dataperf::{Digest, Ending, SubmissionId};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::known;
use crate::output::{align_right, score, table};
use crate::rows::{RowFormat, print_rows};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dataperf submitter list speech-selection --local\n  dataperf submitter list --format csv > submitters.csv\n\n\
    What is left is counted for uploads of this moment, in the rounds that are open now."
)]
pub(crate) struct ListArgs {
    /// The benchmark; all of them, when left out
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf submitter identical speech-selection --local\n\nFiles are the same when they have the same SHA-256. \
    That is no offence: a baseline or an example that two hand in is one such file."
)]
pub(crate) struct IdenticalArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// Only files that several submitters have handed in
    #[arg(long)]
    several: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// What is left of a limit on one leaderboard.
fn quota(board: &Board, terms: &Terms, usage: dataperf::ports::leaderboard::Usage) -> Option<Value> {
    let limits = terms
        .limits
        .filter(|limits| limits.daily.or(limits.total).is_some())?;
    let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
    let together = terms.together.as_ref().map(|together| &together.leaderboards);
    Some(
        json!({ "leaderboard": board.leaderboard, "round": terms.round, "together_with": together,
                 "daily_limit": limits.daily, "daily_left": left(limits.daily, usage.day),
                 "total_limit": limits.total, "total_left": left(limits.total, usage.total) }),
    )
}

fn in_words(quota: &Value) -> String {
    let of = |left: &str, limit: &str, when: &str| {
        quota[limit]
            .as_u64()
            .map(|limit| format!("{} of {limit} {when}", quota[left]))
    };
    let parts = [
        of("daily_left", "daily_limit", "today"),
        of("total_left", "total_limit", "in all"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{}: {}",
        quota["leaderboard"].as_str().unwrap_or_default(),
        parts.join(", ")
    )
}

/// Everything about one submitter of a benchmark.
async fn overview(
    cloud: &Cloud,
    benchmark: &str,
    submitter: &str,
    challenge: Option<&Challenge>,
    leaderboards: &[String],
) -> Result<Value> {
    let table = cloud.leaderboards();
    let history = known::uploads(cloud, benchmark, submitter, usize::MAX, false).await?;
    let n = |ending: Option<Ending>| history.iter().filter(|entry| entry.ending == ending).count();
    let mut quotas = Vec::new();
    for leaderboard in leaderboards {
        let terms = Terms::of(challenge, leaderboard, submitter, now());
        if terms.limits.is_none() || terms.refusal.is_some() {
            continue;
        }
        let board = Board {
            benchmark: benchmark.to_owned(),
            leaderboard: leaderboard.clone(),
            round: terms.round.clone(),
        };
        let usage = table.usage(&terms.counter(&board), submitter, now()).await?;
        quotas.extend(quota(&board, &terms, usage));
    }
    let is_withdrawn = |entry: &&Entry| entry.withdrawn_at.is_some();
    Ok(
        json!({ "benchmark": benchmark, "submitter": submitter, "n_submissions": history.len(),
               "n_scored": n(Some(Ending::Scored)), "n_rejected": n(Some(Ending::Rejected)),
               "n_failed": n(Some(Ending::Failed)), "n_unfinished": n(None),
               "n_withdrawn": history.iter().filter(is_withdrawn).count(),
               "last_upload": history.iter().map(|entry| entry.received_at).max(),
               "is_baseline": history.iter().any(|entry| entry.is_baseline), "quotas": quotas }),
    )
}

pub(super) async fn list(args: ListArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let all = dataperf_hosted::IDS.iter().copied();
    let benchmarks = all.filter(|id| args.benchmark.as_ref().is_none_or(|only| only == id));
    let mut documents = Vec::new();
    for benchmark in benchmarks {
        let challenge = Challenge::current(&cloud.datasets(), &cloud.leaderboards(), benchmark).await?;
        let leaderboards = known::Known::of(&cloud, benchmark).await?.leaderboards();
        for submitter in known::submitters(&cloud, benchmark).await? {
            let of_one = overview(&cloud, benchmark, &submitter, challenge.as_ref(), &leaderboards);
            documents.push(of_one.await?);
        }
    }
    let columns = [
        "benchmark",
        "submitter",
        "n_submissions",
        "n_scored",
        "n_rejected",
        "n_failed",
        "n_unfinished",
        "n_withdrawn",
        "last_upload",
        "is_baseline",
        "quotas",
    ];
    print_rows(&documents, &columns, format, || {
        if documents.is_empty() {
            println!("there is no submitter yet: `dataperf submitter add` lets somebody submit");
            return Ok(());
        }
        let mut lines = table(&[
            "benchmark",
            "submitter",
            "uploads",
            "scored",
            "rejected",
            "failed",
            "unfinished",
            "withdrawn",
            "last upload",
            "left",
        ]);
        for document in &documents {
            let quotas = document["quotas"].as_array().into_iter().flatten();
            let quotas: Vec<String> = quotas.map(in_words).collect();
            let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
            let count = |name: &str| document[name].to_string();
            lines.add_row([
                text("benchmark"),
                text("submitter"),
                count("n_submissions"),
                count("n_scored"),
                count("n_rejected"),
                count("n_failed"),
                count("n_unfinished"),
                count("n_withdrawn"),
                text("last_upload"),
                quotas.join("\n"),
            ]);
        }
        (2..8).for_each(|column| align_right(&mut lines, column));
        println!("{lines}");
        Ok(())
    })?;
    Ok(Done::Fine)
}

pub(super) async fn identical(args: IdenticalArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await, args.benchmark.as_str());
    let table = cloud.leaderboards();
    let mut files: BTreeMap<Digest, Vec<Entry>> = BTreeMap::new();
    for submitter in known::submitters(&cloud, benchmark).await? {
        let history = known::uploads(&cloud, benchmark, &submitter, usize::MAX, false).await?;
        let ids: Vec<SubmissionId> = history.iter().map(|entry| entry.id.clone()).collect();
        let receipts = table.receipts(benchmark, &ids).await?;
        for entry in history {
            let artifact = receipts
                .get(&entry.id)
                .and_then(|receipt| receipt.verdict.artifact);
            if let Some(artifact) = artifact {
                files.entry(artifact).or_default().push(entry);
            }
        }
    }
    let mut documents = Vec::new();
    for (artifact, mut entries) in files.into_iter().filter(|(_, entries)| entries.len() > 1) {
        entries.sort_by(|a, b| a.time_order().cmp(&b.time_order()));
        let by_several = entries
            .iter()
            .any(|entry| entry.submitter != entries[0].submitter);
        if args.several && !by_several {
            continue;
        }
        documents.extend(entries.iter().map(|entry| {
            json!({ "artifact": artifact, "by_several": by_several, "submission": entry.id, "submitter": entry.submitter,
                    "leaderboard": entry.board.leaderboard, "round": entry.board.round, "received_at": entry.received_at,
                    "status": entry.ending.map(Ending::as_str), "score": entry.score, "withdrawn_at": entry.withdrawn_at,
                    "is_baseline": entry.is_baseline })
        }));
    }
    let columns = [
        "artifact",
        "by_several",
        "submission",
        "submitter",
        "leaderboard",
        "round",
        "received_at",
        "status",
        "score",
        "withdrawn_at",
        "is_baseline",
    ];
    print_rows(&documents, &columns, format, || {
        if documents.is_empty() {
            let by = if args.several {
                " by several submitters"
            } else {
                " twice"
            };
            println!("{benchmark}: no file was handed in{by}");
            return Ok(());
        }
        let mut lines = self::table(&[
            "file",
            "by several",
            "submitter",
            "leaderboard",
            "received",
            "status",
            "score",
            "submission",
        ]);
        for document in &documents {
            let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
            lines.add_row([
                text("artifact").chars().take(19).collect(),
                if document["by_several"] == true { "yes" } else { "" }.to_owned(),
                text("submitter"),
                text("leaderboard"),
                text("received_at"),
                text("status"),
                document["score"].as_f64().map(score).unwrap_or_default(),
                text("submission"),
            ]);
        }
        println!("{lines}");
        Ok(())
    })?;
    Ok(Done::Fine)
}
