//! A step of a score: received and recorded as a submission is, so that boards, histories and best-over-time need nothing new.

use dataperf::challenge::Terms;
use dataperf::ports::leaderboard::Submission;
use dataperf::upload::FiledUnder;
use dataperf::workflow::{Judge, Ports, Settled, WorkflowError, settle};
use dataperf::{Descriptor, Digest, Scorecard, Timestamp, Upload, Verdict};
use dataperf_nibbler::{BENCHMARK, DESCRIPTOR, RANKING};

use crate::decisions::Step;
use crate::pairs::Score;

/// The bucket of the uploads that steps of scores are received as; there is no such bucket.
const NO_BUCKET: &str = "scores";

/// Judges a step of a score, which follows from the decision on a pair.
struct ScoreJudge<'a> {
    step: &'a Step,
    score: &'a Score,
}

impl Judge for ScoreJudge<'_> {
    fn hosted(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn terms(&self, key: &FiledUnder, _at: Timestamp) -> Terms {
        Terms {
            round: self.step.round.clone(),
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
        let artifact = Digest::of(self.step.pair.as_str().as_bytes()); // what was judged last
        let dataset = self.step.dataset;
        Ok(Verdict::scored(BENCHMARK, board, dataset, artifact, card))
    }
}

/// Writes the scores of a step, as far as they are not written. Their time is the step's, so that of a submitter's scores
/// those of the latest step stand, in whatever order they are written.
///
/// # Errors
/// [`WorkflowError`].
pub async fn publish(step: &Step, ports: Ports<'_>) -> Result<Option<Settled>, WorkflowError> {
    let mut last = None;
    for score in &step.scores {
        let upload = Upload {
            bucket: NO_BUCKET.into(),
            key: format!(
                "{BENCHMARK}/{}/{}/{}-{}",
                score.board, step.submitter, step.pair, step.edition
            ),
            version: None,
            e_tag: None,
            received_at: step.at,
        };
        last = Some(settle(&upload, ScoreJudge { step, score }, ports).await?);
    }
    Ok(last)
}
