//! Fits models to problems that another program has written, and writes what they predict: how `tests/peers/models.py`
//! compares them with scikit-learn and XGBoost.
//!
//! `learn CASES`: a JSON array of cases. Files are raw and little-endian: features 64-bit floats, row after row, labels and
//! predictions one byte each. For each case a line with the seconds it took, or the error, is printed.

use std::collections::BTreeSet;
use std::fs;
use std::io::Error;
use std::path::PathBuf;
use std::time::Instant;

use dataperf_numerics::learner::Learner;
use ndarray::Array2;
use rayon::prelude::*;
use serde::Deserialize;

/// Label vectors that are fitted together.
const AT_ONCE: usize = 8;

#[derive(Deserialize)]
struct Case {
    learner: Learner,
    n_features: usize,
    /// `(n_rows, n_features)`
    train: PathBuf,
    /// `(n_items, n_features)`
    items: PathBuf,
    /// `(n_vectors, n_rows)`
    labels: PathBuf,
    seeds: Vec<u32>,
    /// `(n_vectors, n_seeds, n_items)`, to be written.
    predictions: PathBuf,
}

impl Case {
    fn run(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (train, items) = (self.matrix(&self.train)?, self.matrix(&self.items)?);
        let labels: Vec<usize> = fs::read(&self.labels)?.into_iter().map(usize::from).collect();
        let n_classes = labels.iter().collect::<BTreeSet<_>>().len();
        self.learner.check(train.nrows(), train.ncols(), n_classes)?;
        let prepared = self.learner.prepare(train.view(), items.view())?;
        let n_rows = train.nrows();
        let predicted: Result<Vec<_>, _> = if let [seed] = self.seeds[..] {
            let of_some = |labels: &[usize]| {
                let vectors: Vec<_> = labels.chunks(n_rows).map(<[usize]>::to_vec).collect();
                prepared.predict_all(&vectors, seed)
            };
            labels.par_chunks(AT_ONCE * n_rows).map(of_some).collect()
        } else {
            let of_one = |labels| prepared.predict_seeds(labels, &self.seeds);
            labels.par_chunks(n_rows).map(of_one).collect()
        };
        Ok(fs::write(&self.predictions, predicted?.concat().concat())?)
    }

    fn matrix(&self, path: &PathBuf) -> Result<Array2<f64>, Error> {
        let bytes = fs::read(path)?;
        let numbers: Vec<f64> = bytes
            .as_chunks()
            .0
            .iter()
            .copied()
            .map(f64::from_le_bytes)
            .collect();
        let shape = (numbers.len() / self.n_features.max(1), self.n_features);
        Array2::from_shape_vec(shape, numbers).map_err(Error::other)
    }
}

#[expect(clippy::print_stdout, reason = "the answer to the program that runs this")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("a file of cases is missing: `learn CASES`")?;
    let cases: Vec<Case> = serde_json::from_slice(&fs::read(path)?)?;
    for case in cases {
        let begin = Instant::now();
        let outcome = case.run();
        let seconds = begin.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("{seconds}"),
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}
