//! Commands of participants: score, submit and follow a submission.

#[cfg(feature = "closed")]
pub(crate) mod closed;
#[cfg(feature = "cloud")]
pub(crate) mod login;
#[cfg(feature = "cloud")]
pub(crate) mod receipt;
pub(crate) mod score;
#[cfg(feature = "cloud")]
pub(crate) mod status;
#[cfg(feature = "cloud")]
pub(crate) mod submit;
