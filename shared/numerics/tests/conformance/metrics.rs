use dataperf_numerics::metrics::{accuracy, binary_f1, f1_per_class, macro_f1, precision, recall};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    truth: Vec<usize>,
    predicted: Vec<usize>,
    macro_f1: f64,
    accuracy: f64,
    of_class_1: [f64; 3],
}

#[test]
fn equal_to_scikit_learn() {
    let cases: Vec<Case> = super::vectors(include_str!("fixtures/f1.json"));
    for Case {
        truth,
        predicted,
        macro_f1: expected,
        accuracy: share,
        of_class_1,
    } in cases
    {
        let label = format!("{truth:?} {predicted:?}");
        super::assert_close([macro_f1(&truth, &predicted)], &[expected], 1e-15, &label);
        super::assert_close([accuracy(&truth, &predicted)], &[share], 0.0, &label);
        let of_class_1_ours = [binary_f1, precision, recall]
            .map(|score: fn(&[usize], &[usize], &usize) -> f64| score(&truth, &predicted, &1));
        super::assert_close(of_class_1_ours, &of_class_1, 1e-15, &label);
    }
}

#[test]
fn no_samples_score_zero() {
    assert!(macro_f1::<u8>(&[], &[]) == 0.0 && accuracy::<u8>(&[], &[]) == 0.0);
}

proptest! {
    /// F1 from its definition by true positives, false positives and false negatives.
    #[test]
    fn macro_f1_is_the_mean_of_the_definition(labels in prop::collection::vec((0u8..5, 0u8..5), 1..60)) {
        let (truth, predicted): (Vec<u8>, Vec<u8>) = labels.iter().copied().unzip();
        let mut classes: Vec<u8> = truth.iter().chain(&predicted).copied().collect();
        classes.sort_unstable();
        classes.dedup();
        let scores: Vec<(usize, f64)> = classes.iter().map(|&class| {
            let n = |t: bool, p: bool| labels.iter().filter(|l| (l.0 == class, l.1 == class) == (t, p)).count() as f64;
            (class.into(), 2.0 * n(true, true) / (2.0 * n(true, true) + n(false, true) + n(true, false)))
        }).collect();
        let ours = f1_per_class(&truth, &predicted);
        prop_assert_eq!(ours.len(), scores.len());
        for (a, b) in ours.iter().zip(&scores) {
            prop_assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-14);
        }
        let mean = scores.iter().map(|s| s.1).sum::<f64>() / scores.len() as f64;
        prop_assert!((macro_f1(&truth, &predicted) - mean).abs() < 1e-14);
    }
}
