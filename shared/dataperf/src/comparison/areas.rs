//! The comparison of rows by the areas under their curves, where scores are places on curves and their own ranks have no intervals.

use std::sync::Arc;

use dataperf_numerics::bootstrap::N_DRAWS;
use dataperf_numerics::ranks::{Entry as Compares, compare, score_interval};
use serde::{Deserialize, Serialize};

use super::{degrees, few, rounded_outward};
use crate::Digest;
use crate::evidence::shown_area;
use crate::replicates::Replicates;
use crate::rows::ranking::Ranked;

/// The area under a row's curves, with its interval and the ranks by it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// The area, rounded to 1/n, n the number of test items; `None` where scores are shown rounded.
    pub value: Option<f64>,
    /// Its 95 % interval. `None` if there is no area, or if scores of this metric have no interval.
    pub interval: Option<(f64, f64)>,
    /// The first and the last rank that the row may have by the area, with 95 % confidence. It is not an interval of the rank by the score.
    pub rank_interval: (u32, u32),
}

/// The comparison of a board's rows by area.
pub(super) struct ByArea {
    /// One for each row; `None` for rows without an area under the same draws.
    pub(super) lines: Vec<Option<Area>>,
    /// Ranked rows that may be the best.
    pub(super) n_best: usize,
    /// Ranked rows that can't be compared: each may have any rank.
    pub(super) n_missing: usize,
}

/// Compares the rows that have an area under these draws; `None` where no row has one, and where a class has too few items.
pub(super) fn by_area(
    of_board: &[&Ranked],
    replicates: &[Option<&Arc<Replicates>>],
    draws: Option<Digest>,
    is_rounded: bool,
) -> Option<ByArea> {
    let area = |place: usize| {
        let replicates = replicates[place].filter(|replicates| Some(replicates.header.draws) == draws)?;
        let area = replicates.header.area?;
        (replicates.areas.len() == N_DRAWS).then_some((replicates, area))
    };
    let mut compared: Vec<(usize, &Arc<Replicates>, f64)> = (0..of_board.len())
        .filter_map(|place| area(place).map(|(replicates, area)| (place, replicates, area)))
        .collect();
    compared.sort_by(|(_, _, one), (_, _, other)| other.total_cmp(one));
    let rows: Vec<&Arc<Replicates>> = compared.iter().map(|(_, replicates, _)| *replicates).collect();
    if few(&rows.first()?.header).is_some() {
        return None;
    }
    let entries: Vec<Compares<'_>> = compared
        .iter()
        .map(|(place, replicates, area)| Compares {
            score: *area,
            is_ranked: !of_board[*place].entry.is_baseline,
            deviations: &replicates.areas,
        })
        .collect();
    let of_rows = compare(&entries, &|one, other, error| degrees(&rows, one, other, error));
    let is_ranked = |place: &usize| !of_board[*place].entry.is_baseline;
    let n_ranked = (0..of_board.len()).filter(is_ranked).count();
    let n_missing = n_ranked - entries.iter().filter(|entry| entry.is_ranked).count();
    let mut lines = vec![None; of_board.len()];
    let mut n_best = n_missing; // each of them may be the best
    for (((place, replicates, area), entry), of_row) in compared.iter().zip(&entries).zip(&of_rows) {
        n_best += usize::from(entry.is_ranked && of_row.first == 1);
        let header = &replicates.header;
        let has_interval = !is_rounded && header.without_score_interval.is_none();
        let interval = score_interval(*area, entry.deviations, header.smallest);
        lines[*place] = Some(Area {
            value: (!is_rounded).then(|| shown_area(*area, header.n_items as u64)),
            interval: interval.filter(|_| has_interval).map(rounded_outward),
            rank_interval: (of_row.first, of_row.last + n_missing as u32),
        });
    }
    Some(ByArea {
        lines,
        n_best,
        n_missing,
    })
}
