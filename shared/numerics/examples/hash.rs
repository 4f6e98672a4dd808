//! Makes rows of texts that another program has written, fits a logistic regression to them, and writes both: how `tests/peers/text.py`
//! compares them with scikit-learn.
//!
//! Reads a JSON array of cases from standard input and writes one of answers.

use std::io;

use dataperf_numerics::models::logistic_regression::{LogisticSettings, SparseLogistic};
use dataperf_numerics::text::{Analyzer, HashingVectorizer};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Case {
    analyzer: Analyzer,
    lengths: (usize, usize),
    n_features: u32,
    settings: LogisticSettings,
    train: Vec<String>,
    labels: Vec<usize>,
    texts: Vec<String>,
}

#[derive(Serialize)]
struct Answer {
    rows: Vec<Vec<(u32, f64)>>,
    predicted: Vec<usize>,
    probabilities: Vec<Vec<f64>>,
    n_iter: usize,
}

impl Case {
    fn run(&self) -> Result<Answer, Box<dyn std::error::Error>> {
        let (least, most) = self.lengths;
        let vectorizer = HashingVectorizer::new(self.analyzer, least..=most, self.n_features)?;
        let rows = |texts: &[String]| vectorizer.rows(texts.iter().map(String::as_str));
        let (train, texts) = (rows(&self.train), rows(&self.texts));
        let model = SparseLogistic::fit(self.settings, &train, &self.labels)?;
        let each = || 0..texts.n_rows();
        Ok(Answer {
            rows: each().map(|row| texts.row(row).collect()).collect(),
            predicted: model.predict(&texts),
            probabilities: each().map(|row| model.probabilities(texts.row(row))).collect(),
            n_iter: model.n_iter(),
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cases: Vec<Case> = serde_json::from_reader(io::stdin().lock())?;
    let answers: Vec<Answer> = cases.iter().map(Case::run).collect::<Result<_, _>>()?;
    serde_json::to_writer(io::stdout().lock(), &answers)?;
    Ok(())
}
