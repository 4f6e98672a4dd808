//! The arguments of the command line: names, help, and what a call has set.

#[cfg(all(test, feature = "closed", feature = "local"))]
mod contract;
pub(crate) mod given;
pub(crate) mod groups;
