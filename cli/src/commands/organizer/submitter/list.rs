//! `dataperf submitter list` and `identical`: who submits, how much, and the same file twice.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::benchmark::allowance::DailyAllowance;
use dataperf::board::{Board, Usage};
use dataperf::challenge::daily_allowances;
use dataperf::challenge::{Challenge, Terms};
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Digest, Ending, Endings, Receipt, SubmissionId};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::known;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{align_right, digits_apart, score, short, table};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The benchmark [default: all]
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IdenticalArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// Only files of several submitters
    #[arg(long)]
    several: bool,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The remaining limits of a submitter on one leaderboard. `failed` is the number of the
/// submitter's uploads that failed today.
fn quota(board: &Board, terms: &Terms, usage: Usage, failed: u64) -> Option<Value> {
    let limits = terms.reserved()?;
    let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
    let together = terms.together.as_ref().map(|together| &together.leaderboards);
    let failures = terms.daily_failures;
    Some(
        json!({ "leaderboard": board.leaderboard, "round": terms.round, "together_with": together,
                 "daily_limit": limits.daily, "daily_left": left(limits.daily, usage.day),
                 "total_limit": limits.total, "total_left": left(limits.total, usage.total),
                 "daily_failures": failures, "daily_failures_left": left(failures, failed) }),
    )
}

fn in_words(quota: &Value) -> String {
    let limit_in_words = |left: &str, limit: &str, when: &str| {
        quota[limit]
            .as_u64()
            .map(|limit| format!("{} of {limit} {when}", quota[left]))
    };
    let parts = [
        limit_in_words("daily_left", "daily_limit", "today"),
        limit_in_words("total_left", "total_limit", "in all"),
        limit_in_words(
            "daily_failures_left",
            "daily_failures",
            "uploads may still fail today",
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{}: {}",
        quota["leaderboard"].as_str().unwrap_or_default(),
        parts.join(", ")
    )
}

/// The rest of a daily allowance today.
fn left_today(allowance: &Value) -> String {
    format!(
        "{}: {} of {} today",
        allowance["title"].as_str().unwrap_or_default(),
        allowance["left"],
        allowance["limit"]
    )
}

/// The common part of the overviews of a benchmark's submitters.
struct Known<'a> {
    cloud: &'a Cloud,
    benchmark: &'a str,
    challenge: Option<Challenge>,
    leaderboards: Vec<String>,
    allowances: Vec<DailyAllowance>,
}

impl Known<'_> {
    /// The rest of a submitter's daily allowances. Only raters have raters' allowances.
    async fn left_of_allowances(&self, submitter: &str) -> Result<Vec<Value>> {
        let (table, at) = (self.cloud.leaderboards(), now());
        let mut left = Vec::with_capacity(self.allowances.len());
        for one in &self.allowances {
            if one.is_of_raters && !table.is_rater(self.benchmark, submitter).await? {
                continue;
            }
            let n_used = table
                .n_taken_of_day(self.benchmark, submitter, one.counted_as, at)
                .await?;
            left.push(json!({ "kind": one.kind, "title": one.title, "limit": one.limit,
                              "left": one.limit.saturating_sub(n_used) }));
        }
        Ok(left)
    }
}

async fn receipts(
    cloud: &Cloud,
    benchmark: &str,
    history: &[Entry],
) -> Result<BTreeMap<SubmissionId, Receipt>> {
    let ids: Vec<SubmissionId> = history.iter().map(|entry| entry.id.clone()).collect();
    Ok(cloud
        .leaderboards()
        .receipts(benchmark, &ids)
        .await?
        .into_iter()
        .collect())
}

/// The digest of an uploaded file's content, independent of order and form. For an unscored file it
/// is the digest of the file itself.
fn content(receipt: &Receipt) -> Option<Digest> {
    receipt.verdict.content.or(receipt.verdict.artifact)
}

/// A submitter's uploads with the digests of their contents, as far as these were read.
async fn files(cloud: &Cloud, benchmark: &str, history: &[Entry]) -> Result<BTreeMap<SubmissionId, Digest>> {
    let receipts = receipts(cloud, benchmark, history).await?;
    let digests = receipts.into_iter().filter_map(|(id, receipt)| {
        let content = content(&receipt)?;
        Some((id, content))
    });
    Ok(digests.collect())
}

