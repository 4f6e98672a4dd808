//! A submitted program's view of each market: the budget, and the price and summary of each seller.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{DataAcquisition, Parameters, seller_file};
use crate::closed::{csv_file, document, json_file};
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::frozen::FrozenError;
use dataperf::dataset::{DatasetError, Files};
use dataperf::formats::json::Json;

/// Programs that buy samples.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let markets: Vec<String> = parameters.markets.keys().map(u32::to_string).collect();
        let question = json!({ "markets": markets, "buyer_model": parameters.buyer_model, "n_trials": parameters.n_trials });
        let mut given = vec![document::<DataAcquisition>(leaderboard, question)];
        let mut lines = Vec::new();
        let mut orders = BTreeMap::new();
        for (&market, of_market) in &parameters.markets {
            let order = seed.order(&format!("sellers of {market}"), of_market.sellers.len());
            let mut sellers = Vec::new();
            for (number, &idx) in order.iter().enumerate() {
                let mut summary = summary(files, &seller_file(market, idx)).await?;
                if let Value::Object(members) = &mut summary {
                    members.insert("seller".into(), number.into());
                }
                sellers.push(summary);
                let seller = &of_market.sellers[idx];
                lines.push(vec![
                    market.to_string(),
                    number.to_string(),
                    seller.n_rows.to_string(),
                    seller.max_price.to_string(),
                    of_market.budget.to_string(),
                ]);
            }
            let document =
                json!({ "market": market.to_string(), "budget": of_market.budget, "sellers": sellers });
            given.push(json_file(&format!("market-{market}.json"), &document));
            orders.insert(market.to_string(), order);
        }
        let header = ["market", "seller", "n_rows", "max_price", "budget"];
        given.push(csv_file("sellers", &header, lines.into_iter())?);
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, _| {
                each_member(artifact, "", |market, counts, _| match orders.get(market) {
                    Some(order) => in_their_order(counts, order),
                    None => counts,
                })
            }),
        })
    }
}

/// Reads a seller's public summary.
pub(crate) async fn summary(files: &Files<'_>, path: &str) -> Result<Value, DatasetError> {
    let summary = serde_json::from_slice(&files.whole(path).await?);
    Ok(summary.map_err(|error| FrozenError::damaged(path, error.to_string()))?)
}

/// Brings a market's counts into the order of its sellers. A list of the wrong length is returned unchanged, for the ordinary rules
/// to refuse.
fn in_their_order(counts: Json, order: &[usize]) -> Json {
    let Json::Array(items) = counts else {
        return counts;
    };
    if items.len() != order.len() {
        return Json::Array(items);
    }
    let mut of_sellers: Vec<(usize, Json)> = order.iter().copied().zip(items).collect();
    of_sellers.sort_by_key(|(seller, _)| *seller);
    Json::Array(of_sellers.into_iter().map(|(_, count)| count).collect())
}
