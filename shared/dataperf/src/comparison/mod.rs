//! Compares each row of a board with all others, and publishes the result next to the board.
//!
//! [`Comparison::compute`] compares. An evaluator writes the result as one object per board.
//! Readers can fetch the summary and a few rows of this object without reading the rest.

mod areas;
pub mod correction;
pub mod leading_pairs;
pub mod pair;
mod read;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use dataperf_numerics::bootstrap::N_DRAWS;
use dataperf_numerics::ranks::{
    self, Compared, Entry as Compares, Swapped, compare, compare_swapped, degrees_of_freedom, score_interval,
};
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::receipt::released_score::Climb;
use crate::replicates::no_intervals::{MIN_CLUSTERS, MIN_ITEMS};
use crate::replicates::{Header, Replicates};
use crate::rows::ranking::Ranked;
use crate::upload::SubmissionId;
use crate::{Digest, Direction, Feedback, NoIntervals, Timestamp};

pub use areas::Area;
pub use read::Read;
pub use wire::{FIRST_BYTES, LINE_BYTES};

/// The confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;
/// The most rows of a board that are compared; the others have no interval.
pub const MAX_ROWS: usize = 10_000;
/// The most rows of a board for which the items are counted on which two rows differ.
pub const MAX_COUNTED_ROWS: usize = 200;

/// The summary of a board.
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
    /// Rows that can't be compared, because their replicates are missing: each may have any rank.
    pub n_missing: usize,
    /// Rows that may be the best one.
    pub n_best: usize,
    /// The smallest difference between neighbours that the test set can tell apart, with power 0.8.
    pub resolution: Option<f64>,
    /// Whether whole clusters are drawn.
    pub is_clustered: bool,
    /// Why no intervals are shown; `None` if some are. With [`NoIntervals::is_of_ranks`] scores
    /// have some.
    #[serde(deserialize_with = "Option::deserialize")] // a summary without this field can't be read
    pub why_none: Option<NoIntervals>,
    /// Why no intervals of scores are shown although ranks have some; `None` otherwise.
    #[serde(deserialize_with = "Option::deserialize")]
    pub why_no_score_intervals: Option<NoIntervals>,
    /// Rows that may be the best one by the area under their curves; `None` where rows are not compared by it.
    pub n_best_by_area: Option<usize>,
}

impl Summary {
    /// The part of the summary that everybody may see. The resolution comes from differences
    /// between neighbouring rows. On a board filled with copies it would reveal the difference of
    /// one pair, so it stays hidden until everything is shown.
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

/// The comparison of one row.
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
    /// The area under its curves, where the score is a place on them and the rows are compared by area.
    pub area: Option<Area>,
}

/// A board's comparison: the summary, and the lines in the order of the board.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The summary of the board.
    pub summary: Summary,
    /// The comparison of each row.
    pub lines: Vec<(SubmissionId, Line)>,
}

/// The inputs of a comparison.
pub struct Rows<'a> {
    /// The board's rows, best first, as [`crate::table::leaderboard::Leaderboards::top`] gives them.
    pub rows: &'a [Ranked],
    /// The replicates of each submission, if they exist.
    pub replicates: &'a BTreeMap<SubmissionId, Arc<Replicates>>,
    /// Scored submissions of each submitter to the board.
    pub n_submissions: &'a BTreeMap<String, u64>,
    /// Which scores are better.
    pub direction: Direction,
    /// The data set that the board is scored with.
    pub dataset: Option<Digest>,
    /// Whether the Ladder's released scores are the submissions' own scores, rounded. If so, the
    /// rows can be compared anyway.
    pub shows_every_score: bool,
}

/// The ends of an interval as scores: `sign` is -1 where lower scores are better.
fn score_ends((worse, better): (f64, f64), sign: f64) -> (f64, f64) {
    if sign < 0.0 {
        (0.0 - better, 0.0 - worse)
    } else {
        (worse, better)
    }
}

impl Comparison {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The key of a board's comparison in the results bucket.
    pub fn key(board: &Board) -> String {
        board.object_key("_ranks")
    }

