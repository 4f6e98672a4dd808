//! Intervals of scores, and of differences of scores.

use super::percentiles::ROUNDING;

/// The interval of a score, a share such as accuracy or F1, with 95 % confidence; `None` without draws.
///
/// It is Agresti and Coull's interval of a share of as many items as the variance of the draws implies, with Student's quantile for
/// one degree of freedom less than `smallest`. Percentiles of the draws would hold less than they promise if few items are wrong:
/// for an entry that is right on all items, every draw is right as well.
///
/// # Shapes and units
/// `deviations`: `(n_draws,)`, the score under each draw minus the score. `smallest`: the number of items of the smallest class, or
/// of clusters if these are drawn. Scores of which less is better are given negated, as -1 to 0.
///
/// # Source
/// Agresti, A. and Coull, B. A. (1998), "Approximate is better than `exact` for interval estimation of binomial proportions", The American
/// Statistician 52; with the effective number of items as in Korn, E. L. and Graubard, B. I. (1998), "Confidence intervals for
/// proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24.
pub fn score_interval(score: f64, deviations: &[f32], smallest: usize) -> Option<(f64, f64)> {
    if deviations.is_empty() {
        return None;
    }
    if score < 0.0 {
        let turned: Vec<f32> = deviations.iter().map(|deviation| -deviation).collect();
        let (low, high) = score_interval(-score, &turned, smallest)?;
        return Some((-high, -low));
    }
    let n_draws = deviations.len() as f64;
    let mean = deviations.iter().copied().map(f64::from).sum::<f64>() / n_draws;
    let squares = deviations
        .iter()
        .map(|&deviation| (f64::from(deviation) - mean).powi(2));
    let variance = squares.sum::<f64>() / (n_draws - 1.0).max(1.0);
    let t = student(smallest.saturating_sub(1).max(1));
    if score > 1.0 {
        let half = t * variance.sqrt();
        return Some((score - half, score + half));
    }
    let of_share = score * (1.0 - score);
    // if all draws are equal, they do not tell the effective number of items
    let n_items = if variance > 1e-12 && of_share > 0.0 {
        of_share / variance
    } else {
        smallest as f64
    };
    let n_more = n_items + t * t;
    let middle = (score * n_items + t * t / 2.0) / n_more;
    let half = t * (middle * (1.0 - middle) / n_more).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// The interval of the difference of two scores with 95 % confidence: Student's, with the standard error over the draws. `None` with 0 degrees of
/// freedom, and where the difference is the same under all draws, which say nothing of it then.
///
/// # Shapes and units
/// `deviations`: of each of the two `(n_draws,)`, the score under each draw minus the score. `degrees`: as
/// [`degrees_of_freedom`](super::degrees_of_freedom).
pub fn difference_interval(difference: f64, deviations: [&[f32]; 2], degrees: usize) -> Option<(f64, f64)> {
    let pairs = || {
        deviations[0]
            .iter()
            .zip(deviations[1])
            .map(|(one, other)| (f64::from(*one), f64::from(*other)))
    };
    let n_draws = pairs().count();
    if degrees == 0 || n_draws < 2 {
        return None;
    }
    let mean = pairs().map(|(one, other)| one - other).sum::<f64>() / n_draws as f64;
    let squares = pairs()
        .map(|(one, other)| (one - other - mean).powi(2))
        .sum::<f64>();
    let of_both: f64 = pairs().map(|(one, other)| one * one + other * other).sum();
    if squares <= ROUNDING * of_both {
        return None;
    }
    let half = student(degrees) * (squares / (n_draws - 1) as f64).sqrt();
    Some((difference - half + 0.0, difference + half + 0.0)) // + 0.0 makes -0 a 0
}

/// The 97.5 % quantile of Student's distribution, within 0.001 from nine degrees of freedom on.
///
/// # Source
/// Abramowitz, M. and Stegun, I. A. (1964), "Handbook of Mathematical Functions", 26.7.5.
pub(crate) fn student(degrees: usize) -> f64 {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, z2) = (degrees as f64, Z * Z);
    let terms = [
        (z2 + 1.0) / 4.0,
        ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
    ];
    Z * (1.0 + terms[0] / n + terms[1] / (n * n) + terms[2] / (n * n * n))
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;

    /// Draws with this standard deviation.
    fn deviations(standard: f64) -> Vec<f32> {
        (0..1000)
            .map(|draw| (if draw % 2 == 0 { standard } else { -standard }) as f32)
            .collect()
    }

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (degrees, expected) in [(9, 2.262), (19, 2.093), (49, 2.010), (1_000_000, 1.960)] {
            assert!(
                (student(degrees) - expected).abs() < 1e-3,
                "{degrees}: {}",
                student(degrees)
            );
        }
    }

    #[test]
    fn score_intervals_match_agresti_and_coull() {
        // Agresti and Coull for 80 of 100 with 1.96: .711 to .867
        let (low, high) = score_interval(0.8, &deviations(0.04), 1_000_000).expect("draws");
        assert!(
            (low - 0.7112).abs() < 1e-3 && (high - 0.8666).abs() < 1e-3,
            "{low} {high}"
        );
        let (wider, _) = score_interval(0.8, &deviations(0.04), 20).expect("draws");
        assert!(wider < low - 0.004, "{wider}");
        assert_eq!(score_interval(0.5, &[], 20), None);
    }

    #[test]
    fn a_perfect_score_is_not_certain() {
        let (low, high) = score_interval(1.0, &deviations(0.0), 50).expect("draws");
        assert!(low > 0.9 && low < 0.95 && high == 1.0, "{low} {high}");
        let (low, high) = score_interval(0.0, &deviations(0.0), 50).expect("draws");
        assert!(low == 0.0 && high > 0.05 && high < 0.1, "{low} {high}");
    }

    #[test]
    fn less_is_better_with_signs_turned_round() {
        let plain = score_interval(0.3, &deviations(0.05), 50).expect("draws");
        let turned = score_interval(-0.3, &deviations(0.05), 50).expect("draws");
        assert_eq!(turned, (-plain.1, -plain.0));
    }

    #[test]
    fn a_difference_has_the_interval_of_student() {
        let (wide, narrow) = (deviations(0.05), deviations(0.01));
        let (low, high) = difference_interval(0.1, [&wide, &narrow], 19).expect("draws");
        let half = 2.093 * 0.04;
        assert!((low - (0.1 - half)).abs() < 1e-3 && (high - (0.1 + half)).abs() < 1e-3);
        let turned = difference_interval(-0.1, [&narrow, &wide], 19);
        assert_eq!(turned, Some((-high, -low)));
        let (wider, _) = difference_interval(0.1, [&wide, &narrow], 9).expect("draws");
        assert!(wider < low, "fewer items tell less");
        assert_eq!(difference_interval(0.1, [&wide, &wide], 19), None);
        assert_eq!(difference_interval(0.1, [&wide, &narrow], 0), None);
        assert_eq!(difference_interval(0.1, [&[], &[]], 19), None);
    }
}
