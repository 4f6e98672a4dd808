//! `dataperf dataset list` and `retire`: the active boards, each with its data set.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::Descriptor;
use dataperf::benchmark::Leaderboard;
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::dataset::frozen::FrozenError;
use dataperf::dataset_history::note_seen;
use dataperf::offer;
use dataperf_aws::{S3Bucket, change_in_force};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::active_boards::Boards;
use crate::cloud::{CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{Format, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The benchmark [default: all]
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RetireArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The board
    leaderboard: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The active data sets of a benchmark, and why one can't be described, if so.
async fn named(datasets: &S3Bucket, hosted: &Descriptor) -> Result<(Boards, InForce, Option<FrozenError>)> {
    let in_force = InForce::read(datasets, hosted.id).await?;
    if in_force.is_empty() {
        return Ok((Boards::default(), in_force, None));
    }
    match Boards::read(datasets, hosted).await {
        Ok(boards) => Ok((boards, in_force, None)),
        Err(DatasetError::Frozen(damage)) => Ok((Boards::default(), in_force, Some(damage))),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn list(args: ListArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let (mut rows, mut shown) = (
        Vec::new(),
        table(&["benchmark", "leaderboard", "title", "data set"]),
    );
    for hosted in dataperf_hosted::HOSTED {
        if args.benchmark.as_ref().is_some_and(|only| only != hosted.id) {
            continue;
        }
        let (boards, in_force, damage) = named(&cloud.datasets(), hosted).await?;
        for (name, dataset) in in_force.boards() {
            let board_one = boards.boards.get(name).map(|board| board.leaderboard.clone());
            let board_one = board_one.unwrap_or_else(|| Leaderboard::new(name, ""));
            let title = board_one.title.clone().unwrap_or_default();
            shown.add_row([hosted.id, name, &title, &dataset.to_string()]);
            rows.push(json!({ "benchmark": hosted.id, "leaderboard": board_one, "dataset": dataset }));
        }
        if let Some(damage) = damage {
            eprintln!(
                "warning: the active data set of {} can't be described: {damage}",
                hosted.id
            );
        }
    }
    let flat = || {
        let make = |row: &Value| {
            let board_one = &row["leaderboard"];
            json!({ "benchmark": row["benchmark"], "leaderboard": board_one["name"], "title": board_one["title"],
                    "about": board_one["about"], "dataset": row["dataset"] })
        };
        rows.iter().map(make).collect()
    };
    let columns = ["benchmark", "leaderboard", "title", "about", "dataset"];
    print_tabled(
        || Ok(json!(rows)),
        &columns,
        flat,
        format,
        || {
            if rows.is_empty() {
                println!("No data set is active. Publish one with `dataperf dataset publish`.");
            } else {
                println!("{shown}");
            }
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

pub(super) async fn retire(args: RetireArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let (datasets, table) = (cloud.datasets(), cloud.leaderboards());
    let hosted = descriptor(&args.benchmark)?;
    let in_force = InForce::read(&datasets, hosted.id).await?;
    if in_force.is_empty() {
        bail!("{} has no active leaderboard", args.benchmark);
    }
    if in_force.dataset_of(&args.leaderboard).is_none() {
        bail!(
            "{} has no active leaderboard `{}`: {}",
            args.benchmark,
            args.leaderboard,
            offer(&args.leaderboard, in_force.boards().keys())
        );
    }
    let mut retired = None;
    change_in_force(
        &datasets,
        hosted.id,
        async |before: Result<InForce, FrozenError>| {
            let mut after = before?;
            retired = after.remove(&args.leaderboard);
            note_seen(&table, hosted.id, retired, now()).await?;
            Ok::<_, anyhow::Error>(retired.map(|_| after))
        },
    )
    .await?;
    cloud.project_all(hosted.id).await?;
    match format {
        Format::Json => print_json(&json!({ "benchmark": hosted.id, "leaderboard": args.leaderboard,
                                            "dataset": retired, "in_force": false }))?,
        Format::Text => println!(
            "`{}` of {} is not active now. It rejects uploads, except in rounds that name a `dataset`. Its scores stay.",
            args.leaderboard, hosted.id
        ),
    }
    Ok(Done::Fine)
}
