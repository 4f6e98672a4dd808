//! `dataperf dataset`: make, describe, verify, fetch and publish frozen data sets.

mod correct;
#[cfg(feature = "cloud")]
mod fetch;
#[cfg(feature = "cloud")]
mod in_force;
mod kit;
mod meaning;
#[cfg(feature = "cloud")]
mod objects;
mod own;
#[cfg(feature = "cloud")]
mod publish;
mod split;
mod trial;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::benchmark::Leaderboard;
use dataperf::dataset::frozen::{FileEntry, Manifest};
use dataperf::{Digest, quote};
use dataperf_datasets::Kit;
use dataperf_hosted::IDS;
use serde_json::json;

use crate::Done;
use crate::hosted::leaderboards;
use crate::import::ImportSource;
use crate::on_disk::{Opened, damages, open, refuse_damaged};
use crate::output::progress::PhaseBars;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{Format, align_right, n_of, print_json, table};
use crate::registry::{extension, with_benchmark};

#[cfg(feature = "local")]
pub(crate) use correct::error_rates;
#[cfg(feature = "local")]
pub(crate) use meaning::WARNINGS;
#[cfg(feature = "local")]
pub(crate) use publish::{Switch, publish, publish_unless_refused};

#[derive(Debug, Subcommand)]
pub(crate) enum DatasetCommand {
    /// Write a document for a contest on your own data
    Init(own::InitArgs),
    /// Make a frozen data set from files
    Import(ImportArgs),
    /// Check a folder of your own data
    Check(own::CheckArgs),
    #[cfg(feature = "cloud")]
    /// Download a public challenge's files, or resume a download
    Fetch(fetch::FetchArgs),
    /// Describe a data set, or make its participants' kit
    Show(ShowArgs),
    /// Split a data set: one for uploads, one for the final board
    Split(split::SplitArgs),
    /// Compare the files of a data set with its manifest
    Verify(VerifyArgs),
    /// Make a data set with corrected test labels
    Correct(correct::CorrectArgs),
    #[cfg(feature = "cloud")]
    /// Upload a data set and make its boards active
    Publish(publish::PublishArgs),
    #[cfg(feature = "cloud")]
    /// List the active boards with their data sets
    List(in_force::ListArgs),
    #[cfg(feature = "cloud")]
    /// Deactivate a board
    Retire(in_force::RetireArgs),
}

/// As shells have it of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

pub(crate) async fn run(command: DatasetCommand, rows: RowFormat) -> Result<Done> {
    // what is being written has hidden labels, and nobody looks for a hidden directory
    tokio::spawn(async {
        if crate::stop::stopped().await.is_ok() {
            dataperf_datasets::remove_unfinished();
            std::process::exit(INTERRUPTED);
        }
    });
    let format = rows.of_documents();
    match command {
        DatasetCommand::Init(args) => own::init(&args, format?),
        DatasetCommand::Import(args) => import(args, rows).await,
        DatasetCommand::Check(args) => own::check(args, rows).await,
        #[cfg(feature = "cloud")]
        DatasetCommand::Fetch(args) => fetch::run(&args, format?),
        DatasetCommand::Show(ShowArgs {
            directory,
            public: None,
        }) => show(&directory, rows),
        DatasetCommand::Show(ShowArgs {
            directory,
            public: Some(out),
        }) => export(&directory, &out, format?).await,
        DatasetCommand::Split(args) => split::run(&args, rows),
        DatasetCommand::Verify(args) => verify(&args.directory, format?),
        DatasetCommand::Correct(args) => correct::run(&args, format?).await,
        #[cfg(feature = "cloud")]
        DatasetCommand::Publish(args) => publish::run(args, format?).await,
        #[cfg(feature = "cloud")]
        DatasetCommand::List(args) => in_force::list(args, rows).await,
        #[cfg(feature = "cloud")]
        DatasetCommand::Retire(args) => in_force::retire(args, format?).await,
    }
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The directory with the files
    #[arg(long)]
    from: PathBuf,
    /// The data set's directory, new or empty
    #[arg(long)]
    out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The frozen data set's directory
    directory: PathBuf,
    /// Make the participants' kit in this directory
    #[arg(long, value_name = "DIR")]
    public: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The frozen data set's directory
    directory: PathBuf,
}

async fn import(args: ImportArgs, format: RowFormat) -> Result<Done> {
    let task = ImportSource {
        from: &args.from,
        out: &args.out,
    };
    if let Some(extension) = extension(&args.benchmark) {
        let bars = PhaseBars::default();
        extension.import(&args.from, &args.out, &bars)?;
        bars.finish();
    } else {
        with_benchmark(&args.benchmark, task).await?;
    }
    show(&args.out, format)
}

/// The columns of a data set's contents.
const PARTS: [&str; 6] = ["part", "name", "about", "n_bytes", "digest", "tensors"];

