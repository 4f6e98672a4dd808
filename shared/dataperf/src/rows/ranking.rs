//! From a submitter's lines to the rows of a board and their ranks.

use crate::Digest;
use crate::board::rank_key::{Direction, RankKey};
use crate::board::{Board, Ranking};
use crate::receipt::released_score::Climb;
use crate::submission::Entry;

/// A row of a board, with the shared rank that equal scores have.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The row's submission: its submitter's best or latest, or any, as the board ranks.
    pub entry: Entry,
    /// 1 for the best score. Equal scores share a rank, and the next rank counts them all;
    /// baselines do not count. A baseline, or a score of another data set, gets the rank that its
    /// score would have; documents omit it.
    pub rank: usize,
    /// Whether it was scored with another data set than the board is scored with now.
    pub is_of_other_dataset: bool,
}

impl Ranked {
    /// The rank that documents show: `None` for a baseline, or for a score of another data set.
    pub fn shown_rank(&self) -> Option<usize> {
        (!self.entry.is_baseline && !self.is_of_other_dataset).then_some(self.rank)
    }
}

/// Whether a score was made with another data set than its board is scored with, so that the two can't be compared.
pub fn is_of_other_dataset(entry: &Entry, scored_with: Option<Digest>) -> bool {
    differ(entry.dataset, scored_with)
}

/// Whether two data sets are both known and differ.
pub fn differ(one: Option<Digest>, other: Option<Digest>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}

/// Assigns ranks to entries in ranking order. Equal scores share one. Baselines, and scores of
/// another data set than `scored_with`, do not count. Without `scored_with`, all entries are
/// compared.
pub fn with_shared_ranks(
    entries: impl IntoIterator<Item = Entry>,
    scored_with: Option<Digest>,
) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut last: Option<(Option<f64>, usize)> = None;
    let mut n_people = 0;
    for entry in entries {
        let is_of_other_dataset = is_of_other_dataset(&entry, scored_with);
        let rank = match last {
            Some((score, rank)) if !is_of_other_dataset && score == entry.score => rank,
            _ => n_people + 1,
        };
        if !is_of_other_dataset {
            last = Some((entry.score, rank));
            n_people += usize::from(!entry.is_baseline);
        }
        ranked.push(Ranked {
            entry,
            rank,
            is_of_other_dataset,
        });
    }
    ranked
}

/// The sort key of a line on its board; `None` if it can't be on one.
pub fn rank_key_of(entry: &Entry, direction: Direction) -> Option<RankKey> {
    let score = entry.score.filter(|_| entry.is_on_board())?;
    RankKey::new(score, direction, entry.received_at, &entry.id)
}

/// Whether a line shows its own score, or one that the Ladder released for a line that still
/// counts. The withdrawal of a line hides its released score.
fn is_backed(line: &Entry, keyed: &[(RankKey, &Entry)]) -> bool {
    let has_released = |other: &Entry| match other.climb {
        None => true, // its own score is shown by now
        Some(Climb::Climbed) => other.score == line.score,
        Some(Climb::Held) => false,
    };
    let others = keyed.iter().filter(|(_, other)| other.dataset == line.dataset);
    line.climb != Some(Climb::Held) || others.into_iter().any(|(_, other)| has_released(other))
}

/// The line that represents a submitter on a board with one row per submitter: the latest one, or
/// the best of `dataset`. Scores of different data sets are never compared: if no line has
/// `dataset`, the best line of the newest line's data set counts. A line that only repeats an
/// earlier released score is never the best.
pub fn standing<'a>(
    lines: impl IntoIterator<Item = &'a Entry>,
    board: &Board,
    ranking: Ranking,
    direction: Direction,
    dataset: Option<Digest>,
) -> Option<&'a Entry> {
    let keyed = lines
        .into_iter()
        .filter(|line| line.board == *board)
        .filter_map(|line| rank_key_of(line, direction).map(|key| (key, line)));
    let keyed: Vec<(RankKey, &Entry)> = keyed.collect();
    let newest = keyed.iter().max_by_key(|(_, line)| line.time_order());
    if ranking == Ranking::Latest {
        let backed = keyed.iter().filter(|(_, line)| is_backed(line, &keyed));
        let newest = backed.max_by_key(|(_, line)| line.time_order());
        return newest.map(|(_, line)| *line);
    }
    let best_of = |dataset: Option<Digest>| {
        let compared = keyed
            .iter()
            .filter(|(_, line)| line.dataset == dataset && line.climb != Some(Climb::Held));
        compared.min_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, line)| *line)
    };
    best_of(dataset).or_else(|| best_of(newest?.1.dataset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, SubmissionId, Timestamp};

    const ONE: &[u8] = b"one";
    const TWO: &[u8] = b"two";

    fn board() -> Board {
        Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: "open".into(),
        }
    }

    fn entry(submitter: &str, score: f64, at: i64, dataset: &[u8]) -> Entry {
        Entry {
            id: SubmissionId::derive("bucket", &format!("{submitter}{at}"), ""),
            board: board(),
            submitter: submitter.into(),
            received_at: Timestamp::from_unix_millis(at),
            is_baseline: false,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: Some(score),
            climb: None,
            dataset: Some(Digest::compute(dataset)),
        }
    }

    #[test]
    fn scores_of_another_data_set_have_no_rank() {
        let rows = [
            entry("ada", 0.9, 1, ONE),
            entry("bo", 0.5, 2, TWO),
            entry("cy", 0.5, 3, ONE),
            entry("di", 0.5, 4, TWO),
            entry("ed", 0.4, 5, TWO),
        ];
        let shown = |scored_with: Option<&[u8]>| -> Vec<Option<usize>> {
            let ranked = with_shared_ranks(rows.clone(), scored_with.map(Digest::compute));
            ranked.iter().map(Ranked::shown_rank).collect()
        };
        assert_eq!(shown(Some(TWO)), [None, Some(1), None, Some(1), Some(3)]);
        assert_eq!(shown(Some(ONE)), [Some(1), None, Some(2), None, None]);
        assert_eq!(shown(None), [Some(1), Some(2), Some(2), Some(2), Some(5)]);
    }

    #[test]
    fn the_first_of_many_equal_uploads_counts() {
        let lines: Vec<Entry> = (0..1_000).rev().map(|at| entry("ada", 0.5, at, ONE)).collect();
        let (dataset, direction) = (Some(Digest::compute(ONE)), Direction::HigherIsBetter);
        for (ranking, expected) in [(Ranking::Best, 0), (Ranking::Latest, 999)] {
            let state = standing(&lines, &board(), ranking, direction, dataset);
            let at = state.map(|line| line.received_at);
            assert_eq!(at, Some(Timestamp::from_unix_millis(expected)));
        }
    }

    #[test]
    fn the_best_is_that_of_one_data_set() {
        let lines = [
            entry("ada", 0.9, 1, ONE),
            entry("ada", 0.3, 2, TWO),
            entry("ada", 0.4, 3, TWO),
        ];
        let state = |ranking, dataset: &[u8]| {
            let dataset = Some(Digest::compute(dataset));
            let state = standing(&lines, &board(), ranking, Direction::HigherIsBetter, dataset);
            state.and_then(|line| line.score)
        };
        assert_eq!(state(Ranking::Best, ONE), Some(0.9));
        assert_eq!(state(Ranking::Best, TWO), Some(0.4));
        assert_eq!(state(Ranking::Best, b"none"), Some(0.4), "of the newest line's");
        assert_eq!(
            state(Ranking::Latest, ONE),
            Some(0.4),
            "the latest, whatever it is of"
        );
    }
}
