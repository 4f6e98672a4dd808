//! Two submissions compared with each other, by the draws of the test set that both were scored under.

use std::cmp::Ordering;
use std::sync::Arc;

use dataperf_numerics::ranks::{Entry, difference_interval, sure_orders};
use serde::Serialize;

use crate::comparison::{degrees, why_none};
use crate::replicates::Replicates;
use crate::replicates::no_intervals::as_sentence;
use crate::{Direction, NoIntervals};

/// Below this difference two scores of a draw are the same: deviations from the score are kept in 32 bits.
const SAME_SCORE: f64 = 1e-6;

/// How far the first of two submissions is from the second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paired {
    /// The first's score less the second's.
    pub difference: f64,
    /// The interval of the difference with 95 % confidence.
    pub interval: Option<(f64, f64)>,
    /// The share of the draws in which the first is better; an equal draw counts as half.
    pub share_first_better: Option<f64>,
    /// Which is clearly better, 1 or 2, by the rule of rank intervals for a board of these two; `None` where neither is.
    pub clearly_better: Option<u8>,
    /// Items of all test sets.
    pub n_items: usize,
    /// Items that the first gets right more often than the second.
    pub n_items_first_better: usize,
    /// Items that the second gets right more often than the first.
    pub n_items_second_better: usize,
    /// Whether clusters of items are drawn.
    pub is_clustered: bool,
    /// Why there is no interval; `None` if there is one.
    #[serde(serialize_with = "as_sentence")]
    pub why_none: Option<NoIntervals>,
}

impl Paired {
    /// Compares two submissions of one leaderboard.
    ///
    /// # Errors
    /// The reason, where they were scored with different data sets or under different draws and so have no draw in common.
    pub fn compare(
        first: impl Into<Arc<Replicates>>,
        second: impl Into<Arc<Replicates>>,
        direction: Direction,
    ) -> Result<Self, NoIntervals> {
        let pair = [first.into(), second.into()];
        let [first, second] = [&pair[0], &pair[1]];
        let [one, other] = [&first.header, &second.header];
        if one.dataset != other.dataset {
            return Err(NoIntervals::OtherDataset {
                first: one.dataset,
                second: other.dataset,
            });
        }
        if one.draws != other.draws {
            return Err(NoIntervals::OtherDraws);
        }
        let sign = match direction {
            Direction::HigherIsBetter => 1.0,
            Direction::LowerIsBetter => -1.0,
        };
        let difference = one.score - other.score;
        let both = || first.correctness.iter().zip(&second.correctness);
        let of_items = |order: Ordering| both().filter(|(one, other)| one.cmp(other) == order).count();
        let mut paired = Self {
            difference,
            interval: None,
            share_first_better: None,
            clearly_better: None,
            n_items: one.n_items,
            n_items_first_better: of_items(Ordering::Greater),
            n_items_second_better: of_items(Ordering::Less),
            is_clustered: one.is_clustered,
            why_none: [one, other]
                .into_iter()
                .find_map(|replicates| replicates.missing.or(replicates.without_score_interval)),
        };
        let compared: Vec<&Arc<Replicates>> = pair.iter().collect();
        let replicates: Vec<Option<&Arc<Replicates>>> = pair.iter().map(Some).collect();
        paired.why_none = paired.why_none.or_else(|| why_none(&replicates, &compared));
        if paired.why_none.is_none() {
            paired.draw(&compared, sign);
        }
        Ok(paired)
    }

    /// Computes the result of the draws.
    fn draw(&mut self, compared: &[&Arc<Replicates>], sign: f64) {
        let [first, second] = [compared[0], compared[1]];
        let better = sign * self.difference;
        let both = [&*first.deviations, &*second.deviations];
        // the error matters only as an estimate of the number of differing items, on boards whose
        // items are not read
        let n_degrees = degrees(compared, 0, 1, 0.0);
        // deviations are of scores of which more is better
        self.interval = difference_interval(better, both, n_degrees).map(|(low, high)| {
            if sign < 0.0 {
                (0.0 - high, 0.0 - low)
            } else {
                (low, high)
            }
        });
        if self.interval.is_none() {
            self.why_none = Some(if n_degrees == 0 {
                NoIntervals::FewDifferentItems
            } else {
                NoIntervals::ConstantDifference
            });
        }
        let deviations = both[0].iter().zip(both[1]);
        let deviations: Vec<f32> = deviations.map(|(one, other)| one - other).collect();
        let points: f64 = deviations
            .iter()
            .map(|deviation| match better + f64::from(*deviation) {
                same if same.abs() < SAME_SCORE => 0.5,
                first_less_second => f64::from(u8::from(first_less_second > 0.0)),
            })
            .sum();
        self.share_first_better = Some(points / deviations.len() as f64);
        let places = if better < 0.0 { [1, 0] } else { [0, 1] }; // best first
        let ordered = places.map(|place| compared[place]);
        let entries = ordered.map(|replicates| Entry {
            score: sign * replicates.header.score,
            is_ranked: true,
            deviations: &replicates.deviations,
        });
        let degrees = |one: usize, other: usize, error: f64| degrees(&ordered, one, other, error);
        let is_sure = !sure_orders(&entries, &degrees).is_empty();
        self.clearly_better = is_sure.then_some(if places[0] == 0 { 1 } else { 2 });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp, reason = "exact numbers")]
