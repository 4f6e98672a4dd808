//! Adversarial Text's two functions, what the table keeps of examples, and the target models that they are to fool.

mod examples;
mod refusals;
mod submit;
pub mod targets;
mod verdict;

pub use examples::{
    Counted, ExampleMore, Examples, FiledExample, InterpretedVerdict, ModelAnswer, Unjudged, examples_in,
    of_queue, unjudged,
};
pub use submit::run_submit;
pub use verdict::run_verdict;
