//! A method that spends more money on sellers whose summaries promise more.

use super::Offer;

/// The number of rounds in which the agreement of the sellers is computed again; it settles after a few.
const N_ROUNDS: usize = 20;

/// Divides the budget so that each seller gets money in proportion to the square of its expected gain times the number of its rows
/// that a unit of money buys.
///
/// A seller's expected gain measures how far its features' correlations with the label agree with
/// those of all sellers: their mean, weighted by size and by that agreement itself, in a few
/// rounds. Noise in the labels shortens a seller's correlations, another task turns them away, and
/// both lower its gain. Without any agreement all sellers get the same.
///
/// # Source
/// Own. The paper asks for methods that use the public summaries (2.3.4) and gives none.
pub fn buy(offers: &[Offer], budget: f64) -> Vec<usize> {
    let gains = expected_gains(offers);
    let weight = |(offer, gain): (&Offer, &f64)| gain * gain * offer.n_rows as f64 / offer.max_price;
    let weights: Vec<f64> = offers.iter().zip(&gains).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    if !sum.is_finite() || sum <= 0.0 {
        return super::uniform::buy(offers, budget);
    }
    let counts = offers.iter().zip(&weights);
    counts
        .map(|(offer, weight)| offer.affordable(budget * (weight / sum)))
        .collect()
}

/// The expected gain of each seller, 0 or more.
pub fn expected_gains(offers: &[Offer]) -> Vec<f64> {
    let n_features = offers
        .iter()
        .map(|offer| offer.correlations.len())
        .max()
        .unwrap_or(0);
    let mut gains = vec![1.0; offers.len()];
    for _ in 0..N_ROUNDS {
        let mut common = vec![0.0; n_features];
        for (offer, gain) in offers.iter().zip(&gains) {
            let weight = gain * (offer.n_rows as f64).sqrt();
            let both = common.iter_mut().zip(&offer.correlations);
            both.for_each(|(sum, correlation)| *sum += weight * correlation);
        }
        let norm = dot(&common, &common).sqrt();
        if norm == 0.0 {
            return gains;
        }
        for (gain, offer) in gains.iter_mut().zip(offers) {
            *gain = (dot(&common, &offer.correlations) / norm).max(0.0);
        }
    }
    gains
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(correlations: &[f64], max_price: f64) -> Offer {
        Offer {
            n_rows: 1000,
            max_price,
            correlations: correlations.to_vec(),
        }
    }

    #[test]
    fn buys_more_in_cheap_markets_with_agreeing_labels() {
        let offers = [
            offer(&[0.5, 0.3, 0.0], 100.0),
            offer(&[0.5, 0.3, 0.0], 50.0),    // the same for half the price
            offer(&[0.25, 0.15, 0.0], 100.0), // noisy labels
            offer(&[0.0, 0.0, 0.5], 100.0),   // another task
            offer(&[-0.5, -0.3, 0.0], 100.0), // labels the wrong way round
        ];
        let counts = buy(&offers, 60.0);
        assert!(counts[1] > counts[0] && counts[0] > 2 * counts[2], "{counts:?}");
        assert!(counts[3] < counts[2] && counts[4] == 0, "{counts:?}");
        let cost: f64 = counts
            .iter()
            .zip(&offers)
            .map(|(&n, o)| o.max_price * n as f64 / 1000.0)
            .sum();
        assert!(cost <= 60.0 && cost > 55.0, "{cost}");
    }

    #[test]
    fn no_promise_at_all_is_uniform() {
        let offers = vec![offer(&[0.0, 0.0], 100.0); 3];
        assert_eq!(buy(&offers, 150.0), [500, 500, 500]);
    }
}
