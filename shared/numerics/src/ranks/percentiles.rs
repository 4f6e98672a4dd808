//! Intervals by percentiles of draws.

use super::{CONFIDENCE, Entry};

/// The share of the deviations' squares below which a difference is rounding. Deviations are `f32`, each rounded by at most 2^-24
/// of itself, so differences of equal entries stay below this share, and those of entries that differ on one item are far above it.
pub(super) const ROUNDING: f64 = 1e-12;

/// The value that the given share of the draws does not exceed: of n draws the one at ceil(share * (n + 1)), which is exact for
/// draws that are exchangeable with what was observed.
///
/// # Panics
/// If there is no draw.
pub fn quantile(draws: &mut [f32], share: f64) -> f32 {
    assert!(!draws.is_empty(), "a quantile needs a draw");
    let place = (share * (draws.len() + 1) as f64).ceil() as usize;
    let place = place.clamp(1, draws.len()) - 1;
    *draws.select_nth_unstable_by(place, f32::total_cmp).1
}

/// The standard deviation of draws; 0 for fewer than two, and if they are equal except for
/// rounding.
pub(super) fn standard_deviation(draws: &[f32]) -> f64 {
    let n = draws.len() as f64;
    let mean = draws.iter().copied().map(f64::from).sum::<f64>() / n;
    let squares: f64 = draws.iter().map(|&draw| (f64::from(draw) - mean).powi(2)).sum();
    if draws.len() < 2 || squares <= ROUNDING * n {
        return 0.0;
    }
    (squares / (n - 1.0)).sqrt()
}

/// The interval that holds 95 % of the draws of a figure that is not a share, such as a difference; `None` without draws.
///
/// # Shapes and units
/// `deviations`: `(n_draws,)`, the figure under each draw minus the figure.
pub fn percentile_interval(figure: f64, deviations: &[f32]) -> Option<(f64, f64)> {
    if deviations.is_empty() {
        return None;
    }
    let mut draws = deviations.to_vec();
    let low = quantile(&mut draws, 1.0 - CONFIDENCE);
    let high = quantile(&mut draws, CONFIDENCE);
    Some((figure + f64::from(low) + 0.0, figure + f64::from(high) + 0.0)) // + 0.0 makes -0 a 0
}

/// The first and the last of the ranks that hold 95 % of an entry's ranks under the draws. Other sites show such intervals; they
/// are too narrow where entries are nearly equal, and are computed for comparison.
pub fn rank_percentiles(entries: &[Entry<'_>]) -> Vec<(u32, u32)> {
    let n_draws = entries
        .iter()
        .map(|entry| entry.deviations.len())
        .min()
        .unwrap_or(0);
    let mut ranks = vec![Vec::with_capacity(n_draws); entries.len()];
    for draw in 0..n_draws {
        let score = |entry: &Entry<'_>| entry.score + f64::from(entry.deviations[draw]);
        let scores: Vec<f64> = entries.iter().map(score).collect();
        for (ranks, score) in ranks.iter_mut().zip(&scores) {
            let n_better = scores.iter().filter(|other| *other > score).count();
            ranks.push(n_better as f32 + 1.0);
        }
    }
    let of_entry = |ranks: &mut Vec<f32>| {
        let first = quantile(ranks, 1.0 - CONFIDENCE);
        (first as u32, quantile(ranks, CONFIDENCE) as u32)
    };
    ranks
        .iter_mut()
        .filter(|ranks| !ranks.is_empty())
        .map(of_entry)
        .collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_order_statistics() {
        let mut draws: Vec<f32> = (1..=1000).rev().map(|draw| draw as f32).collect();
        assert_eq!(quantile(&mut draws, 0.975), 976.0);
        assert_eq!(quantile(&mut draws, 0.025), 26.0);
        assert_eq!(quantile(&mut [3.0], 0.975), 3.0);
    }

    #[test]
    fn an_interval_matches_its_draws() {
        let deviations: Vec<f32> = (0..1000).map(|draw| (draw as f32 - 500.0) / 1024.0).collect();
        let (low, high) = percentile_interval(0.5, &deviations).expect("draws");
        assert_eq!((low, high), (0.5 - 475.0 / 1024.0, 0.5 + 475.0 / 1024.0));
        assert_eq!(percentile_interval(0.5, &[]), None);
    }

    #[test]
    fn percentiles_of_ranks_count_who_is_better() {
        let entries = [
            Entry {
                score: 0.9,
                is_ranked: true,
                deviations: &[0.0, 0.0, -0.5],
            },
            Entry {
                score: 0.5,
                is_ranked: true,
                deviations: &[0.0, 0.0, 0.0],
            },
        ];
        assert_eq!(rank_percentiles(&entries), [(1, 2), (1, 2)]);
    }
}
