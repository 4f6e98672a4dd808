//! The leader and the number of rows of a board, for lists of boards.

use dataperf::Descriptor;
use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf_aws::{BoardPlace, Table};
use serde::Serialize;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::catalogue::{self, Boards};
use crate::rows::{Row, Standing};
use dataperf_http::Problem;

/// The most rows that are counted; of larger boards it is said that there are more.
const COUNTED: usize = 50;

/// Who leads a board, and how many are on it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Leaders {
    /// The best row that is scored with the board's data set, one with a rank before a baseline; `null` where there is none.
    leader: Option<Row>,
    /// Rows that are no baselines, of the first 50: with the ranking `all` submissions, otherwise one of each submitter.
    n_submitters: usize,
    /// Rows of baselines, of the first 50.
    n_baselines: usize,
    /// Whether there are more rows than were counted.
    has_more: bool,
    /// Until when the rows are shown to the organizer only; `null` where the board is not hidden from the caller.
    #[schema(format = DateTime)]
    hidden_until: Option<String>,
}

/// The leaders of one board.
pub(crate) async fn leaders(
    table: &Table,
    caller: &Caller,
    facts: &Descriptor,
    boards: &Boards,
    challenge: Option<&Challenge>,
    board: Board,
) -> Result<Leaders, Problem> {
    if let Some(until) = caller.hidden_until(challenge, &board) {
        return Ok(Leaders {
            leader: None,
            n_submitters: 0,
            n_baselines: 0,
            has_more: false,
            hidden_until: Some(until.to_string()),
        });
    }
    let dataset = catalogue::scored_with(table, facts, boards, challenge, &board).await?;
    let from = BoardPlace {
        dataset,
        ..BoardPlace::default()
    };
    let (lines, next) = table.board_page(&board, from, COUNTED).await?;
    let mut standing = Standing::default();
    let rows: Vec<Row> = lines
        .iter()
        .map(|line| standing.row(&line.entry, dataset))
        .collect();
    let n_baselines = rows.iter().filter(|row| row.is_baseline).count();
    let ranked = rows.iter().find(|row| row.rank.is_some());
    let leader = ranked.or_else(|| rows.iter().find(|row| !row.is_of_other_dataset));
    Ok(Leaders {
        leader: leader.cloned(),
        n_submitters: rows.len() - n_baselines,
        n_baselines,
        has_more: next.is_some(),
        hidden_until: None,
    })
}
