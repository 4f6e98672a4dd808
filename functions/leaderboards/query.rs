//! The query parameters, read strictly: a misspelt one is an error, not ignored.

use std::collections::BTreeSet;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::{IntoParams, ToSchema};

use dataperf_http::Problem;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// `application/json`
    Json,
    /// `text/csv`, RFC 4180 with a header line
    Csv,
}

/// What a line may have in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Include {
    /// How the score spreads over seeds or trials.
    Spread,
}

/// What the list of benchmarks may have in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum IncludeLeaders {
    /// Who leads each board, and how many are on it.
    Leaders,
}

/// The list of benchmarks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// `leaders` adds who leads each board, and how many are on it.
    #[param(inline)]
    pub(crate) include: Option<IncludeLeaders>,
}

/// A board's page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BoardQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
    /// The most lines to answer with, 50 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
    /// `spread` adds how each score spreads over seeds or trials.
    #[param(inline)]
    pub(crate) include: Option<Include>,
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// The round of a board that is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct KitQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
}

/// A series' page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeriesQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
    /// The most points to answer with, 500 unless told.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// A page of the files that were scored on a board.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FilesQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
    /// The most files to answer with, 100 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
}

/// A page of a submitter's history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// The submitter whose submissions are listed.
    #[param(min_length = 1, max_length = 64, example = "ada")]
    pub(crate) submitter: String,
    /// The most lines to answer with, 50 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// The submitter whose limits are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct QuotaQuery {
    /// The submitter whose limits are asked for.
    #[param(min_length = 1, max_length = 64, example = "ada")]
    pub(crate) submitter: String,
}

/// A page of a benchmark's submitters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SubmittersQuery {
    /// The most submitters to answer with, 20 unless told.
    #[param(minimum = 1, maximum = 50)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// A page of what is unfinished.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UnfinishedQuery {
    /// The most lines to answer with, 50 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// The other submission, from which one differs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DifferenceQuery {
    /// The other submission's id.
    #[param(pattern = "^[0-9a-f]{32}$")]
    pub(crate) from: String,
    /// The round of both, unless told; with `.final` behind it the board of the round's final data set.
    #[param(max_length = 128)]
    pub(crate) round: Option<String>,
}

/// How an answer that is no list is written.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FormatQuery {
    /// How the answer is written; goes before the `Accept` header.
    #[param(inline)]
    pub(crate) format: Option<Format>,
}

/// A page of the report of a retirement.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RetirementQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
    /// The most lines to answer with, 50 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 4096)]
    pub(crate) cursor: Option<String>,
}

/// Which document of a board's log is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DocumentQuery {
    /// The round; `open`, the one outside any challenge, unless told.
    #[param(example = "open", max_length = 128)]
    pub(crate) round: Option<String>,
    /// The document's number, from 1; the newest unless told.
    #[param(minimum = 1)]
    pub(crate) number: Option<u32>,
}

/// Which of the items that wait for raters are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NextQuery {
    /// Only of this task, where there are tasks.
    #[param(max_length = 128)]
    pub(crate) task: Option<String>,
    /// The ids of items that the rater leaves to others, 200 at most, with commas between them. Those with a verdict of this rater
    /// are left out in any case.
    #[param(max_length = 6599)]
    pub(crate) skip: Option<String>,
}

/// Which contexts are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContextsQuery {
    /// Only of this task.
    #[param(max_length = 128)]
    pub(crate) task: Option<String>,
    /// The round; what is in force outside any challenge, unless told.
    #[param(max_length = 128)]
    pub(crate) round: Option<String>,
    /// How many to leave out first.
    #[param(maximum = 1_000_000)]
    pub(crate) from: Option<u32>,
    /// The most to answer with, 20 unless told.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<u32>,
}

/// No query parameter is allowed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoQuery {}

/// The query parameters as a `T`; anything else is a problem that says what.
pub(crate) struct Strict<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Strict<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Query(query) = Query::try_from_uri(&parts.uri)
            .map_err(|rejection| Problem::bad_request("query", rejection.body_text()))?;
        Ok(Self(query))
    }
}

/// The most characters of a name that is asked for.
const MAX_NAME_CHARS: usize = 128;

/// The name under `parameter`, where one is asked for.
pub(crate) fn named<'a>(parameter: &str, value: Option<&'a str>) -> Result<Option<&'a str>, Problem> {
    let n_chars = value.map_or(0, |name| name.chars().count());
    if n_chars > MAX_NAME_CHARS {
        let message = format!("`{parameter}` has {n_chars} characters, the limit is {MAX_NAME_CHARS}");
        return Err(Problem::bad_request(parameter, message));
    }
    Ok(value)
}

/// The most ids of items that are skipped in one request: with each comma as `%2C` they fit into the 8,192 bytes that an address may have.
const MAX_SKIPPED: usize = 200;
/// Characters of an item's id.
const ID_CHARS: usize = 32;

/// The ids of the items that are skipped.
pub(crate) fn skipped(value: Option<&str>) -> Result<BTreeSet<String>, Problem> {
    let value = value.unwrap_or_default();
    let n_ids = value.split(',').count();
    if n_ids > MAX_SKIPPED || value.len() > MAX_SKIPPED * (ID_CHARS + 1) - 1 {
        let message = format!(
            "`skip` has {n_ids} ids in {} bytes, and the limit is {MAX_SKIPPED} ids of {ID_CHARS} \
                characters with commas between them: leave out the items that you have judged, and the oldest \
                of the others",
            value.len()
        );
        return Err(Problem::bad_request("skip", message));
    }
    Ok(value.split(',').map(str::to_owned).collect())
}

/// A limit within its bounds.
pub(crate) fn within(limit: Option<u32>, default: u32, max: u32) -> Result<usize, Problem> {
    match limit.unwrap_or(default) {
        limit if (1..=max).contains(&limit) => Ok(limit as usize),
        limit => Err(Problem::bad_request(
            "limit",
            format!("`limit` is {limit}: use 1 to {max}, and follow `next` for the rest"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_items_are_limited_by_address_length() {
        let ids = |n: usize| -> String {
            let ids: Vec<String> = (0..n).map(|n| format!("{n:032x}")).collect();
            ids.join(",")
        };
        let most = ids(MAX_SKIPPED);
        assert_eq!(most.len(), 6599, "as the document says");
        assert!(skipped(Some(&most)).is_ok_and(|ids| ids.len() == MAX_SKIPPED));
        assert!(
            most.replace(',', "%2C").len() < 7_500,
            "there is room for the rest of the address"
        );
        for too_many in [ids(MAX_SKIPPED + 1), "0".repeat(6_600)] {
            assert!(skipped(Some(&too_many)).is_err(), "{too_many}");
        }
        assert!(skipped(None).is_ok());
    }
}
