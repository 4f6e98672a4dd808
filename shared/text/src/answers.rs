//! What people and models say of a text, and when a model is fooled.

use std::collections::BTreeMap;

use dataperf::{Reason, quote};
use dataperf_collection::consensus::is_majority;
use serde::{Deserialize, Serialize};

use crate::squad::{normalised, token_f1};
use crate::task::Task;

/// A question fools a model if the F1 of the words of its answer with the annotator's is below this.
pub const FOOLED_BELOW_F1: f64 = 0.4;

/// What somebody takes for right: a label, or words of the context.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gold {
    /// One of the task's labels.
    #[serde(rename = "label")]
    Label(String),
    /// Words of the context, which answer a question.
    #[serde(rename = "answer")]
    Span(Span),
}

/// Words of a context.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Unicode characters of the context before it.
    pub start: usize,
    /// The words that stand there.
    pub text: String,
}

impl Span {
    /// Whether `context` has the text exactly there.
    ///
    /// ```
    /// use dataperf_text::Span;
    /// let span = |start| Span { start, text: "Ärger".into() };
    /// assert!(span(6).is_in("großer Ärger") == false && span(7).is_in("großer Ärger"));
    /// ```
    pub fn is_in(&self, context: &str) -> bool {
        let begin = context.char_indices().nth(self.start).map(|(byte, _)| byte);
        begin.is_some_and(|byte| context[byte..].starts_with(&self.text)) && !self.text.is_empty()
    }

    /// The first place at which `context` has `text`.
    pub fn find(context: &str, text: &str) -> Option<Self> {
        let byte = context.find(text).filter(|_| !text.is_empty())?;
        Some(Self {
            start: context[..byte].chars().count(),
            text: text.to_owned(),
        })
    }

    /// The only place at which `context` has `text`. `at` is the place of the answer in a line.
    ///
    /// ```
    /// use dataperf_text::Span;
    /// assert_eq!(Span::only("großer Ärger", "Ärger", "").unwrap().start, 7);
    /// let reason = Span::only("tick, tock, tick", "tick", "").unwrap_err();
    /// assert!(reason.message.contains("0, 12"));
    /// ```
    ///
    /// # Errors
    /// A [`Reason`] where there is none, or where there are several: with the number of characters before each.
    pub fn only(context: &str, text: &str, at: &str) -> Result<Self, Reason> {
        let starts = starts(context, text);
        match *starts {
            [start] => Ok(Self {
                start,
                text: text.to_owned(),
            }),
            [] => {
                let message = format!(
                    "the context has no {}: copy words of the context, letter by letter",
                    quote(text)
                );
                Err(Reason::new("not_in_context", at, message))
            }
            _ => {
                let message = format!(
                    "the context has {} at {} places: give one of them as `start`, {}",
                    quote(text),
                    starts.len(),
                    listed(&starts)
                );
                Err(Reason::new("missing_start", at, message))
            }
        }
    }
}

/// The most places of an answer that are listed.
const MAX_LISTED: usize = 20;

/// For each place at which `context` has `text`, the number of Unicode characters before it.
fn starts(context: &str, text: &str) -> Vec<usize> {
    let places = context.char_indices().enumerate();
    let found = places.filter(|(_, (byte, _))| !text.is_empty() && context[*byte..].starts_with(text));
    found.map(|(start, _)| start).collect()
}

fn listed(starts: &[usize]) -> String {
    let first: Vec<String> = starts.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    let more = if starts.len() > MAX_LISTED { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

impl Gold {
    /// The words for people: the label, or the span's text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Label(label) => label,
            Self::Span(span) => &span.text,
        }
    }

    /// Whether two people say the same: the same label, or spans with the same words, wherever they stand.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Label(one), Self::Label(other)) => one == other,
            (Self::Span(one), Self::Span(other)) => normalised(&one.text) == normalised(&other.text),
            _ => false,
        }
    }
}

/// What a model sees of an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The context's text, where there is a context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text: a statement, a question, or what is judged by itself.
    pub text: String,
}

/// What a model says of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it takes for right; a span without a text says that the context has no answer.
    #[serde(flatten)]
    pub gold: Gold,
    /// The probability that it gives each label; for a span `confidence`.
    #[serde(default)]
    pub probabilities: BTreeMap<String, f64>,
}

/// Whether a model's answer is wrong where `said` is right: another label, or words that have too little in common with the right ones.
///
/// ```
/// use dataperf_text::{Answer, Gold, Span, Task, fooled};
/// let span = |text: &str| Gold::Span(Span { start: 0, text: text.into() });
/// let answer = Answer { gold: span("the green door"), probabilities: Default::default() };
/// assert!(!fooled(Task::Qa, &span("door, green"), &answer) && fooled(Task::Qa, &span("a red house"), &answer));
/// ```
pub fn fooled(task: Task, said: &Gold, answer: &Answer) -> bool {
    is_wrong(task, said, &answer.gold)
}

/// Whether what somebody answers is wrong where `said` is right.
pub fn is_wrong(task: Task, said: &Gold, answer: &Gold) -> bool {
    if task.has_spans() {
        token_f1(answer.as_str(), said.as_str()) < FOOLED_BELOW_F1
    } else {
        !said.says_the_same(answer)
    }
}

/// Whether an example fools a round's models: more than half of them.
pub fn is_fooling(n_fooled: usize, n_targets: usize) -> bool {
    is_majority(n_fooled, n_targets)
}
