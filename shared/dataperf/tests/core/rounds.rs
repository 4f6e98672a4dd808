//! Boards against an independent sort, for any history of submissions; and uploads through a challenge.

use dataperf::challenge::{Ranking, Terms};
use dataperf::facts::Rules;
use dataperf::ports::leaderboard::{Board, Leaderboards, Projected, Submission};
use dataperf::ports::maintenance::{Maintenance, Order};
use dataperf::ports::memory::MemoryLeaderboards;
use dataperf::scorecard::Metrics;
use dataperf::{Descriptor, Digest, Direction, Receipt, Scorecard, SubmissionId, Timestamp, Upload, Verdict};
use proptest::prelude::*;

use crate::tiny;

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

async fn play(events: &[Event], order: Order) -> MemoryLeaderboards {
    let table = MemoryLeaderboards::default();
    for (n, event) in events.iter().enumerate() {
        let (upload, submitter) = (upload(n, event), submitter(event.0));
        let terms = Terms {
            ranking: order.ranking,
            ..Terms::outside_any_challenge(&submitter)
        };
        let received = Submission::new(board(), submitter.clone(), terms.is_baseline, upload.clone());
        table.receive(&received).await.expect("received");
        let (digest, score) = (Digest::of(b""), event.2);
        let metrics = Metrics::new();
        let hosted = Descriptor {
            direction: order.direction,
            ..tiny::HOSTED
        };
        let receipt = Receipt {
            schema: Receipt::SCHEMA,
            signature: None,
            submission: upload.id(),
            revision: 1,
            submitter,
            round: "open".into(),
            bucket: upload.bucket,
            key: upload.key,
            version: None,
            received_at: upload.received_at,
            finished_at: upload.received_at,
            feedback: None,
            withheld_until: None,
            ladder: None,
            verdict: Verdict::scored("b", "l", digest, digest, Scorecard { score, metrics }),
        };
        table.record(&receipt, &hosted, &terms).await.expect("ended");
    }
    for (n, event) in events.iter().enumerate().filter(|(_, event)| event.3) {
        let at = Timestamp::from_unix_millis(1);
        table
            .withdraw("b", &upload(n, event).id(), at, order.direction, None)
            .await
            .expect("withdrawn");
    }
    let rules = Rules::ranked_by(order);
    let projected = table.project(&board(), &rules, None).await;
    assert_eq!(projected.expect("a board"), Projected::Current);
    table
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
    fn a_board_is_what_an_independent_sort_gives(
        events in prop::collection::vec(event(), 0..40),
        ranking in prop_oneof![Just(Ranking::Best), Just(Ranking::Latest)],
        direction in prop_oneof![Just(Direction::HigherIsBetter), Just(Direction::LowerIsBetter)],
    ) {
        let order = Order { direction, ranking };
        let table = pollster::block_on(play(&events, order));
        let top = pollster::block_on(table.top(&board(), usize::MAX)).expect("a board");
        let rows: Vec<_> = top.iter().map(|row| (row.shown_rank(), row.entry.id.clone())).collect();
        prop_assert_eq!(rows, expected(&events, order));
        let first = pollster::block_on(table.top(&board(), 3)).expect("a board");
        prop_assert_eq!(&first[..], &top[..first.len()]);
    }
}
