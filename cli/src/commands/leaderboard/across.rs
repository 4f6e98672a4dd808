//! `dataperf leaderboard across`: how far several boards agree, and what one ranking of all of them is worth.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::Args;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::comparison::{CONFIDENCE, MAX_ROWS, joint_orders};
use dataperf::evidence::MAX_EVIDENCE_BYTES;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::replicates::{HEAD_BYTES, Replicates};
use dataperf::submission::Entry;
use dataperf::{Direction, NoIntervals, quote};
use dataperf_datasets::tables::lines::{csv_reader, dialect};
use dataperf_numerics::agreement::{
    Combined, Method, Orders, Sensitivity, combine, kendalls_w, left_out, standings, tau_b, tau_interval,
    w_interval, weak_entry,
};

use crate::Done;
use crate::cloud::known::Known;
use crate::cloud::{Cloud, CloudArgs};
use crate::hosted::descriptor;
use crate::output::rows::RowFormat;
use crate::output::{check_new_files, write_new};

#[derive(Debug, Args)]
pub(crate) struct AcrossArgs {
    /// The boards
    #[arg(
        value_name = "BENCHMARK/BOARD[/ROUND]",
        required_unless_present = "scores",
        conflicts_with = "scores"
    )]
    boards: Vec<String>,
    /// Read scores from a CSV of `leaderboard --format csv` instead
    #[arg(long, value_name = "FILE.csv")]
    scores: Option<PathBuf>,
    /// Write the report into this Markdown file
    #[arg(long, value_name = "FILE.md")]
    report: Option<PathBuf>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// A board's scores, more is better, by submitter.
pub(super) struct Scores {
    pub(super) name: String,
    by_submitter: BTreeMap<String, f64>,
    /// The submissions with these scores, where a cloud has them.
    submissions: BTreeMap<String, Entry>,
    /// Pairs of submitters of which the first is clearly better, with [`CONFIDENCE`] for all pairs
    /// of all boards together; or why there are none.
    clear: Result<BTreeSet<(String, String)>, String>,
}

impl Scores {
    fn new(name: String) -> Self {
        Self {
            name,
            by_submitter: BTreeMap::new(),
            submissions: BTreeMap::new(),
            clear: Err("scores of a file have no draws of the test set: name boards of a cloud".to_owned()),
        }
    }

    /// The clear part of the order of these submitters.
    fn orders(&self, values: &[&String]) -> Option<Orders> {
        let clear = self.clear.as_ref().ok()?;
        let places = clear.iter().filter_map(|(better, worse)| {
            let place = |name: &String| values.iter().position(|other| *other == name);
            place(better).zip(place(worse))
        });
        Some(Orders::new(values.len(), places))
    }
}

/// The most submitters of a board whose orders are compared pair by pair.
const MAX_COMPARED: usize = 300;

/// How far two boards agree.
pub(super) struct Agreement {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) n_common: usize,
    pub(super) tau_b: Option<f64>,
    /// The values that tau-b can have, given which orders are clear.
    pub(super) interval: Option<(f64, f64)>,
}

/// A combined ranking with what it depends on.
pub(super) struct Ranking {
    pub(super) method: Method,
    pub(super) combined: Combined,
    /// The effect of leaving out each board in turn.
    pub(super) left_out: Vec<Sensitivity>,
    /// For each board, the possible values of tau-b between the orders with and without it. `None`
    /// if there are no draws, and for standardized scores, whose scale adds noise.
    pub(super) left_out_intervals: Vec<Option<(f64, f64)>>,
    /// The effect of adding a weak entry like each submitter of the lower half, with the submitter's place among the common ones.
    pub(super) weak: Vec<(usize, Sensitivity)>,
}

impl Ranking {
    /// The weak entry that changes most, if one changes anything.
    pub(super) fn worst_weak(&self) -> Option<&(usize, Sensitivity)> {
        let changing = self.weak.iter().filter(|(_, weak)| weak.largest_change > 0);
        changing.max_by(|(_, a), (_, b)| {
            a.largest_change
                .cmp(&b.largest_change)
                .then(a.mean_change.total_cmp(&b.mean_change))
        })
    }

    /// How many of the weak entries change something.
    pub(super) fn n_changing(&self) -> usize {
        self.weak
            .iter()
            .filter(|(_, weak)| weak.largest_change > 0)
            .count()
    }
}

/// The contents of the report.
pub(super) struct Across {
    pub(super) boards: Vec<Scores>,
    pub(super) agreements: Vec<Agreement>,
    /// Submitters that are on all boards.
    pub(super) common: Vec<String>,
    /// `(n_boards, n_common)`: ranks among the common submitters.
    pub(super) ranks: Vec<Vec<usize>>,
    pub(super) w: Option<f64>,
    /// The values that Kendall's W can have, given which orders are clear.
    pub(super) w_interval: Option<(f64, f64)>,
    /// By the mean of ranks, and by standardized scores.
    pub(super) rankings: [Ranking; 2],
}

