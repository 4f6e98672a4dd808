//! Models that compete are measured in several figures: performance, compute, memory, robustness, fairness. Here is how they become one.
//!
//! [`dynascore_2021`] is Dynabench's way, which is shown beside the ranking and is not the ranking: it has no value for one model, none where
//! a figure is equal for all, and the order of two models depends on who else is there. The ranking is by [rates](Rates) that
//! are fixed in advance: so much of a figure for a point. Neither needs weights to say which models no other is better than in everything
//! (the [front](pareto_front)), and under which [share of all weights](shares_of_weights) each model leads.

mod dynascore;
mod front;
mod intervals;
mod outcome;
mod perturb;
mod rates;
mod report;
mod trial;

pub use dataperf::benchmark::closed::Measured;

pub use dynascore::{Measure, dynascore_2021};
pub use front::{pareto_front, shares_of_weights};
pub use intervals::{FewAnnotators, MIN_ANNOTATORS};
pub use outcome::{Judged, Outcome, Share};
pub use perturb::{exchanged_input, misspelt_input, with_others, with_typos};
pub use rates::{Figures, Rates, UnusableRates, WEIGHTS, Weighed};
pub use report::{Compared, Model, Report, report};
pub use trial::{AnswerLine, AskedLine, Numbered, Trial, TrialError, TrialItem, TrialRun};
