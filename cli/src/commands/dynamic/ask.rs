//! `dataperf dynamic try`: what models say.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use dataperf_text::models::ModelError;
use dataperf_text::{Answer, Gold, Input, Span, Task, fooled};
use serde::Deserialize;
use serde_json::{Value, json};

use super::data::{EncoderArg, Named, lines, models};
use crate::Done;
use crate::output::{line_of, table};
use crate::rows::{RowFormat, print_rows};

#[derive(Debug, Args)]
pub(crate) struct TryArgs {
    /// A file of lines
    #[arg(value_name = "FILE", conflicts_with_all = ["task", "text"], required_unless_present = "text")]
    file: Option<PathBuf>,
    /// Models to ask, each by NAME=FILE or by its file
    #[arg(long = "model", value_name = "[NAME=]FILE", required = true)]
    models: Vec<Named>,
    #[command(flatten)]
    encoder: EncoderArg,
    /// The task: nli, qa, sentiment or hate-speech
    #[arg(long, value_name = "TASK", requires = "text")]
    task: Option<Task>,
    /// A text, of `qa` a question
    #[arg(long, value_name = "TEXT", requires = "task")]
    text: Option<String>,
    /// What the text is about
    #[arg(long, value_name = "TEXT", requires = "text")]
    context: Option<String>,
    /// The right label, of `qa` the right words, to see who is fooled
    #[arg(long, value_name = "LABEL", requires = "text")]
    label: Option<String>,
}

/// A text to ask about.
#[derive(Debug, Clone, Deserialize)]
struct Asked {
    task: Task,
    #[serde(default)]
    context: Option<String>,
    text: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    answer: Option<Span>,
}

impl Asked {
    /// What is right, where that is said.
    fn gold(&self) -> Result<Option<Gold>, String> {
        let task = self.task;
        match (&self.label, &self.answer) {
            (None, None) => Ok(None),
            (None, Some(span)) if task.has_spans() => Ok(Some(Gold::Span(span.clone()))),
            (Some(text), None) if task.has_spans() => {
                let context = self.context.as_deref().unwrap_or_default();
                let span = Span::find(context, text);
                let found = span.ok_or_else(|| format!("{} is not in the context", dataperf::quote(text)));
                found.map(Gold::Span).map(Some)
            }
            (Some(label), None) if task.labels().contains(&label.as_str()) => {
                Ok(Some(Gold::Label(label.clone())))
            }
            _ => {
                let known = if task.has_spans() {
                    "an `answer`".to_owned()
                } else {
                    format!("a `label` of `{}`", task.labels().join("`, `"))
                };
                Err(format!("the right answer to a text of `{task}` is {known}"))
            }
        }
    }

    fn checked(self) -> Result<(Self, Option<Gold>), String> {
        if self.task.always_needs_context() && self.context.is_none() {
            return Err(format!("a text of `{}` needs a context", self.task));
        }
        let gold = self.gold()?;
        Ok((self, gold))
    }
}

pub(super) fn run(args: &TryArgs, format: RowFormat) -> Result<Done> {
    let asked = asked(args)?;
    ensure!(
        !asked.is_empty(),
        "the file has no line: write one JSON object on each"
    );
    let mut rows = Vec::new();
    for (name, model) in models(&args.models, &args.encoder)? {
        for (idx, (asked, gold)) in asked.iter().enumerate() {
            let input = Input {
                context: asked.context.clone(),
                text: asked.text.clone(),
            };
            let answer = match model.answers(asked.task, &[input]) {
                Err(ModelError::OtherTask(_)) => None,
                answers => answers?.into_iter().next(),
            };
            rows.push(row(idx + 1, asked, &name, answer.as_ref(), gold.as_ref()));
        }
    }
    print_rows(
        &rows,
        &[
            "line",
            "task",
            "text",
            "model",
            "answer",
            "probability",
            "is_fooled",
        ],
        format,
        || {
            print(&rows);
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

fn asked(args: &TryArgs) -> Result<Vec<(Asked, Option<Gold>)>> {
    if let Some(path) = &args.file {
        return lines(path, Asked::checked);
    }
    let (Some(task), Some(text)) = (args.task, args.text.clone()) else {
        anyhow::bail!("name a file, or give a text by `--task` and `--text`");
    };
    let one = Asked {
        task,
        text,
        context: args.context.clone(),
        label: args.label.clone(),
        answer: None,
    };
    Ok(vec![one.checked().map_err(anyhow::Error::msg)?])
}

fn row(line: usize, asked: &Asked, model: &str, answer: Option<&Answer>, gold: Option<&Gold>) -> Value {
    let said = answer.map(|answer| answer.gold.as_str());
    let probability = answer.and_then(|answer| {
        let by_label = answer.probabilities.get(answer.gold.as_str());
        by_label.or_else(|| answer.probabilities.get("confidence"))
    });
    let is_fooled = answer
        .zip(gold)
        .map(|(answer, gold)| fooled(asked.task, gold, answer));
    json!({
        "line": line,
        "task": asked.task,
        "text": asked.text,
        "model": model,
        "answer": said,
        "probability": probability,
        "probabilities": answer.map(|answer| &answer.probabilities),
        "is_fooled": is_fooled,
    })
}

fn print(rows: &[Value]) {
    let mut shown = table(&["line", "task", "text", "model", "answer", "probability", "fooled"]);
    for row in rows {
        let text = |key: &str| line_of(row[key].as_str().unwrap_or("–"));
        let probability = row["probability"]
            .as_f64()
            .map_or("–".to_owned(), |share| format!("{share:.3}"));
        let is_fooled = match row["is_fooled"].as_bool() {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        };
        shown.add_row([
            row["line"].to_string(),
            text("task"),
            text("text"),
            text("model"),
            text("answer"),
            probability,
            is_fooled.to_owned(),
        ]);
    }
    println!("{shown}");
}
