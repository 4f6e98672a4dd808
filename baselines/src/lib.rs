//! The paper's baselines: a minimum bar on every leaderboard.
//!
//! Each method is a pure function of plain arrays and a seed in a module of its own, and names its source. The
//! [`Baselines`] of a benchmark read what a method needs from a frozen data set and write its artifact.
//!
//! Where the paper or the public challenge names a procedure, it is that procedure: its proportions, its splits (those
//! that scikit-learn draws from the same seed), its criteria. Where a learner is not part of a benchmark's frozen
//! definition it is the frozen logistic regression, or smartcore's forest and neighbours.

pub mod acquisition;
pub mod curation;
pub mod debugging;
pub mod distances;
mod method;
pub mod random;
pub mod speech;
pub mod splits;
pub mod vision;
mod wiring;

pub use method::{BaselineError, Baselines, Made, Method};
