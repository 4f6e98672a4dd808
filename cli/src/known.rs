//! The leaderboards, rounds and submitters that a benchmark has, so that a misspelt name is an error that names the nearest ones.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};
use dataperf::challenge::Challenge;
use dataperf::dataset::DatasetError;
use dataperf::ports::leaderboard::{Entry, Leaderboards, OPEN_ROUND, POST_ROUND};
use dataperf::upload::UNNAMED;
use dataperf::{Descriptor, SubmissionId, SubmitterName, offer, similar};
use dataperf_aws::{folders, versions};
use dataperf_hosted::is_step;

use crate::cloud::{Cloud, now};
use crate::in_force::Boards;
use crate::registry::descriptor;

/// Lines of a history that are read at once.
const PAGE: usize = 200;

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

    /// Their names.
    pub(crate) fn leaderboards(&self) -> Vec<String> {
        self.leaderboards.iter().cloned().collect()
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

/// The submitters of a benchmark: those that have a receipt, something unfinished, or access that was given to them.
///
/// # Errors
/// When the table or a bucket does not answer.
pub(crate) async fn submitters(cloud: &Cloud, benchmark: &str) -> Result<BTreeSet<String>> {
    let table = cloud.leaderboards();
    let mut found = BTreeSet::new();
    for board in named_folders(cloud, &format!("{benchmark}/")).await? {
        found.extend(named_folders(cloud, &format!("{benchmark}/{board}/")).await?);
    }
    for noted in table.submitters(benchmark).await? {
        found.insert(noted.name.into());
    }
    for grant in table.grants(benchmark).await? {
        found.insert(grant.submitter.to_string());
    }
    for entry in table.unfinished(benchmark).await? {
        found.insert(entry.submitter);
    }
    found.retain(|name| name.parse::<SubmitterName>().is_ok());
    Ok(found)
}

/// Notes a name as that of a submitter, unless people may take it for the name of one that is known.
///
/// # Errors
/// With the other name; when the table or a bucket does not answer.
pub(crate) async fn note_submitter(cloud: &Cloud, benchmark: &str, name: &SubmitterName) -> Result<()> {
    // those of versions before are in buckets and grants alone
    for other in submitters(cloud, benchmark).await? {
        if other.parse().is_ok_and(|other| name.looks_like(&other)) {
            return Err(looks_alike(name.as_str(), &other));
        }
    }
    let noted = cloud
        .leaderboards()
        .note_submitter(benchmark, name, now())
        .await?;
    match noted {
        Some(other) => Err(looks_alike(name.as_str(), other.as_str())),
        None => Ok(()),
    }
}

/// Why a name is refused that looks like another one.
pub(crate) fn looks_alike(name: &str, other: &str) -> anyhow::Error {
    anyhow!(
        "`{name}` looks like `{other}`, who is known already: boards are read by people, so take a name that differs in more"
    )
}

/// A submitter's newest `n` uploads, newest first, with steps of scores in between if `with_steps`.
///
/// # Errors
/// When the table does not answer.
pub(crate) async fn uploads(
    cloud: &Cloud,
    benchmark: &str,
    submitter: &str,
    n: usize,
    with_steps: bool,
) -> Result<Vec<Entry>> {
    let table = cloud.leaderboards();
    if with_steps || descriptor(benchmark)?.kinds.is_empty() {
        return Ok(table.history(benchmark, submitter, n).await?);
    }
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < n {
        let page = table
            .history_page(benchmark, submitter, after.as_ref(), PAGE)
            .await?;
        found.extend(page.lines.into_iter().filter(|entry| !is_step(&entry.board)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found.truncate(n);
    Ok(found)
}

/// Refuses a submitter that a benchmark does not have.
///
/// # Errors
/// With the most similar names, or with all there are.
pub(crate) async fn check_submitter(cloud: &Cloud, benchmark: &str, name: &str) -> Result<()> {
    let known = submitters(cloud, benchmark).await?;
    if known.is_empty() {
        bail!("{benchmark} has no submitter `{name}`, and no other either: nothing has been uploaded to it");
    }
    if !known.contains(name) {
        bail!("{benchmark} has no submitter `{name}`: {}", offer(name, &known));
    }
    Ok(())
}

/// What is directly below a prefix of the results bucket and belongs to somebody.
async fn named_folders(cloud: &Cloud, prefix: &str) -> Result<Vec<String>> {
    let mut found = folders(&cloud.clients.s3, &cloud.names.results_bucket, prefix).await?;
    found.retain(|name| name != UNNAMED);
    Ok(found)
}

/// All submissions to a benchmark: those that have a receipt, and those that are unfinished.
///
/// # Errors
/// When the table or a bucket does not answer.
pub(crate) async fn ids(cloud: &Cloud, benchmark: &str) -> Result<BTreeSet<SubmissionId>> {
    let mut ids = BTreeSet::new();
    let (prefix, results) = (format!("{benchmark}/"), &cloud.names.results_bucket);
    let mut place = None;
    loop {
        let page = versions(&cloud.clients.s3, results, &prefix, place.as_ref()).await?;
        ids.extend(page.uploads.iter().filter_map(|receipt| of_receipt(&receipt.key)));
        place = page.next;
        if place.is_none() {
            break;
        }
    }
    let unfinished = cloud.leaderboards().unfinished(benchmark).await?;
    ids.extend(unfinished.into_iter().map(|entry| entry.id));
    Ok(ids)
}

/// The submission whose receipt has this key: `BENCHMARK/LEADERBOARD/SUBMITTER/ID.json`, or with a revision before the ending.
fn of_receipt(key: &str) -> Option<SubmissionId> {
    let (_, name) = key.rsplit_once('/')?;
    name.strip_suffix(".json")?.split('.').next()?.parse().ok()
}

/// That a benchmark has no submission of this id, with the most similar ids where there are some.
///
/// # Errors
/// When the table or a bucket does not answer.
pub(crate) async fn no_submission(cloud: &Cloud, benchmark: &str, id: &str) -> Result<anyhow::Error> {
    let known = ids(cloud, benchmark).await?;
    let known: Vec<&str> = known.iter().map(SubmissionId::as_str).collect();
    let remedy = similar(id, &known).unwrap_or_else(|| {
        format!("check the id, or whether its upload arrived; `dataperf status {benchmark} --submitter NAME` lists a submitter's")
    });
    Ok(anyhow!("{benchmark} has no submission `{id}`: {remedy}"))
}
