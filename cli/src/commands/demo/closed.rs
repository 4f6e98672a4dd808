//! `dataperf demo closed`: programs compete on data that nobody has seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use dataperf::Benchmark as _;
use dataperf::challenge::check;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::progress::Silent;
use dataperf::{Digest, Direction, Ending, Receipt};
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::own_data::{Apart, split};
use dataperf_datasets::Import;
use serde_json::{Value, json};

use super::shared::{DemoArgs, compared, data, end_cloud, print_next_steps, start_cloud};
use crate::Done;
use crate::cloud::{Cloud, now};
use crate::commands::baseline::{MakeBaseline, make_into};
use crate::commands::dataset::{Switch, publish};
use crate::commands::leaderboard::{boards, csv, document, print};
use crate::commands::participant::score;
use crate::commands::participant::submit::{receipt, upload};
use crate::import::ImportSource;
use crate::on_disk::open;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json, table};
use crate::registry::{Action, with_benchmark};

const ROUND: &str = "closed";
/// The number of random artifacts to compare with the programs.
const N_CHANCE: u32 = 20;
/// Fuel of each run: some ten times what the good programs use, and so little that the endless one ends at once.
const MAX_FUEL: u64 = 200_000_000;
/// The usual interpreter for programs in Python, of which the examples need `numpy`.
const PYTHON: &str = "python3";

/// A contest in which programs compete.
struct Contest {
    benchmark: &'static str,
    leaderboard: &'static str,
    /// The baseline that goes by chance.
    chance: &'static str,
}

const CONTESTS: [Contest; 3] = [
    Contest {
        benchmark: Selection::ID,
        leaderboard: "digits-20",
        chance: "random",
    },
    Contest {
        benchmark: Debugging::ID,
        leaderboard: "tissue",
        chance: "random",
    },
    Contest {
        benchmark: Acquisition::ID,
        leaderboard: "clinics",
        chance: "random-seller",
    },
];

/// A program that never ends: `(loop (br 0))`.
const ENDLESS: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x04\x01\x60\0\0\
    \x03\x02\x01\0\
    \x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\0\
    \x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";

/// The two halves of a shipped contest, which have no row in common: the one that everybody has, and the one that nobody has seen.
struct Halves {
    public: PathBuf,
    hidden: PathBuf,
}

/// A file that is submitted.
struct File {
    contest: &'static Contest,
    submitter: &'static str,
    path: PathBuf,
    ends: Ending,
}

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = data(&args)?;
    let (local, cloud) = start_cloud(&args, scratch.path()).await?;
    let without_python = without_python();
    let mut all_halves = Vec::new();
    for contest in &CONTESTS {
        let halves = halves(contest, &data, scratch.path()).await?;
        publish(&cloud, &halves.public, &open(&halves.public)?, Switch::Replace).await?;
        publish(&cloud, &halves.hidden, &open(&halves.hidden)?, Switch::Stage).await?;
        announce(&cloud, contest, &halves, without_python.is_none()).await?;
        all_halves.push(halves);
    }

    let files = files(&data, scratch.path(), without_python.is_none())?;
    let receipts = submit_all(&cloud, &files).await?;
    compared(&cloud, &CONTESTS.map(|contest| contest.benchmark)).await?;
    let (mut shown, mut by_chance) = (Vec::new(), Vec::new());
    for (contest, halves) in CONTESTS.iter().zip(&all_halves) {
        let scores = with_benchmark(
            contest.benchmark,
            ByChance {
                contest,
                hidden: &halves.hidden,
                scratch: scratch.path(),
            },
        );
        by_chance.push((contest, scores.await?));
        let board = contest.leaderboard.to_owned();
        shown.extend(boards(&cloud, contest.benchmark, Some(board), 20).await?);
    }
    let (format, is_csv) = format.of_rows()?;
    if is_csv {
        print!("{}", csv(&shown)?);
    } else if format == Format::Json {
        let by_chance = by_chance
            .iter()
            .map(|(contest, scores)| (contest.benchmark.to_owned(), json!(scores)));
        print_json(&json!({
            "receipts": receipts, "boards": shown.iter().map(document).collect::<Vec<_>>(),
            "by_chance": by_chance.collect::<serde_json::Map<String, Value>>(), "without_python": without_python,
        }))?;
    } else {
        print_receipts(&receipts);
        shown.iter().for_each(print);
        for (contest, scores) in &by_chance {
            print_by_chance(contest, scores);
        }
        if let Some(why) = &without_python {
            println!("the programs in Python were left out: {why}");
        }
        println!("{:.1} s", began.elapsed().as_secs_f64());
        print_next_steps(&args, &local).await?;
        println!("  dataperf closed run --help                   try a program of your own on public data");
    }
    end_cloud(&args, &local).await?;
    as_planned(&files, &receipts, &by_chance)
}

