//! Answers cases that another program has written: how `tests/peers/integrity.py` compares label flags with cleanlab, and
//! tau-b, W and shares' intervals with `scipy`.
//!
//! A JSON array of cases on standard input, an array of answers on standard output.

use std::io::{Read, stdin};

use dataperf_numerics::agreement::{kendalls_w, share_interval, tau_b};
use dataperf_numerics::confident_learning::flagged;
use ndarray::Array2;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Flags {
        labels: Vec<usize>,
        n_classes: usize,
        probabilities: Vec<f64>,
    },
    TauB {
        one: Vec<f64>,
        other: Vec<f64>,
    },
    W {
        rankings: Vec<Vec<f64>>,
    },
    Share {
        n_found: usize,
        n: usize,
    },
}

impl Case {
    fn answer(self) -> Result<Value, Box<dyn std::error::Error>> {
        Ok(match self {
            Self::Flags {
                labels,
                n_classes,
                probabilities,
            } => {
                let probabilities = Array2::from_shape_vec((labels.len(), n_classes), probabilities)?;
                json!(flagged(&labels, probabilities.view(), 1))
            }
            Self::TauB { one, other } => json!(tau_b(&one, &other)),
            Self::W { rankings } => json!(kendalls_w(
                &rankings.iter().map(Vec::as_slice).collect::<Vec<_>>()
            )),
            Self::Share { n_found, n } => json!(share_interval(n_found, n)),
        })
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let cases: Vec<Case> = serde_json::from_str(&text)?;
    let answers = cases
        .into_iter()
        .map(Case::answer)
        .collect::<Result<Vec<Value>, _>>()?;
    println!("{}", serde_json::to_string(&answers)?);
    Ok(())
}
