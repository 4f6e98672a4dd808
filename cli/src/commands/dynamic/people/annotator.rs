//! An annotator's commands: write examples, and see the models' answers at once.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use dataperf::{Receipt, SubmitterName};
use dataperf_collections::text::{BENCHMARK, Kind, Task};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::CloudArgs;
use crate::commands::collection::{send, send_file, show};
use crate::output::rows::RowFormat;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// A file of examples, one JSON object a line
    #[arg(conflicts_with_all = ["task", "context_id", "text", "label", "answer", "start", "why"])]
    file: Option<PathBuf>,
    /// Your name
    #[arg(long, short)]
    submitter: SubmitterName,
    /// The task: `nli`, `qa`, `sentiment` or `hate-speech`
    #[arg(long)]
    task: Option<Task>,
    /// The id of the text's context
    #[arg(long)]
    context_id: Option<String>,
    /// The text, such as a statement, a question or an opinion
    #[arg(long)]
    text: Option<String>,
    /// The right label
    #[arg(long)]
    label: Option<String>,
    /// For questions: the words of the context that answer it
    #[arg(long)]
    answer: Option<String>,
    /// For questions: the answer's first character in the context, from 0
    #[arg(long, requires = "answer")]
    start: Option<usize>,
    /// Why it should fool the models
    #[arg(long)]
    why: Option<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

impl SubmitArgs {
    fn line(&self) -> Option<Value> {
        let mut line = json!({ "task": self.task?, "text": self.text.as_ref()? });
        let texts = [
            ("context_id", &self.context_id),
            ("label", &self.label),
            ("why", &self.why),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                line[name] = json!(value);
            }
        }
        if let Some(answer) = &self.answer {
            line["answer"] = json!({ "text": answer });
            if let Some(start) = self.start {
                line["answer"]["start"] = json!(start);
            }
        }
        Some(line)
    }
}

pub(crate) async fn submit(args: SubmitArgs, format: RowFormat) -> Result<Done> {
    let cloud = args.cloud.clone().connect().await?;
    let kind = Kind::Submit.as_str();
    let receipt = match (&args.file, args.line()) {
        (Some(path), _) => send_file(&cloud, BENCHMARK, kind, &args.submitter, path).await?,
        (None, Some(line)) => send(&cloud, BENCHMARK, kind, &args.submitter, &[line]).await?,
        (None, None) => {
            bail!("there is nothing to submit: name a file, or give `--task`, `--text` and the right answer")
        }
    };
    let done = show(&receipt, format)?;
    if format == RowFormat::Text {
        print_answers(&receipt);
    }
    Ok(done)
}

/// Each model's answers, line by line.
fn print_answers(receipt: &Receipt) {
    for line in &receipt.verdict.lines {
        let Some(fooled) = line.details.get("fooled") else {
            continue;
        };
        let is_fooling = *fooled == json!(true);
        let message = if is_fooling {
            "the models are fooled"
        } else {
            "the models are not fooled"
        };
        println!("line {}: {message}", line.line);
        if let Some(n) = line.details.get("models_left_out") {
            println!(
                "  the answers of {n} models are left out, since the receipt is full; the line is filed all the same. A later file with fewer lines has all answers"
            );
        }
        let models = line.details.get("models").and_then(Value::as_object);
        for (name, model) in models.into_iter().flatten() {
            let answer = model["label"]
                .as_str()
                .or_else(|| model["answer"]["text"].as_str())
                .unwrap_or_default();
            let is_fooled = if model["fooled"] == json!(true) {
                "fooled"
            } else {
                "right"
            };
            println!("  {name}: {answer:?}, {is_fooled}");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Written {
        #[command(flatten)]
        args: SubmitArgs,
    }

    #[test]
    fn an_answer_needs_no_place_in_the_command() {
        let question = "submit -s ada --task qa --context-id mill --text Where? --answer mill";
        let line = |more: &str| {
            let words = question.split(' ').chain(more.split_terminator(' '));
            Written::try_parse_from(words).map(|written| written.args.line())
        };
        let answer = |more: &str| line(more).unwrap().unwrap()["answer"].clone();
        assert_eq!(answer(""), json!({ "text": "mill" }));
        assert_eq!(answer("--start 7"), json!({ "start": 7, "text": "mill" }));
    }
}