/// Why programs in Python can't be run here, if they can't.
fn without_python() -> Option<String> {
    let runs = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !runs("bwrap", &["--unshare-all", "--ro-bind", "/", "/", "true"]) {
        return Some("bubblewrap is missing, or the kernel gives it no namespaces".to_owned());
    }
    let has_numpy = runs(PYTHON, &["-I", "-c", "import numpy"]);
    (!has_numpy).then(|| format!("`{PYTHON}` has no NumPy"))
}

async fn halves(contest: &Contest, data: &Path, scratch: &Path) -> Result<Halves> {
    let place = |name: &str| scratch.join(format!("{}-{name}", contest.benchmark));
    let whole = place("whole");
    let source = ImportSource {
        from: &data.join(contest.benchmark),
        out: &whole,
    };
    with_benchmark(contest.benchmark, source).await?;
    let halves = Halves {
        public: place("public"),
        hidden: place("hidden"),
    };
    let outs = [halves.public.as_path(), halves.hidden.as_path()];
    split(&whole, &open(&whole)?.manifest, outs, 0.5, Apart::AllRows)?;
    Ok(halves)
}

/// Opens a round that takes programs.
async fn announce(cloud: &Cloud, contest: &Contest, halves: &Halves, takes_python: bool) -> Result<()> {
    let digest = |directory: &Path| -> Result<Digest> { Ok(open(directory)?.digest) };
    let programs = json!({ "public": digest(&halves.public)?, "max_fuel": MAX_FUEL, "python": takes_python });
    let document = json!({ "schema": 1, "title": "Demo", "benchmarks": { contest.benchmark: { "rounds": [{
        "id": ROUND, "opens": "2020-01-01T00:00:00Z", "division": "closed", "leaderboards": [contest.leaderboard],
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

/// The submitters and their files. Each contest gets programs with the same method in each
/// language, one program that never ends, and one uploaded selection.
fn files(data: &Path, scratch: &Path, takes_python: bool) -> Result<Vec<File>> {
    let examples = data.join("../examples/closed");
    if !examples.is_dir() {
        bail!(
            "the example programs are not next to `{}`: run this in the project's directory",
            data.display()
        );
    }
    let endless = scratch.join("endless.wasm");
    fs::write(&endless, ENDLESS)?;
    let selection = scratch.join("selection.json");
    fs::write(&selection, "{\"ids\": []}")?;
    let mut files = Vec::new();
    for contest in &CONTESTS {
        let languages = [("ada", "-rust.wasm"), ("bo", "-c.wasm"), ("eve", ".py")];
        for (submitter, ending) in languages
            .into_iter()
            .filter(|(_, ending)| takes_python || *ending != ".py")
        {
            files.push(File {
                contest,
                submitter,
                path: examples.join(format!("{}{ending}", contest.benchmark)),
                ends: Ending::Scored,
            });
        }
    }
    for (submitter, path) in [("cleo", endless), ("dan", selection)] {
        files.push(File {
            contest: &CONTESTS[0],
            submitter,
            path,
            ends: Ending::Rejected,
        });
    }
    Ok(files)
}

async fn submit_all(cloud: &Cloud, files: &[File]) -> Result<Vec<Receipt>> {
    let mut submitted = Vec::new();
    for file in files {
        let Contest {
            benchmark,
            leaderboard,
            ..
        } = file.contest;
        submitted.push(
            upload(
                cloud,
                benchmark,
                leaderboard,
                &file.submitter.parse()?,
                &file.path,
            )
            .await?,
        );
    }
    let mut receipts = Vec::new();
    for one in &submitted {
        receipts.push(receipt(cloud, one).await?);
    }
    Ok(receipts)
}

/// The scores of random artifacts on the hidden data.
struct ByChance<'a> {
    contest: &'a Contest,
    hidden: &'a Path,
    scratch: &'a Path,
}

impl Action for ByChance<'_> {
    type Output = Vec<f64>;

    async fn run<B: Import>(self) -> Result<Vec<f64>> {
        let Contest {
            leaderboard, chance, ..
        } = self.contest;
        let dataset = score::open::<B>(self.hidden, leaderboard, Integrity::Sizes).await?;
        let mut scores = Vec::new();
        for seed in 1..=N_CHANCE {
            let task = MakeBaseline {
                dataset: self.hidden,
                leaderboard,
                method: chance,
                seed,
                jobs: 1,
                progress: &Silent,
            };
            let file = make_into(self.scratch, B::ID, task).await?;
            let verdict = evaluate(&dataset, leaderboard, &fs::read(file)?).await?;
            scores.push(verdict.score.context("an artifact by chance obeys the rules")?);
        }
        Ok(scores)
    }
}

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

fn is_less_better(benchmark: &str) -> bool {
    dataperf_hosted::hosted(benchmark).is_some_and(|hosted| hosted.direction == Direction::LowerIsBetter)
}

fn print_by_chance(contest: &Contest, scores: &[f64]) {
    let (mean, benchmark) = (mean(scores), contest.benchmark);
    let note = if is_less_better(benchmark) {
        ", where lower is better"
    } else {
        ""
    };
    println!(
        "{benchmark}: {N_CHANCE} artifacts made by chance (baseline `{}`) score {mean:.3} on average on the \
         same hidden data{note}",
        contest.chance
    );
}

fn print_receipts(receipts: &[Receipt]) {
    let mut shown = table(&["benchmark", "submitter", "file", "status", "score or reason"]);
    for receipt in receipts {
        let verdict = &receipt.verdict;
        let file = receipt.key.rsplit('/').next().unwrap_or_default();
        let text = match (verdict.score, verdict.reasons.first()) {
            (Some(score), _) => score.to_string(),
            (None, Some(reason)) => {
                let message = reason.message.split(": ").next().unwrap_or_default();
                format!("{}: {message}", reason.code)
            }
            (None, None) => String::new(),
        };
        shown.add_row([
            &verdict.benchmark,
            &receipt.submitter,
            file,
            verdict.status.as_str(),
            &text,
        ]);
    }
    println!("{shown}");
}

/// Good programs are scored, better than chance and alike in Rust and in C; the others are rejected.
fn as_planned(files: &[File], receipts: &[Receipt], by_chance: &[(&Contest, Vec<f64>)]) -> Result<Done> {
    let mut is_as_planned = files
        .iter()
        .zip(receipts)
        .all(|(file, receipt)| receipt.verdict.status == file.ends);
    for (contest, scores) in by_chance {
        let score_one = |submitter: &str| {
            let one = receipts
                .iter()
                .find(|one| one.submitter == *submitter && one.verdict.benchmark == contest.benchmark);
            one.and_then(|one| one.verdict.score)
        };
        let chance = mean(scores);
        let beats = |score: f64| {
            if is_less_better(contest.benchmark) {
                score < chance
            } else {
                score > chance
            }
        };
        is_as_planned &= score_one("ada") == score_one("bo")
            && score_one("ada").is_some_and(beats)
            && score_one("eve").is_none_or(beats);
    }
    if !is_as_planned {
        bail!("the demo did not go as planned: {receipts:?}");
    }
    Ok(Done::Fine)
}
