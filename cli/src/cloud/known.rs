//! The leaderboards, rounds and submitters that a benchmark has, so that a misspelt name is an error that names the nearest ones.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow, bail};
use dataperf::board::{Board, OPEN_ROUND, POST_ROUND};
use dataperf::challenge::{BASELINE_PREFIX, Challenge, Round};
use dataperf::dataset::DatasetError;
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, SubmissionId, SubmitterName, Timestamp, offer, similar};
use dataperf_aws::versions;
use dataperf_hosted::is_step;

use crate::cloud::active_boards::Boards;
use crate::cloud::api;
use crate::cloud::{Cloud, now};
use crate::hosted::descriptor;

/// Lines of a history that are read at once.
const PAGE: usize = 200;
/// The fewest digits that name a submission, as in git.
const MIN_DIGITS: usize = 4;

/// The contents of a cloud for one benchmark.
pub(crate) struct Known {
    benchmark: String,
    leaderboards: BTreeSet<String>,
    rounds: BTreeSet<String>,
    /// Names of rounds on final boards, and the facts about those that are still to come.
    finals: BTreeMap<String, String>,
}

impl Known {
    /// The leaderboards: active, in the challenge's rounds, or with a score. The rounds: in the
    /// challenge, or with a score.
    ///
    /// # Errors
    /// When the table or a bucket does not answer, or the challenge can't be read.
    pub(crate) async fn read(cloud: &Cloud, benchmark: &str) -> Result<Self> {
        let hosted = descriptor(benchmark)?;
        let mut leaderboards: BTreeSet<String> = match hosted.fixed {
            Some(fixed) => fixed.leaderboards.iter().map(ToString::to_string).collect(),
            None => in_force(cloud, hosted).await?,
        };
        let mut rounds = BTreeSet::from([OPEN_ROUND.to_owned()]);
        let mut finals = BTreeMap::new();
        if let Some(challenge) = Challenge::published(&cloud.datasets(), benchmark).await? {
            for round in &challenge.rounds {
                if let Some(by) = challenge.final_by(round) {
                    finals.insert(Board::final_of(&round.id), final_board(benchmark, round, by));
                }
            }
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
            finals,
        })
    }

    /// The leaderboards and rounds that a cloud's page lists.
    pub(crate) fn from_page(benchmark: &str, page: api::Benchmark) -> Self {
        let rounds = page.challenge.into_iter().flat_map(|challenge| challenge.rounds);
        let rounds = rounds.flat_map(|round| [format!("{}{POST_ROUND}", round.id), round.id]);
        let listed = page.leaderboards.iter().map(|board| board.round.clone());
        Self {
            benchmark: benchmark.to_owned(),
            rounds: rounds.chain(listed).chain([OPEN_ROUND.to_owned()]).collect(),
            leaderboards: page.leaderboards.into_iter().map(|board| board.name).collect(),
            finals: BTreeMap::new(),
        }
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
            if let Some(awaited) = self.finals.get(name) {
                bail!("{awaited}");
            }
            bail!("{benchmark} has no round `{name}`: {}", offer(name, &self.rounds));
        }
        Ok(())
    }
}

/// A time for people, to the next minute.
fn minute(at: Timestamp) -> String {
    let text = Timestamp::from_unix_millis(at.unix_millis().saturating_add(59_999)).to_string();
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{minute} UTC on {day}"),
        _ => text,
    }
}

/// Why there is no final board of a round yet, and when there is.
fn final_board(benchmark: &str, round: &Round, by: Timestamp) -> String {
    let (now, id) = (now(), &round.id);
    let is_late = by < now;
    let by = minute(by);
    match round.closes.filter(|closes| now < *closes) {
        Some(closes) => format!(
            "the round `{id}` of {benchmark} closes at {}, and its final board is made by {by}",
            minute(closes)
        ),
        None if !is_late => format!(
            "the final board of the round `{id}` of {benchmark} is made by {by}: `dataperf challenge finish {benchmark} {id}` makes it now"
        ),
        None => format!(
            "the round `{id}` of {benchmark} has no final board, which was due by {by}: `dataperf challenge finish {benchmark} {id}` makes it now"
        ),
    }
}

/// The active leaderboards; empty if there are none, or a data set is damaged. Boards with a score
/// are known anyway.
async fn in_force(cloud: &Cloud, descriptor: &Descriptor) -> Result<BTreeSet<String>> {
    match Boards::read(&cloud.datasets(), descriptor).await {
        Ok(boards) => Ok(boards.boards.into_keys().collect()),
        Err(DatasetError::Frozen(_)) => Ok(BTreeSet::new()),
        Err(error @ DatasetError::Port(_)) => Err(error.into()),
    }
}

