//! The frozen part of a board: the training set with its given and right labels, and the test set.

use std::collections::HashMap;
use std::sync::OnceLock;

use ndarray::Array2;

use super::{Extent, Parameters, TRAIN, TRUTH};
use crate::own_data::eval_set::scoring_eval_set;
use crate::own_data::table::{Examples, ID, LABEL, examples_file, features, features_file};
use crate::own_data::{Board, EVAL, EvalSet, Scoring};
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::learner::{FitError, Prepared};

/// The key of an artifact in JSON.
pub(super) const ORDER: &str = "order";

/// The data that scoring keeps in memory: the training set with its given and right labels, and the
/// test set.
#[derive(Debug)]
pub struct Frozen {
    pub(super) scoring: Scoring,
    pub(super) target_share: f64,
    pub(super) extent: Extent,
    pub(super) ids: Vec<String>,
    pub(super) row_of: HashMap<String, u32>,
    /// `(n_train, n_features)`
    pub(super) features: Array2<f64>,
    pub(super) given: Vec<u8>,
    /// The right classes of the training set; `None` in a participants' kit.
    pub(super) truth: Option<Vec<u8>>,
    pub(super) eval: Option<EvalSet>,
    /// The features, prepared for fitting when the first submission is scored.
    pub(super) prepared: OnceLock<Result<Prepared, FitError>>,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let Parameters {
            about,
            scoring,
            target_share,
            leaderboards,
            ..
        } = manifest.parameters()?;
        let board = |board: Board| {
            let own = || {
                format!(
                    "{}: the share of the {} to inspect until {} % of the {} with right labels is reached; less is better",
                    about.title,
                    about.unit(),
                    target_share * 100.0,
                    scoring.metric.about()
                )
            };
            let board = about.board(
                board.name.clone(),
                board.about.clone().unwrap_or_else(own),
                "share inspected".to_owned(),
                scoring.model.about(),
            );
            board.with_keys([ORDER])
        };
        Ok(leaderboards.into_iter().map(board).collect())
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let features = features(files, TRAIN).await?;
        let examples = Examples::read(files, TRAIN, features.nrows()).await?;
        let ids = examples.required(ID)?.to_vec();
        let row_of: HashMap<String, u32> = ids.iter().cloned().zip(0..).collect();
        if row_of.len() != ids.len() {
            return Err(FrozenError::damaged(&examples_file(TRAIN), "an id appears twice").into());
        }
        let scoring = parameters.scoring;
        let truth = if files.has(&examples_file(TRUTH)) {
            let examples = Examples::read(files, TRUTH, features.nrows()).await?;
            if examples.required(ID)? != ids {
                let why = "its ids are not those of the training set";
                return Err(FrozenError::damaged(&examples_file(TRUTH), why).into());
            }
            Some(examples.classes(LABEL, &scoring.classes)?)
        } else {
            None
        };
        let eval = EvalSet::open(files, &scoring).await?;
        if eval
            .as_ref()
            .is_some_and(|eval| eval.features.ncols() != features.ncols())
        {
            let why = "its rows have another number of features than the training set's";
            return Err(FrozenError::damaged(&features_file(EVAL), why).into());
        }
        Ok(Self {
            target_share: parameters.target_share,
            extent: parameters.curve,
            given: examples.classes(LABEL, &scoring.classes)?,
            scoring,
            ids,
            row_of,
            features,
            truth,
            eval,
            prepared: OnceLock::new(),
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let (_, eval) = self.hidden()?;
        Ok(eval.items(&self.scoring))
    }
}

impl Frozen {
    /// The number of examples in the training set.
    pub(super) fn n_examples(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id_of(&self, row: usize) -> &str {
        &self.ids[row]
    }

    pub(super) fn row_of(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).map(|&row| row as usize)
    }

    /// The right classes and the test set; an error if the data set does not have both.
    pub(super) fn hidden(&self) -> Result<(&[u8], &EvalSet), FrozenError> {
        let eval = scoring_eval_set(self.eval.as_ref())?;
        let truth = self.truth.as_deref();
        let truth = truth.ok_or(FrozenError::ForParticipants {
            missing: "right labels",
        })?;
        Ok((truth, eval))
    }

    pub(super) fn prepared(&self, eval: &EvalSet) -> Result<&Prepared, FrozenError> {
        let prepare = || {
            self.scoring
                .model
                .prepare(self.features.view(), eval.features.view())
        };
        self.prepared.get_or_init(prepare).as_ref().map_err(damaged)
    }
}

fn damaged(error: &FitError) -> FrozenError {
    FrozenError::damaged(&features_file(TRAIN), error.to_string())
}
