//! The three artifacts: JSON Lines, an outcome for each line, so that the good ones are kept when others fail.

mod generation_request;
mod submission;
mod verdict;

use dataperf_collection::{Fields, LineItem};

use crate::Kind;
use crate::configuration::Configuration;

pub use dataperf_collection::{Line, MAX_LINE_BYTES, all_rejected, read};
pub use generation_request::GenerationRequest;
pub use submission::Submission;
pub use verdict::{MAX_SEVERITY, Verdict};

/// A kind of artifact, of which a file holds many: one a line.
pub trait Artifact: LineItem<Rules = Configuration> {
    /// The part of the keys under which it is uploaded.
    const KIND: Kind;
}
