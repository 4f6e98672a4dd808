//! What the ranks of a board are worth: each row compared with all others, published beside the board.
//!
//! [`Comparison::of`] compares; an evaluator writes the result as one object of the board, which the programs that show the board read:
//! what it says of the board, and what it says of some of the rows, without reading the rest.

mod read;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use dataperf_numerics::bootstrap::N_DRAWS;
use dataperf_numerics::ranks::{
    self, Compared, Entry as Compares, Swapped, compare, compare_swapped, degrees_of_freedom, score_interval,
};
use serde::{Deserialize, Serialize};

use crate::ports::leaderboard::{Board, Ranked};
use crate::released::Climb;
use crate::replicates::Replicates;
use crate::upload::{SubmissionId, UNNAMED};
use crate::{Digest, Direction, Feedback, NoIntervals, Timestamp};

pub use crate::no_intervals::{MIN_CLUSTERS, MIN_ITEMS};
pub use read::Read;
pub use wire::{FIRST_BYTES, LINE_BYTES};

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// The most rows of a board that are compared; the others have no interval.
pub const MAX_ROWS: usize = 10_000;
/// The most rows of a board for which the items are counted on which two rows differ.
pub const MAX_COUNTED_ROWS: usize = 200;

/// What is said of the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The version of this document's form.
    pub schema: u32,
    /// When it was made; rows that are newer are not compared yet.
    pub compared_at: Timestamp,
    /// The data set that the compared rows are scored with.
    pub dataset: Option<Digest>,
    /// Rows that are compared.
    pub n_rows: usize,
    /// Rows that have a rank.
    pub n_ranked: usize,
    /// Rows that can't be compared, because their replicates are missing: each may stand anywhere.
    pub n_missing: usize,
    /// Rows that may be the best one.
    pub n_best: usize,
    /// The smallest difference between neighbours that the eval set can tell apart, with power 0.8.
    pub resolution: Option<f64>,
    /// Whether whole clusters are drawn.
    pub is_clustered: bool,
    /// Why no intervals are shown, where none are; with [`NoIntervals::is_of_ranks`] scores have some.
    #[serde(deserialize_with = "Option::deserialize")] // a summary without this field can't be read
    pub why_none: Option<NoIntervals>,
    /// Why no intervals of scores are shown, where none are and ranks have some.
    #[serde(deserialize_with = "Option::deserialize")]
    pub why_no_score_intervals: Option<NoIntervals>,
}

impl Summary {
    /// The part of the summary that is shown to others than the organizer. The resolution is made of the paired differences of neighbours: on a board
    /// that somebody fills with copies it is that of one pair, so it is not shown before everything is.
    #[must_use]
    pub fn shown(self, level: Feedback) -> Self {
        Self {
            resolution: self.resolution.filter(|_| level >= Feedback::Full),
            ..self
        }
    }

    /// Whether scores were shown as a Ladder released them when it was made.
    pub fn is_of_released_scores(&self) -> bool {
        let reasons = [self.why_none, self.why_no_score_intervals];
        let is_of_released =
            |why: NoIntervals| matches!(why, NoIntervals::LadderReleases | NoIntervals::ScoresRounded);
        reasons.into_iter().flatten().any(is_of_released)
    }
}

/// What is said of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The first and the last rank that it may have, with 95 % confidence.
    pub ranks: Option<(u32, u32)>,
    /// The interval of its score, with 95 % confidence.
    pub interval: Option<(f64, f64)>,
    /// Scored submissions of its submitter to the board.
    pub n_submissions: u32,
    /// Whether it is clearly better than the best baseline.
    pub is_above_baselines: Option<bool>,
}

/// A board's comparison: the summary, and the lines in the order of the board.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is said of the board.
    pub summary: Summary,
    /// What is said of each row.
    pub lines: Vec<(SubmissionId, Line)>,
}

/// What a comparison is made of.
pub struct Rows<'a> {
    /// The board's rows, best first, as [`crate::ports::leaderboard::Leaderboards::top`] gives them.
    pub rows: &'a [Ranked],
    /// What is kept of each submission, where it was found.
    pub replicates: &'a BTreeMap<SubmissionId, Arc<Replicates>>,
    /// Scored submissions of each submitter to the board.
    pub n_submissions: &'a BTreeMap<String, u64>,
    /// Which scores are better.
    pub direction: Direction,
    /// The data set that the board is scored with.
    pub dataset: Option<Digest>,
    /// Whether the scores that the round's Ladder has released are those of the submissions, rounded. If so, they are compared all the same.
    pub shows_every_score: bool,
}

