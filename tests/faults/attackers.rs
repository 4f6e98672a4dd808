//! Storms with attackers: hostile uploads of many kinds among honest ones, while clouds have a bad
//! day. Honest submitters lose nothing, and nothing is counted twice. The test prints how much
//! longer they wait, and asserts nothing about it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::StorageClass;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Benchmark as _, Ending, Receipt, Verdict};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_local::{Config, Storm};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::faults::storms::without_retries;
use crate::support::project::{BENCHMARK, good};
use crate::support::world::{PATIENCE, Sent, World, key, with_caretaker};

/// Uploads of each kind. 200 by hand: `DATAPERF_ATTACKERS=200 cargo test --workspace attackers -- --nocapture`.
pub(crate) fn n_of_each() -> usize {
    std::env::var("DATAPERF_ATTACKERS").map_or(2, |n| n.parse().unwrap())
}

/// Clients of either side that wait for a verdict and upload again.
const CLIENTS: usize = 4;

/// The attackers' uploads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    NoJson,
    Nested,
    TooLarge,
    AsLargeAsAllowed,
    RepeatedMembers,
    ManyUnknownClips,
    NoLeaderboard,
    NoSubmitter,
    StrangeName,
    StrangeKey,
    SameKeyAgain,
    Deleted,
    Archived,
    Overtaking,
}

const KINDS: [Kind; 14] = [
    Kind::NoJson,
    Kind::Nested,
    Kind::TooLarge,
    Kind::AsLargeAsAllowed,
    Kind::RepeatedMembers,
    Kind::ManyUnknownClips,
    Kind::NoLeaderboard,
    Kind::NoSubmitter,
    Kind::StrangeName,
    Kind::StrangeKey,
    Kind::SameKeyAgain,
    Kind::Deleted,
    Kind::Archived,
    Kind::Overtaking,
];

impl Kind {
    fn key(self, n: usize) -> String {
        match self {
            Self::NoLeaderboard => format!("{BENCHMARK}/en-99/mallory/{n}.json"),
            Self::NoSubmitter => format!("{BENCHMARK}/{n}.json"),
            Self::StrangeName => format!("{BENCHMARK}/en-25/M\u{430}llory\u{202e}{n}/x.json"),
            Self::StrangeKey => format!("{BENCHMARK}/en-25/mallory/\u{1}{n}%00 +&<>\u{7f}.json"),
            Self::SameKeyAgain => key("mallory", 0),
            kind => format!("{BENCHMARK}/en-25/mallory/{kind:?}-{n}.json"),
        }
    }

    fn body(self, n: usize) -> Vec<u8> {
        let most = SpeechSelection::MAX_ARTIFACT_BYTES as usize;
        let list = |n: usize, item: String| vec![item; n].join(",");
        match self {
            Self::NoJson => vec![b'{'; 1 + n % 7],
            Self::Nested => ["[".repeat(most / 2), "]".repeat(most / 2)].concat().into(),
            Self::TooLarge => vec![b' '; most + 1],
            Self::AsLargeAsAllowed => [vec![b' '; most - 2], b"{}".to_vec()].concat(),
            Self::RepeatedMembers => format!("{{{}}}", list(20_000, "\"targets\": {}".into())).into(),
            Self::ManyUnknownClips => {
                let clips = list(20_000, format!("\"job/none-{n}.wav\""));
                format!("{{\"targets\": {{\"job\": [{clips}]}}, \"nontargets\": [{clips}]}}").into()
            }
            _ => good(n),
        }
    }

    /// Whether some of these may be scored: they are good, and only sent in a bad manner.
    fn may_be_scored(self) -> bool {
        matches!(
            self,
            Self::StrangeKey | Self::SameKeyAgain | Self::Deleted | Self::Overtaking
        )
    }

    async fn send(self, world: &World, n: usize) -> Sent {
        let s3 = &world.clients.s3;
        let put = s3.put_object().bucket("submissions").key(self.key(n));
        let put = put.body(ByteStream::from(self.body(n)));
        let put = match self {
            Self::Archived => put.storage_class(StorageClass::Glacier),
            _ => put,
        };
        let version = put.send().await.unwrap().version_id.unwrap();
        let delete = s3.delete_object().bucket("submissions").key(self.key(n));
        match self {
            Self::Deleted => drop(delete.version_id(&version).send().await.unwrap()),
            Self::Overtaking => drop(delete.send().await.unwrap()), // the version stays
            _ => {}
        }
        Sent {
            bucket: "submissions".into(),
            key: self.key(n),
            version,
        }
    }
}