mod tests {
    use dataperf_numerics::bootstrap::N_DRAWS;

    use super::*;
    use crate::Digest;

    /// A submission with a score, deviations that all submissions share times `spread`, and so many right items of 200.
    fn replicates(score: f64, spread: f32, n_right: usize) -> Replicates {
        let of_draw = |draw: usize| ((draw * 7919) % N_DRAWS) as f32 / N_DRAWS as f32 - 0.4995;
        Replicates {
            deviations: (0..N_DRAWS).map(|draw| spread * of_draw(draw)).collect(),
            correctness: (0..200)
                .map(|item| if item < n_right { 255 } else { 0 })
                .collect(),
            ..Replicates::of_test(score, 100, 200)
        }
    }

    #[test]
    fn paired_comparison_cancels_common_variation() {
        // each score by itself is uncertain by half a point, their difference by a hundredth of that
        let (one, other) = (replicates(0.7, 1.0, 140), replicates(0.6, 0.99, 120));
        let paired = Paired::compare(one.clone(), other.clone(), Direction::HigherIsBetter).unwrap();
        let (low, high) = paired.interval.unwrap();
        assert!(0.09 < low && low < paired.difference && paired.difference < high && high < 0.11);
        assert_eq!(
            (paired.share_first_better, paired.clearly_better),
            (Some(1.0), Some(1))
        );
        assert_eq!(
            (paired.n_items_first_better, paired.n_items_second_better),
            (20, 0)
        );

        let swapped = Paired::compare(other, one, Direction::HigherIsBetter).unwrap();
        assert_eq!(swapped.difference, -paired.difference);
        assert_eq!(swapped.interval, Some((-high, -low)));
        assert_eq!(
            (swapped.share_first_better, swapped.clearly_better),
            (Some(0.0), Some(2))
        );
    }

    #[test]
    fn equal_scores_do_not_differ_clearly() {
        let same = || replicates(0.7, 1.0, 140);
        let tied = Paired::compare(same(), same(), Direction::HigherIsBetter).unwrap();
        assert_eq!((tied.interval, tied.share_first_better), (None, Some(0.5)));
        assert_eq!(tied.clearly_better, None);
        assert_eq!(tied.why_none, Some(NoIntervals::FewDifferentItems));
        let five =
            |spread| Paired::compare(same(), replicates(0.675, spread, 135), Direction::HigherIsBetter);
        assert_eq!(five(0.99).unwrap().interval, None, "five items tell nothing");
        let six = |spread| Paired::compare(same(), replicates(0.67, spread, 134), Direction::HigherIsBetter);
        assert!(six(0.99).unwrap().interval.is_some());
        let constant = six(1.0).unwrap();
        assert_eq!(
            (constant.interval, constant.why_none),
            (None, Some(NoIntervals::ConstantDifference))
        );
        let less = Paired::compare(
            replicates(0.1, 1.0, 140),
            replicates(0.3, 0.99, 120),
            Direction::LowerIsBetter,
        )
        .unwrap();
        let (low, high) = less.interval.unwrap();
        assert!(low < less.difference && less.difference < high && high < 0.0);
        assert_eq!(less.clearly_better, Some(1));
    }

    #[test]
    fn without_common_draws_there_is_no_comparison() {
        let mut other = replicates(0.6, 1.0, 120);
        other.header.dataset = Digest::compute(b"other");
        let refused = Paired::compare(replicates(0.7, 1.0, 140), other, Direction::HigherIsBetter);
        assert!(matches!(refused, Err(NoIntervals::OtherDataset { .. })));
        let mut cut_off = replicates(0.6, 1.0, 120);
        cut_off.header.missing = Some(NoIntervals::PlaceOnCurve);
        let paired = Paired::compare(replicates(0.7, 1.0, 140), cut_off, Direction::HigherIsBetter).unwrap();
        assert_eq!(
            (paired.interval, paired.why_none),
            (None, Some(NoIntervals::PlaceOnCurve))
        );
        let mut few = [replicates(0.7, 1.0, 140), replicates(0.6, 1.0, 120)];
        for replicates_one in &mut few {
            replicates_one.header.smallest = 5;
        }
        let [one, other] = few;
        let paired = Paired::compare(one, other, Direction::HigherIsBetter).unwrap();
        assert_eq!(
            (paired.interval, paired.why_none),
            (None, Some(NoIntervals::FewItems))
        );
    }
}
