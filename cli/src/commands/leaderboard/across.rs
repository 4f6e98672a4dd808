//! `dataperf leaderboard across`: how far several boards agree, and what one ranking of all of them is worth.

mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use clap::Args;
use dataperf::comparison::MAX_ROWS;
use dataperf::ports::leaderboard::{Board, OPEN_ROUND};
use dataperf::{Direction, quote};
use dataperf_datasets::lines::{csv_reader, dialect};
use dataperf_numerics::agreement::{
    Combined, Method, Sensitivity, combine, kendalls_w, left_out, standings, tau_b, weak_entry,
};

use crate::Done;
use crate::cloud::CloudArgs;
use crate::hosted::descriptor;
use crate::known::Known;
use crate::output::{check_new_files, write_new};
use crate::rows::RowFormat;

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
    of: BTreeMap<String, f64>,
}

/// How far two boards agree.
pub(super) struct Agreement {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) n_common: usize,
    pub(super) tau_b: Option<f64>,
}

/// A combined ranking with what it depends on.
pub(super) struct Ranking {
    pub(super) method: Method,
    pub(super) combined: Combined,
    /// The effect of leaving out each board in turn.
    pub(super) left_out: Vec<Sensitivity>,
    /// The effect of adding a weak entry like each submitter of the lower half, with the submitter's place among the common ones.
    pub(super) weak: Vec<(usize, Sensitivity)>,
}

impl Ranking {
    /// The weak entry that changes most, if one changes anything.
    pub(super) fn worst_weak(&self) -> Option<&(usize, Sensitivity)> {
        let changing = self.weak.iter().filter(|(_, of)| of.largest_change > 0);
        changing.max_by(|(_, a), (_, b)| {
            a.largest_change
                .cmp(&b.largest_change)
                .then(a.mean_change.total_cmp(&b.mean_change))
        })
    }

    /// How many of the weak entries change something.
    pub(super) fn n_changing(&self) -> usize {
        self.weak.iter().filter(|(_, of)| of.largest_change > 0).count()
    }
}

/// What the report says.
pub(super) struct Across {
    pub(super) boards: Vec<Scores>,
    pub(super) agreements: Vec<Agreement>,
    /// Submitters that stand on all boards.
    pub(super) common: Vec<String>,
    /// `(n_boards, n_common)`: ranks among the common submitters.
    pub(super) ranks: Vec<Vec<usize>>,
    pub(super) w: Option<f64>,
    /// By the mean of ranks, and by standardized scores.
    pub(super) rankings: [Ranking; 2],
}

impl Across {
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
        write_new(path, &report::markdown(&across))?;
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
    let of_first = boards[0].of.keys();
    let common: Vec<String> = of_first
        .filter(|name| boards.iter().all(|board| board.of.contains_key(*name)))
        .cloned()
        .collect();
    if common.len() < 2 {
        let sizes: Vec<String> = boards
            .iter()
            .map(|board| format!("{} on {}", board.of.len(), board.name))
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
            let both = boards[one]
                .of
                .iter()
                .filter_map(|(name, a)| Some((*a, *boards[other].of.get(name)?)));
            let (a, b): (Vec<f64>, Vec<f64>) = both.unzip();
            agreements.push(Agreement {
                one,
                other,
                n_common: a.len(),
                tau_b: tau_b(&a, &b),
            });
        }
    }
    let scores: Vec<Vec<f64>> = boards
        .iter()
        .map(|board| common.iter().map(|name| board.of[name]).collect())
        .collect();
    let rankings = [Method::MeanRank, Method::MeanStandardized].map(|method| ranking(&scores, method));
    Ok(Across {
        w: kendalls_w(&scores.iter().map(Vec::as_slice).collect::<Vec<_>>()),
        ranks: scores.iter().map(|scores| standings(scores)).collect(),
        boards,
        agreements,
        common,
        rankings,
    })
}

fn ranking(scores: &[Vec<f64>], method: Method) -> Ranking {
    let combined = combine(scores, method);
    let n = combined.ranks.len();
    let is_lower_half = |place: &usize| 2 * combined.ranks[*place] > n;
    let weak = (0..n)
        .filter(is_lower_half)
        .map(|like| (like, weak_entry(scores, method, like)));
    Ranking {
        method,
        left_out: left_out(scores, method),
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

/// Keeps a submitter's best score.
fn keep(of: &mut BTreeMap<String, f64>, submitter: &str, score: f64) {
    let best = of.entry(submitter.to_owned()).or_insert(score);
    *best = best.max(score);
}

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
    let cloud = args.cloud.clone().connect().await;
    let mut boards = Vec::new();
    for (name, board, direction) in wanted {
        let known = Known::of(&cloud, &board.benchmark).await?;
        known.check(Some(&board.leaderboard), Some(&board.round))?;
        let (leaderboard, round) = (Some(board.leaderboard.clone()), Some(board.round.clone()));
        let shown = super::boards_of(&cloud, &board.benchmark, leaderboard, round, MAX_ROWS).await?;
        let mut of = BTreeMap::new();
        for row in shown.iter().flat_map(|shown| &shown.top) {
            if let (Some(_), Some(score)) = (row.shown_rank(), row.entry.score) {
                keep(&mut of, &row.entry.submitter, goodness(score, direction));
            }
        }
        boards.push(Scores { name, of });
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
                        boards.push(Scores {
                            name,
                            of: BTreeMap::new(),
                        });
                        boards.len() - 1
                    });
                keep(
                    &mut boards[number].of,
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
