//! Boosted trees: XGBoost 1.7.6's `XGBClassifier()` for two classes, to the last bit of every margin.
//!
//! A hundred trees of depth 6 at most, learning rate 0.3, L2 penalty 1, the exact greedy search for splits. The features
//! of a training set are sorted once, [`TrainingFeatures`]; many fits that differ in their labels share them, and are
//! grown side by side, see [`fit_each`].

mod columns;
mod grower;
mod lanes;
mod loss;
mod split;
mod trainer;
mod tree;

pub use columns::{Columns, TrainingFeatures};
pub use trainer::fit_each;
pub use tree::{Node, Tree};

/// Trees of a model.
pub const N_TREES: usize = 100;
/// Levels of splits in a tree.
pub const MAX_DEPTH: usize = 6;
/// Rows of a training set, at most: the library changes its method only far above, but sums are exact up to here.
pub const MAX_TRAINING_ROWS: usize = 511;

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

    /// The trees in the order they were grown.
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

    /// Whether each row is of class 1, `(n_rows,)`: whether its probability, a 32-bit float, is above one half.
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
