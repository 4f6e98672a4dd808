//! Boosted trees: XGBoost 1.7.6's `XGBClassifier()` for two classes, to the last bit of every margin.
//!
//! A hundred trees of depth 6 at most, learning rate 0.3, L2 penalty 1, the exact greedy search for splits. The features
//! of a training set are sorted once. Of few rows, [`TrainingFeatures`], many fits that differ in their labels are grown
//! side by side, see [`fit_each`]; of more, [`SortedColumns`], each is grown alone, level by level. Both give the same trees.

mod columns;
mod grower;
mod lanes;
mod levels;
mod loss;
mod split;
mod trainer;
mod tree;

pub use columns::{Columns, TrainingFeatures};
pub use levels::SortedColumns;
pub use trainer::fit_each;
pub use tree::{Node, Tree};

/// The number of trees in a model.
pub const N_TREES: usize = 100;
/// The most levels of splits in a tree.
pub const MAX_DEPTH: usize = 6;
/// The most rows of a training set whose fits are grown side by side: up to this number all sums are exact in any order.
pub const MAX_TRAINING_ROWS: usize = 511;
/// The most rows of a training set that is grown level by level; from four million rows on the library would use another method.
pub const MAX_SORTED_ROWS: usize = 100_000;

/// A fitted model.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::boosted_trees::{BoostedTrees, Columns, TrainingFeatures};
/// use ndarray::array;
/// let x = array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0f32]];
/// let features = TrainingFeatures::new(Columns::new(x.view()))?;
/// let labels = [false, false, false, false, true, true, true, true];
/// let model = BoostedTrees::fit(&features, &labels)?;
/// assert_eq!(model.predict(&Columns::new(array![[-1.0], [3.6]].view())), [false, true]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
///
/// # Source
/// XGBoost 1.7.6: `updater_colmaker.cc`, `split_evaluator.h`, `param.h`, `regression_loss.h`.
#[derive(Debug, Clone, PartialEq)]
pub struct BoostedTrees {
    trees: Vec<Tree>,
}

impl BoostedTrees {
    /// Fits one model. To fit many to the same features, [`fit_each`] is much faster.
    ///
    /// # Shapes and units
    /// `labels`: `(n_rows,)`.
    ///
    /// # Errors
    /// [`FitError::LabelCount`](super::FitError::LabelCount).
    pub fn fit(features: &TrainingFeatures, labels: &[bool]) -> Result<Self, super::FitError> {
        let mut fitted = Vec::with_capacity(1);
        fit_each(features, &[labels.to_vec()], |_, model| {
            fitted.push(model);
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(fitted.swap_remove(0))
    }

    /// [`fit`](Self::fit) for training sets of any size up to [`MAX_SORTED_ROWS`].
    ///
    /// # Shapes and units
    /// `labels`: `(n_rows,)`.
    ///
    /// # Errors
    /// [`FitError::LabelCount`](super::FitError::LabelCount).
    pub fn fit_sorted(features: &SortedColumns, labels: &[bool]) -> Result<Self, super::FitError> {
        features.fit(labels)
    }

    /// The trees, in the order in which they were grown.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The log odds of class 1, `(n_rows,)`.
    ///
    /// # Panics
    /// If there are fewer columns than the training set had.
    pub fn margins(&self, columns: &Columns) -> Vec<f32> {
        let mut margins = vec![-0.0; columns.n_rows()]; // minus the logarithm of 1
        let mut places = Vec::new();
        for tree in &self.trees {
            tree.add_to(columns, &mut margins, &mut places);
        }
        margins
    }

    /// Whether each row is of class 1, `(n_rows,)`: whether its probability as a 32-bit float is above one half.
    ///
    /// # Panics
    /// If there are fewer columns than the training set had.
    pub fn predict(&self, columns: &Columns) -> Vec<bool> {
        let margins = self.margins(columns);
        margins
            .iter()
            .map(|&margin| loss::probability(margin) > 0.5)
            .collect()
    }
}
