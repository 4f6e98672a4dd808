//! Two systems against each other.

use dataperf_numerics::ranks::{Entry, difference_interval, sure_orders};
use serde::Serialize;

use crate::ranking::{Draws, WhyNone};
use crate::table::Table;

/// Below this difference two scores of a draw are the same: deviations are kept in 32 bits.
const SAME_SCORE: f64 = 1e-6;

/// A test of two systems that are equally good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// `McNemar`'s, exact: of right and wrong.
    ExactMcnemar,
    /// Student's, of paired values.
    PairedT,
}

/// How far the first of two systems is from the second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The first's name.
    pub first: String,
    /// The second's name.
    pub second: String,
    /// The first's score.
    pub first_score: f64,
    /// The second's score.
    pub second_score: f64,
    /// The first's score less the second's.
    pub difference: f64,
    /// The lower end of the difference's interval with 95 % confidence.
    pub difference_low: Option<f64>,
    /// Its upper end.
    pub difference_high: Option<f64>,
    /// The share of the draws in which the first is the better one; a draw in which both have the same score counts as half.
    pub share_first_better: f64,
    /// Which is clearly better, 1 or 2, by the rule of rank intervals for these two alone.
    pub clearly_better: Option<u8>,
    /// Items of which the first has the better value.
    pub n_items_first_better: usize,
    /// Items of which the second has the better value.
    pub n_items_second_better: usize,
    /// The test that `p_value` is of; `None` with clusters or weights, for which the interval stands alone.
    pub test: Option<Test>,
    /// The two-sided p-value.
    pub p_value: Option<f64>,
    /// Why there is no interval, where there is none.
    pub why_none: Option<WhyNone>,
}

impl Pair {
    /// Compares two systems by their places in the table.
    ///
    /// # Panics
    /// If there are no such systems.
    pub fn new(table: &Table, draws: &Draws, first: usize, second: usize) -> Self {
        let sign = draws.sign();
        let values = || {
            table.values[first]
                .iter()
                .zip(&table.values[second])
                .map(|(one, other)| sign * (one - other))
        };
        let scores = [first, second].map(|place| draws.scores()[place]);
        let difference = scores[0] - scores[1];
        let better = sign * difference;
        let deviations = [first, second].map(|place| draws.deviations(place));
        let of_draw = |(one, other): (&f32, &f32)| match better + f64::from(one - other) {
            same if same.abs() < SAME_SCORE => 0.5,
            first_less_second => f64::from(u8::from(first_less_second > 0.0)),
        };
        let points: f64 = deviations[0].iter().zip(deviations[1]).map(of_draw).sum();
        let degrees = draws.degrees(table, first, second);
        let why_none = draws
            .why_none()
            .or((degrees == 0).then_some(WhyNone::FewDifferentItems));
        let interval = difference_interval(better, deviations, degrees).filter(|_| why_none.is_none());
        let interval = interval.map(|(low, high)| {
            if sign < 0.0 {
                (0.0 - high, 0.0 - low)
            } else {
                (low, high)
            }
        });
        let constant = interval.is_none().then_some(WhyNone::ConstantDifference);
        let places = if better < 0.0 {
            [second, first]
        } else {
            [first, second]
        }; // best first
        let entries = places.map(|place| Entry {
            score: sign * draws.scores()[place],
            is_ranked: true,
            deviations: draws.deviations(place),
        });
        let is_sure = why_none.is_none() && !sure_orders(&entries, &|_, _, _| degrees).is_empty();
        let n_first = values().filter(|difference| *difference > 0.0).count();
        let n_second = values().filter(|difference| *difference < 0.0).count();
        let is_plain = table.clusters.is_none() && table.weights.is_none();
        let (test, p_value) = match (is_plain, table.is_right_or_wrong()) {
            (false, _) => (None, None),
            (true, true) => (Some(Test::ExactMcnemar), Some(exact_mcnemar(n_first, n_second))),
            (true, false) => (Some(Test::PairedT), paired_t(&values().collect::<Vec<_>>())),
        };
        Self {
            first: table.systems[first].clone(),
            second: table.systems[second].clone(),
            first_score: scores[0],
            second_score: scores[1],
            difference,
            difference_low: interval.map(|(low, _)| low),
            difference_high: interval.map(|(_, high)| high),
            share_first_better: points / deviations[0].len().max(1) as f64,
            clearly_better: is_sure.then_some(if places[0] == first { 1 } else { 2 }),
            n_items_first_better: n_first,
            n_items_second_better: n_second,
            test,
            p_value,
            why_none: why_none.or(constant),
        }
    }
}

/// The two-sided p-value of `McNemar`'s exact test, by the numbers of items of which one and the other alone is right.
fn exact_mcnemar(n_one: usize, n_other: usize) -> f64 {
    let (n, least) = (n_one + n_other, n_one.min(n_other) as f64);
    // the binomial distribution's function at `least`, of `n` fair coins
    (2.0 * incomplete_beta(n as f64 - least, least + 1.0, 0.5)).min(1.0)
}

/// The two-sided p-value of Student's test that the mean of these differences is 0; `None` where all are the same.
fn paired_t(differences: &[f64]) -> Option<f64> {
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let squares: f64 = differences
        .iter()
        .map(|difference| (difference - mean).powi(2))
        .sum();
    let scale: f64 = differences.iter().map(|difference| difference.powi(2)).sum();
    if n < 2.0 || squares <= 1e-24 * scale {
        return None;
    }
    let degrees = n - 1.0;
    let t2 = mean * mean * n * degrees / squares;
    Some(incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t2)))
}

/// The regularized incomplete beta function, to some 13 digits.
///
/// # Source
/// Its continued fraction: NIST Digital Library of Mathematical Functions, 8.17.22, summed by the method of Lentz (1976), "Generating
/// Bessel functions in Mie scattering calculations using continued fractions", Applied Optics 15.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MAX_TERMS: usize = 100_000;
    if x <= 0.0 || b <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 || a <= 0.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let of_gammas = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = (of_gammas + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut sum) = (1.0, d);
    for term in 1..MAX_TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away(1.0 + coefficient * d);
            c = away(1.0 + coefficient / c);
            last = c * d;
            sum *= last;
        }
        if (last - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_the_tables() {
        // 2 * (1 + 10 + 45) / 2^10
        assert!((exact_mcnemar(2, 8) - 0.109_375).abs() < 1e-13);
        assert!((exact_mcnemar(8, 2) - 0.109_375).abs() < 1e-13);
        assert!((exact_mcnemar(0, 6) - 2.0 / 64.0).abs() < 1e-14);
        assert!((exact_mcnemar(5, 5) - 1.0).abs() < 1e-12 && (exact_mcnemar(0, 0) - 1.0).abs() < 1e-12);
        // mean 1, standard deviation 2, 9 values: t = 1.5 with 8 degrees
        let spread = [-1.0, 3.0, -1.0, 3.0, -1.0, 3.0, -1.0, 3.0, 1.0];
        let p = paired_t(&spread).expect("they differ");
        assert!((p - 0.172_010).abs() < 1e-5, "{p}");
        assert_eq!(paired_t(&[0.5; 9]), None);
    }
}
