//! How somebody's submissions have ended, counted.

use serde::Serialize;

use crate::Timestamp;
use crate::receipt::verdict::Ending;
use crate::submission::Entry;

/// How many of somebody's submissions have ended in which way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Endings {
    /// How many there are, withdrawn ones included.
    pub n_submissions: usize,
    /// How many have a score.
    pub n_scored: usize,
    /// How many obey the rules, and are of a kind that has no score of its own.
    pub n_accepted: usize,
    /// How many break rules.
    pub n_rejected: usize,
    /// How many the platform failed to evaluate.
    pub n_failed: usize,
    /// How many have not ended.
    pub n_unfinished: usize,
    /// How many were withdrawn.
    pub n_withdrawn: usize,
    /// When the last one was stored; `None` without any.
    pub last_upload: Option<Timestamp>,
    /// Whether one of them is a baseline.
    pub is_baseline: bool,
}

impl Endings {
    /// Counts how the submissions of a history have ended.
    pub fn from_history(history: &[Entry]) -> Self {
        let n = |ending: Option<Ending>| history.iter().filter(|entry| entry.ending == ending).count();
        let is_withdrawn = |entry: &&Entry| entry.withdrawn_at.is_some();
        Self {
            n_submissions: history.len(),
            n_scored: n(Some(Ending::Scored)),
            n_accepted: n(Some(Ending::Accepted)),
            n_rejected: n(Some(Ending::Rejected)),
            n_failed: n(Some(Ending::Failed)),
            n_unfinished: n(None),
            n_withdrawn: history.iter().filter(is_withdrawn).count(),
            last_upload: history.iter().map(|entry| entry.received_at).max(),
            is_baseline: history.iter().any(|entry| entry.is_baseline),
        }
    }
}
