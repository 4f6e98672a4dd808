//! The accuracies of a series of models, each of which differs little from the one before.

use super::batch::{Batch, LANES};

/// Which items a series of models gets right, stored as the changes from each model to the next.
#[derive(Debug, Clone)]
pub struct Course {
    /// For each model the items that became right or wrong compared with the model before; before the first model all count as
    /// wrong.
    changes: Vec<Vec<(u32, bool)>>,
}

impl Course {
    /// Compares each model of a series with the one before.
    ///
    /// # Shapes and units
    /// `truth` and each of `models`: `(n_items,)` classes.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn new<'a>(truth: &[u8], models: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut is_right = vec![false; truth.len()];
        let changes_of = |predicted: &[u8]| {
            assert_eq!(truth.len(), predicted.len(), "one answer for each item");
            let mut changes = Vec::new();
            for (item, was_right) in is_right.iter_mut().enumerate() {
                let is_right = truth[item] == predicted[item];
                if is_right != *was_right {
                    changes.push((item as u32, is_right));
                    *was_right = is_right;
                }
            }
            changes
        };
        Self {
            changes: models.into_iter().map(changes_of).collect(),
        }
    }

    /// For each draw of a batch, the weight of the items that each model gets right, `(n_models,)`, and the weight of all items.
    pub fn n_right(&self, batch: &Batch) -> (Vec<[u32; LANES]>, [u32; LANES]) {
        let mut sums = [0u32; LANES];
        let of_models = self.changes.iter().map(|changes| {
            for &(item, is_right) in changes {
                for (sum, &weight) in sums.iter_mut().zip(&batch.weights[item as usize]) {
                    *sum = sum.wrapping_add_signed(if is_right {
                        i32::from(weight)
                    } else {
                        -i32::from(weight)
                    });
                }
            }
            sums
        });
        let of_models = of_models.collect();
        let total = batch.sums(&vec![0; batch.weights.len()], 1)[0];
        (of_models, total)
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exact values are expected")]
mod tests {
    use super::*;
    use crate::bootstrap::Resampler;
    use crate::metrics::{ItemWeights, weighted_accuracy};

    #[test]
    fn accuracies_are_those_of_each_model() {
        let truth: Vec<u8> = (0..60u32).map(|item| (item % 3) as u8).collect();
        let model = |number: u32| -> Vec<u8> {
            (0..60u32)
                .map(|item| ((item * item + number * item / 7) % 3) as u8)
                .collect()
        };
        let models: Vec<Vec<u8>> = (0..20).map(model).collect();
        let batch = Resampler::of_items(&truth, None, [1; 32]).batch(3);
        let (n_right, total) = Course::new(&truth, models.iter().map(Vec::as_slice)).n_right(&batch);
        for (model, n_right) in models.iter().zip(n_right) {
            for lane in 0..LANES {
                let weights = batch.weights_of(lane);
                let accuracy = weighted_accuracy(&truth, model, ItemWeights::Each(&weights));
                assert_eq!(
                    (f64::from(n_right[lane]) / f64::from(total[lane])).to_bits(),
                    accuracy.to_bits()
                );
            }
        }
    }
}
