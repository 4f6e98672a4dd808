//! The benchmarks.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::ports::leaderboard::{Board, OPEN_ROUND};
use dataperf_aws::DynamoLeaderboards;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue::{self, Described, Facts, in_force};
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
    /// One line about it; empty for a board that the data set in force does not have.
    about: String,
    /// Scored submissions.
    n_scored: u64,
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
    /// The largest file that is read at all.
    max_bytes: u64,
}

async fn summary(
    app: &App,
    table: &DynamoLeaderboards,
    facts: &Facts,
) -> Result<(Summary, Option<Arc<Described>>), Problem> {
    let described = in_force(app, facts).await?;
    let mut boards: BTreeMap<(String, String), (String, u64)> = BTreeMap::new();
    for board in described.iter().flat_map(|described| &described.leaderboards) {
        let key = (board.name.clone(), OPEN_ROUND.to_owned());
        boards.insert(key, (board.about.clone(), 0));
    }
    for (board, n_scored) in table.counted_boards(facts.id).await? {
        let Board {
            leaderboard, round, ..
        } = board;
        boards.entry((leaderboard, round)).or_default().1 = n_scored;
    }
    let leaderboards = boards
        .into_iter()
        .map(|((name, round), (about, n_scored))| LeaderboardSummary {
            name,
            round,
            about,
            n_scored,
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
    Ok((summary, described))
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
    for facts in catalogue::benchmarks() {
        benchmarks.push(summary(&app, &table, &facts).await?.0);
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
    let (summary, described) = summary(&app, &app.table().await, &facts).await?;
    let submitting = Submitting {
        bucket: app.submissions().to_owned(),
        key: format!("{}/LEADERBOARD/SUBMITTER/FILE", facts.id),
        max_bytes: facts.max_artifact_bytes,
    };
    let benchmark = OneBenchmark {
        summary,
        dataset_description: described,
        submitting,
    };
    Ok(wishes.json(&caller, &benchmark))
}