impl Comparison {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of a board's comparison in the results bucket.
    pub fn key(board: &Board) -> String {
        let Board {
            benchmark,
            leaderboard,
            round,
        } = board;
        format!("{benchmark}/{UNNAMED}/_ranks/{leaderboard}/{round}")
    }

    /// Compares the rows of a board. Rows of another data set are left out; rows without replicates of the same draws may stand
    /// anywhere, and have no interval. Where scores are shown rounded, ranks alone have intervals, by the scores themselves.
    pub fn of(rows: &Rows<'_>, at: Timestamp) -> Self {
        let of_board = rows.of_board();
        let sign = match rows.direction {
            Direction::HigherIsBetter => 1.0,
            Direction::LowerIsBetter => -1.0,
        };
        // a row that another Ladder held before is not shown with a score of its own; a row from before there was any Ladder is
        let is_of_own = |row: &&Ranked| row.entry.climb != Some(Climb::Held);
        let is_of_score = |row: &&Ranked| {
            let kept = rows.replicates.get(&row.entry.id);
            kept.is_none_or(|kept| kept.is_of(&row.entry))
        };
        let is_rounded =
            rows.shows_every_score && of_board.iter().all(|row| is_of_own(row) && is_of_score(row));
        let is_withheld = rows.is_released() && !is_rounded;
        let found = of_board
            .iter()
            .map(|row| rows.found(row).filter(|_| !is_withheld));
        let found: Vec<Option<&Arc<Replicates>>> = found.collect();
        let draws = commonest(found.iter().flatten().map(|found| found.header.draws));
        let usable = |found: Option<&Arc<Replicates>>| {
            found.is_some_and(|found| Some(found.header.draws) == draws && found.header.missing.is_none())
        };
        let mut places: Vec<usize> = (0..of_board.len())
            .filter(|&place| usable(found[place]))
            .collect();
        if is_rounded {
            // the board has them in the order of the rounded scores
            let worth = |&place: &usize| found[place].map_or(0.0, |found| sign * found.header.score);
            places.sort_by(|one, other| worth(other).total_cmp(&worth(one)));
        }
        let compared: Vec<&Arc<Replicates>> = places.iter().filter_map(|&place| found[place]).collect();
        let mut why_none = why_none_shown(&found, &compared, is_withheld, is_rounded);
        // of classes with few items answers are swapped, not drawn
        let is_swapped = why_none == Some(NoIntervals::FewItems) && compared.iter().all(|row| has_parts(row));
        why_none = why_none.filter(|_| !is_swapped);
        let n_ranked = of_board.iter().filter(|row| !row.entry.is_baseline).count();
        let missing = |place: &usize| !of_board[*place].entry.is_baseline && !usable(found[*place]);
        let n_missing = (0..of_board.len())
            .filter(|place| !is_withheld && missing(place))
            .count();
        let mut lines: Vec<(SubmissionId, Line)> = of_board.iter().map(|row| rows.line(row)).collect();
        let without_scores = || {
            let of_rows = || compared.iter().find_map(|row| row.header.without_score_interval);
            let rounded = is_rounded.then_some(NoIntervals::ScoresRounded);
            rounded
                .or(is_swapped.then_some(NoIntervals::FewItems))
                .or_else(of_rows)
        };
        let why_no_score_intervals = why_none.is_none().then(without_scores).flatten();
        show_places(&mut lines, &found, why_none);
        let (mut resolution, mut n_best) = (None, 0);
        if why_none.is_none() {
            let entries = places.iter().zip(&compared).map(|(&place, replicates)| Compares {
                score: sign * replicates.header.score,
                is_ranked: !of_board[place].entry.is_baseline,
                deviations: &replicates.deviations,
            });
            let entries: Vec<Compares<'_>> = entries.collect();
            let intervals = intervals(&entries, &compared, is_swapped.then_some(sign));
            let has_best = best_baseline(&of_board).is_none_or(|place| usable(found[place]));
            for ((&place, entry), of_row) in places.iter().zip(&entries).zip(&intervals) {
                let line = &mut lines[place].1;
                let smallest = compared[0].header.smallest;
                let interval = score_interval(entry.score, entry.deviations, smallest);
                let interval = interval.filter(|_| why_no_score_intervals.is_none());
                line.interval = interval.map(|(worse, better)| {
                    rounded_outward(if sign < 0.0 {
                        (0.0 - better, 0.0 - worse)
                    } else {
                        (worse, better)
                    })
                });
                let mut ranks = (of_row.first, of_row.last + n_missing as u32);
                if is_rounded {
                    ranks = containing(ranks, of_board[place].shown_rank());
                }
                line.ranks = Some(ranks);
                line.is_above_baselines = of_row.is_above_baselines.filter(|_| has_best);
                n_best += usize::from(entry.is_ranked && ranks.0 == 1);
            }
            n_best += n_missing; // each of them may be the best
            resolution = Compared::resolution(&intervals).map(|smallest| rounded_outward((0.0, smallest)).1);
        }
        Self {
            summary: Summary {
                schema: Self::SCHEMA,
                compared_at: at,
                dataset: rows.dataset,
                n_rows: lines.len(),
                n_ranked,
                n_missing,
                n_best,
                resolution,
                is_clustered: compared.first().is_some_and(|first| first.header.is_clustered),
                why_none,
                why_no_score_intervals,
            },
            lines,
        }
    }
}