/// Files of lines of which not one is good. `good` is a line that is, and `text` its member that says something.
pub(crate) fn bad_lines(good: &Value, text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let with = |member: &str, value: Value| {
        let mut line = good.clone();
        line[member] = value;
        line.to_string()
    };
    let lines = |line: String, n: usize| vec![line; n].join("\n").into_bytes();
    vec![
        ("no JSON", b"{\n}\n]".to_vec()),
        ("no text", vec![0xff, 0xfe, 0, 1, 2]),
        ("deep", lines("[".repeat(100_000), 2)),
        ("very many lines", lines(good.to_string(), 20_000)),
        (
            "one very long line",
            with(text, json!("x".repeat(4 << 20))).into(),
        ),
        (
            "control characters",
            lines(with(text, json!("\u{0}\u{1}\u{202e}\u{fffe}")), 3),
        ),
        (
            "members twice",
            format!("{{\"{text}\": \"a\", \"{text}\": \"b\"}}").into(),
        ),
        (
            "other types",
            [
                with(text, json!([1, 2])),
                with(text, Value::Null),
                "7\n\"text\"".into(),
            ]
            .join("\n")
            .into(),
        ),
        ("unknown members", with("images", json!(1_000_000)).into()),
        ("nothing", Vec::new()),
    ]
}

/// Asserts that a file of lines was rejected, or each of its lines was.
pub(crate) fn nothing_was_taken(kind: &str, verdict: &Verdict) {
    let no_line = verdict.lines.iter().all(|line| line.status == Ending::Rejected);
    let is_refused = verdict.status == Ending::Rejected || verdict.status == Ending::Accepted && no_line;
    assert!(is_refused, "{kind}: {verdict:?}");
}

/// Uploads by clients of either side that wait for their verdicts: `n_honest` honest ones alone, then honest ones for as long as there are
/// hostile ones, `n_hostile` of them. Says how long the honest took, upload to verdict. `honest` and `hostile` upload the one of a number,
/// and look at what becomes of it. How many honest ones there were in all: their numbers begin at 0.
pub(crate) async fn beside_each_other(
    case: &str,
    (n_honest, honest): (usize, impl AsyncFn(usize) -> Receipt),
    (n_hostile, hostile): (usize, impl AsyncFn(usize)),
) -> usize {
    let n_begun = Cell::new(0);
    let seconds = async |goes_on: &dyn Fn() -> bool| {
        let numbers = std::iter::from_fn(|| goes_on().then(|| n_begun.replace(n_begun.get() + 1)));
        let receipts = stream::iter(numbers).map(|n| honest(n)).buffer_unordered(CLIENTS);
        let seconds = receipts.map(|receipt| {
            (receipt.finished_at.unix_millis() - receipt.received_at.unix_millis()) as f64 / 1e3
        });
        seconds.collect::<Vec<f64>>().await
    };
    seconds(&|| n_begun.get() < 2 * CLIENTS).await; // starts processes
    let alone = median_and_worst(seconds(&|| n_begun.get() < 2 * CLIENTS + n_honest).await);
    let is_over = Cell::new(false);
    let attacks = async {
        let attacks = stream::iter(0..n_hostile).map(|n| hostile(n));
        attacks.buffer_unordered(CLIENTS).collect::<()>().await;
        is_over.set(true);
    };
    let goes_on = || !is_over.get();
    let (others, ()) = tokio::join!(seconds(&goes_on), attacks);
    let (n_beside, others) = (others.len(), median_and_worst(others));
    // Not captured by the test harness: for docs/performance.md.
    let _ = writeln!(
        std::io::stderr(),
        "{case}: {n_honest} honest uploads alone {:.3} s, 99 of 100 {:.3} s; {n_beside} beside {n_hostile} hostile ones {:.3} s, {:.3} s",
        alone.0,
        alone.1,
        others.0,
        others.1
    );
    n_begun.get()
}

