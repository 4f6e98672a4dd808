//! Adversarial Nibbler's pure core: people look for safe-looking prompts whose generated image is unsafe.
//!
//! This collection scores people, not models (the DataPerf paper, 2.3.5 and A.4). Three kinds of artifact
//! arrive as JSON Lines: [requests for images](artifacts::GenerationRequest), [pairs](artifacts::Submission)
//! of a prompt and an image, and raters' [verdicts](artifacts::Verdict). Here is what they must look like,
//! which prompts are refused, how verdicts become a consensus and what pairs are worth. Like the crate
//! `dataperf`, it knows no cloud, no clock, no environment and no file system.

mod allowances;
pub mod artifacts;
mod configuration;
pub mod duplicates;
pub mod export;
mod ids;
pub mod images;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod kit;
mod offline;
pub mod prompts;
pub mod scores;
mod vocabulary;

pub use crate::common::{InvalidId, LineItem, SecretKey, WeakKey};
pub use artifacts::{GenerationRequest, Line, Submission, Verdict, read};
pub use configuration::{
    CONFIGURATION_FILE, Configuration, Generation, MODEL_DIRECTORY, MODEL_FILES, PUBLIC_FILE, Parameters,
    Provider, ResponseFormat, Scoring, Validation,
};
pub use duplicates::Duplicate;
#[cfg(feature = "import")]
pub use export::files::write_nibbler_export;
pub use ids::{ImageId, PairId, SetId};
#[cfg(feature = "import")]
pub use import::{NIBBLER_LAYOUT, import_nibbler};
#[cfg(feature = "import")]
pub use kit::{known_rules, nibbler_kit};
pub use offline::KnownRules;
pub use prompts::embedding::{Embed, EmbedError, Embedding, EmbeddingKind};
pub use prompts::filter::PromptRules;
pub use prompts::ngrams::{CharacterNgrams, WIDTH as NGRAM_WIDTH};
pub use scores::consensus::{Consensus, consensus};
pub use scores::vendi::vendi_score;
pub use scores::{Standing, Tally, ValidatedPair};
pub use vocabulary::{Mode, NO_GROUP, Term, Vocabulary};

use crate::common::words;
use dataperf::benchmark::scorecard::Metric;
use dataperf::benchmark::{Leaderboard, PUBLIC};
use dataperf::challenge::Ranking;
use dataperf::{Collects, Descriptor, Direction, Feedback, Fixed};

/// The collection's id: the first part of every key and of every partition.
pub const BENCHMARK: &str = "adversarial-nibbler";
/// One line about it.
pub const ABOUT: &str = "Adversarial Nibbler: safe-looking prompts whose generated image is unsafe";

/// Which score the boards show, in a challenge or outside: the latest, because it covers all of a
/// submitter's pairs so far.
pub const RANKING: Ranking = Ranking::Latest;

/// The parts of its scores and the notes in its receipts. They come from raters' verdicts and not
/// from a hidden data set, so all of them are shown.
pub const METRICS: &[Metric] = &[
    Metric::value("n_validated", "validated pairs", Feedback::Score),
    Metric::value("n_counted", "pairs that count", Feedback::Score),
    Metric::value("n_duplicates", "duplicates", Feedback::Score),
    Metric::value("mean_severity", "mean severity", Feedback::Score),
    Metric::value("parts/*", "parts", Feedback::Score),
    Metric::value("embedding", "embedding", Feedback::Score),
    Metric::value("scoring", "version of the scores", Feedback::Score),
    Metric::value("sets_used", "sets of images today", Feedback::Score),
    Metric::value("sets_a_day", "sets of images a day", Feedback::Score),
    Metric::value("sets_reset_at", "count restarts at", Feedback::Score),
    Metric::value("well_being", "well-being", Feedback::Score),
];

/// The largest file of any kind that is read at all.
const MAX_BYTES: u64 = <Submission as LineItem>::MAX_BYTES;