/// Why no intervals are shown, where scores may be withheld, or shown rounded, which hides where a curve is.
fn why_none_shown(
    found: &[Option<&Arc<Replicates>>],
    compared: &[&Arc<Replicates>],
    is_withheld: bool,
    is_rounded: bool,
) -> Option<NoIntervals> {
    if is_withheld {
        return Some(NoIntervals::LadderReleases);
    }
    let why = why_none(found, compared);
    let is_hidden = is_rounded && why.is_some_and(NoIntervals::is_of_ranks);
    if is_hidden {
        Some(NoIntervals::ScoresRounded)
    } else {
        why
    }
}

/// Gives scores that are places on curves their intervals, where ranks alone have none.
fn show_places(
    lines: &mut [(SubmissionId, Line)],
    found: &[Option<&Arc<Replicates>>],
    why_none: Option<NoIntervals>,
) {
    if why_none.is_some_and(NoIntervals::is_of_ranks) {
        for ((_, line), found) in lines.iter_mut().zip(found) {
            line.interval = found.and_then(|found| found.header.place_interval);
        }
    }
}

fn has_parts(row: &Replicates) -> bool {
    row.header.has_parts && row.parts.len() == row.header.n_items
}

/// The comparison of rows by draws, or by swaps where a sign is given.
fn intervals(
    entries: &[Compares<'_>],
    compared: &[&Arc<Replicates>],
    swapped_with: Option<f64>,
) -> Vec<Compared> {
    match swapped_with {
        Some(sign) => swapped(entries, compared, sign),
        None => compare(entries, &|one, other, error| degrees(compared, one, other, error)),
    }
}

/// The comparison of rows by swaps of their answers. The swaps follow from hidden labels, as the draws do.
fn swapped(entries: &[Compares<'_>], compared: &[&Arc<Replicates>], sign: f64) -> Vec<Compared> {
    let parts: Vec<Vec<f32>> = compared
        .iter()
        .map(|row| row.parts.iter().map(|part| sign as f32 * part).collect())
        .collect();
    let rows = entries.iter().zip(&parts).map(|(entry, parts)| Swapped {
        is_ranked: entry.is_ranked,
        parts,
    });
    let seed = compared
        .first()
        .map_or([0; 32], |first| first.header.draws.bytes());
    compare_swapped(&rows.collect::<Vec<_>>(), seed)
}

/// The place of the best baseline, if there is one. If it can't be compared, no other baseline takes its place.
fn best_baseline(of_board: &[&Ranked]) -> Option<usize> {
    of_board.iter().position(|row| row.entry.is_baseline)
}

/// A rank interval, widened to the rank that the row is shown with: rounded scores may share a rank that their own scores don't.
fn containing((first, last): (u32, u32), shown: Option<usize>) -> (u32, u32) {
    let shown = shown.and_then(|rank| u32::try_from(rank).ok());
    shown.map_or((first, last), |rank| (first.min(rank), last.max(rank)))
}

/// An interval with its ends moved outward to two digits of its width: the digits after them say nothing about the submission, and
/// would be equations for hidden labels.
pub fn rounded_outward((low, high): (f64, f64)) -> (f64, f64) {
    let width = high - low;
    if width <= 0.0 {
        return (low, high);
    }
    let n_decimals = (1.0 - width.log10().floor()).clamp(0.0, 12.0);
    let unit = 10_f64.powi(n_decimals as i32);
    ((low * unit).floor() / unit, (high * unit).ceil() / unit)
}

impl<'a> Rows<'a> {
    /// The rows that are scored with the board's data set, best first.
    pub(crate) fn of_board(&self) -> Vec<&'a Ranked> {
        let of_dataset = self.rows.iter().filter(|row| row.entry.dataset == self.dataset);
        of_dataset.take(MAX_ROWS).collect()
    }

    /// Whether the rows' scores are what a Ladder has released. Such scores get no interval, which would tell more than the score does.
    pub(crate) fn is_released(&self) -> bool {
        self.of_board().iter().any(|row| row.entry.climb.is_some())
    }

    /// What is kept of a row, if it belongs to the row's score.
    pub(crate) fn found(&self, row: &Ranked) -> Option<&'a Arc<Replicates>> {
        let found = self.replicates.get(&row.entry.id)?;
        found.is_of(&row.entry).then_some(found)
    }

    /// What is said of a row that is not compared.
    fn line(&self, row: &Ranked) -> (SubmissionId, Line) {
        let n_submissions = self.n_submissions.get(&row.entry.submitter).copied();
        let line = Line {
            ranks: None,
            interval: None,
            n_submissions: n_submissions.map_or(1, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            is_above_baselines: None,
        };
        (row.entry.id.clone(), line)
    }
}

/// The draws under which most rows were scored.
fn commonest(draws: impl Iterator<Item = Digest>) -> Option<Digest> {
    let mut counts: BTreeMap<String, (usize, Digest)> = BTreeMap::new();
    for draws in draws {
        counts.entry(draws.to_string()).or_insert((0, draws)).0 += 1;
    }
    counts
        .into_values()
        .max_by_key(|(n, _)| *n)
        .map(|(_, draws)| draws)
}

/// The degrees of freedom of two rows' difference, by the number of items on which they differ in correctness. Where there are too many rows to read
/// that of each, the number is estimated: rows whose difference has the standard error `error` differ on at least so many.
pub(crate) fn degrees(compared: &[&Arc<Replicates>], one: usize, other: usize, error: f64) -> usize {
    let (one, other) = (compared[one], compared[other]);
    let n_items = one.header.n_items;
    let n_clusters = one.header.is_clustered.then_some(one.header.smallest);
    let n_different = if one.correctness.len() == n_items && other.correctness.len() == n_items {
        one.n_different(other)
    } else {
        let n_parts = one.header.n_parts.unwrap_or(n_items);
        (error * n_parts as f64).powi(2).min(n_items as f64) as usize
    };
    degrees_of_freedom(n_different, n_clusters)
}

/// Which of these submissions to one board are clearly better than which, by their places, with this confidence for all pairs at once.
///
/// # Errors
/// [`NoIntervals`] where their draws say nothing of that.
pub fn joint_orders(
    of: &[Arc<Replicates>],
    direction: Direction,
    confidence: f64,
) -> Result<Vec<(usize, usize)>, NoIntervals> {
    let compared: Vec<&Arc<Replicates>> = of.iter().collect();
    if let Some(missing) = compared.iter().find_map(|of| of.header.missing) {
        return Err(missing);
    }
    if compared
        .iter()
        .any(|of| of.header.draws != compared[0].header.draws)
    {
        return Err(NoIntervals::OtherDraws);
    }
    let found: Vec<Option<&Arc<Replicates>>> = compared.iter().copied().map(Some).collect();
    if let Some(why) = why_none(&found, &compared) {
        return Err(why);
    }
    let entries = compared.iter().map(|of| Compares {
        score: match direction {
            Direction::HigherIsBetter => of.header.score,
            Direction::LowerIsBetter => -of.header.score,
        },
        is_ranked: true,
        deviations: &of.deviations,
    });
    let degrees = |one, other, error| degrees(&compared, one, other, error);
    let orders = ranks::joint_orders(&entries.collect::<Vec<_>>(), &degrees, confidence);
    Ok(orders)
}

/// Why no intervals are shown.
pub(crate) fn why_none(
    found: &[Option<&Arc<Replicates>>],
    compared: &[&Arc<Replicates>],
) -> Option<NoIntervals> {
    let Some(first) = compared.first() else {
        let missing = found.iter().flatten().find_map(|found| found.header.missing);
        return Some(match missing {
            Some(missing) => missing,
            None if found.is_empty() => NoIntervals::EmptyBoard,
            None => NoIntervals::NotDrawn,
        });
    };
    let (n, is_clustered) = (first.header.smallest, first.header.is_clustered);
    if is_clustered && n < MIN_CLUSTERS {
        return Some(NoIntervals::FewClusters);
    }
    (!is_clustered && n < MIN_ITEMS).then_some(NoIntervals::FewItems)
}

const _: () = assert!(N_DRAWS == 1_000, "the documents say how many draws there are");

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "decimals are read back as they are written")]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::ports::leaderboard::Entry;
    use crate::replicates::Header;

    /// Replicates of one data set that spread so far.
    fn replicates_of(score: f64, smallest: usize, spread: f32) -> Replicates {
        let dataset = Digest::of(b"data");
        let of_draw = |draw: usize| ((draw * 7919) % N_DRAWS) as f32 / N_DRAWS as f32 - 0.4995;
        Replicates {
            header: Header {
                dataset,
                draws: dataset,
                score,
                missing: None,
                smallest,
                is_clustered: false,
                n_redrawn: 0,
                n_items: 2 * smallest,
                n_parts: None,
                has_parts: false,
                without_score_interval: None,
                place_interval: None,
            },
            deviations: (0..N_DRAWS).map(|draw| spread * of_draw(draw)).collect(),
            parts: Vec::new(),
            correctness: Vec::new(),
        }
    }

    /// A board of one data set, each row with its score and the draws of an eval set of which `smallest` items are of the rarest class.
    fn compared(scores: &[f64], smallest: usize, spread: f32, tries: u64) -> Comparison {
        let rows = scores.iter().map(|&score| replicates_of(score, smallest, spread));
        compared_of(scores, rows.collect(), tries)
    }

    fn compared_of(scores: &[f64], kept: Vec<Replicates>, tries: u64) -> Comparison {
        shown_of(scores, kept, tries, None)
    }

    /// The same where a Ladder shows every score, rounded, if `climb` is there.
    fn shown_of(scores: &[f64], kept: Vec<Replicates>, tries: u64, climb: Option<Climb>) -> Comparison {
        let dataset = Digest::of(b"data");
        let board = Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: "open".into(),
        };
        let (mut rows, mut replicates, mut n_submissions) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (place, (&score, of_row)) in scores.iter().zip(kept).enumerate() {
            let submitter = format!("s{place}");
            let id = SubmissionId::of("bucket", &submitter, "");
            replicates.insert(id.clone(), Arc::new(of_row));
            n_submissions.insert(submitter.clone(), tries);
            let entry = Entry {
                id,
                board: board.clone(),
                submitter,
                received_at: Timestamp::from_unix_millis(i64::try_from(place).unwrap_or_default()),
                is_baseline: false,
                withdrawn_at: None,
                withdrawals: Vec::new(),
                ending: Some(Ending::Scored),
                score: Some(score),
                climb,
                dataset: Some(dataset),
            };
            rows.push(Ranked {
                entry,
                rank: place + 1,
                is_of_other_dataset: false,
            });
        }
        let rows = Rows {
            rows: &rows,
            replicates: &replicates,
            n_submissions: &n_submissions,
            direction: Direction::HigherIsBetter,
            dataset: Some(dataset),
            shows_every_score: climb.is_some(),
        };
        Comparison::of(&rows, Timestamp::from_unix_millis(9))
    }

    #[test]
    fn an_eval_set_of_one_item_and_a_class_of_one_have_no_intervals_and_say_why() {
        for smallest in [1, MIN_ITEMS - 1] {
            let found = compared(&[1.0, 0.0], smallest, 0.5, 1);
            assert_eq!(found.summary.why_none, Some(NoIntervals::FewItems));
            assert!(
                found
                    .lines
                    .iter()
                    .all(|(_, line)| line.ranks.is_none() && line.interval.is_none())
            );
            assert_eq!((found.summary.resolution, found.summary.n_best), (None, 0));
        }
        assert_eq!(compared(&[1.0, 0.0], MIN_ITEMS, 0.5, 1).summary.why_none, None);
        assert!(compared(&[], MIN_ITEMS, 0.5, 1).summary.why_none.is_some());
    }

    /// Twelve items of a class: answers are swapped, ranks have intervals and scores have none.
    #[test]
    fn few_items_of_a_class_are_swapped() {
        let row = |score: f64, n_right: usize| {
            let mut row = replicates_of(score, 12, 0.1);
            row.header.has_parts = true;
            row.parts = (0..24)
                .map(|item| f32::from(u8::from(item < n_right)) / 24.0)
                .collect();
            row
        };
        let of = |rows: Vec<Replicates>| {
            let scores: Vec<f64> = rows.iter().map(|row| row.header.score).collect();
            compared_of(&scores, rows, 1)
        };
        let found = of(vec![row(0.9, 22), row(0.9, 22), row(0.2, 4)]);
        let ranks: Vec<_> = found.lines.iter().map(|(_, line)| line.ranks).collect();
        assert_eq!(ranks, [Some((1, 2)), Some((1, 2)), Some((3, 3))]);
        assert!(found.lines.iter().all(|(_, line)| line.interval.is_none()));
        let summary = &found.summary;
        assert_eq!(
            (summary.why_none, summary.why_no_score_intervals, summary.n_best),
            (None, Some(NoIntervals::FewItems), 2)
        );
        let mut without = row(0.2, 4);
        without.header.has_parts = false;
        assert_eq!(
            of(vec![row(0.9, 22), without]).summary.why_none,
            Some(NoIntervals::FewItems)
        );
    }

    /// Places on curves have intervals of their own, and ranks have none.
    #[test]
    fn places_on_curves_have_intervals_unless_rounded() {
        let row = |score: f64| {
            let mut row = replicates_of(score, 50, 0.0);
            row.header.missing = Some(NoIntervals::RankOfPlace);
            row.header.place_interval = Some((0.2, 0.6));
            row
        };
        let found = compared_of(&[0.5, 0.3], vec![row(0.5), row(0.3)], 1);
        assert_eq!(found.summary.why_none, Some(NoIntervals::RankOfPlace));
        for (_, line) in &found.lines {
            assert_eq!((line.interval, line.ranks), (Some((0.2, 0.6)), None));
        }
        let rounded = shown_of(&[0.5, 0.3], vec![row(0.5), row(0.3)], 1, Some(Climb::Climbed));
        assert_eq!(rounded.summary.why_none, Some(NoIntervals::ScoresRounded));
        assert!(rounded.summary.is_of_released_scores());
        assert!(rounded.lines.iter().all(|(_, line)| line.interval.is_none()));
    }

    #[test]
    fn few_clusters_tell_less_than_their_items() {
        let [one, other] = [1, 2].map(|n| {
            let mut row = replicates_of(0.5, 20, 0.1);
            row.correctness = (0..40).map(|item| u8::from(item % 3 == n)).collect();
            row.header.n_items = 40;
            row
        });
        let of = |is_clustered| {
            let [one, other] = [&one, &other].map(|row| {
                let mut row = row.clone();
                row.header.is_clustered = is_clustered;
                Arc::new(row)
            });
            degrees(&[&one, &other], 0, 1, 0.1)
        };
        assert_eq!((of(false), of(true)), (26 + 9, 9));
    }

    #[test]
    fn scores_that_are_all_equal_are_ties() {
        for spread in [0.0, 0.1] {
            let found = compared(&[0.5; 4], 50, spread, 1);
            assert!(
                found.lines.iter().all(|(_, line)| line.ranks == Some((1, 4))),
                "{spread}"
            );
            assert_eq!((found.summary.n_best, found.summary.resolution), (4, None));
        }
    }

    #[test]
    fn the_same_file_a_thousand_times_is_one_row_that_says_so() {
        let once = compared(&[0.9, 0.5], 50, 0.1, 1);
        let often = compared(&[0.9, 0.5], 50, 0.1, 1_000);
        for ((_, once), (_, often)) in once.lines.iter().zip(&often.lines) {
            assert_eq!((once.ranks, once.interval), (often.ranks, often.interval));
            assert_eq!((once.n_submissions, often.n_submissions), (1, 1_000));
        }
    }

    #[test]
    fn ends_have_two_digits_of_the_width() {
        assert_eq!(rounded_outward((0.394_409_62, 0.489_695_12)), (0.394, 0.49));
        assert_eq!(rounded_outward((0.123_456, 0.623_456)), (0.12, 0.63));
        assert_eq!(rounded_outward((-0.000_123_4, 0.000_001)), (-0.000_13, 0.000_01));
        assert_eq!(rounded_outward((12.3, 45.6)), (12.0, 46.0));
        assert_eq!(rounded_outward((0.123_456, 0.123_456)), (0.123_456, 0.123_456));
    }
}
