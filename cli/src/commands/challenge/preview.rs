//! `dataperf challenge preview`: the page of a document and its data sets, on a cloud that ends with the command.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::Digest;
use dataperf::challenge::Round;
use dataperf_local::LocalCloud;
use serde_json::json;

use super::publish::{Published, put};
use super::{Read, accepted, all_warnings, read, refused};
use crate::Done;
use crate::cloud::Cloud;
use crate::commands::dataset::{Switch, WARNINGS, publish_unless_refused};
use crate::commands::local::{start_on_free_ports, which_cloud};
use crate::hosted::leaderboards;
use crate::on_disk::open;
use crate::output::print_json;
use crate::output::rows::RowFormat;
use crate::stop::stopped;

#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    /// The document
    file: PathBuf,
    /// A frozen data set of the rounds; repeatable
    #[arg(long, value_name = "DIR", required = true)]
    dataset: Vec<PathBuf>,
    /// Show data sets in spite of this warning of `dataset check`; repeatable
    #[arg(long, value_name = "CODE", value_parser = PossibleValuesParser::new(WARNINGS))]
    allow: Vec<String>,
}

pub(super) async fn run(args: PreviewArgs, rows: RowFormat) -> Result<Done> {
    rows.of_documents()?; // before anything starts
    let read = match read(&args.file)? {
        Ok(read) => read,
        Err(rejection) => return refused(&rejection, rows),
    };
    let stop = tokio::spawn(stopped()); // from the start on, so that nothing is left behind
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let (local, cloud) = start_on_free_ports(&scratch.path().join("cloud")).await?;
    let done = tokio::select! {
        stopped = stop => stopped?.map(|()| Done::Fine),
        ended = Box::pin(show(&args, read, &local, &cloud, rows)) => ended,
    };
    local.shutdown().await;
    done
}

/// Publishes everything and prints the address of the page. Returns only if the document is refused.
async fn show(
    args: &PreviewArgs,
    mut read: Read,
    local: &LocalCloud,
    cloud: &Cloud,
    rows: RowFormat,
) -> Result<Done> {
    let mut opened = Vec::new();
    for directory in &args.dataset {
        opened.push((directory, open(directory)?));
    }
    let rounds: Vec<&Round> = read
        .challenges
        .values()
        .flat_map(|challenge| &challenge.rounds)
        .collect();
    // of several data sets with the same boards, one that no round pins is active
    let is_pinned = |dataset: Digest| rounds.iter().any(|round| round.dataset == Some(dataset));
    opened.sort_by_key(|(_, opened)| is_pinned(opened.digest));
    let mut active = BTreeSet::new();
    for (directory, opened) in &opened {
        let benchmark = &opened.manifest.benchmark;
        anyhow::ensure!(
            read.challenges.contains_key(benchmark),
            "`{}` is of `{benchmark}`, which is not in the document: leave it out",
            directory.display()
        );
        let boards = leaderboards(&opened.manifest)?.into_iter();
        let boards: Vec<_> = boards.map(|board| (benchmark.clone(), board.name)).collect();
        let is_hidden = rounds.iter().any(|round| hides(round, opened.digest));
        let is_taken = boards.iter().any(|board| active.contains(board));
        let switch = if is_hidden || (is_taken && is_pinned(opened.digest)) {
            Switch::Stage
        } else {
            anyhow::ensure!(
                !is_taken,
                "no round names `{}`, and another data set has its boards: leave one out, or add a round",
                directory.display()
            );
            active.extend(boards);
            Switch::Add
        };
        let about = || format!("`{}` can't be shown", directory.display());
        publish_unless_refused(cloud, directory, opened, &args.allow, switch)
            .await
            .with_context(about)?;
    }
    let warnings = match put(cloud, &mut read, &[]).await? {
        Ok(Published { warnings, .. }) => warnings,
        Err(rejection) => return refused(&rejection, rows),
    };
    let page = local.http_endpoint().unwrap_or_default();
    if rows == RowFormat::Json {
        let warnings = all_warnings(&read.challenges, warnings);
        print_json(&json!({
            "accepted": true, "page": page, "benchmarks": read.challenges, "warnings": warnings, "dates": read.dates,
        }))?;
    } else {
        accepted(
            &read.challenges,
            warnings,
            &read.dates,
            rows,
            "The preview is ready:",
        )?;
        let flags = which_cloud(local);
        println!("page    {page}");
        println!("upload  dataperf submit BENCHMARK --leaderboard LEADERBOARD --submitter YOU FILE {flags}");
        println!("Stop with Ctrl-C. Nothing is kept.");
    }
    std::future::pending().await
}

/// Whether the round uses a data set that must not be active yet.
fn hides(round: &Round, dataset: Digest) -> bool {
    let of_programs = round.dataset.filter(|_| round.programs.is_some());
    let successor = round.retire.map(|retire| retire.dataset);
    [round.final_dataset, of_programs, successor].contains(&Some(dataset))
}
