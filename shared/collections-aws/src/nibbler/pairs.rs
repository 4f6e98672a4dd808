//! Pairs as collected items: the table's attributes for them, the part that raters see, and the
//! resulting scores.

use crate::common::{Collected, Collection, Score, Space, as_json, broken, parsed, queue, version_of};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Descriptor;
use dataperf::benchmark::scorecard::{Metrics, Scorecard};
use dataperf::challenge::Ranking;
use dataperf::dataset::{DatasetError, FrozenFiles};
use dataperf::ports::PortError;
use dataperf_aws::{Item, Reader, Table, text};
use dataperf_collections::common::{Duplicate, Earlier};
use dataperf_collections::nibbler::{
    BENCHMARK, Board, CONFIGURATION_FILE, Configuration, Consensus, DESCRIPTOR, Embedding, PairId, RANKING,
    Scoring, Standing, Submission, ValidatedPair, Verdict, consensus, duplicates,
};
use serde::{Deserialize, Serialize};

use crate::nibbler::IMAGE_IDS;

/// Adversarial Nibbler, which collects pairs of a prompt and an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairs;

/// A pair as it was submitted, and what has become of it.
pub type Pair = Collected<Pairs>;

/// The facts about a pair besides its line.
#[derive(Debug, Clone, PartialEq)]
pub struct PairMore {
    /// The prompt's vector.
    pub embedding: Embedding,
    /// The image's provider and model, which only the organizer may know.
    pub origin: (String, String),
}

impl Collection for Pairs {
    const SPACE: Space = Space {
        benchmark: BENCHMARK,
        item: "pair", // as the descriptor says
        text: "prompt",
        state: "validated",
    };
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    const RANKING: Ranking = RANKING;
    const BOARD: &'static str = "model-fooling";
    const COUNTS_UNDECIDED: bool = false;
    const OWN_REPETITIONS_COUNT: bool = true;
    const WELL_BEING: &'static str = "docs/nibbler-participants.md#well-being";
    const PSEUDONYMS: &'static str = IMAGE_IDS;

    type Id = PairId;
    type Content = Submission;
    type More = PairMore;
    type Verdict = Verdict;
    type Consensus = Consensus;
    type State = ValidatedPair;
    type Configuration = Configuration;
    type Version = Scoring;

    async fn configuration(files: &FrozenFiles) -> Result<Configuration, DatasetError> {
        let bytes = files.file(CONFIGURATION_FILE).await?;
        Configuration::parse(&bytes).map_err(|rejection| broken(CONFIGURATION_FILE, &rejection))
    }

    fn judged(verdict: &Verdict) -> &PairId {
        &verdict.submission
    }

    /// Removes the raters' notes, which only the organizer may see.
    fn without_notes(verdict: &Verdict) -> Verdict {
        Verdict {
            notes: String::new(),
            ..verdict.clone()
        }
    }

    fn text(content: &Submission) -> &str {
        &content.prompt
    }

    fn keys(content: &Submission, version: Scoring) -> Vec<String> {
        let keys = duplicates::keys(&content.prompt, version);
        let exact = std::iter::once(format!("exact-{}", keys.exact));
        exact.chain(keys.bands).collect()
    }

    fn comparable(text: &str, version: Scoring) -> String {
        duplicates::comparable(text, version)
    }

    fn near_duplicate_from(configuration: &Configuration) -> f64 {
        configuration.near_duplicate_from
    }

    fn write(more: &PairMore, item: &mut Item) -> Result<(), PortError> {
        item.insert("provider".into(), text(&more.origin.0));
        item.insert("model".into(), text(&more.origin.1));
        let bytes = Blob::new(more.embedding.to_bytes());
        item.insert("embedding".into(), AttributeValue::B(bytes));
        Ok(())
    }

    fn read(reader: &Reader<'_>) -> Result<PairMore, PortError> {
        let embedding = reader.item.get("embedding").and_then(|value| value.as_b().ok());
        let embedding = embedding.and_then(|blob| Embedding::from_bytes(blob.as_ref()));
        Ok(PairMore {
            embedding: embedding.ok_or_else(|| reader.malformed("it has no `embedding`".into()))?,
            origin: (reader.text("provider")?.into(), reader.text("model")?.into()),
        })
    }

