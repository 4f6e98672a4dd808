//! The frozen part of a market: the sellers' labels and the test set.

use super::{Parameters, SELLERS};
use crate::data_acquisition::market::{Market, Seller};
use crate::own_data::table::{self, Examples, LABEL, features_file};
use crate::own_data::{Board, EVAL, EvalSet};
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::learner::FitError;
use dataperf_numerics::numbers::Encoding;

/// The key of an artifact in JSON.
pub(super) const COUNTS: &str = "counts";

/// The data that scoring keeps in memory: the sellers' labels and the test set.
#[derive(Debug)]
pub struct Frozen {
    pub(super) parameters: Parameters,
    pub(super) market: Market,
    pub(super) data: Option<Hidden>,
}

/// The parts of the data set that participants do not have.
#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) encoding: Encoding,
    pub(super) n_features: usize,
    /// The class of each row, seller after seller.
    pub(super) classes: Vec<u8>,
    pub(super) eval: EvalSet,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let Parameters {
            about,
            scoring,
            budget,
            sellers,
            leaderboards,
            ..
        } = manifest.parameters()?;
        let board = |board: Board| {
            let own = || {
                let metric = scoring.metric.about();
                format!(
                    "{}: {} sellers, a budget of {budget}; {metric}",
                    about.title,
                    sellers.len()
                )
            };
            let board = about.board(
                board.name.clone(),
                board.about.clone().unwrap_or_else(own),
                scoring.metric.about(),
                scoring.model.about(),
            );
            board.with_keys([COUNTS])
        };
        Ok(leaderboards.into_iter().map(board).collect())
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let sellers = parameters.sellers.iter().map(|seller| Seller {
            n_rows: seller.n_rows,
            max_price: seller.price,
        });
        let market = Market {
            budget: parameters.budget,
            n_decimals: None,
            sellers: sellers.collect(),
        };
        let data = if files.has(&features_file(SELLERS)) {
            Some(Hidden::open(files, &parameters).await?)
        } else {
            None
        };
        Ok(Self {
            parameters,
            market,
            data,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        Ok(self.hidden()?.eval.items(&self.parameters.scoring))
    }
}

impl Frozen {
    pub(super) fn market(&self) -> &Market {
        &self.market
    }

    pub(super) fn seller_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.sellers.iter().map(|seller| seller.name.as_str())
    }

    pub(super) fn seller_of(&self, name: &str) -> Option<usize> {
        self.parameters
            .sellers
            .iter()
            .position(|seller| seller.name == name)
    }

    pub(super) fn seed(&self) -> u32 {
        self.parameters.seed
    }

    pub(super) fn n_trials(&self) -> usize {
        self.parameters.n_trials
    }

    /// Checks that the model can be trained on that many rows. A participants' kit does not tell the number of features; it is
    /// taken as 1 there, since no model limits rows by it.
    pub(super) fn check_size(&self, n_rows: usize) -> Result<(), FitError> {
        let scoring = &self.parameters.scoring;
        let n_features = self.data.as_ref().map_or(1, |data| data.n_features);
        scoring.model.check(n_rows, n_features, scoring.classes.len())
    }

    pub(super) fn hidden(&self) -> Result<&Hidden, FrozenError> {
        self.data.as_ref().ok_or(FrozenError::ForParticipants {
            missing: "sellers' rows",
        })
    }
}

impl Hidden {
    async fn open(files: &Files<'_>, parameters: &Parameters) -> Result<Self, DatasetError> {
        let path = features_file(SELLERS);
        let (n_rows, n_features, encoding) = table::shape(files.manifest(), SELLERS)?;
        let n_of_sellers: usize = parameters.sellers.iter().map(|seller| seller.n_rows).sum();
        if n_rows != n_of_sellers || u32::try_from(n_rows).is_err() {
            let why = format!("it has {n_rows} rows, and the sellers have {n_of_sellers}");
            return Err(FrozenError::damaged(&path, why).into());
        }
        let examples = Examples::read(files, SELLERS, n_rows).await?;
        let classes = examples.classes(LABEL, &parameters.scoring.classes)?;
        let eval = EvalSet::open(files, &parameters.scoring).await?;
        let eval = eval.filter(|eval| eval.features.ncols() == n_features);
        let eval = eval.ok_or_else(|| {
            FrozenError::damaged(
                &features_file(EVAL),
                "it is missing or its rows are of another width than the sellers'",
            )
        })?;
        Ok(Self {
            encoding,
            n_features,
            classes,
            eval,
        })
    }
}
