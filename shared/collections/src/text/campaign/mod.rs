//! A simulated campaign. Annotators and raters are programs, and a grammar makes the texts, so the
//! right answers are known. Everything else is as in a real round: lines are read and checked,
//! models answer, duplicates are detected, raters decide, rounds are exported, and the next round's
//! model is trained on the train sets.
//!
//! It shows how the loop behaves, not how people write: the grammar has a few hundred words and some rewrites.

mod annotators;
mod chance;
mod grammar;
mod quality;
mod round;

use std::collections::BTreeMap;

use crate::common::SecretKey;
use serde::{Deserialize, Serialize};

use crate::text::configuration::{Configuration, Target, TaskRules, Validation};
use crate::text::export::{Export, Row, Split};
use crate::text::judging::standing::Standing;
use crate::text::lines::Rules;
use crate::text::matrix::Matrix;
use crate::text::models::{ModelError, TargetModel};
use crate::text::task::Task;
use crate::text::texts::answers::Gold;
use crate::text::texts::contexts::Contexts;
use chance::Chance;

pub use quality::{Quality, Share};

/// The settings of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The seed of all random draws: the same seed gives the same campaign.
    pub seed: u64,
    /// `nli` or `sentiment`: the tasks that there is a grammar for.
    pub task: Task,
    /// Number of rounds.
    pub n_rounds: usize,
    /// Number of annotators, each a program of its own.
    pub n_annotators: usize,
    /// Number of examples that each annotator submits in a round.
    pub n_examples: usize,
    /// Number of plain examples that the first model is trained on; as many more are a test set.
    pub n_plain: usize,
    /// Number of examples of one text that an annotator tries before beginning with another one.
    pub n_tries: usize,
    /// The probability that an annotator's label is wrong.
    pub annotator_error: f64,
    /// Number of raters.
    pub n_raters: usize,
    /// The probability that a rater's verdict is wrong.
    pub rater_error: f64,
    /// Whether each round has a model that is trained on the rounds before; otherwise all have the first one.
    pub retrains: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            task: Task::Sentiment,
            n_rounds: 3,
            n_annotators: 20,
            n_examples: 100,
            n_plain: 1_000,
            n_tries: 5,
            annotator_error: 0.05,
            n_raters: 10,
            rater_error: 0.1,
            retrains: true,
        }
    }
}

/// The outcome of a round of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundOutcome {
    /// The round's name.
    pub round: String,
    /// The name of its model.
    pub target: String,
    /// The standing of all annotators together.
    pub standing: Standing,
    /// The share of the examples that fooled the model.
    pub fooling: Share,
    /// The share of the examples that fooled the model and are validated.
    pub validated: Share,
    /// How often each rewrite was the last one before an example fooled the model.
    pub rewrites: BTreeMap<String, usize>,
    /// The quality of the labels, against the grammar's truth.
    pub quality: Quality,
    /// Krippendorff's alpha of the raters.
    pub alpha: Option<f64>,
}

/// The outcome of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its settings.
    pub settings: Settings,
    /// Its rounds.
    pub rounds: Vec<RoundOutcome>,
    /// Each round's model, and one that is trained on all rounds, on each round's test set and on plain examples.
    pub matrix: Matrix,
}

/// A campaign, with what its rounds leave behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// Its outcome.
    pub outcome: Outcome,
    /// Its rounds' data sets.
    pub exports: Vec<Export>,
    /// The plain examples: to train on, and to test.
    pub plain: Vec<Row>,
}

/// Trains a model on rows.
pub type Trainer<'a> = &'a dyn Fn(&[Row]) -> Result<Box<dyn TargetModel>, ModelError>;

/// Why a campaign can't be played.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CampaignError {
    /// There is no grammar for the task.
    #[error("there is no grammar for `{0}`: choose `nli` or `sentiment`")]
    NoGrammar(Task),
    /// A number is too small.
    #[error("`{name}` is {actual}, and needs to be at least {least}")]
    TooFew {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        actual: usize,
        /// The least value that it may have.
        least: usize,
    },
    /// A model could not be trained, or did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The name of the matrix's column of plain examples, and of the first rows.
pub const PLAIN: &str = "plain";

