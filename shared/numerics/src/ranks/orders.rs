//! Finds which of two entries is clearly better.

use rayon::prelude::*;

use super::Entry;
use super::compare::{Field, MAX_STEPS, TILE, normal_of};
use super::percentiles::{quantile, standard_deviation};

/// The pairs of entries, by their places, of which one is clearly better: the better one first, pairs ascending. An order is sure if
/// it counts in the rank interval of at least one of the two.
///
/// # Shapes and units
/// As [`compare`](super::compare()).
pub fn sure_orders(
    entries: &[Entry<'_>],
    degrees: &(dyn Fn(usize, usize, f64) -> usize + Sync),
) -> Vec<(usize, usize)> {
    let field = Field::new(entries);
    let places: Vec<usize> = (0..entries.len()).collect();
    let of_tile = |tile: &[usize]| {
        let mut orders = Vec::new();
        for sure in field.sure(tile, degrees) {
            orders.extend(sure.better.iter().map(|&other| (other as usize, sure.one)));
            orders.extend(sure.worse.iter().map(|&other| (sure.one, other as usize)));
        }
        orders
    };
    let mut orders: Vec<(usize, usize)> = places.par_chunks(TILE).flat_map_iter(of_tile).collect();
    orders.sort_unstable();
    orders.dedup();
    orders
}

/// The pairs of entries, by their places, of which one is clearly better, with this confidence for all pairs at once: the better one
/// first, pairs ascending. The time grows with the square of the number of entries.
///
/// # Shapes and units
/// As [`compare`](super::compare()), in any order. `confidence`: between 0 and 1.
///
/// # Source
/// Romano, J. P. and Wolf, M. (2005), "Exact and approximate stepdown methods for multiple hypothesis testing", Journal of the
/// American Statistical Association 100.
pub fn joint_orders(
    entries: &[Entry<'_>],
    degrees: &dyn Fn(usize, usize, f64) -> usize,
    confidence: f64,
) -> Vec<(usize, usize)> {
    let mut near: Vec<Pair> = Vec::new();
    for one in 0..entries.len() {
        for other in one + 1..entries.len() {
            let differences = entries[one].deviations.iter().zip(entries[other].deviations);
            let differences: Vec<f32> = differences.map(|(a, b)| a - b).collect();
            let error = standard_deviation(&differences);
            let t = (entries[one].score - entries[other].score) / error;
            if error > 0.0 && t.is_finite() {
                near.push(Pair {
                    one,
                    other,
                    t: normal_of(t, degrees(one, other, error)),
                    error: error as f32,
                });
            }
        }
    }
    let n_draws = entries
        .iter()
        .map(|entry| entry.deviations.len())
        .min()
        .unwrap_or(0);
    let mut orders = Vec::new();
    for _ in 0..MAX_STEPS {
        let mut largest = vec![0.0_f32; n_draws];
        for pair in &near {
            let both = entries[pair.one]
                .deviations
                .iter()
                .zip(entries[pair.other].deviations);
            for (largest, (a, b)) in largest.iter_mut().zip(both) {
                *largest = largest.max(((a - b) / pair.error).abs());
            }
        }
        if near.is_empty() || n_draws == 0 {
            break;
        }
        let critical = f64::from(quantile(&mut largest, confidence));
        let n_before = near.len();
        near.retain(|pair| {
            let is_clear = pair.t.abs() > critical;
            if is_clear {
                let (one, other) = (pair.one, pair.other);
                orders.push(if pair.t > 0.0 { (one, other) } else { (other, one) });
            }
            !is_clear
        });
        if near.len() == n_before {
            break;
        }
    }
    orders.sort_unstable();
    orders
}

/// Two entries, by how many standard errors the one is better, as a deviate of the normal distribution.
struct Pair {
    one: usize,
    other: usize,
    t: f64,
    error: f32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{Answers, ItemMetric, LANES, N_BATCHES, Resampler, draws_of};
    use crate::metrics::{ItemWeights, accuracy};
    use crate::ranks::compare;

    #[test]
    fn orders_are_those_that_the_intervals_count() {
        let truth = vec![0_u8; 400];
        let answers = [380, 300, 299, 150].map(|n_right| {
            (0..400)
                .map(|item| u8::from((item * 7) % 400 >= n_right))
                .collect::<Vec<u8>>()
        });
        let resampler = Resampler::of_items(&truth, None, [5; 32]);
        let deviations = answers.each_ref().map(|answers| {
            let score = ItemMetric::Accuracy.value(&truth, answers, ItemWeights::Ones);
            let ready = Answers::new(ItemMetric::Accuracy, &truth, [&answers[..]]);
            let of_batch = |batch| {
                let values = ready.values(&resampler.batch(batch))[0];
                draws_of(batch).map(move |draw| (values[draw % LANES] - score) as f32)
            };
            (0..N_BATCHES).flat_map(of_batch).collect::<Vec<f32>>()
        });
        let entries: Vec<Entry<'_>> = answers
            .iter()
            .zip(&deviations)
            .map(|(answers, deviations)| Entry {
                score: accuracy(&truth, answers),
                is_ranked: true,
                deviations,
            })
            .collect();
        let orders = sure_orders(&entries, &|_, _, _| usize::MAX);
        assert_eq!(orders, [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]);
        let ranks: Vec<(u32, u32)> = compare(&entries, &|_, _, _| usize::MAX)
            .iter()
            .map(|ranks| (ranks.first, ranks.last))
            .collect();
        assert_eq!(ranks, [(1, 1), (2, 3), (2, 3), (4, 4)]);
        let joint = joint_orders(&entries, &|_, _, _| usize::MAX, 0.95);
        assert_eq!(joint, orders, "what is clear here is clear for all pairs");
        assert!(joint_orders(&entries, &|_, _, _| 0, 0.95).is_empty());
        let turned: Vec<Entry<'_>> = entries.iter().rev().copied().collect();
        let of_turned = joint_orders(&turned, &|_, _, _| usize::MAX, 0.95);
        assert_eq!(of_turned, [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)]);
        assert!(joint_orders(&[], &|_, _, _| 0, 0.95).is_empty());
        assert!(sure_orders(&entries, &|_, _, _| 0).is_empty());
        assert!(sure_orders(&[], &|_, _, _| 0).is_empty());
    }
}
