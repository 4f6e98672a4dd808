//! What areas under curves tell, beside scores that are places on them: somebody with many names fills a board with orders that differ in two
//! neighbours, and reads areas, their intervals and ranks by area as each preset shows them. The area of a fix that changes nothing stays, to the
//! last bit, wherever it comes, so that an area with all digits tells whether one of two labels is wrong.

use std::collections::BTreeSet;
use std::io::Write as _;

use dataperf::comparison::Area;
use dataperf::{Benchmark as _, Feedback};
use dataperf_benchmarks::own_data::debugging::Debugging;
use serde_json::{Value, json};

use super::intervals::{HALF, Scores, Sent, compared, is_told, sent};
use super::own_data::{board, ids_and_labels};
use super::{Draws, Target, read};

/// Pairs of neighbours that are exchanged, one pair an upload.
const N_EXCHANGED: usize = 100;
/// Orders that differ in much.
const N_SHUFFLED: usize = 8;

/// The areas as anybody reads them, in the order of the submissions.
fn areas(sent: &[Sent], scores: Scores) -> Vec<Option<Area>> {
    let (_, lines) = compared::<Debugging>(&sent.iter().collect::<Vec<_>>(), scores);
    lines.iter().map(|line| line.area).collect()
}

/// The uploads that differ from the second one in something that is read. The first has the same file, and is the board's baseline.
fn moved<T: PartialEq>(read: &[T]) -> BTreeSet<usize> {
    (2..read.len())
        .filter(|&upload| read[upload] != read[1])
        .collect()
}

fn spread(deviations: impl Iterator<Item = f64>) -> f64 {
    let deviations: Vec<f64> = deviations.collect();
    let n = deviations.len() as f64;
    let mean = deviations.iter().sum::<f64>() / n;
    let squares: f64 = deviations.iter().map(|one| (one - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt()
}

/// How many pairs there are, and of how many the intervals of both areas tell the standard error of their difference, as if they were independent.
fn told_by_intervals(sent: &[Sent]) -> (usize, usize) {
    let shown = areas(sent, Scores::Whole);
    let error_of = |place: usize| {
        let (low, high) = shown[place].unwrap().interval.unwrap();
        (high - low) / 2.0 / HALF
    };
    let (mut n_pairs, mut n_told) = (0, 0);
    for one in 0..sent.len() {
        for other in 0..one {
            let both = sent[one]
                .replicates
                .areas
                .iter()
                .zip(&sent[other].replicates.areas);
            let truth = spread(both.map(|(a, b)| f64::from(*a) - f64::from(*b)));
            n_pairs += 1;
            n_told += usize::from(is_told(error_of(one).hypot(error_of(other)), truth));
        }
    }
    (n_pairs, n_told)
}

#[tokio::test]
async fn areas_tell_no_label_in_any_preset() {
    let target = Target::<Debugging>::new().await;
    let board = board(&target);
    let [ids, given, truth] = ids_and_labels(&target);
    let mut artifacts = vec![json!({ "order": ids }); 2];
    let mut is_wrong = BTreeSet::new();
    for n in 1..=N_EXCHANGED {
        let mut order = ids.clone();
        let (one, other) = (2 * n, 2 * n + 1);
        order.swap(one, other);
        artifacts.push(json!({ "order": order }));
        if [one, other].iter().any(|&row| given[row] != truth[row]) {
            is_wrong.insert(n + 1);
        }
    }
    let sent_once = sent(&target, &board, &artifacts).await;

    // whoever had all digits, such as everybody after the close, who sees curves as well
    let exact: Vec<u64> = sent_once
        .iter()
        .map(|sent| sent.replicates.header.area.unwrap().to_bits())
        .collect();
    let by_digits = moved(&exact);
    assert!(by_digits.is_subset(&is_wrong), "none falsely");
    assert!(
        by_digits.len() * 4 > is_wrong.len(),
        "the attack works where it can: {by_digits:?} of {is_wrong:?}"
    );

    let practice = areas(&sent_once, Scores::Whole);
    let values: Vec<Option<f64>> = practice.iter().map(|area| area.unwrap().value).collect();
    let intervals: Vec<_> = practice.iter().map(|area| area.unwrap().interval).collect();
    let ranks = |areas: &[Option<Area>]| -> Vec<(u32, u32)> {
        areas.iter().map(|area| area.unwrap().rank_interval).collect()
    };
    let by_practice = [moved(&values), moved(&intervals), moved(&ranks(&practice))];
    let contest = areas(&sent_once, Scores::Rounded);
    let by_contest = moved(&ranks(&contest));
    // Not captured by the test harness: for docs/security.md.
    let _ = writeln!(
        std::io::stderr(),
        "areas of {N_EXCHANGED} exchanged pairs, {} with a wrong label: by all digits {}, in practice by value, interval and ranks {:?}, in a contest {}",
        is_wrong.len(),
        by_digits.len(),
        by_practice.each_ref().map(BTreeSet::len),
        by_contest.len()
    );
    assert!(
        by_practice
            .iter()
            .all(|revealed| revealed.len() * 4 <= by_digits.len()),
        "{by_practice:?}"
    );
    assert!(by_contest.is_empty(), "{by_contest:?}");
    for area in &contest {
        let area = area.unwrap();
        assert_eq!((area.value, area.interval), (None, None), "not before its time");
    }
    assert!(areas(&sent_once, Scores::OfLadder).iter().all(Option::is_none));

    // a receipt has the area as the board has it, and from `metrics` on
    let verdict = target.score(&board, &artifacts[0]).await;
    for (level, area) in [
        (Feedback::Nothing, Value::Null),
        (Feedback::Score, Value::Null),
        (Feedback::Metrics, json!(values[0])),
        (Feedback::Full, json!(values[0])),
    ] {
        let read = read(&verdict, level);
        assert_eq!(read["metrics"]["area_under_curve"], area, "{level:?}");
    }

    let (mut draws, mut order, mut shuffled) = (Draws(7), ids.clone(), Vec::new());
    for _ in 0..N_SHUFFLED {
        draws.shuffle(&mut order);
        shuffled.push(json!({ "order": order }));
    }
    let sent_shuffled = sent(&target, &board, &shuffled).await;
    let (n_pairs, n_told) = told_by_intervals(&sent_shuffled);
    let _ = writeln!(
        std::io::stderr(),
        "areas of {n_pairs} pairs of {}: {n_told} standard errors told",
        Debugging::ID
    );
    assert!(n_told * 4 <= n_pairs, "{n_told} of {n_pairs}");
}
