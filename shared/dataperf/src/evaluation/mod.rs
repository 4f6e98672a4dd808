//! From an upload to its recorded verdict: admission, evaluation and the judges.

pub mod admission;
pub mod artifact_judge;
pub mod evaluate;
pub mod failure_judge;
pub mod rescoring;
pub mod workflow;