impl Across {
    /// Why there are no intervals: the first board's reason; `None` if there are intervals.
    pub(super) fn why_none(&self) -> Option<String> {
        let reason = |board: &Scores| Some(format!("{}: {}", board.name, board.clear.as_ref().err()?));
        self.boards.iter().find_map(reason)
    }

    /// Whether the two combined rankings differ.
    pub(super) fn is_differing(&self) -> bool {
        self.rankings[0].combined.ranks != self.rankings[1].combined.ranks
    }
}

pub(super) async fn run(args: AcrossArgs, format: RowFormat) -> Result<Done> {
    check_new_files(&[args.report.as_deref()])?;
    let boards = match &args.scores {
        Some(path) => of_csv(path)?,
        None => of_cloud(&args).await?,
    };
    let across = across(boards)?;
    if let Some(path) = &args.report {
        write_new(path, report::markdown(&across))?;
    }
    report::print(&across, format)?;
    Ok(Done::Fine)
}

fn across(boards: Vec<Scores>) -> Result<Across> {
    if boards.len() < 2 {
        bail!(
            "{}, and agreement is between two or more: name another one",
            match boards.len() {
                0 => "no board has a score".to_owned(),
                n => format!("there is only {n} board"),
            }
        );
    }
    let of_first = boards[0].by_submitter.keys();
    let common: Vec<String> = of_first
        .filter(|name| boards.iter().all(|board| board.by_submitter.contains_key(*name)))
        .cloned()
        .collect();
    if common.len() < 2 {
        let sizes: Vec<String> = boards
            .iter()
            .map(|board| format!("{} on {}", board.by_submitter.len(), board.name))
            .collect();
        bail!(
            "only {} submitters are on all of these boards ({}), and a comparison needs two: leave out a board with few \
         submitters",
            common.len(),
            sizes.join(", ")
        );
    }
    let mut agreements = Vec::new();
    for one in 0..boards.len() {
        for other in one + 1..boards.len() {
            let (one_of, other_of) = (&boards[one], &boards[other]);
            let both: Vec<&String> = one_of
                .by_submitter
                .keys()
                .filter(|name| other_of.by_submitter.contains_key(*name))
                .collect();
            let [a, b] = [one_of, other_of].map(|board_one| {
                both.iter()
                    .map(|name| board_one.by_submitter[*name])
                    .collect::<Vec<f64>>()
            });
            let tau_b = tau_b(&a, &b);
            let orders = one_of.orders(&both).zip(other_of.orders(&both));
            agreements.push(Agreement {
                one,
                other,
                n_common: a.len(),
                tau_b,
                interval: holding(tau_b, orders.and_then(|(one, other)| tau_interval(&one, &other))),
            });
        }
    }
    let scores: Vec<Vec<f64>> = boards
        .iter()
        .map(|board| common.iter().map(|name| board.by_submitter[name]).collect())
        .collect();
    let of_all: Vec<&String> = common.iter().collect();
    let orders: Option<Vec<Orders>> = boards.iter().map(|board| board.orders(&of_all)).collect();
    let orders: Option<Vec<&Orders>> = orders.as_ref().map(|orders| orders.iter().collect());
    let rankings = [Method::MeanRank, Method::MeanStandardized].map(|method| {
        ranking(
            &scores,
            method,
            orders.as_deref().filter(|_| method == Method::MeanRank),
        )
    });
    let w = kendalls_w(&scores.iter().map(Vec::as_slice).collect::<Vec<_>>());
    Ok(Across {
        w,
        w_interval: holding(w, orders.as_deref().and_then(w_interval)),
        ranks: scores.iter().map(|scores| standings(scores)).collect(),
        boards,
        agreements,
        common,
        rankings,
    })
}

/// An interval that holds its figure: bounds are of orders without ties, and scores may be tied.
fn holding(value: Option<f64>, interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let ((low, high), value) = interval.zip(value)?;
    Some((low.min(value), high.max(value)))
}