/// The submitters of a benchmark, as the read API lists them.
///
/// # Errors
/// When the table or a bucket does not answer.
pub(crate) async fn submitters(cloud: &Cloud, benchmark: &str) -> Result<BTreeSet<String>> {
    let submitters = dataperf_aws::submitters(&cloud.leaderboards(), &cloud.results(), benchmark).await?;
    Ok(submitters.into_iter().map(String::from).collect())
}

/// Refuses a name that people may confuse with an existing submitter's or a baseline's. Returns
/// whether the name already has access or is on a board: such a name is kept.
///
/// # Errors
/// With the other name; when the table or a bucket does not answer.
pub(crate) async fn check_name(cloud: &Cloud, benchmark: &str, name: &SubmitterName) -> Result<bool> {
    check_is_no_baselines(name)?;
    let table = cloud.leaderboards();
    let grants = table.grants(benchmark).await?;
    let is_granted = |name: &SubmitterName| grants.iter().any(|grant| grant.submitter == *name);
    if is_granted(name) || table.has_stood(benchmark, name).await? {
        return Ok(true);
    }
    if let Some(other) = table.name_taken_by(benchmark, name).await? {
        return Err(looks_alike(name, &other, benchmark));
    }
    // a name that was freed may still look like one with a grant or a row
    for other in submitters(cloud, benchmark).await? {
        let other: SubmitterName = other.parse()?;
        if name.looks_like(&other) && (is_granted(&other) || table.has_stood(benchmark, &other).await?) {
            return Err(looks_alike(name, &other, benchmark));
        }
    }
    Ok(false)
}

/// Notes a name that was [checked](check_name) as somebody's.
///
/// # Errors
/// With the other name, if a name that looks alike was noted first; when the table does not answer.
pub(crate) async fn note_name(
    cloud: &Cloud,
    benchmark: &str,
    name: &SubmitterName,
    is_kept: bool,
) -> Result<()> {
    let noted = cloud.leaderboards().note_name(benchmark, name, now()).await?;
    match noted.filter(|_| !is_kept) {
        Some(other) => Err(looks_alike(name, &other, benchmark)),
        None => Ok(()),
    }
}

/// Refuses a name that people may take for a baseline's.
///
/// # Errors
/// If the name looks like a baseline's.
fn check_is_no_baselines(name: &SubmitterName) -> Result<()> {
    if name.looks_like_baseline() {
        bail!(
            "`{name}` looks like a name that begins with `{BASELINE_PREFIX}`, which only the organizer may use: choose another name"
        );
    }
    Ok(())
}

/// Why a name is refused that looks like another one.
fn looks_alike(name: &SubmitterName, other: &SubmitterName, benchmark: &str) -> anyhow::Error {
    anyhow!(
        "`{name}` looks like `{other}`, who submits to {benchmark} or has access: choose a name that differs more. If `{other}` \
            was a mistake and has no score, `dataperf submitter free {other}` frees the name"
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
    let (mut uploads, mut after) = (Vec::new(), None);
    while uploads.len() < n {
        let page = table
            .history_page(benchmark, submitter, after.as_ref(), PAGE)
            .await?;
        uploads.extend(page.lines.into_iter().filter(|entry| !is_step(&entry.board)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    uploads.truncate(n);
    Ok(uploads)
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

/// The submissions that a text may name: those with this id, or the one whose id begins with it;
/// empty if there are none.
///
/// # Errors
/// When several ids begin so; when the table or a bucket does not answer.
pub(crate) async fn named<'b>(
    cloud: &Cloud,
    benchmarks: &[&'b str],
    text: &str,
) -> Result<Vec<(&'b str, SubmissionId)>> {
    if let Ok(id) = text.parse::<SubmissionId>() {
        return Ok(benchmarks
            .iter()
            .map(|benchmark| (*benchmark, id.clone()))
            .collect());
    }
    let mut known = Vec::new();
    if text.len() >= MIN_DIGITS {
        for benchmark in benchmarks {
            known.extend(
                ids(cloud, benchmark)
                    .await?
                    .into_iter()
                    .map(|id| (*benchmark, id)),
            );
        }
    }
    beginning(known, text)
}

/// The submission among these whose id begins with a text of at least four digits; `None` if there
/// is none.
///
/// # Errors
/// When several ids begin so.
pub(crate) fn beginning<'b>(
    known: impl IntoIterator<Item = (&'b str, SubmissionId)>,
    text: &str,
) -> Result<Vec<(&'b str, SubmissionId)>> {
    let is_named = |(_, id): &(&str, SubmissionId)| text.len() >= MIN_DIGITS && id.as_str().starts_with(text);
    let named: Vec<_> = known.into_iter().filter(is_named).collect();
    if let [(_, first), (_, second), ..] = named.as_slice() {
        bail!(
            "the ids of several submissions begin with `{text}`, such as `{first}` and `{second}`: give more digits"
        );
    }
    Ok(named)
}

/// The error for an unknown submission id, with the most similar ids if there are any.
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
