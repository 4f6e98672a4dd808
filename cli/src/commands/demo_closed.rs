//! `dataperf demo closed`: programs compete on data that nobody has seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use dataperf::Benchmark as _;
use dataperf::challenge::check;
use dataperf::dataset::Integrity;
use dataperf::evaluate::evaluate;
use dataperf::progress::Silent;
use dataperf::{Digest, Ending, Receipt};
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::own_data::split;
use serde_json::json;

use super::baseline::{MakeBaseline, make_into};
use super::dataset::{ImportSource, Switch, open, publish};
use super::demo::{DemoArgs, compared, print_next_steps, shipped_data};
use super::leaderboard::{boards, document, print};
use super::local::{FunctionArgs, config, start};
use super::score;
use super::submit::{receipt, upload};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::{Format, print_json, table};
use crate::registry::with_benchmark;
use crate::stop::stopped;

/// What is typed.
pub(super) const NAME: &str = "closed";
const LEADERBOARD: &str = "digits-20";
const ROUND: &str = "closed";
const RANDOM: &str = "random";
/// So many random selections are scored beside the programs.
const N_RANDOM: u32 = 20;
/// What each run has: ten times what the good programs use, so that the endless one ends at once.
const MAX_FUEL: u64 = 50_000_000;

/// A program that never ends: `(loop (br 0))`.
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x04\x01\x60\0\0\
    \x03\x02\x01\0\
    \x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\0\
    \x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

/// The two halves of the shipped contest: the one that everybody has, and the one that nobody has seen.
struct Halves {
    public: PathBuf,
    hidden: PathBuf,
}

pub(super) async fn run(args: DemoArgs, format: Format) -> Result<Done> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = match &args.data {
        Some(data) => data.clone(),
        None => shipped_data()?,
    };
    let halves = halves(&data.join(Selection::ID), scratch.path()).await?;
    let data_dir = args.data_dir.clone();
    let data_dir = data_dir.unwrap_or_else(|| scratch.path().join("cloud"));
    let functions = FunctionArgs::default();
    let mut config = config(&data_dir, &functions)?;
    config.http_port = Some(0);
    let local = start(config, &functions).await?;
    let cloud = CloudArgs::of(&local).connect().await;
    publish(&cloud, &halves.public, &open(&halves.public)?, Switch::Replace).await?;
    publish(&cloud, &halves.hidden, &open(&halves.hidden)?, Switch::Stage).await?;
    announce(&cloud, &halves).await?;

    let submissions = submissions(&data, scratch.path())?;
    let receipts = submit_all(&cloud, &submissions).await?;
    compared(&cloud, &[Selection::ID]).await?;
    let random = by_chance(&halves.hidden, scratch.path()).await?;
    let shown = boards(&cloud, Selection::ID, Some(LEADERBOARD.to_owned()), 20).await?;
    if format == Format::Json {
        print_json(&json!({
            "receipts": receipts, "boards": shown.iter().map(document).collect::<Vec<_>>(), "random": random,
        }))?;
    } else {
        print_receipts(&receipts);
        shown.iter().for_each(print);
        let mean = random.iter().sum::<f64>() / random.len() as f64;
        let best = random.iter().copied().fold(f64::MIN, f64::max);
        println!(
            "{N_RANDOM} selections by chance on the same hidden data: {mean:.3} on average, the best {best:.3}"
        );
        println!("{:.1} s", began.elapsed().as_secs_f64());
        let kept = args.data_dir.as_deref().filter(|_| !args.keep_running);
        print_next_steps(&local, args.keep_running, kept).await?;
        println!("  dataperf closed run --help                   try a program of your own on public data");
    }
    if args.keep_running {
        stopped().await?;
    }
    local.shutdown().await;
    as_planned(&receipts)
}

async fn halves(shipped: &Path, scratch: &Path) -> Result<Halves> {
    let whole = scratch.join("whole");
    let source = ImportSource {
        from: shipped,
        out: &whole,
    };
    with_benchmark(Selection::ID, source).await?;
    let halves = Halves {
        public: scratch.join("public"),
        hidden: scratch.join("hidden"),
    };
    let outs = [halves.public.as_path(), halves.hidden.as_path()];
    split(&whole, &open(&whole)?.manifest, outs, 0.5)?;
    Ok(halves)
}

