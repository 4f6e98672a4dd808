//! How far rankings agree: Kendall's tau-b of two, Kendall's W of several, and rankings that combine several.

mod combined;
mod line;

pub use combined::{Combined, Method, Sensitivity, combine, left_out, standings, weak_entry};
pub use line::{Line, fitted_line};

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
    const DEVIATE: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return None;
    }
    let (share, n_items) = (n_found as f64 / n as f64, n as f64);
    let squared = DEVIATE * DEVIATE;
    let middle = (share + squared / (2.0 * n_items)) / (1.0 + squared / n_items);
    let spread = share * (1.0 - share) / n_items + squared / (4.0 * n_items * n_items);
    let half = DEVIATE * spread.sqrt() / (1.0 + squared / n_items);
    let low = if n_found == 0 { 0.0 } else { middle - half };
    let high = if n_found == n { 1.0 } else { middle + half };
    Some((low, high))
}

#[cfg(test)]
#[allow(clippy::float_cmp, clippy::unwrap_used, reason = "exact values are expected")]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) -> bool {
        (found.unwrap() - expected).abs() < 1e-14
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
