//! The contexts for which participants write, and the rules for writing. They are public, like the
//! data set's files that contain them.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::board::OPEN_ROUND;
use dataperf::dataset::active::InForce;
use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Descriptor, Digest};
use dataperf_aws::now;
use dataperf_http::Problem;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::dataset::OneContext;
use crate::query::{ContextsQuery, Strict, named, within};

/// The public file of a data set that has its contexts.
const FILE: &str = "public/contexts.jsonl";
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The most contexts that may be left out.
const MAX_FROM: usize = 1_000_000;

/// Some contexts of a data set, and its public rules.
#[derive(Serialize, ToSchema)]
struct ContextsPage {
    /// The benchmark's id.
    benchmark: String,
    /// Contexts, in the data set's order.
    contexts: Vec<OneContext>,
    /// How many contexts of the task there are.
    n_contexts: usize,
    /// What the data set says to participants: its tasks with their labels or its vocabulary, its limits.
    #[schema(value_type = Object)]
    rules: Value,
}

/// The contexts for which participants write in a round, from the `from`-th on, and the rules for them.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/contexts", operation_id = "contexts",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "adversarial-text"),
        ContextsQuery,
    ),
    responses((status = 200, description = "Contexts and rules", body = ContextsPage)),
)]
pub(super) async fn contexts(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<ContextsQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let limit = within(query.limit, 20, 200)?;
    let from = query.from.unwrap_or_default() as usize;
    if from > MAX_FROM {
        let message = format!("`from` is {from}: use 0 to {MAX_FROM}");
        return Err(Problem::bad_request("from", message));
    }
    let task = named("task", query.task.as_deref())?;
    let round = named("round", query.round.as_deref())?;
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let round = match round {
        None | Some(OPEN_ROUND) => None,
        Some(name) => {
            let round = challenge.as_ref().and_then(|challenge| challenge.round(name));
            let detail =
                || format!("`{benchmark}` has no such round: `/api/v1/benchmarks/{benchmark}` lists them");
            Some(round.ok_or_else(|| Problem::not_found("unknown_round", "round", detail()))?)
        }
    };
    let datasets = app.datasets().await;
    // before it has opened nobody sees what a round is about
    let opened = round.filter(|round| round.opens <= now());
    let dataset = match opened.and_then(|round| round.dataset_at(now())) {
        Some(pinned) => Some(pinned),
        None => InForce::read(&datasets, facts.id)
            .await?
            .datasets()
            .into_iter()
            .next(),
    };
    let none = |detail: &str| Problem::not_found("no_contexts", "benchmark", detail);
    let dataset = dataset.ok_or_else(|| none("no data set is active"))?;
    let all = contexts_of(&app, facts, dataset).await?;
    let all = all.ok_or_else(|| none("the data set has no contexts"))?;
    let of_task = || {
        all.iter()
            .filter(|context| task.is_none_or(|task| task == context.task))
    };
    let n_contexts = of_task().count();
    let document = ContextsPage {
        benchmark,
        contexts: of_task().skip(from).take(limit).cloned().collect(),
        n_contexts,
        rules: catalogue::parameters(&app, facts, Some(dataset)).await?,
    };
    Ok(wishes.json(&caller, &document))
}

/// The contexts of a data set, read once by each process.
async fn contexts_of(
    app: &App,
    facts: &Descriptor,
    dataset: Digest,
) -> Result<Option<Arc<Vec<OneContext>>>, Problem> {
    if let Some(known) = app.contexts().get(&dataset) {
        return Ok(Some(known));
    }
    let key = format!("{}{FILE}", dataset_prefix(facts.id, dataset));
    let all: Vec<OneContext> = match app.datasets().await.get(&key, None, MAX_FILE_BYTES).await? {
        Got::Object(object) => {
            let lines = object.bytes.split(|&byte| byte == b'\n');
            let lines = lines.filter(|line| !line.is_empty());
            lines
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect()
        }
        Got::TooLarge { .. } => {
            let detail = "the data set's contexts are too large to show";
            return Err(Problem::not_found("no_contexts", "benchmark", detail));
        }
        // a collection may have rules and no contexts
        Got::Missing if facts.collects.is_some() => Vec::new(),
        Got::Missing => return Ok(None),
    };
    let all = Arc::new(all);
    app.contexts().keep(dataset, all.clone());
    Ok(Some(all))
}
