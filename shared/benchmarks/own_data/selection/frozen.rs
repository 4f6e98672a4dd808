//! The frozen part of a board: the pool's ids and labels, and the test set.

use std::collections::HashMap;

use super::{Board, LabelSource, POOL, Parameters};
use crate::own_data::eval_set::scoring_eval_set;
use crate::own_data::table::{self, Examples, ID, LABEL, examples_file, features_file};
use crate::own_data::{EVAL, EvalSet, Scoring};
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::numbers::Encoding;

/// The data that scoring keeps in memory for a board: the pool's ids and labels, and the test set.
#[derive(Debug)]
pub struct Frozen {
    pub(super) scoring: Scoring,
    pub(super) labels: LabelSource,
    pub(super) max_examples: usize,
    pub(super) row_of: HashMap<String, u32>,
    /// The class of each row of the pool; `None` if the pool has no labels.
    pub(super) pool_classes: Option<Vec<u8>>,
    pub(super) encoding: Encoding,
    pub(super) n_features: usize,
    pub(super) eval: Option<EvalSet>,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let Parameters {
            about,
            scoring,
            labels,
            leaderboards,
        } = manifest.parameters()?;
        let board = |board: Board| {
            let own = || {
                format!(
                    "{}: at most {} {}; {}",
                    about.title,
                    board.max_examples,
                    about.unit(),
                    scoring.metric.about()
                )
            };
            let board = about.board(
                board.name.clone(),
                board.about.clone().unwrap_or_else(own),
                scoring.metric.about(),
                scoring.model.about(),
            );
            board.with_keys([labels.key()])
        };
        Ok(leaderboards.into_iter().map(board).collect())
    }

    async fn open(files: &Files<'_>, leaderboard: &str) -> Result<Self, DatasetError> {
        let manifest = files.manifest();
        let parameters: Parameters = manifest.parameters()?;
        let max_examples = parameters.board(leaderboard)?.max_examples;
        let (n_rows, n_features, encoding) = table::shape(manifest, POOL)?;
        let examples = Examples::read(files, POOL, n_rows).await?;
        let ids = examples.required(ID)?;
        let row_of: HashMap<String, u32> = ids.iter().cloned().zip(0..).collect();
        if row_of.len() != n_rows {
            return Err(FrozenError::damaged(&examples_file(POOL), "an id appears twice").into());
        }
        let scoring = parameters.scoring;
        let pool_classes = match parameters.labels {
            LabelSource::Pool => Some(examples.classes(LABEL, &scoring.classes)?),
            LabelSource::Submission => None,
        };
        let eval = EvalSet::open(files, &scoring).await?;
        if eval
            .as_ref()
            .is_some_and(|eval| eval.features.ncols() != n_features)
        {
            let why = format!("its rows have not {n_features} numbers, as the pool's have");
            return Err(FrozenError::damaged(&features_file(EVAL), why).into());
        }
        Ok(Self {
            scoring,
            labels: parameters.labels,
            max_examples,
            row_of,
            pool_classes,
            encoding,
            n_features,
            eval,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let eval = scoring_eval_set(self.eval.as_ref())?;
        Ok(eval.items(&self.scoring))
    }
}

impl Frozen {
    pub(super) fn scoring(&self) -> &Scoring {
        &self.scoring
    }

    pub(super) fn labels(&self) -> LabelSource {
        self.labels
    }

    pub(super) fn max_examples(&self) -> usize {
        self.max_examples
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    /// The ids of the pool.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.row_of.keys().map(String::as_str)
    }

    pub(super) fn row_of(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).map(|&row| row as usize)
    }

    pub(super) fn pool_class(&self, row: usize) -> Option<usize> {
        self.pool_classes.as_ref().map(|classes| classes[row].into())
    }
}
