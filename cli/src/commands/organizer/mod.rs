//! Commands of organizers on submissions, submitters, tokens and keys.

pub(crate) mod export;
pub(crate) mod keys;
pub(crate) mod redrive;
pub(crate) mod rescore;
pub(crate) mod submitter;
pub(crate) mod token;
pub(crate) mod withdraw;
