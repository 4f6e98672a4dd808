//! The straight line that fits one set of scores as a function of another.

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// By how much `y` grows when `x` grows by 1.
    pub slope: f64,
    /// `y` where `x` is 0.
    pub intercept: f64,
}

/// The least-squares line of `y` on `x`. `None` for fewer than three points, and where all `x` are equal.
///
/// # Shapes and units
/// `x`, `y`: `(n,)`, finite.
///
/// # Source
/// scipy 1.11.4, `stats.linregress(x, y)`.
///
/// # Panics
/// If the lengths differ.
///
/// ```
/// use dataperf_numerics::agreement::fitted_line;
/// let line = fitted_line(&[0.0, 0.5, 1.0], &[0.25, 0.5, 0.75]).expect("three points");
/// assert_eq!((line.slope, line.intercept), (0.5, 0.25));
/// ```
pub fn fitted_line(x: &[f64], y: &[f64]) -> Option<Line> {
    assert_eq!(x.len(), y.len(), "each point has two coordinates");
    if x.len() < 3 {
        return None;
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let together: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let is_constant = x.iter().all(|other| other.total_cmp(&x[0]).is_eq());
    if is_constant || spread <= 0.0 {
        return None;
    }
    let slope = together / spread;
    Some(Line {
        slope,
        intercept: mean_y - slope * mean_x,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_scipys() {
        // scipy.stats.linregress([.91, .85, .8, .7, .55], [.82, .78, .7, .66, .4]): 1.13770656, -0.19493240
        let line = fitted_line(&[0.91, 0.85, 0.8, 0.7, 0.55], &[0.82, 0.78, 0.7, 0.66, 0.4]).expect("a line");
        assert!((line.slope - 1.137_706_56).abs() < 1e-6, "{line:?}");
        assert!((line.intercept + 0.194_932_40).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn no_line_without_a_spread() {
        assert_eq!(fitted_line(&[0.5, 0.6], &[0.5, 0.6]), None);
        assert_eq!(fitted_line(&[0.1; 9], &[0.5; 9]), None);
        assert_eq!(fitted_line(&[], &[]), None);
    }
}