/// Everything about one submitter of a benchmark.
async fn overview(known: &Known<'_>, submitter: &str, history: &[Entry]) -> Result<Value> {
    let Known {
        cloud,
        benchmark,
        challenge,
        leaderboards,
        ..
    } = known;
    let table = cloud.leaderboards();
    let mut quotas = Vec::new();
    for leaderboard in leaderboards {
        let terms = Terms::resolve(challenge.as_ref(), leaderboard, submitter, now());
        if terms.limits.is_none() || terms.refusal.is_some() {
            continue;
        }
        let board = Board {
            benchmark: (*benchmark).to_owned(),
            leaderboard: leaderboard.clone(),
            round: terms.round.clone(),
        };
        let usage = table.usage(&terms.counter(&board), submitter, now()).await?;
        let failed = table.usage(&terms.failures(&board), submitter, now()).await?.day;
        quotas.extend(quota(&board, &terms, usage, failed));
    }
    let mut document = serde_json::to_value(Endings::from_history(history))?;
    document["benchmark"] = json!(benchmark);
    document["submitter"] = json!(submitter);
    document["quotas"] = json!(quotas);
    document["allowances"] = json!(known.left_of_allowances(submitter).await?);
    Ok(document)
}

/// The most others with the same file that a person is shown; JSON and CSV name all.
const MOST_NAMED: usize = 5;

/// Names, a line each; of many the first, and how many more there are.
fn named_first(names: &[&str]) -> String {
    let mut lines: Vec<String> = names
        .iter()
        .take(MOST_NAMED)
        .map(|name| (*name).to_owned())
        .collect();
    if let Some(n_more) = names.len().checked_sub(MOST_NAMED).filter(|n| *n > 0) {
        lines.push(format!("and {n_more} more"));
    }
    lines.join("\n")
}

/// Everything about all submitters of a benchmark, with who has handed in a file that another one has handed in, too.
async fn overviews(cloud: &Cloud, benchmark: &str) -> Result<Vec<Value>> {
    let datasets = cloud.datasets();
    let challenge = Challenge::published(&datasets, benchmark).await?;
    let allowances = daily_allowances(&datasets, descriptor(benchmark)?, challenge.as_ref(), now()).await?;
    let known = Known {
        cloud,
        benchmark,
        challenge,
        leaderboards: known::Known::read(cloud, benchmark).await?.leaderboards(),
        allowances,
    };
    let (mut documents, mut owners) = (Vec::new(), BTreeMap::<Digest, BTreeSet<String>>::new());
    for submitter in known::submitters(cloud, benchmark).await? {
        let history = known::uploads(cloud, benchmark, &submitter, usize::MAX, false).await?;
        documents.push(overview(&known, &submitter, &history).await?);
        for artifact in files(cloud, benchmark, &history).await?.into_values() {
            owners.entry(artifact).or_default().insert(submitter.clone());
        }
    }
    let mut others: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for owners in owners.values().filter(|owners| owners.len() > 1) {
        for own in owners {
            let of_own = others.entry(own).or_default();
            let of_others = owners.iter().filter(|other| *other != own);
            of_own.extend(of_others.map(String::as_str));
        }
    }
    for document in &mut documents {
        let own = document["submitter"].as_str().unwrap_or_default();
        let named = others.remove(own).unwrap_or_default().into_iter();
        document["same_file_as"] = json!(named.collect::<Vec<_>>());
    }
    Ok(documents)
}