    /// Compares the rows of a board. Rows of another data set are left out. Rows without replicates
    /// of the same draws may have any rank, and have no interval. If scores are shown rounded, only
    /// ranks have intervals, computed from the exact scores.
    pub fn compute(rows: &Rows<'_>, at: Timestamp) -> Self {
        let of_board = rows.of_board();
        let is_higher_better = rows.direction == Direction::HigherIsBetter;
        let sign = if is_higher_better { 1.0 } else { -1.0 };
        // a row that another Ladder held before is not shown with a score of its own; a row from before there was any Ladder is
        let is_of_own = |row: &&Ranked| row.entry.climb != Some(Climb::Held);
        let is_of_score = |row: &&Ranked| {
            let kept = rows.replicates.get(&row.entry.id);
            kept.is_none_or(|kept| kept.is_of(&row.entry))
        };
        let is_rounded =
            rows.shows_every_score && of_board.iter().all(|row| is_of_own(row) && is_of_score(row));
        let is_withheld = rows.is_released() && !is_rounded;
        let replicates = of_board
            .iter()
            .map(|row| rows.replicates_for(row).filter(|_| !is_withheld));
        let replicates: Vec<Option<&Arc<Replicates>>> = replicates.collect();
        let draws = commonest(replicates.iter().flatten().map(|row| row.header.draws));
        let usable = |row: Option<&Arc<Replicates>>| {
            row.is_some_and(|row| Some(row.header.draws) == draws && row.header.missing.is_none())
        };
        let mut places: Vec<usize> = (0..of_board.len())
            .filter(|&place| usable(replicates[place]))
            .collect();
        if is_rounded {
            // the board has them in the order of the rounded scores
            let worth = |&place: &usize| replicates[place].map_or(0.0, |row| sign * row.header.score);
            places.sort_by(|one, other| worth(other).total_cmp(&worth(one)));
        }
        let compared: Vec<&Arc<Replicates>> = places.iter().filter_map(|&place| replicates[place]).collect();
        let by_area = areas::by_area(&of_board, &replicates, draws, is_rounded);
        let mut why_none = why_none_shown(&replicates, &compared, is_withheld, is_rounded);
        // a rounded comparison by scores has to be computed again once everything is shown
        if by_area.is_some() && is_rounded {
            why_none = Some(NoIntervals::ScoresRounded);
        }
        // of classes with few items answers are swapped, not drawn
        let is_swapped = why_none == Some(NoIntervals::FewItems) && compared.iter().all(|row| has_parts(row));
        why_none = why_none.filter(|_| !is_swapped);
        let n_ranked = of_board.iter().filter(|row| !row.entry.is_baseline).count();
        let missing = |place: &usize| !of_board[*place].entry.is_baseline && !usable(replicates[*place]);
        let n_missing = (0..of_board.len())
            .filter(|place| !is_withheld && missing(place))
            .count();
        let n_missing = by_area.as_ref().map_or(n_missing, |by_area| by_area.n_missing);
        let n_best_by_area = by_area.as_ref().map(|by_area| by_area.n_best);
        let mut lines: Vec<(SubmissionId, Line)> = of_board.iter().map(|row| rows.line(row)).collect();
        let without_scores = || {
            let of_rows = || compared.iter().find_map(|row| row.header.without_score_interval);
            let rounded = is_rounded.then_some(NoIntervals::ScoresRounded);
            rounded
                .or(is_swapped.then_some(NoIntervals::FewItems))
                .or_else(of_rows)
        };
        let why_no_score_intervals = why_none.is_none().then(without_scores).flatten();
        show_places(&mut lines, &replicates, draws, why_none);
        let of_areas = by_area.into_iter().flat_map(|by_area| by_area.lines);
        for ((_, line), area) in lines.iter_mut().zip(of_areas) {
            line.area = area;
        }
        let (mut resolution, mut n_best) = (None, 0);
        if why_none.is_none() {
            let entries = places.iter().zip(&compared).map(|(&place, replicates)| Compares {
                score: sign * replicates.header.score,
                is_ranked: !of_board[place].entry.is_baseline,
                deviations: &replicates.deviations,
            });
            let entries: Vec<Compares<'_>> = entries.collect();
            let intervals = intervals(&entries, &compared, is_swapped.then_some(sign));
            let has_best = best_baseline(&of_board).is_none_or(|place| usable(replicates[place]));
            for ((&place, entry), of_row) in places.iter().zip(&entries).zip(&intervals) {
                let line = &mut lines[place].1;
                let smallest = compared[0].header.smallest;
                let interval = score_interval(entry.score, entry.deviations, smallest);
                let interval = interval.filter(|_| why_no_score_intervals.is_none());
                line.interval = interval.map(|ends| rounded_outward(score_ends(ends, sign)));
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
                n_best_by_area,
            },
            lines,
        }
    }
}

