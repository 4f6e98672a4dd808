//! Hashed n-grams and the regression on them.

use dataperf_numerics::models::logistic_regression::{LogisticSettings, SparseLogistic};
use dataperf_numerics::text::{Analyzer, HashingVectorizer};
use serde::Deserialize;

use crate::{assert_close, vectors};

#[derive(Deserialize)]
struct Vectors {
    texts: Vec<String>,
    rows: Vec<Rows>,
    regressions: Vec<Regression>,
}

#[derive(Deserialize)]
struct Rows {
    analyzer: Analyzer,
    lengths: (usize, usize),
    n_features: u32,
    lowercase: bool,
    #[serde(rename = "rows")]
    expected: Vec<Vec<(u32, f64)>>,
}

#[derive(Deserialize)]
struct Regression {
    analyzer: Analyzer,
    #[serde(rename = "C")]
    c: f64,
    train: Vec<String>,
    labels: Vec<usize>,
    texts: Vec<String>,
    predicted: Vec<usize>,
    probabilities: Vec<Vec<f64>>,
    n_iter: usize,
}

fn recorded() -> Vectors {
    vectors(include_str!("fixtures/text.json"))
}

#[test]
fn rows_are_exactly_scikit_learns() {
    let Vectors { texts, rows, .. } = recorded();
    for case in rows {
        let (least, most) = case.lengths;
        let vectorizer = HashingVectorizer::new(case.analyzer, least..=most, case.n_features).unwrap();
        let vectorizer = if case.lowercase {
            vectorizer
        } else {
            vectorizer.case_sensitive()
        };
        for (text, expected) in texts.iter().zip(&case.expected) {
            assert_eq!(&vectorizer.row(text), expected, "{vectorizer:?} of {text:?}");
        }
    }
}

/// Rounding grows over a fit; of these the probabilities stay within 1e-7.
#[test]
fn predictions_are_scikit_learns() {
    for case in recorded().regressions {
        let vectorizer = HashingVectorizer::new(case.analyzer, 1..=2, 512).unwrap();
        let rows = |texts: &[String]| vectorizer.rows(texts.iter().map(String::as_str));
        let settings = LogisticSettings {
            c: case.c,
            ..LogisticSettings::default()
        };
        let model = SparseLogistic::fit(settings, &rows(&case.train), &case.labels).unwrap();
        let texts = rows(&case.texts);
        assert_eq!(model.n_iter(), case.n_iter);
        assert_eq!(model.predict(&texts), case.predicted);
        for (row, expected) in case.probabilities.iter().enumerate() {
            assert_close(
                model.probabilities(texts.row(row)),
                expected,
                1e-7,
                "probabilities",
            );
        }
    }
}
