//! Which data set a challenge and the active data sets together name.

use crate::benchmark::allowance::DailyAllowance;
use crate::benchmark::descriptor::Descriptor;
use crate::board::Board;
use crate::challenge::{Challenge, Terms};
use crate::dataset::DatasetError;
use crate::dataset::active::{InForce, published_manifest};
use crate::ports::bucket::Bucket;
use crate::{Digest, Timestamp};

impl InForce {
    /// The data set that scores and ranks a board's rows `at` a time: the one that the round pins,
    /// or the active one. `None` for a board that takes no uploads, such as that of a closed round:
    /// it keeps the data set of its newest score.
    pub fn scored_with(&self, challenge: Option<&Challenge>, board: &Board, at: Timestamp) -> Option<Digest> {
        let round = challenge.and_then(|challenge| challenge.round(&board.round));
        if board.is_final() {
            return round.and_then(|round| round.final_dataset);
        }
        if let Some(pinned) = round.and_then(|round| round.dataset_at(at)) {
            return Some(pinned);
        }
        let terms = Terms::resolve(challenge, &board.leaderboard, "", at);
        let takes_uploads = terms.round == board.round;
        takes_uploads.then(|| self.dataset_of(&board.leaderboard))?
    }
}

/// The daily allowances, according to the data set that judges uploads at the time `at`; empty if
/// `hosted` collects nothing or has no active data set.
///
/// # Errors
/// [`DatasetError`] when the bucket does not answer, or the data set can't be read.
pub async fn daily_allowances(
    datasets: &impl Bucket,
    hosted: &Descriptor,
    challenge: Option<&Challenge>,
    at: Timestamp,
) -> Result<Vec<DailyAllowance>, DatasetError> {
    let Some(collects) = hosted.collects else {
        return Ok(Vec::new());
    };
    // All boards of a collection are in the same round, so the first board tells the data set; it does not depend on the submitter.
    let board = hosted.fixed.and_then(|fixed| fixed.leaderboards.first());
    let pinned = board.and_then(|board| Terms::resolve(challenge, board, "", at).dataset);
    let dataset = match pinned {
        Some(dataset) => Some(dataset),
        None => InForce::read(datasets, hosted.id)
            .await?
            .datasets()
            .into_iter()
            .next(),
    };
    let Some(dataset) = dataset else {
        return Ok(Vec::new());
    };
    let manifest = published_manifest(datasets, hosted.id, dataset).await?;
    Ok((collects.daily_allowances)(&manifest)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_board_keeps_its_data_set() {
        let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
        let challenge = serde_json::json!({ "schema": 1, "title": "t", "rounds": [
            { "id": "pinned", "leaderboards": ["a"], "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-05T00:00:00Z", "dataset": two },
            { "id": "free", "leaderboards": ["b"], "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-05T00:00:00Z" },
        ] });
        let challenge: Challenge = serde_json::from_value(challenge).expect("a challenge");
        let mut in_force = InForce::default();
        in_force.put(["a", "b", "c"], one);
        let scored_with = |leaderboard: &str, round: &str, at: &str| {
            let board = Board {
                benchmark: "s".into(),
                leaderboard: leaderboard.into(),
                round: round.into(),
            };
            in_force.scored_with(Some(&challenge), &board, at.parse().expect("a time"))
        };
        let (while_open, after) = ("2026-03-02T00:00:00Z", "2026-03-06T00:00:00Z");
        for at in [while_open, after] {
            assert_eq!(scored_with("a", "pinned", at), Some(two));
            assert_eq!(scored_with("a", "pinned.post", at), Some(two));
            assert_eq!(scored_with("c", "open", at), Some(one), "in no round");
            assert_eq!(scored_with("b", "open", at), None, "from before the challenge");
        }
        assert_eq!(scored_with("b", "free", while_open), Some(one));
        assert_eq!(scored_with("b", "free", after), None);
        assert_eq!(scored_with("b", "free.post", after), Some(one));
        assert_eq!(scored_with("d", "open", after), None, "not in force");
    }
}
