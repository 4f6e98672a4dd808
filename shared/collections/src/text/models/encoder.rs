//! A linear head on the vectors of a sentence transformer, whose weights the organizer brings.
//!
//! This module does not link the sentence transformer. The caller of an encoder provides the code
//! that makes vectors of texts, so only functions that need it are linked with it.

use std::collections::BTreeMap;

use dataperf_numerics::models::logistic_regression::{LogisticSettings, SparseLogistic};
use dataperf_numerics::sparse::SparseRows;
use serde::{Deserialize, Serialize};

use super::file::{Weights, bad, kind_of, read, write};
use super::linear::{check_labels, most_probable};
use super::train::{by_task, classes};
use super::{Labelled, ModelError, TargetModel, TrainError};
use crate::text::task::Task;
use crate::text::texts::answers::{Answer, Input};

/// The kind of file.
const KIND: &str = "encoder";
/// The most numbers of a vector.
const MAX_WIDTH: usize = 1 << 14;

/// Makes a vector of each text, all of one length; or says why it can't.
pub type Embed = Box<dyn Fn(&[&str]) -> Result<Vec<Vec<f32>>, String> + Send + Sync>;

/// How a head is trained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderSettings {
    /// The inverse of the penalty's strength, above 0.
    #[serde(rename = "C")]
    pub c: f64,
    /// The most iterations of the fit.
    pub max_iter: usize,
}

impl Default for EncoderSettings {
    fn default() -> Self {
        Self {
            c: 10.0,
            max_iter: 200,
        }
    }
}

/// The file's data for one task.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Numbers of a vector.
    width: usize,
    labels: Vec<String>,
    weights: Weights,
}

struct Encoder {
    embed: Embed,
    heads: BTreeMap<Task, (Head, SparseLogistic)>,
}

/// Whether a file says that it is an encoder's, which [`read_encoder`] reads.
pub fn is_encoder(file: &[u8]) -> bool {
    kind_of(file).as_deref() == Some(KIND)
}

/// Reads a file that [`train_encoder`] has written; `embed` is what the head was trained with.
///
/// # Errors
/// [`ModelError::BadFile`] when it is none, or damaged.
pub fn read_encoder(head: &[u8], embed: Embed) -> Result<Box<dyn TargetModel>, ModelError> {
    let mut heads = BTreeMap::new();
    for (task, head) in read::<Head>(KIND, head)? {
        if task.has_spans() || !(1..=MAX_WIDTH).contains(&head.width) {
            return Err(bad(format!(
                "of `{task}`: a head answers with labels, of vectors of 1 to {MAX_WIDTH} numbers"
            )));
        }
        check_labels(task, &head.labels)?;
        let model = head.weights.model(head.labels.len(), n_columns(head.width))?;
        heads.insert(task, (head, model));
    }
    Ok(Box::new(Encoder { embed, heads }))
}

/// Trains a head for all tasks that there are examples of, and gives its file. The same examples and vectors give the same bytes on any
/// number of threads.
///
/// # Errors
/// [`TrainError`], also if examples belong to a task whose answers are spans.
pub fn train_encoder(
    examples: &[Labelled],
    settings: EncoderSettings,
    embed: &Embed,
) -> Result<Vec<u8>, TrainError> {
    if examples.is_empty() {
        return Err(TrainError::NoExamples);
    }
    let fit = LogisticSettings {
        c: settings.c,
        max_iter: settings.max_iter,
        ..LogisticSettings::default()
    };
    let mut heads = BTreeMap::new();
    for (task, examples) in by_task(examples) {
        if task.has_spans() {
            return Err(ModelError::OtherTask(task).into());
        }
        let (labels, classes) = classes(task, &examples)?;
        let inputs: Vec<&Input> = examples.iter().map(|example| &example.input).collect();
        let vectors = vectors(embed, &inputs)?;
        let width = vectors.first().map_or(0, |(text, _)| text.len());
        let mut rows = SparseRows::new(n_columns(width));
        for vectors in &vectors {
            rows.push(row(vectors));
        }
        let model =
            SparseLogistic::fit(fit, &rows, &classes).map_err(|error| TrainError::Fit { task, error })?;
        let weights = Weights::from_model(&model);
        heads.insert(
            task,
            Head {
                width,
                labels,
                weights,
            },
        );
    }
    Ok(write(KIND, heads)?)
}

/// Number of columns of a row: the text's vector and the context's, and for each of their numbers the distance and the product of the two.
fn n_columns(width: usize) -> usize {
    4 * width
}

/// The vectors of a text and of its context.
type Vectors = (Vec<f32>, Option<Vec<f32>>);

fn row((text, context): &Vectors) -> Vec<(u32, f64)> {
    let numbers = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let mut row = numbers(text);
    if let Some(context) = context {
        let (text, context) = (row.clone(), numbers(context));
        let both = || text.iter().zip(&context);
        row.extend(&context);
        row.extend(both().map(|(a, b)| (a - b).abs()));
        row.extend(both().map(|(a, b)| a * b));
    }
    (0..).zip(row).collect()
}

fn vectors(embed: &Embed, inputs: &[&Input]) -> Result<Vec<Vectors>, ModelError> {
    let mut texts: Vec<&str> = Vec::new();
    for input in inputs {
        texts.push(&input.text);
        texts.extend(input.context.as_deref());
    }
    let made = embed(&texts).map_err(ModelError::NoAnswer)?;
    let width = made.first().map_or(0, Vec::len);
    let is_usable = |vector: &Vec<f32>| vector.len() == width && vector.iter().all(|x| x.is_finite());
    if made.len() != texts.len() || width == 0 && !made.is_empty() || !made.iter().all(is_usable) {
        let why = "the sentence transformer gave no finite vectors of one length";
        return Err(ModelError::NoAnswer(why.into()));
    }
    let mut made = made.into_iter();
    let pair = |input: &&Input| {
        let text = made.next().unwrap_or_default();
        (text, input.context.as_ref().and_then(|_| made.next()))
    };
    Ok(inputs.iter().map(pair).collect())
}

impl TargetModel for Encoder {
    fn answers(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, ModelError> {
        let (head, model) = self.heads.get(&task).ok_or(ModelError::OtherTask(task))?;
        let inputs: Vec<&Input> = inputs.iter().collect();
        let vectors = vectors(&self.embed, &inputs)?;
        if let Some((text, _)) = vectors.iter().find(|(text, _)| text.len() != head.width) {
            return Err(ModelError::NoAnswer(format!(
                "the sentence transformer's vectors have {} numbers, and the head is of {}: use the one that it was trained with",
                text.len(),
                head.width
            )));
        }
        let answer = |vectors| most_probable(&head.labels, &model.probabilities(row(vectors)));
        Ok(vectors.iter().map(answer).collect())
    }
}
