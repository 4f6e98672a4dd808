//! Finds which of two entries is surely better.

use rayon::prelude::*;

use super::Entry;
use super::compare::{Field, TILE};

/// The pairs of entries, by their places, of which one is surely better: the better one first, pairs ascending. An order is sure if
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
            .map(|of| (of.first, of.last))
            .collect();
        assert_eq!(ranks, [(1, 1), (2, 3), (2, 3), (4, 4)]);
        assert!(sure_orders(&entries, &|_, _, _| 0).is_empty());
        assert!(sure_orders(&[], &|_, _, _| 0).is_empty());
    }
}
