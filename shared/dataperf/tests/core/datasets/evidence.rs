//! Evidence of the tiny data set: what fits, and what is refused.

use std::collections::BTreeMap;

use dataperf::Benchmark;
use dataperf::evaluation::evaluate::{Evaluated, evaluate, gather};
use dataperf::evidence::{Evidence, EvidenceError, Repeat, Repeats, UnitEvidence, Weights};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_numerics::metrics::macro_f1;

use crate::tiny;

fn evaluated() -> Evaluated<SpeechSelection> {
    let gathered = pollster::block_on(gather(&tiny::dataset(), "en-6", &tiny::good()));
    gathered.expect("a submission that obeys the rules")
}

fn scored(
    evaluated: &Evaluated<SpeechSelection>,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<f64, EvidenceError> {
    SpeechSelection::score(&evaluated.frozen, evidence, weights).map(|card| card.score)
}

fn of_en(weights: Vec<u32>) -> Weights {
    Weights::of_units(BTreeMap::from([("en".to_owned(), weights)]))
}

#[test]
fn evidence_has_every_items_class_under_every_seed() {
    let evaluated_once = evaluated();
    let unit = evaluated_once.evidence.unit("en", 30, 3).unwrap();
    let truth: Vec<u8> = (0..30).map(|idx| idx % 3).collect();
    let verdict = pollster::block_on(evaluate(&tiny::dataset(), "en-6", &tiny::good())).expect("a verdict");
    for (idx, seed) in [5, 69].into_iter().enumerate() {
        let f1 = macro_f1(&truth, unit.predicted(Repeat::Seed(seed)).unwrap());
        assert_eq!(verdict.metrics["per_seed"][idx], f1);
    }
    assert_eq!(
        (unit.count("n_clips"), unit.count("n_nontargets")),
        (Ok(5), Ok(2))
    );
    assert_eq!(evaluated_once.provenance.benchmark, "speech-selection");
    assert_eq!(evaluated_once.provenance.leaderboard, "en-6");
}

#[test]
fn evidence_of_something_else_is_refused() {
    let evaluated_once = evaluated();
    let ones = Weights::ones();
    let seeds = |seeds: &[u32], n_items: usize, n_classes| {
        let predicted = vec![0; seeds.len() * n_items];
        UnitEvidence::new(Repeats::Seeds(seeds.to_vec()), n_items, n_classes, predicted)
            .with_count("n_clips", 5)
            .with_count("n_nontargets", 2)
    };
    let of_unit = |name: &str, unit| scored(&evaluated_once, &Evidence::of_unit(name, unit), &ones);
    assert!(of_unit("en", seeds(&[5, 69], 30, 3)).is_ok());
    let bare = UnitEvidence::new(Repeats::Seeds(vec![5, 69]), 30, 3, vec![0; 60]);
    let trials = UnitEvidence::new(Repeats::Trials(2), 30, 3, vec![0; 60]);
    for (name, unit, why) in [
        ("pt", seeds(&[5, 69], 30, 3), "it has no unit `en`"),
        (
            "en",
            seeds(&[5, 69], 29, 3),
            "the unit `en` has 29 items of 3 classes, and the test set 30 of 3",
        ),
        (
            "en",
            seeds(&[5, 69], 30, 4),
            "the unit `en` has 30 items of 4 classes, and the test set 30 of 3",
        ),
        ("en", seeds(&[5, 70], 30, 3), "it has no repeat Seed(69)"),
        ("en", trials, "it has no repeat Seed(5)"),
        ("en", bare, "it has no count `n_clips`"),
    ] {
        let why = why.to_owned();
        assert_eq!(of_unit(name, unit), Err(EvidenceError::OtherData { why }));
    }
}

#[test]
fn weights_of_something_else_are_refused() {
    let evaluated_once = evaluated();
    let ones = scored(&evaluated_once, &evaluated_once.evidence, &Weights::ones());
    assert_eq!(
        scored(&evaluated_once, &evaluated_once.evidence, &of_en(vec![2; 30])),
        ones
    );
    let of_pt = Weights::of_units(BTreeMap::from([("pt".to_owned(), vec![1; 30])]));
    for (weights, n) in [(of_en(vec![1; 29]), 29), (of_pt, 0)] {
        let why = format!("the unit `en` has {n} weights and 30 items");
        assert_eq!(
            scored(&evaluated_once, &evaluated_once.evidence, &weights),
            Err(EvidenceError::OtherWeights { why })
        );
    }
}

/// An item without weight is no item: a class that is neither true nor predicted any more is not averaged over.
#[test]
fn items_without_weight_are_left_out() {
    let evaluated_once = evaluated();
    let mut predicted: Vec<u8> = (0..30).map(|idx| idx % 3).collect();
    predicted[2] = 0;
    let unit = UnitEvidence::new(Repeats::Seeds(vec![5, 69]), 30, 3, predicted.repeat(2))
        .with_count("n_clips", 5)
        .with_count("n_nontargets", 2);
    let evidence = Evidence::of_unit("en", unit);
    let weights = |without_class_2: u32| {
        (0..30)
            .map(|idx| if idx % 3 == 2 { without_class_2 } else { 1 })
            .collect()
    };
    assert_eq!(scored(&evaluated_once, &evidence, &of_en(weights(0))), Ok(1.0));
    let class_0 = 2.0 * (10.0 / 11.0) / (10.0 / 11.0 + 1.0);
    let class_2 = 2.0 * 0.9 / (0.9 + 1.0);
    let all = scored(&evaluated_once, &evidence, &of_en(weights(1))).unwrap();
    assert!((all - (class_0 + 1.0 + class_2) / 3.0).abs() < 1e-15, "{all}");
}
