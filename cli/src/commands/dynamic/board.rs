//! `dataperf dynamic board`: the programs of a hosted round, compared in all their figures, for the organizer.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use dataperf::board::Board;
use dataperf::dataset::Integrity;
use dataperf::programs::Output;
use dataperf::rows::ranking::Ranked;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Benchmark as _, Digest};
use dataperf_benchmarks::adversarial_text_models::{AdversarialTextModels, LEADERBOARD, trial_run};
use dataperf_collections::text::compare::{Measured, Outcome, Report, TrialRun};
use serde::Serialize;

use super::comparison::{print_report, weights};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::commands::participant::score::open;
use crate::output::print_json;
use crate::output::rows::RowFormat;

/// The most rows that are compared; no round runs as many programs.
const MOST_ROWS: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// The round
    #[arg(long)]
    round: String,
    /// The hidden data set of the round, in a directory
    #[arg(long, short, value_name = "DIR")]
    dataset: PathBuf,
    /// Weights: performance, compute, memory, robustness, fairness
    #[arg(long, value_name = "W,W,W,W,W", value_delimiter = ',', num_args = 1)]
    weights: Option<Vec<f64>>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// How a row's program did.
#[derive(Serialize)]
struct Ran {
    name: String,
    measured: Measured,
    outcome: Outcome,
}

/// The printed document.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    n_inputs: usize,
    runs: &'a [Ran],
}

pub(crate) async fn run(args: BoardArgs, format: RowFormat) -> Result<Done> {
    let weights = weights(args.weights.as_deref())?;
    let dataset = open::<AdversarialTextModels>(&args.dataset, LEADERBOARD, Integrity::Digests).await?;
    let frozen = dataset.frozen(LEADERBOARD).await?;
    let cloud = args.cloud.connect().await?;
    let board = Board {
        benchmark: AdversarialTextModels::ID.to_owned(),
        leaderboard: LEADERBOARD.to_owned(),
        round: args.round.clone(),
    };
    let rows = cloud.leaderboards().top(&board, MOST_ROWS).await?;
    ensure!(
        !rows.is_empty(),
        "`{LEADERBOARD}` has no programs in the round `{}`: name another round with `--round`",
        args.round
    );
    let mut runs: Vec<TrialRun> = Vec::new();
    for row in &rows {
        let artifact = artifact(&cloud, row, dataset.digest()).await?;
        let run = trial_run(&row.entry.submitter, artifact.as_bytes(), &frozen).map_err(|rejection| {
            let why = rejection
                .reasons()
                .first()
                .map_or("", |reason| reason.message.as_str());
            anyhow!(
                "the output of the program of `{}` can't be used: {why}",
                row.entry.submitter
            )
        });
        runs.push(run?);
    }
    let trial = frozen.trial();
    let (n_inputs, rates) = (trial.lines().len(), frozen.rates());
    let report = trial.report(&runs, rates, weights);
    let ran = |run: TrialRun| Ran {
        outcome: trial.outcome(&run.judged),
        measured: run.measured,
        name: run.name,
    };
    let shown: Vec<Ran> = runs.into_iter().map(ran).collect();
    if format == RowFormat::Json {
        print_json(&Document {
            report: &report,
            n_inputs,
            runs: &shown,
        })?;
        return Ok(Done::Fine);
    }
    let outcomes: Vec<(&str, &Outcome)> = shown
        .iter()
        .map(|ran| (ran.name.as_str(), &ran.outcome))
        .collect();
    print_report(&report, &outcomes, n_inputs, format)?;
    Ok(Done::Fine)
}

/// The output of a row's program on this data set, with the cost of its run.
async fn artifact(cloud: &Cloud, row: &Ranked, dataset: Digest) -> Result<String> {
    let entry = &row.entry;
    ensure!(
        entry.dataset == Some(dataset),
        "`{}` is scored with another data set than `{dataset}`: name the round's hidden one with `--dataset`",
        entry.submitter
    );
    let output = Output::read(
        &cloud.submissions(),
        AdversarialTextModels::ID,
        &entry.id,
        Some(dataset),
    )
    .await?;
    let artifact = output.and_then(|output| output.artifact);
    artifact.with_context(|| {
        format!(
            "the submissions bucket has no `{}` any more, of `{}`",
            Output::key(AdversarialTextModels::ID, &entry.id),
            entry.submitter
        )
    })
}
