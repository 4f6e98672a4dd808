//! Whether a contest means anything: what its tables and the scores of plausible submissions say, before anybody takes part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use dataperf::comparison::pair::Paired;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::admission::Admission;
use dataperf::evaluation::evaluate::evaluate_to_compare;
use dataperf::list_names;
use dataperf::progress::Silent;
use dataperf::replicates::Replicates;
use dataperf::{Benchmark, Direction};
use dataperf_baselines::Baselines;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::{Finding, TASKS, Tables, look};
use dataperf_datasets::Import;
use dataperf_numerics::ranks::score_interval;
use serde::Serialize;
use serde_json::{Value, json};

use super::trial::Trial;
use crate::commands::baseline::MakeBaseline;
use crate::commands::participant::score::open;
use crate::hosted::leaderboards;
use crate::output::progress::waiting;
use crate::output::{score, table};
use crate::registry::{Action, with_benchmark};

/// Methods that take long, or show a participant at work rather than a first try.
const NOT_TRIED: [&str; 5] = [
    "influence",
    "datascope",
    "farthest-point",
    "augmented",
    "relabelled",
];
/// The most numbers of a training set for which models are cross-validated.
const MAX_DOUBTED: usize = 2_000_000;
/// The fewest and the most submissions that are tried.
const MIN_TRIED: usize = 2;
const MAX_TRIED: usize = 8;
/// About how many seconds all plausible submissions may take.
const SECONDS: f64 = 60.0;
/// The seeds of a method that draws at random.
const SEEDS: [u32; 3] = [0, 1, 2];
/// Fewer items of a test set tell no plausible submissions apart.
const MIN_ITEMS: usize = 20;
/// Differences from this one on are more than what plausible submissions differ by.
const LARGE_DIFFERENCE: f64 = 0.3;
/// From this many items on, a baseline that is right on all of them leaves nothing to compete for.
const MANY_ITEMS: usize = 60;

/// The names of the summary's lines on rows.
const TRAINING_SET: &str = "training set";
const TEST_SET: &str = "test set";

/// The task whose training labels are partly hidden.
const DEBUGGING: &str = <Debugging as Benchmark>::ID;

/// So many submissions don't get the same score by chance, even if their answers differ.
const MANY_OTHERS: usize = 4;

/// The codes of warnings, which `--allow` takes.
pub(crate) const WARNINGS: [&str; 6] = [
    "row_number",
    "telling_column",
    "shared_rows",
    "chance",
    "small_test_set",
    "perfect_baseline",
];

/// A plausible submission and its score.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Plausible {
    method: String,
    seed: u32,
    score: f64,
    /// With 95 % confidence.
    interval: Option<(f64, f64)>,
    #[serde(skip)]
    replicates: Option<Arc<Replicates>>,
}

/// Facts about a contest that are known before anybody takes part.
pub(super) struct Meaning {
    pub(super) findings: Vec<Finding>,
    pub(super) baselines: Vec<Plausible>,
    /// The summary as lines: a label and its text.
    pub(super) summary: Vec<(&'static str, String)>,
    /// The smallest difference between two scores that the test set tells apart.
    smallest_difference: Option<f64>,
    tables: Tables,
    is_debugging: bool,
}

impl Meaning {
    /// Looks at a contest on own data; `None` for other benchmarks, whose data are known.
    ///
    /// # Errors
    /// When the data set can't be read.
    pub(super) async fn read(
        directory: &Path,
        manifest: &Manifest,
        trials: &[Trial],
    ) -> Result<Option<Self>> {
        let Some(trial) = trials
            .first()
            .filter(|_| TASKS.contains(&manifest.benchmark.as_str()))
        else {
            return Ok(None);
        };
        let tables = look(directory, manifest)?;
        let spinner = waiting("scoring plausible submissions");
        let task = TryPlausible {
            directory,
            manifest,
            leaderboard: &trial.leaderboard,
            n_most: (MIN_TRIED..=MAX_TRIED)
                .rev()
                .find(|&n| n as f64 * trial.seconds <= SECONDS)
                .unwrap_or(MIN_TRIED),
            with_doubts: !tables.is_images && tables.n_training * tables.n_features <= MAX_DOUBTED,
        };
        let tried = with_benchmark(&manifest.benchmark, task).await;
        spinner.finish_and_clear();
        let Tried {
            plausible,
            direction,
            ideal,
        } = tried?;
        let smallest_difference = smallest_difference(&plausible, direction);
        let mut findings = tables.findings.clone();
        findings.extend(of_scores(
            manifest,
            &tables,
            &plausible,
            smallest_difference,
            ideal,
        ));
        let mut meaning = Self {
            findings,
            baselines: plausible,
            summary: Vec::new(),
            smallest_difference,
            tables,
            is_debugging: manifest.benchmark == DEBUGGING,
        };
        meaning.summary = meaning.summarized(manifest, trials)?;
        Ok(Some(meaning))
    }

