//! Data Acquisition.

use std::collections::BTreeMap;

use dataperf::benchmarks::data_acquisition::{DataAcquisition, Parameters};
use dataperf::dataset::Dataset;
use dataperf::frozen::FrozenError;
use dataperf::ports::bucket::Bucket;
use dataperf::progress::Progress;
use serde::Deserialize;
use serde_json::json;

use crate::acquisition::{Offer, price_per_gain, single_seller, uniform};
use crate::method::no_such_method;
use crate::random::Random;
use crate::{BaselineError, Baselines, Made, Method};

/// What is read of a seller's public summary.
#[derive(Deserialize)]
struct Summary {
    features: Features,
}

#[derive(Deserialize)]
struct Features {
    correlation: Vec<Option<f64>>,
}

impl Baselines for DataAcquisition {
    const METHODS: &'static [Method] = &[
        Method {
            name: "fixed-seller",
            about: "as much as the budget buys from the first seller",
            source: "paper, 2.3.4 and Table 3, FSS",
        },
        Method {
            name: "random-seller",
            about: "as much as the budget buys from one random seller a market",
            source: "paper, 2.3.4 and Table 3, RSS",
        },
        Method {
            name: "uniform",
            about: "the same money for every seller",
            source: "paper, 2.3.4 and Table 3, UNIFORM",
        },
        Method {
            name: "price-per-gain",
            about: "more money for sellers whose public summaries agree with the others'",
            source: "own, on the public summaries",
        },
    ];

    async fn artifact<S: Bucket>(
        dataset: &Dataset<Self, S>,
        _leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let mut random = Random::new(seed);
        let mut counts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut gains: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        progress.begin("markets", parameters.markets.len() as u64);
        for (&number, market) in &parameters.markets {
            let mut offers = Vec::new();
            for (seller_idx, seller) in market.sellers.iter().enumerate() {
                let path = format!("public/{number}/{seller_idx}.json");
                let summary = dataset.file(&path).await?;
                let summary: Summary = serde_json::from_slice(&summary)
                    .map_err(|error| FrozenError::damaged(&path, error.to_string()))?;
                let correlations = summary.features.correlation.into_iter();
                offers.push(Offer {
                    n_rows: seller.n_rows,
                    max_price: seller.max_price,
                    correlations: correlations.map(Option::unwrap_or_default).collect(),
                });
            }
            let bought = match method {
                "fixed-seller" => single_seller::fixed(&offers, market.budget),
                "random-seller" => single_seller::random(&offers, market.budget, &mut random),
                "uniform" => uniform::buy(&offers, market.budget),
                "price-per-gain" => price_per_gain::buy(&offers, market.budget),
                _ => return Err(no_such_method::<Self>(method)),
            };
            counts.insert(number, bought);
            gains.insert(number, price_per_gain::expected_gains(&offers));
            progress.advance(1);
        }
        Made::new(&counts, json!({ "expected_gains": gains }))
    }
}
