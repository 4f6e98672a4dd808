//! A submitter's history.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::challenge::Challenge;
use dataperf::submission::{Entry, Submission};
use dataperf::{Reason, SubmissionId, SubmitterName};
use dataperf_aws::{Cursor, Page, Table, history_place};
use dataperf_hosted::is_step;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{HistoryQuery, Strict, within};
use crate::rows::Line;
use dataperf_http::Problem;

/// A page of submissions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SubmissionsPage {
    /// The benchmark's id.
    pub(crate) benchmark: String,
    /// The submissions.
    pub(crate) submissions: Vec<HistoryLine>,
    /// The cursor of the next page; `null` at the end.
    pub(crate) next: Option<String>,
}

/// A submission in a history.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryLine {
    #[serde(flatten)]
    line: Line,
    /// For the submitter and the organizer only.
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<PrivateLine>,
}

/// What only the submitter and the organizer see of a line.
#[derive(Serialize, ToSchema)]
struct PrivateLine {
    /// The key it was uploaded under.
    key: String,
    /// The first of the broken rules, when rejected; what went wrong, when failed.
    reason: Option<ReasonDocument>,
    /// How many reasons there are.
    n_reasons: usize,
}

/// One broken rule.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReasonDocument {
    /// The rule's stable name.
    code: String,
    /// The place in the artifact: a JSON pointer, a line, a file of a zip, or empty for the whole.
    at: String,
    /// What is wrong and what to change.
    message: String,
    /// The limit, where there is one.
    limit: Option<u64>,
    /// What was found instead.
    actual: Option<u64>,
}

impl From<&Reason> for ReasonDocument {
    fn from(reason: &Reason) -> Self {
        Self {
            code: reason.code.clone(),
            at: reason.at.clone(),
            message: reason.message.clone(),
            limit: reason.limit,
            actual: reason.actual,
        }
    }
}

impl From<&Submission> for PrivateLine {
    fn from(submission: &Submission) -> Self {
        let verdict = submission.receipt.as_ref().map(|receipt| &receipt.verdict);
        Self {
            key: submission.upload.key.clone(),
            reason: verdict
                .and_then(|verdict| verdict.reasons.first())
                .map(Into::into),
            n_reasons: verdict.map_or(0, |verdict| verdict.n_reasons.unwrap_or(verdict.reasons.len())),
        }
    }
}

impl HistoryLine {
    pub(crate) fn new(line: Line, submission: Option<&Submission>) -> Self {
        Self {
            line,
            private: submission.map(PrivateLine::from),
        }
    }
}

/// Pages that are read for one answer, where the caller may not see most of their lines.
const MAX_PAGES: usize = 50;
/// Lines of each page but the first. There are many, because after the last page the cursor is the place of a line that the caller may not see.
const LINES_A_PAGE: usize = 200;

