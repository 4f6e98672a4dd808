//! How far two submissions are from each other, with an interval, once their round has closed.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use dataperf::Digest;
use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf::comparison::leading_pairs::{PAIRED_ROWS, Pairs};
use dataperf::submission::Entry;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{DifferenceQuery, Strict};
use crate::routes::submission::{WITHOUT_SCORE, find_submission, find_submission_at};
use dataperf_http::Problem;

/// How far a submission is from another of its board.
#[derive(Serialize, ToSchema)]
struct PairedDifference {
    /// The submission.
    submission: String,
    /// The other one.
    from: String,
    /// Their leaderboard.
    leaderboard: String,
    /// The round on whose board they are compared; with `.final` behind it the board of the round's final data set.
    round: String,
    /// The data set that both were scored with.
    dataset: Option<String>,
    /// The score of the submission there.
    score: f64,
    /// The score of the other one there.
    from_score: f64,
    /// The score less the other one's.
    difference: f64,
    /// The interval of 95 % of the difference over other test sets of this kind and size; its ends are moved outward to two digits of its width.
    interval: Option<[f64; 2]>,
    /// The one of the two that is clearly better, by the rule of rank intervals; `null` where neither is.
    clearly_better: Option<String>,
    /// Why there is no interval, where there is none.
    why_none: Option<String>,
    /// When the board was compared.
    #[schema(format = DateTime)]
    compared_at: String,
}

/// How far a submission is from another of its board, with an interval of 95 %. For the first 50 rows of a board, from the close of the
/// last round on that uses the same data.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/difference", operation_id = "difference",
    params(DifferenceQuery),
    responses((status = 200, description = "The difference", body = PairedDifference)),
)]
pub(crate) async fn difference(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<DifferenceQuery>,
) -> Result<Response, Problem> {
    let one = find_submission(&app, &benchmark, &id).await?.entry();
    catalogue::must_see(&app, &caller, &one, WITHOUT_SCORE).await?;
    let other = find_submission_at(&app, &benchmark, &query.from, "from")
        .await?
        .entry();
    catalogue::must_see(&app, &caller, &other, WITHOUT_SCORE).await?;
    let board = common_board(&one, &other, query.round.as_deref())?;
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let dataset = scored_with(challenge.as_ref(), &board, &one);
    must_be_shown(challenge.as_ref(), &board, dataset)?;
    let pairs = Pairs::read(&app.results().await, &board).await?;
    let pairs = pairs.ok_or_else(|| not_compared(&board))?;
    if pairs.dataset != dataset {
        return Err(other_dataset(&board));
    }
    let between = pairs.between(&one.id, &other.id).ok_or_else(|| {
        let detail = format!(
            "one of the two is not among the first {PAIRED_ROWS} rows, and only their differences are \
                published: the organizer can run `dataperf leaderboard compare {} {}`",
            one.id, other.id
        );
        Problem::not_found("not_among_the_first", "from", detail)
    })?;
    // a board that was scored again since
    if !board.is_final() && (Some(between.scores.0), Some(between.scores.1)) != (one.score, other.score) {
        return Err(not_compared(&board));
    }
    let better = between.clearly_better.map(|better| match better {
        1 => one.id.to_string(),
        _ => other.id.to_string(),
    });
    let document = PairedDifference {
        submission: one.id.to_string(),
        from: other.id.to_string(),
        leaderboard: board.leaderboard,
        round: board.round,
        dataset: pairs.dataset.map(|dataset| dataset.to_string()),
        score: between.scores.0,
        from_score: between.scores.1,
        difference: between.difference,
        interval: between.interval.map(|(low, high)| [low, high]),
        clearly_better: better,
        why_none: between.why_none.map(|why| why.to_string()),
        compared_at: pairs.compared_at.to_string(),
    };
    Ok(wishes.json(&caller, &document))
}

/// The board on which both stand: that of their round, or where it is asked for that of its final data set.
fn common_board(one: &Entry, other: &Entry, round: Option<&str>) -> Result<Board, Problem> {
    if one.id == other.id {
        let detail = "`from` is the same submission: name another one of its board";
        return Err(Problem::bad_request("from", detail));
    }
    let title = "these two can't be compared";
    let conflict = |code, detail: String| Problem::new(StatusCode::CONFLICT, code, title, "from", detail);
    if one.board != other.board {
        let view = |entry: &Entry| {
            format!(
                "`{}` in the round `{}`",
                entry.board.leaderboard, entry.board.round
            )
        };
        let detail = format!(
            "one is on {} and the other on {}: name two of one board",
            view(one),
            view(other)
        );
        return Err(conflict("different_boards", detail));
    }
    if one.score.is_none() || other.score.is_none() {
        let detail = "one of the two has no score: name two scored submissions".to_owned();
        return Err(conflict("no_score", detail));
    }
    let last = one.board.of_final();
    match round {
        Some(round) if round == last.round => return Ok(last), // where all are scored with one data set
        Some(round) if round != one.board.round => {
            let detail = format!(
                "both are of the round `{}`: ask for that round, for `{}`, or leave `round` out",
                one.board.round, last.round
            );
            return Err(Problem::bad_request("round", detail));
        }
        _ => {}
    }
    if one.dataset != other.dataset {
        let detail = "the two submissions were scored with different data sets, so their scores can't be compared: ask \
            the organizer to score the board again with one data set (`dataperf rescore`)";
        return Err(conflict("different_datasets", detail.to_owned()));
    }
    Ok(one.board.clone())
}

/// The data set that a board's rows are scored with, of which `one` is one.
fn scored_with(challenge: Option<&Challenge>, board: &Board, one: &Entry) -> Option<Digest> {
    if board.is_final() {
        return challenge?.round(&board.round)?.final_dataset;
    }
    one.dataset
}

/// Insists on a board whose differences are for everybody by now. They are the organizer's by the command line alone until then.
fn must_be_shown(
    challenge: Option<&Challenge>,
    board: &Board,
    dataset: Option<Digest>,
) -> Result<(), Problem> {
    let title = "differences are not shown here now";
    let refused =
        |code, detail: String| Problem::new(StatusCode::CONFLICT, code, title, "submission", detail);
    let organizers = "the organizer can run `dataperf leaderboard compare`";
    match Pairs::shown_from(challenge, board, dataset) {
        None => Err(refused(
            "never_shown",
            format!(
                "differences appear only when this round and every other round with the same data close, \
                    and one of them never closes: {organizers}"
            ),
        )),
        Some(from) if from > dataperf_aws::now() => Err(refused(
            "not_closed",
            format!(
                "differences appear at {from}, when the last round with the same data has closed: ask \
                    again then; until then {organizers}"
            ),
        )),
        Some(_) => Ok(()),
    }
}

fn other_dataset(board: &Board) -> Problem {
    let detail = format!(
        "the published differences of the board `{}` of the round `{}` are of another data set: ask again \
            in an hour if the board was just scored again. For a retired data set, the organizer can run \
            `dataperf leaderboard compare`",
        board.leaderboard, board.round
    );
    Problem::not_found("other_dataset", "submission", detail)
}

fn not_compared(board: &Board) -> Problem {
    let detail = format!(
        "the board `{}` of the round `{}` has not been compared since it closed or was scored again: ask \
            again in an hour",
        board.leaderboard, board.round
    );
    Problem::not_found("not_compared", "submission", detail)
}
