//! The commands: one file each, in folders for organizers, participants and demos.

pub(crate) mod audit;
pub(crate) mod baseline;
pub(crate) mod challenge;
#[cfg(feature = "cloud")]
pub(crate) mod cloud;
#[cfg(feature = "cloud")]
pub(crate) mod collection;
pub(crate) mod dataset;
#[cfg(feature = "local")]
pub(crate) mod demo;
pub(crate) mod dynamic;
#[cfg(feature = "cloud")]
pub(crate) mod leaderboard;
#[cfg(feature = "local")]
pub(crate) mod local;
#[cfg(feature = "cloud")]
pub(crate) mod nibbler;
#[cfg(feature = "cloud")]
pub(crate) mod online;
#[cfg(feature = "cloud")]
pub(crate) mod organizer;
pub(crate) mod participant;
pub(crate) mod rank;
pub(crate) mod verify;
