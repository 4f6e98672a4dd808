//! The benchmarks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use dataperf::Descriptor;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::challenge::Challenge;
use dataperf::table::leaderboard::Leaderboards;
use dataperf_aws::{Table, now};
use dataperf_hosted::HOSTED;
use futures_util::future::try_join_all;
use serde::Serialize;
use utoipa::ToSchema;

use super::UPLOADS;
use super::board::leaders::{Leaders, leaders};
use super::board::presentation::Presentation;
use super::rounds::{ChallengeDocument, covers};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue::{self, Boards};
use crate::dataset::Described;
use crate::query::{IncludeLeaders, ListQuery, NoQuery, Strict};
use dataperf_http::Problem;

/// A benchmark in the list.
#[derive(Serialize, ToSchema)]
struct Summary {
    /// The id: the first part of every key.
    #[schema(example = "speech-selection")]
    id: &'static str,
    /// One line about it.
    about: &'static str,
    /// Whether people compete on what a frozen model is trained with, and not by fooling models or with models of their own.
    has_frozen_model: bool,
    /// Whether what is scored are files, and not what people decide about the lines of files.
    has_files: bool,
    /// Which scores are better.
    direction: Direction,
    /// The least and the greatest score there can be.
    score_range: [f64; 2],
    /// Its boards: those of the data sets in force, and those that have scores from before.
    leaderboards: Vec<LeaderboardSummary>,
    /// The digests of the data sets in force; empty before there is one.
    datasets: Vec<String>,
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
    /// Which of a submitter's scored submissions stand on it: the `best`, the `latest`, or `all`.
    #[schema(example = "best")]
    ranking: &'static str,
    /// One line about it; empty for a board that no data set in force has.
    about: String,
    /// The data set that it is scored with, as its page says; `null` for a board that is not in force, or that takes no uploads any more and
    /// whose round pins none: its page then has the one of its newest score.
    dataset: Option<String>,
    #[serde(flatten)]
    presentation: Presentation,
    /// With `include=leaders`: who leads, and how many are on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaders: Option<Leaders>,
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
    /// The data sets in force, and those that rounds are scored with instead.
    #[schema(value_type = Vec<Described>)]
    dataset_descriptions: Vec<Arc<Described>>,
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
    /// The largest file that is read at all, of whatever kind.
    max_bytes: u64,
    /// The largest file of each kind; empty where files are of one.
    #[schema(example = json!({}))]
    max_bytes_of_kinds: BTreeMap<&'static str, u64>,
    /// The forms that a file may have, of `json`, `jsonl`, `csv` and `zip`.
    #[schema(example = json!(["json"]))]
    forms: &'static [&'static str],
    /// Whether programs alone are scored, as models on the benchmark's own examples.
    only_programs: bool,
    /// The address, from the root of this API's host, where forms for uploads are asked for.
    #[schema(example = "/api/v1/uploads")]
    uploads: &'static str,
    /// The address of S3, for a cloud on one machine; `null` for that of AWS.
    #[schema(example = json!(null))]
    s3_endpoint: Option<String>,
}

/// What is known of a benchmark beside its type.
struct Known {
    summary: Summary,
    in_force: Boards,
    challenge: Option<Challenge>,
}

