//! Ranks with what they are worth.

use dataperf::replicates::no_intervals::{MIN_CLUSTERS, MIN_ITEMS};
use dataperf_numerics::bootstrap::{LANES, N_BATCHES, N_DRAWS, Resampler, draws_of};
use dataperf_numerics::ranks::{
    Compared, Entry, compare, degrees_of_freedom, difference_interval, score_interval, sure_orders,
};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, s};
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::table::Table;

/// Items whose weights are multiplied at once: their values stay in the processor's cache.
const BLOCK: usize = 4_096;
/// The most items that are counted on which two systems differ: with more, Student's quantiles are the normal ones within 0.2 %.
const MAX_DIFFERENT: usize = 1_000;
/// Items that are compared before their number is looked at.
const AT_ONCE: usize = 1_024;
/// Distinguishes these draws from those of data sets.
const SEED: &str = "dataperf-rank/1\n";

/// Why there are no intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNone {
    /// There are too few items, by how much each counts.
    FewItems,
    /// There are too few clusters, by how much each counts.
    FewClusters,
    /// Two systems differ on too few items.
    FewDifferentItems,
    /// Two systems differ by the same under all draws.
    ConstantDifference,
}

impl std::fmt::Display for WhyNone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FewItems => write!(f, "there are fewer than {MIN_ITEMS} items, too few for reliable intervals"),
            Self::FewClusters => write!(
                f,
                "there are fewer than {MIN_CLUSTERS} clusters, too few for reliable intervals"
            ),
            Self::FewDifferentItems => f.write_str("the two differ on too few items for an interval of their difference"),
            Self::ConstantDifference => {
                f.write_str("their difference is the same under all draws of the items, which say nothing of other items then")
            }
        }
    }
}

impl Serialize for WhyNone {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The scores of all systems under the same draws of the items.
#[derive(Debug, Clone)]
pub struct Draws {
    seed: [u8; 32],
    scores: Vec<f64>,
    /// `(n_systems, N_DRAWS)`: by how much the score of each draw is better than the score.
    deviations: Vec<Vec<f32>>,
    sign: f64,
    is_clustered: bool,
    units: Units,
}

/// How many items, or clusters, that count alike say as much as those that are drawn.
#[derive(Debug, Clone, Copy)]
struct Units {
    /// By the variance of a mean: Kish's effective number.
    n_effective: f64,
    /// By how sure that variance is itself: one more than the degrees of freedom.
    n_of_variance: usize,
    /// The factor by which deviations are multiplied to vary as scores on other items do.
    widening: f64,
}

impl Units {
    /// # Source
    /// Kish, L. (1965), "Survey Sampling", section 11.7. The degrees of freedom are those of Satterthwaite, F. E. (1946), "An approximate
    /// distribution of estimates of variance components", Biometrics Bulletin 2. The widening makes up for deviations from a weighted
    /// mean, which are on average smaller than those from the true one; it is the boards' where all weights are equal.
    fn new(table: &Table, weights: Option<&[f64]>, resampler: &Resampler) -> Self {
        let Some(weights) = weights else {
            return Self {
                n_effective: resampler.smallest() as f64,
                n_of_variance: resampler.smallest(),
                widening: resampler.widening(),
            };
        };
        let mut of_units = weights.to_vec();
        if let Some(clusters) = &table.clusters {
            of_units = vec![0.0; resampler.smallest()];
            for (&cluster, weight) in clusters.iter().zip(weights) {
                of_units[cluster] += weight;
            }
        }
        let [sum, squares, cubes, fourths] =
            [1, 2, 3, 4].map(|power| of_units.iter().map(|unit| unit.powi(power)).sum::<f64>());
        let left = 1.0 - 2.0 * cubes / (squares * sum) + squares / (sum * sum);
        Self {
            n_effective: sum * sum / squares,
            n_of_variance: (squares * squares / fourths + 1e-9) as usize,
            widening: if left > 0.0 { left.powf(-0.5) } else { 1.0 },
        }
    }
}

/// The weights of a table's items, scaled by a power of two so that neither their sums nor their fourth powers get too large or too small.
fn scaled_weights(table: &Table) -> Option<Vec<f64>> {
    let weights = table.weights.as_ref()?;
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let exponent = (largest.to_bits() >> 52).clamp(1, 2045); // with its bias, 1023
    let scale = f64::from_bits((2046 - exponent) << 52);
    Some(weights.iter().map(|weight| weight * scale).collect())
}

/// How the values of a table are drawn.
struct Sample<'a> {
    resampler: Resampler,
    /// `(n_systems, n_items)`
    values: Array2<f64>,
    weights: Option<&'a [f64]>,
}

