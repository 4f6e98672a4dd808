//! The parts of the cloud on this machine that the command line brings: functions and the page.

pub(crate) mod functions;
pub(crate) mod page;
