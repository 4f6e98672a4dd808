//! `dataperf demo integrity`: planted label errors, an audit that finds them, and ranks that change when they are put right.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use dataperf::Benchmark as _;
use dataperf::Ending;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf_audit::{Audit, DetectionCounts, SetAudit, count_found, plant};
use dataperf_baselines::random::Random;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{Verdicts, WORK_LIST_COLUMNS, correct};
use dataperf_numerics::agreement::share_interval;
use serde_json::json;

use super::shared::{DemoArgs, compared, data, end_cloud, print_next_steps, start_cloud};
use crate::Done;
use crate::cloud::Cloud;
use crate::commands::audit::{AuditSets, Gathered, of_cloud, print_effect, work_list};
use crate::commands::dataset::{Switch, error_rates, publish};
use crate::commands::leaderboard::{boards, print};
use crate::commands::participant::submit::{receipt, upload};
use crate::import::ImportSource;
use crate::on_disk::open;
use crate::output::print_json;
use crate::output::rows::RowFormat;
use crate::registry::with_benchmark;

const LEADERBOARD: &str = "digits-50";
/// The share of the test set's labels that are made wrong.
const SHARE: f64 = 0.05;
/// The seed with which the wrong labels are drawn.
const SEED: u32 = 2024;
/// Submitters that choose fifty digits by chance, each with a seed of its own. On many boards entries are as near to each other as these.
const SUBMITTERS: [&str; 10] = [
    "cleo", "dan", "eve", "fay", "gus", "hal", "ida", "jo", "kim", "lou",
];
const N_CHOSEN: usize = 50;
/// Labels that nobody doubts and somebody looks at all the same.
const N_CONTROL: usize = 100;

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = data(&args)?;
    let (contest, wrong, corrected) = (
        scratch.path().join("contest"),
        scratch.path().join("wrong"),
        scratch.path().join("corrected"),
    );
    let planted = planted_contest(&data.join(Selection::ID), &contest)?;
    let source = ImportSource {
        from: &contest,
        out: &wrong,
    };
    with_benchmark(Selection::ID, source).await?;

    let (local, cloud) = start_cloud(&args, scratch.path()).await?;
    publish(&cloud, &wrong, &open(&wrong)?, Switch::Replace).await?;
    submit_all(&cloud, &data.join(Selection::ID), scratch.path()).await?;
    compared(&cloud, &[Selection::ID]).await?;
    let is_text = format == RowFormat::Text;
    if is_text {
        println!(
            "The demo made {} of {} random test labels wrong, and scored {} submissions with them.",
            planted.rows.len(),
            planted.truth.len(),
            SUBMITTERS.len() + 2
        );
        let shown = boards(&cloud, Selection::ID, Some(LEADERBOARD.to_owned()), 20).await?;
        shown.iter().for_each(print);
    }

    let manifest = open(&wrong)?.manifest;
    let task = AuditSets {
        directory: &wrong,
        manifest: &manifest,
        only: Some("eval"),
    };
    let audited = with_benchmark(Selection::ID, task).await?;
    let verdicts = answer(&audited, &planted, &scratch.path().join("verdicts.csv"))?;
    let sets: Vec<_> = audited
        .sets
        .iter()
        .map(|set_audit| set_audit.set.clone())
        .collect();
    let read =
        Verdicts::read(&verdicts, &sets).map_err(|problems| anyhow::anyhow!(problems.join("\n  - ")))?;
    correct(&wrong, &manifest, &sets, &read, &corrected)?;
    let board = Board {
        benchmark: Selection::ID.to_owned(),
        leaderboard: LEADERBOARD.to_owned(),
        round: OPEN_ROUND.to_owned(),
    };
    let effect = of_cloud(&cloud, &board, &wrong, &corrected).await?;
    print_all(&audited.sets[0], &planted, &read, &effect, format)?;
    if is_text {
        println!("{:.1} s", began.elapsed().as_secs_f64());
        print_next_steps(&args, &local).await?;
    }
    end_cloud(&args, &local).await?;
    Ok(Done::Fine)
}

/// The truth about a test set with planted errors.
struct Planted {
    /// The right classes by name.
    truth: Vec<String>,
    /// The rows whose labels were made wrong, ascending.
    rows: Vec<usize>,
}

/// Copies a contest and makes some labels of its test set wrong.
fn planted_contest(from: &Path, to: &Path) -> Result<Planted> {
    let about = || format!("can't read `{}`", from.display());
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(about)? {
        let entry = entry.with_context(about)?;
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).with_context(about)?;
        }
    }
    let path = to.join("eval.csv");
    let mut reader = csv::Reader::from_path(&path).with_context(about)?;
    let header = reader.headers().with_context(about)?.clone();
    let column = header
        .iter()
        .position(|name| name == "label")
        .context("`eval.csv` has no column `label`")?;
    let lines: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().with_context(about)?;
    let truth: Vec<String> = lines
        .iter()
        .map(|line| line.get(column).unwrap_or_default().to_owned())
        .collect();
    let number_of: BTreeMap<&String, usize> = truth
        .iter()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .zip(0..)
        .collect();
    let names: Vec<&String> = number_of.keys().copied().collect();
    let labels: Vec<usize> = truth.iter().map(|name| number_of[name]).collect();
    let (wrong, rows) = plant(&labels, SHARE, SEED);
    let mut writer = csv::Writer::from_path(&path)?;
    writer.write_record(&header)?;
    for (line, class) in lines.iter().zip(wrong) {
        let fields = line.iter().enumerate();
        writer
            .write_record(fields.map(|(place, field)| if place == column { names[class] } else { field }))?;
    }
    writer.flush()?;
    Ok(Planted { truth, rows })
}

