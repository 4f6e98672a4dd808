//! How far rankings agree: Kendall's tau-b of two, Kendall's W of several, and rankings that combine several.

mod combined;
mod line;
mod orders;

use serde::{Deserialize, Serialize};

pub use combined::{Combined, Method, Sensitivity, combine, left_out, standings, weak_entry};
pub use line::{CorrectedLine, Fitted, Line, corrected_line, fitted_line, probit};
pub use orders::{Orders, tau_interval, w_interval};

/// The ranks of values, from the largest; equal values share the mean of their places, so ranks may be halves.
///
/// # Source
/// scipy 1.17, `stats.rankdata(-values)`.
#[allow(clippy::float_cmp, reason = "ties are exact")]
pub fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let n_better = values.iter().filter(|other| *other > value).count();
        let n_equal = values.iter().filter(|other| *other == value).count();
        n_better as f64 + f64::midpoint(n_equal as f64, 1.0)
    };
    values.iter().map(rank).collect()
}

/// Kendall's tau-b: 1 for two rankings in the same order, -1 if one is the reverse of the other; pairs that are equal in one of
/// them count as neither agreement nor disagreement. `None` if all entries are equal in one ranking, or there are fewer than two.
///
/// # Shapes and units
/// `one`, `other`: `(n,)`, finite scores of the same entries.
///
/// # Source
/// Kendall, M. G. (1945), "The treatment of ties in ranking problems", Biometrika 33; scipy 1.17, `stats.kendalltau(variant="b")`.
///
/// # Panics
/// If the lengths differ.
pub fn tau_b(one: &[f64], other: &[f64]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "both rank the same entries");
    let (mut difference, mut n_of_one, mut n_of_other) = (0_i64, 0_u64, 0_u64);
    for idx in 0..one.len() {
        for before in 0..idx {
            let (a, b) = (sign(one[idx] - one[before]), sign(other[idx] - other[before]));
            difference += a * b;
            n_of_one += a.unsigned_abs();
            n_of_other += b.unsigned_abs();
        }
    }
    if n_of_one == 0 || n_of_other == 0 {
        return None;
    }
    let tau = difference as f64 / (n_of_one as f64).sqrt() / (n_of_other as f64).sqrt();
    Some(tau.clamp(-1.0, 1.0))
}

fn sign(difference: f64) -> i64 {
    i64::from(difference > 0.0) - i64::from(difference < 0.0)
}

/// Kendall's coefficient of concordance, corrected for ties: 1 if all rankings are the same, 0 if they cancel each other out.
/// `None` for fewer than two rankings or two entries, and if all entries are equal in every ranking.
///
/// # Shapes and units
/// `rankings`: one after another, each `(n,)` finite scores of the same entries.
///
/// # Source
/// Kendall, M. G. and Gibbons, J. D. (1990), "Rank Correlation Methods", chapter 6. `m (n - 1) W` is Friedman's statistic.
///
/// # Panics
/// If the lengths differ.
pub fn kendalls_w(rankings: &[&[f64]]) -> Option<f64> {
    let (m, n) = (rankings.len(), rankings.first()?.len());
    assert!(
        rankings.iter().all(|ranking| ranking.len() == n),
        "all rank the same entries"
    );
    if m < 2 || n < 2 {
        return None;
    }
    let ranks: Vec<Vec<f64>> = rankings.iter().map(|ranking| mid_ranks(ranking)).collect();
    let mean = m as f64 * (n as f64 + 1.0) / 2.0;
    let of_entry = |entry: usize| ranks.iter().map(|ranks| ranks[entry]).sum::<f64>() - mean;
    let squares: f64 = (0..n).map(|entry| of_entry(entry).powi(2)).sum();
    let cube = |n: f64| n * n * n - n;
    let ties: f64 = rankings
        .iter()
        .flat_map(|ranking| ties(ranking))
        .map(|n| cube(n as f64))
        .sum();
    let m = m as f64;
    let most = m * (m * cube(n as f64) - ties);
    (most > 0.0).then(|| (12.0 * squares / most).clamp(0.0, 1.0))
}

