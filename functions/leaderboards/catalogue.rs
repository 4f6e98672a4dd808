//! The benchmarks, and their active boards.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataperf::benchmark::Leaderboard;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Ranking};
use dataperf::dataset::active::{InForce, published_manifest};
use dataperf::dataset::frozen::FrozenError;
use dataperf::dataset::{DatasetError, kit_key, rules_key, summary_key};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::submission::Entry;
use dataperf::{Descriptor, Digest, Receipt, Shown, offer};
use dataperf_aws::Table;
use dataperf_hosted::{IDS, hosted};
use serde_json::Value;

use crate::app::App;
use crate::caller::Caller;
use crate::dataset::Described;
use dataperf_http::Problem;

/// The benchmark with this id.
pub(crate) fn benchmark(id: &str) -> Result<&'static Descriptor, Problem> {
    hosted(id).ok_or_else(|| {
        let detail = format!("the benchmark does not exist: {}", offer(id, IDS));
        Problem::not_found("unknown_benchmark", "benchmark", detail)
    })
}

/// The active boards of a benchmark, and their data sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boards {
    /// The data set of each board.
    pub(crate) in_force: InForce,
    /// The boards of the active data sets, by name.
    pub(crate) leaderboards: BTreeMap<String, (Leaderboard, Digest)>,
    /// The active data sets, and those that score open or closed rounds instead.
    pub(crate) datasets: Vec<Arc<Described>>,
    /// Why the first indescribable active data set can't be described.
    damage: Option<FrozenError>,
}

impl Boards {
    /// The active data set's description of a board.
    pub(crate) fn leaderboard(&self, name: &str) -> Option<&Leaderboard> {
        self.leaderboards.get(name).map(|(leaderboard, _)| leaderboard)
    }

    /// The board's description in the data set that scores it, or else in the active one.
    pub(crate) fn settings_of(&self, name: &str, scored_with: Option<Digest>) -> Option<&Leaderboard> {
        let digest = scored_with.map(|dataset| dataset.to_string());
        let of_board = self
            .datasets
            .iter()
            .find(|dataset_one| Some(&dataset_one.digest) == digest.as_ref());
        let board =
            of_board.and_then(|dataset_one| dataset_one.leaderboards.iter().find(|board| board.name == name));
        board.or_else(|| self.leaderboard(name))
    }

    /// The boards, or the damage where no data set could be described: one damaged data set is no reason to be silent about the others.
    pub(crate) fn described(self) -> Result<Self, DatasetError> {
        match self.damage {
            Some(damage) if self.datasets.is_empty() => Err(damage.into()),
            _ => Ok(self),
        }
    }
}

/// The challenge that is published, if one is.
pub(crate) async fn challenge(app: &App, benchmark: &str) -> Result<Option<Challenge>, Problem> {
    Ok(Challenge::published(&app.datasets().await, benchmark).await?)
}

/// Which of a submitter's scored submissions a leaderboard's boards show, in the word of
/// challenges.
pub(crate) fn ranking(facts: &Descriptor, challenge: Option<&Challenge>, leaderboard: &str) -> &'static str {
    let chosen = challenge.map_or_else(Ranking::default, |challenge| challenge.ranking(leaderboard));
    facts.ranking(chosen).as_str()
}

/// The part of a receipt that the caller sees now; the organizer sees everything.
pub(crate) async fn shown(app: &App, caller: &Caller, receipt: &Receipt) -> Result<Shown, Problem> {
    if caller.is_organizer() {
        return Ok(Shown::WHOLE);
    }
    let challenge = challenge(app, &receipt.verdict.benchmark).await?;
    Ok(now_shown(challenge.as_ref(), receipt))
}

/// Checks that the caller may see a submission. Everybody may if it can appear on a board that is
/// not hidden; otherwise only its submitter and the organizer.
pub(crate) async fn must_see(
    app: &App,
    caller: &Caller,
    entry: &Entry,
    subject: &str,
) -> Result<(), Problem> {
    if caller.acts_for(&entry.submitter) {
        return Ok(());
    }
    let challenge = challenge(app, &entry.board.benchmark).await?;
    if !caller.sees(entry, challenge.as_ref()) {
        caller.must_act_for(&entry.submitter, subject)?;
    }
    Ok(())
}

/// The part of a receipt that submitters and the public see now.
pub(crate) fn now_shown(challenge: Option<&Challenge>, receipt: &Receipt) -> Shown {
    dataperf::challenge::shown_of_receipt(challenge, receipt, dataperf_aws::now())
}