impl Draws {
    /// Draws the items of a table, or its clusters, [`N_DRAWS`] times.
    pub fn new(table: &Table, is_less_better: bool) -> Self {
        let n_items = table.items.len();
        let one_class = vec![0; n_items];
        let seed = seed(table);
        let resampler = match &table.clusters {
            Some(clusters) => Resampler::of_clusters(&one_class, None, clusters, seed),
            None => Resampler::of_items(&one_class, None, seed),
        };
        let shape = (table.systems.len(), n_items);
        let values = Array2::from_shape_fn(shape, |(system, item)| table.values[system][item]);
        let scaled = scaled_weights(table);
        let weights = scaled.as_deref();
        let weight = |item: usize| weights.map_or(1.0, |weights| weights[item]);
        let total: f64 = (0..n_items).map(weight).sum();
        let score = |row: &Vec<f64>| {
            row.iter()
                .enumerate()
                .map(|(item, value)| weight(item) * value)
                .sum::<f64>()
                / total
        };
        let scores: Vec<f64> = table.values.iter().map(score).collect();
        let units = Units::new(table, weights, &resampler);
        let (is_clustered, widening) = (resampler.is_clustered(), units.widening);
        let sign = if is_less_better { -1.0 } else { 1.0 };
        let sample = Sample {
            resampler,
            values,
            weights,
        };
        let batches: Vec<Array2<f64>> = (0..N_BATCHES)
            .into_par_iter()
            .map(|batch| sample.scores(batch))
            .collect();
        let of_system = |(place, score): (usize, &f64)| {
            let drawn = batches
                .iter()
                .enumerate()
                .flat_map(|(batch, scores)| scores.slice(s![place, ..draws_of(batch).len()]).to_vec());
            drawn
                .map(|drawn| (sign * widening * (drawn - score)) as f32)
                .collect()
        };
        Self {
            seed,
            deviations: scores.iter().enumerate().map(of_system).collect(),
            scores,
            sign,
            is_clustered,
            units,
        }
    }

    /// The seed that the draws follow from.
    pub fn seed(&self) -> [u8; 32] {
        self.seed
    }

    pub(crate) fn sign(&self) -> f64 {
        self.sign
    }

    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    pub(crate) fn deviations(&self, system: usize) -> &[f32] {
        &self.deviations[system]
    }

    pub(crate) fn why_none(&self) -> Option<WhyNone> {
        if self.is_clustered {
            (self.units.n_effective < MIN_CLUSTERS as f64).then_some(WhyNone::FewClusters)
        } else {
            (self.units.n_effective < MIN_ITEMS as f64).then_some(WhyNone::FewItems)
        }
    }

    /// The degrees of freedom of two systems' difference, as boards have them, and never more than a paired t-test has.
    pub(crate) fn degrees(&self, table: &Table, one: usize, other: usize) -> usize {
        let n_different = n_different(&table.values[one], &table.values[other]);
        if self.is_clustered {
            degrees_of_freedom(n_different, Some(self.units.n_of_variance))
        } else {
            degrees_of_freedom(n_different, None).min(self.units.n_of_variance.saturating_sub(1))
        }
    }
}

impl Sample<'_> {
    /// The scores of all systems under each draw of a batch: `(n_systems, LANES)`.
    fn scores(&self, batch: usize) -> Array2<f64> {
        let n_items = self.values.ncols();
        let drawn = self.resampler.batch(batch);
        let of_lanes: Vec<Vec<u32>> = (0..LANES).map(|lane| drawn.weights_of(lane)).collect();
        let mut sums = Array2::zeros((self.values.nrows(), LANES));
        let mut totals = [0.0; LANES];
        for first in (0..n_items).step_by(BLOCK) {
            let block = first..n_items.min(first + BLOCK);
            let weight = |lane: usize, item: usize| {
                f64::from(of_lanes[lane][first + item])
                    * self.weights.map_or(1.0, |weights| weights[first + item])
            };
            let weights = Array2::from_shape_fn((LANES, block.len()), |(lane, item)| weight(lane, item));
            for (total, weights) in totals.iter_mut().zip(weights.rows()) {
                *total += weights.sum();
            }
            general_mat_mul(
                1.0,
                &self.values.slice(s![.., block]),
                &weights.t(),
                1.0,
                &mut sums,
            );
        }
        for mut row in sums.rows_mut() {
            row.iter_mut().zip(totals).for_each(|(sum, total)| *sum /= total);
        }
        sums
    }
}

/// The seed of the draws: it follows from the items alone, so that every set of systems on the same items has the same draws.
fn seed(table: &Table) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(SEED);
    for id in &table.items {
        hash.update((id.len() as u64).to_le_bytes());
        hash.update(id);
    }
    for cluster in table.clusters.iter().flatten() {
        hash.update((*cluster as u64).to_le_bytes());
    }
    hash.finalize().into()
}

/// On how many items two systems differ, counted up to about [`MAX_DIFFERENT`].
fn n_different(one: &[f64], other: &[f64]) -> usize {
    let mut n = 0;
    for (one, other) in one.chunks(AT_ONCE).zip(other.chunks(AT_ONCE)) {
        #[allow(clippy::float_cmp, reason = "equal values are meant")]
        let differ = one
            .iter()
            .zip(other)
            .map(|(one, other)| usize::from(one != other));
        n += differ.sum::<usize>();
        if n >= MAX_DIFFERENT {
            break;
        }
    }
    n
}

