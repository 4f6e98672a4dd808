//! `dataperf dynamic train`: the next target.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use dataperf::Digest;
use dataperf_collections::text::Task;
use dataperf_collections::text::models::{EncoderSettings, LinearSettings, train_encoder, train_linear};
use serde_json::json;

use super::data::{EncoderArg, to_train_on};
use crate::Done;
use crate::output::{Format, check_new_files, print_json};

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Directories of exported rounds, or files of examples
    #[arg(required = true, value_name = "DIR|FILE")]
    data: Vec<PathBuf>,
    /// The model's new file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The model's tasks [default: all in the examples]
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<Task>,
    /// Inverse of the regularization strength
    #[arg(long, value_name = "NUMBER", default_value_t = LinearSettings::default().c)]
    c: f64,
    #[command(flatten)]
    encoder: EncoderArg,
}

pub(crate) fn run(args: &TrainArgs, format: Format) -> Result<Done> {
    check_new_files(&[Some(&args.out)])?;
    let mut examples = Vec::new();
    for path in &args.data {
        examples.extend(to_train_on(path)?);
    }
    examples.retain(|example| args.tasks.is_empty() || args.tasks.contains(&example.task));
    let mut counts: BTreeMap<Task, usize> = BTreeMap::new();
    for example in &examples {
        *counts.entry(example.task).or_default() += 1;
    }
    let missing: Vec<String> = args
        .tasks
        .iter()
        .filter(|task| !counts.contains_key(task))
        .map(ToString::to_string)
        .collect();
    ensure!(
        missing.is_empty(),
        "there are no examples of `{}`: name files that have some, or leave the task out",
        missing.join("`, `")
    );
    let model = if let Some(encoder) = args.encoder.load()? {
        let spans: Vec<String> = counts
            .keys()
            .filter(|task| task.has_spans())
            .map(ToString::to_string)
            .collect();
        ensure!(
            spans.is_empty(),
            "a model with `--encoder` answers with labels, and `{}` is answered with words of a context: \
             name the tasks with labels by `--task`, or leave `--encoder` out",
            spans.join("`, `")
        );
        let settings = EncoderSettings {
            c: args.c,
            ..EncoderSettings::default()
        };
        train_encoder(&examples, settings, &encoder.embed())?
    } else {
        let settings = LinearSettings {
            c: args.c,
            ..LinearSettings::default()
        };
        train_linear(&examples, &settings)?
    };
    let about = || format!("can't write `{}`", args.out.display());
    File::create_new(&args.out)
        .and_then(|mut file| file.write_all(&model))
        .with_context(about)?;
    let digest = Digest::compute(&model);
    match format {
        Format::Json => print_json(
            &json!({ "file": args.out, "digest": digest, "n_bytes": model.len(), "examples": counts }),
        )?,
        Format::Text => {
            for (task, n) in &counts {
                println!("{task}: {n} examples");
            }
            println!("`{}`: {} bytes, {digest}", args.out.display(), model.len());
        }
    }
    Ok(Done::Fine)
}
