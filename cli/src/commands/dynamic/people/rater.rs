//! A rater's commands: show the next example, and record a verdict on it.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use dataperf::SubmitterName;
use dataperf_collections::text::{BENCHMARK, ExampleId, Kind, Task};
use dataperf_collections_aws::common::judged_by;
use dataperf_collections_aws::text::{Examples, Unjudged, unjudged};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::CloudArgs;
use crate::commands::collection::{Consent, send, show, skipped};
use crate::commands::dynamic::WELL_BEING;
use crate::output::rows::RowFormat;
use crate::output::{Format, print_json};

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Your name
    #[arg(long, short)]
    rater: SubmitterName,
    /// Only examples of this task
    #[arg(long)]
    task: Option<Task>,
    /// Skip this example; repeatable
    #[arg(long, value_name = "EXAMPLE")]
    skip: Vec<ExampleId>,
    /// Consent to texts that may be hateful, once per person and folder
    #[arg(long)]
    consent: bool,
    /// The folder that stores consent and skipped examples
    #[arg(long, value_name = "DIR", default_value = ".")]
    notes: PathBuf,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn next(args: NextArgs, format: Format) -> Result<Done> {
    let noted = args.notes.join(format!("skipped-by-{}.txt", args.rater));
    let skipped = skipped(&noted, &args.skip)?;
    let cloud = args.cloud.clone().connect().await?;
    let table = cloud.leaderboards();
    let judged = judged_by::<Examples>(&table, args.rater.as_str()).await?;
    let waiting = unjudged(&table).await?;
    let mut left = waiting.into_iter().filter(|waiting| {
        let is_asked_for = args.task.is_none_or(|task| task == waiting.task);
        is_asked_for && !judged.contains(&waiting.example) && !skipped.contains(&waiting.example)
    });
    let Some(next) = left.next() else {
        match format {
            Format::Json => print_json(&json!(null))?,
            Format::Text => println!("no example waits for your verdict"),
        }
        return Ok(Done::Fine);
    };
    if next.task.is_harmful() {
        let consent = Consent {
            path: &args.notes.join("consent.txt"),
            to: "be shown texts that may be hateful",
            well_being: WELL_BEING,
        };
        consent.ask(&args.rater, args.consent)?;
    }
    let n_more = left.count();
    match format {
        Format::Json => print_json(&json!({
            "example": next.example, "task": next.task, "context": next.context, "text": next.text,
            "labels": next.task.labels(), "n_more": n_more,
        }))?,
        Format::Text => print(&next, n_more),
    }
    Ok(Done::Fine)
}

fn print(next: &Unjudged, n_more: usize) {
    println!("example  {}", next.example);
    println!("task     {}", next.task);
    if let Some(context) = &next.context {
        println!("context  {context}");
    }
    println!("text     {}", next.text);
    if next.task.has_spans() {
        println!("answer   --answer with words of the context and --start, or --no-answer");
    } else {
        println!("labels   {}", next.task.labels().join(", "));
    }
    println!(
        "{n_more} more wait for you. To leave this example to others: --skip {}. Skip an example that you \
         wrote yourself. {WELL_BEING}",
        next.example
    );
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// The example's id
    example: ExampleId,
    /// Your name
    #[arg(long, short)]
    rater: SubmitterName,
    /// The right label
    #[arg(long, group = "found")]
    label: Option<String>,
    /// For questions: the words of the context that answer it
    #[arg(long, group = "found", requires = "start")]
    answer: Option<String>,
    /// For questions: the answer's first character in the context, from 0
    #[arg(long, requires = "answer")]
    start: Option<usize>,
    /// For questions: nothing in the context answers it
    #[arg(long, group = "found")]
    no_answer: bool,
    /// It is not an example of the task; give the reason
    #[arg(long, group = "found", value_name = "WHY")]
    flag: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

impl JudgeArgs {
    fn line(&self) -> Option<Value> {
        let id = &self.example;
        if let Some(label) = &self.label {
            return Some(json!({ "example": id, "label": label }));
        }
        if let (Some(answer), Some(start)) = (&self.answer, self.start) {
            return Some(json!({ "example": id, "answer": { "start": start, "text": answer } }));
        }
        if self.no_answer {
            return Some(json!({ "example": id, "answer": null }));
        }
        let why = self.flag.as_ref()?;
        Some(json!({ "example": id, "flagged": why }))
    }
}

pub(crate) async fn judge(args: JudgeArgs, format: RowFormat) -> Result<Done> {
    let Some(line) = args.line() else {
        bail!(
            "give a verdict: `--label`, `--answer` with `--start`, `--no-answer`, or the reason why it is not an example: \
         `--flag`"
        );
    };
    let cloud = args.cloud.connect().await?;
    let receipt = send(&cloud, BENCHMARK, Kind::Verdict.as_str(), &args.rater, &[line]).await?;
    show(&receipt, format)
}