/// The sizes of the groups of equal values.
fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[allow(clippy::float_cmp, reason = "ties are exact")]
    let groups = sorted.chunk_by(|a, b| a == b);
    groups.map(<[f64]>::len).collect()
}

/// The 95 % confidence interval of a share that is estimated as `n_found` of `n`; `None` if `n` is 0.
///
/// # Source
/// Wilson, E. B. (1927), "Probable inference, the law of succession, and statistical inference", Journal of the American
/// Statistical Association 22; scipy 1.17, `stats.binomtest(n_found, n).proportion_ci(method="wilson")`.
pub fn share_interval(n_found: usize, n: usize) -> Option<(f64, f64)> {
    (n > 0).then(|| wilson(n_found as f64 / n as f64, n as f64, DEVIATE))
}

/// The 95 % confidence interval of a share whose items come in clusters, such as the texts of one annotator: items of one cluster
/// depend on each other, clusters do not. It is Wilson's interval of the effective number of items, with Student's quantile.
/// `None` for fewer than two clusters with items.
///
/// # Shapes and units
/// `clusters`: of each cluster the number of items found and the number of all.
///
/// # Source
/// The variance is that of a ratio of totals, Cochran, W. G. (1977), "Sampling Techniques", section 6.3; the effective number of
/// items as in Korn, E. L. and Graubard, B. I. (1998), "Confidence intervals for proportions with small expected number of positive
/// counts estimated from survey data", Survey Methodology 24.
pub fn clustered_share_interval(clusters: &[(usize, usize)]) -> Option<(f64, f64)> {
    let clusters = || clusters.iter().filter(|(_, n)| *n > 0);
    let n_clusters = clusters().count();
    if n_clusters < 2 {
        return None;
    }
    let sum = |(hits, all): (usize, usize), (n_found, n): &(usize, usize)| (hits + n_found, all + n);
    let (n_found, n) = clusters().fold((0, 0), sum);
    let (share, n) = (n_found as f64 / n as f64, n as f64);
    let squares = clusters().map(|(n_found, n)| (*n_found as f64 - share * *n as f64).powi(2));
    let variance = squares.sum::<f64>() / (n * n) * n_clusters as f64 / (n_clusters - 1) as f64;
    let of_one = share * (1.0 - share);
    // where all clusters have the same share, they don't tell how much their items depend on each other
    let n_effective = if of_one > 0.0 && variance > 0.0 {
        (of_one / variance).min(n)
    } else {
        n_clusters as f64
    };
    Some(wilson(share, n_effective, crate::ranks::student(n_clusters - 1)))
}

/// The exact 95 % confidence interval of a share: it holds the truth at least so often, however small the share is. `None` if `n` is 0.
///
/// # Source
/// Clopper, C. J. and Pearson, E. S. (1934), "The use of confidence or fiducial limits illustrated in the case of the binomial",
/// Biometrika 26; scipy 1.17, `stats.binomtest(n_found, n).proportion_ci(method="exact")`.
pub fn exact_share_interval(n_found: usize, n: usize) -> Option<(f64, f64)> {
    if n == 0 {
        return None;
    }
    // the share for which so few found items, or fewer, have a probability of 2.5 %
    let highest = |n_found: usize| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if at_most(n_found, n, middle) > 0.025 {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    };
    let low = if n_found == 0 {
        0.0
    } else {
        1.0 - highest(n - n_found)
    };
    let high = if n_found == n { 1.0 } else { highest(n_found) };
    Some((low, high))
}

/// The probability of at most `n_found` of `n` items that are each found with probability `share`, in (0, 1).
fn at_most(n_found: usize, n: usize, share: f64) -> f64 {
    let (of_one, of_other) = (share.ln(), (-share).ln_1p());
    let mut choices = 0.0; // the logarithm of the number of ways to choose k of n
    let mut sum = 0.0;
    for k in 0..=n_found {
        sum += (choices + k as f64 * of_one + (n - k) as f64 * of_other).exp();
        choices += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    sum
}

/// Items of one kind, some of which somebody has looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stratum {
    /// All items of the kind.
    pub n_items: usize,
    /// Those that somebody has looked at and decided.
    pub n_decided: usize,
    /// Those among them for which something holds.
    pub n_found: usize,
}

