//! How far rankings agree, as far as the orders in them are clear: bounds of Kendall's tau-b and W.
//!
//! Noise of small test sets reverses orders, which looks like disagreement: a percentile interval
//! of tau-b around a noisy value seldom contains the true agreement. Here a pair without a clear
//! order may have either order.

/// The clear part of the order of some entries, which truly have no ties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orders {
    n: usize,
    /// `(n, n)`: whether the one is clearly better than the other.
    is_better: Vec<bool>,
}

impl Orders {
    /// The order of `n` entries, of which in these pairs the first is clearly better than the second. What follows from two pairs is
    /// clear, too.
    pub fn new(n: usize, clear: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut is_better = vec![false; n * n];
        for (one, other) in clear {
            is_better[one * n + other] = true;
        }
        for middle in 0..n {
            for one in (0..n).filter(|&one| one != middle) {
                if is_better[one * n + middle] {
                    for other in 0..n {
                        is_better[one * n + other] |= is_better[middle * n + other];
                    }
                }
            }
        }
        Self { n, is_better }
    }

    /// 1 if the one is clearly better, -1 if it is clearly worse, 0 if neither is clear.
    fn sign(&self, one: usize, other: usize) -> i32 {
        let is_better = |one: usize, other: usize| i32::from(self.is_better[one * self.n + other]);
        is_better(one, other) - is_better(other, one)
    }

    /// The first and the last rank that each entry may have.
    fn ranks(&self) -> Vec<(usize, usize)> {
        let of_entry = |one: usize| {
            let n_of = |sign: i32| (0..self.n).filter(|&other| self.sign(one, other) == sign).count();
            (1 + n_of(-1), self.n - n_of(1))
        };
        (0..self.n).map(of_entry).collect()
    }

    /// The clear part of the order by the mean of the ranks in several orders of the same entries.
    pub fn of_mean_ranks(all: &[&Self]) -> Self {
        let sums = rank_sums(all);
        let n = sums.len();
        let pairs = (0..n).flat_map(|one| (0..n).map(move |other| (one, other)));
        Self::new(n, pairs.filter(|&(one, other)| sums[one].1 < sums[other].0))
    }
}

/// The least and the most that the ranks of each entry can add up to.
fn rank_sums(all: &[&Orders]) -> Vec<(usize, usize)> {
    let mut sums = vec![(0, 0); all.first().map_or(0, |first| first.n)];
    for order in all {
        for (sum, (first, last)) in sums.iter_mut().zip(order.ranks()) {
            *sum = (sum.0 + first, sum.1 + last);
        }
    }
    sums
}

/// The least and the largest value that Kendall's tau-b of two orders without ties can have; `None` for fewer than two entries.
///
/// # Panics
/// If they are of different numbers of entries.
pub fn tau_interval(one: &Orders, other: &Orders) -> Option<(f64, f64)> {
    assert_eq!(one.n, other.n, "both order the same entries");
    let pairs = (0..one.n).flat_map(|a| (0..a).map(move |b| (a, b)));
    let (mut n, mut known, mut n_open) = (0, 0, 0);
    for (a, b) in pairs {
        let agrees = one.sign(a, b) * other.sign(a, b);
        n += 1;
        known += agrees;
        n_open += i32::from(agrees == 0);
    }
    let share = |count: i32| f64::from(count) / f64::from(n);
    (n > 0).then(|| (share(known - n_open), share(known + n_open)))
}

/// Bounds of Kendall's W of several orders without ties; `None` for fewer than two orders or two entries. Each sum of ranks is taken by
/// itself, so that W itself may lie further from the ends.
pub fn w_interval(all: &[&Orders]) -> Option<(f64, f64)> {
    let sums = rank_sums(all);
    let (m, n) = (all.len() as f64, sums.len() as f64);
    if all.len() < 2 || sums.len() < 2 {
        return None;
    }
    let mean = m * (n + 1.0) / 2.0;
    let ends = sums.iter().map(|&(least, most)| (least as f64, most as f64));
    let (mut smallest, mut largest) = (0.0, 0.0);
    for (least, most) in ends {
        smallest += (mean.clamp(least, most) - mean).powi(2);
        largest += (least - mean).powi(2).max((most - mean).powi(2));
    }
    let w = |squares: f64| (12.0 * squares / (m * m * (n * n * n - n))).min(1.0);
    Some((w(smallest), w(largest)))
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;
    use crate::agreement::{kendalls_w, tau_b};

    #[test]
    fn clear_orders_give_the_value_itself() {
        let scores = [[4.0, 3.0, 2.0, 1.0], [3.0, 4.0, 1.0, 2.0], [4.0, 1.0, 3.0, 2.0]];
        let orders = scores.map(|scores: [f64; 4]| {
            let pairs = (0..4).flat_map(|one| (0..4).map(move |other| (one, other)));
            Orders::new(4, pairs.filter(|&(one, other)| scores[one] > scores[other]))
        });
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let tau = tau_b(&scores[one], &scores[other]).expect("no ties");
            let (low, high) = tau_interval(&orders[one], &orders[other]).expect("entries");
            assert!(
                (low - tau).abs() < 1e-12 && (high - tau).abs() < 1e-12,
                "{low} {high} {tau}"
            );
        }
        let w = kendalls_w(&scores.each_ref().map(|scores| &scores[..])).expect("no ties");
        let (low, high) = w_interval(&orders.each_ref()).expect("entries");
        assert!(
            (low - w).abs() < 1e-12 && (high - w).abs() < 1e-12,
            "{low} {high} {w}"
        );
    }

    #[test]
    fn unclear_pairs_may_have_either_order() {
        let (nothing, all) = (Orders::new(3, []), Orders::new(3, [(0, 1), (1, 2)]));
        assert_eq!(
            all.ranks(),
            [(1, 1), (2, 2), (3, 3)],
            "0 is better than 2, because 1 is"
        );
        assert_eq!(tau_interval(&nothing, &all), Some((-1.0, 1.0)));
        let first = Orders::new(3, [(0, 1), (0, 2)]);
        let (low, high) = tau_interval(&first, &all).expect("entries");
        assert!((low - 1.0 / 3.0).abs() < 1e-12 && high == 1.0, "{low} {high}");
        assert_eq!(w_interval(&[&nothing, &nothing]), Some((0.0, 1.0)));
        assert_eq!(
            (
                w_interval(&[&all]),
                tau_interval(&Orders::new(1, []), &Orders::new(1, []))
            ),
            (None, None)
        );
    }

    #[test]
    fn mean_ranks_are_clear_when_bounds_are_apart() {
        let (all, first) = (Orders::new(3, [(0, 1), (1, 2)]), Orders::new(3, [(0, 1), (0, 2)]));
        let combined = Orders::of_mean_ranks(&[&all, &first]);
        assert_eq!(combined.ranks(), [(1, 1), (2, 3), (2, 3)]);
        assert_eq!(Orders::of_mean_ranks(&[&all, &all]), all);
    }
}
