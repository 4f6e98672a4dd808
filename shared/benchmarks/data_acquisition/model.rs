//! The frozen model: the predictions of the buyer's model in each market.

use rayon::prelude::*;

use super::features_file;
use super::frozen::{Frozen, N_CLASSES};
use super::metric::{COST, N_BOUGHT};
use super::validation::Bought;
use dataperf::dataset::frozen::{FrozenError, ReadRows};
use dataperf::evidence::{Repeats, UnitEvidence};
use dataperf_numerics::models::FitError;
use dataperf_numerics::numbers::Stored;

/// The predicted labels of the buyer's rows in one market, for the model of each trial. `read` are the rows of [`Bought::rows`].
pub(super) fn evidence(
    bought: &Bought,
    frozen: &Frozen,
    read: &ReadRows,
) -> Result<(String, UnitEvidence), FrozenError> {
    let market = frozen.market_data(bought.market)?;
    let n_features = market.buyer_features.ncols();
    let trial = |x: &mut Stored, rows: &Vec<u32>| {
        x.clear();
        for row in rows {
            x.extend(read.row(bought.rows.partition_point(|known| known < row)));
        }
        let labels: Vec<usize> = rows
            .iter()
            .map(|&row| market.labels[row as usize].into())
            .collect();
        let predicted = frozen
            .buyer_model()
            .predict(x.view(), &labels, market.buyer_features.view());
        let damaged =
            |error: FitError| FrozenError::damaged(&features_file(bought.market), error.to_string());
        let predicted = predicted.map_err(damaged)?;
        Ok(predicted.into_iter().map(|class| class as u8).collect())
    };
    // working memory is allocated once a thread: fresh pages for each trial would cost as much as copying the rows into them
    let n_rows = bought.trials.iter().map(Vec::len).max().unwrap_or(0);
    let n_trials = bought.trials.len().div_ceil(rayon::current_num_threads()).max(1);
    let chunks: Result<Vec<Vec<Vec<u8>>>, FrozenError> = bought
        .trials
        .par_chunks(n_trials)
        .map(|trials| {
            let mut x = Stored::with_capacity(market.encoding, n_rows * n_features);
            trials.iter().map(|rows| trial(&mut x, rows)).collect()
        })
        .collect();
    let trials = Repeats::Trials(bought.trials.len() as u32);
    let predicted = chunks?.concat().concat();
    let unit = UnitEvidence::new(trials, market.buyer_labels.len(), N_CLASSES, predicted)
        .with_count(N_BOUGHT, bought.trials.first().map_or(0, Vec::len))
        .with_amount(COST, bought.cost);
    Ok((bought.market.to_string(), unit))
}
