//! The models under the names and parameters that documents give them, behind one interface.
//!
//! A [`Learner`] is what a document says, [`Prepared`] is a learner with the rows it learns from and those it predicts, made
//! ready for any number of label vectors.

mod prepared;

use serde::{Deserialize, Serialize};

pub use self::prepared::Prepared;
pub use crate::models::FitError;
use crate::models::boosted_trees::MAX_SORTED_ROWS;
use crate::models::logistic_regression::LogisticSettings;
pub use crate::models::svc::{Kernel, SvcSettings};

/// The most classes that predictions can tell apart.
pub const MAX_CLASSES: usize = 256;
/// The most features of a row.
pub const MAX_FEATURES: usize = 65_535;
/// The most iterations that a document may ask for.
const MAX_ITERATIONS: usize = 100_000;

/// A model and its parameters.
///
/// # Examples
/// ```
/// use dataperf_numerics::learner::Learner;
/// use ndarray::array;
/// let learner: Learner = serde_json::from_str(r#"{"kind": "k_nearest", "k": 1}"#)?;
/// let x = array![[0.0, 0.0], [0.1, 0.2], [5.0, 5.0]];
/// learner.check(3, 2, 2)?;
/// let prepared = learner.prepare(x.view(), array![[0.1, 0.1], [6.0, 6.0]].view())?;
/// assert_eq!(prepared.predict(&[0, 0, 1], 0)?, [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Learner {
    /// scikit-learn's `LogisticRegression`: binary, or multinomial for more than two classes.
    LogisticRegression {
        /// The inverse of the penalty's strength.
        #[serde(rename = "C", default = "default_c")]
        c: f64,
        /// The most iterations.
        #[serde(default = "default_max_iter")]
        max_iter: usize,
        /// Training stops when no component of the gradient is larger than this.
        #[serde(default = "default_tol")]
        tol: f64,
    },
    /// scikit-learn's `SVC` with `gamma="scale"`; it predicts by the votes of the pairs of classes.
    Svc {
        /// The similarity of two rows.
        #[serde(default)]
        kernel: Kernel,
        /// The penalty of an error.
        #[serde(rename = "C", default = "default_c")]
        c: f64,
        /// Training stops when the optimality conditions are violated by less than this.
        #[serde(default = "default_svc_tol")]
        tol: f64,
    },
    /// scikit-learn's `VotingClassifier(voting="soft")` of a logistic regression and a support vector classifier.
    SoftVoting {
        /// The parameters of the logistic regression.
        #[serde(default)]
        logistic: LogisticSettings,
        /// The parameters of the support vector classifier.
        #[serde(default)]
        svc: SvcSettings,
    },
    /// XGBoost's `XGBClassifier()` for two classes.
    GradientBoosting {},
    /// scikit-learn's `KNeighborsClassifier(n_neighbors=k)`.
    KNearest {
        /// The number of neighbours that vote.
        #[serde(default = "default_k")]
        k: usize,
    },
    /// scikit-learn's `NearestCentroid()`.
    NearestCentroid {},
}

fn default_c() -> f64 {
    LogisticSettings::default().c
}

fn default_max_iter() -> usize {
    LogisticSettings::default().max_iter
}

fn default_tol() -> f64 {
    LogisticSettings::default().tol
}

fn default_svc_tol() -> f64 {
    SvcSettings::default().tol
}

fn default_k() -> usize {
    5
}

impl Learner {
    /// Whether predictions depend on a seed.
    pub fn is_seeded(&self) -> bool {
        matches!(self, Self::SoftVoting { .. })
    }

    /// A short description for people, with the parameters that decide most.
    pub fn about(&self) -> String {
        match self {
            Self::LogisticRegression { c, .. } => format!("logistic regression (C = {c})"),
            Self::Svc { kernel, c, .. } => {
                format!("support vector classifier ({} kernel, C = {c})", kernel.about())
            }
            Self::SoftVoting { logistic, svc } => format!(
                "vote of a logistic regression (C = {}) and a support vector classifier (C = {})",
                logistic.c, svc.c
            ),
            Self::GradientBoosting {} => "gradient-boosted trees (XGBoost's defaults)".to_owned(),
            Self::KNearest { k } => format!("{k} nearest neighbors"),
            Self::NearestCentroid {} => "nearest class centroid".to_owned(),
        }
    }