/// `orders`: what is clear on each board, where intervals follow from that.
fn ranking(scores: &[Vec<f64>], method: Method, orders: Option<&[&Orders]>) -> Ranking {
    let combined = combine(scores, method);
    let n = combined.ranks.len();
    let is_lower_half = |place: &usize| 2 * combined.ranks[*place] > n;
    let weak = (0..n)
        .filter(is_lower_half)
        .map(|like| (like, weak_entry(scores, method, like)));
    let left_out = left_out(scores, method);
    let without = |(board, sensitivity): (usize, &Sensitivity)| {
        let orders = orders?;
        let others: Vec<&Orders> = [&orders[..board], &orders[board + 1..]].concat();
        let bounds = tau_interval(&Orders::of_mean_ranks(orders), &Orders::of_mean_ranks(&others));
        holding(sensitivity.tau_b, bounds)
    };
    Ranking {
        method,
        left_out_intervals: left_out.iter().enumerate().map(without).collect(),
        left_out,
        weak: weak.collect(),
        combined,
    }
}

/// The score, or its negative where lower is better, so that more is better.
fn goodness(score: f64, direction: Direction) -> f64 {
    match direction {
        Direction::HigherIsBetter => score,
        Direction::LowerIsBetter => -score,
    }
}

/// Keeps a submitter's best score. Says whether it is this one.
fn keep(kept_key: &mut BTreeMap<String, f64>, submitter: &str, score: f64) -> bool {
    let best = kept_key.entry(submitter.to_owned()).or_insert(f64::NEG_INFINITY);
    let is_better = score > *best;
    *best = best.max(score);
    is_better
}

/// The clear orders on a board, among submitters that are also on another one.
async fn clear_orders(
    cloud: &Cloud,
    board: &Board,
    submissions: &BTreeMap<String, Entry>,
    others: &BTreeSet<String>,
    (direction, confidence): (Direction, f64),
) -> Result<Result<BTreeSet<(String, String)>, String>> {
    let wanted: Vec<(&String, &Entry)> = submissions
        .iter()
        .filter(|(name, _)| others.contains(*name))
        .collect();
    if wanted.len() > MAX_COMPARED {
        return Ok(Err(format!(
            "{} submitters are on another board too, and at most {MAX_COMPARED} can be compared",
            wanted.len()
        )));
    }
    let mut replicates = Vec::new();
    for (_, entry) in &wanted {
        let key = Replicates::key_on(board, &entry.id);
        let stored = match cloud.results().get(&key, None, MAX_REPLICATES_BYTES).await? {
            Got::Object(object) => Some(Replicates::from_bytes(&key, &object.bytes)?),
            Got::Missing | Got::TooLarge { .. } => None,
        };
        let Some(stored) = stored.filter(|stored| stored.is_of(entry)) else {
            return Ok(Err(NoIntervals::DrawsNotKept { n: 1 }.to_string()));
        };
        replicates.push(Arc::new(stored));
    }
    let name = |place: usize| wanted[place].0.clone();
    let orders = joint_orders(&replicates, direction, confidence).map_err(|why| why.to_string());
    Ok(orders.map(|orders| {
        let named = orders
            .into_iter()
            .map(|(better, worse)| (name(better), name(worse)));
        named.collect()
    }))
}

/// The largest object with replicates.
const MAX_REPLICATES_BYTES: u64 = (HEAD_BYTES + 2 * MAX_EVIDENCE_BYTES) as u64;

