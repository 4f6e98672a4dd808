//! Whether somebody may upload a file, and the form with which that is done.

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Terms};
use dataperf::dataset::active::InForce;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Descriptor, Reason, SubmitterName, Timestamp, UploadKey, offer};
use dataperf_aws::{Holder, Issued, Table, now};
use dataperf_hosted::{HOSTED, hosted};
use dataperf_http::{Field, Problem, UploadAnswer, UploadRequest, token};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app::App;

/// The path of the one route, behind a distribution and by itself.
const ROUTE: &str = "/api/v1/uploads";
/// The largest request, in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// The most characters of a file's name in a key.
const MAX_FILE_CHARS: usize = 100;
/// The most characters of a file name's ending; a longer one is no ending.
const MAX_ENDING_CHARS: usize = 10;

pub(crate) fn router(app: App) -> Router {
    let fixed = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
    };
    Router::new()
        .route(ROUTE, post(sign))
        .fallback(async || {
            let detail = format!("this function has one route: send a POST request to `{ROUTE}`");
            Problem::not_found("unknown_route", "path", detail)
        })
        .method_not_allowed_fallback(async || Problem::method("send a POST request to get a form"))
        .layer(DefaultBodyLimit::max(MAX_REQUEST_BYTES))
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(fixed(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ))
        .layer(fixed(header::CACHE_CONTROL, "no-store"))
        .layer(fixed(header::REFERRER_POLICY, "no-referrer"))
        .layer(fixed(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"))
        .with_state(app)
}

/// Signs a form for one file of the token's holder, if it could be scored now.
async fn sign(
    State(app): State<App>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let table = app.resources().leaderboards().await;
    let (issued, submitter) = submitter(&headers, &table).await?;
    let wanted = request(body)?;
    let facts = benchmark(&wanted.benchmark)?;
    must_be_a_kind(&wanted, facts)?;
    must_be_own(&wanted, &submitter)?;
    must_be_for(&issued, facts.id)?;
    let at = now();
    let key = key(&wanted, &submitter, at)?;
    let terms = terms(&app, &table, facts, &wanted, &submitter, at).await?;
    let most = match &terms.programs {
        Some(programs) => programs.max_module_bytes(),
        None => (facts.max_bytes_of_kind)(&wanted.leaderboard),
    };
    must_fit(&wanted, facts, most)?;
    let form = app.form(&key, most, &headers, at).await?;
    let fields = form.fields.into_iter();
    let answer = UploadAnswer {
        url: form.url,
        fields: fields.map(|(name, value)| Field { name, value }).collect(),
        key,
        submitter: submitter.into(),
        round: terms.round,
        max_bytes: form.max_bytes,
        expires_at: form.expires_at.to_string(),
    };
    Ok((StatusCode::CREATED, axum::Json(answer)).into_response())
}

/// The token, and the submitter who holds it.
async fn submitter(headers: &HeaderMap, table: &Table) -> Result<(Issued, SubmitterName), Problem> {
    let issued = token(headers, table).await?.ok_or_else(|| {
        Problem::no_token(
            "uploads need a token: send `Authorization: Bearer TOKEN` with a token from the organizer \
                (`dataperf token create --submitter NAME`)",
        )
    })?;
    match &issued.holder {
        Holder::Submitter(name) => {
            let name = name.clone();
            Ok((issued, name))
        }
        Holder::Organizer => Err(Problem::new(
            StatusCode::FORBIDDEN,
            "organizers_token",
            "the organizer's token uploads nothing",
            "Authorization",
            "send a submitter's token, which `dataperf token create --submitter NAME` issues, or upload with \
             `dataperf submit`, as organizers do",
        )),
    }
}

fn request(body: Result<Bytes, BytesRejection>) -> Result<UploadRequest, Problem> {
    let body = body.map_err(|_| {
        Problem::bad_request(
            "body",
            format!("send at most {MAX_REQUEST_BYTES} bytes: the file itself goes where the answer says"),
        )
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        let form = r#"{"benchmark": "…", "leaderboard": "…", "file": "…", "n_bytes": 1}"#;
        Problem::bad_request("body", format!("{error}; send JSON such as `{form}`"))
    })
}

fn benchmark(id: &str) -> Result<&'static Descriptor, Problem> {
    hosted(id).ok_or_else(|| {
        let known = HOSTED.iter().map(|facts| facts.id);
        let detail = format!("the benchmark does not exist: {}", offer(id, known));
        Problem::not_found("unknown_benchmark", "benchmark", detail)
    })
}