    /// Refuses a contest in which nothing can be ranked, and one whose warnings are not allowed.
    ///
    /// # Errors
    /// With everything that was found, and how to go on.
    pub(super) fn admit(&self, allowed: &[String]) -> Result<()> {
        let is_stopping =
            |finding: &&Finding| finding.refuses || !allowed.iter().any(|code| code == finding.code);
        let stopping: Vec<&Finding> = self.findings.iter().filter(is_stopping).collect();
        if stopping.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = stopping
            .iter()
            .map(|finding| format!("{}: {}", finding.code, finding.message))
            .collect();
        let remedy = if stopping.iter().any(|finding| finding.refuses) {
            "correct the contest, import it and publish it again".to_owned()
        } else {
            let flags: Vec<String> = stopping
                .iter()
                .map(|finding| format!("--allow {}", finding.code))
                .collect();
            format!(
                "fix the contest, or publish it as it is with `{}`",
                flags.join(" ")
            )
        };
        bail!(
            "the contest can't rank submissions fairly: {remedy}\n  - {}",
            lines.join("\n  - ")
        )
    }

    /// The summary as JSON.
    pub(super) fn document(&self) -> Value {
        let lines: BTreeMap<&str, &str> = self
            .summary
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        json!({
            "lines": lines, "features": self.tables.names, "n_features": self.tables.n_features,
            "n_training": self.tables.n_training, "n_of_training": self.tables.n_of_training, "n_of_test": self.tables.n_of_test,
            "constant_score": self.tables.constant_score, "smallest_difference": self.smallest_difference,
        })
    }

    /// Prints the summary and what was found.
    pub(super) fn print(&self) {
        let mut shown = table(&["the contest", ""]);
        for (name, text) in &self.summary {
            shown.add_row([*name, text]);
        }
        println!("{shown}");
        for finding in &self.findings {
            let severity = if finding.refuses { "refused" } else { "warning" };
            println!("{severity}, {}: {}", finding.code, finding.message);
        }
    }