    /// Whether training sets of `n_rows` rows of `n_features` with up to `n_classes` classes can be learned from.
    ///
    /// # Errors
    /// [`FitError`] with the first reason why not: an invalid parameter, no features, no rows, or more rows or classes than the
    /// model supports.
    pub fn check(&self, n_rows: usize, n_features: usize, n_classes: usize) -> Result<(), FitError> {
        self.check_parameters()?;
        if n_features == 0 {
            return Err(FitError::NoFeatures);
        }
        if n_features > MAX_FEATURES {
            return Err(FitError::TooManyFeatures {
                n_features,
                n_allowed: MAX_FEATURES,
            });
        }
        if n_rows == 0 {
            return Err(FitError::TooFewRows { n_rows, n_needed: 1 });
        }
        if n_classes > MAX_CLASSES {
            return Err(FitError::TooManyClasses {
                n_classes_total: n_classes,
            });
        }
        match *self {
            Self::GradientBoosting {} if n_classes > 2 => Err(FitError::NotBinary { n_classes }),
            Self::KNearest { k } if k > n_rows => Err(FitError::TooFewRows { n_rows, n_needed: k }),
            _ => match self.max_rows() {
                n_allowed if n_rows > n_allowed => Err(FitError::TooManyRows { n_rows, n_allowed }),
                _ => Ok(()),
            },
        }
    }

    /// The most rows of a training set.
    pub fn max_rows(&self) -> usize {
        match self {
            Self::Svc { .. } => 16_384,       // a kernel matrix of 1 GiB
            Self::SoftVoting { .. } => 8_192, // kernel matrices of 0.75 GiB
            Self::GradientBoosting {} => MAX_SORTED_ROWS,
            _ => u32::MAX as usize,
        }
    }

    fn check_parameters(&self) -> Result<(), FitError> {
        match *self {
            Self::LogisticRegression { c, max_iter, tol } => {
                check_logistic(LogisticSettings { c, max_iter, tol })
            }
            Self::Svc { kernel, c, tol } => check_svc(SvcSettings { kernel, c, tol }),
            Self::SoftVoting { logistic, svc } => check_logistic(logistic).and(check_svc(svc)),
            Self::KNearest { k: 0 } => Err(FitError::Parameter {
                name: "k",
                value: "0".into(),
                allowed: "at least 1",
            }),
            _ => Ok(()),
        }
    }
}

fn check_logistic(settings: LogisticSettings) -> Result<(), FitError> {
    check_positive("C", settings.c)?;
    check_positive("tol", settings.tol)?;
    if (1..=MAX_ITERATIONS).contains(&settings.max_iter) {
        return Ok(());
    }
    Err(FitError::Parameter {
        name: "max_iter",
        value: settings.max_iter.to_string(),
        allowed: "from 1 to 100000",
    })
}

fn check_svc(settings: SvcSettings) -> Result<(), FitError> {
    check_positive("C", settings.c)?;
    check_positive("tol", settings.tol)
}

