//! Dynabench's score against its own formula on pandas: `dynascore/make_boards.py` wrote the scores.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use dataperf_collections::text::compare::{Measure, dynascore_2021};

const RANGES: [(f64, f64); 5] = [
    (30.0, 95.0),
    (1.0, 900.0),
    (0.0, 16.0),
    (50.0, 100.0),
    (50.0, 100.0),
];

fn boards() -> Vec<Vec<Vec<f64>>> {
    let mut state = 2021_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut board = |nth: usize| -> Vec<Vec<f64>> {
        let mut model = || {
            let mut row: Vec<f64> = RANGES
                .iter()
                .map(|(low, high)| low + (high - low) * next())
                .collect();
            if nth.is_multiple_of(10) {
                row[2] = 8.0;
            }
            row
        };
        (0..=nth % 9).map(|_| model()).collect()
    };
    (0..1000).map(&mut board).collect()
}

#[test]
fn finite_scores_match_dynabench_on_thousand_boards() {
    let measures = [
        (1.0, 0.0, 4.0),
        (-1.0, 1000.0, 1.0),
        (-1.0, 16.0, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, 0.0, 1.0),
    ];
    let measures = measures.map(|(direction, offset, weight)| Measure {
        direction,
        offset,
        weight,
    });
    let expected: Vec<Vec<Option<f64>>> =
        serde_json::from_str(include_str!("dynascore/scores.json")).unwrap();
    let (mut n_finite, mut n_others) = (0, 0);
    for (nth, (board, expected)) in boards().iter().zip(&expected).enumerate() {
        let scores = dynascore_2021(board, &measures);
        assert_eq!(scores.len(), expected.len(), "board {nth}");
        for (score, expected) in scores.iter().zip(expected) {
            if let Some(expected) = expected {
                let is_close = (score - expected).abs() <= 1e-9 * expected.abs();
                assert!(is_close, "board {nth}: {score} {expected}");
                n_finite += 1;
            } else {
                assert!(!score.is_finite(), "board {nth}: {score}");
                n_others += 1;
            }
        }
    }
    assert!(n_finite > 3000 && n_others > 300, "{n_finite} {n_others}");
}
