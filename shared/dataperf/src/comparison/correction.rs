//! The effect of a correction on a board: each submission's score on both versions, and the change
//! of the order.

use std::collections::BTreeSet;
use std::sync::Arc;

use dataperf_numerics::agreement::{standings, tau_b};
use dataperf_numerics::ranks::{Entry, compare, sure_orders};
use serde::Serialize;

use crate::comparison::{degrees, why_none};
use crate::replicates::Replicates;
use crate::replicates::no_intervals::as_sentence;
use crate::{Direction, NoIntervals};

/// A submission on both versions of a data set.
#[derive(Debug, Clone)]
pub struct OnBoth {
    /// Its name: its submitter, and its file if a submitter has several.
    pub name: String,
    /// Its id, if it has one.
    pub submission: Option<String>,
    /// Whether it is a baseline: it is compared and takes nobody's rank.
    pub is_baseline: bool,
    /// Its score under all draws of the version before.
    pub before: Arc<Replicates>,
    /// Its score under all draws of the version after.
    pub after: Arc<Replicates>,
}

/// A submission's score and rank on one version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// The score.
    pub score: f64,
    /// The rank; equal scores share it, baselines have none.
    pub rank: Option<usize>,
    /// The first and the last rank that it may have, with 95 % confidence.
    pub rank_interval: Option<(u32, u32)>,
}

/// A submission's line of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its id, if it has one.
    pub submission: Option<String>,
    /// Whether it is a baseline.
    pub is_baseline: bool,
    /// On the version before.
    pub before: Standing,
    /// On the version after.
    pub after: Standing,
}

impl Line {
    /// By how many places it moved up; negative when down. `None` for baselines.
    pub fn moved_up(&self) -> Option<i64> {
        let ranks = self.before.rank.zip(self.after.rank);
        ranks.map(|(before, after)| {
            let places = i64::try_from(before.abs_diff(after)).unwrap_or(i64::MAX);
            if after < before { places } else { -places }
        })
    }
}

/// Two submissions whose order turned round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turned {
    /// The one that was better before, and is worse after.
    pub before: String,
    /// The one that is better after.
    pub after: String,
    /// Whether the order was sure before and is sure after.
    pub is_sure: bool,
}

/// The effect of a correction on a board.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The submissions, in the order of the version after, best first.
    pub lines: Vec<Line>,
    /// Submissions with another score; baselines are counted.
    pub n_changed: usize,
    /// Submissions with another rank.
    pub n_moved: usize,
    /// Kendall's tau-b between the scores before and after, without baselines; `None` if all scores
    /// are equal on one version.
    pub tau_b: Option<f64>,
    /// Pairs whose order turned round.
    pub turned: Vec<Turned>,
    /// Pairs whose order was sure before.
    pub n_sure_before: usize,
    /// Pairs whose order is sure after.
    pub n_sure_after: usize,
    /// Why there are no intervals and no sure orders; `None` if there are.
    #[serde(serialize_with = "as_sentence")]
    pub why_none: Option<NoIntervals>,
}

