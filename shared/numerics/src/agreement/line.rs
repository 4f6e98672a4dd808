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
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
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

/// A figure, with the interval that holds it with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The figure.
    pub value: f64,
    /// Its interval; `None` where the measurements leave it open to one side at least.
    pub interval: Option<(f64, f64)>,
}

/// The line through true values of which measurements are known, and how these vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedLine {
    /// By how much `y` grows when `x` grows by 1.
    pub slope: Fitted,
    /// `y` where `x` is 0.
    pub intercept: Fitted,
}

/// The line of the true `y` on the true `x`, of both of which only measurements are known. The least-squares line of the
/// measurements is too flat, because noise adds to the spread of `x`: here the noise's part of the sum of squares is subtracted.
/// `None` for fewer than three points, without draws, and where `x` spreads no more than noise does.
///
/// # Shapes and units
/// `x`, `y`: `(n,)` measurements, finite. `drawn_x`, `drawn_y`: `(n, n_draws)`, the same measured under draws, which are independent
/// between `x` and `y`.
///
/// # Source
/// Fuller, W. A. (1987), "Measurement Error Models", section 2.5, with the noise's covariances estimated from the draws. The intervals
/// are those of a ratio: Fieller, E. C. (1954), "Some problems in interval estimation", Journal of the Royal Statistical Society B 16.
///
/// # Panics
/// If the shapes differ.
pub fn corrected_line(
    x: &[f64],
    y: &[f64],
    drawn_x: &[Vec<f64>],
    drawn_y: &[Vec<f64>],
) -> Option<CorrectedLine> {
    let n = x.len();
    assert!(
        [y.len(), drawn_x.len(), drawn_y.len()] == [n; 3],
        "each point has two coordinates and their draws"
    );
    let n_draws = drawn_x.first()?.len();
    fitted_line(x, y)?;
    if n_draws < 2 {
        return None;
    }
    let all = Sums::new(x, y);
    let noise = noise(drawn_x);
    let spread = all.spread - noise;
    if spread <= 0.0 {
        return None;
    }
    let of_draw = |draw: usize| {
        let at = |drawn: &[Vec<f64>]| drawn.iter().map(|drawn| drawn[draw]).collect::<Vec<f64>>();
        Sums::new(&at(drawn_x), &at(drawn_y))
    };
    let draws: Vec<Sums> = (0..n_draws).map(of_draw).collect();
    // draws of measurements have the noise of these in their spread a second time
    let spreads: Vec<f64> = draws.iter().map(|sums| sums.spread - 2.0 * noise).collect();
    let slopes: Vec<f64> = draws.iter().map(|sums| sums.together).collect();
    let slope = ratio(all.together, spread, &slopes, &spreads);
    let level = |sums: &Sums, spread: f64| sums.mean_y * spread - sums.mean_x * sums.together;
    let levels: Vec<f64> = draws
        .iter()
        .zip(&spreads)
        .map(|(sums, spread)| level(sums, *spread))
        .collect();
    Some(CorrectedLine {
        slope,
        intercept: ratio(level(&all, spread), spread, &levels, &spreads),
    })
}

/// Sums over points.
struct Sums {
    mean_x: f64,
    mean_y: f64,
    /// The sum of squares of `x` about its mean.
    spread: f64,
    /// The sum of products of `x` and `y` about their means.
    together: f64,
}

impl Sums {
    fn new(x: &[f64], y: &[f64]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (mean_x, mean_y) = (mean(x), mean(y));
        let points = || x.iter().zip(y);
        Self {
            mean_x,
            mean_y,
            spread: x.iter().map(|x| (x - mean_x).powi(2)).sum(),
            together: points().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum(),
        }
    }
}

/// What noise adds to the sum of squares about the mean over points, on average.
fn noise(drawn: &[Vec<f64>]) -> f64 {
    let n_draws = drawn[0].len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = drawn.iter().map(|drawn| mean(drawn)).collect();
    let of_draw = |draw: usize| {
        let deviations: Vec<f64> = drawn
            .iter()
            .zip(&means)
            .map(|(drawn, mean)| drawn[draw] - mean)
            .collect();
        let common = mean(&deviations);
        deviations
            .iter()
            .map(|deviation| (deviation - common).powi(2))
            .sum::<f64>()
    };
    (0..n_draws).map(of_draw).sum::<f64>() / (n_draws - 1) as f64
}

