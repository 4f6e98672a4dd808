//! Shows raters the items that wait for them, without anything that could influence them.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::benchmark::PictureForm;
use dataperf::challenge::Challenge;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Descriptor, SubmitterName};
use dataperf_aws::{Holder, Item, Key, Partition, Reader, Table, now};
use dataperf_http::Problem;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{NextQuery, NoQuery, Strict, named, skipped};

/// Number of places of the queue that are read at once.
const PLACES: usize = 1_000;
/// The most reads for one answer.
const MAX_READS: usize = 20;
/// Attributes of a place in the queue that are not shown.
const OF_THE_TABLE: [&str; 3] = ["pk", "sk", "schema"];
/// The most bytes that fit in base64 into a function's answer of six megabytes.
const MAX_IMAGE_BYTES: u64 = 4 << 20;

/// What waits for a rater.
#[derive(Serialize, ToSchema)]
struct Next {
    /// The benchmark's id.
    benchmark: String,
    /// What one item is called, such as `pair`: the member of `item` with its id.
    kind: String,
    /// What raters may know of the first item that waits for this one; `null` where none does.
    #[schema(value_type = Option<Object>)]
    item: Option<BTreeMap<String, Value>>,
    /// How many more wait for this rater; of a long queue, among the thousand that the item is found in.
    n_more: usize,
    /// How many verdicts the rater may still give today; `null` where that is not limited.
    n_left_today: Option<u64>,
    /// What the data set says to participants: its tasks, its words.
    #[schema(value_type = Object)]
    rules: Value,
}

/// The rater who asks, and what items are called.
async fn rater(
    app: &App,
    facts: &Descriptor,
    caller: &Caller,
) -> Result<(SubmitterName, &'static str), Problem> {
    let collects = facts.collects.ok_or_else(|| {
        let detail = format!("`{}` has no raters and nothing to judge", facts.id);
        Problem::not_found("no_validation", "benchmark", detail)
    })?;
    let name = match caller {
        Caller::Anonymous => {
            return Err(Problem::no_token(
                "only raters can see items that wait for a verdict: send `Authorization: Bearer TOKEN` with a rater's token",
            ));
        }
        Caller::Known(Holder::Submitter(name)) => name,
        Caller::Known(Holder::Organizer) => {
            return Err(Problem::not_yours(
                "only raters can see items that wait for a verdict, and this is the organizer's token: use \
                    a rater's token",
            ));
        }
    };
    if !app.table().await.is_rater(facts.id, name.as_str()).await? {
        return Err(Problem::not_yours(format!(
            "`{name}` is not a rater of `{}`: the organizer adds raters with `dataperf submitter add NAME {} --rater`",
            facts.id, facts.id
        )));
    }
    let note = Key::new(format!("{}#disqualified", facts.id), format!("rater#{name}"));
    if app
        .table()
        .await
        .item(note)
        .await?
        .is_some_and(|note| note.contains_key("since"))
    {
        return Err(Problem::not_yours(format!(
            "the organizer has disqualified `{name}` as a rater: ask the organizer why"
        )));
    }
    Ok((name.clone(), collects.item))
}

/// The next item that waits for a rater's verdict: not judged by this one, not its own, not among those that it skips. For
/// raters.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/validation/next", operation_id = "next_to_validate",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "adversarial-text"),
        NextQuery,
    ),
    responses((status = 200, description = "The item, if one waits", body = Next)),
    security(("token" = []))
)]
pub(super) async fn next(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<NextQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let (name, kind) = rater(&app, facts, &caller).await?;
    let task = named("task", query.task.as_deref())?;
    let mut passed = skipped(query.skip.as_deref())?;
    let table = app.table().await;
    let partition = Partition::new(format!("{benchmark}#rater#{name}"));
    for mark in table.query(&partition).await? {
        if mark.contains_key(kind) {
            passed.insert(Reader { item: &mark }.text(kind)?.to_owned());
        }
    }
    let (mut chosen, mut n_more, mut queue) = (None, 0, Queue::new(&table, &benchmark));
    while chosen.is_none() {
        let Some(places) = queue.next().await? else { break };
        for place in places {
            let reader = Reader { item: &place };
            let id = reader.text(kind)?;
            let is_asked_for = task.is_none_or(|task| reader.text("task").ok() == Some(task));
            if passed.contains(id) || !is_asked_for {
                continue;
            }
            if chosen.is_some() {
                n_more += 1;
            } else if !is_own(&table, facts.id, kind, id, name.as_str()).await? {
                chosen = Some(place);
            }
        }
    }
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let rules = rules(&app, facts, challenge.as_ref(), chosen.as_ref()).await?;
    let limit = rules
        .pointer("/validation/verdicts_a_day")
        .and_then(Value::as_u64);
    let n_taken = table
        .n_taken_of_day(&benchmark, name.as_str(), "verdicts", now())
        .await?;
    let document = Next {
        benchmark,
        kind: kind.into(),
        item: chosen.as_ref().map(shown),
        n_more,
        n_left_today: limit.map(|limit| limit.saturating_sub(n_taken)),
        rules,
    };
    Ok(wishes.json(&caller, &document))
}

