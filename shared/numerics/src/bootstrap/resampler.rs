//! Draws the weights of a test set's items.

use std::collections::{BTreeMap, BTreeSet};

use pulp::{Arch, Simd, WithSimd};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::batch::{Batch, LANES};
use super::streams::{N_STREAMS, Streams};

/// The largest weight that is made of a 16-bit random number.
const MAX_WEIGHT: usize = 8;
/// A weight is the number of these thresholds that a signed 16-bit random number reaches. They are the distribution function of the
/// Poisson distribution with mean 31/32, in units of 2^-16, rounded, minus 2^15. The mean is a little below 1 because adding items
/// to a draw is faster than taking them away.
const THRESHOLDS: [i16; MAX_WEIGHT] = [-7_893, 16_204, 27_876, 31_645, 32_558, 32_735, 32_764, 32_767];
/// The number of items whose random numbers are drawn at once: these stay in the first-level cache.
const ITEMS_AT_ONCE: usize = 64;
/// The most times that a draw of clusters is repeated because it lacks a class or a group; after these it is kept as it is.
const MAX_REDRAWS: usize = 100;

/// Draws the weights of one test set's items, in batches, from a seed.
#[derive(Debug, Clone)]
pub struct Resampler {
    n_items: usize,
    unit: Unit,
    seed: [u8; 32],
}

/// The units of which draws are made.
#[derive(Debug, Clone)]
enum Unit {
    /// Items, drawn within each of these strata as often as the stratum has items.
    Items { strata: Vec<Vec<u32>> },
    /// Whole clusters of items, drawn as often as there are clusters.
    Clusters {
        clusters: Vec<Vec<u32>>,
        /// For each cluster the kinds of its items: classes and groups, numbered together.
        kinds: Vec<Vec<usize>>,
        /// The number of clusters that have each kind.
        n_of_kind: Vec<usize>,
        largest: usize,
    },
}

/// Statistics of draws of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClusterDraws {
    /// The number of clusters of the test set.
    pub n_clusters: usize,
    /// The number of draws that were repeated because they lacked a class or a group.
    pub n_redrawn: usize,
}

impl Resampler {
    /// Draws single items, within each class, or within each group of a class if there are groups.
    ///
    /// # Shapes and units
    /// `truth`: `(n_items,)` classes; `groups`: `(n_items,)` group numbers.
    ///
    /// # Panics
    /// If `groups` is of another length.
    pub fn of_items(truth: &[u8], groups: Option<&[usize]>, seed: [u8; 32]) -> Self {
        assert!(
            groups.is_none_or(|groups| groups.len() == truth.len()),
            "one group for each item"
        );
        let mut strata: BTreeMap<(u8, usize), Vec<u32>> = BTreeMap::new();
        for (item, &class) in (0u32..).zip(truth) {
            let group = groups.map_or(0, |groups| groups[item as usize]);
            strata.entry((class, group)).or_default().push(item);
        }
        Self {
            n_items: truth.len(),
            unit: Unit::Items {
                strata: strata.into_values().collect(),
            },
            seed,
        }
    }