/// Plays a campaign.
///
/// # Errors
/// [`CampaignError`]
pub fn play(settings: &Settings, train: Trainer<'_>) -> Result<Campaign, CampaignError> {
    check(settings)?;
    let rules = rules(settings.task);
    let plain = plain(settings, &rules.contexts);
    let key = key(settings.seed);
    let (mut models, mut rounds, mut exports) = (Vec::new(), Vec::new(), Vec::<Export>::new());
    for number in 1..=settings.n_rounds {
        if number == 1 || settings.retrains {
            models.push((format!("r{number}"), train(&learnt(&plain, &exports))?));
        }
        let Some((target, model)) = models.last() else {
            break;
        };
        let name = format!("round-{number}");
        let played = round::play(settings, &name, &rules, target, model.as_ref())?;
        let parts = parts(&exports);
        let export = Export::build(played.judged.clone(), &name, &key, &parts);
        rounds.push(played.outcome(settings.task, &name, target, &export));
        exports.push(export);
    }
    if settings.retrains {
        let name = format!("r{}", settings.n_rounds + 1);
        models.push((name, train(&learnt(&plain, &exports))?));
    }
    let named: Vec<(String, &dyn TargetModel)> = models
        .iter()
        .map(|(name, model)| (name.clone(), model.as_ref()))
        .collect();
    let mut columns: Vec<(String, &[Row])> = vec![(PLAIN.to_owned(), &plain)];
    columns.extend(
        exports
            .iter()
            .map(|export| (export.round.clone(), &export.rows[..])),
    );
    let outcome = Outcome {
        settings: settings.clone(),
        rounds,
        matrix: Matrix::compute(&named, &columns)?,
    };
    Ok(Campaign {
        outcome,
        exports,
        plain,
    })
}

fn check(settings: &Settings) -> Result<(), CampaignError> {
    if !matches!(settings.task, Task::Nli | Task::Sentiment) {
        return Err(CampaignError::NoGrammar(settings.task));
    }
    let most = Validation::default().most;
    for (name, actual, least) in [
        ("n_rounds", settings.n_rounds, 1),
        ("n_annotators", settings.n_annotators, 3),
        ("n_examples", settings.n_examples, 1),
        ("n_plain", settings.n_plain, 10),
        ("n_tries", settings.n_tries, 1),
        ("n_raters", settings.n_raters, most),
    ] {
        if actual < least {
            return Err(CampaignError::TooFew { name, actual, least });
        }
    }
    Ok(())
}

/// The training data of the next model: the plain examples, and the train sets of the rounds so
/// far.
fn learnt(plain: &[Row], exports: &[Export]) -> Vec<Row> {
    let rounds = exports.iter().flat_map(|export| export.rows.iter());
    let all = plain.iter().chain(rounds);
    all.filter(|row| row.split == Split::Train).cloned().collect()
}

/// The part of the data set that each annotator of earlier rounds was in.
fn parts(exports: &[Export]) -> BTreeMap<String, Split> {
    let rows = exports.iter().flat_map(|export| export.rows.iter());
    rows.map(|row| (row.annotator.clone(), row.split)).collect()
}

fn rules(task: Task) -> Rules {
    const TARGET: &str = "target";
    let targets = TaskRules {
        targets: vec![TARGET.to_owned()],
        needs_context: None,
        languages: None,
        deny: None,
    };
    let file = Target::Linear {
        file: "models/target.json".to_owned(),
    };
    Rules {
        configuration: Configuration {
            tasks: BTreeMap::from([(task, targets)]),
            targets: BTreeMap::from([(TARGET.to_owned(), file)]),
            ..Configuration::default()
        },
        contexts: Contexts::from_iter(grammar::contexts(task)),
    }
}

/// Plain examples: as many to train on as to test.
fn plain(settings: &Settings, contexts: &Contexts) -> Vec<Row> {
    let mut chance = Chance::new(settings.seed, PLAIN);
    let row = |number: usize, split: Split, chance: &mut Chance| {
        let made = grammar::Made::plain(settings.task, chance);
        let context_id = made.context_id();
        let context = context_id.as_deref().and_then(|id| contexts.get(id));
        Row {
            id: format!("{PLAIN}-{}-{number}", split.as_str()),
            round: PLAIN.to_owned(),
            task: settings.task,
            context: context.map(|context| context.text.clone()),
            context_id,
            text: made.text(),
            gold: made.truth(),
            why: String::new(),
            // the grammar draws each text by itself
            annotator: format!("grammar-{number}"),
            is_fooling: false,
            is_verified: true,
            fooled: BTreeMap::new(),
            answers: BTreeMap::new(),
            verdicts: Vec::new(),
            split,
        }
    };
    let mut rows = Vec::new();
    for split in [Split::Train, Split::Test] {
        rows.extend((0..settings.n_plain).map(|number| row(number, split, &mut chance)));
    }
    rows
}

/// The key of a simulation's pseudonyms is no secret: nobody is behind them.
fn key(seed: u64) -> SecretKey {
    let bytes = dataperf::Digest::compute(&seed.to_le_bytes()).hex();
    #[expect(clippy::expect_used, reason = "a digest is longer than a key has to be")]
    SecretKey::new(bytes.as_bytes()).expect("a digest is long enough")
}

/// A label of the task that is not this one.
fn other_label(task: Task, gold: &Gold, chance: &mut Chance) -> Gold {
    Gold::Label(chance.another(task.labels(), gold.as_str()).to_owned())
}
