//! Compares the entries of a board, and computes rank intervals.

use rayon::prelude::*;

use super::kernels::{BLOCK, Extremes, SquaredDifferences};
use super::percentiles::{ROUNDING, quantile};
use super::search::{Factor, Search, Sure};
use super::{CONFIDENCE, DETECTABLE_ERRORS, Entry};

/// The most times that the quantiles are computed anew without the entries already told apart. With fewer steps intervals stay
/// valid, and are at most a little wider than they could be.
pub const MAX_STEPS: usize = 8;
/// [`MAX_STEPS`] for more than [`MANY`] entries: each further step would make intervals narrower by only some 2 %.
const MAX_STEPS_OF_MANY: usize = 1;
const MANY: usize = 2_000;
/// The number of standard errors from which a difference is sure without a comparison with the quantiles, which are never so large.
const FAR: f64 = 8.0;
/// The number of an entry's pairs for a first look: their quantiles are not above those of all pairs, so if no difference exceeds
/// them, none is sure.
const SOME: usize = 512;
/// The number of entries whose deviations under one block of draws fit into the processor's cache.
const NEIGHBOURS: usize = 2_048;
/// The number of entries whose differences are computed together: their deviations stay in the processor's cache.
pub(super) const TILE: usize = 64;

/// The result of comparing an entry with all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// The best rank that the entry can have; for a baseline, the rank that it would have.
    pub first: u32,
    /// The worst rank that the entry can have.
    pub last: u32,
    /// Whether the entry is clearly better than the best unranked entry; `None` if there is none, and for unranked entries.
    pub is_above_baselines: Option<bool>,
    /// The standard error of the difference to the next ranked entry; `None` for the last ranked entry and for unranked ones.
    pub error_to_next: Option<f64>,
}

/// Compares each entry with all others.
///
/// # Shapes and units
/// `entries`: best first, all with the same number of draws. `degrees` says of two entries, by their places and the standard error of their
/// difference, how many degrees of freedom the difference has, as [`degrees_of_freedom`](super::degrees_of_freedom): with 0 they are never
/// told apart, and the fewer there are, the larger a difference has to be.
///
/// # Panics
/// If the numbers of draws differ, or the order is not descending.
pub fn compare(
    entries: &[Entry<'_>],
    degrees: &(dyn Fn(usize, usize, f64) -> usize + Sync),
) -> Vec<Compared> {
    assert!(
        entries.is_sorted_by(|a, b| a.score >= b.score),
        "entries are in the order of their scores"
    );
    let field = Field::new(entries);
    let tiles = (0..entries.len()).collect::<Vec<_>>();
    tiles
        .par_chunks(TILE)
        .flat_map_iter(|tile| field.compare(tile, degrees))
        .collect()
}

/// The smallest difference between neighbours that can be detected with power 0.8, from the median
/// of the given standard errors of their differences. `None` if there are no errors.
pub(crate) fn resolution_of(errors: &mut [f64]) -> Option<f64> {
    if errors.is_empty() {
        return None;
    }
    let middle = errors.len() / 2;
    let (_, median, _) = errors.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median * DETECTABLE_ERRORS)
}

impl Compared {
    /// The smallest difference between neighbours that a test set tells apart with power 0.8, by the median standard error over
    /// pairs of ranked neighbours. `None` if no neighbours' scores differ under the draws.
    pub fn resolution(compared: &[Self]) -> Option<f64> {
        let errors = compared.iter().filter_map(|of_entry| of_entry.error_to_next);
        resolution_of(&mut errors.filter(|error| *error > 0.0).collect::<Vec<_>>())
    }
}

