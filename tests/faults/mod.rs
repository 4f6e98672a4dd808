//! Bad days: faults, attackers and rushes. Every upload still ends once.

mod archive_attackers;
pub(crate) mod attackers;
mod caretaking;
pub(crate) mod nothing_lost;
mod rush;
pub(crate) mod storms;
mod sweeping;
