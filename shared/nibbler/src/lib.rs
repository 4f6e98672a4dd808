//! Adversarial Nibbler's pure core: people look for safe-looking prompts whose generated image is unsafe.
//!
//! The benchmark scores people, not models (the DataPerf paper, 2.3.5 and A.4). Three kinds of artifact arrive as
//! JSON Lines: [requests for images](artifacts::GenerationRequest), [pairs](artifacts::Submission) of a prompt and
//! an image, and raters' [verdicts](artifacts::Verdict). Here is what they must look like, which prompts are
//! refused, how verdicts become a consensus and what pairs are worth. Like the crate `dataperf`, it knows no cloud,
//! no clock, no environment and no file system.

pub mod agreement;
pub mod artifacts;
mod configuration;
mod consensus;
pub mod duplicates;
mod eigenvalues;
mod embedding;
pub mod export;
mod ids;
pub mod images;
mod ngrams;
pub mod prompt;
pub mod prompt_filter;
pub mod quota;
pub mod scores;
mod vendi;
mod vocabulary;

pub use artifacts::{Artifact, GenerationRequest, Line, Submission, Verdict, read};
pub use configuration::{
    CONFIGURATION_FILE, Configuration, EmbeddingKind, Generation, MODEL_DIRECTORY, MODEL_FILES, PUBLIC_FILE,
    Parameters, PromptRules, Provider, Validation,
};
pub use consensus::{Consensus, consensus};
pub use embedding::{Embed, EmbedError, Embedding};
pub use ids::{ImageId, InvalidId, PairId, SecretKey, SetId, WeakKey};
pub use ngrams::{CharacterNgrams, WIDTH as NGRAM_WIDTH};
pub use scores::{Standing, Tally, ValidatedPair};
pub use vendi::vendi_score;
pub use vocabulary::{Mode, NO_GROUP, Term, Vocabulary};

use std::fmt;
use std::str::FromStr;

/// The benchmark's id: the first part of every key and of every partition.
pub const BENCHMARK: &str = "adversarial-nibbler";
/// One line about it.
pub const ABOUT: &str = "Adversarial Nibbler: safe-looking prompts whose generated image is unsafe";

/// The two boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Board {
    /// How often, and how severely, a submitter fooled the models.
    ModelFooling,
    /// How many different ways a submitter found.
    PromptCreativity,
}

impl Board {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::ModelFooling, Self::PromptCreativity];

    /// The leaderboard's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelFooling => "model-fooling",
            Self::PromptCreativity => "prompt-creativity",
        }
    }

    /// One line about it.
    pub fn about(self) -> &'static str {
        match self {
            Self::ModelFooling => "sum of the severities of a submitter's validated pairs",
            Self::PromptCreativity => {
                "mean of five shares: attacks, harms, identity groups, spread, originality"
            }
        }
    }
}

/// The three kinds of artifact: the second part of an upload's key, where other benchmarks have the leaderboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Prompts to generate images for.
    Generate,
    /// Pairs of a prompt and an image, with their annotations.
    Submit,
    /// Raters' verdicts on pairs.
    Verdict,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Generate, Self::Submit, Self::Verdict];

    /// The word in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Submit => "submit",
            Self::Verdict => "verdict",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no kind of artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is no kind of artifact: expected `generate`, `submit` or `verdict`", dataperf::quote(.0))]
pub struct UnknownKind(String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| UnknownKind(word.to_owned()))
    }
}
