//! The four tasks.

use serde::{Deserialize, Serialize};

use crate::common::words;

/// A task: people write texts for it, and models answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Natural language inference: whether a context says that the text is true, that it is false, or neither.
    Nli,
    /// Extractive question answering: which words of a context answer the text, a question.
    Qa,
    /// The author's sentiment in a text.
    Sentiment,
    /// Whether a text attacks people for what they are.
    HateSpeech,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nli, Self::Qa, Self::Sentiment, Self::HateSpeech];

    /// The word in lines, and the name of the task's board.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nli => "nli",
            Self::Qa => "qa",
            Self::Sentiment => "sentiment",
            Self::HateSpeech => "hate-speech",
        }
    }

    /// What people call the task and its board.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Nli => "NLI",
            Self::Qa => "Question answering",
            Self::Sentiment => "Sentiment",
            Self::HateSpeech => "Hate speech",
        }
    }

    /// The labels that a text can have; none where the answer is a span of the context.
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Self::Nli => &["entailment", "neutral", "contradiction"],
            Self::Qa => &[],
            Self::Sentiment => &["positive", "neutral", "negative"],
            Self::HateSpeech => &["hateful", "not-hateful"],
        }
    }

    /// Whether the answer is a span of the context.
    pub const fn has_spans(self) -> bool {
        matches!(self, Self::Qa)
    }

    /// Whether a text makes no sense without a context.
    pub const fn always_needs_context(self) -> bool {
        matches!(self, Self::Nli | Self::Qa)
    }

    /// Whether what is written may hurt who reads it, so that it is shown only to those who have agreed to see it.
    pub const fn is_harmful(self) -> bool {
        matches!(self, Self::HateSpeech)
    }

    /// One line about its board.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Nli => "natural language inference: validated examples that fool the models",
            Self::Qa => "extractive question answering: validated questions that fool the models",
            Self::Sentiment => "sentiment: validated texts that fool the models",
            Self::HateSpeech => "hate speech: validated texts that fool the models",
        }
    }
}

words!(Task is "a task", "`nli`, `qa`, `sentiment` or `hate-speech`");
