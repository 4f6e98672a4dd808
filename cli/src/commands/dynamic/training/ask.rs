//! `dataperf dynamic try`: what models say.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use dataperf_collections::text::models::ModelError;
use dataperf_collections::text::{Answer, Gold, Input, Span, Task, fooled};
use serde::Deserialize;
use serde_json::{Value, json};

use super::data::{EncoderArg, Named, lines, models};
use crate::Done;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{line_of, table};

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
    /// A text, or for `qa` a question
    #[arg(long, value_name = "TEXT", requires = "task")]
    text: Option<String>,
    /// The context of the text
    #[arg(long, value_name = "TEXT", requires = "text")]
    context: Option<String>,
    /// The right label, or for `qa` the right words, to see which models err
    #[arg(long, value_name = "LABEL", requires = "text")]
    label: Option<String>,
}

/// A text to ask about.
#[derive(Debug, Clone, Deserialize)]
struct Question {
    task: Task,
    #[serde(default)]
    context: Option<String>,
    text: String,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    answer: Option<Span>,
}

impl Question {
    /// The right answer, if given.
    fn gold(&self) -> Result<Option<Gold>, String> {
        let task = self.task;
        match (&self.label, &self.answer) {
            (None, None) => Ok(None),
            (None, Some(span)) if task.has_spans() => Ok(Some(Gold::Span(span.clone()))),
            (Some(text), None) if task.has_spans() => {
                let context = self.context.as_deref().unwrap_or_default();
                let span = Span::find(context, text);
                let span = span.ok_or_else(|| format!("{} is not in the context", dataperf::quote(text)));
                span.map(Gold::Span).map(Some)
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

pub(crate) fn run(args: &TryArgs, format: RowFormat) -> Result<Done> {
    let request = read_questions(args)?;
    ensure!(
        !request.is_empty(),
        "the file has no line: write one JSON object on each"
    );
    let mut rows = Vec::new();
    for (name, model) in models(&args.models, &args.encoder)? {
        for (idx, (request, gold)) in request.iter().enumerate() {
            let input = Input {
                context: request.context.clone(),
                text: request.text.clone(),
            };
            let answer = match model.answers(request.task, &[input]) {
                Err(ModelError::OtherTask(_)) => None,
                answers => answers?.into_iter().next(),
            };
            rows.push(row(idx + 1, request, &name, answer.as_ref(), gold.as_ref()));
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

fn read_questions(args: &TryArgs) -> Result<Vec<(Question, Option<Gold>)>> {
    if let Some(path) = &args.file {
        return lines(path, Question::checked);
    }
    let (Some(task), Some(text)) = (args.task, args.text.clone()) else {
        anyhow::bail!("name a file, or give a text by `--task` and `--text`");
    };
    let one = Question {
        task,
        text,
        context: args.context.clone(),
        label: args.label.clone(),
        answer: None,
    };
    Ok(vec![one.checked().map_err(anyhow::Error::msg)?])
}

fn row(line: usize, request: &Question, model: &str, answer: Option<&Answer>, gold: Option<&Gold>) -> Value {
    let answered = answer.map(|answer| answer.gold.as_str());
    let probability = answer.and_then(|answer| {
        let by_label = answer.probabilities.get(answer.gold.as_str());
        by_label.or_else(|| answer.probabilities.get("confidence"))
    });
    let is_fooled = answer
        .zip(gold)
        .map(|(answer, gold)| fooled(request.task, gold, answer));
    json!({
        "line": line,
        "task": request.task,
        "text": request.text,
        "model": model,
        "answer": answered,
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
