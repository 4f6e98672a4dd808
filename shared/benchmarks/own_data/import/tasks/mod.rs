//! The importers of the tasks with own data.

pub(crate) mod acquisition;
mod curation;
mod debugging;
mod selection;
