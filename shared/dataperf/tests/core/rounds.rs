//! Boards against an independent sort, for any history of submissions.

use dataperf::board::{Board, Order};
use dataperf::challenge::Ranking;
use dataperf::rows::facts::{Fact, Rules};
use dataperf::rows::ranking::{Ranked, with_shared_ranks};
use dataperf::submission::Entry;
use dataperf::{Digest, Direction, Ending, SubmissionId, Timestamp, Upload};
use proptest::prelude::*;

/// One upload: by whom, when, its score, and whether it is withdrawn in the end.
type Event = (u8, i64, f64, bool);

fn submitter(n: u8) -> String {
    if n.is_multiple_of(3) {
        format!("baseline-{n}")
    } else {
        format!("person-{n}")
    }
}

fn board() -> Board {
    Board {
        benchmark: "b".into(),
        leaderboard: "l".into(),
        round: "open".into(),
    }
}

fn upload(n: usize, event: &Event) -> Upload {
    Upload {
        bucket: "submissions".into(),
        key: format!("b/l/{}/{n}", submitter(event.0)),
        version: None,
        e_tag: None,
        received_at: Timestamp::from_unix_millis(event.1),
    }
}

fn rows(events: &[Event], order: Order) -> Vec<Ranked> {
    let fact = |(n, event): (usize, &Event)| {
        let (upload, submitter) = (upload(n, event), submitter(event.0));
        let entry = Entry {
            id: upload.id(),
            board: board(),
            is_baseline: submitter.starts_with("baseline-"),
            submitter,
            received_at: upload.received_at,
            withdrawn_at: event.3.then(|| Timestamp::from_unix_millis(1)),
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: Some(event.2),
            climb: None,
            dataset: Some(Digest::compute(b"")),
        };
        Fact { entry, last: None }
    };
    let facts: Vec<Fact> = events.iter().enumerate().map(fact).collect();
    with_shared_ranks(
        dataperf::rows::facts::board(&facts, &Rules::ranked_by(order)).public,
        None,
    )
}

/// The rows that follow from the events by sorting them, with the ranks counted one by one.
fn expected(events: &[Event], order: Order) -> Vec<(Option<usize>, SubmissionId)> {
    let mut rows: Vec<(String, f64, i64, SubmissionId)> = Vec::new();
    for (n, event) in events.iter().enumerate().filter(|(_, event)| !event.3) {
        rows.push((submitter(event.0), event.2, event.1, upload(n, event).id()));
    }
    let sign = if order.direction == Direction::HigherIsBetter {
        -1.0
    } else {
        1.0
    };
    let by_place = |a: &(String, f64, i64, SubmissionId), b: &(String, f64, i64, SubmissionId)| {
        (sign * a.1)
            .partial_cmp(&(sign * b.1))
            .expect("no NaN")
            .then((a.2, &a.3).cmp(&(b.2, &b.3)))
    };
    if order.ranking == Ranking::Latest {
        rows.sort_by(|a, b| (b.2, &b.3).cmp(&(a.2, &a.3)));
    } else {
        rows.sort_by(by_place);
    }
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|row| seen.insert(row.0.clone()));
    rows.sort_by(by_place);
    let people: Vec<f64> = rows
        .iter()
        .filter(|row| row.0.starts_with("person"))
        .map(|row| row.1)
        .collect();
    let rank = |row: &(String, f64, i64, SubmissionId)| {
        let better = people
            .iter()
            .filter(|&&score| sign * score < sign * row.1)
            .count();
        row.0.starts_with("person").then_some(better + 1)
    };
    rows.iter().map(|row| (rank(row), row.3.clone())).collect()
}

fn event() -> impl Strategy<Value = Event> {
    let score = prop_oneof![
        (0_u8..4).prop_map(|n| f64::from(n) / 4.0),
        Just(-0.0),
        prop::num::f64::NORMAL
    ];
    (0_u8..6, 0_i64..5, score, prop::bool::weighted(0.2))
}

proptest! {
    #[test]
    fn a_board_matches_an_independent_sort(
        events in prop::collection::vec(event(), 0..40),
        ranking in prop_oneof![Just(Ranking::Best), Just(Ranking::Latest)],
        direction in prop_oneof![Just(Direction::HigherIsBetter), Just(Direction::LowerIsBetter)],
    ) {
        let order = Order { direction, ranking };
        let rows = rows(&events, order);
        let rows: Vec<_> = rows.iter().map(|row| (row.shown_rank(), row.entry.id.clone())).collect();
        prop_assert_eq!(rows, expected(&events, order));
    }
}
