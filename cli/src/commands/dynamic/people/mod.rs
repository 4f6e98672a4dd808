//! Commands of annotators, raters and the organizer, on examples and verdicts.

pub(crate) mod agreement;
pub(crate) mod annotator;
pub(crate) mod decide;
pub(crate) mod disqualify;
pub(crate) mod rater;
