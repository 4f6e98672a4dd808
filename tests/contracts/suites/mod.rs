//! Requirements on every implementation of a port.

use bytes::Bytes;

use dataperf::Descriptor;
use dataperf::Direction;
use dataperf::Reason;
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::board::{Board, OPEN_ROUND, Order, Ranking};
use dataperf::challenge::{BASELINE_PREFIX, Terms};
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::rows::facts::Rules;
use dataperf::submission::{Entry, Submission};
use dataperf::table::leaderboard::{Leaderboards, Projected, Recorded, Reopened};
use dataperf::{Digest, SubmissionId, SubmitterName, Timestamp, Upload};
use dataperf::{Ending, Receipt, Verdict};
use story::HOSTED;

mod datasets;
mod ladder;
mod limits;
mod maintenance;
mod story;

pub(crate) use maintenance::maintenance;

use story::Outcome;

/// Reads and writes of objects. `prefix` keeps several runs in one bucket apart.
///
/// # Errors
/// The bucket's answer; a broken promise panics.
///
/// # Panics
/// When the bucket breaks a promise.
pub(crate) async fn bucket(bucket: &impl Bucket, prefix: &str) -> Outcome {
    let key = format!("{prefix}/a key with spaces, +, % and ü.json");
    assert_eq!(bucket.get(&key, None, 100).await?, Got::Missing);
    assert_eq!(bucket.get_ranges(&key, &[0..1, 1..2]).await?, None);

    bucket.put(&key, Bytes::from_static(b"first")).await?;
    bucket.put(&key, Bytes::from_static(b"0123456789")).await?;
    let Got::Object(object) = bucket.get(&key, None, 10).await? else {
        panic!("the object is there")
    };
    assert_eq!(
        object.bytes,
        b"0123456789"[..],
        "the newest write is read, and the limit is inclusive"
    );
    assert_eq!(bucket.get(&key, None, 9).await?, Got::TooLarge { n_bytes: 10 });
    let parts = bucket.get_ranges(&key, &[8..10, 0..3, 0..10, 4..4]).await?;
    let parts = parts.unwrap_or_default();
    assert_eq!(
        parts,
        [&b"89"[..], b"012", b"0123456789", b""],
        "ranges come in the order asked"
    );
    assert!(
        bucket.get_ranges(&key, &[0..1, 5..11]).await.is_err(),
        "a range beyond the end is an error"
    );
    many_ranges(bucket, &key, prefix).await?;

    let strange = format!("{prefix}/what XML can't carry\u{1}\t.json");
    bucket.put(&strange, Bytes::from_static(b"strange")).await?;
    let Got::Object(object) = bucket.get(&strange, None, 10).await? else {
        panic!("a key with control characters is a key")
    };
    assert_eq!(object.bytes, b"strange"[..]);

    let fresh = format!("{prefix}/fresh");
    assert!(bucket.put_if_absent(&fresh, Bytes::from_static(b"one")).await?);
    assert!(!bucket.put_if_absent(&fresh, Bytes::from_static(b"two")).await?);
    let Got::Object(object) = bucket.get(&fresh, None, 100).await? else {
        panic!("the object is there")
    };
    assert_eq!(object.bytes, b"one"[..], "the first write stands");
    assert!(
        bucket
            .put_over(&fresh, Bytes::from_static(b"three"), &object)
            .await?
    );
    if object.tag.is_some() {
        let late = bucket.put_over(&fresh, Bytes::from_static(b"four"), &object);
        assert!(!late.await?, "another one is there by now");
    }
    let Got::Object(object) = bucket.get(&fresh, None, 100).await? else {
        panic!("the object is there")
    };
    assert_eq!(object.bytes, b"three"[..]);

    let empty = format!("{prefix}/empty");
    bucket.put(&empty, Bytes::new()).await?;
    let Got::Object(object) = bucket.get(&empty, None, 100).await? else {
        panic!("the object is there")
    };
    assert!(object.bytes.is_empty());
    Ok(())
}