/// One system of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub system: String,
    /// The mean of its values, weighted where items have weights.
    pub score: f64,
    /// The lower end of the score's interval with 95 % confidence.
    pub score_low: Option<f64>,
    /// Its upper end.
    pub score_high: Option<f64>,
    /// One more than the number of systems with a better score.
    pub rank: u32,
    /// The best rank that it may have, with 95 % confidence for both ends.
    pub rank_low: Option<u32>,
    /// The worst.
    pub rank_high: Option<u32>,
}

/// The ranks of a table's systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// Systems.
    pub n_systems: usize,
    /// Items that all of them were tried on.
    pub n_items: usize,
    /// Clusters of items, where these are drawn whole.
    pub n_clusters: Option<usize>,
    /// Whether items have weights.
    pub is_weighted: bool,
    /// Whether all values are 0 or 1.
    pub is_right_or_wrong: bool,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The smallest difference between neighbours that these items tell apart, with power 0.8.
    pub resolution: Option<f64>,
    /// Systems that may be the best.
    pub n_best: Option<usize>,
    /// Pairs of systems next to each other of which the better one is clearly better.
    pub n_neighbours_told_apart: Option<usize>,
    /// Why there are no intervals; `None` if there are intervals.
    pub why_none: Option<WhyNone>,
    /// Changes and assumptions made while reading, in sentences.
    pub notes: Vec<String>,
    /// The systems, best first; of equal scores by name.
    pub rows: Vec<Row>,
}

impl Ranking {
    /// Ranks the systems of a table by draws of its items.
    pub fn new(table: &Table, draws: &Draws) -> Self {
        let mut order: Vec<usize> = (0..table.systems.len()).collect();
        let worth = |place: usize| draws.sign * draws.scores[place];
        order.sort_by(|&one, &other| {
            let by_score = worth(other).total_cmp(&worth(one));
            by_score.then_with(|| table.systems[one].cmp(&table.systems[other]))
        });
        let entries: Vec<Entry<'_>> = (order.iter())
            .map(|&place| Entry {
                score: worth(place),
                is_ranked: true,
                deviations: &draws.deviations[place],
            })
            .collect();
        let why_none = draws.why_none();
        let degrees = |one: usize, other: usize, _: f64| draws.degrees(table, order[one], order[other]);
        let compared = if why_none.is_none() {
            compare(&entries, &degrees)
        } else {
            Vec::new()
        };
        let orders = if why_none.is_none() {
            sure_orders(&entries, &degrees)
        } else {
            Vec::new()
        };
        let is_of_shares = table.is_of_shares();
        let interval = |place: usize| {
            let (score, deviations) = (draws.scores[place], &*draws.deviations[place]);
            if is_of_shares {
                score_interval(score, deviations, draws.units.n_of_variance)
            } else {
                let still = vec![0.0; deviations.len()];
                difference_interval(
                    score,
                    [deviations, &still],
                    draws.units.n_of_variance.saturating_sub(1),
                )
            }
        };
        let row = |(place, &system): (usize, &usize)| {
            let interval = interval(system).filter(|_| why_none.is_none());
            let ranks = compared.get(place);
            Row {
                system: table.systems[system].clone(),
                score: draws.scores[system],
                score_low: interval.map(|(low, _)| low),
                score_high: interval.map(|(_, high)| high),
                rank: 1 + order
                    .iter()
                    .take_while(|&&other| worth(other) > worth(system))
                    .count() as u32,
                rank_low: ranks.map(|ranks| ranks.first),
                rank_high: ranks.map(|ranks| ranks.last),
            }
        };
        let rows: Vec<Row> = order.iter().enumerate().map(row).collect();
        let n_best = rows.iter().filter(|row| row.rank_low == Some(1)).count();
        let n_apart = orders
            .iter()
            .filter(|(better, worse)| better + 1 == *worse)
            .count();
        let clusters = table.clusters.as_ref();
        Self {
            n_systems: rows.len(),
            n_items: table.items.len(),
            n_clusters: clusters.map(|clusters| {
                clusters
                    .iter()
                    .copied()
                    .collect::<std::collections::BTreeSet<_>>()
                    .len()
            }),
            is_weighted: table.weights.is_some(),
            is_right_or_wrong: table.is_right_or_wrong(),
            confidence: dataperf::comparison::CONFIDENCE,
            resolution: Compared::resolution(&compared),
            n_best: why_none.is_none().then_some(n_best),
            n_neighbours_told_apart: why_none.is_none().then_some(n_apart),
            why_none,
            notes: table.notes.clone(),
            rows,
        }
    }
}

const _: () = assert!(N_DRAWS == 1_000, "the documents say how many draws there are");