async fn of_cloud(args: &AcrossArgs) -> Result<Vec<Scores>> {
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    let mut wanted = Vec::new();
    for text in &args.boards {
        let parts: Vec<&str> = text.split('/').collect();
        let ([benchmark, leaderboard] | [benchmark, leaderboard, _]) = parts[..] else {
            problems.push(format!(
                "{} is not a board: write BENCHMARK/BOARD or BENCHMARK/BOARD/ROUND",
                quote(text)
            ));
            continue;
        };
        let board = Board {
            benchmark: benchmark.to_owned(),
            leaderboard: leaderboard.to_owned(),
            round: parts.get(2).map_or(OPEN_ROUND, |round| *round).to_owned(),
        };
        match descriptor(benchmark) {
            Err(error) => problems.push(error.to_string()),
            Ok(_)
                if !seen.insert((
                    board.benchmark.clone(),
                    board.leaderboard.clone(),
                    board.round.clone(),
                )) =>
            {
                problems.push(format!("{} is named twice: name each board once", quote(text)));
            }
            Ok(hosted) => wanted.push((text.clone(), board, hosted.direction)),
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    let cloud = args.cloud.clone().connect().await?;
    let mut boards = Vec::new();
    for (name, board, direction) in &wanted {
        let known = Known::read(&cloud, &board.benchmark).await?;
        known.check(Some(&board.leaderboard), Some(&board.round))?;
        let (leaderboard, round) = (Some(board.leaderboard.clone()), Some(board.round.clone()));
        let shown = super::boards_of(&cloud, &board.benchmark, leaderboard, round, MAX_ROWS).await?;
        let mut scores = Scores::new(name.clone());
        for row in shown.iter().flat_map(|shown| &shown.top) {
            if let (Some(_), Some(score)) = (row.shown_rank(), row.entry.score) {
                let submitter = &row.entry.submitter;
                if keep(&mut scores.by_submitter, submitter, goodness(score, *direction)) {
                    scores.submissions.insert(submitter.clone(), row.entry.clone());
                }
            }
        }
        boards.push(scores);
    }
    let confidence = 1.0 - (1.0 - CONFIDENCE) / boards.len().max(1) as f64;
    for (place, (_, board, direction)) in wanted.iter().enumerate() {
        let (before, others) = boards.split_at_mut(place);
        let Some((scores, after)) = others.split_first_mut() else {
            continue;
        };
        let others = before
            .iter()
            .chain(&*after)
            .flat_map(|other| other.by_submitter.keys());
        let others: BTreeSet<String> = others.cloned().collect();
        scores.clear = clear_orders(
            &cloud,
            board,
            &scores.submissions,
            &others,
            (*direction, confidence),
        )
        .await?;
    }
    Ok(boards)
}

/// Rows with one of these are left out.
const FLAGS: [&str; 2] = ["is_baseline", "is_of_other_dataset"];

/// Flags of a line that are no booleans.
fn no_flags<'a>(line: u64, field: &dyn Fn(&str) -> &'a str) -> Vec<String> {
    let is_none = |flag: &&&str| !["", "true", "false"].contains(&field(flag).to_lowercase().as_str());
    let none = FLAGS.iter().filter(is_none);
    none.map(|flag| {
        format!(
            "line {line}: `{flag}` is {}, and should be `true` or `false`",
            quote(field(flag))
        )
    })
    .collect()
}

/// Boards of a file; all that is wrong with it at once.
fn of_csv(path: &Path) -> Result<Vec<Scores>> {
    let about = || format!("can't read `{}`", path.display());
    let dialect = dialect(path).map_err(Error::msg).with_context(about)?;
    let mut reader = csv_reader(path, &dialect).with_context(about)?;
    let header = reader.headers().with_context(about)?.clone();
    let place = |name: &str| {
        header
            .iter()
            .position(|column| column.trim().trim_start_matches('\u{feff}') == name)
    };
    let required = ["benchmark", "leaderboard", "submitter", "score"];
    let missing: Vec<&str> = required
        .into_iter()
        .filter(|name| place(name).is_none())
        .collect();
    if !missing.is_empty() {
        bail!(
            "`{}` has no column `{}`: `dataperf leaderboard --format csv` writes such files",
            path.display(),
            missing.join("`, `")
        );
    }
    let mut problems = Vec::new();
    let mut boards: Vec<Scores> = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        let field = |name: &str| {
            place(name)
                .and_then(|place| record.get(place))
                .map_or("", str::trim)
        };
        problems.extend(no_flags(line, &field));
        if FLAGS.iter().any(|flag| field(flag).eq_ignore_ascii_case("true")) {
            continue;
        }
        let hosted = descriptor(field("benchmark"));
        let score = field("score")
            .parse::<f64>()
            .ok()
            .filter(|score| score.is_finite());
        let empty: Vec<&str> = ["leaderboard", "submitter"]
            .into_iter()
            .filter(|name| field(name).is_empty())
            .collect();
        match (&hosted, score) {
            (Ok(hosted), Some(score)) if empty.is_empty() => {
                let round = field("round");
                let rest = if [OPEN_ROUND, ""].contains(&round) {
                    String::new()
                } else {
                    format!("/{round}")
                };
                let name = format!("{}/{}{rest}", hosted.id, field("leaderboard"));
                let number = boards
                    .iter()
                    .position(|board| board.name == name)
                    .unwrap_or_else(|| {
                        boards.push(Scores::new(name));
                        boards.len() - 1
                    });
                keep(
                    &mut boards[number].by_submitter,
                    field("submitter"),
                    goodness(score, hosted.direction),
                );
            }
            _ => {
                problems.extend(hosted.err().map(|error| format!("line {line}: {error}")));
                problems.extend(empty.iter().map(|name| format!("line {line}: it has no {name}")));
                if score.is_none() {
                    problems.push(format!(
                        "line {line}: the score {} is not a finite number",
                        quote(field("score"))
                    ));
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(boards)
    } else {
        Err(unusable(path, problems))
    }
}

fn unusable(path: &Path, mut problems: Vec<String>) -> anyhow::Error {
    let more = problems.len().saturating_sub(MAX_LISTED);
    problems.truncate(MAX_LISTED);
    problems.extend((more > 0).then(|| format!("and {more} more")));
    anyhow!(
        "`{}` can't be used\n  - {}",
        path.display(),
        problems.join("\n  - ")
    )
}

/// Problems that are listed.
const MAX_LISTED: usize = 50;