impl Effect {
    /// Compares the rankings on both versions. Baselines are shown and compared, and take no rank.
    pub fn compute(submissions: &[OnBoth], direction: Direction) -> Self {
        let before = Version::compute(submissions, direction, |on_both| &on_both.before);
        let after = Version::compute(submissions, direction, |on_both| &on_both.after);
        let mut order: Vec<usize> = (0..submissions.len()).collect();
        order.sort_by(|&a, &b| after.goodness[b].total_cmp(&after.goodness[a]));
        let line = |&place: &usize| {
            let on_both = &submissions[place];
            Line {
                name: on_both.name.clone(),
                submission: on_both.submission.clone(),
                is_baseline: on_both.is_baseline,
                before: before.standing(place, on_both.is_baseline, &on_both.before),
                after: after.standing(place, on_both.is_baseline, &on_both.after),
            }
        };
        let lines: Vec<Line> = order.iter().map(line).collect();
        let mut turned = Vec::new();
        for (one, of_one) in submissions.iter().enumerate() {
            for (other, of_other) in submissions.iter().enumerate() {
                let was_better = before.goodness[one] > before.goodness[other];
                if was_better && after.goodness[one] < after.goodness[other] {
                    let is_sure = before.sure.contains(&(one, other)) && after.sure.contains(&(other, one));
                    turned.push(Turned {
                        before: of_one.name.clone(),
                        after: of_other.name.clone(),
                        is_sure,
                    });
                }
            }
        }
        let ranked = |version: &Version| -> Vec<f64> {
            let all = submissions.iter().zip(&version.goodness);
            all.filter(|(on_both, _)| !on_both.is_baseline)
                .map(|(_, goodness)| *goodness)
                .collect()
        };
        #[allow(clippy::float_cmp, reason = "whether it is the same number is the question")]
        let is_changed = |line: &&Line| line.before.score != line.after.score;
        Self {
            n_changed: lines.iter().filter(is_changed).count(),
            n_moved: lines
                .iter()
                .filter(|line| line.moved_up().is_some_and(|places| places != 0))
                .count(),
            tau_b: tau_b(&ranked(&before), &ranked(&after)),
            turned,
            n_sure_before: before.sure.len(),
            n_sure_after: after.sure.len(),
            why_none: before.why_none.or(after.why_none),
            lines,
        }
    }

    /// Pairs whose sure order turned round.
    pub fn turned_clearly(&self) -> impl Iterator<Item = &Turned> {
        self.turned.iter().filter(|turned| turned.is_sure)
    }
}

/// Scores and ranks on one version, by the submissions' places.
struct Version {
    /// Scores, more is better.
    goodness: Vec<f64>,
    ranks: Vec<usize>,
    intervals: Vec<Option<(u32, u32)>>,
    /// Pairs of places whose order is sure, the better one first.
    sure: BTreeSet<(usize, usize)>,
    why_none: Option<NoIntervals>,
}

