//! Methods that buy everything from one seller.

use super::Offer;
use crate::random::Random;

/// As many rows as the budget buys, from a random seller.
///
/// # Source
/// Paper, 2.3.4, RSS.
pub fn random(offers: &[Offer], budget: f64, random: &mut Random) -> Vec<usize> {
    from(offers, budget, random.below(offers.len()))
}

/// As many rows as the budget buys, from the first seller.
///
/// # Source
/// Paper, 2.3.4, FSS.
pub fn fixed(offers: &[Offer], budget: f64) -> Vec<usize> {
    from(offers, budget, 0)
}

fn from(offers: &[Offer], budget: f64, chosen: usize) -> Vec<usize> {
    let count = |(seller, offer): (usize, &Offer)| {
        if seller == chosen {
            offer.affordable(budget)
        } else {
            0
        }
    };
    offers.iter().enumerate().map(count).collect()
}
