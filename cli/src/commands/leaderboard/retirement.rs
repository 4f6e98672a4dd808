//! `dataperf leaderboard retirement`: what retiring a board's data set has shown.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Retire};
use dataperf::closing::retirement::{Estimate, RetiredLine, RetirementReport, report_of};
use serde_json::{Value, json};

use super::words::sentence;
use crate::Done;
use crate::cloud::known::Known;
use crate::cloud::{Cloud, CloudArgs};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, table};

#[derive(Debug, Args)]
pub(crate) struct RetirementArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The leaderboard
    leaderboard: String,
    /// The round
    #[arg(long)]
    round: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn run(args: RetirementArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let known = Known::read(&cloud, &args.benchmark).await?;
    known.check(Some(&args.leaderboard), Some(&args.round))?;
    let board = Board {
        benchmark: args.benchmark,
        leaderboard: args.leaderboard,
        round: args.round,
    };
    let report = report(&cloud, &board).await?;
    let rows = || report.lines.iter().map(row).collect();
    print_tabled(
        || {
            let mut document = serde_json::to_value(&report)?;
            document["why_none"] = json!(sentence(report.why_none));
            Ok(document)
        },
        &COLUMNS,
        rows,
        format,
        || {
            print(&board, &report);
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

/// The columns of submissions with both scores.
const COLUMNS: [&str; 9] = [
    "submitter",
    "submission",
    "rank",
    "rank_before",
    "score",
    "score_before",
    "gap",
    "gap_low",
    "gap_high",
];

fn row(line: &RetiredLine) -> Value {
    let interval = line.gap.and_then(|gap| gap.interval);
    json!({ "submitter": line.submitter, "submission": line.submission, "rank": line.rank_after, "rank_before": line.rank_before,
            "score": line.after, "score_before": line.before, "gap": line.gap.map(|gap| gap.value),
            "gap_low": interval.map(|(low, _)| low), "gap_high": interval.map(|(_, high)| high) })
}

async fn report(cloud: &Cloud, board: &Board) -> Result<RetirementReport> {
    let datasets = cloud.datasets();
    let challenge = Challenge::published(&datasets, &board.benchmark).await?;
    let Some(challenge) = challenge else {
        bail!("no challenge is published, and only a round of a challenge retires its data set");
    };
    let round = challenge.round(&board.round).cloned();
    let Some(round) = round.filter(|round| round.id == board.round) else {
        bail!(
            "the challenge has no round `{}`, and only a round retires its data set: name one of its rounds \
             with `--round`",
            board.round
        );
    };
    if let Some(report) = report_of(&cloud.results(), &round, board).await? {
        return Ok(report);
    }
    match round.retire {
        None => bail!("the round has no `retire`: its data set is not retired"),
        Some(Retire { at, .. }) => bail!(
            "the data set is retired at {at}. The caretaker then scores the board with the next one within about 30 \
         minutes, and the report follows"
        ),
    }
}

fn print(board: &Board, report: &RetirementReport) {
    println!(
        "\n{} · {} · round {}",
        board.benchmark, board.leaderboard, board.round
    );
    let before = report
        .dataset_before
        .map_or_else(String::new, |before| format!(" of {before}"));
    let since = report
        .retired_at
        .map_or_else(String::new, |at| format!(" since {at}"));
    println!(
        "{}{since}, in place{before}; finished {}",
        report.dataset_after, report.finished_at
    );
    let mut figures = table(&["", "", "95 %"]);
    for (name, estimate) in [
        ("mean gap, before less after", report.gap),
        ("the same of the baselines", report.gap_of_baselines),
        (
            "slope of new scores on old ones, without their noise",
            report.slope,
        ),
        ("its intercept", report.intercept),
        ("the slope on probit axes", report.probit_slope),
        ("its intercept", report.probit_intercept),
        ("Kendall's tau-b", report.tau_b),
    ] {
        let (value, interval) = words(estimate);
        figures.add_row([name.to_owned(), value, interval]);
    }
    align_right(&mut figures, 1);
    println!("{figures}");
    let mut lines = table(&[
        "rank",
        "before",
        "submitter",
        "score",
        "before",
        "gap",
        "95 %",
        "submission",
    ]);
    for line in &report.lines {
        let rank = |rank: Option<usize>| rank.map_or_else(String::new, |rank| rank.to_string());
        let (gap, interval) = words(line.gap);
        lines.add_row([
            rank(line.rank_after),
            rank(line.rank_before),
            line.submitter.clone(),
            line.after
                .map_or_else(|| "rejected".to_owned(), |after| format!("{after:.4}")),
            format!("{:.4}", line.before),
            gap,
            interval,
            line.submission.to_string(),
        ]);
    }
    for column in [0, 1, 3, 4, 5] {
        align_right(&mut lines, column);
    }
    println!("{lines}");
    let rejected = match report.n_rejected {
        0 => String::new(),
        n => format!("; {n} are against the rules of the data set that followed"),
    };
    println!("{} submissions with both scores{rejected}", report.n_scored);
    if let Some(why) = &report.why_none {
        println!("no intervals: {why}");
    }
}

/// A figure and its interval.
fn words(estimate: Option<Estimate>) -> (String, String) {
    let Some(estimate) = estimate else {
        return ("-".to_owned(), String::new());
    };
    let interval = estimate.interval;
    let interval = interval.map(|(low, high)| format!("{low:.4} to {high:.4}"));
    (format!("{:.4}", estimate.value), interval.unwrap_or_default())
}
