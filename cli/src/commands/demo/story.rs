//! `dataperf demo`: five boards that each show one thing, and what to type next.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use dataperf::progress::Silent;
use dataperf::{Benchmark as _, Direction, Ending, Receipt, Verdict};
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_local::LocalCloud;
use serde_json::{Value, json};

use super::shared::{
    DemoArgs, Outcome, Planned, as_planned, compared, data, drop_all, end_cloud, failed_for_good, failures,
    plan, plan_baselines, put_in_force, start_cloud,
};
use crate::Done;
use crate::commands::baseline::{MakeBaseline, make_into};
use crate::commands::leaderboard::{Shown, boards, csv, document, print};
use crate::commands::local::{organizer_token, with_token};
use crate::hosted::descriptor;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json, print_verdict, score};
use crate::print::folded;

/// A board of the story.
struct Scene {
    benchmark: &'static str,
    leaderboard: &'static str,
    /// The submitters, besides the baselines, whose shipped files are uploaded.
    submitters: &'static [&'static str],
    /// The lesson of the board.
    says: &'static str,
    /// The order that `says` claims: each submitter of a group has a better score than each of the next group.
    order: &'static [&'static [&'static str]],
    /// How many submissions may be the best as `says` claims, where scores can be compared.
    n_best: Option<usize>,
}

const TWENTY: &str = "digits-20";
const FIFTY: &str = "digits-50";

const SCENES: &[Scene] = &[
    Scene {
        benchmark: SpeechSelection::ID,
        leaderboard: "id-60",
        submitters: &[
            "plain-and-simple",
            "second-listen",
            "coin-flip",
            "mostly-no",
            "harbour-speech",
        ],
        says: "Selection: choose 60 of 175 clips to train a keyword spotter; a third of the clips are faulty. Typical clips beat \
               the paper's two methods, random clips come below them, and the most unusual clips come last.",
        order: &[
            &["plain-and-simple"],
            &["baseline-cleanlab", "baseline-nested-cross-fold"],
            &["coin-flip"],
            &["harbour-speech"],
        ],
        n_best: None,
    },
    Scene {
        benchmark: VisionDebugging::ID,
        leaderboard: "open",
        submitters: &["ask-around", "coin-flip", "first-come"],
        says: "Debugging: choose which labels to inspect first; fewer inspections are better. Two of the paper's methods lead, a \
               nearest-neighbour method comes next, and a random order needs far more inspections.",
        order: &[
            &["baseline-influence", "baseline-datascope"],
            &["ask-around"],
            &["coin-flip"],
            &["first-come"],
        ],
        n_best: None,
    },
    Scene {
        benchmark: Selection::ID,
        leaderboard: TWENTY,
        submitters: &["ada", "bo"],
        says: "An organizer's own data, described by one document (selection/task.yaml): choose 20 of 700 digits. One submission is \
               clearly the best; random digits come last. The first file of `hasty` was rejected; the corrected one is on the board.",
        order: &[
            &["ada"],
            &["baseline-cleanlab"],
            &[HASTY],
            &["baseline-balanced"],
            &[CHANCE, "baseline-random"],
        ],
        n_best: Some(1),
    },
    Scene {
        benchmark: Selection::ID,
        leaderboard: FIFTY,
        submitters: &["ada", "bo"],
        says: "A tie: with fifty digits, this test set can't separate the scores of ada and cleo. Both are tied for first; bo is \
               clearly behind.",
        order: &[&["ada", CLEO], &["bo"]],
        n_best: Some(2),
    },
    Scene {
        benchmark: Curation::ID,
        leaderboard: "digits-set",
        submitters: &["ada", "bo"],
        says: "Curation: the submission is the whole training set. Removing labels that their neighbours contradict improves the \
               score of the same model.",
        order: &[&["ada"], &["bo", "baseline-as-it-is"]],
        n_best: Some(1),
    },
];

/// The submitters who draw by chance, who is as good as the first, and who uploads a broken file.
pub(crate) const CHANCE: &str = "coin-flip";
const CLEO: &str = "cleo";
const HASTY: &str = "hasty";
/// The seed with which their files are made.
const SEED: u32 = 1;
/// The most reasons of a rejection that are printed.
const MAX_REASONS: usize = 3;

