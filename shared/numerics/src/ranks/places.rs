//! The place where a curve reaches its target, such as the number of fixes after which a model is good enough.

use super::CONFIDENCE;
use super::percentiles::{quantile, standard_deviation};
use super::scores::student;

/// By how much one model of a curve is above the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Margin {
    /// The model's score less the target.
    pub value: f64,
    /// `(n_draws,)`: the margin under each draw of the test set minus the margin.
    pub deviations: Vec<f32>,
}

/// A test set's information about a curve's margins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certainty {
    /// The number of items of the smallest class, or of clusters if these are drawn.
    pub smallest: usize,
    /// The standard error that every margin has at least: what one item is worth. Draws of items that are all right do not differ.
    pub least_error: f64,
    /// So far below the target a model may be and count as there, because scores are rounded; 0 where they are not.
    pub slack: f64,
}

/// The first and the last model that may be the first one at the target, with 95 % confidence.
///
/// The set of models that a paired bootstrap test does not reject: a model that is clearly below the target is not the first one there, and no
/// model behind one that is clearly above it is. The first takes one test, because the true model is one of them. The second takes the largest of
/// all models' studentized margins, because any of those before the true one could be taken to be above.
///
/// # Shapes and units
/// `margins`: of the models in the order of the curve, all with the same number of draws. The last model is above the target by definition.
/// `None` without models or draws.
///
/// # Source
/// Lehmann, E. L. and Romano, J. P. (2005), "Testing Statistical Hypotheses", section 3.5, of confidence sets by inverted tests; Romano, J. P.
/// and Wolf, M. (2005), "Exact and approximate stepdown methods for multiple hypothesis testing", Journal of the American
/// Statistical Association 100, of the largest studentized difference.
pub fn first_at_target(margins: &[Margin], certainty: Certainty) -> Option<(usize, usize)> {
    let Certainty {
        smallest,
        least_error,
        slack,
    } = certainty;
    let last = margins.len().checked_sub(1)?;
    let n_draws = margins.iter().map(|margin| margin.deviations.len()).min()?;
    if n_draws < 2 {
        return None;
    }
    let errors: Vec<f64> = margins
        .iter()
        .map(|margin| standard_deviation(&margin.deviations).max(least_error))
        .collect();
    let mut largest = vec![f32::NEG_INFINITY; n_draws];
    for (margin, error) in margins[..last].iter().zip(&errors) {
        for (largest, deviation) in largest.iter_mut().zip(&margin.deviations) {
            *largest = largest.max(deviation / *error as f32);
        }
    }
    let of_one = student(smallest.saturating_sub(1).max(1));
    // as much larger than the normal quantile as Student's is
    let of_all = f64::from(quantile(&mut largest, CONFIDENCE)).max(0.0) * of_one / student(usize::MAX);
    let of_models = || {
        margins
            .iter()
            .zip(&errors)
            .map(|(margin, error)| (margin.value, error))
    };
    let first = of_models().position(|(value, error)| value + slack >= -of_one * error);
    let clear = of_models().position(|(value, error)| value - slack > of_all.max(of_one) * error);
    let until = clear.unwrap_or(last).min(last);
    Some((first.unwrap_or(last).min(until), until))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws with this standard deviation, those of each model in an order of their own.
    fn margin(value: f64, spread: f64, model: usize) -> Margin {
        let of_draw = |draw: usize| ((draw * 7919 + model * 104_729) % 1000) as f64 / 999.0 - 0.5;
        Margin {
            value,
            deviations: (0..1000)
                .map(|draw| (spread * 12_f64.sqrt() * of_draw(draw)) as f32)
                .collect(),
        }
    }

    const CERTAINTY: Certainty = Certainty {
        smallest: 1_000_000,
        least_error: 0.001,
        slack: 0.0,
    };

    fn line(spread: f64) -> Vec<Margin> {
        (0..21)
            .map(|model| margin(f64::from(model as u32) / 100.0 - 0.1, spread, model))
            .collect()
    }

    #[test]
    fn models_near_the_target_may_be_the_first() {
        // 1.96 standard errors below, which is 0.0196, and clearly above with several models at once, uniform draws: at most 1.74
        assert_eq!(first_at_target(&line(0.01), CERTAINTY), Some((9, 12)));
        let wide = first_at_target(&line(0.03), CERTAINTY).expect("models");
        assert!(wide.0 < 6 && wide.1 > 14, "{wide:?}");
        let rounded = Certainty {
            slack: 0.01,
            ..CERTAINTY
        };
        assert_eq!(first_at_target(&line(0.01), rounded), Some((8, 13)));
    }

    #[test]
    fn a_curve_without_clear_models_ends_last() {
        assert_eq!(first_at_target(&line(1.0), CERTAINTY), Some((0, 20)));
        assert_eq!(first_at_target(&line(1.0)[..1], CERTAINTY), Some((0, 0)));
        assert_eq!(first_at_target(&[], CERTAINTY), None);
    }

    #[test]
    fn draws_that_are_alike_are_not_certain() {
        let certainty = Certainty {
            least_error: 0.02,
            ..CERTAINTY
        };
        let alike = line(0.0);
        assert_eq!(first_at_target(&alike, CERTAINTY), Some((10, 11)));
        assert_eq!(first_at_target(&alike, certainty), Some((7, 14)));
    }
}
