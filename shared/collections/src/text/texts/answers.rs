//! People's and models' answers to a text, and when a model is fooled.

use std::collections::BTreeMap;

use crate::common::consensus::is_majority;
use dataperf::{Reason, quote};
use serde::{Deserialize, Serialize};

use crate::text::task::Task;
use crate::text::texts::squad::{normalised, token_f1};

/// A question fools a model if the F1 of the words of its answer with the annotator's is below this.
pub const FOOLED_BELOW_F1: f64 = 0.4;

/// An answer: a label, or words of the context.
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
    /// The words at that place.
    pub text: String,
}

impl Span {
    /// Whether `context` has the text exactly there.
    ///
    /// ```
    /// use dataperf_collections::text::Span;
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
    /// use dataperf_collections::text::Span;
    /// assert_eq!(Span::only("großer Ärger", "Ärger", "").unwrap().start, 7);
    /// let reason = Span::only("tick, tock, tick", "tick", "").unwrap_err();
    /// assert!(reason.message.contains("0, 12"));
    /// ```
    ///
    /// # Errors
    /// A [`Reason`] if there is none, or if there are several: with the number of characters before
    /// each.
    pub fn only(context: &str, text: &str, at: &str) -> Result<Self, Reason> {
        let starts = starts(context, text);
        match *starts {
            [start] => Ok(Self {
                start,
                text: text.to_owned(),
            }),
            [] => {
                let message = format!(
                    "the context does not contain {}: copy the words exactly from the context",
                    quote(text)
                );
                Err(Reason::new("not_in_context", at, message))
            }
            _ => {
                let message = format!(
                    "the context contains {} at {} places: set `start` to one of {}",
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
    let matches = places.filter(|(_, (byte, _))| !text.is_empty() && context[*byte..].starts_with(text));
    matches.map(|(start, _)| start).collect()
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

    /// Whether two answers agree: the same label, or spans with the same words at any place.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Label(one), Self::Label(other)) => one == other,
            (Self::Span(one), Self::Span(other)) => normalised(&one.text) == normalised(&other.text),
            _ => false,
        }
    }
}

/// The part of an example that a model sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The context's text, if there is a context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text: a statement, a question, or what is judged by itself.
    pub text: String,
}

/// A model's answer to a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its answer; a span without a text says that the context has no answer.
    #[serde(flatten)]
    pub gold: Gold,
    /// The probability that it gives each label; for a span `confidence`.
    #[serde(default)]
    pub probabilities: BTreeMap<String, f64>,
}

/// Whether a model's answer is wrong where `gold` is right: another label, or words that have too little in common with the right ones.
///
/// ```
/// use dataperf_collections::text::{Answer, Gold, Span, Task, fooled};
/// let span = |text: &str| Gold::Span(Span { start: 0, text: text.into() });
/// let answer = Answer { gold: span("the green door"), probabilities: Default::default() };
/// assert!(!fooled(Task::Qa, &span("door, green"), &answer) && fooled(Task::Qa, &span("a red house"), &answer));
/// ```
pub fn fooled(task: Task, gold: &Gold, answer: &Answer) -> bool {
    is_wrong(task, gold, &answer.gold)
}

/// Whether what somebody answers is wrong where `gold` is right.
pub fn is_wrong(task: Task, gold: &Gold, answer: &Gold) -> bool {
    if task.has_spans() {
        token_f1(answer.as_str(), gold.as_str()) < FOOLED_BELOW_F1
    } else {
        !gold.says_the_same(answer)
    }
}

/// Whether an example fools a round's models: more than half of them.
pub fn is_fooling(n_fooled: usize, n_targets: usize) -> bool {
    is_majority(n_fooled, n_targets)
}
