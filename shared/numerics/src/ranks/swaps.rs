//! Compares entries by swapping their answers item by item, where classes have too few items to be drawn.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{CONFIDENCE, Compared, MIN_DIFFERENT_ITEMS};

/// The fewest and the most swaps of a pair.
const SWAPS: std::ops::RangeInclusive<usize> = 1_999..=9_999;
/// So many swaps of a pair that give no smaller a difference end it: the probability is far from every level then.
const ENOUGH: usize = 200;

/// An entry of a board whose items are swapped.
#[derive(Debug, Clone, Copy)]
pub struct Swapped<'a> {
    /// Whether it takes part in the ranking. Baselines do not: they are compared and take nobody's rank.
    pub is_ranked: bool,
    /// `(n_items,)`: what each item contributes to the score; more is better.
    pub parts: &'a [f32],
}

/// Compares each entry with all others by swaps. If two entries are equally good, their answers to an item could as well be
/// exchanged: of all exchanges the share that makes a difference as large as the observed one is the probability of it by chance. An entry
/// is clearly better where Holm's step-down procedure over all others rejects that, at 2.5 % to either side.
///
/// # Shapes and units
/// `entries`: best first, all with the same number of items. The swaps follow from the seed and are the same for all pairs.
///
/// # Source
/// Fisher, R. A. (1935), "The Design of Experiments", section 21, with signs drawn by chance; Besag, J. and Clifford, P. (1991),
/// "Sequential Monte Carlo p-values", Biometrika 78; Holm, S. (1979), "A simple sequentially rejective multiple test procedure",
/// Scandinavian Journal of Statistics 6.
///
/// # Panics
/// If the numbers of items differ.
pub fn compare_swapped(entries: &[Swapped<'_>], seed: [u8; 32]) -> Vec<Compared> {
    let n_items = entries.first().map_or(0, |entry| entry.parts.len());
    assert!(
        entries.iter().all(|entry| entry.parts.len() == n_items),
        "all entries have the same items"
    );
    let n_others = entries.len().saturating_sub(1);
    // ten times as many as the smallest level takes
    let level = (1.0 - CONFIDENCE) / n_others.max(1) as f64;
    let n_swaps = ((10.0 / level) as usize).clamp(*SWAPS.start(), *SWAPS.end());
    let mut random = Xoshiro256PlusPlus::from_seed(seed);
    let n_words = n_items.div_ceil(64);
    let signs: Vec<u64> = (0..n_swaps * n_words).map(|_| random.next_u64()).collect();
    // of each pair the probability that the first is no better
    let of_first = |first: usize| -> Vec<f64> {
        let pairs = (first + 1..entries.len()).into_par_iter();
        pairs
            .map(|second| probability(entries[first].parts, entries[second].parts, &signs, n_swaps))
            .collect()
    };
    let probabilities: Vec<Vec<f64>> = (0..entries.len()).map(of_first).collect();
    let of_entry = |one: usize| {
        let before: Vec<(usize, f64)> = (0..one)
            .map(|other| (other, probabilities[other][one - other - 1]))
            .collect();
        let after: Vec<(usize, f64)> = (one + 1..entries.len())
            .map(|other| (other, probabilities[one][other - one - 1]))
            .collect();
        let (better, worse) = (rejected(before, n_others), rejected(after, n_others));
        let ranked =
            |others: &[usize]| others.iter().filter(|&&other| entries[other].is_ranked).count() as u32;
        let n_ranked = entries.iter().filter(|entry| entry.is_ranked).count() as u32;
        let is_ranked = entries[one].is_ranked;
        let baseline = entries
            .iter()
            .position(|entry| !entry.is_ranked)
            .filter(|_| is_ranked);
        let next = (one + 1..entries.len()).find(|&other| entries[other].is_ranked);
        Compared {
            first: 1 + ranked(&better),
            last: 1 + n_ranked - u32::from(is_ranked) - ranked(&worse),
            is_above_baselines: baseline.map(|baseline| worse.contains(&baseline)),
            error_to_next: next
                .filter(|_| is_ranked)
                .map(|next| error(entries[one].parts, entries[next].parts)),
        }
    };
    (0..entries.len()).map(of_entry).collect()
}

/// The standard error of a difference over all swaps.
fn error(first: &[f32], second: &[f32]) -> f64 {
    let squares = first.iter().zip(second);
    let squares = squares.map(|(first, second)| f64::from(first - second).powi(2));
    squares.sum::<f64>().sqrt()
}

/// The share of swaps under which the first of two is ahead by as much as it is; 1 where it is not ahead, or the two differ on too few
/// items.
fn probability(first: &[f32], second: &[f32], signs: &[u64], n_swaps: usize) -> f64 {
    let differences = first.iter().zip(second).map(|(first, second)| first - second);
    let differences: Vec<f32> = differences.collect();
    let largest = differences
        .iter()
        .fold(0.0_f32, |most, difference| most.max(difference.abs()));
    // what is smaller than that comes from items on which both say the same
    let n_different = differences
        .iter()
        .filter(|difference| difference.abs() > 0.1 * largest)
        .count();
    let observed: f32 = differences.iter().sum();
    if n_different < MIN_DIFFERENT_ITEMS || observed <= 0.0 {
        return 1.0;
    }
    let n_words = differences.len().div_ceil(64);
    // sums of few parts are often equal but for rounding and what is of higher order: then they count as large
    let least = observed - 0.25 * largest;
    let mut n_as_large = 0;
    for swap in 0..n_swaps {
        let words = &signs[swap * n_words..][..n_words];
        let swapped: f32 = differences
            .chunks(64)
            .zip(words)
            .map(|(differences, word)| {
                let signed = differences.iter().enumerate();
                let signed = signed.map(|(bit, difference)| {
                    f32::from_bits(difference.to_bits() ^ (((word >> bit) as u32 & 1) << 31))
                });
                signed.sum::<f32>()
            })
            .sum();
        n_as_large += usize::from(swapped >= least);
        if n_as_large == ENOUGH {
            return ENOUGH as f64 / (swap + 1) as f64;
        }
    }
    (1 + n_as_large) as f64 / (1 + n_swaps) as f64
}

/// The entries that Holm's procedure rejects to be no better, of these with their probabilities and of others with 1, so many in all.
fn rejected(mut probabilities: Vec<(usize, f64)>, n: usize) -> Vec<usize> {
    probabilities.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let levels = (0..).map(|step| (1.0 - CONFIDENCE) / (n - step) as f64);
    let is_small = |((_, probability), level): &((usize, f64), f64)| probability <= level;
    probabilities
        .into_iter()
        .zip(levels)
        .take_while(is_small)
        .map(|((other, _), _)| other)
        .collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    fn entry(parts: &[f32]) -> Swapped<'_> {
        Swapped {
            is_ranked: true,
            parts,
        }
    }

    fn ranks(entries: &[Swapped<'_>]) -> Vec<(u32, u32)> {
        let compared = compare_swapped(entries, [7; 32]);
        compared.iter().map(|entry| (entry.first, entry.last)).collect()
    }

    #[test]
    fn a_sign_test_is_exact() {
        let (right, wrong) = (vec![1.0; 12], vec![0.0; 12]);
        // of 2^12 swaps one gives such a difference
        let actual = probability(&right, &wrong, &signs(1), 9_999);
        assert!((actual - 1.0 / 4_096.0).abs() < 6e-4, "{actual}");
        assert_eq!(probability(&right[..5], &wrong[..5], &signs(1), 9_999), 1.0);
        assert_eq!(probability(&wrong, &right, &signs(1), 9_999), 1.0);
    }

    fn signs(n_words: usize) -> Vec<u64> {
        let mut random = Xoshiro256PlusPlus::from_seed([1; 32]);
        (0..9_999 * n_words).map(|_| random.next_u64()).collect()
    }

    #[test]
    fn clear_orders_have_ranks_and_ties_have_several() {
        let answers = |from: usize, to: usize| -> Vec<f32> {
            (0..100)
                .map(|item| f32::from(u8::from((from..to).contains(&item))))
                .collect()
        };
        let (good, as_good, bad) = (answers(0, 90), answers(5, 95), answers(0, 50));
        assert_eq!(
            ranks(&[entry(&good), entry(&as_good), entry(&bad)]),
            [(1, 2), (1, 2), (3, 3)]
        );
        let baseline = Swapped {
            is_ranked: false,
            ..entry(&bad)
        };
        let compared = compare_swapped(&[entry(&good), baseline], [7; 32]);
        assert_eq!(compared[0].is_above_baselines, Some(true));
        assert_eq!((compared[0].last, compared[1].first), (1, 2));
        assert!(compare_swapped(&[], [0; 32]).is_empty());
    }

    #[test]
    fn holm_takes_a_smaller_level_for_more_entries() {
        assert_eq!(rejected(vec![(4, 0.012), (7, 0.02)], 2), [4, 7]);
        assert_eq!(rejected(vec![(4, 0.012), (7, 0.02)], 3), [0_usize; 0]);
    }
}