impl Version {
    fn compute(
        submissions: &[OnBoth],
        direction: Direction,
        on_both: impl Fn(&OnBoth) -> &Arc<Replicates>,
    ) -> Self {
        let sign = match direction {
            Direction::HigherIsBetter => 1.0,
            Direction::LowerIsBetter => -1.0,
        };
        let goodness: Vec<f64> = submissions
            .iter()
            .map(|submission| sign * on_both(submission).header.score)
            .collect();
        let ranked: Vec<usize> = (0..submissions.len())
            .filter(|&place| !submissions[place].is_baseline)
            .collect();
        let of_ranked = standings(&ranked.iter().map(|&place| goodness[place]).collect::<Vec<f64>>());
        let mut ranks = vec![0; submissions.len()];
        ranked
            .iter()
            .zip(of_ranked)
            .for_each(|(&place, rank)| ranks[place] = rank);
        let mut order: Vec<usize> = (0..submissions.len()).collect();
        order.sort_by(|&a, &b| goodness[b].total_cmp(&goodness[a]));
        let compared: Vec<&Arc<Replicates>> =
            order.iter().map(|&place| on_both(&submissions[place])).collect();
        let missing = compared.iter().find_map(|replicates| replicates.header.missing);
        let replicates: Vec<Option<&Arc<Replicates>>> = compared.iter().copied().map(Some).collect();
        let why_none = missing.or_else(|| why_none(&replicates, &compared));
        let (mut intervals, mut sure) = (vec![None; submissions.len()], BTreeSet::new());
        if why_none.is_none() {
            let entry = |(&place, replicates): (&usize, &&'_ Arc<Replicates>)| (place, (*replicates).clone());
            let ordered: Vec<(usize, Arc<Replicates>)> = order.iter().zip(&compared).map(entry).collect();
            let entries: Vec<Entry<'_>> = ordered
                .iter()
                .map(|(place, replicates)| Entry {
                    score: goodness[*place],
                    is_ranked: !submissions[*place].is_baseline,
                    deviations: &replicates.deviations,
                })
                .collect();
            let degrees = |one: usize, other: usize, error: f64| degrees(&compared, one, other, error);
            for (of_entry, &place) in compare(&entries, &degrees).iter().zip(&order) {
                intervals[place] = Some((of_entry.first, of_entry.last));
            }
            let orders = sure_orders(&entries, &degrees).into_iter();
            sure = orders
                .map(|(better, worse)| (order[better], order[worse]))
                .collect();
        }
        Self {
            goodness,
            ranks,
            intervals,
            sure,
            why_none,
        }
    }

    fn standing(&self, place: usize, is_baseline: bool, replicates: &Replicates) -> Standing {
        Standing {
            score: replicates.header.score,
            rank: (!is_baseline).then_some(self.ranks[place]),
            rank_interval: self.intervals[place].filter(|_| !is_baseline),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use dataperf_numerics::bootstrap::N_DRAWS;

    /// Replicates whose draws spread by `spread`. Each submission has its own order of draws.
    fn replicates(score: f64, seed: usize, spread: f32) -> Arc<Replicates> {
        let deviation = |draw: usize| ((draw * 7919 + seed * 104_729) % 1000) as f32 / 1000.0 - 0.4995;
        Arc::new(Replicates {
            deviations: (0..N_DRAWS).map(|draw| deviation(draw) * spread).collect(),
            correctness: (0..100)
                .map(|item| u8::from((item * (seed + 3)) % 7 < 3))
                .collect(),
            ..Replicates::of_test(score, 50, 100)
        })
    }

    fn on_both(name: &str, seed: usize, before: f64, after: f64, spread: f32) -> OnBoth {
        OnBoth {
            name: name.into(),
            submission: None,
            is_baseline: name.starts_with("baseline"),
            before: replicates(before, seed, spread),
            after: replicates(after, seed, spread),
        }
    }

    #[test]
    fn reversed_ranks_are_distinguished_from_noise() {
        let submissions = [
            on_both("ada", 1, 0.9, 0.7, 0.01),
            on_both("bob", 2, 0.8, 0.85, 0.01),
            on_both("baseline-random", 3, 0.75, 0.75, 0.01),
            on_both("cy", 4, 0.5, 0.5, 0.01),
        ];
        let effect = Effect::compute(&submissions, Direction::HigherIsBetter);
        let ranks: Vec<_> = effect
            .lines
            .iter()
            .map(|line| (line.name.as_str(), line.before.rank, line.after.rank))
            .collect();
        assert_eq!(
            ranks,
            [
                ("bob", Some(2), Some(1)),
                ("baseline-random", None, None),
                ("ada", Some(1), Some(2)),
                ("cy", Some(3), Some(3))
            ]
        );
        assert_eq!((effect.n_changed, effect.n_moved), (2, 2));
        let turned: Vec<_> = effect
            .turned_clearly()
            .map(|turned| (turned.before.as_str(), turned.after.as_str()))
            .collect();
        assert_eq!(turned, [("ada", "bob"), ("ada", "baseline-random")]);
        assert!((effect.tau_b.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        let noisy = submissions.each_ref().map(|on_both_sets| {
            on_both(
                &on_both_sets.name,
                5,
                on_both_sets.before.header.score,
                on_both_sets.after.header.score,
                0.0,
            )
        });
        let noisy = Effect::compute(&noisy, Direction::HigherIsBetter);
        assert_eq!((noisy.turned.len(), noisy.turned_clearly().count()), (2, 0));
        let [ada, bob, baseline, _] = submissions;
        let of_people = Effect::compute(&[ada, bob, baseline], Direction::HigherIsBetter).tau_b;
        assert_eq!(of_people, Some(-1.0), "baselines do not count");
    }

    #[test]
    fn fewer_is_better_where_the_benchmark_says_so() {
        let submissions = [
            on_both("ada", 1, 0.2, 0.3, 0.01),
            on_both("bob", 2, 0.4, 0.1, 0.01),
        ];
        let effect = Effect::compute(&submissions, Direction::LowerIsBetter);
        assert_eq!(effect.lines[0].name, "bob");
        assert_eq!((effect.lines[0].moved_up(), effect.tau_b), (Some(1), Some(-1.0)));
        let nothing = Effect::compute(&[], Direction::LowerIsBetter);
        assert_eq!((nothing.lines.len(), nothing.tau_b), (0, None));
    }
}
