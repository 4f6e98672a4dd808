//! Combines several rankings into one, and measures how much the result depends on what should not matter: a single ranking, and a
//! weak entry.

use super::{mid_ranks, tau_b};

/// How rankings are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The mean of the ranks, after Borda.
    MeanRank,
    /// The mean of the standardized scores: a score minus its board's mean, divided by the board's standard deviation.
    MeanStandardized,
}

/// A combined ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Combined {
    /// `(n,)`: the mean rank, or the mean standardized score.
    pub values: Vec<f64>,
    /// `(n,)`: 1 for the best; equal entries share the first of their places.
    pub ranks: Vec<usize>,
}

/// How a combined ranking changes when something is left out or added.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    /// `(n,)`: the ranks after the change, of the entries that the ranking had before.
    pub ranks: Vec<usize>,
    /// The mean number of places by which an entry moved.
    pub mean_change: f64,
    /// The largest number of places by which an entry moved.
    pub largest_change: usize,
    /// Kendall's tau-b between the rankings before and after; `None` if one of them has all entries equal.
    pub tau_b: Option<f64>,
}

/// Differences below this come from rounding: they count as none.
const TOLERANCE: f64 = 1e-12;

/// Combines the boards' scores of the same entries.
///
/// # Shapes and units
/// `boards`: one after another, each `(n,)`; more is better on each.
///
/// # Panics
/// If the lengths differ.
pub fn combine(boards: &[Vec<f64>], method: Method) -> Combined {
    let n = boards.first().map_or(0, Vec::len);
    assert!(
        boards.iter().all(|board| board.len() == n),
        "all boards rank the same entries"
    );
    let columns: Vec<Vec<f64>> = boards
        .iter()
        .map(|board| match method {
            Method::MeanRank => mid_ranks(board),
            Method::MeanStandardized => standardized(board),
        })
        .collect();
    let mean = |entry: usize| columns.iter().map(|column| column[entry]).sum::<f64>() / columns.len() as f64;
    let values: Vec<f64> = (0..n).map(mean).collect();
    let better_by = |one: f64, other: f64| match method {
        Method::MeanRank => other - one,
        Method::MeanStandardized => one - other,
    };
    let rank = |value: &f64| {
        1 + values
            .iter()
            .filter(|other| better_by(**other, *value) > TOLERANCE)
            .count()
    };
    Combined {
        ranks: values.iter().map(rank).collect(),
        values,
    }
}

/// The scores minus their mean, divided by their standard deviation; zeros if all are equal.
fn standardized(scores: &[f64]) -> Vec<f64> {
    let n = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let deviation = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / n).sqrt();
    let is_constant = scores.iter().all(|score| score.total_cmp(&scores[0]).is_eq());
    let scale = if is_constant { 0.0 } else { 1.0 / deviation };
    scores.iter().map(|score| (score - mean) * scale).collect()
}

/// The place of each score on its own board: 1 for the best; equal scores share the first of their places.
pub fn standings(scores: &[f64]) -> Vec<usize> {
    let rank = |score: &f64| 1 + scores.iter().filter(|other| *other > score).count();
    scores.iter().map(rank).collect()
}

/// The combined ranking with each board left out in turn. Empty if there is only one board.
pub fn left_out(boards: &[Vec<f64>], method: Method) -> Vec<Sensitivity> {
    if boards.len() < 2 {
        return Vec::new();
    }
    let before = combine(boards, method).ranks;
    let without = |board: usize| {
        let mut others = boards.to_vec();
        others.remove(board);
        Sensitivity::between(&before, combine(&others, method).ranks)
    };
    (0..boards.len()).map(without).collect()
}

