//! The baselines of `acquisition`: those of Data Acquisition, applied to one market.

use std::collections::BTreeMap;

use dataperf::benchmark::dataset::Dataset;
use dataperf::progress::Progress;
use dataperf_baselines::acquisition::price_per_gain;
use dataperf_baselines::random::Random;
use dataperf_baselines::{BaselineError, Baselines, Made, Method, no_such_method};
use serde_json::json;

use super::{Acquisition, Parameters, summary_file};
use crate::data_acquisition::baselines::{METHODS, bought, offer};

impl Baselines for Acquisition {
    const METHODS: &'static [Method] = METHODS;

    async fn artifact(
        dataset: &Dataset<Self>,
        _leaderboard: &str,
        method: &str,
        seed: u32,
        _progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let mut offers = Vec::new();
        for (idx, seller) in parameters.sellers.iter().enumerate() {
            offers.push(offer(dataset, &summary_file(idx), seller.n_rows, seller.price).await?);
        }
        let bought = bought(method, &offers, parameters.budget, &mut Random::new(seed));
        let bought = bought.ok_or_else(|| no_such_method::<Self>(method))?;
        let named = parameters.sellers.iter().map(|seller| seller.name.as_str());
        let counts: BTreeMap<&str, usize> = named.zip(bought).collect();
        let gains = price_per_gain::expected_gains(&offers);
        Made::new(&json!({ "counts": counts }), json!({ "expected_gains": gains }))
    }
}
