//! The files that were scored on a board, by their digests: for the organizer, who finds those that several submitters have handed in.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::SubmissionId;
use dataperf::board::Board;
use dataperf_hosted::is_step;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{FilesQuery, Strict, within};
use crate::routes::rounds::must_exist;
use crate::routes::{name, round};
use dataperf_http::Problem;

/// A page of the files that were scored on a board.
#[derive(Serialize, ToSchema)]
struct ScoredFiles {
    /// The benchmark's id.
    benchmark: String,
    /// The leaderboard.
    leaderboard: String,
    /// The round.
    round: String,
    /// The files of its scored submissions, oldest first; withdrawn ones are left out.
    files: Vec<ScoredFile>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// A file that was scored.
#[derive(Serialize, ToSchema)]
struct ScoredFile {
    /// Its digest: files with the same one are the same.
    #[schema(example = "sha256:…")]
    artifact: String,
    /// The digest of what it says: files with the same one are the same selection, in whatever order and form.
    #[schema(example = "sha256:…")]
    content: String,
    /// The submission's id.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    submission: String,
    /// Whose it is.
    submitter: String,
    /// Whether it is a baseline's.
    is_baseline: bool,
    /// When it was stored.
    #[schema(format = DateTime)]
    received_at: String,
}

/// The files that were scored on a board, by their digests, also those of submissions that don't stand on it. The organizer's: others see the digests of what stands, in
/// receipts.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/files", operation_id = "scored_files",
    params(FilesQuery),
    responses((status = 200, description = "A page of files", body = ScoredFiles)),
    security(("token" = []))
)]
pub(crate) async fn scored_files(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<FilesQuery>,
) -> Result<Response, Problem> {
    caller.must_organize()?;
    let facts = catalogue::benchmark(&benchmark)?;
    let board = Board {
        benchmark,
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
    };
    if is_step(&board) {
        let detail = format!(
            "scores on `{}` come from people's decisions, not from files: `dataperf submitter identical \
                {}` compares the uploads",
            board.leaderboard, facts.id
        );
        return Err(Problem::not_found("no_files", "leaderboard", detail));
    }
    let limit = within(query.limit, 100, 200)?;
    let place = query.cursor.as_deref().map(|word| seal.open::<()>(word));
    let after = place.transpose()?.map(|place| place.at);
    let table = app.table().await;
    let page = table.series_page(&board, after.as_ref(), limit).await?;
    if page.lines.is_empty() && after.is_none() {
        must_exist(&app, facts, &board, &table).await?;
    }
    let ids: Vec<SubmissionId> = page.lines.iter().map(|entry| entry.id.clone()).collect();
    let receipts = table.receipts(facts.id, &ids).await?;
    let files = page.lines.iter().filter_map(|entry| {
        let verdict = &receipts.get(&entry.id)?.verdict;
        let artifact = verdict.artifact?;
        Some(ScoredFile {
            artifact: artifact.to_string(),
            content: verdict.content.unwrap_or(artifact).to_string(),
            submission: entry.id.to_string(),
            submitter: entry.submitter.clone(),
            is_baseline: entry.is_baseline,
            received_at: entry.received_at.to_string(),
        })
    });
    let document = ScoredFiles {
        files: files.collect(),
        benchmark: board.benchmark,
        leaderboard: board.leaderboard,
        round: board.round,
        next: page.next.map(|at| seal.word(&Place { at, so_far: () })),
    };
    Ok(wishes.json(&caller, &document))
}