/// With several kinds of files, the kind replaces the leaderboard. The judging function decides who
/// may send which kind, such as raters their verdicts.
fn must_be_a_kind(request: &UploadRequest, facts: &Descriptor) -> Result<(), Problem> {
    if facts.kinds.is_empty() || facts.kinds.contains(&request.leaderboard.as_str()) {
        return Ok(());
    }
    let detail = format!(
        "name the kind of file, because `{}` has several: {}",
        facts.id,
        offer(&request.leaderboard, facts.kinds)
    );
    Err(Problem::not_found("unknown_kind", "leaderboard", detail))
}

/// The board whose round counts: with several kinds of files, all boards belong to one round.
fn board_of<'a>(request: &'a UploadRequest, facts: &Descriptor) -> &'a str {
    let fixed = facts.fixed.as_ref().filter(|_| !facts.kinds.is_empty());
    let first = fixed.and_then(|fixed| fixed.leaderboards.first().copied());
    first.unwrap_or(&request.leaderboard)
}

fn must_be_own(request: &UploadRequest, submitter: &SubmitterName) -> Result<(), Problem> {
    match &request.submitter {
        Some(other) if other != submitter.as_str() => Err(Problem::not_yours(format!(
            "the token is `{submitter}`'s: upload as `{submitter}`, or sign in with the token of that submitter"
        ))),
        _ => Ok(()),
    }
}

fn must_be_for(issued: &Issued, benchmark: &str) -> Result<(), Problem> {
    if issued.uploads_to(benchmark) {
        return Ok(());
    }
    Err(Problem::not_yours(format!(
        "the token can upload only to `{}`: ask the organizer for one of `dataperf token create \
            --submitter NAME --benchmark {benchmark}`",
        issued.benchmarks.join("`, `")
    )))
}

fn must_fit(request: &UploadRequest, facts: &Descriptor, most: u64) -> Result<(), Problem> {
    if request.n_bytes == 0 {
        return Err(Problem::bad_request(
            "n_bytes",
            "the file is empty: choose another one",
        ));
    }
    if request.n_bytes > most {
        let detail = format!(
            "the file has {} bytes, and `{}` reads at most {most}: make it smaller",
            request.n_bytes, facts.id
        );
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the file is too large",
            "n_bytes",
            detail,
        ));
    }
    Ok(())
}

/// The key of the upload: the submitter's folder, then the moment, which tells two uploads of one file apart, and the file's name.
fn key(request: &UploadRequest, submitter: &SubmitterName, at: Timestamp) -> Result<String, Problem> {
    let moment = at.to_string().replace(':', "");
    let file = file_name(&request.file);
    let key = format!(
        "{}/{}/{submitter}/{moment}/{file}",
        request.benchmark, request.leaderboard
    );
    let parsed = UploadKey::parse(&request.benchmark, &key);
    let is_same = parsed
        .is_ok_and(|parsed| parsed.leaderboard == request.leaderboard && parsed.submitter == *submitter);
    if is_same {
        return Ok(key);
    }
    let detail = "a leaderboard's name has 1 to 128 bytes, no slash, no control character and no `#`";
    Err(Problem::not_found("unusable_name", "leaderboard", detail))
}

/// A file's name without its folders, of letters, digits, `.`, `_` and `-` only: S3 would put the uploaded file's own name in the place
/// of `${filename}`.
fn file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let tame = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let tamed: String = last.chars().map(tame).collect();
    // what comes behind the last dot says what a program is
    let (stem, ending) = match tamed.rsplit_once('.') {
        Some((stem, ending)) if tamed.len() > MAX_FILE_CHARS && ending.len() < MAX_ENDING_CHARS => {
            (stem, format!(".{ending}"))
        }
        _ => (tamed.as_str(), String::new()),
    };
    let stem = &stem[..stem.len().min(MAX_FILE_CHARS - ending.len())]; // tamed, so that a character is a byte
    let tamed = format!("{stem}{ending}");
    let is_named = tamed.chars().any(|c| c.is_ascii_alphanumeric());
    if is_named { tamed } else { "submission".into() }
}

