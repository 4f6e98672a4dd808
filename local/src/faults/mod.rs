//! Faults that tests inject: what clouds do on bad days.

pub(crate) mod exposure;
#[cfg(feature = "faults")]
mod injection;
#[cfg(feature = "faults")]
pub(crate) mod storm;
#[cfg(feature = "faults")]
pub(crate) mod switches;
#[cfg(not(feature = "faults"))]
#[path = "no_faults.rs"]
pub(crate) mod switches;
