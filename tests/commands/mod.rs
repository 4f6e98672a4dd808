//! Commands of `dataperf` as people and scripts call them.

mod baselines;
mod demo;
mod demo_story;
mod dynamic;
mod exports;
mod preview;
mod ranks;
mod scores;
pub(crate) mod tables;
