//! A board's picture: a public file of its data set.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::benchmark::{PUBLIC, PictureForm};
use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket, Got};

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{NoQuery, Strict};
use dataperf_http::Problem;

/// The most bytes that fit in base64 into a function's answer of six megabytes.
const MAX_BYTES: u64 = 4 << 20;

/// The picture of a board, where its data set in force has one: a PNG or JPEG file.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/picture", operation_id = "picture",
    responses((status = 200, description = "The picture", content(
        (Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"),
    ))),
)]
pub(crate) async fn picture(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let boards = catalogue::boards(&app, facts, None).await?;
    let none = |detail: &str| Problem::not_found("no_picture", "leaderboard", detail);
    let defined = boards.leaderboards.get(&leaderboard);
    let (path, dataset) = defined
        .and_then(|(settings, dataset)| Some((settings.picture.as_deref()?, *dataset)))
        .ok_or_else(|| none("this leaderboard has no picture: its active data set names none"))?;
    // Repeats the checks of publishing, because a data set may have reached the bucket in another
    // way.
    let form = PictureForm::of_path(path)
        .filter(|_| path.starts_with(PUBLIC) && dataperf::dataset::frozen::is_within(path))
        .ok_or_else(|| none("the data set's picture is not a public PNG or JPEG file"))?;
    let key = format!("{}{path}", dataset_prefix(facts.id, dataset));
    match app.datasets().await.get(&key, None, MAX_BYTES).await? {
        Got::Object(object) if form.is_of(&object.bytes) => {
            Ok(wishes.picture(&caller, form, object.bytes.to_vec()))
        }
        Got::Object(_) => Err(none("the file's content does not match its name")),
        Got::TooLarge { .. } => Err(none("the file is too large for the API")),
        Got::Missing => Err(none("the file is not in the bucket")),
    }
}