/// Opens a round that takes programs.
async fn announce(cloud: &Cloud, halves: &Halves) -> Result<()> {
    let digest = |directory: &Path| -> Result<Digest> { Ok(open(directory)?.digest) };
    let programs = json!({ "public": digest(&halves.public)?, "max_fuel": MAX_FUEL });
    let document = json!({ "schema": 1, "title": "Demo", "benchmarks": { Selection::ID: { "rounds": [{
        "id": ROUND, "opens": "2020-01-01T00:00:00Z", "division": "closed", "leaderboards": [LEADERBOARD],
        "dataset": digest(&halves.hidden)?, "programs": programs, "daily_limit": 5,
    }] } } });
    let challenges = check(&document, dataperf_hosted::HOSTED);
    let challenges = challenges.map_err(|refused| anyhow!("{:?}", refused.reasons()))?;
    for (benchmark, challenge) in &challenges {
        challenge
            .publish(&cloud.datasets(), &cloud.leaderboards(), benchmark, now())
            .await?;
    }
    Ok(())
}

/// Who submits which file: two programs with the same method, one that never ends, and somebody who uploads a selection.
fn submissions(data: &Path, scratch: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let examples = data.join("../examples/closed");
    if !examples.is_dir() {
        bail!(
            "the example programs are not beside `{}`: run this in the project's directory",
            data.display()
        );
    }
    let endless = scratch.join("endless.wasm");
    fs::write(&endless, ENDLESS)?;
    let selection = scratch.join("selection.json");
    fs::write(&selection, "{\"ids\": []}")?;
    Ok(vec![
        ("ada", examples.join("selection-rust.wasm")),
        ("bo", examples.join("selection-c.wasm")),
        ("cleo", endless),
        ("dan", selection),
    ])
}

async fn submit_all(cloud: &Cloud, files: &[(&str, PathBuf)]) -> Result<Vec<Receipt>> {
    let mut submitted = Vec::new();
    for (submitter, file) in files {
        submitted.push(upload(cloud, Selection::ID, LEADERBOARD, &submitter.parse()?, file).await?);
    }
    let mut receipts = Vec::new();
    for one in &submitted {
        receipts.push(receipt(cloud, one).await?);
    }
    Ok(receipts)
}

/// What selections by chance score on the hidden data.
async fn by_chance(hidden: &Path, scratch: &Path) -> Result<Vec<f64>> {
    let dataset = score::open::<Selection>(hidden, LEADERBOARD, Integrity::Sizes).await?;
    let mut scores = Vec::new();
    for seed in 1..=N_RANDOM {
        let task = MakeBaseline {
            dataset: hidden,
            leaderboard: LEADERBOARD,
            method: RANDOM,
            seed,
            jobs: 1,
            progress: &Silent,
        };
        let file = make_into(scratch, Selection::ID, task).await?;
        let verdict = evaluate(&dataset, LEADERBOARD, &fs::read(file)?).await?;
        scores.push(verdict.score.context("a random selection obeys the rules")?);
    }
    Ok(scores)
}

fn print_receipts(receipts: &[Receipt]) {
    let mut shown = table(&["submitter", "file", "status", "score or reason"]);
    for receipt in receipts {
        let verdict = &receipt.verdict;
        let file = receipt.key.rsplit('/').next().unwrap_or_default();
        let said = match (verdict.score, verdict.reasons.first()) {
            (Some(score), _) => score.to_string(),
            (None, Some(reason)) => {
                let message = reason.message.split(": ").next().unwrap_or_default();
                format!("{}: {message}", reason.code)
            }
            (None, None) => String::new(),
        };
        shown.add_row([&receipt.submitter, file, verdict.status.as_str(), &said]);
    }
    println!("{shown}");
}

/// The two good programs are scored alike, and the others are rejected.
fn as_planned(receipts: &[Receipt]) -> Result<Done> {
    let endings: Vec<Ending> = receipts.iter().map(|receipt| receipt.verdict.status).collect();
    let planned = [Ending::Scored, Ending::Scored, Ending::Rejected, Ending::Rejected];
    if endings != planned || receipts[0].verdict.score != receipts[1].verdict.score {
        bail!("the demo did not go as planned: {receipts:?}");
    }
    Ok(Done::Fine)
}