/// The next `limit` lines that the caller sees. It goes on from the last of these, so that no cursor says anything of other lines.
async fn visible(
    table: &Table,
    benchmark: &str,
    submitter: &str,
    mut after: Option<Cursor>,
    limit: usize,
    sees: impl Fn(&Entry) -> bool,
) -> Result<Page<Entry>, Problem> {
    let mut lines: Vec<Entry> = Vec::new();
    for n_read in 0..MAX_PAGES {
        let n = if n_read == 0 {
            limit
        } else {
            LINES_A_PAGE.max(limit)
        };
        let page = table
            .history_page(benchmark, submitter, after.as_ref(), n)
            .await?;
        let mut seen = page.lines.into_iter().filter(|entry| sees(entry));
        lines.extend(seen.by_ref().take(limit - lines.len()));
        let is_more = seen.next().is_some();
        if let Some(last) = lines.last().filter(|_| lines.len() == limit)
            && (is_more || page.next.is_some())
        {
            let next = Some(history_place(last));
            return Ok(Page { lines, next });
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(Page { lines, next: after })
}

/// Whether a line is in the history that the caller is shown. Who sees somebody's uploads is not shown the steps of scores among them,
/// which follow from what people decide; everybody else sees these alone.
fn is_listed(entry: &Entry, caller: &Caller, challenge: Option<&Challenge>) -> bool {
    caller.sees(entry, challenge) && !(caller.acts_for(&entry.submitter) && is_step(&entry.board))
}

/// A submitter's submissions, newest first: those with a score, and all uploads for the submitter and the organizer. The last page may
/// have fewer lines than `limit`, even none.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions", operation_id = "history",
    params(HistoryQuery),
    responses((status = 200, description = "A page of the history, as JSON or as CSV", content(
        (SubmissionsPage = "application/json"), (String = "text/csv"),
    ))),
)]
pub(crate) async fn history(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<HistoryQuery>,
) -> Result<Response, Problem> {
    catalogue::benchmark(&benchmark)?;
    let submitter = query.submitter.parse::<SubmitterName>();
    let submitter =
        submitter.map_err(|error| Problem::not_found("unusable_name", "submitter", error.to_string()))?;
    let limit = within(query.limit, 50, 200)?;
    let place = query.cursor.as_deref().map(|word| seal.open::<()>(word));
    let after = place.transpose()?.map(|place| place.at);
    let table = app.table().await;
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let page = visible(&table, &benchmark, submitter.as_str(), after, limit, |entry| {
        is_listed(entry, &caller, challenge.as_ref())
    })
    .await?;
    let whole = if caller.acts_for(submitter.as_str()) {
        let ids: Vec<SubmissionId> = page.lines.iter().map(|entry| entry.id.clone()).collect();
        table.submissions(&benchmark, &ids).await?
    } else {
        BTreeMap::new()
    };
    let line = |entry: &Entry| {
        let line = Line::from(entry);
        match caller.hidden_until(challenge.as_ref(), &entry.board) {
            Some(_) => line.without_score(),
            None => line,
        }
    };
    let flat: Vec<Line> = page.lines.iter().map(line).collect();
    let document = SubmissionsPage {
        benchmark,
        submissions: page
            .lines
            .iter()
            .map(|entry| HistoryLine::new(line(entry), whole.get(&entry.id)))
            .collect(),
        next: page.next.map(|at| seal.word(&Place { at, so_far: () })),
    };
    Ok(wishes.list(&caller, query.format, &document, &Line::HEADER, &flat))
}

#[cfg(test)]
mod tests {
    use dataperf::board::Board;
    use dataperf::{Ending, Timestamp};
    use dataperf_aws::Holder;

    use super::*;

    fn entry(benchmark: &str, leaderboard: &str, ending: Ending) -> Entry {
        Entry {
            id: SubmissionId::derive("bucket", leaderboard, ""),
            board: Board {
                benchmark: benchmark.into(),
                leaderboard: leaderboard.into(),
                round: "open".into(),
            },
            submitter: "ada".into(),
            received_at: Timestamp::from_unix_millis(1),
            is_baseline: false,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(ending),
            score: (ending == Ending::Scored).then_some(0.5),
            climb: None,
            dataset: None,
        }
    }

    #[test]
    fn owners_see_uploads_instead_of_score_steps() {
        let step = entry("adversarial-text", "sentiment", Ending::Scored);
        let file = entry("adversarial-text", "submit", Ending::Rejected);
        let artifact = entry("speech-selection", "en-25", Ending::Scored);
        let known = |name: &str| Caller::Known(Holder::Submitter(name.parse().expect("a name")));
        for (caller, is_own) in [
            (known("ada"), true),
            (Caller::Known(Holder::Organizer), true),
            (known("bo"), false),
            (Caller::Anonymous, false),
        ] {
            assert_eq!(is_listed(&step, &caller, None), !is_own, "{caller:?}");
            assert_eq!(is_listed(&file, &caller, None), is_own, "{caller:?}");
            assert!(is_listed(&artifact, &caller, None), "{caller:?}");
        }
    }
}
