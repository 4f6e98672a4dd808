//! The three artifacts: JSON Lines, an outcome for each line, so that the good ones are kept when others fail.

mod fields;
mod generation_request;
mod lines;
mod submission;
mod verdict;

use dataperf::Reasons;

use crate::Kind;
use crate::configuration::Configuration;
use fields::Fields;

pub use generation_request::GenerationRequest;
pub use lines::{Line, MAX_LINE_BYTES, all_rejected, read};
pub use submission::Submission;
pub use verdict::{MAX_SEVERITY, Verdict};

/// A kind of artifact, of which a file holds many: one a line.
pub trait Artifact: Sized {
    /// Under which part of the keys it is uploaded.
    const KIND: Kind;
    /// How many lines a file may have.
    const MAX_LINES: usize;
    /// The largest file that is read at all.
    const MAX_BYTES: u64;

    /// What a line says; whatever is wrong with it is noted.
    #[doc(hidden)]
    fn from_fields(fields: Fields<'_>, configuration: &Configuration, reasons: &mut Reasons) -> Option<Self>;
}