/// What waits for raters, part by part, the oldest first.
struct Queue<'a> {
    table: &'a Table,
    /// What is read next; `None` behind the end.
    partition: Option<Partition>,
    n_reads: usize,
}

impl<'a> Queue<'a> {
    fn new(table: &'a Table, benchmark: &str) -> Self {
        Self {
            table,
            partition: Some(Partition::new(format!("{benchmark}#unjudged"))),
            n_reads: 0,
        }
    }

    /// The next places; `None` where no more are read.
    async fn next(&mut self) -> Result<Option<Vec<Item>>, Problem> {
        let Some(partition) = self.partition.take().filter(|_| self.n_reads < MAX_READS) else {
            return Ok(None);
        };
        self.n_reads += 1;
        let places = self.table.query_first(&partition, PLACES).await?;
        if places.len() == PLACES
            && let Some(last) = places.last()
        {
            let last = Reader { item: last }.text("sk")?.to_owned();
            self.partition = Some(partition.after(last));
        }
        Ok(Some(places))
    }
}

/// Whether an item is of the one who would judge it. The place in the queue does not say whose it is.
async fn is_own(table: &Table, benchmark: &str, kind: &str, id: &str, name: &str) -> Result<bool, Problem> {
    let item = table
        .item(Key::new(format!("{benchmark}#{kind}#{id}"), kind))
        .await?;
    let submitter = item.as_ref().and_then(|item| item.get("submitter")?.as_s().ok());
    Ok(submitter.is_none_or(|submitter| submitter == name))
}

/// A place in the queue without what is the table's: all that is left is for raters to know.
fn shown(place: &Item) -> BTreeMap<String, Value> {
    let own = place
        .iter()
        .filter(|(name, _)| !OF_THE_TABLE.contains(&name.as_str()));
    own.filter_map(|(name, value)| {
        let text = value.as_s().ok()?;
        let json = serde_json::from_str(text)
            .ok()
            .filter(|value: &Value| value.is_object());
        Some((name.clone(), json.unwrap_or_else(|| Value::String(text.clone()))))
    })
    .collect()
}

/// An item's round's information for participants, from its data set or the active one.
async fn rules(
    app: &App,
    facts: &Descriptor,
    challenge: Option<&Challenge>,
    place: Option<&Item>,
) -> Result<Value, Problem> {
    let round = place.and_then(|place| place.get("round")?.as_s().ok());
    let round = round.and_then(|round| challenge?.round(round));
    let pinned = round.and_then(|round| round.dataset_at(now()));
    Ok(catalogue::parameters(app, facts, pinned).await?)
}

/// The image of an item that waits for raters, where its items have images. For raters.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/validation/{item}/image", operation_id = "image_to_validate",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id"),
        ("item" = String, Path, description = "The item's id", pattern = "^[0-9a-f]{32}$"),
    ),
    responses((status = 200, description = "The image", content_type = "image/png")),
    security(("token" = []))
)]
pub(super) async fn image(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let (_, kind) = rater(&app, facts, &caller).await?;
    let missing = |detail: &str| Problem::not_found("unknown_image", "item", detail);
    let table = app.table().await;
    let (mut place, mut queue) = (None, Queue::new(&table, &benchmark));
    // Only what the queue names: an id never becomes a key by itself.
    let is_it = |place: &Item| place.get(kind).and_then(|value| value.as_s().ok()) == Some(&id);
    while place.is_none() {
        let Some(places) = queue.next().await? else { break };
        place = places.into_iter().find(is_it);
    }
    let key = place.as_ref().and_then(|place| place.get("image")?.as_s().ok());
    let key = key.ok_or_else(|| missing("nothing with this id and an image waits for raters"))?;
    match app.results().await.get(key, None, MAX_IMAGE_BYTES).await? {
        Got::Object(object) => Ok(wishes.picture(&caller, PictureForm::Png, object.bytes.to_vec())),
        Got::TooLarge { n_bytes } => Err(missing(&format!(
            "the image has {n_bytes} bytes, too many for the API: get it from S3"
        ))),
        Got::Missing => Err(missing("somebody deleted the image")),
    }
}