/// The terms of an upload that came now, if it could be scored: the answer of the function that judges it comes later and costs an
/// upload.
async fn terms(
    app: &App,
    table: &Table,
    facts: &Descriptor,
    request: &UploadRequest,
    submitter: &SubmitterName,
    at: Timestamp,
) -> Result<Terms, Problem> {
    let datasets = app.resources().datasets().await;
    let in_force = InForce::read(&datasets, facts.id).await?;
    let challenge = Challenge::published(&datasets, facts.id).await?;
    let has_kinds = !facts.kinds.is_empty();
    let mut open = challenge.iter().flat_map(|challenge| challenge.open_rounds(at));
    let is_pinned = open.any(|round| {
        round.dataset.is_some() && (has_kinds || round.evaluations.contains_key(&request.leaderboard))
    });
    if in_force.is_empty() && !is_pinned {
        let detail = format!(
            "`{}` is not open yet, because it has no active data set: ask the organizer when it opens",
            facts.id
        );
        return Err(Problem::not_found("no_dataset", "benchmark", detail));
    }
    if in_force.dataset_of(&request.leaderboard).is_none() && !is_pinned && !has_kinds {
        let boards = in_force.boards().keys();
        let detail = format!(
            "the leaderboard does not exist: {}",
            offer(&request.leaderboard, boards)
        );
        return Err(Problem::not_found("unknown_leaderboard", "leaderboard", detail));
    }
    let board = board_of(request, facts);
    let terms = Terms::resolve(challenge.as_ref(), board, submitter.as_str(), at);
    if let Some(refusal) = &terms.refusal {
        return Err(conflict("not_open", "the round is not open", &refusal.message));
    }
    if let Some(round) = request.round.as_ref().filter(|round| **round != terms.round) {
        let closed = challenge.as_ref().and_then(|challenge| challenge.round(round));
        let closed = closed
            .and_then(|round| round.closes)
            .filter(|closes| *closes <= at);
        let why = closed.map_or_else(
            || format!("round `{round}` takes no uploads to `{}`", request.leaderboard),
            |closes| format!("round `{round}` closed at {closes}"),
        );
        let detail = format!(
            "{why}: uploads count in `{}` now; ask with that `round`, or with none",
            terms.round
        );
        return Err(conflict(
            "round_closed",
            "this round takes no upload now",
            &detail,
        ));
    }
    if has_kinds {
        return Ok(terms); // what is counted of a day is counted by the function that judges the file
    }
    let board = Board {
        benchmark: facts.id.into(),
        leaderboard: request.leaderboard.clone(),
        round: terms.round.clone(),
    };
    let usage = table
        .usage(&terms.counter(&board), submitter.as_str(), at)
        .await?;
    if let Some(over) = terms.over_limit(usage) {
        let reason = terms.limit_reason(over, &request.leaderboard, at);
        let code = if over.is_daily {
            "daily_limit"
        } else {
            "total_limit"
        };
        return Err(used_up(code, reason));
    }
    if terms.daily_failures.is_some() {
        let failed = table
            .usage(&terms.failures(&board), submitter.as_str(), at)
            .await?;
        if let Some(reason) = terms.failures_reason(failed.day, &request.leaderboard, at) {
            return Err(used_up("daily_failures", reason));
        }
    }
    Ok(terms)
}

fn used_up(code: &'static str, reason: Reason) -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        code,
        "the limit is used up",
        "leaderboard",
        reason.message,
    )
}

fn conflict(code: &'static str, title: &'static str, detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, code, title, "round", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_name_cannot_change_its_key() {
        for (name, tamed) in [
            ("my-selection.json", "my-selection.json"),
            ("../bo/x.json", "x.json"),
            ("C:\\work\\a b.json", "a-b.json"),
            ("${filename}", "--filename-"),
            ("zoë's.json", "zo--s.json"),
            ("", "submission"),
            ("..", "submission"),
            ("a/", "submission"),
        ] {
            assert_eq!(file_name(name), tamed, "{name}");
        }
        assert_eq!(file_name(&"x".repeat(1000)).len(), MAX_FILE_CHARS);
        let program = file_name(&format!("{}.py", "x".repeat(1000)));
        assert!(
            program.len() == MAX_FILE_CHARS && program.ends_with("x.py"),
            "{program}"
        );
    }
}
