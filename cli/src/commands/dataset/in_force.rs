//! `dataperf dataset list` and `retire`: which boards are in force, each with its data set.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::dataset::DatasetError;
use dataperf::frozen::FrozenError;
use dataperf::in_force::InForce;
use dataperf_aws::change_in_force;
use serde_json::json;

use crate::Done;
use crate::cloud::CloudArgs;
use crate::in_force::Boards;
use crate::known::offer;
use crate::output::{Format, print_json, table};
use crate::registry::descriptor;

#[derive(Debug, Args)]
#[command(after_help = "Example: dataperf dataset list --local")]
pub(crate) struct ListArgs {
    /// The benchmark; all, when left out
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf dataset retire speech-selection en-25 --local\n\nUploads to the board are rejected from then on. \
    Its scores, receipts and data set stay; `dataperf dataset publish` puts it in force again."
)]
pub(crate) struct RetireArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The board
    leaderboard: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn list(args: ListArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let (mut rows, mut shown) = (
        Vec::new(),
        table(&["benchmark", "leaderboard", "title", "data set"]),
    );
    for hosted in dataperf_hosted::HOSTED {
        if args.benchmark.as_ref().is_some_and(|only| only != hosted.id) {
            continue;
        }
        let boards = match Boards::of(&cloud.datasets(), hosted).await {
            Err(DatasetError::Frozen(FrozenError::NotInForce { .. })) => continue,
            found => found?.boards,
        };
        for (name, board) in boards {
            let title = board.leaderboard.title.clone().unwrap_or_default();
            shown.add_row([hosted.id, &name, &title, &board.dataset.to_string()]);
            rows.push(
                json!({ "benchmark": hosted.id, "leaderboard": board.leaderboard, "dataset": board.dataset }),
            );
        }
    }
    match format {
        Format::Json => print_json(&rows)?,
        Format::Text if rows.is_empty() => {
            println!("no data set is in force: publish one with `dataperf dataset publish`");
        }
        Format::Text => println!("{shown}"),
    }
    Ok(Done::Fine)
}

pub(super) async fn retire(args: RetireArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let (datasets, hosted) = (cloud.datasets(), descriptor(&args.benchmark)?);
    let boards = Boards::of(&datasets, hosted).await?;
    if !boards.boards.contains_key(&args.leaderboard) {
        bail!(
            "{} has no leaderboard `{}` in force: {}",
            args.benchmark,
            args.leaderboard,
            offer(&args.leaderboard, boards.names())
        );
    }
    let mut retired = None;
    change_in_force(
        &datasets,
        hosted.id,
        async |before: Result<InForce, FrozenError>| {
            let mut after = before?.spelt_out(boards.names().map(String::as_str));
            retired = after.remove(&args.leaderboard);
            Ok::<_, anyhow::Error>(retired.map(|_| after))
        },
    )
    .await?;
    match format {
        Format::Json => print_json(&json!({ "benchmark": hosted.id, "leaderboard": args.leaderboard,
                                            "dataset": retired, "in_force": false }))?,
        Format::Text => println!(
            "`{}` of {} is not in force any more: uploads to it are rejected, its scores stay",
            args.leaderboard, hosted.id
        ),
    }
    Ok(Done::Fine)
}