pub(crate) async fn run(args: DemoArgs, format: RowFormat) -> Result<Done> {
    let began = Instant::now();
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = data(&args)?;
    for scene in SCENES {
        if !data.join(scene.benchmark).is_dir() {
            bail!(
                "`{}` has no directory `{}`: name one with `demo`'s layout",
                data.display(),
                scene.benchmark
            );
        }
    }
    let (local, cloud) = start_cloud(&args, scratch.path()).await?;

    let mut frozen: BTreeMap<&str, PathBuf> = BTreeMap::new();
    let mut planned = Vec::new();
    for scene in SCENES {
        let shipped = data.join(scene.benchmark);
        if !frozen.contains_key(scene.benchmark) {
            let dataset = put_in_force(&cloud, scene.benchmark, &shipped, scratch.path()).await?;
            frozen.insert(scene.benchmark, dataset);
        }
        let all = plan(scene.benchmark, &shipped.join("submissions"))?;
        planned.extend(all.into_iter().filter(|one| {
            one.leaderboard == scene.leaderboard
                && !one.is_bad()
                && scene.submitters.contains(&one.submitter.as_str())
        }));
        let dataset = &frozen[scene.benchmark];
        let is_wanted = |board: &str| board == scene.leaderboard;
        planned.extend(plan_baselines(scene.benchmark, dataset, scratch.path(), is_wanted).await?);
    }
    let digits = &frozen[Selection::ID];
    planned.push(made(digits, TWENTY, "random", CHANCE, scratch.path()).await?);
    planned.push(made(digits, FIFTY, "cleanlab", CLEO, scratch.path()).await?);
    let fixed = made(digits, TWENTY, "balanced", HASTY, scratch.path()).await?;
    planned.push(broken(&fixed, scratch.path())?);
    let n_before = planned.len();

    let all = async {
        let mut outcomes = drop_all(&cloud, planned).await?;
        outcomes.extend(drop_all(&cloud, vec![fixed]).await?);
        anyhow::Ok(outcomes)
    };
    let ended = tokio::select! {
        ended = all => ended,
        fault = failed_for_good(&local) => Err(fault),
    };
    let outcomes = match ended {
        Ok(outcomes) => outcomes,
        Err(error) => bail!("{error:#}{}", failures(&local).await?),
    };
    let benchmarks: Vec<&str> = frozen.keys().copied().collect();
    compared(&cloud, &benchmarks).await?;
    let mut shown = Vec::new();
    for scene in SCENES {
        shown.extend(boards(&cloud, scene.benchmark, Some(scene.leaderboard.to_owned()), 20).await?);
    }

    let (rejected, accepted) = (&outcomes[n_before - 1], &outcomes[n_before]);
    let surprises = surprises(&outcomes, rejected, &shown)?;
    let commands = commands(&args, &data, &local);
    match format.of_rows()? {
        (_, true) => print!("{}", csv(&shown)?),
        (Format::Json, _) => print_story_json(&shown, &outcomes, &commands)?,
        (Format::Text, _) => {
            for (scene, shown) in SCENES.iter().zip(&shown) {
                println!("\n{}", scene.says);
                if scene.leaderboard == TWENTY {
                    print_correction(rejected, accepted);
                }
                print(shown);
            }
            println!(
                "\nThe functions processed {} submissions in {:.1} s. `dataperf demo all` shows all boards.",
                outcomes.len(),
                began.elapsed().as_secs_f64()
            );
            print_commands(&commands, args.keep_running, &local).await?;
        }
    }
    end_cloud(&args, &local).await?;
    as_planned(&surprises)
}

/// A submission by one of the methods that make baselines, of a seed that the baselines don't have.
async fn made(
    dataset: &Path,
    leaderboard: &str,
    method: &str,
    submitter: &str,
    scratch: &Path,
) -> Result<Planned> {
    let task = MakeBaseline {
        dataset,
        leaderboard,
        method,
        seed: SEED,
        jobs: 0,
        progress: &Silent,
    };
    Ok(Planned {
        benchmark: Selection::ID,
        leaderboard: leaderboard.to_owned(),
        submitter: submitter.parse()?,
        file: make_into(scratch, Selection::ID, task).await?,
    })
}

/// A selection with its ids in capitals and two of them twice, which is more than the board allows.
fn broken(planned: &Planned, scratch: &Path) -> Result<Planned> {
    let selection: Value = serde_json::from_slice(&fs::read(&planned.file)?)?;
    let ids = selection["ids"].as_array().context("a selection has ids")?;
    let ids: Vec<String> = ids
        .iter()
        .chain(ids.iter().take(2))
        .filter_map(|id| Some(id.as_str()?.to_uppercase()))
        .collect();
    let file = scratch.join("broken.json");
    fs::write(&file, json!({ "ids": ids }).to_string())?;
    Ok(Planned {
        benchmark: planned.benchmark,
        leaderboard: planned.leaderboard.clone(),
        submitter: planned.submitter.clone(),
        file,
    })
}

/// The parts of the story that are false.
fn surprises(outcomes: &[Outcome], rejected: &Outcome, shown: &[Shown]) -> Result<Vec<String>> {
    let mut surprises = Vec::new();
    for outcome in outcomes {
        let planned = if std::ptr::eq(outcome, rejected) {
            Ending::Rejected
        } else {
            Ending::Scored
        };
        let Receipt { key, verdict, .. } = &outcome.receipt;
        if verdict.status != planned {
            surprises.push(format!(
                "`{key}` was {} instead of {}",
                verdict.status.as_str(),
                planned.as_str()
            ));
        }
    }
    for (scene, shown) in SCENES.iter().zip(shown) {
        let is_less_better = descriptor(scene.benchmark)?.direction == Direction::LowerIsBetter;
        let scores: BTreeMap<&str, f64> = shown
            .top
            .iter()
            .filter_map(|row| Some((row.entry.submitter.as_str(), row.entry.score?)))
            .collect();
        for groups in scene.order.windows(2) {
            for (better, worse) in groups[0]
                .iter()
                .flat_map(|better| groups[1].iter().map(move |worse| (better, worse)))
            {
                let score = |name: &str| scores.get(name).copied().unwrap_or(f64::NAN);
                let (high, low) = if is_less_better {
                    (score(worse), score(better))
                } else {
                    (score(better), score(worse))
                };
                if high.partial_cmp(&low) != Some(Ordering::Greater) {
                    surprises.push(format!(
                        "{} {}: `{better}` is not above `{worse}`",
                        scene.benchmark, scene.leaderboard
                    ));
                }
            }
        }
        let n_best = shown.comparison.as_ref().map(|comparison| comparison.n_best);
        if scene.n_best.is_some() && n_best != scene.n_best {
            surprises.push(format!(
                "{} {}: {n_best:?} submissions may be the best",
                scene.benchmark, scene.leaderboard
            ));
        }
    }
    Ok(surprises)
}

