//! The organizer's configuration: the file `configuration.json` of the frozen data set, which
//! participants don't see.

mod check;
mod public;
mod read;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::ids::{ExampleId, is_validated_by_chance};
use crate::text::task::Task;

pub use public::{Parameters, PublicTask};

/// The configuration's path in the data set. It is not below `public/`: it names the target models' files and the deny list.
pub const CONFIGURATION_FILE: &str = "configuration.json";
/// The path of the part that participants may see: in the data set's part for them, and in its manifest.
pub const PUBLIC_FILE: &str = "public/rules.json";
/// The contexts for which texts are written: one JSON object on a line.
pub const CONTEXTS_FILE: &str = "public/contexts.jsonl";
/// The folder of the target models' files in the data set.
pub const MODEL_DIRECTORY: &str = "models/";

/// Everything an organizer decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The tasks that are offered.
    pub tasks: BTreeMap<Task, TaskRules>,
    /// The models that are to be fooled, by their names.
    pub targets: BTreeMap<String, Target>,
    /// How examples are validated.
    pub validation: Validation,
    /// The most examples that a person may submit on a day, in UTC.
    pub examples_a_day: u32,
    /// The least similarity of two texts that are near duplicates: the share of three-letter sequences that they have in common.
    pub near_duplicate_from: f64,
    /// The fewest characters of a text.
    pub min_chars: usize,
    /// The most characters of a text.
    pub max_chars: usize,
    /// The languages a text may be in, as ISO 639-3 codes such as `eng`; all of them when empty. A task may have others.
    pub languages: Vec<String>,
    /// Words and phrases that no text may have. A task may have others. They match whole words in any spelling that looks alike; a `*`
    /// at the end matches any ending.
    pub deny: Vec<String>,
}

/// How a task is played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRules {
    /// The names of the target models. A text fools them if it fools more than half of them.
    pub targets: Vec<String>,
    /// Whether a text is written for one of the contexts. Without this member, inference and questions need a context and the other tasks have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_context: Option<bool>,
    /// The languages of this task, which replace those of all tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub languages: Option<Vec<String>>,
    /// The denied words of this task, which replace those of all tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,
}

/// A model that is to be fooled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// Hashed sequences of words and characters with a logistic regression, or a scorer of spans: built in, trained by
    /// `dataperf dynamic train`.
    Linear {
        /// Its file in the data set.
        file: String,
    },
    /// The sentence transformer all-MiniLM-L6-v2 with a linear head; its weights are in the data set, too.
    Encoder {
        /// The head's file in the data set.
        file: String,
    },
    /// A service that is called by `POST`.
    Http {
        /// Its address.
        url: String,
        /// The member of the deployment's secret with its key, if it needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
        /// Seconds that one call may take.
        #[serde(default = "default_timeout")]
        timeout_seconds: u64,
        /// The most examples in one call.
        #[serde(default = "default_batch")]
        batch: usize,
    },
    /// A WebAssembly program of the closed division.
    Program {
        /// Its file in the data set.
        file: String,
        /// Fuel that it may use for each example: a run on several has as many times that.
        #[serde(default = "default_fuel")]
        max_fuel: u64,
    },
}

fn default_timeout() -> u64 {
    10
}

fn default_batch() -> usize {
    16
}

fn default_fuel() -> u64 {
    2_000_000_000
}

impl Target {
    /// Its file in the data set; `None` for a service.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Linear { file } | Self::Encoder { file } | Self::Program { file, .. } => Some(file),
            Self::Http { .. } => None,
        }
    }

    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Encoder { .. } => "encoder",
            Self::Http { .. } => "http",
            Self::Program { .. } => "program",
        }
    }
}

/// How examples are validated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// The number of equal verdicts that decide.
    pub equal: usize,
    /// The number of verdicts after which an example is refused if nothing is decided.
    pub most: usize,
    /// The share of the examples that fooled nobody that raters get as well.
    pub share_of_others: f64,
    /// Verdicts that a rater may give on a day, in UTC.
    pub verdicts_a_day: u32,
}

impl Default for Validation {
    fn default() -> Self {
        Self {
            equal: 3,
            most: 5,
            share_of_others: 0.1,
            verdicts_a_day: 200,
        }
    }
}

impl Validation {
    /// The most raters that judge an example: none if it is known to repeat an earlier text, since it never counts, and none for most examples
    /// that fooled nobody.
    ///
    /// ```
    /// use dataperf_collections::text::{ExampleId, Validation};
    /// let (validation, id) = (Validation::default(), ExampleId::derive("a", 1));
    /// assert_eq!(validation.n_raters(&id, false, true), 5);
    /// assert_eq!(validation.n_raters(&id, true, true), 0);
    /// ```
    pub fn n_raters(&self, id: &ExampleId, is_duplicate: bool, is_fooling: bool) -> usize {
        let is_chosen = is_fooling || is_validated_by_chance(id, self.share_of_others);
        if is_chosen && !is_duplicate { self.most } else { 0 }
    }
}

/// One task alone has no models: every document names its own.
impl Default for Configuration {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            targets: BTreeMap::new(),
            validation: Validation::default(),
            examples_a_day: 100,
            near_duplicate_from: 0.9,
            min_chars: 3,
            max_chars: 1_000,
            languages: vec!["eng".into()],
            deny: Vec::new(),
        }
    }
}

impl Configuration {
    /// Whether a text of the task is written for a context.
    pub fn needs_context(&self, task: Task) -> bool {
        let message = self.tasks.get(&task).and_then(|rules| rules.needs_context);
        message.unwrap_or(task.always_needs_context())
    }

    /// The languages that a text of the task may be in.
    pub fn languages(&self, task: Task) -> &[String] {
        let own = self.tasks.get(&task).and_then(|rules| rules.languages.as_ref());
        own.unwrap_or(&self.languages)
    }

    /// The denied words of a task. The task that collects hate speech has only its own list,
    /// because hate is no reason to deny its texts.
    pub fn denied(&self, task: Task) -> &[String] {
        let own = self.tasks.get(&task).and_then(|rules| rules.deny.as_deref());
        own.unwrap_or(if task.is_harmful() { &[] } else { &self.deny })
    }

    /// The names of the models that a text of the task is to fool.
    pub fn targets_of(&self, task: Task) -> &[String] {
        self.tasks
            .get(&task)
            .map_or(&[], |rules| rules.targets.as_slice())
    }
}
