//! The built-in model: hashed n-grams, weighed by a logistic regression, and for questions a scorer of spans.

use std::collections::BTreeMap;

use dataperf_numerics::models::logistic_regression::SparseLogistic;
use serde::{Deserialize, Serialize};

use super::features::{Features, Words};
use super::file::{Weights, bad, read};
use super::spans::{SpanScorer, SpanSettings};
use super::{ModelError, TargetModel};
use crate::text::task::Task;
use crate::text::texts::answers::{Answer, Gold, Input};

/// The kind of file.
pub(super) const KIND: &str = "linear";

/// How a linear model is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinearSettings {
    /// Sequences of words, of the text and of the context.
    pub words: Words,
    /// Sequences of characters of the text's words.
    pub characters: Words,
    /// The inverse of the penalty's strength, above 0.
    #[serde(rename = "C")]
    pub c: f64,
    /// The most iterations of the fit.
    pub max_iter: usize,
    /// The spans that may answer a question.
    pub spans: SpanSettings,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self {
            words: Words {
                least: 1,
                most: 2,
                n_features: 1 << 15,
            },
            characters: Words {
                least: 2,
                most: 4,
                n_features: 1 << 15,
            },
            c: 10.0,
            max_iter: 100,
            spans: SpanSettings::default(),
        }
    }
}

/// The file's data for one task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answers", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Head {
    Labels {
        words: Words,
        characters: Words,
        /// The labels, in the order of the classes.
        labels: Vec<String>,
        weights: Weights,
    },
    Spans {
        spans: SpanSettings,
        weights: Weights,
    },
}

/// A head, ready to answer.
enum Ready {
    Labels {
        features: Features,
        labels: Vec<String>,
        model: SparseLogistic,
    },
    Spans(SpanScorer),
}

struct Linear(BTreeMap<Task, Ready>);

/// Reads a file that [`train_linear`](super::train_linear) has written.
///
/// # Errors
/// [`ModelError::BadFile`] when it is none, or damaged.
pub fn read_linear(file: &[u8]) -> Result<Box<dyn TargetModel>, ModelError> {
    let heads = read::<Head>(KIND, file)?;
    let mut ready = BTreeMap::new();
    for (task, head) in heads {
        ready.insert(task, Ready::new(task, head)?);
    }
    Ok(Box::new(Linear(ready)))
}

impl Ready {
    fn new(task: Task, head: Head) -> Result<Self, ModelError> {
        let settings = |error: dataperf_numerics::models::FitError| bad(format!("of `{task}`: {error}"));
        match head {
            Head::Labels {
                words,
                characters,
                labels,
                weights,
            } if !task.has_spans() => {
                check_labels(task, &labels)?;
                let features = Features::new(&words, &characters).map_err(settings)?;
                let model = weights.model(labels.len(), features.n_columns())?;
                Ok(Self::Labels {
                    features,
                    labels,
                    model,
                })
            }
            Head::Spans { spans, weights } if task.has_spans() => {
                Ok(Self::Spans(SpanScorer::new(spans, |n| weights.model(2, n))?))
            }
            _ => Err(bad(format!(
                "it has answers of another kind than `{task}` asks for"
            ))),
        }
    }
}

/// Checks the labels of a head against those of its task.
pub(super) fn check_labels(task: Task, labels: &[String]) -> Result<(), ModelError> {
    let is_known = |label: &String| task.labels().contains(&label.as_str());
    let is_once = |(nth, label)| !labels[..nth].contains(label);
    if labels.len() < 2 || !labels.iter().all(is_known) || !labels.iter().enumerate().all(is_once) {
        return Err(bad(format!(
            "its labels of `{task}` are not two or more of {}",
            task.labels().join(", ")
        )));
    }
    Ok(())
}

/// The answer of these probabilities: the most probable label, the first one of equals.
pub(super) fn most_probable(labels: &[String], probabilities: &[f64]) -> Answer {
    let best = (1..labels.len()).fold(0, |best, c| {
        if probabilities[c] > probabilities[best] {
            c
        } else {
            best
        }
    });
    Answer {
        gold: Gold::Label(labels[best].clone()),
        probabilities: labels
            .iter()
            .cloned()
            .zip(probabilities.iter().copied())
            .collect(),
    }
}

impl TargetModel for Linear {
    fn answers(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, ModelError> {
        let head = self.0.get(&task).ok_or(ModelError::OtherTask(task))?;
        Ok(match head {
            Ready::Labels {
                features,
                labels,
                model,
            } => {
                let of_one = |input| most_probable(labels, &model.probabilities(features.row(input)));
                inputs.iter().map(of_one).collect()
            }
            Ready::Spans(scorer) => inputs.iter().map(|input| scorer.answer(input)).collect(),
        })
    }
}
