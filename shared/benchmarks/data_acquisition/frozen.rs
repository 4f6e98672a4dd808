//! The frozen part: the sellers' labels and the buyer's test sets.

use std::collections::BTreeMap;

use bytes::Bytes;
use ndarray::Array2;

use super::buyer_model::BuyerModel;
use super::market::sample;
use super::{FEATURES, LABELS, LEADERBOARD, Market, Parameters, eval_file, features_file, labels_file};
use crate::counted;
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest, TensorEntry};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::numbers::{Encoding, Stored};

/// The number of classes: labels are 0 and 1.
pub(super) const N_CLASSES: usize = 2;

/// The data that scoring keeps in memory: the sellers' labels and the buyer's test sets.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    /// The data of each market, by its number; `None` in a participants' kit.
    data: Option<BTreeMap<u32, MarketData>>,
}

#[derive(Debug)]
pub(super) struct MarketData {
    /// How the sellers' features are stored.
    pub(super) encoding: Encoding,
    pub(super) labels: Bytes,
    /// `(n_buyer, n_features)`
    pub(super) buyer_features: Array2<f64>,
    pub(super) buyer_labels: Bytes,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let (n, model) = (parameters.markets.len(), parameters.buyer_model.about());
        let about = format!("{n} markets, each with its budget; the buyer trains {model}");
        let board = Leaderboard::new(LEADERBOARD, about)
            .with_title(counted(n, "market"))
            .with_keys(parameters.markets.keys().map(u32::to_string))
            .with_metric("mean accuracy")
            .with_model(model);
        Ok(vec![board])
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let hidden = |&number: &u32| [features_file(number), labels_file(number), eval_file(number)];
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

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let items = |&number: &u32| {
            let items = EvalItems::from_metric(self.buyer_labels(number)?, ItemMetric::Accuracy);
            Ok((number.to_string(), items))
        };
        self.markets().keys().map(items).collect()
    }
}

impl Frozen {
    /// The markets by number.
    pub fn markets(&self) -> &BTreeMap<u32, Market> {
        &self.parameters.markets
    }

    /// The number of training sets that are sampled in each market.
    pub(super) fn n_trials(&self) -> usize {
        self.parameters.n_trials
    }

    /// The model that the buyer trains.
    pub fn buyer_model(&self) -> BuyerModel {
        self.parameters.buyer_model
    }

    /// The labels of a market's test set, `(n_buyer,)`.
    pub(super) fn buyer_labels(&self, market: u32) -> Result<&[u8], FrozenError> {
        Ok(&self.market_data(market)?.buyer_labels)
    }

    /// The labels of a market's sellers, `(n_rows,)`; `None` in a participants' kit.
    pub(super) fn labels(&self, market: u32) -> Option<&[u8]> {
        self.data.as_ref().map(|data| &data[&market].labels[..])
    }

    pub(super) fn market_data(&self, market: u32) -> Result<&MarketData, FrozenError> {
        let missing = FrozenError::ForParticipants {
            missing: "sellers' rows and buyer's test sets",
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
            (features_file(number), labels_file(number), eval_file(number));
        let features = manifest.any_tensor(&features_path, FEATURES)?;
        let labels = files.classes(&labels_path, LABELS).await?;
        let n_rows: usize = market.sellers.iter().map(|seller| seller.n_rows).sum();
        let &[n_features_rows, n_features] = features.shape.as_slice() else {
            return Err(FrozenError::damaged(&features_path, "its tensor has not two dimensions").into());
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
    dataperf::dataset::encoding::encoding(dtype, n_decimals)
        .ok_or_else(|| FrozenError::damaged(path, unknown()))
}
