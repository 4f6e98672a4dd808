//! The baselines of Data Acquisition. They work on one market at a time; `acquisition` of own data uses them as well.

use std::collections::BTreeMap;

use crate::data_acquisition::{DataAcquisition, Parameters, seller_file};
use dataperf::Benchmark;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::frozen::FrozenError;
use dataperf::progress::Progress;
use serde::Deserialize;
use serde_json::json;

use dataperf_baselines::acquisition::{Offer, price_per_gain, single_seller, uniform};
use dataperf_baselines::no_such_method;
use dataperf_baselines::random::Random;
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

/// The fields of a seller's public summary that the baselines read.
#[derive(Deserialize)]
struct Summary {
    features: Features,
}

#[derive(Deserialize)]
struct Features {
    correlation: Vec<Option<f64>>,
}

/// The baseline methods, which `acquisition` of own data offers as well.
pub(crate) const METHODS: &[Method] = &[
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

/// The number of rows that a method buys from each seller of one market; `None` for a name that is no method.
pub(crate) fn bought(method: &str, offers: &[Offer], budget: f64, random: &mut Random) -> Option<Vec<usize>> {
    Some(match method {
        "fixed-seller" => single_seller::fixed(offers, budget),
        "random-seller" => single_seller::random(offers, budget, random),
        "uniform" => uniform::buy(offers, budget),
        "price-per-gain" => price_per_gain::buy(offers, budget),
        _ => return None,
    })
}

/// Reads a seller's public summary and returns what the methods need of it.
pub(crate) async fn offer<B: Benchmark>(
    dataset: &Dataset<B>,
    summary: &str,
    n_rows: usize,
    max_price: f64,
) -> Result<Offer, BaselineError> {
    let summary_one: Summary = serde_json::from_slice(&dataset.files().whole(summary).await?)
        .map_err(|error| FrozenError::damaged(summary, error.to_string()))?;
    let correlations = summary_one.features.correlation.into_iter();
    Ok(Offer {
        n_rows,
        max_price,
        correlations: correlations.map(Option::unwrap_or_default).collect(),
    })
}

impl Baselines for DataAcquisition {
    const METHODS: &'static [Method] = METHODS;

    async fn artifact(
        dataset: &Dataset<Self>,
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
                let summary = seller_file(number, seller_idx);
                offers.push(offer(dataset, &summary, seller.n_rows, seller.max_price).await?);
            }
            let bought = bought(method, &offers, market.budget, &mut random);
            let bought = bought.ok_or_else(|| no_such_method::<Self>(method))?;
            counts.insert(number, bought);
            gains.insert(number, price_per_gain::expected_gains(&offers));
            progress.advance(1);
        }
        Made::new(&counts, json!({ "expected_gains": gains }))
    }
}
