//! The page of the local cloud: every leaderboard, and what is unfinished, made anew for each request.

use std::fmt::Write as _;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use dataperf::benchmarks::IDS;
use dataperf::ports::leaderboard::{Board, Leaderboards, Ranked};
use serde_json::Value;

use crate::cloud::Cloud;
use crate::commands::leaderboard::{boards, document};
use crate::output::score;

const PLACES: usize = 100;
const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .75rem .25rem 0;\
    border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}.n{text-align:right;\
    font-variant-numeric:tabular-nums}:root{color-scheme:light dark}";

/// `/` for people, `/leaderboards.json` for programs.
pub(crate) fn router(cloud: Cloud) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/leaderboards.json", get(json))
        .with_state(cloud)
}

/// A query that failed, shown instead of the page.
struct Unavailable(anyhow::Error);

impl From<anyhow::Error> for Unavailable {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Unavailable {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, format!("{:#}\n", self.0)).into_response()
    }
}

async fn json(State(cloud): State<Cloud>) -> Result<Response, Unavailable> {
    let mut documents = Vec::new();
    for benchmark in IDS {
        documents.extend(
            boards(&cloud, benchmark, None, PLACES)
                .await?
                .iter()
                .map(|(board, top)| document(board, top)),
        );
    }
    let body = Value::Array(documents).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn page(State(cloud): State<Cloud>) -> Result<Html<String>, Unavailable> {
    let mut html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>DataPerf leaderboards</title><style>{STYLE}</style><h1>Leaderboards</h1>"
    );
    for benchmark in IDS {
        let boards = boards(&cloud, benchmark, None, PLACES).await?;
        let unfinished = cloud
            .leaderboards()
            .unfinished(benchmark)
            .await
            .map_err(anyhow::Error::from)?;
        let _ = write!(
            html,
            "<p>{}: {} unfinished</p>",
            escaped(benchmark),
            unfinished.len()
        );
        if boards.is_empty() {
            html.push_str("<p>No submission has a score yet.</p>");
        }
        for (board, top) in &boards {
            section(&mut html, board, top);
        }
    }
    Ok(Html(html))
}

fn section(html: &mut String, board: &Board, top: &[Ranked]) {
    let name = escaped(&format!(
        "{} · {} · {}",
        board.benchmark, board.leaderboard, board.round
    ));
    let _ = write!(
        html,
        "<h2>{name}</h2><table><tr><th class=n>rank<th class=n>score<th>submitter<th>received"
    );
    for ranked in top {
        let entry = &ranked.entry;
        let rank = ranked
            .shown_rank()
            .map_or("baseline".to_owned(), |rank| rank.to_string());
        let shown = entry.score.map(score).unwrap_or_default();
        let submitter = escaped(&entry.submitter);
        let _ = write!(
            html,
            "<tr><td class=n>{rank}<td class=n>{shown}<td>{submitter}<td>{}",
            entry.received_at
        );
    }
    html.push_str("</table>");
}

/// Names are the submitters' own words.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}