/// A share of all items and its interval with 95 % confidence.
pub type ShareEstimate = (f64, (f64, f64));

/// The share of all items for which something holds, where all items of one kind were to be looked at, such as labels in doubt, and of
/// the others a random sample. Items of the first kind that nobody has decided count as open: for the interval's lower end it holds for
/// none of them, for its upper end for all. `None` where nothing was decided of a kind that has items.
pub fn stratified_share(chosen: Stratum, sampled: Stratum) -> Option<ShareEstimate> {
    let share = |stratum: Stratum| match (stratum.n_items, stratum.n_decided) {
        (0, _) => Some(0.0),
        (_, 0) => None,
        (_, n) => Some(stratum.n_found as f64 / n as f64),
    };
    let n = (chosen.n_items + sampled.n_items) as f64;
    let total = |of_chosen: f64, of_sampled: f64| (of_chosen + of_sampled * sampled.n_items as f64) / n;
    let value = total(share(chosen)? * chosen.n_items as f64, share(sampled)?);
    let (low, high) = if sampled.n_decided < sampled.n_items {
        exact_share_interval(sampled.n_found, sampled.n_decided)?
    } else {
        (share(sampled)?, share(sampled)?)
    };
    let n_open = chosen.n_items - chosen.n_decided.min(chosen.n_items);
    let least = total(chosen.n_found as f64, low);
    let most = total((chosen.n_found + n_open) as f64, high);
    (n > 0.0).then_some((value, (least, most)))
}

/// The 97.5 % quantile of the normal distribution.
const DEVIATE: f64 = 1.959_963_984_540_054;

fn wilson(share: f64, n_items: f64, deviate: f64) -> (f64, f64) {
    let squared = deviate * deviate;
    let middle = (share + squared / (2.0 * n_items)) / (1.0 + squared / n_items);
    let spread = share * (1.0 - share) / n_items + squared / (4.0 * n_items * n_items);
    let half = deviate * spread.sqrt() / (1.0 + squared / n_items);
    let low = if share <= 0.0 { 0.0 } else { middle - half };
    let high = if share >= 1.0 { 1.0 } else { middle + half };
    (low, high)
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::unwrap_used, reason = "exact values are expected")]
mod tests {
    use super::*;

    fn close(actual: Option<f64>, expected: f64) -> bool {
        (actual.unwrap() - expected).abs() < 1e-14
    }

