//! The organizer's decision on an example, which overrides the raters.

use anyhow::{Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use dataperf_collections::text::{Decision, Example, ExampleId, Gold, Span};
use dataperf_collections_aws::common::{decide_again, read, rule};
use dataperf_collections_aws::text::Examples;
use serde_json::json;

use crate::Done;
use crate::cloud::{CloudArgs, now};
use crate::commands::collection::disqualify::{check_reason, places};
use crate::output::{Format, print_json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum As {
    /// Its author is right
    Correct,
    /// Another answer is right
    Incorrect,
    /// It is not an example of the task
    Flagged,
}

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The example's id
    example: ExampleId,
    /// correct, incorrect, or flagged (not an example of the task)
    decision: As,
    /// If incorrect: the right label
    #[arg(long, group = "right")]
    label: Option<String>,
    /// If incorrect, for questions: the right words of the context
    #[arg(long, group = "right")]
    answer: Option<String>,
    /// The answer's first character in the context, from 0
    #[arg(long, requires = "answer")]
    start: Option<usize>,
    /// If incorrect, for questions: nothing in the context answers it
    #[arg(long, group = "right")]
    no_answer: bool,
    /// The reason, which is stored with the example
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

impl DecideArgs {
    fn says_what_is_right(&self) -> bool {
        self.label.is_some() || self.answer.is_some() || self.no_answer
    }

    /// The right answer, which replaces the author's; empty for a question that its context does
    /// not answer.
    fn right(&self, context: Option<&str>) -> Result<Option<Gold>> {
        if let Some(label) = &self.label {
            return Ok(Some(Gold::Label(label.clone())));
        }
        let Some(text) = &self.answer else {
            return Ok(None);
        };
        let span = match self.start {
            Some(start) => Span {
                start,
                text: text.clone(),
            },
            None => {
                Span::only(context.unwrap_or_default(), text, "").map_err(|reason| anyhow!(reason.message))?
            }
        };
        Ok(Some(Gold::Span(span)))
    }

    /// The decision on `example`, whose context is `context`.
    fn decision(&self, example: &Example, context: Option<&str>) -> Result<Decision> {
        match self.decision {
            As::Correct => return Ok(Decision::Correct),
            As::Flagged => return Ok(Decision::Flagged),
            As::Incorrect => {}
        }
        let task = example.task;
        if task.has_spans() && self.answer.is_none() && !self.no_answer {
            bail!("give the right answer: `--answer` with words of the context, or `--no-answer`");
        }
        if !task.has_spans() && self.label.is_none() {
            let labels = task.labels().join("`, `");
            bail!("say which label is right: `--label` with one of `{labels}`, another than the author's");
        }
        let right = self.right(context)?;
        let decision = Decision::incorrect(example, context, right);
        decision.map_err(|rejection| {
            let messages = rejection.reasons().iter().map(|reason| reason.message.as_str());
            anyhow!("{}", messages.collect::<Vec<_>>().join("; "))
        })
    }
}

pub(crate) async fn run(args: DecideArgs, format: Format) -> Result<Done> {
    check_reason(&args.reason)?;
    ensure!(
        !args.says_what_is_right() || args.decision == As::Incorrect,
        "only an incorrect example needs a right answer: leave out `--label`, `--answer` and `--no-answer`"
    );
    let cloud = args.cloud.clone().connect().await?;
    let table = cloud.leaderboards();
    let Some(example) = read::<Examples>(&table, &args.example).await? else {
        bail!("there is no such example: check the id");
    };
    let decision = args.decision(&example.content, example.more.context.as_deref())?;
    rule::<Examples>(&table, &args.example, &decision, now(), &args.reason).await?;
    decide_again(&places(&cloud), &[example]).await?;
    match format {
        Format::Json => print_json(&json!({ "example": args.example, "decision": decision }))?,
        Format::Text => println!("the example {} is decided: {}", args.example, decision.as_str()),
    }
    Ok(Done::Fine)
}
