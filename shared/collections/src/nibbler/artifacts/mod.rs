//! The three artifacts: JSON Lines, an outcome for each line, so that the good ones are kept when others fail.

mod generation_request;
mod submission;
mod verdict;

use crate::common::{Fields, LineItem};

pub use crate::common::{Line, MAX_LINE_BYTES, all_rejected, read};
pub use generation_request::GenerationRequest;
pub use submission::Submission;
pub use verdict::{MAX_SEVERITY, Verdict};
