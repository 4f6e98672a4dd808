//! A step of a score: filed and ended as a submission is, so that boards, histories and best-over-time need nothing new.

use dataperf::benchmarks::NIBBLER_RANKING;
use dataperf::challenge::Terms;
use dataperf::failure::settle;
use dataperf::pipeline::{Delivered, Outlets};
use dataperf::ports::leaderboard::Submission;
use dataperf::{Digest, Scorecard, Upload, Verdict};
use dataperf_aws::{DynamoLeaderboards, Fault, S3Bucket, now};
use dataperf_nibbler::BENCHMARK;

use crate::pairs::{Decision, Pair, Score};

/// Where steps of scores are filed: in no bucket.
const NO_BUCKET: &str = "scores";

/// Writes a score that follows from a decision, unless it is written. Its time is the decision's, so that of a submitter's
/// scores the one of the latest decision stands, in whatever order they are written.
pub(crate) async fn publish(
    pair: &Pair,
    decision: &Decision,
    score: &Score,
    outlets: &Outlets<'_, DynamoLeaderboards, S3Bucket>,
) -> Result<Delivered, Fault> {
    let upload = Upload {
        bucket: NO_BUCKET.into(),
        key: format!("{BENCHMARK}/{}/{}/{}", score.board, pair.submitter, pair.id),
        version: None,
        e_tag: None,
        received_at: decision.at,
    };
    let terms = |submitter: &str| Terms {
        round: pair.round.clone(),
        ranking: NIBBLER_RANKING,
        ..Terms::outside_any_challenge(submitter)
    };
    let verdict = async |_: &Submission| -> Result<Verdict, Fault> {
        let card = Scorecard {
            score: score.score,
            metrics: score.metrics.clone(),
        };
        // what was judged last
        let artifact = Digest::of(pair.id.as_str().as_bytes());
        Ok(Verdict::scored(
            BENCHMARK,
            &score.board,
            decision.dataset,
            artifact,
            card,
        ))
    };
    settle(BENCHMARK, &upload, terms, outlets, verdict, now).await
}
