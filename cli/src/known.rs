//! The leaderboards and rounds that a benchmark has, so that a misspelt name is an error that names the nearest ones.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use dataperf::challenge::Challenge;
use dataperf::dataset::DatasetError;
use dataperf::ports::leaderboard::{Leaderboards, OPEN_ROUND, POST_ROUND};
use dataperf::{Descriptor, offer};

use crate::cloud::Cloud;
use crate::in_force::Boards;
use crate::registry::descriptor;

/// What there is of one benchmark in a cloud.
pub(crate) struct Known {
    benchmark: String,
    leaderboards: BTreeSet<String>,
    rounds: BTreeSet<String>,
}

impl Known {
    /// The leaderboards in force, those of the challenge's rounds, and those that have a score; the rounds of the
    /// challenge and those that have a score.
    ///
    /// # Errors
    /// When the table or a bucket does not answer, or the challenge can't be read.
    pub(crate) async fn of(cloud: &Cloud, benchmark: &str) -> Result<Self> {
        let hosted = descriptor(benchmark)?;
        let mut leaderboards: BTreeSet<String> = match hosted.fixed {
            Some(fixed) => fixed.leaderboards.iter().map(ToString::to_string).collect(),
            None => in_force(cloud, hosted).await?,
        };
        let mut rounds = BTreeSet::from([OPEN_ROUND.to_owned()]);
        if let Some(challenge) = Challenge::published(&cloud.datasets(), benchmark).await? {
            for round in challenge.rounds {
                leaderboards.extend(round.leaderboards);
                rounds.insert(format!("{}{POST_ROUND}", round.id));
                rounds.insert(round.id);
            }
        }
        for board in cloud.leaderboards().boards(benchmark).await? {
            leaderboards.insert(board.leaderboard);
            rounds.insert(board.round);
        }
        Ok(Self {
            benchmark: benchmark.to_owned(),
            leaderboards,
            rounds,
        })
    }

    /// Refuses a leaderboard or a round that does not exist.
    ///
    /// # Errors
    /// With the most similar names, or with all there are.
    pub(crate) fn check(&self, leaderboard: Option<&str>, round: Option<&str>) -> Result<()> {
        let benchmark = &self.benchmark;
        if let Some(name) = leaderboard.filter(|name| !self.leaderboards.contains(*name)) {
            let remedy = if self.leaderboards.is_empty() {
                "no data set of it is published: publish one with `dataperf dataset publish`".to_owned()
            } else {
                offer(name, &self.leaderboards)
            };
            bail!("{benchmark} has no leaderboard `{name}`: {remedy}");
        }
        if let Some(name) = round.filter(|name| !self.rounds.contains(*name)) {
            bail!("{benchmark} has no round `{name}`: {}", offer(name, &self.rounds));
        }
        Ok(())
    }
}

/// The leaderboards in force; none when there are none, or a data set is damaged: boards that have a score are known all the same.
async fn in_force(cloud: &Cloud, descriptor: &Descriptor) -> Result<BTreeSet<String>> {
    match Boards::of(&cloud.datasets(), descriptor).await {
        Ok(boards) => Ok(boards.boards.into_keys().collect()),
        Err(DatasetError::Frozen(_)) => Ok(BTreeSet::new()),
        Err(error @ DatasetError::Port(_)) => Err(error.into()),
    }
}
