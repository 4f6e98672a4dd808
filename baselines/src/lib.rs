//! Code shared by the baselines of several benchmarks: the paper's methods, a minimum bar on every
//! leaderboard.
//!
//! Each method is a pure function of plain arrays and a seed in a module of its own, and names its source. The
//! [`Baselines`] of a benchmark, in the benchmark's own folder, read what a method needs from a frozen data set and write its
//! artifact.
//!
//! If the paper or the public challenge names a procedure, the code follows it: its proportions,
//! its splits (those of scikit-learn with the same seed), its criteria. If a learner is not part of
//! a benchmark's frozen definition, it is the frozen logistic regression, or smartcore's forest and
//! neighbours.

pub mod acquisition;
pub mod debugging;
pub mod distances;
mod method;
pub mod random;
pub mod speech;
pub mod splits;
pub mod vision;

pub use method::{BaselineError, Baselines, Made, Method, lines, no_such_method};