/// Many ranges at once may take another way than few.
async fn many_ranges(bucket: &impl Bucket, digits: &str, prefix: &str) -> Outcome {
    let ranges: Vec<_> = (0..200).map(|n| n % 7..n % 7 + n % 4).collect();
    let parts = bucket.get_ranges(digits, &ranges).await?.unwrap_or_default();
    let expected = ranges
        .iter()
        .map(|range| &b"0123456789"[range.start as usize..range.end as usize]);
    assert!(
        parts.iter().eq(expected),
        "ranges come in the order asked: {parts:?}"
    );
    let mut beyond = ranges.clone();
    beyond[100] = 9..12;
    assert!(
        bucket.get_ranges(digits, &beyond).await.is_err(),
        "one range of many beyond the end is an error"
    );
    let missing = format!("{prefix}/nothing is here");
    assert_eq!(bucket.get_ranges(&missing, &ranges).await?, None);
    Ok(())
}

/// Records a receipt outside any challenge.
async fn record(table: &impl Leaderboards, receipt: &Receipt) -> Result<Recorded, PortError> {
    let terms = Terms::outside_any_challenge(&receipt.submitter);
    let hosted = Descriptor {
        direction: Direction::HigherIsBetter,
        ..HOSTED
    };
    table.record(receipt, &hosted, &terms).await
}

/// One upload in a contract's story.
struct Story<'a> {
    benchmark: &'a str,
}

impl Story<'_> {
    fn board(&self, leaderboard: &str) -> Board {
        Board {
            benchmark: self.benchmark.into(),
            leaderboard: leaderboard.into(),
            round: OPEN_ROUND.into(),
        }
    }

    fn received(&self, submitter: &str, version: &str, at: i64) -> Submission {
        let upload = Upload {
            bucket: "submissions".into(),
            key: format!("{}/en-25/{submitter}/file.json", self.benchmark),
            version: Some(version.into()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(at),
        };
        let is_baseline = submitter.starts_with(BASELINE_PREFIX);
        Submission::new(self.board("en-25"), submitter, is_baseline, upload)
    }

    fn receipt(received: &Submission, verdict: Verdict) -> Receipt {
        Receipt {
            schema: Receipt::SCHEMA,
            signature: None,
            submission: received.upload.id(),
            revision: 1,
            submitter: received.submitter.clone(),
            round: received.board.round.clone(),
            bucket: received.upload.bucket.clone(),
            key: received.upload.key.clone(),
            version: received.upload.version.clone(),
            received_at: received.upload.received_at,
            finished_at: Timestamp::from_unix_millis(received.upload.received_at.unix_millis() + 1_500),
            feedback: None,
            withheld_until: None,
            shown_at_first: None,
            ladder: None,
            verdict,
        }
    }

    fn scored(&self, received: &Submission, score: f64) -> Receipt {
        let card = Scorecard {
            score,
            metrics: Metrics::new().with("per_seed", MetricValue::Trials(vec![score, 0.1 + 0.2])),
        };
        let digest = Digest::compute(b"anything");
        Self::receipt(
            received,
            Verdict::scored(self.benchmark, "en-25", digest, digest, card),
        )
    }

    fn rejected(&self, received: &Submission) -> Receipt {
        let rejection = Reason::over("too_many_clips", "/targets/a~1b", 25, 26, "remove one — ‘ü’").into();
        Self::receipt(
            received,
            Verdict::rejected(self.benchmark, "en-25", None, None, &rejection),
        )
    }
}

/// The life of submissions. `benchmark` keeps several runs in one table apart.
///
/// # Errors
/// The table's answer; a broken promise panics.
///
/// # Panics
/// When the table breaks a promise.
pub(crate) async fn leaderboards(table: &impl Leaderboards, benchmark: &str) -> Outcome {
    let story = Story { benchmark };
    empty(table, &story).await?;
    one_submission_ends_once(table, &story).await?;
    boards_rank(table, &story).await?;
    a_failure_is_reopened(table, &story).await?;
    names_that_look_alike_are_one(table, &story).await?;
    Ok(())
}

