//! The data gathered by an evaluation before the score.

use std::sync::Arc;

use crate::Digest;
use crate::benchmark::Benchmark;
use crate::benchmark::dataset::Dataset;
use crate::evidence::{Evidence, Provenance};
use crate::receipt::verdict::EVALUATOR;

/// The evidence of a submission that obeys the rules, and what it is scored with.
pub struct Evaluated<B: Benchmark> {
    /// The frozen part of the leaderboard.
    pub frozen: Arc<B::Frozen>,
    /// The answers of the frozen models.
    pub evidence: Evidence,
    /// The data set of the evidence.
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
            artifact: Digest::compute(artifact),
            evaluator: EVALUATOR.to_owned(),
        };
        Self {
            frozen,
            evidence,
            provenance,
        }
    }
}
