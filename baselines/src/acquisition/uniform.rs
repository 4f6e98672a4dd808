//! The same money for every seller.

use super::Offer;

/// What an equal share of the budget buys from each seller.
///
/// # Source
/// Paper, 2.3.4, UNIFORM.
pub fn buy(offers: &[Offer], budget: f64) -> Vec<usize> {
    let share = budget / offers.len() as f64;
    offers.iter().map(|offer| offer.affordable(share)).collect()
}