/// Submits the shipped selections and those by chance, and waits for their receipts.
async fn submit_all(cloud: &Cloud, shipped: &Path, scratch: &Path) -> Result<()> {
    let mut reader = csv::Reader::from_path(shipped.join("pool.csv"))?;
    let column = reader
        .headers()?
        .iter()
        .position(|name| name == "id")
        .context("`pool.csv` has no column `id`")?;
    let ids: Vec<String> = reader
        .records()
        .map(|line| Ok(line?.get(column).unwrap_or_default().to_owned()))
        .collect::<Result<_, csv::Error>>()?;
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    for (submitter, file) in [("ada", "central.json"), ("bo", "balanced.json")] {
        files.push((
            submitter,
            shipped
                .join("submissions")
                .join(LEADERBOARD)
                .join(submitter)
                .join(file),
        ));
    }
    for (seed, submitter) in (1..).zip(SUBMITTERS) {
        let chosen = Random::new(seed).choose(&(0..ids.len()).collect::<Vec<_>>(), N_CHOSEN);
        let chosen: Vec<&String> = chosen.into_iter().map(|place| &ids[place]).collect();
        let file = scratch.join(format!("{submitter}.json"));
        fs::write(&file, json!({ "ids": chosen }).to_string())?;
        files.push((submitter, file));
    }
    let mut submitted = Vec::new();
    for (submitter, file) in &files {
        submitted.push(upload(cloud, Selection::ID, LEADERBOARD, &submitter.parse()?, file).await?);
    }
    for one in &submitted {
        let verdict = receipt(cloud, one).await?.verdict;
        if verdict.status != Ending::Scored {
            bail!(
                "a submission of the demo was {}: {:?}",
                verdict.status.as_str(),
                verdict.reasons
            );
        }
    }
    Ok(())
}

/// The work list, answered by somebody who looks at every line and knows the right class.
fn answer(audited: &Audit, planted: &Planted, path: &Path) -> Result<PathBuf> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(WORK_LIST_COLUMNS)?;
    for set_audit in &audited.sets {
        for line in work_list(set_audit, N_CONTROL, |row| planted.truth[row].as_str()) {
            writer.write_record(line)?;
        }
    }
    writer.flush()?;
    Ok(path.to_owned())
}

fn print_all(
    set_audit: &SetAudit,
    planted: &Planted,
    verdicts: &Verdicts,
    effect: &Gathered,
    format: RowFormat,
) -> Result<()> {
    let likely = count_found(
        set_audit.doubts().iter().filter(|doubt| doubt.is_likely()),
        &planted.rows,
    );
    let any = count_found(set_audit.doubts().iter(), &planted.rows);
    if format == RowFormat::Csv {
        return print_effect(effect, format);
    }
    if format == RowFormat::Json {
        return print_json(&json!({
            "n_planted": planted.rows.len(), "likely": likely, "in_doubt": any, "n_edits": verdicts.edits.len(),
            "n_reviewed": verdicts.n_reviewed(), "effect": effect,
        }));
    }
    let message = |subject: &str, count: DetectionCounts| {
        let percent = |n: usize| {
            let (share, interval) = (
                100.0 * count.n_right as f64 / n as f64,
                share_interval(count.n_right, n),
            );
            interval.map_or("-".to_owned(), |(low, high)| {
                format!("{share:.0} %, 95 %: {:.0} to {:.0} %", 100.0 * low, 100.0 * high)
            })
        };
        println!(
            "{subject}: {} labels, {} of the {} planted errors among them (precision {}; recall {})",
            count.n_flagged,
            count.n_right,
            count.n_planted,
            percent(count.n_flagged),
            percent(count.n_planted)
        );
    };
    println!("\nthe audit, which does not know them:");
    message("  likely errors", likely);
    message("  in doubt", any);
    println!(
        "somebody who knows the right classes reviewed all {} labels in doubt and {N_CONTROL} random \
            others, and changed {}; {} planted errors are left",
        any.n_flagged,
        verdicts.edits.len(),
        any.n_planted - verdicts.edits.len()
    );
    for sentence in error_rates(verdicts) {
        println!("{sentence}");
    }
    println!(
        "(the truth: {:.1} %)\n",
        100.0 * any.n_planted as f64 / planted.truth.len() as f64
    );
    print_effect(effect, format)
}