fn check_positive(name: &'static str, value: f64) -> Result<(), FitError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(FitError::Parameter {
        name,
        value: value.to_string(),
        allowed: "a finite number above 0",
    })
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    fn rows(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, 3), |(i, k)| {
            ((i * 7919 + k * 131 + i * i * 31) % 1009) as f64 / 500.0 + (i % 3) as f64
        })
    }

    fn all() -> Vec<Learner> {
        let kinds = [
            "logistic_regression",
            "svc",
            "soft_voting",
            "gradient_boosting",
            "k_nearest",
            "nearest_centroid",
        ];
        kinds
            .map(|kind| serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap())
            .to_vec()
    }

    #[test]
    fn omitted_settings_use_scikit_learns_defaults() {
        assert_eq!(
            serde_json::to_string(&all()).unwrap(),
            concat!(
                r#"[{"kind":"logistic_regression","C":1.0,"max_iter":100,"tol":0.0001},"#,
                r#"{"kind":"svc","kernel":"rbf","C":1.0,"tol":0.001},"#,
                r#"{"kind":"soft_voting","logistic":{"C":1.0,"max_iter":100,"tol":0.0001},"svc":{"kernel":"rbf","C":1.0,"tol":0.001}},"#,
                r#"{"kind":"gradient_boosting"},{"kind":"k_nearest","k":5},{"kind":"nearest_centroid"}]"#
            )
        );
        for unknown in [
            r#"{"kind": "svc", "gamma": 1}"#,
            r#"{"kind": "gradient_boosting", "depth": 3}"#,
            r#"{"kind": "soft_voting", "svc": {"c": 2}}"#,
            r#"{"kind": "forest"}"#,
        ] {
            serde_json::from_str::<Learner>(unknown).unwrap_err();
        }
    }

    #[test]
    fn classes_keep_their_numbers_in_predictions() {
        let x = rows(40);
        for learner in all() {
            let prepared = learner.prepare(x.view(), x.view()).unwrap();
            let labels: Vec<usize> = (0..40).map(|i| if i % 3 == 0 { 7 } else { 90 }).collect();
            let predicted = prepared.predict_seeds(&labels, &[1, 2]).unwrap();
            assert_eq!(predicted.len(), 2);
            assert!(
                predicted[0].contains(&7) && predicted[0].contains(&90),
                "{learner:?}"
            );
            assert!(
                predicted[0].iter().all(|class| [7, 90].contains(class)),
                "{learner:?}"
            );
            assert_eq!(prepared.predict(&[9; 40], 0).unwrap(), [9; 40]);
            assert_eq!(prepared.predict(&labels, 1).unwrap(), predicted[0]);
        }
    }

    #[test]
    fn unsupported_training_sizes_are_refused() {
        let [logistic, svc, voting, trees, nearest, _] = <[Learner; 6]>::try_from(all()).unwrap();
        let text = |refused: Result<(), FitError>| refused.unwrap_err().to_string();
        assert!(text(svc.check(16_385, 2, 2)).contains("at most 16384"));
        assert!(text(voting.check(8_193, 2, 2)).contains("at most 8192"));
        assert!(text(trees.check(100, 2, 3)).contains("only 2"));
        assert!(text(nearest.check(4, 2, 2)).contains("at least 5"));
        assert!(text(logistic.check(4, 0, 2)).contains("no features"));
        assert!(text(trees.check(4, 65_536, 2)).contains("at most 65535"));
        assert!(text(trees.check(100_001, 2, 2)).contains("at most 100000"));
        assert!(text(logistic.check(0, 1, 2)).contains("at least 1"));
        assert!(text(logistic.check(9, 1, 257)).contains("at most 256"));
        for wrong in [
            r#"{"kind": "logistic_regression", "C": 0}"#,
            r#"{"kind": "logistic_regression", "max_iter": 0}"#,
            r#"{"kind": "svc", "tol": -1}"#,
            r#"{"kind": "soft_voting", "svc": {"C": -2}}"#,
            r#"{"kind": "k_nearest", "k": 0}"#,
        ] {
            let learner: Learner = serde_json::from_str(wrong).unwrap();
            assert!(text(learner.check(10, 2, 2)).contains("must be"), "{wrong}");
        }
        let x = rows(9);
        let prepared = trees.prepare(x.view(), x.view()).unwrap();
        assert_eq!(
            prepared.predict(&[0, 1, 2, 0, 1, 2, 0, 1, 2], 0).unwrap_err(),
            FitError::NotBinary { n_classes: 3 }
        );
        assert!(matches!(
            prepared.predict(&[0, 1], 0).unwrap_err(),
            FitError::LabelCount { .. }
        ));
        assert!(matches!(
            prepared.predict(&[256; 9], 0).unwrap_err(),
            FitError::ClassOutOfRange { .. }
        ));
        let narrow = Array2::zeros((2, 1));
        assert!(matches!(
            nearest.prepare(x.view(), narrow.view()).unwrap_err(),
            FitError::FeatureCount {
                n_found: 1,
                n_expected: 3
            }
        ));
        let infinite = Array2::from_elem((2, 3), f64::INFINITY);
        assert!(matches!(
            nearest.prepare(x.view(), infinite.view()).unwrap_err(),
            FitError::NotFinite { .. }
        ));
    }
}
