//! Random numbers, and the true accuracy of simulated models.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Between 0 and 1.
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
pub(crate) fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The share of all items that a model with this ability gets right. Difficulties of items are standard normal.
pub(crate) fn expected(ability: f64) -> f64 {
    let points = (-60..=60).map(|point| f64::from(point) / 10.0);
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() / 10.0;
    points.map(|x| sigmoid(ability - x) * density(x)).sum()
}
