//! Target models: what an example has to fool.

use crate::answers::{Answer, Input};
use crate::task::Task;

/// A model that answers texts.
pub trait TargetModel: Send + Sync {
    /// What it says of each input, in their order: as many answers as inputs.
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
