//! An example: a text and what its author says is right about it.

use crate::common::text::canonical;
use crate::common::{Fields, LineItem};
use dataperf::{Reason, Reasons, quote};
use serde::{Deserialize, Serialize};

use super::{MAX_WHY_CHARS, Rules, label, span};
use crate::text::task::Task;
use crate::text::texts::answers::{Gold, Input};
use crate::text::texts::contexts::{Context, Contexts};
use crate::text::texts::filter;

/// A text that is meant to fool the models, and what its author says is right about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The task.
    pub task: Task,
    /// The context that it was written for, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The text, in its [canonical form](crate::common::text::canonical).
    pub text: String,
    /// The right answer: a label, or the words of the context that answer the text.
    #[serde(flatten)]
    pub gold: Gold,
    /// Why it should fool the models, in its author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Example {
    /// The part that models and raters see.
    pub fn input(&self, contexts: &Contexts) -> Input {
        let context = self.context_id.as_deref().and_then(|id| contexts.get(id));
        Input {
            context: context.map(|context| context.text.clone()),
            text: self.text.clone(),
        }
    }
}

impl LineItem for Example {
    type Rules = Rules;
    const MAX_LINES: usize = 200;
    const MAX_BYTES: u64 = 4 << 20;

    fn from_fields(mut fields: Fields<'_>, rules: &Rules, reasons: &mut Reasons) -> Option<Self> {
        let offered = &rules.configuration.tasks;
        let names: Vec<&str> = offered.keys().map(|task| task.as_str()).collect();
        let expected = format!("a task that is offered: choose from `{}`", names.join("`, `"));
        let is_offered = |word: &str| word.parse().ok().filter(|task: &Task| offered.contains_key(task));
        let task = fields.parsed("task", "unknown_task", &expected, &names, is_offered, reasons);
        let needs_context = task.map(|task| rules.configuration.needs_context(task));
        let context = context(&mut fields, task, needs_context, &rules.contexts, reasons);
        let at_text = fields.at("text");
        let text = fields.text("text", rules.configuration.max_chars, reasons);
        let gold = gold(&mut fields, task, context, reasons);
        let why = fields.optional_text("why", MAX_WHY_CHARS, reasons);
        fields.finish(known_keys(task, needs_context), reasons);
        let text = text.map(|text| canonical(&text));
        if let (Some(task), Some(text)) = (task, &text) {
            reasons.append(filter::check(text, task, &at_text, &rules.configuration));
        }
        let context_id = context.map(|context| context.id.clone());
        Some(Self {
            task: task?,
            context_id: if needs_context? { Some(context_id?) } else { None },
            text: text?,
            gold: gold?,
            why: canonical(&why?),
        })
    }
}

fn known_keys(task: Option<Task>, needs_context: Option<bool>) -> &'static str {
    match (task.map(Task::has_spans), needs_context) {
        (Some(true), _) => "`task`, `context_id`, `text`, `answer` and `why`",
        (Some(false), Some(false)) => "`task`, `text`, `label` and `why`",
        (Some(false), _) => "`task`, `context_id`, `text`, `label` and `why`",
        (None, _) => "`task`, `context_id`, `text`, `label` or `answer`, and `why`",
    }
}

/// The context that a line names, if it is one of the task's.
fn context<'a>(
    fields: &mut Fields<'_>,
    task: Option<Task>,
    needs_context: Option<bool>,
    contexts: &'a Contexts,
    reasons: &mut Reasons,
) -> Option<&'a Context> {
    if needs_context == Some(false) || (needs_context.is_none() && !fields.has("context_id")) {
        return None; // a key that is too much is noted as unknown
    }
    let at = fields.at("context_id");
    let known = "the id of a context: copy one of the round's contexts";
    let context = fields.parsed(
        "context_id",
        "unknown_context",
        known,
        contexts.iter().map(|context| &context.id),
        |id| contexts.get(id),
        reasons,
    )?;
    if let Some(task) = task.filter(|&task| task != context.task) {
        let message = format!(
            "the context {} is for `{}`: choose a context of `{task}`",
            quote(&context.id),
            context.task
        );
        reasons.add(Reason::new("other_task", at, message));
        return None;
    }
    Some(context)
}

fn gold(
    fields: &mut Fields<'_>,
    task: Option<Task>,
    context: Option<&Context>,
    reasons: &mut Reasons,
) -> Option<Gold> {
    let has_spans = task.map_or_else(|| fields.has("answer"), Task::has_spans);
    if !has_spans {
        return label(fields, task, reasons);
    }
    let at = fields.at("answer");
    let is_null = fields.has("answer");
    let mut noted = Reasons::default();
    let span = span(fields, context.map(|context| context.text.as_str()), &mut noted);
    if span.is_none() && noted.is_empty() {
        let text = if is_null { "null" } else { "missing" };
        let message = format!("`answer` is {text}: give the words of the context that answer the question");
        noted.add(Reason::new("missing_key", at, message));
    }
    reasons.append(noted);
    span
}
