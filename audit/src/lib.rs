//! Finds doubtful parts of a test set.
//!
//! Two unrelated learners predict each item without having seen it. [Confident
//! learning](dataperf_numerics::confident_learning) flags the labels that contradict a learner by
//! more than the noise of its own answers. A label that both flag is a likely error. The audit also
//! finds repeated rows, rows that models are trained on, classes of few items, and columns without
//! information.
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
pub use plant::{DetectionCounts, copies, count_found, plant, plant_hard};