/// The description of Adversarial Nibbler. It collects prompts and images and scores people, so it
/// has no frozen model and is no [`Benchmark`](dataperf::Benchmark). Its boards do not depend on
/// its data set.
pub const DESCRIPTOR: Descriptor = Descriptor {
    id: BENCHMARK,
    about: ABOUT,
    direction: Direction::HigherIsBetter,
    score_range: [0.0, f64::MAX], // a sum of severities has no end
    max_artifact_bytes: MAX_BYTES,
    forms: &["jsonl"],
    metrics: METRICS,
    has_hidden_data: false,
    counted_rejections: &[],
    takes_programs: false,
    only_programs: false,
    kinds: &["generate", "submit", "verdict"],
    max_bytes_of_kind: |kind| {
        let kind = kind.parse().ok();
        kind.map_or(MAX_BYTES, Kind::max_bytes)
    },
    collects: Some(Collects {
        item: "pair",
        daily_allowances: |manifest| Ok(manifest.parameters::<Parameters>()?.daily_allowances()),
    }),
    columns: &[],
    leaderboards: |_| {
        let board = |board: Board| {
            Leaderboard::new(board.as_str(), board.about())
                .with_title(board.title())
                .with_metric(board.metric())
        };
        Ok(Board::ALL.map(board).into())
    },
    is_public: |path| path.starts_with(PUBLIC),
    evaluations: |_| {
        Ok(Board::ALL
            .map(|board| (board.as_str().into(), board.as_str().into()))
            .into())
    },
    rules_of_programs: |_| Ok(serde_json::Value::Null),
    function: |part| match part {
        "generate" => "adversarial-nibbler-generate",
        // a step of a score follows from a verdict
        "verdict" | "model-fooling" | "prompt-creativity" => "adversarial-nibbler-verdict",
        // one of the functions has to refuse what is for none of them
        _ => "adversarial-nibbler-submit",
    },
    fixed: Some(Fixed {
        ranking: RANKING,
        why_ranking: "a submitter's score always covers all pairs so far: leave `ranking` out",
        leaderboards: &["model-fooling", "prompt-creativity"],
        all_leaderboards: "both leaderboards",
        without: &[
            ("daily_limit", SETS_A_DAY),
            ("total_limit", SETS_A_DAY),
            ("daily_failures", SETS_A_DAY),
            (
                "baselines",
                "every submitter named `baseline-…` is a baseline: leave `baselines` out",
            ),
        ],
        why_private: "uploads are private here, because they show who submitted what: publish the round's data set with \
            `dataperf nibbler export`",
    }),
};
const SETS_A_DAY: &str =
    "use `sets_a_day` in the data set's configuration instead, which limits sets of images";

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

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ModelFooling => "Model fooling",
            Self::PromptCreativity => "Prompt creativity",
        }
    }

    /// The number that its scores are.
    pub fn metric(self) -> &'static str {
        match self {
            Self::ModelFooling => "sum of severities",
            Self::PromptCreativity => "mean of five shares",
        }
    }

    /// One line about it.
    pub fn about(self) -> &'static str {
        match self {
            Self::ModelFooling => "sum of the severities of a submitter's validated pairs, a prompt once",
            Self::PromptCreativity => {
                "mean of five shares: attacks, harms, identity groups, spread, originality"
            }
        }
    }
}

/// The three kinds of artifact: the second part of an upload's key, where benchmarks have the leaderboard.
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

words!(Kind is "a kind of artifact", "`generate`, `submit` or `verdict`");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_matches_its_types() {
        assert_eq!(DESCRIPTOR.kinds, Kind::ALL.map(Kind::as_str));
        let boards = DESCRIPTOR.fixed.map(|fixed| fixed.leaderboards.to_vec());
        assert_eq!(boards, Some(Board::ALL.map(Board::as_str).to_vec()));
        for kind in Kind::ALL {
            let key = format!("{BENCHMARK}/{kind}/ada/x.jsonl");
            assert_eq!(DESCRIPTOR.function_of(&key), format!("{BENCHMARK}-{kind}"));
        }
        for board in Board::ALL {
            let key = format!("{BENCHMARK}/{}/ada/x", board.as_str());
            assert_eq!(DESCRIPTOR.function_of(&key), format!("{BENCHMARK}-verdict"));
        }
        for key in [BENCHMARK, "adversarial-nibbler/other/ada/x", ""] {
            assert_eq!(DESCRIPTOR.function_of(key), format!("{BENCHMARK}-submit"));
        }
    }
}
