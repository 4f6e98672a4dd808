//! Ranks and pairs of small tables.
#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "exact values are expected")]

use dataperf_numerics::bootstrap::{Answers, ItemMetric, LANES, N_BATCHES, Resampler, draws_of};
use dataperf_rank::{Draws, Pair, Ranking, Table, Test, WhyNone};

/// Systems that are right on so many of `n` items, spread evenly.
fn table(n: usize, n_right: &[usize]) -> Table {
    let right = |system: usize, item: usize| (item * 7 + 3 * system) % n < n_right[system];
    Table {
        items: (0..n).map(|item| format!("{item:05}")).collect(),
        systems: (0..n_right.len()).map(|system| format!("s{system}")).collect(),
        values: (0..n_right.len())
            .map(|system| {
                (0..n)
                    .map(|item| f64::from(u8::from(right(system, item))))
                    .collect()
            })
            .collect(),
        clusters: None,
        weights: None,
        notes: Vec::new(),
    }
}

fn ranked(table: &Table, is_less_better: bool) -> Ranking {
    Ranking::new(table, &Draws::new(table, is_less_better))
}

#[test]
fn clear_orders_and_ties_are_reported() {
    let mut table = table(401, &[380, 300, 299, 150]);
    table.values.push(table.values[1].clone());
    table.systems.push("copy".into());
    let ranking = ranked(&table, false);
    let rows: Vec<(&str, u32, u32, u32)> = (ranking.rows.iter())
        .map(|row| {
            (
                &*row.system,
                row.rank,
                row.rank_low.unwrap(),
                row.rank_high.unwrap(),
            )
        })
        .collect();
    let expected = [
        ("s0", 1, 1, 1),
        ("copy", 2, 2, 4),
        ("s1", 2, 2, 4),
        ("s2", 4, 2, 4),
        ("s3", 5, 5, 5),
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        (ranking.n_best, ranking.n_neighbours_told_apart),
        (Some(1), Some(2))
    );
    assert!(
        ranking
            .resolution
            .is_some_and(|resolution| resolution > 0.0 && resolution < 0.2)
    );
    for row in &ranking.rows {
        assert!(row.score_low.unwrap() < row.score && row.score < row.score_high.unwrap());
    }
    let turned = ranked(&table, true);
    let order: Vec<&str> = turned.rows.iter().map(|row| &*row.system).collect();
    assert_eq!(order, ["s3", "s2", "copy", "s1", "s0"]);
    assert_eq!(turned.rows[4].rank_low, Some(5));
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let table = table(60, &[40, 35, 30]);
    let mut other = table.clone();
    other.systems.rotate_left(1);
    other.values.rotate_left(1);
    assert_eq!(ranked(&table, false), ranked(&other, false));
}

#[test]
fn draws_score_as_boards_do() {
    let table = table(97, &[60, 31]);
    let truth = vec![0_u8; 97];
    let draws = Draws::new(&table, false);
    let (one, other) = (Pair::new(&table, &draws, 0, 1), Pair::new(&table, &draws, 1, 0));
    // the same draws, scored by the boards' accuracy
    let resampler = Resampler::of_items(&truth, None, draws.seed());
    let answers: Vec<Vec<u8>> = (table.values.iter())
        .map(|values| values.iter().map(|value| u8::from(*value == 0.0)).collect())
        .collect();
    let ready = Answers::new(ItemMetric::Accuracy, &truth, answers.iter().map(Vec::as_slice));
    let mut n_first = 0.0;
    for batch in 0..N_BATCHES {
        let values = ready.values(&resampler.batch(batch));
        for draw in draws_of(batch) {
            let [first, second] = [values[0][draw % LANES], values[1][draw % LANES]];
            n_first += if first == second {
                0.5
            } else {
                f64::from(u8::from(first > second))
            };
        }
    }
    assert_eq!(one.share_first_better, n_first / 1_000.0);
    assert_eq!(other.share_first_better, 1.0 - n_first / 1_000.0);
    assert_eq!((one.clearly_better, other.clearly_better), (Some(1), Some(2)));
    assert_eq!(
        (one.difference_low.unwrap(), one.difference),
        (-other.difference_high.unwrap(), -other.difference)
    );
    assert_eq!(one.test, Some(Test::ExactMcnemar));
}

#[test]
fn few_items_have_scores_without_intervals() {
    let few = ranked(&table(19, &[12, 6]), false);
    assert_eq!(
        (few.why_none, few.rows[0].rank_low, few.resolution),
        (Some(WhyNone::FewItems), None, None)
    );
    assert_eq!(few.rows[0].score, 12.0 / 19.0);
    let mut clustered = table(200, &[120, 60]);
    clustered.clusters = Some((0..200).map(|item| item % 19).collect());
    assert_eq!(ranked(&clustered, false).why_none, Some(WhyNone::FewClusters));
    let mut weighted = table(40, &[30, 20]);
    weighted.weights = Some((0..40).map(|item| if item < 10 { 100.0 } else { 1.0 }).collect());
    assert_eq!(
        ranked(&weighted, false).why_none,
        Some(WhyNone::FewItems),
        "ten items have nearly all weight"
    );
}

#[test]
fn clusters_widen_and_weights_shift() {
    let plain = table(400, &[240, 200]);
    let mut clustered = plain.clone();
    // items of a cluster are alike
    for values in &mut clustered.values {
        values.sort_by(f64::total_cmp);
    }
    clustered.clusters = Some((0..400).map(|item| item / 10).collect());
    let width = |ranking: &Ranking| ranking.rows[0].score_high.unwrap() - ranking.rows[0].score_low.unwrap();
    assert!(width(&ranked(&clustered, false)) > 2.0 * width(&ranked(&plain, false)));
    let mut weighted = plain.clone();
    let is_second_alone = |item: usize| plain.values[1][item] > plain.values[0][item];
    weighted.weights = Some(
        (0..400)
            .map(|item| if is_second_alone(item) { 50.0 } else { 1.0 })
            .collect(),
    );
    let ranking = ranked(&weighted, false);
    assert_eq!(
        (&*ranking.rows[0].system, ranking.rows[0].score),
        ("s1", 347.0 / 547.0)
    );
    let pair = Pair::new(&weighted, &Draws::new(&weighted, false), 0, 1);
    assert_eq!((pair.test, pair.p_value), (None, None));
}

#[test]
fn the_unit_of_weights_changes_nothing() {
    let plain = table(60, &[40, 30, 20]);
    let weighted = |unit: f64| {
        let weights = (0..60).map(|item| if item < 20 { 3.0 * unit } else { unit });
        ranked(
            &Table {
                weights: Some(weights.collect()),
                ..plain.clone()
            },
            false,
        )
    };
    let expected = weighted(1.0);
    assert!(expected.why_none.is_none());
    for unit in [2_f64.powi(-1000), 2_f64.powi(-300), 2_f64.powi(1020)] {
        assert_eq!(weighted(unit), expected, "{unit}");
    }
    for unit in [5e-324, 1e-200, 1e200, 5e307] {
        for (row, expected) in weighted(unit).rows.iter().zip(&expected.rows) {
            let ranks = [row.rank_low, row.rank_high];
            assert_eq!(ranks, [expected.rank_low, expected.rank_high], "{unit}");
            let difference = row.score_low.unwrap() - expected.score_low.unwrap();
            assert!(difference.abs() < 1e-6, "{unit}: {difference}");
        }
    }
}