/// Waits until an upload has ended.
pub(crate) async fn ended(world: &World, benchmark: &str, sent: &Sent) -> Receipt {
    let begun = Instant::now();
    loop {
        let known = world.leaderboards().submission(benchmark, &sent.id()).await;
        if let Some(receipt) = known.unwrap().and_then(|known| known.receipt) {
            return receipt;
        }
        assert!(begun.elapsed() < PATIENCE, "`{}` has not ended", sent.key);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn median_and_worst(mut seconds: Vec<f64>) -> (f64, f64) {
    seconds.sort_by(f64::total_cmp);
    (seconds[seconds.len() / 2], seconds[seconds.len() * 99 / 100])
}

fn configured(config: &mut Config) {
    with_caretaker(config);
    config.functions[0].concurrency = 4;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_submitters_are_served_despite_attackers() {
    let world = World::with(configured).await;
    let n = n_of_each() * KINDS.len();
    let honest = async |n: usize| {
        let sent = world.put(&key(&format!("honest-{n}"), n), good(n % 4)).await;
        let receipt = ended(&world, BENCHMARK, &sent).await;
        assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
        receipt
    };
    let hostile = async |n: usize| {
        let sent = KINDS[n % KINDS.len()].send(&world, n / KINDS.len()).await;
        ended(&world, BENCHMARK, &sent).await;
    };
    beside_each_other(BENCHMARK, (n.min(500), honest), (n, hostile)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_with_attackers_loses_or_duplicates_nothing() {
    let world = World::with(|config| {
        configured(config);
        config.retry_backoff = vec![Duration::from_millis(5); 2];
        without_retries(config);
    })
    .await;
    world.cloud.faults().storm(Some(Storm {
        seed: 21,
        kills_before: 8,
        kills_after: 8,
        s3_unavailable: 20,
        table_throttled: 20,
        table_lost_answers: 15,
        events_dropped: 60,
        events_duplicated: 200,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        ..Storm::default()
    }));
    let attacks = (0..n_of_each()).flat_map(|n| KINDS.map(|kind| (kind, n)));
    let uploads = attacks.enumerate().map(|(place, (kind, n))| {
        let world = &world;
        async move {
            let honest = key(&format!("honest-{place}"), place);
            let honest = world.put(&honest, good(place % 4)).await;
            [(None, honest), (Some(kind), kind.send(world, n).await)]
        }
    });
    let sent: Vec<[(Option<Kind>, Sent); 2]> = stream::iter(uploads).buffer_unordered(8).collect().await;
    let sent: Vec<(Option<Kind>, Sent)> = sent.into_iter().flatten().collect();
    world.settle().await;
    world.sweep().await;
    let injected = world.cloud.faults().injected();
    world.cloud.faults().storm(None);
    world.sweep().await;
    let mut known = Vec::new();
    for (kind, sent) in sent {
        let submission = world.leaderboards().submission(BENCHMARK, &sent.id()).await;
        // an upload whose event was lost and which is deleted for good leaves nothing that could be found
        if submission.unwrap().is_some() || kind != Some(Kind::Deleted) {
            known.push((kind, sent));
        }
    }
    let sent = known;
    let all: Vec<Sent> = sent.iter().map(|(_, sent)| sent.clone()).collect();
    // each has one receipt and one record that agree, and the boards are what follows from the receipts
    world.receipts(&all).await;
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    let receipts = world.receipts(&all).await;
    let mut endings: BTreeMap<(Option<Kind>, &str), usize> = BTreeMap::new();
    for (kind, sent) in &sent {
        let ending = receipts[&sent.id()].verdict.status;
        *endings.entry((*kind, ending.as_str())).or_default() += 1;
        match kind {
            None => assert_eq!(ending, Ending::Scored, "{}", sent.key),
            Some(kind) if kind.may_be_scored() => assert_ne!(ending, Ending::Failed, "{kind:?}"),
            Some(kind) => assert_eq!(ending, Ending::Rejected, "{kind:?}"),
        }
    }
    let _ = writeln!(std::io::stderr(), "{injected:?}: {endings:?}");
    assert!(!injected.is_empty(), "faults were injected");
}
