//! Lists who submits to a benchmark, how much, and what remains of the limits.

pub(crate) mod history;
pub(crate) mod quotas;
pub(crate) mod token;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::submission::Entry;
use dataperf::{Endings, SubmitterName};
use dataperf_aws::{Cursor, Table, submitters as names_of};
use dataperf_hosted::is_step;
use dataperf_http::Problem;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;
use utoipa::ToSchema;

use super::submitters::quotas::{Left, Limits};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{Strict, SubmittersQuery, within};

/// The most uploads of a submitter that are counted.
const MAX_COUNTED: usize = 1_000;
/// Lines of a history that are read at once, and the most reads: where people decide, steps of scores are among the lines.
const PAGE: usize = 200;
const MAX_PAGES: usize = 25;
/// Number of submitters that are read at once.
const READS_AT_ONCE: usize = 8;
/// The member of a cursor that says where a page ended.
const AFTER: &str = "after";

/// A page of a benchmark's submitters.
#[derive(Serialize, ToSchema)]
struct SubmittersPage {
    /// The benchmark's id.
    benchmark: String,
    /// Who has uploaded something or was given access, in the order of the names.
    submitters: Vec<SubmitterLine>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// A submitter.
#[derive(Serialize, ToSchema)]
struct SubmitterLine {
    #[serde(flatten)]
    counts: Counts,
    #[serde(flatten)]
    left: Left,
}

/// How a submitter's uploads have ended.
#[derive(Clone, Serialize, ToSchema)]
struct Counts {
    /// The name.
    #[schema(example = "ada")]
    submitter: String,
    /// Uploads. Of more than 1,000 the newest are counted, here and below.
    n_submissions: usize,
    /// Whether there are more than those that are counted.
    is_more: bool,
    /// Uploads with a score.
    n_scored: usize,
    /// Uploads that obey the rules and are of a kind that has no score of its own.
    n_accepted: usize,
    /// Uploads that break rules.
    n_rejected: usize,
    /// Uploads that the platform failed to evaluate.
    n_failed: usize,
    /// Uploads that have not ended.
    n_unfinished: usize,
    /// Uploads that were withdrawn.
    n_withdrawn: usize,
    /// When the last one was stored; `null` where there is none.
    #[schema(format = DateTime)]
    last_upload: Option<String>,
    /// Whether one of them is a baseline.
    is_baseline: bool,
}

impl Counts {
    const HEADER: [&str; 11] = [
        "submitter",
        "n_submissions",
        "is_more",
        "n_scored",
        "n_accepted",
        "n_rejected",
        "n_failed",
        "n_unfinished",
        "n_withdrawn",
        "last_upload",
        "is_baseline",
    ];

    fn count(name: &SubmitterName, history: &[Entry], is_more: bool) -> Self {
        let endings = Endings::from_history(history);
        Self {
            submitter: name.to_string(),
            n_submissions: endings.n_submissions,
            is_more,
            n_scored: endings.n_scored,
            n_accepted: endings.n_accepted,
            n_rejected: endings.n_rejected,
            n_failed: endings.n_failed,
            n_unfinished: endings.n_unfinished,
            n_withdrawn: endings.n_withdrawn,
            last_upload: endings.last_upload.map(|at| at.to_string()),
            is_baseline: endings.is_baseline,
        }
    }
}

/// Who submits to a benchmark: how the uploads of each have ended, and what is left of the limits. The organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submitters", operation_id = "submitters",
    params(SubmittersQuery),
    responses((status = 200, description = "A page of submitters, as JSON or, without what is left of the limits, as CSV", content(
        (SubmittersPage = "application/json"), (String = "text/csv"),
    ))),
    security(("token" = []))
)]
pub(super) async fn submitters(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<SubmittersQuery>,
) -> Result<Response, Problem> {
    caller.must_organize()?;
    let facts = catalogue::benchmark(&benchmark)?;
    // a CSV has no place for `next`, and without a limit it has all
    let is_whole = wishes.is_csv(query.format) && query.limit.is_none();
    let limit = if is_whole {
        usize::MAX
    } else {
        within(query.limit, 20, 50)?
    };
    let place = query.cursor.as_deref().map(|word| seal.open::<()>(word));
    let after = place.transpose()?.map(|place| after(&place.at)).transpose()?;
    let table = app.table().await;
    let names = names_of(&table, &app.results().await, facts.id).await?;
    let mut names = names
        .into_iter()
        .filter(|name| after.as_ref().is_none_or(|after| name > after));
    let of_page: Vec<SubmitterName> = names.by_ref().take(limit).collect();
    let is_more = names.next().is_some();
    let limits = Limits::read(&app, facts).await?;
    let line = async |name: &SubmitterName| -> Result<SubmitterLine, Problem> {
        let (history, is_more) = uploads(&table, facts.id, name).await?;
        Ok(SubmitterLine {
            counts: Counts::count(name, &history, is_more),
            left: limits.left(&app, name).await?,
        })
    };
    let lines = stream::iter(&of_page).map(line).buffered(READS_AT_ONCE);
    let lines: Vec<SubmitterLine> = lines.try_collect().await?;
    let next = of_page.last().filter(|_| is_more).map(|last| Place {
        at: Cursor::from([(AFTER.to_owned(), last.to_string())]),
        so_far: (),
    });
    let flat: Vec<Counts> = lines.iter().map(|line| line.counts.clone()).collect();
    let document = SubmittersPage {
        benchmark,
        submitters: lines,
        next: next.map(|place| seal.word(&place)),
    };
    Ok(wishes.list(&caller, query.format, &document, &Counts::HEADER, &flat))
}

/// The last name of the page before.
fn after(at: &Cursor) -> Result<SubmitterName, Problem> {
    let name = at.get(AFTER).and_then(|name| name.parse().ok());
    name.ok_or_else(|| Problem::bad_cursor("the cursor belongs to another list: begin again without one"))
}

/// The newest uploads of a submitter, and whether there are more than are counted.
async fn uploads(
    table: &Table,
    benchmark: &str,
    name: &SubmitterName,
) -> Result<(Vec<Entry>, bool), Problem> {
    let (mut uploads, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = table
            .history_page(benchmark, name.as_str(), after.as_ref(), PAGE)
            .await?;
        uploads.extend(page.lines.into_iter().filter(|entry| !is_step(&entry.board)));
        after = page.next;
        if after.is_none() || uploads.len() > MAX_COUNTED {
            break;
        }
    }
    let is_more = after.is_some() || uploads.len() > MAX_COUNTED;
    uploads.truncate(MAX_COUNTED);
    Ok((uploads, is_more))
}
