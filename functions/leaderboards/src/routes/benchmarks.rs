//! The benchmarks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::Descriptor;
use dataperf::challenge::Challenge;
use dataperf::ports::leaderboard::{Leaderboards, OPEN_ROUND, POST_ROUND};
use dataperf_aws::Table;
use dataperf_hosted::HOSTED;
use serde::Serialize;
use utoipa::ToSchema;

use super::rounds::{ChallengeDocument, covers};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue::{self, Described, in_force};
use crate::problem::Problem;
use crate::query::{NoQuery, Strict};

/// A benchmark in the list.
#[derive(Serialize, ToSchema)]
struct Summary {
    /// The id: the first part of every key.
    #[schema(example = "speech-selection")]
    id: &'static str,
    /// One line about it.
    about: &'static str,
    /// Which scores are better.
    direction: Direction,
    /// The least and the greatest score there can be.
    score_range: [f64; 2],
    /// Its boards: those of the data set in force, and those that have scores from before.
    leaderboards: Vec<LeaderboardSummary>,
    /// The digest of the data set in force; `null` before there is one.
    dataset: Option<String>,
}

/// Which scores are better.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Direction {
    /// Larger ones.
    HigherIsBetter,
    /// Smaller ones.
    LowerIsBetter,
}

/// A board in a benchmark's list.
#[derive(Serialize, ToSchema)]
struct LeaderboardSummary {
    /// Its name.
    #[schema(example = "en-25")]
    name: String,
    /// The round.
    #[schema(example = "open")]
    round: String,
    /// Whether its round has closed and it is open as a benchmark.
    is_post_round: bool,
    /// One line about it; empty for a board that the data set in force does not have.
    about: String,
}

/// The benchmarks.
#[derive(Serialize, ToSchema)]
struct Benchmarks {
    /// All of them.
    benchmarks: Vec<Summary>,
}

/// One benchmark.
#[derive(Serialize, ToSchema)]
struct OneBenchmark {
    #[serde(flatten)]
    summary: Summary,
    /// The data set in force.
    #[schema(value_type = Option<Described>)]
    dataset_description: Option<Arc<Described>>,
    /// The challenge that is published.
    challenge: Option<ChallengeDocument>,
    /// How to submit.
    submitting: Submitting,
}

/// How to submit: upload a file to the bucket, by any S3 client.
#[derive(Serialize, ToSchema)]
struct Submitting {
    /// The bucket.
    bucket: String,
    /// The key to upload to; the words in capitals are yours to replace.
    #[schema(example = "speech-selection/LEADERBOARD/SUBMITTER/FILE")]
    key: String,
    /// What stands in the leaderboard's place, where files are of several kinds; empty where they are of one.
    #[schema(example = json!([]))]
    kinds: &'static [&'static str],
    /// The largest file that is read at all.
    max_bytes: u64,
}

/// What is known of a benchmark beside its type.
struct Known {
    summary: Summary,
    described: Option<Arc<Described>>,
    challenge: Option<Challenge>,
}

async fn known(app: &App, table: &Table, facts: &Descriptor) -> Result<Known, Problem> {
    let described = in_force(app, facts).await?;
    let challenge = catalogue::challenge(app, facts.id).await?;
    let defined: BTreeMap<&str, &str> = described
        .iter()
        .flat_map(|described| &described.leaderboards)
        .map(|board| (board.name.as_str(), board.about.as_str()))
        .collect();
    let mut boards: BTreeSet<(String, String)> = BTreeSet::new();
    for name in defined.keys() {
        boards.insert(((*name).to_owned(), OPEN_ROUND.to_owned()));
        let rounds = challenge.iter().flat_map(|challenge| &challenge.rounds);
        let of_board = rounds.filter(|round| covers(round, name));
        boards.extend(of_board.map(|round| ((*name).to_owned(), round.id.clone())));
    }
    let scored = table.boards(facts.id).await?;
    boards.extend(scored.into_iter().map(|board| (board.leaderboard, board.round)));
    let leaderboards = boards.into_iter().map(|(name, round)| LeaderboardSummary {
        about: defined.get(name.as_str()).copied().unwrap_or_default().to_owned(),
        is_post_round: round.ends_with(POST_ROUND),
        name,
        round,
    });
    let summary = Summary {
        id: facts.id,
        about: facts.about,
        direction: match facts.direction {
            dataperf::Direction::HigherIsBetter => Direction::HigherIsBetter,
            dataperf::Direction::LowerIsBetter => Direction::LowerIsBetter,
        },
        score_range: facts.score_range,
        leaderboards: leaderboards.collect(),
        dataset: described.as_ref().map(|described| described.digest().to_owned()),
    };
    Ok(Known {
        summary,
        described,
        challenge,
    })
}

/// All benchmarks with their boards.
#[utoipa::path(
    get, path = "/benchmarks", operation_id = "benchmarks",
    responses(
        (status = 200, description = "The benchmarks", body = Benchmarks),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = []))
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let table = app.table().await;
    let mut benchmarks = Vec::new();
    for facts in HOSTED {
        benchmarks.push(known(&app, &table, facts).await?.summary);
    }
    Ok(wishes.json(&caller, &Benchmarks { benchmarks }))
}

/// One benchmark: its boards, its data set, how to submit.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}", operation_id = "benchmark",
    params(("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection")),
    responses(
        (status = 200, description = "The benchmark", body = OneBenchmark),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = []))
)]
pub(super) async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&id)?;
    let known = known(&app, &app.table().await, facts).await?;
    let place = if facts.kinds.is_empty() {
        "LEADERBOARD"
    } else {
        "KIND"
    };
    let submitting = Submitting {
        bucket: app.submissions().to_owned(),
        key: format!("{}/{place}/SUBMITTER/FILE", facts.id),
        kinds: facts.kinds,
        max_bytes: facts.max_artifact_bytes,
    };
    let benchmark = OneBenchmark {
        summary: known.summary,
        dataset_description: known.described,
        challenge: known.challenge.map(ChallengeDocument::from),
        submitting,
    };
    Ok(wishes.json(&caller, &benchmark))
}