async fn known(app: &App, table: &Table, facts: &Descriptor) -> Result<Known, Problem> {
    let challenge = catalogue::challenge(app, facts.id).await?;
    let in_force = catalogue::boards(app, facts, challenge.as_ref())
        .await?
        .described()?;
    let mut boards: BTreeSet<(String, String)> = BTreeSet::new();
    for name in in_force.leaderboards.keys() {
        boards.insert((name.clone(), OPEN_ROUND.to_owned()));
        let rounds = challenge.iter().flat_map(|challenge| &challenge.rounds);
        let of_board = rounds.filter(|round| covers(round, name));
        boards.extend(of_board.map(|round| (name.clone(), round.id.clone())));
    }
    let scored = table.boards(facts.id).await?;
    boards.extend(scored.into_iter().map(|board| (board.leaderboard, board.round)));
    let leaderboards = boards
        .into_iter()
        .map(|(name, round)| summary(&in_force, challenge.as_ref(), facts, name, round));
    let summary = Summary {
        id: facts.id,
        about: facts.about,
        has_files: facts.kinds.is_empty(),
        has_frozen_model: facts.kinds.is_empty() && !facts.only_programs,
        direction: match facts.direction {
            dataperf::Direction::HigherIsBetter => Direction::HigherIsBetter,
            dataperf::Direction::LowerIsBetter => Direction::LowerIsBetter,
        },
        score_range: facts.score_range,
        leaderboards: leaderboards.collect(),
        datasets: in_force
            .in_force
            .datasets()
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    Ok(Known {
        summary,
        in_force,
        challenge,
    })
}

fn summary(
    boards: &Boards,
    challenge: Option<&Challenge>,
    facts: &Descriptor,
    name: String,
    round: String,
) -> LeaderboardSummary {
    let board = Board {
        benchmark: facts.id.to_owned(),
        leaderboard: name,
        round,
    };
    let dataset = if facts.fixed.is_some() {
        boards.in_force.dataset_of(&board.leaderboard)
    } else {
        boards.in_force.scored_with(challenge, &board, now())
    };
    let settings = boards.settings_of(&board.leaderboard, dataset);
    LeaderboardSummary {
        about: settings
            .map(|settings| settings.about.clone())
            .unwrap_or_default(),
        dataset: dataset.map(|dataset| dataset.to_string()),
        presentation: settings
            .map(|settings| Presentation::new(facts.id, settings))
            .unwrap_or_default(),
        leaders: None,
        is_post_round: board.is_post_round(),
        ranking: catalogue::ranking(facts, challenge, &board.leaderboard),
        name: board.leaderboard,
        round: board.round,
    }
}

/// All benchmarks with their boards.
#[utoipa::path(
    get, path = "/benchmarks", operation_id = "benchmarks",
    params(ListQuery),
    responses((status = 200, description = "The benchmarks", body = Benchmarks)),
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<ListQuery>,
) -> Result<Response, Problem> {
    let table = app.table().await;
    let with_leaders = query.include == Some(IncludeLeaders::Leaders);
    let one = async |facts| {
        let mut known = known(&app, &table, facts).await?;
        if with_leaders {
            let boards = known.summary.leaderboards.iter();
            let all = boards.map(|board_one| {
                let board = Board {
                    benchmark: facts.id.to_owned(),
                    leaderboard: board_one.name.clone(),
                    round: board_one.round.clone(),
                };
                leaders(
                    &table,
                    &caller,
                    facts,
                    &known.in_force,
                    known.challenge.as_ref(),
                    board,
                )
            });
            let all = try_join_all(all).await?;
            for (board_one, leaders) in known.summary.leaderboards.iter_mut().zip(all) {
                board_one.leaders = Some(leaders);
            }
        }
        Ok::<_, Problem>(known.summary)
    };
    let benchmarks = try_join_all(HOSTED.iter().map(one)).await?;
    Ok(wishes.json(&caller, &Benchmarks { benchmarks }))
}

/// One benchmark: its boards, its data set, how to submit.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}", operation_id = "benchmark",
    responses((status = 200, description = "The benchmark", body = OneBenchmark)),
)]
pub(super) async fn one(
    State(app): State<App>,
    Path(id): Path<String>,
    caller: Caller,
    wishes: Wishes,
    headers: HeaderMap,
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
        max_bytes_of_kinds: facts
            .kinds
            .iter()
            .map(|kind| (*kind, (facts.max_bytes_of_kind)(kind)))
            .collect(),
        forms: facts.forms,
        only_programs: facts.only_programs,
        uploads: UPLOADS,
        s3_endpoint: app.local_s3(&headers),
    };
    let benchmark = OneBenchmark {
        summary: known.summary,
        dataset_descriptions: known.in_force.datasets,
        challenge: known.challenge.map(ChallengeDocument::from),
        submitting,
    };
    Ok(wishes.json(&caller, &benchmark))
}
