//! A submitted program's view of a market: the sellers' prices and summaries under numbers.

use serde_json::{Value, json};

use super::{Acquisition, Parameters, summary_file};
use crate::closed::{Ids, csv_file, document};
use crate::data_acquisition::closed::summary;
use dataperf::benchmark::closed::{ClosedTask, Seed, each_member};
use dataperf::dataset::{DatasetError, Files};

/// Programs that buy examples.
pub struct ClosedBoards;

impl dataperf::benchmark::closed::ClosedBoards for ClosedBoards {
    async fn task(files: &Files<'_>, leaderboard: &str, seed: Seed) -> Result<ClosedTask, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let order = seed.order("sellers", parameters.sellers.len());
        let (mut lines, mut sellers) = (Vec::new(), Vec::new());
        for (number, &idx) in order.iter().enumerate() {
            let mut summary = summary(files, &summary_file(idx)).await?;
            if let Value::Object(members) = &mut summary {
                members.insert("seller".into(), number.to_string().into()); // it says the seller's name
            }
            sellers.push(summary);
            let seller = &parameters.sellers[idx];
            lines.push(vec![
                number.to_string(),
                seller.n_rows.to_string(),
                seller.price.to_string(),
            ]);
        }
        let question = json!({
            "budget": parameters.budget, "n_trials": parameters.n_trials, "classes": parameters.scoring.classes,
            "model": parameters.scoring.model, "metric": parameters.scoring.metric, "sellers": sellers,
        });
        let given = vec![
            document::<Acquisition>(leaderboard, question),
            csv_file("sellers", &["seller", "n_rows", "price"], lines.into_iter())?,
        ];
        let names = order.iter().map(|&idx| parameters.sellers[idx].name.clone());
        let names = Ids::new("sellers.csv", names.collect());
        Ok(ClosedTask {
            files: given,
            translate: Box::new(move |artifact, reasons| {
                each_member(artifact, "", |key, value, at| match key {
                    "counts" => names.keys(value, at, reasons),
                    _ => value,
                })
            }),
        })
    }
}
