//! A round of the published challenge.

use anyhow::{Result, bail};
use dataperf::challenge::{Challenge, Round};
use dataperf::{offer, quote};

use crate::cloud::Cloud;

/// The published challenge of a benchmark, and its round with this id.
///
/// # Errors
/// If no challenge is published or it has no such round, with the rounds that it has.
pub(super) async fn published_round(cloud: &Cloud, benchmark: &str, id: &str) -> Result<(Challenge, Round)> {
    let Some(challenge) = Challenge::published(&cloud.datasets(), benchmark).await? else {
        bail!(
            "no challenge is published for {benchmark}, so it has no rounds: publish one with `dataperf challenge publish`"
        );
    };
    let Some(round) = challenge.rounds.iter().find(|round| round.id == id).cloned() else {
        let ids = challenge.rounds.iter().map(|round| &round.id);
        bail!("{benchmark} has no round {}: {}", quote(id), offer(id, ids));
    };
    Ok((challenge, round))
}