    fn summarized(&self, manifest: &Manifest, trials: &[Trial]) -> Result<Vec<(&'static str, String)>> {
        let tables = &self.tables;
        let parameters = &manifest.parameters;
        let boards: Vec<String> = leaderboards(manifest)?
            .into_iter()
            .map(|board| board.name)
            .collect();
        let features = match tables.names.as_slice() {
            [] if tables.is_images => format!("{} pixels", tables.n_features),
            [] => format!("{}, without names and matched by position", tables.n_features),
            names => format!("{}, matched by name: {}", names.len(), list_names(names)),
        };
        let of_classes = |counts: &BTreeMap<String, usize>| -> String {
            let counts: Vec<String> = counts.iter().map(|(class, n)| format!("{class} {n}")).collect();
            counts.join(", ")
        };
        let name = |value: &Value| {
            let name = value["kind"].as_str().or(value.as_str());
            name.unwrap_or_default().to_owned()
        };
        let mut best: BTreeMap<&str, &Plausible> = BTreeMap::new();
        for baseline in &self.baselines {
            best.entry(&baseline.method).or_insert(baseline);
        }
        let baselines = best.values().map(|baseline| {
            let interval = baseline
                .interval
                .map(|(low, high)| format!(" ({} to {})", score(low), score(high)));
            format!(
                "{} {}{}",
                baseline.method,
                score(baseline.score),
                interval.unwrap_or_default()
            )
        });
        let baselines: Vec<String> = baselines.collect();
        let seconds = trials.iter().map(|trial| trial.seconds).fold(0.0, f64::max);
        Ok(vec![
            (
                "title",
                parameters["about"]["title"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            ("task", manifest.benchmark.clone()),
            ("leaderboards", boards.join(", ")),
            ("features", features),
            (
                TRAINING_SET,
                format!(
                    "{} rows: {}",
                    tables.n_training,
                    of_classes(&tables.n_of_training)
                ),
            ),
            (
                TEST_SET,
                format!(
                    "{} rows: {}",
                    tables.n_of_test.values().sum::<usize>(),
                    of_classes(&tables.n_of_test)
                ),
            ),
            (
                "model and metric",
                format!(
                    "{}, {}",
                    name(&parameters["scoring"]["model"]),
                    name(&parameters["scoring"]["metric"])
                ),
            ),
            (
                "baselines",
                if baselines.is_empty() {
                    "none".to_owned()
                } else {
                    baselines.join("; ")
                },
            ),
            (
                "smallest difference",
                self.smallest_difference.map_or("not known".to_owned(), score),
            ),
            ("seconds a submission", format!("{seconds:.2} at most, here")),
        ])
    }
}

/// Warns from the scores of plausible submissions.
fn of_scores(
    manifest: &Manifest,
    tables: &Tables,
    plausible: &[Plausible],
    smallest_difference: Option<f64>,
    ideal: f64,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_debugging = manifest.benchmark == DEBUGGING;
    let is = |one: f64, other: f64| one.total_cmp(&other).is_eq();
    let n_test: usize = tables.n_of_test.values().sum();
    if is_debugging && !plausible.is_empty() && plausible.iter().all(|item| is(item.score, 0.0)) {
        let message = "every order reaches the target before the first fix and gets the score 0. Raise `target_share`, \
            or use a training set whose wrong labels harm the model";
        findings.push(Finding::refusal("already_solved", message.to_owned()));
    } else if let [first, others @ ..] = plausible
        && others.len() >= 2
        && others.iter().all(|other| is(first.score, other.score))
        && (others.len() >= MANY_OTHERS || others.iter().all(|other| are_alike(first, other)))
    {
        let message = format!(
            "all {} plausible submissions get the same score, {}. Check the features, or allow fewer examples",
            plausible.len(),
            score(first.score)
        );
        findings.push(Finding::refusal("equal_scores", message));
    } else if n_test >= MANY_ITEMS
        && let Some(method) = plausible
            .iter()
            .find(|item| is(item.score, ideal) && !item.method.contains("part"))
        && plausible
            .iter()
            .filter(|item| item.method == method.method)
            .all(|item| is(item.score, ideal))
    {
        let message = format!(
            "the baseline `{}` already gets the best possible score. Allow fewer examples, or use a harder test set",
            method.method
        );
        findings.push(Finding::warning("perfect_baseline", message));
    }
    let best = plausible
        .iter()
        .max_by(|one, other| one.score.total_cmp(&other.score));
    if let Some(best) = best.filter(|_| !is_debugging && tables.constant_score > 0.0)
        && best.interval.map_or(best.score, |(low, _)| low) <= tables.constant_score
        && best.score - tables.constant_score < 0.1
    {
        let message = format!(
            "the best baseline gets {}, and always answering with one class gets {}: these features don't \
                separate the classes. Check that rows and labels match",
            score(best.score),
            score(tables.constant_score)
        );
        findings.push(Finding::warning("chance", message));
    }
    let difference = smallest_difference.filter(|difference| *difference > LARGE_DIFFERENCE);
    if n_test > 0 && (n_test < MIN_ITEMS || difference.is_some()) {
        let tells = difference.map_or(String::new(), |difference| {
            format!(
                ", which separate only differences of {} or more",
                score(difference)
            )
        });
        let message = format!(
            "the test set has {n_test} rows{tells}: it is too small to separate plausible submissions. Add rows"
        );
        findings.push(Finding::warning("small_test_set", message));
    }
    findings
}

/// Whether two submissions give the same answers, as far as that is known.
fn are_alike(one: &Plausible, other: &Plausible) -> bool {
    match (&one.replicates, &other.replicates) {
        (Some(one), Some(other)) => one.n_different(other) == 0,
        _ => true,
    }
}

/// Half the width of the interval of a difference, the median over all pairs of plausible submissions.
fn smallest_difference(plausible: &[Plausible], direction: Direction) -> Option<f64> {
    let mut halves = Vec::new();
    for (place, one) in plausible.iter().enumerate() {
        for other in &plausible[place + 1..] {
            let pair = one.replicates.clone().zip(other.replicates.clone());
            let paired = pair.and_then(|(one, other)| Paired::compare(one, other, direction).ok());
            let interval = paired.and_then(|paired| paired.interval);
            halves.extend(interval.map(|(low, high)| (high - low) / 2.0));
        }
    }
    if halves.is_empty() {
        // of submissions that give nearly the same answers the scores' own intervals say how far apart two have to be
        let intervals = plausible.iter().filter_map(|one| one.interval);
        halves.extend(intervals.map(|(low, high)| (high - low) / 2.0));
    }
    halves.sort_by(f64::total_cmp);
    halves.get(halves.len() / 2).copied()
}

struct TryPlausible<'a> {
    directory: &'a Path,
    manifest: &'a Manifest,
    leaderboard: &'a str,
    n_most: usize,
    with_doubts: bool,
}

struct Tried {
    plausible: Vec<Plausible>,
    direction: Direction,
    /// The best score there can be.
    ideal: f64,
}

impl Action for TryPlausible<'_> {
    type Output = Tried;