async fn names_that_look_alike_are_one(table: &impl Leaderboards, story: &Story<'_>) -> Outcome {
    let at = Timestamp::from_unix_millis(50_000);
    let name = |text: &str| text.parse::<SubmitterName>();
    let other_benchmark = format!("{}-other", story.benchmark);
    // from before names were noted
    let old = story.received("hal-1", "v1", 45_000);
    table.receive(&old).await?;
    record(table, &story.scored(&old, 0.5)).await?;
    for (benchmark, noted, standing) in [
        (story.benchmark, "gil-1", None),
        (story.benchmark, "gil-1", None),
        (story.benchmark, "gil_l", Some("gil-1")),
        (story.benchmark, "gil.1", Some("gil-1")),
        (story.benchmark, "gii-1", None),
        (story.benchmark, "gil-1", None),
        (story.benchmark, "gil1", None),
        (story.benchmark, "gil-2", None),
        (story.benchmark, "hal_1", None),
        (story.benchmark, "hal-1", None),
        (story.benchmark, "hal.1", Some("hal_1")),
        (&other_benchmark, "gil_l", None),
        (&other_benchmark, "gil-1", Some("gil_l")),
    ] {
        let earlier = table.note_name(benchmark, &name(noted)?, at).await?;
        assert_eq!(earlier, standing.map(name).transpose()?, "{benchmark}: {noted}");
    }
    Ok(())
}

async fn a_failure_is_reopened(table: &impl Leaderboards, story: &Story<'_>) -> Outcome {
    let received = story.received("fay", "v1", 40_000);
    let (benchmark, id) = (story.benchmark, received.upload.id());
    assert_eq!(table.reopen(benchmark, &id).await?, Reopened::Unknown);
    table.receive(&received).await?;
    let Reopened::Unfinished(submission) = table.reopen(benchmark, &id).await? else {
        panic!("it has not ended")
    };
    assert_eq!(
        submission.upload, received.upload,
        "all that its event told is kept"
    );
    let reason = Reason::new("time_limit", "", "it took too long");
    let failed = Story::receipt(&received, Verdict::failed(benchmark, "en-25", reason));
    record(table, &failed).await?;
    assert_eq!(table.receive(&received).await?.receipt, Some(failed));
    let entries = table.failed(benchmark).await?;
    assert_eq!(entries.iter().map(|entry| &entry.id).collect::<Vec<_>>(), [&id]);
    assert_eq!(table.unfinished(benchmark).await?, []);

    let submission = Submission {
        is_reopened: true,
        ..submission
    };
    assert_eq!(
        table.reopen(benchmark, &id).await?,
        Reopened::Reopened(submission.clone())
    );
    assert_eq!(table.failed(benchmark).await?, []);
    assert_eq!(table.unfinished(benchmark).await?, [submission.entry()]);
    assert_eq!(table.history(benchmark, "fay", 10).await?, [submission.entry()]);
    assert_eq!(table.receive(&received).await?, submission);
    let scored = story.scored(&received, 0.25);
    assert_eq!(record(table, &scored).await?, Recorded::Now);
    assert_eq!(table.reopen(benchmark, &id).await?, Reopened::Final(scored));
    assert_eq!(table.unfinished(benchmark).await?, []);
    assert_eq!(table.history(benchmark, "fay", 10).await?.len(), 1);
    Ok(())
}

async fn empty(table: &impl Leaderboards, story: &Story<'_>) -> Outcome {
    let board = story.board("en-25");
    assert_eq!(table.top(&board, 10).await?, []);
    assert_eq!(table.series(&board).await?, []);
    assert_eq!(table.history(story.benchmark, "ada", 10).await?, []);
    assert_eq!(table.unfinished(story.benchmark).await?, []);
    assert_eq!(table.boards(story.benchmark).await?, []);
    assert_eq!(
        table
            .submission(story.benchmark, &SubmissionId::derive("", "", ""))
            .await?,
        None
    );
    let stray = story.scored(&story.received("nobody", "v0", 1), 0.5);
    assert!(
        record(table, &stray).await.is_err(),
        "what was never received can't end"
    );
    assert_eq!(table.top(&board, 10).await?, [], "and leaves nothing behind");
    Ok(())
}