/// The active boards; empty without an active data set. Boards of a damaged data set are left out,
/// and the damage is logged.
pub(crate) async fn boards(
    app: &App,
    facts: &Descriptor,
    challenge: Option<&Challenge>,
) -> Result<Boards, DatasetError> {
    let in_force = InForce::read(&app.datasets().await, facts.id).await?;
    let mut boards = Boards::default();
    let mut datasets = in_force.datasets();
    if !in_force.is_empty() {
        let now = dataperf_aws::now();
        let rounds = challenge.into_iter().flat_map(|challenge| &challenge.rounds);
        let opened = rounds.filter(|round| round.opens <= now);
        datasets.extend(opened.filter_map(|round| round.dataset_at(now)));
    }
    for dataset in datasets {
        let described = match described(app, facts, dataset).await {
            Err(DatasetError::Frozen(damage)) => {
                tracing::error!(benchmark = facts.id, %dataset, %damage, "an active data set can't be described");
                boards.damage.get_or_insert(damage);
                continue;
            }
            described => described?,
        };
        for leaderboard in &described.leaderboards {
            if in_force.dataset_of(&leaderboard.name) == Some(dataset) {
                let name = leaderboard.name.clone();
                boards.leaderboards.insert(name, (leaderboard.clone(), dataset));
            }
        }
        let hides_pool = challenge.is_some_and(|challenge| challenge.hides_pool(dataset));
        boards.datasets.push(if hides_pool {
            Arc::new(described.without_sizes())
        } else {
            described
        });
    }
    boards.in_force = in_force;
    Ok(boards)
}

/// A data set's information for participants: from the one that is `pinned`, or the first active
/// one.
pub(crate) async fn parameters(
    app: &App,
    facts: &Descriptor,
    pinned: Option<Digest>,
) -> Result<Value, DatasetError> {
    let datasets = app.datasets().await;
    let dataset = match pinned {
        Some(dataset) => Some(dataset),
        None => InForce::read(&datasets, facts.id)
            .await?
            .datasets()
            .into_iter()
            .next(),
    };
    let Some(dataset) = dataset else {
        return Ok(Value::Null);
    };
    let manifest = published_manifest(&datasets, facts.id, dataset).await?;
    Ok(manifest.parameters::<Value>()?)
}

/// The maximum bytes of a document about a data set, such as its summary or its rules.
const MAX_DOCUMENT_BYTES: u64 = 64 << 10;

async fn described(app: &App, facts: &Descriptor, dataset: Digest) -> Result<Arc<Described>, DatasetError> {
    if let Some(described) = app.described().get(&dataset) {
        return Ok(described);
    }
    let datasets = app.datasets().await;
    let manifest = published_manifest(&datasets, facts.id, dataset).await?;
    let document = async |key: String| match datasets.get(&key, None, MAX_DOCUMENT_BYTES).await? {
        Got::Object(object) => Ok(Some(object.bytes)),
        Got::Missing | Got::TooLarge { .. } => Ok::<_, DatasetError>(None),
    };
    let summary = document(summary_key(facts.id, dataset)).await?;
    let summary = summary.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let rules = document(rules_key(facts.id, dataset)).await?;
    let rules = rules.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    let described = Described::new(facts, dataset, &manifest, summary.unwrap_or_default(), rules)?;
    let described = Arc::new(described);
    app.described().keep(dataset, described.clone());
    Ok(described)
}

/// The data set that scores a board now, for all answers: the challenge or the active data sets
/// name it; otherwise it is that of the newest score.
pub(crate) async fn scored_with(
    table: &Table,
    facts: &Descriptor,
    boards: &Boards,
    challenge: Option<&Challenge>,
    board: &Board,
) -> Result<Option<Digest>, Problem> {
    Ok(table
        .scored_with(facts, &boards.in_force, challenge, board, dataperf_aws::now())
        .await?)
}

/// The data set whose participants' kit is offered for a board, if the kit is stored: the one that
/// scores the board. Before the round opens it is the active one. A final board has the kit of the
/// public board. Where programs compete it is the kit of their public data set. A data set that
/// programs have to meet unseen has no kit.
pub(crate) async fn kit(
    app: &App,
    facts: &Descriptor,
    boards: &Boards,
    challenge: Option<&Challenge>,
    board: &Board,
) -> Result<Option<Digest>, Problem> {
    let Some((_, in_force)) = boards.leaderboards.get(&board.leaderboard) else {
        return Ok(None);
    };
    let round = challenge.and_then(|challenge| challenge.round(&board.round));
    let scored_with = if round.is_some_and(|round| round.opens > dataperf_aws::now()) {
        None
    } else if facts.fixed.is_some() {
        // no data set scores there: uploads are checked against the round's own rules
        round.and_then(|round| round.dataset_at(dataperf_aws::now()))
    } else {
        let public = board.public().unwrap_or_else(|| board.clone());
        scored_with(&app.table().await, facts, boards, challenge, &public).await?
    };
    let public = round
        .and_then(|round| round.programs.as_ref())
        .map(|programs| programs.public);
    // the data set of a round that no document has may be one that programs have met unseen
    let now = dataperf_aws::now();
    let is_offered = |dataset: &Digest| {
        let rounds = challenge.into_iter().flat_map(|challenge| &challenge.rounds);
        let mut opened = rounds.filter(|round| round.opens <= now);
        boards.in_force.datasets().contains(dataset)
            || opened.any(|round| round.dataset == Some(*dataset) || round.dataset_at(now) == Some(*dataset))
    };
    let dataset = public.or(scored_with.filter(is_offered)).unwrap_or(*in_force);
    if challenge.is_some_and(|challenge| challenge.hides_pool(dataset)) {
        return Ok(None);
    }
    if app.has_kit(dataset) {
        return Ok(Some(dataset));
    }
    let key = kit_key(&board.benchmark, dataset);
    if app.datasets().await.get_beginning(&key, 1).await?.is_none() {
        return Ok(None);
    }
    app.keep_kit(dataset);
    Ok(Some(dataset))
}