    async fn run<B: Import + Baselines>(self) -> Result<Tried> {
        let mut artifacts: Vec<(String, u32, Vec<u8>)> = Vec::new();
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let methods = B::methods(self.manifest)?.into_iter().map(|method| method.name);
        let methods: Vec<&str> = methods
            .filter(|name| !NOT_TRIED.contains(name) && (self.with_doubts || *name != "cleanlab"))
            .collect();
        for method in methods {
            let seeds: &[u32] = if method == "random" { &SEEDS } else { &SEEDS[..1] };
            for &seed in seeds.iter().take(self.n_most.saturating_sub(artifacts.len())) {
                let making = MakeBaseline {
                    dataset: self.directory,
                    leaderboard: self.leaderboard,
                    method,
                    seed,
                    jobs: 0,
                    progress: &Silent,
                };
                // a data set that is too small for a method is tried with the others
                let Ok(made) = making.run::<B>().await else {
                    continue;
                };
                let part = part_of(&made.artifact);
                if !seen.contains(&made.artifact) {
                    seen.push(made.artifact.clone());
                    artifacts.push((method.to_owned(), seed, made.artifact));
                }
                if let Some(part) = part.filter(|part| seed == 0 && !seen.contains(part)) {
                    seen.push(part.clone());
                    artifacts.push((format!("part of {method}"), seed, part));
                }
            }
        }
        let mut plausible = Vec::new();
        for (method, seed, artifact) in artifacts {
            let dataset = open::<B>(self.directory, self.leaderboard, Integrity::Sizes).await?;
            let (verdict, kept) =
                evaluate_to_compare(&dataset, self.leaderboard, &artifact, &Admission::free(), false).await?;
            let Some(score) = verdict.score else { continue };
            let replicates = kept.and_then(|kept| Replicates::from_bytes(&method, &kept).ok());
            let interval = replicates
                .as_ref()
                .and_then(|item| interval(score, item, B::DIRECTION));
            plausible.push(Plausible {
                method,
                seed,
                score,
                interval,
                replicates: replicates.map(Arc::new),
            });
        }
        let range = B::SCORE_RANGE;
        let ideal = match B::DIRECTION {
            Direction::HigherIsBetter => *range.end(),
            Direction::LowerIsBetter => *range.start(),
        };
        Ok(Tried {
            plausible,
            direction: B::DIRECTION,
            ideal,
        })
    }
}

/// The interval of a score with 95 % confidence.
fn interval(score: f64, replicates: &Replicates, direction: Direction) -> Option<(f64, f64)> {
    let header = &replicates.header;
    if header.missing.is_some() || header.without_score_interval.is_some() {
        return None;
    }
    match direction {
        Direction::HigherIsBetter => score_interval(score, &replicates.deviations, header.smallest),
        Direction::LowerIsBetter => {
            let (low, high) = score_interval(-score, &replicates.deviations, header.smallest)?;
            Some((-high, -low))
        }
    }
}

/// A submission with a part of the examples: of a list of ids the first third, and of the lines of a table two of three. `None` for other forms.
fn part_of(artifact: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(artifact).ok()?;
    if let Ok(mut json) = serde_json::from_str::<Value>(text) {
        let ids = json.get_mut("ids")?.as_array_mut()?;
        ids.truncate(ids.len().div_ceil(3));
        return Some(json.to_string().into_bytes());
    }
    let mut lines = text.split_inclusive('\n').enumerate();
    let kept = lines.by_ref().filter(|(line, _)| line % 3 != 2 || *line == 0);
    Some(kept.map(|(_, line)| line).collect::<String>().into_bytes())
}

impl Meaning {
    /// The summary for the page, without the lines about hidden parts of the test set.
    ///
    /// # Errors
    /// When it can't be JSON.
    pub(super) fn stored(&self) -> Result<Vec<u8>> {
        let n_test: usize = self.tables.n_of_test.values().sum();
        let lines = self.summary.iter().map(|(name, text)| {
            let text = match *name {
                TEST_SET => format!("{n_test} rows"),
                // how many of the given labels are wrong is for participants to find
                TRAINING_SET if self.is_debugging => format!("{} rows", self.tables.n_training),
                _ => text.clone(),
            };
            json!({ "name": name, "text": text })
        });
        serde_json::to_vec(&lines.collect::<Vec<Value>>()).context("can't write the summary")
    }
}