/// Why no intervals are shown, where scores may be withheld, or shown rounded, which hides where a curve is.
fn why_none_shown(
    replicates: &[Option<&Arc<Replicates>>],
    compared: &[&Arc<Replicates>],
    is_withheld: bool,
    is_rounded: bool,
) -> Option<NoIntervals> {
    if is_withheld {
        return Some(NoIntervals::LadderReleases);
    }
    let why = why_none(replicates, compared);
    let is_hidden = is_rounded && why.is_some_and(NoIntervals::is_of_ranks);
    if is_hidden {
        Some(NoIntervals::ScoresRounded)
    } else {
        why
    }
}

/// Sets the score intervals of rows whose score is a place on a curve, if only ranks lack
/// intervals.
fn show_places(
    lines: &mut [(SubmissionId, Line)],
    replicates: &[Option<&Arc<Replicates>>],
    draws: Option<Digest>,
    why_none: Option<NoIntervals>,
) {
    if why_none.is_some_and(NoIntervals::is_of_ranks) {
        for ((_, line), replicates) in lines.iter_mut().zip(replicates) {
            let of_draws = replicates.filter(|replicates| Some(replicates.header.draws) == draws);
            line.interval = of_draws.and_then(|replicates| replicates.header.place_interval);
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

    /// The replicates of a row, if they belong to the row's score.
    pub(crate) fn replicates_for(&self, row: &Ranked) -> Option<&'a Arc<Replicates>> {
        let replicates = self.replicates.get(&row.entry.id)?;
        replicates.is_of(&row.entry).then_some(replicates)
    }

    /// The line of a row that is not compared.
    fn line(&self, row: &Ranked) -> (SubmissionId, Line) {
        let n_submissions = self.n_submissions.get(&row.entry.submitter).copied();
        let line = Line {
            ranks: None,
            interval: None,
            n_submissions: n_submissions.map_or(1, |n| u32::try_from(n).unwrap_or(u32::MAX)),
            is_above_baselines: None,
            area: None,
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

/// The degrees of freedom of two rows' difference, which follow from the number of items on which
/// they differ in correctness. On boards with too many rows to read every row's items, that number
/// is estimated from the standard error `error`, as a lower bound.
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
    values: &[Arc<Replicates>],
    direction: Direction,
    confidence: f64,
) -> Result<Vec<(usize, usize)>, NoIntervals> {
    let compared: Vec<&Arc<Replicates>> = values.iter().collect();
    if let Some(missing) = compared.iter().find_map(|values| values.header.missing) {
        return Err(missing);
    }
    if compared
        .iter()
        .any(|values| values.header.draws != compared[0].header.draws)
    {
        return Err(NoIntervals::OtherDraws);
    }
    let every: Vec<Option<&Arc<Replicates>>> = compared.iter().copied().map(Some).collect();
    if let Some(why) = why_none(&every, &compared) {
        return Err(why);
    }
    let entries = compared.iter().map(|values| Compares {
        score: match direction {
            Direction::HigherIsBetter => values.header.score,
            Direction::LowerIsBetter => -values.header.score,
        },
        is_ranked: true,
        deviations: &values.deviations,
    });
    let degrees = |one, other, error| degrees(&compared, one, other, error);
    let orders = ranks::joint_orders(&entries.collect::<Vec<_>>(), &degrees, confidence);
    Ok(orders)
}

/// Why no intervals are shown.
pub(crate) fn why_none(
    replicates: &[Option<&Arc<Replicates>>],
    compared: &[&Arc<Replicates>],
) -> Option<NoIntervals> {
    let Some(first) = compared.first() else {
        let missing = replicates
            .iter()
            .flatten()
            .find_map(|replicates| replicates.header.missing);
        return Some(match missing {
            Some(missing) => missing,
            None if replicates.is_empty() => NoIntervals::EmptyBoard,
            None => NoIntervals::NotDrawn,
        });
    };
    few(&first.header)
}

/// Why a test set has too few items or clusters for intervals, if it has.
fn few(header: &Header) -> Option<NoIntervals> {
    match (header.is_clustered, header.smallest) {
        (true, n) => (n < MIN_CLUSTERS).then_some(NoIntervals::FewClusters),
        (false, n) => (n < MIN_ITEMS).then_some(NoIntervals::FewItems),
    }
}

const _: () = assert!(N_DRAWS == 1_000, "the documents say how many draws there are");

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "decimals are read back as they are written")]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::submission::Entry;

    /// Replicates of one data set that spread so far.
    fn replicates_of(score: f64, smallest: usize, spread: f32) -> Replicates {
        let of_draw = |draw: usize| ((draw * 7919) % N_DRAWS) as f32 / N_DRAWS as f32 - 0.4995;
        Replicates {
            deviations: (0..N_DRAWS).map(|draw| spread * of_draw(draw)).collect(),
            ..Replicates::of_test(score, smallest, 2 * smallest)
        }
    }

    /// A board of one data set with the given scores and draws. The test set has `smallest` items
    /// of the rarest class.
    fn compared(scores: &[f64], smallest: usize, spread: f32, tries: u64) -> Comparison {
        let rows = scores.iter().map(|&score| replicates_of(score, smallest, spread));
        compared_of(scores, rows.collect(), tries)
    }

    fn compared_of(scores: &[f64], kept: Vec<Replicates>, tries: u64) -> Comparison {
        shown_of(scores, kept, tries, None)
    }

    /// The same where a Ladder shows every score, rounded, if `climb` is there.
    fn shown_of(scores: &[f64], kept: Vec<Replicates>, tries: u64, climb: Option<Climb>) -> Comparison {
        let dataset = Digest::compute(b"data");
        let board = Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: "open".into(),
        };
        let (mut rows, mut replicates, mut n_submissions) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (place, (&score, of_row)) in scores.iter().zip(kept).enumerate() {
            let submitter = format!("s{place}");
            let id = SubmissionId::derive("bucket", &submitter, "");
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
        Comparison::compute(&rows, Timestamp::from_unix_millis(9))
    }

    #[test]
    fn single_items_have_no_intervals_and_give_reasons() {
        for smallest in [1, MIN_ITEMS - 1] {
            let comparison = compared(&[1.0, 0.0], smallest, 0.5, 1);
            assert_eq!(comparison.summary.why_none, Some(NoIntervals::FewItems));
            assert!(
                comparison
                    .lines
                    .iter()
                    .all(|(_, line)| line.ranks.is_none() && line.interval.is_none())
            );
            assert_eq!(
                (comparison.summary.resolution, comparison.summary.n_best),
                (None, 0)
            );
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
        let compare = |rows: Vec<Replicates>| {
            let scores: Vec<f64> = rows.iter().map(|row| row.header.score).collect();
            compared_of(&scores, rows, 1)
        };
        let comparison = compare(vec![row(0.9, 22), row(0.9, 22), row(0.2, 4)]);
        let ranks: Vec<_> = comparison.lines.iter().map(|(_, line)| line.ranks).collect();
        assert_eq!(ranks, [Some((1, 2)), Some((1, 2)), Some((3, 3))]);
        assert!(comparison.lines.iter().all(|(_, line)| line.interval.is_none()));
        let summary = &comparison.summary;
        assert_eq!(
            (summary.why_none, summary.why_no_score_intervals, summary.n_best),
            (None, Some(NoIntervals::FewItems), 2)
        );
        let mut without = row(0.2, 4);
        without.header.has_parts = false;
        assert_eq!(
            compare(vec![row(0.9, 22), without]).summary.why_none,
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
        let comparison = compared_of(&[0.5, 0.3], vec![row(0.5), row(0.3)], 1);
        assert_eq!(comparison.summary.why_none, Some(NoIntervals::RankOfPlace));
        for (_, line) in &comparison.lines {
            assert_eq!((line.interval, line.ranks), (Some((0.2, 0.6)), None));
        }
        let rounded = shown_of(&[0.5, 0.3], vec![row(0.5), row(0.3)], 1, Some(Climb::Climbed));
        assert_eq!(rounded.summary.why_none, Some(NoIntervals::ScoresRounded));
        assert!(rounded.summary.is_of_released_scores());
        assert!(rounded.lines.iter().all(|(_, line)| line.interval.is_none()));
        // a row that was drawn otherwise has no place among the others
        let other = row_with(row(0.3), |header| header.draws = Digest::compute(b"other"));
        let mixed = compared_of(&[0.5, 0.4, 0.3], vec![row(0.5), row(0.4), other], 1);
        let intervals = mixed.lines.iter().map(|(_, line)| line.interval.is_some());
        assert_eq!(intervals.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(mixed.summary.n_best_by_area, None);
    }

    fn row_with(mut row: Replicates, change: fn(&mut Header)) -> Replicates {
        change(&mut row.header);
        row
    }

    /// A row whose score is a place and has no interval, with an area that spreads so far.
    fn row_of_area(score: f64, area: f64, spread: f32) -> Replicates {
        let mut row = replicates_of(score, 50, 0.0);
        row.header.missing = Some(NoIntervals::PlaceOnCurve);
        row.header.area = Some(area);
        row.areas = replicates_of(area, 50, spread).deviations;
        // each row is right on other items
        let of_item = |item: usize| u8::from((area * 100.0) as usize > item % 100);
        row.correctness = (0..row.header.n_items).map(of_item).collect();
        row
    }

    #[test]
    fn curve_boards_compare_rows_by_area() {
        let rows = || {
            vec![
                row_of_area(0.5, 0.61, 0.001),
                row_of_area(0.4, 0.9, 0.003),
                row_of_area(0.3, 0.2, 0.002),
            ]
        };
        let scores = [0.5, 0.4, 0.3];
        let areas_of = |comparison: &Comparison| -> Vec<Option<Area>> {
            comparison.lines.iter().map(|(_, line)| line.area).collect()
        };
        let comparison = compared_of(&scores, rows(), 1);
        let summary = &comparison.summary;
        assert_eq!(
            (summary.why_none, summary.n_best_by_area, summary.n_missing),
            (Some(NoIntervals::PlaceOnCurve), Some(1), 0)
        );
        let areas = areas_of(&comparison);
        let ranks = areas.iter().map(|area| area.unwrap().rank_interval);
        assert_eq!(ranks.collect::<Vec<_>>(), [(2, 2), (1, 1), (3, 3)]);
        assert_eq!(areas[0].unwrap().value, Some(0.61));
        let (low, high) = areas[0].unwrap().interval.unwrap();
        assert!(low < 0.61 && 0.61 < high, "{low} {high}");
        for (_, line) in &comparison.lines {
            assert_eq!((line.ranks, line.interval), (None, None));
        }
        // rounded scores have ranks by area, and no area
        let rounded = shown_of(&scores, rows(), 1, Some(Climb::Climbed));
        assert!(rounded.summary.is_of_released_scores());
        for area in areas_of(&rounded) {
            let area = area.unwrap();
            assert_eq!((area.value, area.interval), (None, None));
        }
        // a score that the Ladder holds reveals nothing
        let held = shown_of(&scores, rows(), 1, Some(Climb::Held));
        assert_eq!(held.summary.n_best_by_area, None);
        assert!(areas_of(&held).iter().all(Option::is_none));
    }

    /// Rows without a curve, drawn otherwise, or of which the head alone was read, have no interval and may have any rank.
    #[test]
    fn rows_without_a_curve_may_have_any_rank() {
        let whole = || row_of_area(0.5, 0.8, 0.001);
        let no_curve = row_with(row_of_area(0.4, 0.7, 0.002), |header| header.area = None);
        let other = row_with(row_of_area(0.4, 0.7, 0.002), |header| {
            header.draws = Digest::compute(b"other");
        });
        let mut head = row_of_area(0.4, 0.7, 0.002);
        head.areas.clear();
        for without in [no_curve, other, head] {
            let rows = vec![whole(), row_of_area(0.45, 0.5, 0.003), without];
            let comparison = compared_of(&[0.5, 0.45, 0.4], rows, 1);
            let ranks = comparison
                .lines
                .iter()
                .map(|(_, line)| line.area.map(|area| area.rank_interval));
            assert_eq!(ranks.collect::<Vec<_>>(), [Some((1, 2)), Some((2, 3)), None]);
            assert_eq!(
                (comparison.summary.n_missing, comparison.summary.n_best_by_area),
                (1, Some(2))
            );
        }
        let few = |header: &mut Header| header.smallest = MIN_ITEMS - 1;
        let rows = vec![row_with(whole(), few), row_with(whole(), few)];
        assert_eq!(compared_of(&[0.5, 0.5], rows, 1).summary.n_best_by_area, None);
    }

    #[test]
    fn few_clusters_tell_less_than_their_items() {
        let [one, other] = [1, 2].map(|n| {
            let mut row = replicates_of(0.5, 20, 0.1);
            row.correctness = (0..40).map(|item| u8::from(item % 3 == n)).collect();
            row.header.n_items = 40;
            row
        });
        let compare = |is_clustered| {
            let [one, other] = [&one, &other].map(|row| {
                let mut row = row.clone();
                row.header.is_clustered = is_clustered;
                Arc::new(row)
            });
            degrees(&[&one, &other], 0, 1, 0.1)
        };
        assert_eq!((compare(false), compare(true)), (26 + 9, 9));
    }

    #[test]
    fn scores_that_are_all_equal_are_ties() {
        for spread in [0.0, 0.1] {
            let comparison = compared(&[0.5; 4], 50, spread, 1);
            assert!(
                comparison
                    .lines
                    .iter()
                    .all(|(_, line)| line.ranks == Some((1, 4))),
                "{spread}"
            );
            assert_eq!(
                (comparison.summary.n_best, comparison.summary.resolution),
                (4, None)
            );
        }
    }

    #[test]
    fn a_repeated_file_becomes_one_counted_row() {
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