pub(crate) async fn list(args: ListArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let all = dataperf_hosted::IDS.iter().copied();
    let benchmarks = all.filter(|id| args.benchmark.as_ref().is_none_or(|only| only == id));
    let mut documents = Vec::new();
    for benchmark in benchmarks {
        documents.extend(overviews(&cloud, benchmark).await?);
    }
    let columns = [
        "benchmark",
        "submitter",
        "n_submissions",
        "n_scored",
        "n_accepted",
        "n_rejected",
        "n_failed",
        "n_unfinished",
        "n_withdrawn",
        "last_upload",
        "is_baseline",
        "quotas",
        "allowances",
        "same_file_as",
    ];
    print_rows(&documents, &columns, format, || {
        if documents.is_empty() {
            println!("There is no submitter yet. `dataperf submitter add` lets somebody submit.");
            return Ok(());
        }
        let mut lines = table(&[
            "benchmark",
            "submitter",
            "uploads",
            "scored",
            "accepted",
            "rejected",
            "failed",
            "unfinished",
            "withdrawn",
            "last upload (UTC)",
            "same file as",
        ]);
        lines.spare(&[
            "accepted",
            "unfinished",
            "withdrawn",
            "failed",
            "same file as",
            "last upload (UTC)",
        ]);
        for document in &documents {
            let list = |name: &str| document[name].as_array().into_iter().flatten();
            let others: Vec<&str> = list("same_file_as").filter_map(Value::as_str).collect();
            let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
            let count = |name: &str| document[name].to_string();
            lines.add_row([
                text("benchmark"),
                text("submitter"),
                count("n_submissions"),
                count("n_scored"),
                count("n_accepted"),
                count("n_rejected"),
                count("n_failed"),
                count("n_unfinished"),
                count("n_withdrawn"),
                text("last_upload").replace('T', " ").chars().take(16).collect(),
                named_first(&others),
            ]);
        }
        (2..9).for_each(|column| align_right(&mut lines, column));
        println!("{lines}");
        for document in &documents {
            let list = |name: &str| document[name].as_array().into_iter().flatten();
            let left = list("quotas")
                .map(in_words)
                .chain(list("allowances").map(left_today));
            let left: Vec<String> = left.collect();
            if !left.is_empty() {
                let name = |name: &str| document[name].as_str().unwrap_or_default();
                println!(
                    "{} in {}: {}",
                    name("submitter"),
                    name("benchmark"),
                    left.join("; ")
                );
            }
        }
        Ok(())
    })?;
    Ok(Done::Fine)
}

pub(crate) async fn identical(args: IdenticalArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await?, args.benchmark.as_str());
    let mut by_content: BTreeMap<Digest, Vec<(Entry, Option<Digest>)>> = BTreeMap::new();
    for submitter in known::submitters(&cloud, benchmark).await? {
        let history = known::uploads(&cloud, benchmark, &submitter, usize::MAX, false).await?;
        let receipts = receipts(&cloud, benchmark, &history).await?;
        for entry in history {
            let Some(receipt) = receipts.get(&entry.id) else {
                continue;
            };
            if let Some(content) = content(receipt) {
                let of_content = by_content.entry(content).or_default();
                of_content.push((entry, receipt.verdict.artifact));
            }
        }
    }
    let mut documents = Vec::new();
    for (content, mut entries) in by_content.into_iter().filter(|(_, entries)| entries.len() > 1) {
        entries.sort_by(|(a, _), (b, _)| a.time_order().cmp(&b.time_order()));
        let by_several = entries
            .iter()
            .any(|(entry, _)| entry.submitter != entries[0].0.submitter);
        if args.several && !by_several {
            continue;
        }
        documents.extend(entries.iter().map(|(entry, artifact)| {
            json!({ "artifact": artifact, "content": content, "by_several": by_several, "submission": entry.id, "submitter": entry.submitter,
                    "leaderboard": entry.board.leaderboard, "round": entry.board.round, "received_at": entry.received_at,
                    "status": entry.ending.map(Ending::as_str), "score": entry.score, "withdrawn_at": entry.withdrawn_at,
                    "is_baseline": entry.is_baseline })
        }));
    }
    let columns = [
        "artifact",
        "content",
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
            println!("{benchmark}: no file was submitted{by}.");
            return Ok(());
        }
        let mut lines = table(&[
            "file",
            "by several",
            "submitter",
            "leaderboard",
            "received (UTC)",
            "status",
            "score",
            "submission",
        ]);
        lines.spare(&["by several", "received (UTC)", "status"]);
        let ids = documents
            .iter()
            .filter_map(|document| document["submission"].as_str());
        let n_digits = digits_apart(ids);
        for document in &documents {
            let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
            lines.add_row([
                text("content").chars().take(19).collect(),
                if document["by_several"] == true { "yes" } else { "" }.to_owned(),
                text("submitter"),
                text("leaderboard"),
                text("received_at").replace('T', " ").chars().take(19).collect(),
                text("status"),
                document["score"].as_f64().map(score).unwrap_or_default(),
                short(&text("submission"), n_digits),
            ]);
        }
        println!("{lines}");
        Ok(())
    })?;
    Ok(Done::Fine)
}