/// The entries in the form that the loops read.
pub(super) struct Field<'a> {
    entries: &'a [Entry<'a>],
    n_draws: usize,
    /// `n_draws` rounded up to whole blocks; the added zeros change no sum of squares
    n_padded: usize,
    /// `(n_entries, n_padded)`
    rows: Vec<f32>,
    /// `(n_blocks, n_entries)`: the deviations, block by block
    blocks: Vec<[f32; BLOCK]>,
    /// The sum of each entry's deviations.
    sums: Vec<f64>,
    /// The sum of the squares of each entry's deviations.
    sums_of_squares: Vec<f64>,
    n_ranked: u32,
    best_baseline: Option<usize>,
}

/// The deviate of the normal distribution with the same probability as `t` in Student's distribution, because the standard error of
/// few items is itself uncertain. 0 for 0 degrees of freedom.
///
/// # Source
/// Wallace, D. L. (1959), "Bounds on normal approximations to Student's and the chi-square distributions", Annals of Mathematical
/// Statistics 30.
pub(super) fn normal_of(t: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return 0.0;
    }
    if t.abs() <= 1.0 {
        return t; // never sure, whatever the probability
    }
    let degrees = degrees as f64;
    let deviate =
        (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0) * (degrees * (t * t / degrees).ln_1p()).sqrt();
    deviate.copysign(t)
}

