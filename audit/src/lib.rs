//! What is in doubt in an eval set.
//!
//! Two learners that have nothing in common say what each item is, not having seen it; [confident
//! learning](dataperf_numerics::confident_learning) flags the labels that contradict a learner by more than the noise of its own
//! answers. What both flag is a likely error. Beside it: rows that stand there twice, rows that models are trained on, classes of
//! few items, columns that say nothing.
//!
//! Nothing here is part of a score, and no function is compiled with it.

mod audit;
mod columns;
mod duplicates;
mod labels;
mod learners;
mod plant;

pub use audit::{Audit, SetAudit, audit};
pub use columns::{ClassCount, Columns};
pub use duplicates::{Leaks, Pairs};
pub use labels::{AuditError, Doubt, FOLDS, control_sample, doubts};
pub use learners::{LEARNERS, Learner};
pub use plant::{Found, copies, found, plant, plant_hard};