/// The combined ranking after adding an entry that is a little worse than the entry `like` on every board. The added entry can win
/// nowhere, so a ranking that depends only on the entries themselves does not change.
///
/// # Source
/// Zhang, G. and Hardt, M. (2024), "Inherent Trade-Offs between Diversity and Stability in Multi-Task Benchmarks", ICML: the
/// sensitivity of a ranking to irrelevant changes, here to one added entry.
///
/// # Panics
/// If there is no entry of this number.
pub fn weak_entry(boards: &[Vec<f64>], method: Method, like: usize) -> Sensitivity {
    let before = combine(boards, method).ranks;
    let with = |board: &Vec<f64>| {
        let mut scores = board.clone();
        scores.push(board[like].next_down());
        scores
    };
    let with: Vec<Vec<f64>> = boards.iter().map(with).collect();
    let mut after = combine(&with, method);
    let added = after.values.pop();
    // the added entry takes no place: ranks are among the entries that were there before
    let place = |rank: &usize| {
        let is_behind = added.is_some() && *rank > after.ranks[before.len()];
        rank - usize::from(is_behind)
    };
    let ranks = after.ranks[..before.len()].iter().map(place).collect();
    Sensitivity::between(&before, ranks)
}

impl Sensitivity {
    fn between(before: &[usize], ranks: Vec<usize>) -> Self {
        let changes = || {
            before
                .iter()
                .zip(&ranks)
                .map(|(before, after)| before.abs_diff(*after))
        };
        let floats = |ranks: &[usize]| ranks.iter().map(|&rank| rank as f64).collect::<Vec<f64>>();
        Self {
            mean_change: changes().sum::<usize>() as f64 / before.len().max(1) as f64,
            largest_change: changes().max().unwrap_or(0),
            tau_b: tau_b(&floats(before), &floats(&ranks)),
            ranks,
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    /// Two boards with three entries in crossed orders.
    fn boards() -> Vec<Vec<f64>> {
        vec![vec![0.9, 0.8, 0.1], vec![0.5, 0.6, 0.55]]
    }

    #[test]
    fn ranks_and_standardized_scores_may_differ() {
        let by_rank = combine(&boards(), Method::MeanRank);
        assert_eq!(
            (by_rank.values, by_rank.ranks),
            (vec![2.0, 1.5, 2.5], vec![2, 1, 3])
        );
        let far = vec![vec![10.0, 1.0, 0.9, 0.8], vec![0.3, 0.4, 0.29, 0.1]];
        assert_eq!(combine(&far, Method::MeanRank).ranks, [1, 1, 3, 4]);
        let by_score = combine(&far, Method::MeanStandardized);
        assert_eq!(by_score.ranks, [1, 2, 3, 4]);
        assert!(by_score.values.iter().sum::<f64>().abs() < 1e-12);
    }

    #[test]
    fn a_board_without_differences_decides_nothing() {
        let boards = vec![vec![0.1, 0.2, 0.3], vec![0.7; 3]];
        for method in [Method::MeanRank, Method::MeanStandardized] {
            assert_eq!(combine(&boards, method).ranks, [3, 2, 1]);
        }
    }

    #[test]
    fn leaving_out_a_board_gives_the_others_order() {
        let left_out = left_out(&boards(), Method::MeanRank);
        assert_eq!(left_out[0].ranks, [3, 1, 2]);
        assert_eq!(left_out[1].ranks, [1, 2, 3]);
        assert_eq!(
            (left_out[1].largest_change, left_out[1].mean_change),
            (1, 2.0 / 3.0)
        );
        assert!(super::left_out(&boards()[..1], Method::MeanRank).is_empty());
    }

    #[test]
    fn a_weak_entry_reverses_the_mean_ranks() {
        let boards = vec![vec![0.9, 0.5, 0.7], vec![0.5, 0.9, 0.2]];
        assert_eq!(combine(&boards, Method::MeanRank).ranks, [1, 2, 3]);
        let unchanged = weak_entry(&boards, Method::MeanRank, 0);
        assert_eq!((unchanged.ranks, unchanged.tau_b), (vec![1, 2, 3], Some(1.0)));
        // the added entry is worse than the second everywhere, and better than the first on one board
        let changed = weak_entry(&boards, Method::MeanRank, 1);
        assert_eq!((changed.ranks, changed.largest_change), (vec![1, 1, 3], 1));
    }

    #[test]
    fn the_weak_entry_itself_takes_no_place() {
        let boards = vec![vec![0.9, 0.8, 0.7, 0.6]; 2];
        for method in [Method::MeanRank, Method::MeanStandardized] {
            for like in 0..4 {
                assert_eq!(weak_entry(&boards, method, like).ranks, [1, 2, 3, 4]);
            }
        }
    }
}
