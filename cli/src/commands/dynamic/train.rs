//! `dataperf dynamic train`: the next target.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use dataperf::Digest;
use dataperf_text::Task;
use dataperf_text::models::{EncoderSettings, LinearSettings, train_encoder, train_linear};
use serde_json::json;

use super::data::{EncoderArg, to_train_on};
use crate::Done;
use crate::output::{Format, check_new_files, print_json};

#[derive(Debug, Args)]
#[command(
    after_help = "A line of a file has `task`, `text`, `label` or `answer`, and `context` where the task has one, as in the train sets that \
    `dataperf dynamic export` writes; other keys are passed over. The same examples in the same order give the same bytes.\n\n\
    The model is a linear one, which counts words and sequences of letters, or with `--encoder` a linear head on a sentence transformer's \
    vectors, which has no answers to `qa`.\n\n\
    A data set names the model below `targets`, with the file below its directory `models/`, and an encoder's weights in `models/minilm/`."
)]
pub(crate) struct TrainArgs {
    /// Directories of exported rounds, of which the train sets are taken, or files of lines
    #[arg(required = true, value_name = "DIR|FILE")]
    data: Vec<PathBuf>,
    /// The model's file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Tasks that the model is for; by default all that the examples have
    #[arg(long = "task", value_name = "TASK")]
    tasks: Vec<Task>,
    /// The inverse of the penalty's strength: the higher, the closer the fit
    #[arg(long, value_name = "NUMBER", default_value_t = LinearSettings::default().c)]
    c: f64,
    #[command(flatten)]
    encoder: EncoderArg,
}

pub(super) fn run(args: &TrainArgs, format: Format) -> Result<Done> {
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
    let digest = Digest::of(&model);
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
