//! Target models: what an example has to fool.
//!
//! Two kinds are built in. A [linear](read_linear) one counts hashed n-grams and weighs them by a logistic regression; of questions it
//! weighs the spans of the context that could be the answer. An [encoder](read_encoder) has a linear head on a sentence transformer's vectors.
//! Both are trained [here](train_linear); the same examples give the same bytes each time.

mod encoder;
mod features;
mod file;
mod linear;
mod spans;
mod train;

pub use encoder::{Embed, EncoderSettings, is_encoder, read_encoder, train_encoder};
pub use features::Words;
pub use file::MAX_MODEL_BYTES;
pub use linear::{LinearSettings, read_linear};
pub use spans::SpanSettings;
pub use train::train_linear;

use dataperf_numerics::models::FitError;

use crate::text::task::Task;
use crate::text::texts::answers::{Answer, Gold, Input};

/// A model that answers texts.
pub trait TargetModel: Send + Sync {
    /// Its answers to the inputs, in their order, one for each.
    ///
    /// # Errors
    /// [`ModelError`] when it has no answer to a task, or can't answer at all.
    fn answers(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, ModelError>;
}

/// Why a model has no answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is a model of other tasks.
    #[error("the model knows nothing of `{0}`: name another one for this task")]
    OtherTask(Task),
    /// Its file can't be read.
    #[error("the model's file can't be used: {0}")]
    BadFile(String),
    /// It did not answer, or not in the right form.
    #[error("the model does not answer: {0}")]
    NoAnswer(String),
}

/// An example whose right answer is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The task of the example.
    pub task: Task,
    /// The part that a model sees.
    pub input: Input,
    /// The right answer.
    pub gold: Gold,
}

/// Why a model can't be trained.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// There is nothing to learn from.
    #[error("the file has no examples: name one that has some")]
    NoExamples,
    /// An example's answer is none of its task's.
    #[error("example {nth} of `{task}`, counted from 0: {why}")]
    BadExample {
        /// The task.
        task: Task,
        /// Its place among the task's examples.
        nth: usize,
        /// The problem.
        why: String,
    },
    /// The examples of a task can't be fitted.
    #[error("the examples of `{task}` can't be fitted: {error}")]
    Fit {
        /// The task.
        task: Task,
        /// Why.
        error: FitError,
    },
    /// The file could not be written, or the sentence transformer did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
}
