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
pub use train::{Labelled, TrainError, train_linear};

use crate::answers::{Answer, Input};
use crate::task::Task;

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
    /// It was asked and did not answer, or not as it should.
    #[error("the model does not answer: {0}")]
    NoAnswer(String),
}
