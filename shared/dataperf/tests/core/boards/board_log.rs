//! Published boards: what a document says of itself, and of a document that was kept.

use std::collections::BTreeMap;

use dataperf::board::Board;
use dataperf::board_log::{
    BoardDocument, BoardParts, Finding, LogCheck, Lowered, PublishedBoard, canonical_digest,
};
use dataperf::challenge::Ranking;
use dataperf::rows::ranking::with_shared_ranks;
use dataperf::signature::MemorySigner;
use dataperf::submission::Entry;
use dataperf::{Digest, Direction, Ending, Feedback, SubmissionId, Timestamp};

fn board() -> Board {
    Board {
        benchmark: "b".into(),
        leaderboard: "l".into(),
        round: "spring".into(),
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis)
}

/// A board with these scores, best first, each by a different submitter; `dataset` applies to every
/// row.
fn published(scores: &[(&str, f64, &str)]) -> PublishedBoard {
    let entry = |(submitter, score, dataset): &(&str, f64, &str)| Entry {
        id: SubmissionId::derive("bucket", submitter, ""),
        board: board(),
        submitter: (*submitter).to_owned(),
        received_at: at(1),
        is_baseline: submitter.starts_with("baseline-"),
        withdrawn_at: None,
        withdrawals: Vec::new(),
        ending: Some(Ending::Scored),
        score: Some(*score),
        climb: None,
        dataset: Some(Digest::compute(dataset.as_bytes())),
    };
    let rows = with_shared_ranks(scores.iter().map(entry), None);
    let parts = BoardParts {
        rows: &rows,
        n_rows: rows.len(),
        comparison: None,
        evidence: &BTreeMap::new(),
        direction: Direction::HigherIsBetter,
        ranking: Ranking::Best,
        dataset: Some(Digest::compute(b"now")),
        is_closed: false,
    };
    PublishedBoard::new(&parts, Feedback::Full)
}

/// The documents of a log, each with its digest.
fn log(boards: Vec<PublishedBoard>, seed: &str) -> Vec<(BoardDocument, Digest)> {
    let signer = MemorySigner::new(seed).expect("a key");
    let (mut documents, mut earlier) = (Vec::new(), Vec::new());
    for (number, published) in (1..).zip(boards) {
        let board_one = board();
        let signed = BoardDocument::sign(
            &board_one,
            number,
            earlier.clone(),
            published,
            &signer,
            at(number.cast_signed()),
        );
        let (json, digest) = pollster::block_on(signed).expect("signed");
        assert_eq!(canonical_digest(&json).expect("a digest"), digest);
        documents.push((serde_json::from_value(json).expect("a document"), digest));
        earlier.insert(0, digest);
    }
    documents
}

#[test]
fn ranks_follow_from_scores_baselines_and_data_sets() {
    let board = published(&[
        ("other", 0.99, "before"),
        ("baseline-a", 0.9, "now"),
        ("ada", 0.8, "now"),
        ("bo", 0.8, "now"),
        ("cy", 0.5, "now"),
    ]);
    let ranks: Vec<_> = board
        .rows
        .iter()
        .map(|row| (row.submitter.as_str(), row.rank))
        .collect();
    let expected = [
        ("baseline-a", None),
        ("ada", Some(1)),
        ("bo", Some(1)),
        ("cy", Some(3)),
        ("other", None),
    ];
    assert_eq!(ranks, expected);
    let documents = log(vec![board], "one");
    let mut document = documents[0].0.clone();
    assert_eq!(document.check(), []);
    document.board.rows[3].rank = Some(2);
    document.board.rows.swap(0, 4);
    let findings = document.check();
    assert!(
        matches!(&findings[0], Finding::WrongRank { submitter, .. } if submitter == "cy"),
        "{findings:?}"
    );
    assert!(
        matches!(&findings[1], Finding::WrongOrder { submitter } if submitter == "ada"),
        "{findings:?}"
    );
}

#[test]
fn a_kept_document_reveals_changes() {
    let first = published(&[("ada", 0.8, "now"), ("bo", 0.5, "now")]);
    let removed = published(&[("ada", 0.8, "now")]);
    let changed = published(&[("ada", 0.8, "now"), ("bo", 0.75, "now")]);
    let documents = log(vec![first.clone(), removed, changed, first.clone()], "one");
    let compare = |n: usize, kept: usize| {
        let ((document, own), (kept, digest)) = (&documents[n], &documents[kept]);
        let LogCheck::Compared(findings) = document.compare_with(kept, *digest, *own) else {
            panic!("too far")
        };
        findings
            .iter()
            .map(|one| serde_json::to_value(one).expect("JSON")["code"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(compare(1, 0), ["removed_row"]);
    assert_eq!(compare(2, 0), ["changed_score"]);
    assert_eq!(compare(3, 0), [""; 0]);
    assert_eq!(compare(0, 0), [""; 0]);
    assert_eq!(compare(0, 3), ["older"]);
    // somebody else's log of the same board
    let fork = log(vec![published(&[("eve", 0.9, "now")]), first], "one");
    let (document, own) = &fork[1];
    let findings = document.compare_with(&documents[0].0, documents[0].1, *own);
    assert_eq!(findings, LogCheck::Compared(vec![Finding::Fork { number: 1 }]));
    // a log that was begun again, with a lower number at a later time
    let (document, own) = &fork[0];
    let later = BoardDocument {
        published_at: at(1_000),
        ..document.clone()
    };
    let findings = later.compare_with(&documents[3].0, documents[3].1, *own);
    assert_eq!(findings, LogCheck::Compared(vec![Finding::Fork { number: 4 }]));
    // a document that names too few earlier ones
    let mut short = documents[3].0.clone();
    short.earlier.truncate(1);
    assert!(matches!(
        short.check()[..],
        [Finding::ShortChain {
            named: 1,
            expected: 3,
            ..
        }]
    ));
    let findings = short.compare_with(&documents[0].0, documents[0].1, documents[3].1);
    assert_eq!(findings, LogCheck::TooFar);
}

#[test]
fn a_row_falling_behind_unexplained_is_detected() {
    let first = published(&[("ada", 0.8, "now"), ("bo", 0.5, "now")]);
    let mut worse = published(&[("ada", 0.7, "now"), ("bo", 0.5, "now")]);
    worse.rows[0].submission = SubmissionId::derive("bucket", "another", "");
    let mut baseline = first.clone();
    baseline.rows[0].is_baseline = true;
    let other = published(&[("bo", 0.5, "now"), ("ada", 0.8, "before")]);
    let mut cut = published(&[("ada", 0.8, "now")]);
    cut.n_rows = 2;
    for (then, lowered) in [
        (worse, Some(Lowered::WorseScore)),
        (baseline, Some(Lowered::Baseline)),
        (other, Some(Lowered::OtherDataset)),
        (cut, None),
    ] {
        let documents = log(vec![first.clone(), then], "one");
        let findings = documents[1]
            .0
            .compare_with(&documents[0].0, documents[0].1, documents[1].1);
        let expected = lowered.map(|lowered| Finding::LoweredRow {
            submitter: "ada".into(),
            submission: first.rows[0].submission.clone(),
            lowered,
        });
        assert_eq!(findings, LogCheck::Compared(expected.into_iter().collect()));
    }
}