    /// Draws whole clusters, so that each draw has every class, and every group if there are groups.
    ///
    /// # Shapes and units
    /// `truth`: `(n_items,)` classes; `groups`: `(n_items,)` group numbers; `clusters`: `(n_items,)` cluster numbers.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn of_clusters(truth: &[u8], groups: Option<&[usize]>, clusters: &[usize], seed: [u8; 32]) -> Self {
        assert_eq!(truth.len(), clusters.len(), "one cluster for each item");
        assert!(
            groups.is_none_or(|groups| groups.len() == truth.len()),
            "one group for each item"
        );
        let (mut items, mut numbers) = (BTreeMap::<usize, Vec<u32>>::new(), BTreeMap::new());
        let mut kinds: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (item, &cluster) in (0u32..).zip(clusters) {
            items.entry(cluster).or_default().push(item);
            let class = (Some(truth[item as usize]), None);
            let group = groups.map(|groups| (None, Some(groups[item as usize])));
            for kind in [Some(class), group].into_iter().flatten() {
                let next = numbers.len();
                kinds
                    .entry(cluster)
                    .or_default()
                    .insert(*numbers.entry(kind).or_insert(next));
            }
        }
        let kinds: Vec<Vec<usize>> = kinds
            .into_values()
            .map(|kinds| kinds.into_iter().collect())
            .collect();
        let mut n_of_kind = vec![0; numbers.len()];
        kinds.iter().flatten().for_each(|&kind| n_of_kind[kind] += 1);
        let clusters: Vec<Vec<u32>> = items.into_values().collect();
        Self {
            n_items: truth.len(),
            unit: Unit::Clusters {
                largest: clusters.iter().map(Vec::len).max().unwrap_or(0),
                clusters,
                kinds,
                n_of_kind,
            },
            seed,
        }
    }

    /// The number of items of the test set.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// The number of items of the smallest stratum; for clusters, the number of clusters that have the rarest class or group. 0 for
    /// no items.
    pub fn smallest(&self) -> usize {
        match &self.unit {
            Unit::Items { strata } => strata.iter().map(Vec::len).min().unwrap_or(0),
            Unit::Clusters { n_of_kind, .. } => n_of_kind.iter().copied().min().unwrap_or(0),
        }
    }

    /// The factor by which deviations of draws are multiplied to vary as scores on other test sets do: n items drawn from n vary
    /// less than n new ones, in variance by (n - 1) / n; n is the size of the smallest stratum.
    pub fn widening(&self) -> f64 {
        let n = self.smallest() as f64;
        if n > 1.0 { (n / (n - 1.0)).sqrt() } else { 1.0 }
    }

    /// Whether whole clusters are drawn.
    pub fn is_clustered(&self) -> bool {
        matches!(self.unit, Unit::Clusters { .. })
    }

    /// The weights of one batch of draws.
    pub fn batch(&self, batch: usize) -> Batch {
        self.drawn(batch).0
    }

    /// The weights of one batch of draws, and the number of draws of clusters that were repeated.
    pub(super) fn drawn(&self, batch: usize) -> (Batch, usize) {
        let mut random = self.generator(batch);
        match &self.unit {
            Unit::Items { strata } => (self.of_strata(strata, &mut random), 0),
            Unit::Clusters {
                clusters,
                kinds,
                n_of_kind,
                largest,
            } => self.whole_clusters(clusters, (kinds, n_of_kind.len()), *largest, &mut random),
        }
    }

    /// The generator of a batch; the generator of the test set draws its seed.
    fn generator(&self, batch: usize) -> Xoshiro256PlusPlus {
        let mut seeds = Xoshiro256PlusPlus::from_seed(self.seed);
        let mut seed = [0; 32];
        for _ in 0..=batch {
            seeds.fill_bytes(&mut seed);
        }
        Xoshiro256PlusPlus::from_seed(seed)
    }

    /// The statistics of draws of clusters; `None` if single items are drawn.
    pub fn cluster_draws(&self) -> Option<ClusterDraws> {
        let Unit::Clusters { clusters, .. } = &self.unit else {
            return None;
        };
        Some(ClusterDraws {
            n_clusters: clusters.len(),
            n_redrawn: (0..super::N_BATCHES).map(|batch| self.drawn(batch).1).sum(),
        })
    }

    /// Independent Poisson weights; then items are added to each stratum or taken away, at random, until its weights add up to its
    /// size, which makes the weights multinomial.
    fn of_strata(&self, strata: &[Vec<u32>], random: &mut Xoshiro256PlusPlus) -> Batch {
        let mut weights = vec![[0u8; LANES]; self.n_items];
        let mut streams = Streams::drawn_by(random);
        for stratum in strata {
            let totals = Arch::new().dispatch(Poisson {
                streams: &mut streams,
                stratum,
                weights: &mut weights,
            });
            for (lane, total) in totals.into_iter().enumerate() {
                let mut total = total as usize;
                for _ in total..stratum.len() {
                    let weight = &mut weights[at(stratum, random.next_u64()) as usize][lane];
                    *weight = weight.saturating_add(1);
                }
                while total > stratum.len() {
                    let bits = random.next_u64();
                    let weight = &mut weights[at(stratum, bits) as usize][lane];
                    if (bits as usize) % MAX_WEIGHT < usize::from(*weight) {
                        *weight -= 1;
                        total -= 1;
                    }
                }
            }
        }
        Batch {
            weights,
            max_total: self.n_items,
        }
    }

    fn whole_clusters(
        &self,
        clusters: &[Vec<u32>],
        (kinds, n_kinds): (&[Vec<usize>], usize),
        largest: usize,
        random: &mut Xoshiro256PlusPlus,
    ) -> (Batch, usize) {
        let mut weights = vec![[0u8; LANES]; self.n_items];
        let mut n_redrawn = 0;
        #[allow(clippy::needless_range_loop, reason = "a draw is a lane of every item")]
        for lane in 0..LANES {
            let mut times = vec![0u8; clusters.len()];
            for _ in 0..MAX_REDRAWS {
                times.fill(0);
                for _ in 0..clusters.len() {
                    let drawn = below(clusters.len(), random.next_u64());
                    times[drawn] = times[drawn].saturating_add(1);
                }
                if has_all(kinds, n_kinds, &times) {
                    break;
                }
                n_redrawn += 1;
            }
            for (cluster, &times) in clusters.iter().zip(&times) {
                for &item in cluster {
                    weights[item as usize][lane] = times;
                }
            }
        }
        let batch = Batch {
            weights,
            max_total: clusters.len() * largest,
        };
        (batch, n_redrawn)
    }
}