fn print_correction(rejected: &Outcome, accepted: &Outcome) {
    println!("\nhasty's first file has its ids in capitals, and two too many:");
    let mut verdict: Verdict = rejected.receipt.verdict.clone();
    verdict.n_reasons = Some(verdict.n_reasons.unwrap_or(verdict.reasons.len()));
    verdict.reasons.truncate(MAX_REASONS);
    print_verdict(&verdict, None);
    let corrected = accepted.receipt.verdict.score.map(score).unwrap_or_default();
    println!("hasty's second file has the same ids in lower case, each once: scored {corrected}");
}

fn print_story_json(shown: &[Shown], outcomes: &[Outcome], commands: &[Command]) -> Result<()> {
    let documents = SCENES.iter().zip(shown).map(|(scene, shown)| {
        let mut document = document(shown);
        document["shows"] = json!(scene.says);
        document
    });
    let receipts: Vec<&Receipt> = outcomes.iter().map(|outcome| &outcome.receipt).collect();
    let commands: Vec<&str> = commands.iter().map(|command| command.typed.as_str()).collect();
    print_json(
        &json!({ "leaderboards": documents.collect::<Vec<_>>(), "receipts": receipts, "commands": commands }),
    )
}

/// Something to type next.
struct Command {
    does: &'static str,
    typed: String,
}

/// Three commands that work without changes in the folder in which this one started.
fn commands(args: &DemoArgs, data: &Path, local: &LocalCloud) -> [Command; 3] {
    let program = std::env::args_os().next().map(PathBuf::from);
    let program = in_shell(&program.unwrap_or_else(|| "dataperf".into()));
    let contest = data.join(Selection::ID);
    let file = contest
        .join("submissions")
        .join(TWENTY)
        .join("ada")
        .join("central.json");
    let (contest, file) = (in_shell(&contest), in_shell(&file));
    let command = |does, arguments: String| Command {
        does,
        typed: format!("{program} {arguments}"),
    };
    if args.keep_running {
        let page = local.http_endpoint().unwrap_or_default();
        return [
            command(
                "upload ada's file under your own name, and wait for its score",
                format!("submit selection --leaderboard {TWENTY} --submitter you {file} --cloud {page}"),
            ),
            command(
                "see the board",
                format!("leaderboard selection {TWENTY} --cloud {page}"),
            ),
            command(
                "see everything that you have uploaded",
                format!("status selection --submitter you --cloud {page}"),
            ),
        ];
    }
    let mut names = std::iter::once("digits".to_owned()).chain((2..).map(|n| format!("digits-{n}")));
    let free = names.find(|name| !Path::new(name).exists()).unwrap_or_default();
    [
        command(
            "make a data set of the organizer's folder",
            format!("dataset import selection --from {contest} --out {free}"),
        ),
        command(
            "score ada's file offline: the same score as on the board",
            format!("score selection --leaderboard {TWENTY} --dataset {free} {file}"),
        ),
        if let Some(kept) = &args.data_dir {
            command(
                "run this demo's cloud and page again, until Ctrl-C",
                format!("local --data-dir {}", in_shell(kept)),
            )
        } else {
            let data = args
                .data
                .as_deref()
                .map(|data| format!(" --data {}", in_shell(data)));
            command(
                "run the demo again; its cloud and page stay up until Ctrl-C",
                format!("demo --keep-running{}", data.unwrap_or_default()),
            )
        },
    ]
}

/// A path as a shell reads it.
fn in_shell(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if path.bytes().all(is_plain) {
        return path;
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

async fn print_commands(commands: &[Command], runs_on: bool, local: &LocalCloud) -> Result<()> {
    if runs_on {
        let token = organizer_token(local).await?;
        println!(
            "\nThe page, for the organizer:\n\n  {}",
            with_token(local, &token)
        );
    }
    println!(
        "\nThree commands to copy{}, in this order:\n",
        if runs_on {
            " into another terminal, in the same folder"
        } else {
            ""
        }
    );
    for Command { does, typed } in commands {
        println!("  # {does}");
        print!("  {}\n", folded(typed));
    }
    if runs_on {
        println!("\nStop with Ctrl-C.");
    }
    Ok(())
}
