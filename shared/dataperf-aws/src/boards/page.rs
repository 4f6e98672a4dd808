//! Reads a board page by page: ranked rows first, best first, then the rows of another data set.
//!
//! The index orders rows by their scores alone: while a data set is being replaced, rows of the old and of the new one are mixed. A mixed board is
//! therefore read twice, once for each kind; a board of one data set, as nearly every one is, is read once.

use dataperf::Digest;
use dataperf::board::Board;
use dataperf::ports::PortError;
use dataperf::rows::ranking::is_of_other_dataset;
use serde::{Deserialize, Serialize};

use crate::table::Table;
use crate::table::items::{Item, text};
use crate::table::pages::{Cursor, PageError, place, start};
use crate::table::query::Partition;
use crate::table::row_spread::{BoardRow, row};

/// The minimum number of rows per read while rows of the other kind are skipped.
const PASSED_OVER: usize = 1_000;
/// The attributes that make up a row's place in the index: the keys of the index and of the table.
const PLACE: [&str; 4] = ["board", "pk", "rank", "sk"];

/// The place in a board where a page begins; the default is the board's beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardPlace {
    /// The data set whose rows have ranks; `None` where all rows are compared.
    pub dataset: Option<Digest>,
    /// The last row that was read; empty at the beginning.
    pub at: Cursor,
    /// Whether rows of other data sets were passed over.
    pub has_others: bool,
    /// Whether the rows of other data sets are read now.
    pub are_others: bool,
}

impl Table {
    /// The rows of a board from a place, at most `n` (from 1), and the place of the next rows. The
    /// rows of the place's data set come first, best first; then the others, best first.
    ///
    /// # Errors
    /// [`PageError`].
    pub async fn board_page(
        &self,
        board: &Board,
        from: BoardPlace,
        n: usize,
    ) -> Result<(Vec<BoardRow>, Option<BoardPlace>), PageError> {
        let partition = Partition::ranking(board);
        let (mut from, mut rows, mut at_once) = (from, Vec::new(), n);
        loop {
            let begin = (!from.at.is_empty()).then(|| start(&partition, &from.at));
            let (items, next) = self.page(&partition, begin.transpose()?, at_once).await?;
            let page_rows: Vec<BoardRow> = items.iter().map(row).collect::<Result<_, PortError>>()?;
            let n_found = page_rows.len();
            for (number, (item, row)) in items.iter().zip(page_rows).enumerate() {
                if is_of_other_dataset(&row.entry, from.dataset) == from.are_others {
                    rows.push(row);
                } else {
                    from.has_others = true;
                }
                from.at = place_of(item);
                let is_last = number + 1 == n_found && next.is_none();
                if rows.len() == n && !is_last {
                    return Ok((rows, Some(from)));
                }
            }
            if let Some(next) = next {
                from.at = place(&next);
            } else if from.has_others && !from.are_others {
                (from.are_others, from.at) = (true, Cursor::new());
            } else {
                return Ok((rows, None));
            }
            if rows.len() >= n {
                return Ok((rows, Some(from)));
            }
            at_once = PASSED_OVER.max(n);
        }
    }
}

/// The place of a row in the index.
fn place_of(item: &Item) -> Cursor {
    let key = PLACE
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), text(item.get(*name)?.as_s().ok()?))));
    place(&key.collect())
}
