//! The frozen part, and the frozen model that the buyer trains.

use std::collections::BTreeMap;

use bytes::Bytes;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::market::sample;
use super::metric::{COST, N_BOUGHT};
use super::validation::Bought;
use super::{FEATURES, LABELS, Market, Parameters, buyer_file, features_file, labels_file};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{Repeats, UnitEvidence};
use dataperf::frozen::{FrozenError, ReadRows, TensorEntry};
use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_stumps::BoostedStumps;
use dataperf_numerics::models::k_nearest::KNearest;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::numbers::{Encoding, Numbers, Stored};

/// Labels are 0 and 1.
pub(super) const N_CLASSES: usize = 2;
/// Neighbours of [`BuyerModel::Knn`].
const N_NEIGHBORS: usize = 9;
/// Stumps of [`BuyerModel::GradientBoosting`].
const N_STUMPS: usize = 100;

/// The model that the buyer trains: scikit-learn 1.2.2's, with the public evaluator's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuyerModel {
    /// `LogisticRegression(random_state=0)`.
    LogisticRegression,
    /// `KNeighborsClassifier(n_neighbors=9)`.
    Knn,
    /// `GradientBoostingClassifier(n_estimators=100, learning_rate=1.0, max_depth=1, random_state=0)`.
    GradientBoosting,
}

impl BuyerModel {
    /// A few words for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::LogisticRegression => "a logistic regression",
            Self::Knn => "9 nearest neighbours",
            Self::GradientBoosting => "100 boosted stumps",
        }
    }

    /// The fewest rows that it can be trained on.
    pub fn min_rows(self) -> usize {
        if self == Self::Knn { N_NEIGHBORS } else { 2 }
    }

    /// Trains on `x`, `(n_rows, n_features)`, row after row, and predicts the labels of `rows`.
    fn predict(
        self,
        x: Numbers<'_>,
        labels: &[usize],
        rows: ArrayView2<f64>,
    ) -> Result<Vec<usize>, FitError> {
        if self == Self::LogisticRegression {
            return Ok(LogisticRegression::fit_stored(x, rows.ncols(), labels)?.predict(rows));
        }
        let x = Array2::from_shape_vec((labels.len(), rows.ncols()), x.to_f64());
        let x = x.map_err(|_| FitError::NoFeatures)?;
        if self == Self::Knn {
            Ok(KNearest::fit(x.view(), labels, N_NEIGHBORS)?.predict(rows))
        } else {
            Ok(BoostedStumps::fit(x.view(), labels, N_STUMPS)?.predict(rows))
        }
    }
}

/// What scoring keeps in memory: the sellers' labels and the buyer's evaluation sets.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    /// By market; `None` in a participants' kit.
    data: Option<BTreeMap<u32, MarketData>>,
}

#[derive(Debug)]
struct MarketData {
    /// How the sellers' features are stored.
    encoding: Encoding,
    labels: Bytes,
    /// `(n_buyer, n_features)`
    buyer_features: Array2<f64>,
    buyer_labels: Bytes,
}

impl Frozen {
    pub(super) async fn open(files: &Files<'_>) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let hidden = |&number: &u32| [features_file(number), labels_file(number), buyer_file(number)];
        let mut data = None;
        if parameters
            .markets
            .keys()
            .flat_map(hidden)
            .any(|path| files.has(&path))
        {
            let of_markets = data.insert(BTreeMap::new());
            for (&number, market) in &parameters.markets {
                of_markets.insert(number, MarketData::open(files, number, market).await?);
            }
        }
        Ok(Self { parameters, data })
    }

    /// The markets by number.
    pub fn markets(&self) -> &BTreeMap<u32, Market> {
        &self.parameters.markets
    }

    /// Training sets that are sampled in each market.
    pub(super) fn n_trials(&self) -> usize {
        self.parameters.n_trials
    }

    /// The model that the buyer trains.
    pub fn buyer_model(&self) -> BuyerModel {
        self.parameters.buyer_model
    }

    /// The labels of a market's eval set, `(n_buyer,)`.
    pub(super) fn buyer_labels(&self, market: u32) -> Result<&[u8], FrozenError> {
        Ok(&self.market_data(market)?.buyer_labels)
    }

    /// The labels of a market's sellers, `(n_rows,)`; `None` in a participants' kit.
    pub(super) fn labels(&self, market: u32) -> Option<&[u8]> {
        self.data.as_ref().map(|data| &data[&market].labels[..])
    }

    fn market_data(&self, market: u32) -> Result<&MarketData, FrozenError> {
        let missing = FrozenError::ForParticipants {
            missing: "sellers' rows and buyer's evaluation sets",
        };
        self.data.as_ref().map(|data| &data[&market]).ok_or(missing)
    }

    pub(super) fn trials(&self, market: &Market, counts: &[usize]) -> Vec<Vec<u32>> {
        sample(self.parameters.seed, self.parameters.n_trials, market, counts)
    }
}

impl MarketData {
    async fn open(files: &Files<'_>, number: u32, market: &Market) -> Result<Self, DatasetError> {
        let manifest = files.manifest();
        let (features_path, labels_path, buyer_path) =
            (features_file(number), labels_file(number), buyer_file(number));
        let features = manifest.any_tensor(&features_path, FEATURES)?;
        let labels = files.classes(&labels_path, LABELS).await?;
        let n_rows: usize = market.sellers.iter().map(|seller| seller.n_rows).sum();
        let &[n_features_rows, n_features] = features.shape.as_slice() else {
            return Err(FrozenError::damaged(&features_path, "its tensor is no matrix").into());
        };
        let is_whole = n_features_rows == n_rows && labels.len() == n_rows && u32::try_from(n_rows).is_ok();
        if !is_whole || labels.iter().any(|&label| label > 1) {
            let why = format!("it has not {n_rows} rows with a label of 0 or 1 each");
            return Err(FrozenError::damaged(&features_path, why).into());
        }
        let tensor = manifest.any_tensor(&buyer_path, FEATURES)?;
        let buyer_labels = files.classes(&buyer_path, LABELS).await?;
        let mut buyer_features = Stored::with_capacity(
            encoding(tensor, &buyer_path, market)?,
            buyer_labels.len() * n_features,
        );
        buyer_features.extend(&files.tensor(&buyer_path, FEATURES).await?);
        let buyer_features =
            Array2::from_shape_vec((buyer_labels.len(), n_features), buyer_features.view().to_f64())
                .map_err(|error| FrozenError::damaged(&buyer_path, error.to_string()))?;
        Ok(Self {
            encoding: encoding(features, &features_path, market)?,
            labels,
            buyer_features,
            buyer_labels,
        })
    }
}

fn encoding(tensor: &TensorEntry, path: &str, market: &Market) -> Result<Encoding, FrozenError> {
    let (dtype, n_decimals) = (tensor.dtype, market.n_decimals);
    let unknown = || format!("its numbers are {dtype:?} with {n_decimals:?} decimals");
    dataperf::encoding::encoding(dtype, n_decimals).ok_or_else(|| FrozenError::damaged(path, unknown()))
}

/// What the model of each trial says of the buyer's rows, in one market. `read` are the rows of [`Bought::rows`].
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
    // one piece of memory a thread: fresh pages for each trial would cost as much as copying the rows into them
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
