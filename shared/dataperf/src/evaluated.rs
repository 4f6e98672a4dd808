//! What an evaluation has gathered before the score.

use std::sync::Arc;

use crate::Digest;
use crate::benchmark::Benchmark;
use crate::dataset::Dataset;
use crate::evidence::{Evidence, Provenance};
use crate::verdict::EVALUATOR;

/// The evidence of a submission that obeys the rules, and what it is scored with.
pub struct Evaluated<B: Benchmark> {
    /// The frozen part of the leaderboard.
    pub frozen: Arc<B::Frozen>,
    /// What the frozen models answered.
    pub evidence: Evidence,
    /// What the evidence is of.
    pub provenance: Provenance,
}

impl<B: Benchmark> Evaluated<B> {
    pub(crate) fn new(
        dataset: &Dataset<B>,
        leaderboard: &str,
        artifact: &[u8],
        frozen: Arc<B::Frozen>,
        evidence: Evidence,
    ) -> Self {
        let provenance = Provenance {
            benchmark: B::ID.to_owned(),
            leaderboard: leaderboard.to_owned(),
            dataset: dataset.digest(),
            artifact: Digest::of(artifact),
            evaluator: EVALUATOR.to_owned(),
        };
        Self {
            frozen,
            evidence,
            provenance,
        }
    }
}