impl<'a> Field<'a> {
    pub(super) fn new(entries: &'a [Entry<'a>]) -> Self {
        let n_draws = entries.first().map_or(0, |entry| entry.deviations.len());
        assert!(
            entries.iter().all(|entry| entry.deviations.len() == n_draws),
            "all entries have the same draws"
        );
        let n_padded = n_draws.next_multiple_of(BLOCK);
        let (mut rows, n_blocks) = (vec![0.0; entries.len() * n_padded], n_padded / BLOCK);
        let mut blocks = vec![[0.0; BLOCK]; n_blocks * entries.len()];
        for (place, entry) in entries.iter().enumerate() {
            let row = &mut rows[place * n_padded..][..n_padded];
            row[..n_draws].copy_from_slice(entry.deviations);
            for (idx, block) in row.as_chunks::<BLOCK>().0.iter().enumerate() {
                blocks[idx * entries.len() + place] = *block;
            }
        }
        let sum = |entry: &Entry<'_>| entry.deviations.iter().copied().map(f64::from).sum();
        let square = |deviation: &f32| f64::from(*deviation).powi(2);
        let sum_of_squares = |entry: &Entry<'_>| entry.deviations.iter().map(square).sum();
        Self {
            entries,
            n_draws,
            n_padded,
            rows,
            blocks,
            sums: entries.iter().map(sum).collect(),
            sums_of_squares: entries.iter().map(sum_of_squares).collect(),
            n_ranked: entries.iter().filter(|entry| entry.is_ranked).count() as u32,
            best_baseline: entries.iter().position(|entry| !entry.is_ranked),
        }
    }

    /// The sums of the squared differences between the deviations of the entries of a tile and of all entries:
    /// `(n_tile, n_entries)`.
    fn squares(&self, tile: &[usize]) -> Vec<f32> {
        let n_entries = self.entries.len();
        let mut all = vec![0.0; tile.len() * n_entries];
        let Some(&first_one) = tile.first() else {
            return all;
        };
        let ones = &self.rows[first_one * self.n_padded..][..tile.len() * self.n_padded];
        let mut sums = vec![0.0; tile.len() * TILE];
        for first in (0..n_entries).step_by(TILE) {
            let n = TILE.min(n_entries - first);
            let sums = &mut sums[..tile.len() * n];
            SquaredDifferences {
                ones,
                others: &self.rows[first * self.n_padded..][..n * self.n_padded],
                n_draws: self.n_padded,
                sums,
            }
            .run();
            for (all, sums) in all.chunks_exact_mut(n_entries).zip(sums.chunks_exact(n)) {
                all[first..first + n].copy_from_slice(sums);
            }
        }
        all
    }

    /// The standard error of a difference, from the sum of the squared differences of deviations; 0 if the difference is constant.
    fn error(&self, one: usize, other: usize, squares: f32) -> f64 {
        let n = self.n_draws as f64;
        let sum = self.sums[other] - self.sums[one];
        let squares = f64::from(squares);
        let of_mean = sum * sum / n;
        let variance = (squares - of_mean) / (n - 1.0).max(1.0);
        let of_both = self.sums_of_squares[one] + self.sums_of_squares[other];
        // below these limits the difference is constant or none, and only rounding is left
        if squares - of_mean > 1e-6 * squares && squares - of_mean > ROUNDING * of_both {
            variance.sqrt()
        } else {
            0.0
        }
    }

    fn compare(
        &self,
        tile: &[usize],
        degrees: &(dyn Fn(usize, usize, f64) -> usize + Sync),
    ) -> Vec<Compared> {
        let of_entry = |sure: Sure| {
            let ranked = |sure: &[u32]| {
                let is_ranked = |other: &&u32| self.entries[**other as usize].is_ranked;
                sure.iter().filter(is_ranked).count() as u32
            };
            let is_ranked = self.entries[sure.one].is_ranked;
            let baseline = self.best_baseline.filter(|_| is_ranked);
            Compared {
                first: 1 + ranked(&sure.better),
                last: 1 + self.n_ranked - u32::from(is_ranked) - ranked(&sure.worse),
                is_above_baselines: baseline.map(|baseline| sure.worse.contains(&(baseline as u32))),
                error_to_next: sure.error_to_next,
            }
        };
        self.sure(tile, degrees).into_iter().map(of_entry).collect()
    }

    /// The clearly better and clearly worse entries for each entry of a tile; a tile is a run of consecutive entries.
    pub(super) fn sure(
        &self,
        tile: &[usize],
        degrees: &(dyn Fn(usize, usize, f64) -> usize + Sync),
    ) -> Vec<Sure> {
        let squares = self.squares(tile);
        let of_entry = |(&one, squares): (&usize, &[f32])| self.search(one, squares, degrees);
        let each = tile.iter().zip(squares.chunks_exact(self.entries.len().max(1)));
        let mut searches: Vec<Search> = each.map(of_entry).collect();
        let n_steps = if self.entries.len() > MANY {
            MAX_STEPS_OF_MANY
        } else {
            MAX_STEPS
        };
        for _ in 0..n_steps {
            for n_pairs in [SOME, usize::MAX] {
                let mut open: Vec<&mut Search> =
                    searches.iter_mut().filter(|search| !search.is_over).collect();
                let critical = self.critical(&open, n_pairs);
                for (search, critical) in open.iter_mut().zip(critical) {
                    if search.is_within(critical) {
                        search.is_over = true;
                    } else if n_pairs == usize::MAX {
                        search.tell_apart(critical);
                    }
                }
            }
        }
        searches.into_iter().map(|search| search.sure).collect()
    }

    /// Begins the search for one entry, among the entries whose scores under the draws differ from its own.
    fn search(
        &self,
        one: usize,
        squares: &[f32],
        degrees: &(dyn Fn(usize, usize, f64) -> usize + Sync),
    ) -> Search {
        let mut next = (one + 1..self.entries.len()).find(|&other| self.entries[other].is_ranked);
        next = next.filter(|_| self.entries[one].is_ranked);
        let mut search = Search {
            sure: Sure {
                one,
                better: Vec::new(),
                worse: Vec::new(),
                error_to_next: next.map(|next| self.error(one, next, squares[next])),
            },
            near: Vec::with_capacity(self.entries.len()),
            is_over: false,
        };
        for (other, &squares) in squares.iter().enumerate() {
            let error = self.error(one, other, squares);
            if other == one || error <= 0.0 {
                continue;
            }
            let difference = self.entries[other].score - self.entries[one].score;
            let t = normal_of(difference / error, degrees(one, other, error));
            if t > FAR {
                search.sure.better.push(other as u32);
            } else if t < -FAR {
                search.sure.worse.push(other as u32);
            } else {
                search.near.push(((other as u32, (1.0 / error) as f32), t));
            }
        }
        // the quantile of a maximum is at least that of each of its members
        search.is_over = search.is_within((-1.0, 1.0));
        search
    }

    /// For each search the quantiles, over all draws, of the smallest and the largest studentized difference to about `n_pairs` of
    /// its remaining entries.
    fn critical(&self, searches: &[&mut Search], n_pairs: usize) -> Vec<(f64, f64)> {
        let n_entries = self.entries.len();
        let factors: Vec<Vec<Factor>> = searches.iter().map(|search| search.factors(n_pairs)).collect();
        let mut smallest = vec![vec![f32::INFINITY; self.n_padded]; searches.len()];
        let mut largest = vec![vec![f32::NEG_INFINITY; self.n_padded]; searches.len()];
        for (block, of_all) in self.blocks.chunks_exact(n_entries.max(1)).enumerate() {
            for first in (0..n_entries).step_by(NEIGHBOURS) {
                for (place, search) in searches.iter().enumerate() {
                    let until =
                        |bound: usize| factors[place].partition_point(|(other, _)| (*other as usize) < bound);
                    let at = block * BLOCK..(block + 1) * BLOCK;
                    let smallest = smallest[place][at.clone()].as_mut_array();
                    let (Some(smallest), Some(largest)) = (smallest, largest[place][at].as_mut_array())
                    else {
                        continue;
                    };
                    Extremes {
                        of_one: &of_all[search.sure.one],
                        of_all,
                        others: &factors[place][until(first)..until(first + NEIGHBOURS)],
                        smallest,
                        largest,
                    }
                    .run();
                }
            }
        }
        let quantiles = |(mut smallest, mut largest): (Vec<f32>, Vec<f32>)| {
            smallest.truncate(self.n_draws);
            for t in &mut smallest {
                *t = -*t;
            }
            largest.truncate(self.n_draws);
            let [worse, better] = [smallest, largest].map(|mut t| f64::from(quantile(&mut t, CONFIDENCE)));
            (-worse, better)
        };
        smallest.into_iter().zip(largest).map(quantiles).collect()
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;
    use crate::bootstrap::{Answers, ItemMetric, LANES, N_BATCHES, Resampler, draws_of};
    use crate::metrics::{ItemWeights, accuracy};
    use crate::ranks::{MIN_DIFFERENT_ITEMS, degrees_of_freedom};

    /// The deviations of entries from the answers of their models.
    fn deviations(truth: &[u8], answers: &[u8]) -> Vec<f32> {
        let resampler = Resampler::of_items(truth, None, [5; 32]);
        let score = ItemMetric::Accuracy.value(truth, answers, ItemWeights::Ones);
        let ready = Answers::new(ItemMetric::Accuracy, truth, [answers]);
        let of_batch = |batch| {
            let values = ready.values(&resampler.batch(batch))[0];
            draws_of(batch).map(move |draw| (values[draw % LANES] - score) as f32)
        };
        (0..N_BATCHES).flat_map(of_batch).collect()
    }

    struct Contest {
        scores: Vec<f64>,
        deviations: Vec<Vec<f32>>,
    }

    impl Contest {
        /// A board of entries that are right on the given numbers of items, beginning at different ones.
        fn new(n_items: usize, n_right: &[usize]) -> Self {
            let truth = vec![0u8; n_items];
            let answers = n_right.iter().enumerate().map(|(number, &n)| {
                let is_right = |item: usize| (item * 7 + number * 13) % n_items < n;
                (0..n_items)
                    .map(|item| u8::from(!is_right(item)))
                    .collect::<Vec<u8>>()
            });
            let answers: Vec<Vec<u8>> = answers.collect();
            Self {
                scores: answers.iter().map(|answers| accuracy(&truth, answers)).collect(),
                deviations: answers
                    .iter()
                    .map(|answers| deviations(&truth, answers))
                    .collect(),
            }
        }

        fn entries(&self) -> Vec<Entry<'_>> {
            let both = self.scores.iter().zip(&self.deviations);
            both.map(|(&score, deviations)| Entry {
                score,
                is_ranked: true,
                deviations,
            })
            .collect()
        }
    }

    fn ranks(compared: &[Compared]) -> Vec<(u32, u32)> {
        compared
            .iter()
            .map(|of_entry| (of_entry.first, of_entry.last))
            .collect()
    }

    #[test]
    fn clear_differences_give_clear_ranks() {
        let contest = Contest::new(501, &[480, 400, 300, 200]);
        let compared = compare(&contest.entries(), &|_, _, _| usize::MAX);
        assert_eq!(ranks(&compared), [(1, 1), (2, 2), (3, 3), (4, 4)]);
        assert!(Compared::resolution(&compared).expect("neighbours") < 0.1);
    }

    #[test]
    fn nearly_equal_entries_share_their_ranks() {
        let contest = Contest::new(501, &[401, 400, 398, 200]);
        let compared = compare(&contest.entries(), &|_, _, _| usize::MAX);
        assert_eq!(ranks(&compared), [(1, 3), (1, 3), (1, 3), (4, 4)]);
    }

    #[test]
    fn one_entry_and_none_are_compared() {
        let contest = Contest::new(101, &[50]);
        let compared = compare(&contest.entries(), &|_, _, _| usize::MAX);
        assert_eq!(ranks(&compared), [(1, 1)]);
        assert_eq!(
            (compared[0].error_to_next, Compared::resolution(&compared)),
            (None, None)
        );
        assert!(compare(&[], &|_, _, _| usize::MAX).is_empty());
    }

    #[test]
    fn equal_answers_are_ties_however_many() {
        let contest = Contest::new(101, &[60]);
        let one = contest.entries()[0];
        for n in [70, 1_000] {
            let compared = compare(&vec![one; n], &|_, _, _| usize::MAX);
            assert!(ranks(&compared).iter().all(|ranks| *ranks == (1, n as u32)));
            assert_eq!(Compared::resolution(&compared), None);
        }
    }

    #[test]
    fn rounding_differences_do_not_change_ranks() {
        let contest = Contest::new(501, &[480, 400, 300]);
        let mut compared_with = contest.entries();
        let mut nearly = contest.deviations[1].clone();
        for (place, deviation) in nearly.iter_mut().enumerate().filter(|(place, _)| place % 97 == 0) {
            let bits = deviation.to_bits();
            *deviation = if *deviation == 0.0 {
                place as f32 * 1e-16
            } else {
                f32::from_bits(bits + 1)
            };
        }
        let twin = Entry {
            deviations: &nearly,
            ..compared_with[1]
        };
        compared_with.insert(1, twin);
        let compared = compare(&compared_with, &|_, _, _| usize::MAX);
        assert_eq!(ranks(&compared), [(1, 1), (2, 3), (2, 3), (4, 4)]);
        assert_eq!(compared[1].error_to_next, Some(0.0));
    }

    #[test]
    fn tiny_differences_never_separate_pairs() {
        let contest = Contest::new(501, &[480, 200]);
        let compared = compare(&contest.entries(), &|_, _, _| degrees_of_freedom(5, None));
        assert_eq!(ranks(&compared), [(1, 2), (1, 2)]);
    }

    #[test]
    fn few_items_make_a_difference_less_sure() {
        // 3.29 in Student's distribution of 29 degrees has the probability of 3 normal deviates
        assert!((normal_of(3.29, 29) - 3.0).abs() < 0.02);
        assert!((normal_of(-2.5, 1_000_000) + 2.5).abs() < 1e-4);
        assert_eq!(normal_of(9.0, 0), 0.0);
    }

    #[test]
    fn clusters_have_fewer_degrees_of_freedom_than_items() {
        assert_eq!(degrees_of_freedom(MIN_DIFFERENT_ITEMS - 1, None), 0);
        assert_eq!(degrees_of_freedom(MIN_DIFFERENT_ITEMS, None), 15);
        assert_eq!(degrees_of_freedom(400, Some(20)), 9);
        assert_eq!(degrees_of_freedom(MIN_DIFFERENT_ITEMS, Some(100)), 15);
        assert_eq!(degrees_of_freedom(400, Some(1)), 0);
        assert_eq!(degrees_of_freedom(usize::MAX, None), usize::MAX);
    }

    #[test]
    fn baselines_take_no_rank_and_are_compared() {
        let contest = Contest::new(501, &[480, 400, 398, 200]);
        let mut entries = contest.entries();
        entries[1].is_ranked = false;
        let compared = compare(&entries, &|_, _, _| usize::MAX);
        assert_eq!(ranks(&compared), [(1, 1), (2, 3), (2, 2), (3, 3)]);
        let above: Vec<_> = compared
            .iter()
            .map(|of_entry| of_entry.is_above_baselines)
            .collect();
        assert_eq!(above, [Some(true), None, Some(false), Some(false)]);
    }

    /// Tiles, far pairs and steps do not change the intervals: compares them with a naive version of the definition.
    #[test]
    fn intervals_are_those_of_the_definition() {
        let n_right: Vec<usize> = (0..150).map(|number| 450 - number * 2 - number % 5).collect();
        let contest = Contest::new(601, &n_right);
        let mut order: Vec<usize> = (0..150).collect();
        order.sort_by(|&a, &b| contest.scores[b].total_cmp(&contest.scores[a]));
        let entries = contest.entries();
        let entries: Vec<Entry<'_>> = order.iter().map(|&place| entries[place]).collect();
        let compared = ranks(&compare(&entries, &|_, _, _| usize::MAX));
        for (one, ranks) in compared.iter().enumerate().step_by(7) {
            let mut rest: Vec<usize> = (0..150).filter(|&other| other != one).collect();
            let (mut n_better, mut n_worse) = (0, 0);
            loop {
                let studentized = |&other: &usize| {
                    let both = entries[other].deviations.iter().zip(entries[one].deviations);
                    let differences: Vec<f64> = both
                        .map(|(other, one)| f64::from(*other) - f64::from(*one))
                        .collect();
                    let mean = differences.iter().sum::<f64>() / 1000.0;
                    let squares = differences.iter().map(|d| (d - mean).powi(2));
                    let error = (squares.sum::<f64>() / 999.0).sqrt();
                    let t = (entries[other].score - entries[one].score) / error;
                    (t, differences.iter().map(|d| d / error).collect::<Vec<f64>>())
                };
                let of_rest: Vec<(f64, Vec<f64>)> = rest.iter().map(studentized).collect();
                let critical = |sign: f64| {
                    let largest = |draw: usize| {
                        of_rest
                            .iter()
                            .map(|entry| sign * entry.1[draw])
                            .fold(f64::MIN, f64::max)
                    };
                    let mut largest: Vec<f64> = (0..1000).map(largest).collect();
                    largest.sort_by(f64::total_cmp);
                    largest[975]
                };
                let (better, worse) = (critical(1.0), -critical(-1.0));
                let n_before = rest.len();
                n_better += of_rest.iter().filter(|entry| entry.0 > better).count() as u32;
                n_worse += of_rest.iter().filter(|entry| entry.0 < worse).count() as u32;
                let is_near = of_rest.iter().map(|entry| (worse..=better).contains(&entry.0));
                rest = rest
                    .iter()
                    .zip(is_near)
                    .filter(|(_, is_near)| *is_near)
                    .map(|(&other, _)| other)
                    .collect();
                if rest.len() == n_before || rest.is_empty() {
                    break;
                }
            }
            assert_eq!(*ranks, (1 + n_better, 150 - n_worse), "entry {one}");
        }
    }
}