    #[test]
    fn tau_b_is_scipys() {
        // scipy 1.17.1: stats.kendalltau([12, 2, 1, 12, 2], [1, 4, 7, 1, 0])
        assert!(close(
            tau_b(&[12.0, 2.0, 1.0, 12.0, 2.0], &[1.0, 4.0, 7.0, 1.0, 0.0]),
            -0.471_404_520_791_031_6
        ));
        assert_eq!(tau_b(&[0.1, 0.2, 0.3], &[1.0, 2.0, 3.0]), Some(1.0));
        assert_eq!(tau_b(&[0.1, 0.2, 0.3], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(tau_b(&[0.1, 0.2], &[1.0, 1.0]), None);
        assert_eq!((tau_b(&[], &[]), tau_b(&[1.0], &[1.0])), (None, None));
    }

    #[test]
    fn w_is_friedmans_statistic() {
        let rankings = [
            &[1.0, 2.0, 3.0, 4.0, 5.0][..],
            &[2.0, 1.0, 4.0, 3.0, 5.0],
            &[1.0, 1.0, 3.0, 5.0, 5.0],
        ];
        // scipy 1.17.1: stats.friedmanchisquare(*columns).statistic / (3 * 4)
        assert!(close(kendalls_w(&rankings), 0.896_551_724_137_931_5));
        assert_eq!(kendalls_w(&[&[1.0, 2.0], &[1.0, 2.0]]), Some(1.0));
        assert_eq!(kendalls_w(&[&[1.0, 2.0], &[2.0, 1.0]]), Some(0.0));
        assert_eq!(kendalls_w(&[&[1.0, 1.0], &[2.0, 2.0]]), None);
        assert_eq!((kendalls_w(&[]), kendalls_w(&[&[1.0, 2.0]])), (None, None));
    }

    #[test]
    fn exact_intervals_are_scipys() {
        // scipy 1.17.1: stats.binomtest(k, n).proportion_ci(method="exact")
        for (n_found, n, expected) in [
            (3, 50, (0.012_548_6, 0.165_481_9)),
            (0, 20, (0.0, 0.168_433_5)),
            (7, 7, (0.590_384_0, 1.0)),
        ] {
            let (low, high) = exact_share_interval(n_found, n).unwrap();
            assert!(
                (low - expected.0).abs() < 1e-5 && (high - expected.1).abs() < 1e-5,
                "{low} {high}"
            );
        }
        assert_eq!(exact_share_interval(0, 0), None);
    }

    #[test]
    fn kinds_of_items_count_by_their_numbers() {
        let stratum = |n_items, n_decided, n_found| Stratum {
            n_items,
            n_decided,
            n_found,
        };
        let (share, (low, high)) = stratified_share(stratum(50, 50, 20), stratum(950, 100, 2)).unwrap();
        assert!((share - (20.0 + 0.02 * 950.0) / 1000.0).abs() < 1e-12);
        let (least, most) = exact_share_interval(2, 100).unwrap();
        assert!((low - (0.02 + 0.95 * least)).abs() < 1e-12 && (high - (0.02 + 0.95 * most)).abs() < 1e-12);
        // what nobody has decided may be either
        let (_, (with_open, to)) = stratified_share(stratum(50, 40, 20), stratum(950, 100, 2)).unwrap();
        assert!((with_open - low).abs() < 1e-12 && (to - high - 0.01).abs() < 1e-12);
        assert_eq!(stratified_share(stratum(50, 50, 20), stratum(950, 0, 0)), None);
        assert_eq!(
            stratified_share(stratum(0, 0, 0), stratum(10, 10, 1)),
            Some((0.1, (0.1, 0.1)))
        );
    }

    #[test]
    fn clusters_widen_the_interval_of_a_share() {
        let width = |clusters: &[(usize, usize)]| {
            let (low, high) = clustered_share_interval(clusters).unwrap();
            high - low
        };
        let (low, high) = share_interval(100, 200).unwrap();
        let alike: Vec<(usize, usize)> = (0..20).map(|nth| (4 + nth % 3, 10)).collect();
        let apart: Vec<(usize, usize)> = (0..20).map(|nth| (10 * (nth % 2), 10)).collect();
        assert!(width(&alike) >= high - low && width(&alike) < 1.1 * (high - low));
        assert!(width(&apart) > 2.5 * (high - low));
        let (low, high) = clustered_share_interval(&[(10, 10); 20]).unwrap();
        assert!(low > 0.8 && low < 0.83 && high == 1.0, "{low}"); // 20 clusters count as 20 items
        assert_eq!(clustered_share_interval(&[(3, 9), (0, 0)]), None);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(mid_ranks(&[0.3, 0.9, 0.3, 0.1]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn shares_have_wilsons_interval() {
        // scipy 1.17.1: stats.binomtest(k, n).proportion_ci(method="wilson")
        for (n_found, n, expected) in [
            (3, 50, (0.020_614_970_348_973_957, 0.162_170_916_888_381_7)),
            (0, 20, (0.0, 0.161_125_158_052_819_35)),
            (7, 7, (0.645_669_564_933_312_6, 1.0)),
        ] {
            let (low, high) = share_interval(n_found, n).unwrap();
            assert!(
                (low - expected.0).abs() < 1e-12 && (high - expected.1).abs() < 1e-12,
                "{low} {high}"
            );
        }
        assert_eq!(share_interval(0, 0), None);
    }
}
