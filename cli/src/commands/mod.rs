//! One file a command.

pub(crate) mod audit;
pub(crate) mod baseline;
pub(crate) mod challenge;
#[cfg(feature = "closed")]
pub(crate) mod closed;
pub(crate) mod cloud;
pub(crate) mod collection;
pub(crate) mod dataset;
#[cfg(feature = "local")]
pub(crate) mod demo;
#[cfg(feature = "local")]
mod demo_all;
#[cfg(feature = "local")]
mod demo_closed;
#[cfg(feature = "local")]
mod demo_dynamic;
#[cfg(feature = "local")]
mod demo_integrity;
#[cfg(feature = "local")]
mod demo_shared;
#[cfg(feature = "local")]
mod demo_story;
pub(crate) mod dynamic;
pub(crate) mod export;
pub(crate) mod keys;
pub(crate) mod leaderboard;
#[cfg(feature = "local")]
pub(crate) mod local;
pub(crate) mod nibbler;
pub(crate) mod rank;
pub(crate) mod redrive;
pub(crate) mod rescore;
pub(crate) mod score;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod submitter;
pub(crate) mod token;
pub(crate) mod verify;
pub(crate) mod withdraw;

/// The parts of `dataperf demo all` that what is hosted beside the benchmarks has.
#[cfg(feature = "local")]
const DEMOS: &[&dyn crate::extension::ExtensionDemo] = &[&nibbler::Scenes];
