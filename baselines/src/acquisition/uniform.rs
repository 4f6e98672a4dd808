//! A method that spends the same amount of money on every seller.

use super::Offer;

/// As many rows of each seller as an equal share of the budget buys.
///
/// # Source
/// Paper, 2.3.4, UNIFORM.
pub fn buy(offers: &[Offer], budget: f64) -> Vec<usize> {
    let share = budget / offers.len() as f64;
    offers.iter().map(|offer| offer.affordable(share)).collect()
}
