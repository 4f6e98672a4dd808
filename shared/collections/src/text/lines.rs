//! The two kinds of artifact: JSON Lines, an outcome for each line, so that the good ones are kept when others fail.

mod example;
mod verdict;

use crate::common::Fields;
use dataperf::{Reason, Reasons};

use crate::text::configuration::Configuration;
use crate::text::task::Task;
use crate::text::texts::answers::{Gold, Span};
use crate::text::texts::contexts::Contexts;

pub use example::Example;
pub use verdict::{Judgement, RaterFinding, Verdict};

/// The most characters of an annotator's explanation or a rater's reason.
pub const MAX_WHY_CHARS: usize = 1_000;
/// The most characters of an answer.
const MAX_ANSWER_CHARS: usize = 1_000;

/// The rules that lines have to obey.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// The organizer's configuration.
    pub configuration: Configuration,
    /// The contexts for which texts are written.
    pub contexts: Contexts,
}

/// A label, which has to be one of the task's where the task is known.
fn label(fields: &mut Fields<'_>, task: Option<Task>, reasons: &mut Reasons) -> Option<Gold> {
    let known: Vec<&str> = match task {
        Some(task) => task.labels().to_vec(),
        None => Task::ALL.iter().flat_map(|task| task.labels()).copied().collect(),
    };
    let expected = format!("a label here: choose from `{}`", known.join("`, `"));
    let is_known = |word: &str| known.contains(&word).then(|| Gold::Label(word.to_owned()));
    fields.parsed("label", "unknown_label", &expected, &known, is_known, reasons)
}

/// A span, which must be in the context if that is known. `start` is optional if the text occurs
/// there once.
fn span(fields: &mut Fields<'_>, context: Option<&str>, reasons: &mut Reasons) -> Option<Gold> {
    let at = fields.at("answer");
    let mut answer = fields.within("answer", reasons)?;
    let is_placed = answer.has("start") || context.is_none();
    let start = is_placed.then(|| answer.count("start", reasons));
    let text = answer.text("text", MAX_ANSWER_CHARS, reasons);
    answer.finish("`start` and `text`", reasons);
    let text = text?;
    let span = match (start, context) {
        (Some(start), _) => placed(start?, text, context, &at),
        (None, context) => Span::only(context.unwrap_or_default(), &text, &at),
    };
    span.map_err(|reason| reasons.add(reason)).ok().map(Gold::Span)
}

/// The span at `start`, which must be in the context if that is known.
fn placed(start: usize, text: String, context: Option<&str>, at: &str) -> Result<Span, Reason> {
    let span = Span { start, text };
    match context.and_then(|context| misplaced(&span, context, at)) {
        Some(reason) => Err(reason),
        None => Ok(span),
    }
}

/// The reason why a span is not in the context, if it is not.
fn misplaced(span: &Span, context: &str, at: &str) -> Option<Reason> {
    if span.is_in(context) {
        return None;
    }
    let (start, n_chars) = (span.start as u64, context.chars().count() as u64);
    let end = start.saturating_add(span.text.chars().count() as u64);
    if end > n_chars {
        let message = format!(
            "the answer ends at character {end}, but the context has {n_chars} characters: set `start` to the \
                number of characters before the answer"
        );
        return Some(Reason::over("outside_context", at, n_chars, end, message));
    }
    let hint = Span::find(context, &span.text).map_or_else(
        || "copy the words exactly from the context".to_owned(),
        |span| format!("set `start` to {}", span.start),
    );
    let message = format!("the context has another text at character {start}: {hint}");
    Some(Reason::new("not_in_context", at, message))
}

/// Notes why `gold` can't be what is right about a text of the task.
fn check_gold(task: Task, gold: &Gold, context: Option<&str>, at: &str, reasons: &mut Reasons) {
    match gold {
        Gold::Label(label) if !task.labels().contains(&label.as_str()) => {
            let message = if task.has_spans() {
                format!("a question of `{task}` has no label: give an `answer`, or null where there is none")
            } else {
                let known = task.labels().join("`, `");
                format!(
                    "{} is not a label of `{task}`: choose from `{known}`",
                    dataperf::quote(label)
                )
            };
            reasons.add(Reason::new("unknown_label", at, message));
        }
        Gold::Span(_) if !task.has_spans() => {
            let known = task.labels().join("`, `");
            let message = format!("`{task}` has no answers: give a `label` of `{known}`");
            reasons.add(Reason::new("no_answers", at, message));
        }
        Gold::Span(span) => {
            if let Some(reason) = context.and_then(|context| misplaced(span, context, at)) {
                reasons.add(reason);
            }
        }
        Gold::Label(_) => {}
    }
}