async fn one_submission_ends_once(table: &impl Leaderboards, story: &Story<'_>) -> Outcome {
    let first = story.received("ada", "v1", 10_000);
    let id = first.upload.id();
    let submission = table.receive(&first).await?;
    assert_eq!(submission, first, "it is new");
    assert_eq!(
        (&submission.id, submission.received_at),
        (&id, first.upload.received_at)
    );
    let again = story.received("ada", "v1", 99_000);
    let submission = table.receive(&again).await?;
    assert_eq!(submission.receipt, None, "it is known, and unfinished");
    assert_eq!(
        submission.received_at, first.upload.received_at,
        "the first delivery's time stands"
    );
    let unfinished = table.unfinished(story.benchmark).await?;
    assert_eq!(
        unfinished,
        [Entry {
            ending: None,
            score: None,
            ..submission.entry()
        }]
    );
    assert_eq!(table.history(story.benchmark, "ada", 10).await?, unfinished);

    let receipt = story.scored(&first, 0.5);
    assert_eq!(record(table, &receipt).await?, Recorded::Now);
    let late = story.rejected(&first);
    let finished = record(table, &late).await?;
    assert_eq!(
        finished,
        Recorded::Before(receipt.clone()),
        "the first verdict stands, to the last digit"
    );
    assert_eq!(table.receive(&again).await?.receipt, Some(receipt.clone()));
    assert_eq!(table.unfinished(story.benchmark).await?, []);
    let submission = table
        .submission(story.benchmark, &id)
        .await?
        .ok_or("it is there")?;
    assert_eq!(submission.receipt, Some(receipt));
    assert_eq!(
        table.history(story.benchmark, "ada", 10).await?,
        [submission.entry()]
    );
    assert_eq!(submission.entry().ending, Some(Ending::Scored));
    Ok(())
}

async fn boards_rank(table: &impl Leaderboards, story: &Story<'_>) -> Outcome {
    // ada has 0.5 from before. A rejected submission never ranks; a worse one does not replace the best.
    let later = [
        ("ada", "v2", 20_000, Some(0.25)),
        ("bo", "v1", 30_000, Some(0.5)),
        ("cy", "v1", 25_000, Some(0.75)),
        ("di", "v1", 26_000, None),
        ("ed", "v1", 27_000, Some(0.125)),
        ("ada", "v3", 28_000, None),
    ];
    for (submitter, version, at, score) in later {
        let received = story.received(submitter, version, at);
        assert_eq!(table.receive(&received).await?, received);
        let receipt = score.map_or_else(
            || story.rejected(&received),
            |score| story.scored(&received, score),
        );
        assert_eq!(record(table, &receipt).await?, Recorded::Now);
    }
    let board = story.board("en-25");
    let rules = Rules::ranked_by(Order {
        direction: Direction::HigherIsBetter,
        ranking: Ranking::Best,
    });
    for submitter in ["ada", "bo", "cy", "di", "ed"] {
        let projected = table.project(&board, &rules, Some(submitter)).await?;
        assert_eq!(projected, Projected::Current);
    }
    let shown = |ranked: &dataperf::rows::ranking::Ranked| {
        (ranked.rank, ranked.entry.submitter.clone(), ranked.entry.score)
    };
    let top: Vec<_> = table.top(&board, 10).await?.iter().map(shown).collect();
    let expected = [(1, "cy", 0.75), (2, "ada", 0.5), (2, "bo", 0.5), (4, "ed", 0.125)];
    assert_eq!(
        top,
        expected.map(|(rank, who, score)| (rank, who.to_owned(), Some(score)))
    );
    assert_eq!(table.top(&board, 2).await?.len(), 2);
    assert_eq!(table.top(&story.board("en-60"), 10).await?, []);
    assert_eq!(table.boards(story.benchmark).await?, std::slice::from_ref(&board));

    let times = |entries: Vec<Entry>| {
        entries
            .iter()
            .map(|entry| entry.received_at.unix_millis())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        times(table.history(story.benchmark, "ada", 2).await?),
        [28_000, 20_000],
        "newest first"
    );
    assert_eq!(
        times(table.series(&board).await?),
        [10_000, 20_000, 25_000, 27_000, 30_000],
        "oldest first, scored only"
    );
    Ok(())
}
