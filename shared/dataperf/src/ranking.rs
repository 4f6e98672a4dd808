//! From a submitter's lines to the rows of a board and their ranks.

use crate::board::{Board, Ranking};
use crate::rank::{Direction, RankKey};
use crate::submission::Entry;

/// A row of a board, with the shared rank that equal scores have.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The submission that stands there: its submitter's best or latest, or any, as the board ranks.
    pub entry: Entry,
    /// 1 for the best score; equal scores share a rank and the one after them counts them all, but no baselines.
    /// Of a baseline it is the rank that its score would have; documents show none.
    pub rank: usize,
}

impl Ranked {
    /// The rank as documents show it: none for a baseline.
    pub fn shown_rank(&self) -> Option<usize> {
        (!self.entry.is_baseline).then_some(self.rank)
    }
}

/// Gives entries in ranking order their ranks: equal scores share one, and baselines take none from anybody.
pub fn with_shared_ranks(entries: impl IntoIterator<Item = Entry>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut n_people = 0;
    for entry in entries {
        let rank = match ranked.last() {
            Some(before) if before.entry.score == entry.score => before.rank,
            _ => n_people + 1,
        };
        n_people += usize::from(!entry.is_baseline);
        ranked.push(Ranked { entry, rank });
    }
    ranked
}

/// The sort key of a line on its board; `None` for one that can't stand there.
pub fn rank_key_of(entry: &Entry, direction: Direction) -> Option<RankKey> {
    let score = entry.score.filter(|_| entry.is_on_board())?;
    RankKey::new(score, direction, entry.received_at, &entry.id)
}

/// Of a submitter's lines the one that stands on a board where one may.
pub fn standing<'a>(
    lines: impl IntoIterator<Item = &'a Entry>,
    board: &Board,
    ranking: Ranking,
    direction: Direction,
) -> Option<&'a Entry> {
    let keyed = lines
        .into_iter()
        .filter(|line| line.board == *board)
        .filter_map(|line| rank_key_of(line, direction).map(|key| (key, line)));
    let first = match ranking {
        Ranking::Latest => keyed.max_by_key(|(_, line)| line.time_order()),
        Ranking::Best | Ranking::All => keyed.min_by(|(a, _), (b, _)| a.cmp(b)),
    };
    first.map(|(_, line)| line)
}
