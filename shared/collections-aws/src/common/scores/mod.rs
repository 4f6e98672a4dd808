//! A step of a score: received and recorded as a submission is, so that boards, histories and best-over-time need nothing new.

pub(crate) mod places;
pub(crate) mod standings;
pub(crate) mod steps;
pub(crate) mod versions;

use dataperf::benchmark::scorecard::{Metrics, Scorecard};
use dataperf::challenge::{Challenge, Terms};
use dataperf::evaluation::workflow::{Judge, Settled, WorkflowError, settle};
use dataperf::submission::Submission;
use dataperf::{Descriptor, Digest, Reason, Upload, UploadKey, Verdict};
use dataperf_aws::Table;

use crate::common::collection::{Collection, Score};
use crate::common::disqualified::read_disqualified;
use crate::common::items;
use crate::common::scores::places::Places;
use crate::common::scores::steps::{Step, step};

/// The bucket of the uploads that steps of scores are received as; there is no such bucket.
const NO_BUCKET: &str = "scores";

/// Judges a step of a score, which follows from the decision on an item.
struct ScoreJudge<'a, C: Collection> {
    table: &'a Table,
    /// The challenge that is published, which says until when a board is hidden.
    challenge: Option<&'a Challenge>,
    step: &'a Step<C>,
    score: &'a Score,
}

impl<C: Collection> Judge for ScoreJudge<'_, C> {
    fn hosted(&self) -> &'static Descriptor {
        C::DESCRIPTOR
    }

    fn terms(&self, submission: &Submission) -> Terms {
        Terms {
            round: self.step.round.clone(),
            ranking: C::RANKING,
            ..Terms::outside_any_challenge(&submission.submitter)
        }
    }

    fn challenge(&self) -> Option<Challenge> {
        self.challenge.cloned()
    }

    async fn judge(self, _submission: &Submission, _terms: &Terms) -> Result<Verdict, WorkflowError> {
        let Score {
            board,
            score,
            metrics,
        } = self.score;
        let card = Scorecard {
            score: *score,
            metrics: Metrics::new(),
        };
        // the item judged last: everybody sees the digest, which must not reveal the item's
        // submitter
        let artifact = Digest::compute(format!("{}{}", self.step.item, self.step.nonce).as_bytes());
        let (benchmark, dataset) = (C::SPACE.benchmark, self.step.dataset);
        let disqualified = read_disqualified(self.table, C::SPACE).await?;
        if disqualified.has_submitter(&self.step.submitter) {
            let message = "the submitter was disqualified before this score was written";
            let rejection = Reason::new("disqualified", "", message).into();
            let artifact = Some(artifact);
            return Ok(Verdict::rejected(
                benchmark,
                board,
                Some(dataset),
                artifact,
                &rejection,
            ));
        }
        Ok(Verdict {
            metrics: metrics.clone(), // stored as JSON when the decision was made
            ..Verdict::scored(benchmark, board, dataset, artifact, card)
        })
    }
}

/// The item and the number of a step of a score that was filed and not completed. It is no upload, but is swept like one.
pub(crate) fn step_of_a_score<C: Collection>(upload: &Upload) -> Option<(C::Id, u64)> {
    let key = UploadKey::parse(C::SPACE.benchmark, &upload.key).ok()?;
    let is_board = C::boards().contains(&key.leaderboard.as_str());
    let name = upload.key.rsplit('/').next().filter(|_| is_board)?;
    let (item, edition) = name.split_once('-')?;
    Some((item.parse().ok()?, edition.parse().ok()?))
}

/// Writes the scores of a step that an interrupted run began.
///
/// # Errors
/// [`WorkflowError`]; the organizer has to act if there is no such step.
pub(crate) async fn publish_again<C: Collection>(
    places: &Places,
    upload: &Upload,
    (id, edition): (C::Id, u64),
) -> Result<Settled, WorkflowError> {
    let (table, mut published) = (&places.table, None);
    if let Some(item) = items::read::<C>(table, &id).await?
        && let Some(step) = step(table, &item, edition).await?
    {
        published = publish(places, &step).await?;
    }
    published.ok_or_else(|| {
        let message = format!("`{}` is a step of no score", upload.key);
        WorkflowError::organizer(message)
    })
}

/// Writes a step's unwritten scores. Their time is the step's, so the scores of the latest step win
/// in any order of writing. If the submitter was disqualified since the step, they are rejected, so
/// that no row returns.
///
/// # Errors
/// [`WorkflowError`].
pub async fn publish<C: Collection>(
    places: &Places,
    step: &Step<C>,
) -> Result<Option<Settled>, WorkflowError> {
    let challenge = Challenge::published(&places.datasets, C::SPACE.benchmark).await?;
    let (table, challenge, mut last) = (&places.table, challenge.as_ref(), None);
    for score in &step.scores {
        let upload = Upload {
            bucket: NO_BUCKET.into(),
            key: format!(
                "{}/{}/{}/{}-{}",
                C::SPACE.benchmark,
                score.board,
                step.submitter,
                step.item,
                step.edition
            ),
            version: Some(step.nonce.clone()),
            e_tag: None,
            received_at: step.at,
        };
        let judge = ScoreJudge {
            table,
            challenge,
            step,
            score,
        };
        last = Some(Box::pin(settle(&upload, judge, places.ports())).await?); // boxed: it is in the futures of all who publish
    }
    Ok(last)
}
