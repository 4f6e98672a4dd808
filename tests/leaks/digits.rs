//! What the digits of a score tell: the mean of three fractions can be taken apart into them, and no longer once it is rounded, as
//! rounds do (docs/decisions/table-keeps-released-scores.md).

use std::collections::BTreeSet;

use dataperf_benchmarks::vision_selection::VisionSelection;

use super::Target;
use super::selection::submission;

/// Test images of each concept, which the manifest's shapes tell everybody.
const N_TEST: u64 = 70;

/// Every F1 that a concept can have: twice the images found, of these and the errors.
fn possible() -> Vec<f64> {
    let mut fractions = BTreeSet::new();
    for hits in 0..=N_TEST {
        for errors in 0..=N_TEST - hits {
            let (above, below) = (2 * hits, 2 * hits + errors);
            let mut divisor = (above, below);
            while divisor.1 > 0 {
                divisor = (divisor.1, divisor.0 % divisor.1);
            }
            if below > 0 {
                fractions.insert((above / divisor.0, below / divisor.0));
            }
        }
    }
    let mut values: Vec<f64> = fractions
        .iter()
        .map(|(above, below)| *above as f64 / *below as f64)
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The triples, smallest first, whose mean is within `tolerance` of a score.
fn triples(possible: &[f64], score: f64, tolerance: f64) -> Vec<[f64; 3]> {
    let mut triples = Vec::new();
    for (n, &first) in possible.iter().enumerate() {
        for (m, &second) in possible.iter().enumerate().skip(n) {
            let rest = 3.0 * score - first - second;
            let begin = possible[m..].partition_point(|third| *third < rest - 3.0 * tolerance) + m;
            let fitting = possible[begin..]
                .iter()
                .take_while(|third| **third <= rest + 3.0 * tolerance);
            triples.extend(fitting.map(|&third| [first, second, third]));
        }
    }
    triples
}

#[tokio::test]
async fn digits_of_a_mean_reveal_unattributed_parts() {
    let target = Target::<VisionSelection>::new().await;
    let possible = possible();
    let mut n_told = 0;
    let paths = [
        "coin-flip/random_20.json",
        "many-hands/noisy_120.json",
        "near-enough/nearest_60.json",
        "second-look/hard_negatives_60.json",
    ];
    for path in paths {
        let verdict = target
            .score("open", &submission("vision-selection", &format!("open/{path}")))
            .await;
        let score = verdict.score.unwrap();
        let concepts = verdict.metrics["concepts"].as_object().unwrap();
        let mut truly: Vec<f64> = concepts
            .values()
            .map(|concept| concept["f1"].as_f64().unwrap())
            .collect();
        truly.sort_by(f64::total_cmp);
        let candidates = triples(&possible, score, 1e-15);
        let close = |triple: &[f64; 3]| triple.iter().zip(&truly).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(candidates.iter().any(close), "the truth is among them");
        // as a round tells it: rounded to 1/n, n the number of all test images
        let n_items = (concepts.len() as u64 * N_TEST) as f64;
        let rounded = (score * n_items).round() / n_items;
        let n_of_rounded = triples(&possible, rounded, 0.5 / n_items).len();
        println!(
            "vision-selection {path}: {} triples have this mean, {n_of_rounded} the rounded one",
            candidates.len()
        );
        assert!(n_of_rounded > 100_000, "{n_of_rounded}");
        n_told += usize::from(candidates.len() == 1);
    }
    assert!(n_told >= 3, "{n_told} of {}", paths.len());
}
