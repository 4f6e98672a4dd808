//! The public part of a configuration.

use std::collections::BTreeMap;

use dataperf::benchmark::Leaderboard;
use serde::{Deserialize, Serialize};

use super::{Configuration, Validation};
use crate::text::task::Task;

/// The part of a configuration that participants may see. It hides the models' files and addresses
/// and the denied words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The boards: one of each task that is offered.
    pub leaderboards: Vec<Leaderboard>,
    /// The tasks.
    pub tasks: BTreeMap<Task, PublicTask>,
    /// The kind of each model that is to be fooled, by its name.
    pub targets: BTreeMap<String, String>,
    /// How examples are validated.
    pub validation: Validation,
    /// The most examples that a person may submit on a day, in UTC.
    pub examples_a_day: u32,
    /// The least similarity of two texts that are near duplicates.
    pub near_duplicate_from: f64,
    /// The fewest characters of a text.
    pub min_chars: usize,
    /// The most characters of a text.
    pub max_chars: usize,
}

/// The part of a task that participants may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicTask {
    /// The labels; none where the answer is a span of the context.
    pub labels: Vec<String>,
    /// Whether a text is written for one of the contexts.
    pub needs_context: bool,
    /// The names of the target models.
    pub targets: Vec<String>,
    /// The languages a text may be in; all of them when empty.
    pub languages: Vec<String>,
    /// Whether what is written may hurt who reads it, so that it is shown only to those who have agreed to see it.
    pub is_harmful: bool,
}

impl Parameters {
    /// The public part of a configuration.
    pub fn from_settings(configuration: &Configuration) -> Self {
        let tasks = || configuration.tasks.keys().copied();
        Self {
            leaderboards: tasks()
                .map(|task| Leaderboard {
                    digits: Some(0), // scores are numbers of examples
                    ..Leaderboard::new(task.as_str(), task.about())
                })
                .collect(),
            tasks: tasks().map(|task| (task, public(configuration, task))).collect(),
            targets: configuration
                .targets
                .iter()
                .map(|(name, target)| (name.clone(), target.kind().to_owned()))
                .collect(),
            validation: configuration.validation.clone(),
            examples_a_day: configuration.examples_a_day,
            near_duplicate_from: configuration.near_duplicate_from,
            min_chars: configuration.min_chars,
            max_chars: configuration.max_chars,
        }
    }
}

fn public(configuration: &Configuration, task: Task) -> PublicTask {
    PublicTask {
        labels: task.labels().iter().map(ToString::to_string).collect(),
        needs_context: configuration.needs_context(task),
        targets: configuration.targets_of(task).to_vec(),
        languages: configuration.languages(task).to_vec(),
        is_harmful: task.is_harmful(),
    }
}