fn show(directory: &Path, format: RowFormat) -> Result<Done> {
    let Opened { manifest, digest, .. } = open(directory)?;
    let boards = leaderboards(&manifest)?;
    let document = || {
        Ok(json!({
            "dataset": digest, "benchmark": manifest.benchmark, "directory": directory,
            "leaderboards": boards, "parameters": manifest.parameters, "files": manifest.files,
            "corrected": manifest.corrected,
        }))
    };
    let rows = || {
        let boards = boards
            .iter()
            .map(|board| json!({ "part": "leaderboard", "name": board.name, "about": board.about }));
        let files = manifest.files.iter().map(|(path, file)| {
            json!({ "part": "file", "name": path, "n_bytes": file.n_bytes, "digest": file.digest, "tensors": tensors(file) })
        });
        boards.chain(files).collect()
    };
    print_tabled(document, &PARTS, rows, format, || {
        print(directory, &manifest, digest, &boards);
        Ok(())
    })?;
    Ok(Done::Fine)
}

/// The tensors of a file with their types and shapes.
fn tensors(file: &FileEntry) -> String {
    let tensors = file.tensors.iter();
    let tensors: Vec<String> = tensors
        .map(|(name, tensor)| format!("{name} {:?} {:?}", tensor.dtype, tensor.shape))
        .collect();
    tensors.join(", ")
}

fn print(directory: &Path, manifest: &Manifest, digest: Digest, boards: &[Leaderboard]) {
    println!("{} in `{}`\n{digest}", manifest.benchmark, directory.display());
    if let Some(corrected) = &manifest.corrected {
        println!(
            "corrected: {} labels of {}, {} reviewed; `{}` lists every edit",
            corrected.n_edits, corrected.parent, corrected.n_reviewed, corrected.edits
        );
    }
    let mut leaderboards = table(&["leaderboard", "about"]);
    for board in boards {
        leaderboards.add_row([&board.name, &board.about]);
    }
    println!("{leaderboards}");
    let mut files = table(&["file", "bytes", "tensors"]);
    for (path, file) in &manifest.files {
        files.add_row([path.clone(), file.n_bytes.to_string(), tensors(file)]);
    }
    align_right(&mut files, 1);
    println!("{files}");
}

/// Makes the participants' kit of a data set.
async fn export(directory: &Path, out: &Path, format: Format) -> Result<Done> {
    let opened = open(directory)?;
    let kit = kit::export(directory, &opened, out).await?;
    let Opened { manifest, digest, .. } = opened;
    let Some(Kit { files, .. }) = kit else {
        bail!(
            "the data set `{}` of {} has no part of its own for participants",
            directory.display(),
            manifest.benchmark
        );
    };
    match format {
        Format::Json => print_json(&json!({ "dataset": digest, "out": out, "files": files }))?,
        Format::Text => println!(
            "{} in `{}`",
            n_of(
                files.len(),
                "file for participants is",
                "files for participants are"
            ),
            out.display()
        ),
    }
    Ok(Done::Fine)
}

/// Checks the corrections that the manifest of a corrected data set lists, and returns the false
/// ones.
fn corrections_that_disagree(directory: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let Some(corrected) = &manifest.corrected else {
        return Ok(Vec::new());
    };
    if !manifest.files.contains_key(&corrected.edits) {
        let why = format!(
            "the manifest's `corrected` names {}, which is not a file of the data set",
            quote(&corrected.edits)
        );
        return Ok(vec![why]);
    }
    let path = directory.join(&corrected.edits);
    let mut reader =
        csv::Reader::from_path(&path).with_context(|| format!("can't read `{}`", path.display()))?;
    let n_lines = reader.records().count();
    let mut problems = Vec::new();
    if n_lines != corrected.n_edits {
        problems.push(format!(
            "{}: it has {n_lines} edits, and the manifest's `corrected` says {}",
            quote(&corrected.edits),
            corrected.n_edits
        ));
    }
    let of_sets: usize = corrected.reviewed.values().sum();
    if !corrected.reviewed.is_empty() && of_sets != corrected.n_reviewed {
        problems.push(format!(
            "the manifest's `corrected` says that people reviewed {} labels in all (`n_reviewed`), and its numbers by test set \
                (`reviewed`) add up to {of_sets}",
            corrected.n_reviewed
        ));
    }
    if corrected.n_reviewed < corrected.n_edits {
        problems.push(format!(
            "the manifest's `corrected` says that people changed {} labels and reviewed {}",
            corrected.n_edits, corrected.n_reviewed
        ));
    }
    Ok(problems)
}

fn verify(directory: &Path, format: Format) -> Result<Done> {
    let Opened { manifest, digest, .. } = open(directory)?;
    let mut damages = damages(directory, &manifest);
    if damages.is_empty() {
        damages.extend(corrections_that_disagree(directory, &manifest)?);
    }
    if format == Format::Json {
        print_json(&json!({ "dataset": digest, "verified": damages.is_empty(), "damages": damages }))?;
    }
    refuse_damaged(directory, &damages)?;
    if format == Format::Text {
        println!("{digest}: all {} files match the manifest", manifest.files.len());
    }
    Ok(Done::Fine)
}