/// A ratio with Fieller's interval, by the draws of its two parts.
fn ratio(above: f64, below: f64, drawn_above: &[f64], drawn_below: &[f64]) -> Fitted {
    const Z: f64 = 1.959_963_984_540_054;
    let n = drawn_above.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let covariance = |one: &[f64], other: &[f64]| {
        let (mean_one, mean_other) = (mean(one), mean(other));
        let pairs = one.iter().zip(other);
        let products = pairs.map(|(one, other)| (one - mean_one) * (other - mean_other));
        products.sum::<f64>() / (n - 1.0)
    };
    let squared = below * below - Z * Z * covariance(drawn_below, drawn_below);
    let linear = above * below - Z * Z * covariance(drawn_above, drawn_below);
    let constant = above * above - Z * Z * covariance(drawn_above, drawn_above);
    let interval = (squared > 0.0).then(|| {
        let root = (linear * linear - squared * constant).max(0.0).sqrt();
        ((linear - root) / squared, (linear + root) / squared)
    });
    Fitted {
        value: above / below,
        interval,
    }
}

/// The quantile of the standard normal distribution, within 1e-6.
///
/// # Source
/// Wichura, M. J. (1988), "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37, PPND7.
///
/// ```
/// use dataperf_numerics::agreement::probit;
/// assert!((probit(0.975) - 1.959_964).abs() < 1e-6);
/// ```
pub fn probit(share: f64) -> f64 {
    let ratio = |above: [f64; 4], below: [f64; 3], r: f64| {
        (((above[3] * r + above[2]) * r + above[1]) * r + above[0])
            / (((below[2] * r + below[1]) * r + below[0]) * r + 1.0)
    };
    let q = share - 0.5;
    if q.abs() <= 0.425 {
        let above = [3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720];
        let below = [17.895_169_469, 78.757_757_664, 67.187_563_600];
        return q * ratio(above, below, 0.180_625 - q * q);
    }
    let r = (-share.min(1.0 - share).ln()).sqrt();
    let deviate = if r <= 5.0 {
        let above = [
            1.423_437_277_7,
            2.756_815_390_0,
            1.306_728_481_6,
            0.170_238_211_03,
        ];
        ratio(above, [0.737_001_642_50, 0.120_211_329_75, 0.0], r - 1.6)
    } else {
        let above = [
            6.657_905_115_0,
            3.081_226_386_0,
            0.428_682_943_37,
            0.017_337_203_997,
        ];
        ratio(above, [0.241_978_942_25, 0.012_258_202_635, 0.0], r - 5.0)
    };
    deviate.copysign(q)
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
    fn quantiles_are_scipys() {
        // scipy.stats.norm.ppf
        for (share, expected) in [
            (0.5, 0.0),
            (0.8, 0.841_621_23),
            (0.01, -2.326_347_87),
            (1e-9, -5.997_807_01),
            (1e-13, -7.348_796_1),
        ] {
            assert!(
                (probit(share) - expected).abs() < 1e-6,
                "{share}: {}",
                probit(share)
            );
        }
    }

    #[test]
    fn the_corrected_line_without_noise_is_plain() {
        let (x, y) = ([0.91, 0.85, 0.8, 0.7, 0.55], [0.82, 0.78, 0.7, 0.66, 0.4]);
        let still = |values: &[f64]| values.iter().map(|value| vec![*value; 10]).collect::<Vec<_>>();
        let line = corrected_line(&x, &y, &still(&x), &still(&y)).expect("a line");
        let plain = fitted_line(&x, &y).expect("a line");
        assert!((line.slope.value - plain.slope).abs() < 1e-12);
        assert!((line.intercept.value - plain.intercept).abs() < 1e-12);
        let (low, high) = line.slope.interval.expect("an interval");
        assert!((low - plain.slope).abs() < 1e-6 && (high - plain.slope).abs() < 1e-6);
        // noise as large as the spread leaves no line
        let noisy: Vec<Vec<f64>> = (0..5)
            .map(|point: i32| {
                (0..100)
                    .map(|draw: i32| x[point as usize] + 0.3 * f64::from((draw * 7 + point * 31) % 11 - 5))
                    .collect()
            })
            .collect();
        assert_eq!(corrected_line(&x, &y, &noisy, &still(&y)), None);
    }

    #[test]
    fn no_line_without_a_spread() {
        assert_eq!(fitted_line(&[0.5, 0.6], &[0.5, 0.6]), None);
        assert_eq!(fitted_line(&[0.1; 9], &[0.5; 9]), None);
        assert_eq!(fitted_line(&[], &[]), None);
    }
}
