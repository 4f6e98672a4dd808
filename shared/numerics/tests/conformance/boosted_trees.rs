//! Boosted trees against XGBoost 1.7.6: every node of every tree and every margin, bit for bit.

use std::ops::ControlFlow;

use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_trees::{BoostedTrees, Columns, Node, TrainingFeatures, fit_each};
use dataperf_numerics::models::mt19937::Mt19937;
use ndarray::{Array2, array, s};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::vectors;

const N_TEST: usize = 20;

#[derive(Deserialize)]
struct Case {
    seed: u32,
    features: String,
    labels: String,
    n_rows: usize,
    n_features: usize,
    trees: String,
    margins: Vec<u32>,
}

/// As `make_boosted_tree_vectors.py` makes them.
fn feature(kind: &str, words: &[u32], column: usize) -> f32 {
    let dense = |word: u32| (word >> 8) as f32 / (1 << 24) as f32 - 0.5;
    let word = words[column];
    let few = (word >> 30) as f32;
    match kind {
        "some constant" if !column.is_multiple_of(3) => 1.5,
        "dense" | "some constant" => dense(word),
        "rectified" => (dense(word) - 0.125).max(0.0),
        "sparse" if word.is_multiple_of(16) => dense(word),
        "sparse" => 0.0,
        "few" => few,
        "bits" => (word >> 31) as f32,
        "constant" => 1.0,
        "copies" => dense(words[column % 4 % words.len()]),
        "neighbours" => 1.0 + few * 2f32.powi(-23),
        "huge" => dense(word) * 2f32.powi(100),
        "tiny" => dense(word) * f32::from_bits(1 << 19), // 2^-130, one rounding
        "signed zeros" => [-0.0, 0.0, 1.0, -1.0][(word >> 30) as usize],
        other => panic!("{other}"),
    }
}

fn label(kind: &str, word: u32, rule: bool) -> bool {
    match kind {
        "random" => word >> 31 == 1,
        "zeros" => false,
        "ones" => true,
        "rule" => rule,
        "noisy rule" => rule ^ word.is_multiple_of(3),
        "rare" => word.is_multiple_of(16),
        other => panic!("{other}"),
    }
}

fn nodes(model: &BoostedTrees) -> String {
    let node = |node: &Node| match *node {
        Node::Split { feature, cut, left } => format!("{feature}/{}/{left}", cut.to_bits()),
        Node::Leaf(value) => value.to_bits().to_string(),
    };
    let trees = model.trees().iter();
    let lines: Vec<String> = trees
        .map(|tree| tree.nodes().iter().map(node).collect::<Vec<_>>().join(" "))
        .collect();
    lines.join("\n")
}

/// The committed vectors, or others: `tests/peers/run --full debugging` makes some with other seeds.
fn cases() -> Vec<Case> {
    match std::env::var("DATAPERF_TREE_VECTORS") {
        Ok(path) => vectors(&std::fs::read_to_string(path).unwrap()),
        Err(_) => vectors(include_str!("fixtures/boosted_trees.json")),
    }
}

#[test]
fn trees_and_margins_are_xgboosts() {
    for case in cases() {
        let mut generator = Mt19937::new(case.seed);
        let words =
            Array2::from_shape_simple_fn((case.n_rows + N_TEST, case.n_features), || generator.next_u32());
        let x = Array2::from_shape_fn(words.dim(), |(row, column)| {
            feature(&case.features, words.row(row).as_slice().unwrap(), column)
        });
        let middle = x[(case.n_rows / 2, 0)];
        let labels: Vec<bool> = (0..case.n_rows)
            .map(|row| label(&case.labels, generator.next_u32(), x[(row, 0)] > middle))
            .collect();
        let features = TrainingFeatures::new(Columns::new(x.slice(s![..case.n_rows, ..]))).unwrap();
        let model = BoostedTrees::fit(&features, &labels).unwrap();
        let about = format!(
            "seed {}: {} features, {} labels, {} x {}",
            case.seed, case.features, case.labels, case.n_rows, case.n_features
        );
        let margins = model.margins(&Columns::new(x.slice(s![case.n_rows.., ..])));
        let margins: Vec<u32> = margins.iter().map(|margin| margin.to_bits()).collect();
        assert_eq!(margins, case.margins, "{about}");
        let trees = format!("sha256:{}", hex::encode(Sha256::digest(nodes(&model))));
        assert_eq!(trees, case.trees, "{about}:\n{}", nodes(&model));
    }
}

#[test]
fn unusable_training_data_are_refused() {
    let new = |x: Array2<f32>| TrainingFeatures::new(Columns::new(x.view())).unwrap_err();
    let infinite = FitError::NotFinite {
        row_idx: 1,
        feature_idx: 0,
        value: f64::INFINITY,
    };
    assert_eq!(new(array![[0.0, 1.0], [f32::INFINITY, 1.0]]), infinite);
    assert_eq!(new(Array2::zeros((3, 0))), FitError::NoFeatures);
    let none = FitError::TooFewRows {
        n_rows: 0,
        n_needed: 1,
    };
    assert_eq!(new(Array2::zeros((0, 3))), none);
    let many = FitError::TooManyRows {
        n_rows: 512,
        n_allowed: 511,
    };
    assert_eq!(new(Array2::zeros((512, 1))), many);
    let features = TrainingFeatures::new(Columns::new(array![[0.0f32], [1.0]].view())).unwrap();
    let labels = FitError::LabelCount {
        n_rows: 2,
        n_labels: 3,
    };
    assert_eq!(BoostedTrees::fit(&features, &[true; 3]).unwrap_err(), labels);
}

#[test]
fn batched_fits_equal_single_fits_and_can_stop() {
    let mut generator = Mt19937::new(7);
    let x = Array2::from_shape_simple_fn((60, 25), || (generator.next_u32() >> 24) as f32);
    let features = TrainingFeatures::new(Columns::new(x.view())).unwrap();
    let label_sets: Vec<Vec<bool>> = (0..70)
        .map(|_| (0..60).map(|_| generator.next_u32().is_multiple_of(2)).collect())
        .collect();
    let mut together = vec![None; label_sets.len()];
    fit_each(&features, &label_sets, |place, model| {
        assert!(together[place].replace(model).is_none(), "each once");
        ControlFlow::Continue(())
    })
    .unwrap();
    for (labels, model) in label_sets.iter().zip(together) {
        assert_eq!(model, Some(BoostedTrees::fit(&features, labels).unwrap()));
    }
    let mut n_fitted = 0;
    fit_each(&features, &label_sets, |_, _| {
        n_fitted += 1;
        if n_fitted == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .unwrap();
    assert_eq!(n_fitted, 3);
    fit_each(&features, &[], |_, _| panic!("there is nothing to fit")).unwrap();
}
