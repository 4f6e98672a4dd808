//! Texts that are made by rules, so that what is right about each is known.

mod nli;
mod sentiment;

use super::chance::Chance;
use crate::text::task::Task;
use crate::text::texts::answers::Gold;
use crate::text::texts::contexts::Context;

/// A generated text that can be rephrased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    Nli(nli::Hypothesis),
    Sentiment(sentiment::Review),
}

impl Made {
    /// A plain text, as the first models are trained on.
    pub(super) fn plain(task: Task, chance: &mut Chance) -> Self {
        match task {
            Task::Nli => Self::Nli(nli::Hypothesis::plain(chance)),
            _ => Self::Sentiment(sentiment::Review::plain(chance)),
        }
    }

    /// The text in another of `n_rewrites` ways, with another meaning perhaps.
    pub(super) fn rewritten(&self, rewrite: usize, chance: &mut Chance) -> Self {
        match self {
            Self::Nli(made) => Self::Nli(made.rewritten(rewrite, chance)),
            Self::Sentiment(made) => Self::Sentiment(made.rewritten(rewrite, chance)),
        }
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Nli(made) => made.text(),
            Self::Sentiment(made) => made.text(),
        }
    }

    /// Its context, if there is one.
    pub(super) fn context_id(&self) -> Option<String> {
        match self {
            Self::Nli(made) => Some(made.context_id()),
            Self::Sentiment(_) => None,
        }
    }

    /// The right answer.
    pub(super) fn truth(&self) -> Gold {
        Gold::Label(
            match self {
                Self::Nli(made) => made.truth(),
                Self::Sentiment(made) => made.truth(),
            }
            .to_owned(),
        )
    }
}

/// The names of the ways to rewrite a text of a task.
pub(super) fn rewrites(task: Task) -> &'static [&'static str] {
    match task {
        Task::Nli => &nli::REWRITES,
        _ => &sentiment::REWRITES,
    }
}

/// The contexts of a task.
pub(super) fn contexts(task: Task) -> Vec<Context> {
    match task {
        Task::Nli => nli::contexts(),
        _ => Vec::new(),
    }
}
