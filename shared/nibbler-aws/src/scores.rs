//! A step of a score: received and recorded as a submission is, so that boards, histories and best-over-time need nothing new.

use dataperf::challenge::Terms;
use dataperf::ports::leaderboard::Submission;
use dataperf::upload::FiledUnder;
use dataperf::workflow::{Judge, Ports, Settled, WorkflowError, settle};
use dataperf::{Descriptor, Digest, Scorecard, Timestamp, Upload, Verdict};
use dataperf_nibbler::{BENCHMARK, DESCRIPTOR, RANKING};

use crate::pairs::{Decision, Pair, Score};

/// The bucket of the uploads that steps of scores are received as; there is no such bucket.
const NO_BUCKET: &str = "scores";

/// Judges a step of a score, which follows from the decision on a pair.
struct ScoreJudge<'a> {
    pair: &'a Pair,
    decision: &'a Decision,
    score: &'a Score,
}

impl Judge for ScoreJudge<'_> {
    fn hosted(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn terms(&self, key: &FiledUnder, _at: Timestamp) -> Terms {
        Terms {
            round: self.pair.round.clone(),
            ranking: RANKING,
            ..Terms::outside_any_challenge(&key.submitter)
        }
    }

    async fn judge(self, _submission: &Submission, _terms: &Terms) -> Result<Verdict, WorkflowError> {
        let Score {
            board,
            score,
            metrics,
        } = self.score;
        let card = Scorecard {
            score: *score,
            metrics: metrics.clone(),
        };
        let artifact = Digest::of(self.pair.id.as_str().as_bytes()); // what was judged last
        let dataset = self.decision.dataset;
        Ok(Verdict::scored(BENCHMARK, board, dataset, artifact, card))
    }
}

/// Writes a score that follows from a decision, unless it is written. Its time is the decision's, so that of a submitter's
/// scores the one of the latest decision stands, in whatever order they are written.
pub(crate) async fn publish(
    pair: &Pair,
    decision: &Decision,
    score: &Score,
    ports: Ports<'_>,
) -> Result<Settled, WorkflowError> {
    let upload = Upload {
        bucket: NO_BUCKET.into(),
        key: format!("{BENCHMARK}/{}/{}/{}", score.board, pair.submitter, pair.id),
        version: None,
        e_tag: None,
        received_at: decision.at,
    };
    let judge = ScoreJudge {
        pair,
        decision,
        score,
    };
    settle(&upload, judge, ports).await
}