    fn is_judged(_pair: &Pair) -> bool {
        true
    }

    fn queued(pair: &Pair) -> Result<Vec<(&'static str, AttributeValue)>, PortError> {
        let content = Claims {
            attacks: pair.content.attacks.clone(),
            identity_groups: pair.content.identity_groups.clone(),
        };
        Ok(vec![
            ("prompt", text(&pair.content.prompt)),
            ("image", text(pair_image_key(&pair.id))),
            ("said", text(as_json(&pair.describe(), &content)?)),
            ("round", text(&pair.round)),
        ])
    }

    fn other_keys(_pair: &Pair) -> Vec<Item> {
        Vec::new()
    }

    fn consensus(pair: &Pair, verdicts: &[Verdict], _configuration: &Configuration) -> Option<Consensus> {
        consensus(verdicts, usize::try_from(pair.n_raters).unwrap_or(usize::MAX))
    }

    fn state(pair: &Pair, consensus: Option<&Consensus>) -> Option<ValidatedPair> {
        let vector = pair.more.embedding.clone();
        ValidatedPair::from_consensus(
            pair.id.clone(),
            &pair.content,
            consensus?,
            &pair.duplicate,
            vector,
        )
    }

    fn group(pair: &Pair) -> String {
        format!("{}#{}", pair.round, pair.submitter)
    }

    /// The version of the rules by which the round's first pair was taken.
    async fn version(
        table: &Table,
        round: &str,
        configuration: &Configuration,
    ) -> Result<Scoring, PortError> {
        version_of(table, BENCHMARK, round, configuration.scoring).await
    }

    fn scores(
        _pair: &Pair,
        validated: &[&ValidatedPair],
        had_one: bool,
        configuration: &Configuration,
        version: Scoring,
    ) -> Result<Vec<Score>, String> {
        let standing =
            Standing::compute(version, validated.iter().copied()).map_err(|error| error.to_string())?;
        let nothing = had_one.then(|| Scorecard {
            score: 0.0,
            metrics: Metrics::new().with("n_validated", 0_u64),
        });
        let cards = [
            (Board::ModelFooling, standing.model_fooling()),
            (
                Board::PromptCreativity,
                standing.prompt_creativity(&configuration.vocabulary),
            ),
        ];
        let score = |(board, card): (Board, Option<Scorecard>)| {
            card.or_else(|| nothing.clone()).map(|card| Score {
                board: board.as_str().into(),
                score: card.score,
                metrics: card.metrics.into_json(),
            })
        };
        Ok(cards.into_iter().filter_map(score).collect())
    }

    fn repeated(
        submission: &Submission,
        earlier: &[Earlier<PairId>],
        from: f64,
        version: Scoring,
    ) -> Duplicate<PairId> {
        duplicates::repeated(&submission.prompt, earlier, from, version)
    }
}

/// The collection's folder in the results bucket with the images that raters may read.
const PAIR_IMAGES: &str = "pairs";

/// The key, in the results bucket, of the copy of a pair's image that raters may read.
pub fn pair_image_key(pair: &PairId) -> String {
    format!("{BENCHMARK}/{PAIR_IMAGES}/{pair}.png")
}

/// The submitter's claims about a pair, which raters confirm or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// How the prompt gets around filters.
    pub attacks: Vec<String>,
    /// Whom the image concerns.
    pub identity_groups: Vec<String>,
}

/// A pair as raters see it before they judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Its id, which does not reveal whose it is.
    pub pair: PairId,
    /// The prompt.
    pub prompt: String,
    /// The key of the image in the results bucket.
    pub image: String,
    /// The claims that raters confirm or not.
    pub said: Claims,
}

/// The raters' queue, oldest first.
///
/// # Errors
/// [`PortError`].
pub async fn unjudged(table: &Table) -> Result<Vec<Unjudged>, PortError> {
    let items = queue::<Pairs>(table).await?;
    let one = |item: &Item| {
        let reader = Reader { item };
        Ok(Unjudged {
            pair: reader.parsed("pair")?,
            prompt: reader.text("prompt")?.into(),
            image: reader.text("image")?.into(),
            said: parsed(&reader, "said")?,
        })
    };
    items.iter().map(one).collect()
}
