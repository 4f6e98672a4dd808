//! A market: its sellers and budget, the rows that trials sample, and what they cost.

use num_rational::BigRational;
use serde::{Deserialize, Serialize};

use dataperf_numerics::models::mt19937::Mt19937;

/// One market.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Market {
    /// The most that the samples of a market may cost.
    pub budget: f64,
    /// The number of decimals of the features if they are stored as whole numbers, else `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_decimals: Option<u32>,
    /// The sellers, by their numbers from 0.
    pub sellers: Vec<Seller>,
}

/// One seller of a market. `k` of its rows cost `max_price * k / n_rows`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seller {
    /// The number of rows that the seller has.
    pub n_rows: usize,
    /// The price of all of the seller's rows.
    pub max_price: f64,
}

/// The rows of each trial: the sellers in numeric order, each sampled with replacement from one stream.
///
/// # Source
/// `numpy.random.RandomState(seed).choice(n_rows, size=count, replace=True)`, trial after trial.
pub(crate) fn sample(seed: u32, n_trials: usize, market: &Market, counts: &[usize]) -> Vec<Vec<u32>> {
    let mut generator = Mt19937::new(seed);
    let mut trial = || {
        let mut rows = Vec::with_capacity(counts.iter().sum());
        let mut first = 0;
        for (seller, &count) in market.sellers.iter().zip(counts) {
            rows.extend(
                generator
                    .choice(seller.n_rows as u32, count)
                    .into_iter()
                    .map(|row| first + row),
            );
            first += seller.n_rows as u32;
        }
        rows
    };
    (0..n_trials).map(|_| trial()).collect()
}

/// The cost of the counts as a float, for messages and metrics; [`overshoot`] decides exactly.
pub(crate) fn cost(market: &Market, counts: &[usize]) -> f64 {
    let parts = market.sellers.iter().zip(counts);
    parts
        .map(|(seller, &count)| seller.max_price * count as f64 / seller.n_rows as f64)
        .sum()
}

/// By how much the counts exceed the budget, computed exactly from prices and budget as the decimals that they are written as.
/// `None` if they are within it.
pub(crate) fn overshoot(market: &Market, counts: &[usize]) -> Option<f64> {
    let mut over = -decimal(market.budget)?;
    for (seller, &count) in market.sellers.iter().zip(counts) {
        let share = BigRational::new(count.into(), seller.n_rows.max(1).into());
        over += decimal(seller.max_price)? * share;
    }
    let is_over = over > BigRational::from_integer(0.into());
    is_over.then(|| quotient(&over))
}

fn quotient(exact: &BigRational) -> f64 {
    let scaled = (exact * BigRational::from_integer(1_000_000.into()))
        .ceil()
        .to_integer();
    scaled.to_string().parse::<f64>().unwrap_or(f64::INFINITY) / 1e6
}

/// The exact decimal that a float is written as; `None` if it is not finite.
fn decimal(float: f64) -> Option<BigRational> {
    let text = float.to_string(); // the shortest decimal, never with an exponent
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let denominator = format!("1{}", "0".repeat(fraction.len()));
    Some(BigRational::new(
        format!("{whole}{fraction}").parse().ok()?,
        denominator.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market(budget: f64, sellers: &[(usize, f64)]) -> Market {
        let sellers = sellers
            .iter()
            .map(|&(n_rows, max_price)| Seller { n_rows, max_price });
        Market {
            budget,
            n_decimals: None,
            sellers: sellers.collect(),
        }
    }

    #[test]
    fn spending_the_whole_budget_is_allowed() {
        // summed as floats, three times 0.1 is more than 0.3
        let of_tenths = market(0.3, &[(10, 1.0), (10, 1.0), (10, 1.0)]);
        assert!(cost(&of_tenths, &[1, 1, 1]) > 0.3);
        assert_eq!(overshoot(&of_tenths, &[1, 1, 1]), None);
        assert_eq!(
            overshoot(&market(1.0, &[(3, 1.0), (3, 1.0), (3, 1.0)]), &[1, 1, 1]),
            None
        );
        // a price of a row that is too high by a millionth is over the budget
        assert_eq!(overshoot(&market(0.3, &[(10, 1.000_001)]), &[3]), Some(1e-6));
        assert_eq!(
            overshoot(&market(150.0, &[(1000, 100.0), (500, 100.0)]), &[1000, 251]),
            Some(0.2)
        );
    }
}