/// A random number below `n` from the upper 32 of 64 random bits; the probabilities of all numbers are equal within `n` / 2^32.
pub(super) fn below(n: usize, bits: u64) -> usize {
    (((bits >> 32) * n as u64) >> 32) as usize
}

fn at(stratum: &[u32], bits: u64) -> u32 {
    stratum[below(stratum.len(), bits)]
}

/// Whether each class, and each group, is in a cluster that was drawn.
fn has_all(kinds: &[Vec<usize>], n_kinds: usize, times: &[u8]) -> bool {
    let mut drawn = vec![false; n_kinds];
    let of_drawn = kinds.iter().zip(times).filter(|(_, times)| **times > 0);
    of_drawn
        .flat_map(|(kinds, _)| kinds)
        .for_each(|&kind| drawn[kind] = true);
    drawn.into_iter().all(|is_there| is_there)
}

/// Draws independent weights for the items of a stratum, and adds them up for each draw.
struct Poisson<'a> {
    streams: &'a mut Streams,
    stratum: &'a [u32],
    weights: &'a mut [[u8; LANES]],
}

impl WithSimd for Poisson<'_> {
    type Output = [u32; LANES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [u32; LANES] {
        let mut totals = [0; LANES];
        let mut streams = self.streams.clone();
        let mut bits = [0u64; ITEMS_AT_ONCE * LANES / 4];
        let mut drawn = [[0u8; LANES]; ITEMS_AT_ONCE];
        for items in self.stratum.chunks(ITEMS_AT_ONCE) {
            let n_bits = items.len() * LANES / 4;
            for bits in bits[..n_bits.next_multiple_of(N_STREAMS)].as_chunks_mut().0 {
                *bits = streams.next().map(u64::to_le);
            }
            let numbers: &[i16] = bytemuck::cast_slice(&bits[..n_bits]);
            for (weight, &number) in drawn.as_flattened_mut().iter_mut().zip(numbers) {
                let number = i16::from_le(number);
                *weight = THRESHOLDS
                    .iter()
                    .map(|&threshold| u8::from(number >= threshold))
                    .sum();
            }
            for (&item, drawn) in items.iter().zip(&drawn) {
                self.weights[item as usize] = *drawn;
                for lane in 0..LANES {
                    totals[lane] += u32::from(drawn[lane]);
                }
            }
        }
        *self.streams = streams;
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{N_BATCHES, draws_of};

    fn weights(resampler: &Resampler) -> Vec<Vec<u32>> {
        let of_batch = |batch| {
            let weights = resampler.batch(batch);
            draws_of(batch).map(move |draw| weights.weights_of(draw % LANES))
        };
        (0..N_BATCHES).flat_map(of_batch).collect()
    }

    #[test]
    fn the_thresholds_are_poissons_distribution_function() {
        let mean: f64 = 31.0 / 32.0;
        let (mut term, mut sum) = ((-mean).exp(), 0.0);
        for (k, threshold) in (1..).zip(THRESHOLDS) {
            sum += term;
            term *= mean / f64::from(k);
            assert!(
                (sum * 65_536.0 - 32_768.0 - f64::from(threshold)).abs() <= 0.75,
                "{k}"
            );
        }
    }

    #[test]
    fn every_stratum_keeps_its_size() {
        let truth: Vec<u8> = (0..300u32).map(|item| (item % 7 % 3) as u8).collect();
        let groups: Vec<usize> = (0..300).map(|item| item % 5).collect();
        for weights in weights(&Resampler::of_items(&truth, Some(&groups), [7; 32])) {
            for class in 0..3 {
                for group in 0..5 {
                    let of_stratum = |item: &usize| truth[*item] == class && groups[*item] == group;
                    let n: usize = (0..300).filter(of_stratum).count();
                    let sum: u32 = (0..300).filter(of_stratum).map(|item| weights[item]).sum();
                    assert_eq!(sum as usize, n);
                }
            }
        }
    }

    /// Mean 1, variance 1 - 1/n and covariance -1/n of a multinomial distribution, within six standard errors.
    #[test]
    fn weights_have_the_moments_of_a_multinomial() {
        const N: usize = 20;
        let draws: Vec<Vec<u32>> = (0..20)
            .flat_map(|seed| weights(&Resampler::of_items(&[0; N], None, [seed; 32])))
            .collect();
        let n = draws.len() as f64;
        let moment = |figure: &dyn Fn(&[u32]) -> f64| draws.iter().map(|draw| figure(draw)).sum::<f64>() / n;
        for item in 0..N {
            let mean = moment(&|draw| draw[item].into());
            assert!((mean - 1.0).abs() < 6.0 * (1.0 / n).sqrt(), "{mean}");
            let variance = moment(&|draw| (f64::from(draw[item]) - 1.0).powi(2));
            assert!((variance - 0.95).abs() < 6.0 * (3.0 / n).sqrt(), "{variance}");
            let other = (item + 1) % N;
            let covariance = moment(&|draw| (f64::from(draw[item]) - 1.0) * (f64::from(draw[other]) - 1.0));
            assert!((covariance + 0.05).abs() < 6.0 * (1.0 / n).sqrt(), "{covariance}");
        }
    }

    #[test]
    fn resampling_accepts_one_item_or_none() {
        assert!(
            weights(&Resampler::of_items(&[4], None, [1; 32]))
                .iter()
                .all(|draw| *draw == [1])
        );
        assert!(
            weights(&Resampler::of_items(&[], None, [1; 32]))
                .iter()
                .all(Vec::is_empty)
        );
    }

    #[test]
    fn clusters_come_whole_and_with_every_class() {
        let truth = [0, 1, 0, 0, 0, 0, 1, 0];
        let clusters = [3, 3, 0, 0, 9, 9, 1, 1];
        let resampler = Resampler::of_clusters(&truth, None, &clusters, [2; 32]);
        let draws = weights(&resampler);
        for draw in &draws {
            for pair in draw.chunks(2) {
                assert_eq!(pair[0], pair[1]);
            }
            assert_eq!(draw.iter().sum::<u32>(), 8);
            assert!(draw[1] + draw[6] > 0, "a draw without the class 1");
        }
        // half of the 4 clusters have the class: 1 in 16 draws of 4 lacks it
        let counted = resampler.cluster_draws().expect("clusters");
        assert_eq!(counted.n_clusters, 4);
        assert!((20..150).contains(&counted.n_redrawn), "{counted:?}");
    }

    #[test]
    fn the_rarest_class_or_group_limits_the_clusters() {
        let truth: Vec<u8> = (0..40).map(|item| u8::from(item < 3)).collect();
        let own: Vec<usize> = (0..40).collect();
        assert_eq!(Resampler::of_clusters(&truth, None, &own, [1; 32]).smallest(), 3);
        let pairs: Vec<usize> = (0..40).map(|item| item / 2).collect();
        let groups: Vec<usize> = (0..40).map(|item| item / 38).collect();
        assert_eq!(
            Resampler::of_clusters(&truth, None, &pairs, [1; 32]).smallest(),
            2
        );
        let resampler = Resampler::of_clusters(&[0; 40], Some(&groups), &pairs, [1; 32]);
        assert_eq!(resampler.smallest(), 1);
        for draw in weights(&resampler) {
            assert!(draw[38] > 0, "a draw without the group 1");
        }
    }

    #[test]
    fn draws_follow_from_the_seed() {
        let drawn = |seed| weights(&Resampler::of_items(&[0, 0, 0, 1, 1, 1], None, [seed; 32]));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
