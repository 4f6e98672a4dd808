//! Every upload ends once, whatever breaks on the way: the workflow on ports that fail at each step in turn.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use dataperf::admission::Admission;
use dataperf::artifact_judge::{ArtifactJudge, Evaluator};
use dataperf::challenge::{Challenge, Reserved, Terms};
use dataperf::dataset::DatasetError;
use dataperf::evaluate::evaluate_to_compare;
use dataperf::facts::{Fact, Rules};
use dataperf::ladder::Rung;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::leaderboard::{
    Board, Entry, Leaderboards, OPEN_ROUND, Projected, Ranked, Recorded, Reopened, Submission, Usage,
};
use dataperf::ports::memory::{MemoryBucket, MemoryLeaderboards, MemorySigner};
use dataperf::ports::signer::{Signed, Signer};
use dataperf::ports::{PortError, async_trait};
use dataperf::signature::Keys;
use dataperf::workflow::{Ports, Settled, WorkflowError, settle};
use dataperf::{
    Benchmark, Descriptor, Digest, Ending, Feedback, Receipt, SubmissionId, SubmitterName, Timestamp, Upload,
    Verdict,
};
use dataperf_benchmarks::speech_selection::SpeechSelection;

use crate::tiny;

/// Fails the call with this number, counted over all ports; the call before it may have done its work.
pub(crate) struct Fuse {
    pub(crate) n_calls: AtomicUsize,
    fail_at: usize,
}

impl Fuse {
    fn burn(&self) -> Result<(), PortError> {
        if self.n_calls.fetch_add(1, Ordering::Relaxed) == self.fail_at {
            return Err(PortError::Transient {
                what: "a call".into(),
                source: "the fuse blew".into(),
            });
        }
        Ok(())
    }
}

pub(crate) struct Fused<'a, P> {
    pub(crate) port: &'a P,
    pub(crate) fuse: &'a Fuse,
    /// Whether the work is done before the failure: an answer that got lost.
    pub(crate) late: bool,
}

impl<P> Fused<'_, P> {
    async fn call<T>(&self, work: impl Future<Output = Result<T, PortError>>) -> Result<T, PortError> {
        if self.late {
            let answer = work.await?;
            self.fuse.burn()?;
            return Ok(answer);
        }
        self.fuse.burn()?;
        work.await
    }
}

#[async_trait]
impl<P: Bucket> Bucket for Fused<'_, P> {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        self.call(self.port.get(key, version, max_bytes)).await
    }
    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        self.call(self.port.get_ranges(key, ranges)).await
    }
    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        self.call(self.port.put(key, bytes)).await
    }
    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        self.call(self.port.put_if_absent(key, bytes)).await
    }
}

#[async_trait]
impl<P: Signer> Signer for Fused<'_, P> {
    async fn sign(&self, benchmark: &str, message: &[u8]) -> Result<Signed, PortError> {
        self.call(self.port.sign(benchmark, message)).await
    }
}

#[async_trait]
impl<P: Leaderboards> Leaderboards for Fused<'_, P> {
    async fn receive(&self, submission: &Submission) -> Result<Submission, PortError> {
        self.call(self.port.receive(submission)).await
    }
    async fn note_name(
        &self,
        benchmark: &str,
        name: &SubmitterName,
        at: Timestamp,
    ) -> Result<Option<SubmitterName>, PortError> {
        self.call(self.port.note_name(benchmark, name, at)).await
    }
    async fn reserve(&self, submission: &Submission, terms: &Terms) -> Result<Reserved, PortError> {
        self.call(self.port.reserve(submission, terms)).await
    }
    async fn record(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        terms: &Terms,
    ) -> Result<Recorded, PortError> {
        self.call(self.port.record(receipt, hosted, terms)).await
    }
    async fn rung(&self, benchmark: &str, evaluation: &str, submitter: &str) -> Result<Rung, PortError> {
        self.call(self.port.rung(benchmark, evaluation, submitter)).await
    }
    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError> {
        self.call(self.port.usage(board, submitter, at)).await
    }
    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError> {
        self.call(self.port.submission(benchmark, id)).await
    }
    async fn facts(&self, board: &Board) -> Result<Vec<Fact>, PortError> {
        self.call(self.port.facts(board)).await
    }
    async fn project(
        &self,
        board: &Board,
        rules: &Rules,
        changed: Option<&str>,
    ) -> Result<Projected, PortError> {
        self.call(self.port.project(board, rules, changed)).await
    }
    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        self.call(self.port.rows(board)).await
    }
    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError> {
        self.call(self.port.top(board, n)).await
    }
    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError> {
        self.call(self.port.history(benchmark, submitter, n)).await
    }
    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        self.call(self.port.unfinished(benchmark)).await
    }
    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError> {
        self.call(self.port.failed(benchmark)).await
    }
    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError> {
        self.call(self.port.reopen(benchmark, id)).await
    }
    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError> {
        self.call(self.port.boards(benchmark)).await
    }
}

/// Evaluates with the tiny data set. Something else happens before that.
struct TinyEvaluator<'a> {
    fuse: &'a Fuse,
    /// The data set that the challenge pins, which has to be the one that is asked for.
    pinned: Option<Digest>,
    meanwhile: &'a dyn Fn(),
}

impl Evaluator for TinyEvaluator<'_> {
    fn hosted(&self) -> &'static Descriptor {
        &tiny::HOSTED
    }
    fn max_artifact_bytes(&self) -> u64 {
        SpeechSelection::MAX_ARTIFACT_BYTES
    }
    async fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
        admission: &Admission<'_>,
    ) -> Result<Verdict, WorkflowError> {
        self.fuse.burn().map_err(DatasetError::Port)?;
        assert_eq!(terms.dataset, self.pinned);
        (self.meanwhile)();
        let (dataset, board) = (tiny::dataset(), &submission.board.leaderboard);
        Ok(evaluate_to_compare(&dataset, board, artifact, admission, false)
            .await?
            .0)
    }
}

/// Buckets and table, and one upload in them.
pub(crate) struct World {
    submissions: MemoryBucket,
    pub(crate) results: MemoryBucket,
    pub(crate) signer: MemorySigner,
    pub(crate) leaderboards: MemoryLeaderboards,
    challenge: Option<Challenge>,
    pub(crate) upload: Upload,
}

impl World {
    pub(crate) fn with(key: &str, artifact: &[u8]) -> Self {
        let submissions = MemoryBucket::default();
        pollster::block_on(submissions.put(key, Bytes::copy_from_slice(artifact))).expect("stored");
        let received_at = Timestamp::from_unix_millis(1_000);
        let upload = Upload {
            bucket: "submissions".into(),
            key: key.into(),
            version: Some("0".into()),
            e_tag: None,
            received_at,
        };
        Self {
            submissions,
            results: MemoryBucket::default(),
            signer: MemorySigner::new("in-memory").expect("random bytes"),
            leaderboards: MemoryLeaderboards::default(),
            challenge: None,
            upload,
        }
    }

    pub(crate) fn deliver(&self, fuse: &Fuse, late: bool) -> Result<Settled, WorkflowError> {
        self.deliver_and(fuse, late, || ())
    }

    /// The same, and something else happens before the evaluation.
    fn deliver_and(&self, fuse: &Fuse, late: bool, meanwhile: impl Fn()) -> Result<Settled, WorkflowError> {
        let submissions = Fused {
            port: &self.submissions,
            fuse,
            late,
        };
        let (leaderboards, results) = (
            Fused {
                port: &self.leaderboards,
                fuse,
                late,
            },
            Fused {
                port: &self.results,
                fuse,
                late,
            },
        );
        let signer = Fused {
            port: &self.signer,
            fuse,
            late,
        };
        let evaluator = TinyEvaluator {
            fuse,
            pinned: self
                .challenge
                .as_ref()
                .and_then(|challenge| challenge.rounds[0].dataset),
            meanwhile: &meanwhile,
        };
        let challenge = fuse.burn().map(|()| self.challenge.clone());
        let judge = ArtifactJudge {
            evaluator: &evaluator,
            challenge: challenge.map_err(WorkflowError::Port),
            submissions: &submissions,
            leaderboards: &leaderboards,
        };
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &results,
            signer: &signer,
            now: &|| Timestamp::from_unix_millis(2_000),
        };
        pollster::block_on(settle(&self.upload, judge, ports))
    }

    /// The receipt in the bucket, whose signature holds and is left out.
    pub(crate) fn receipt(&self, delivered: &Settled) -> Receipt {
        let key = delivered.receipt.object_key();
        let Got::Object(object) =
            pollster::block_on(self.results.get(&key, None, u64::MAX)).expect("a bucket")
        else {
            panic!("there is no receipt at {key}");
        };
        let json = serde_json::from_slice(&object.bytes).expect("JSON");
        let mut keys = Keys::default();
        keys.add(
            self.signer
                .public_key("speech-selection", Timestamp::from_unix_millis(0)),
        );
        keys.check(&json).expect("a signature that holds");
        let receipt: Receipt = serde_json::from_value(json).expect("a receipt");
        Receipt {
            signature: None,
            ..receipt
        }
    }

    pub(crate) fn n_unfinished(&self) -> usize {
        pollster::block_on(self.leaderboards.unfinished("speech-selection"))
            .expect("a table")
            .len()
    }
}

pub(crate) const KEY: &str = "speech-selection/en-6/ada/first try.json";
pub(crate) const NEVER: usize = usize::MAX;

pub(crate) fn fuse(fail_at: usize) -> Fuse {
    Fuse {
        n_calls: AtomicUsize::new(0),
        fail_at,
    }
}

/// A round that is open at the time of the uploads here, with a limit of one a day.
fn challenge() -> Challenge {
    let round = serde_json::json!({ "id": "spring", "opens": "1970-01-01T00:00:01Z", "closes": "1970-01-01T00:00:05Z",
                                    "daily_limit": 1, "dataset": Digest::of(b"pinned").to_string() });
    let challenge = serde_json::json!({ "schema": 1, "title": "t", "rounds": [round] });
    serde_json::from_value(challenge).expect("a challenge")
}

#[test]
fn of_two_names_that_look_alike_the_second_is_rejected() {
    let mut world = World::with(KEY, &tiny::good());
    let codes = |verdict: Verdict| {
        verdict
            .reasons
            .into_iter()
            .map(|reason| (reason.code, reason.at))
            .collect::<Vec<_>>()
    };
    for (name, is_taken) in [
        ("ada-1", false),
        ("ada_1", true),
        ("ada.l", true),
        ("ada-1", false),
        ("ada1", false),
    ] {
        world.upload.key = format!("speech-selection/en-6/{name}/file.json");
        let stored = world
            .submissions
            .put(&world.upload.key, Bytes::copy_from_slice(&tiny::good()));
        pollster::block_on(stored).expect("stored");
        let delivered = world.deliver(&fuse(NEVER), false).expect("a verdict");
        let verdict = delivered.receipt.verdict;
        let message = verdict
            .reasons
            .first()
            .map_or(String::new(), |reason| reason.message.clone());
        assert!(
            !message.contains("`ada-1`") || name == "ada-1",
            "whose name it is, is not told: {message}"
        );
        let expected = is_taken.then(|| ("name_looks_alike".to_owned(), "key, part 3".to_owned()));
        assert_eq!(codes(verdict), expected.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn ends_once_wherever_the_first_delivery_breaks_off() {
    for challenge in [None, Some(challenge())] {
        let round = if challenge.is_some() { "spring" } else { OPEN_ROUND };
        let new = || World {
            challenge: challenge.clone(),
            ..World::with(KEY, &tiny::good())
        };
        let calm = fuse(NEVER);
        let untroubled = new().deliver(&calm, false).expect("nothing breaks");
        let n_calls = calm.n_calls.into_inner();
        assert!(
            n_calls >= 6,
            "challenge, receive, artifact, data set, finish, receipt"
        );
        for (late, fail_at) in [false, true]
            .into_iter()
            .flat_map(|late| (0..n_calls).map(move |at| (late, at)))
        {
            let world = new();
            assert!(
                world.deliver(&fuse(fail_at), late).is_err() || late,
                "call {fail_at} failed"
            );
            let second = world
                .deliver(&fuse(NEVER), false)
                .expect("the next delivery completes it");
            let third = world
                .deliver(&fuse(NEVER), false)
                .expect("a duplicate changes nothing");
            assert!(!third.recorded);
            assert_eq!(second.receipt, untroubled.receipt);
            assert_eq!(
                world.receipt(&second),
                untroubled.receipt.shown(Feedback::Score, &tiny::HOSTED)
            );
            assert_eq!(world.n_unfinished(), 0);
            let board = board(round);
            let series = pollster::block_on(world.leaderboards.series(&board)).expect("a table");
            assert_eq!(series.len(), 1, "scored once");
            let at = world.upload.received_at;
            let usage = pollster::block_on(world.leaderboards.usage(&board, "ada", at)).expect("a table");
            assert_eq!(usage.total, u64::from(challenge.is_some()), "and counted once");
        }
    }
}

fn board(round: &str) -> Board {
    Board {
        benchmark: "speech-selection".into(),
        leaderboard: "en-6".into(),
        round: round.into(),
    }
}

#[test]
fn a_round_is_held_to_its_time_and_its_limits() {
    let mut world = World {
        challenge: Some(challenge()),
        ..World::with(KEY, &tiny::good())
    };
    let mut at = |millis: i64, version: &str| {
        pollster::block_on(world.submissions.put(KEY, Bytes::from(tiny::good()))).expect("stored");
        world.upload.received_at = Timestamp::from_unix_millis(millis);
        world.upload.version = Some(version.into());
        let delivered = world.deliver(&fuse(NEVER), false).expect("delivered");
        let receipt = world.receipt(&delivered);
        let codes: Vec<String> = receipt
            .verdict
            .reasons
            .into_iter()
            .map(|reason| reason.code)
            .collect();
        (receipt.round, codes.join(" "))
    };
    assert_eq!(at(999, "0"), ("spring".into(), "not_open".into()));
    assert_eq!(at(1000, "1"), ("spring".into(), String::new()));
    assert_eq!(at(4999, "2"), ("spring".into(), "daily_limit".into()));
    assert_eq!(
        at(5000, "3"),
        ("spring.post".into(), String::new()),
        "another board, another count"
    );
    assert_eq!(at(5001, "4"), ("spring.post".into(), "daily_limit".into()));
}

/// Others may use the limit up between the look at it and the record.
#[test]
fn a_score_that_comes_too_late_for_the_limit_is_not_recorded() {
    let world = World {
        challenge: Some(challenge()),
        ..World::with(KEY, &tiny::good())
    };
    let other = World {
        leaderboards: world.leaderboards.clone(),
        results: world.results.clone(),
        challenge: Some(challenge()),
        ..World::with("speech-selection/en-6/ada/other.json", &tiny::good())
    };
    let meanwhile = || {
        let delivered = other.deliver(&fuse(NEVER), false).expect("delivered");
        assert_eq!(delivered.receipt.verdict.status, Ending::Scored);
    };
    let delivered = world
        .deliver_and(&fuse(NEVER), false, meanwhile)
        .expect("delivered");
    let verdict = world.receipt(&delivered).verdict;
    assert_eq!((verdict.status, verdict.score), (Ending::Rejected, None));
    assert_eq!(verdict.reasons[0].code, "daily_limit");
    assert!(
        verdict.dataset.is_some() && verdict.artifact.is_some(),
        "it was evaluated"
    );
    let top = pollster::block_on(world.leaderboards.top(&board("spring"), 9)).expect("a table");
    assert_eq!(top[0].entry.id, other.upload.id());
}

#[test]
fn an_upload_is_known_even_when_the_challenge_is_broken() {
    let world = World::with(KEY, &tiny::good());
    let broken = fuse(0); // reading the challenge is the first call
    assert!(world.deliver(&broken, false).is_err());
    assert_eq!(world.n_unfinished(), 1);
}

#[test]
fn every_kind_of_upload_has_a_receipt() {
    let cases: [(&str, &[u8], Ending, &str); 5] = [
        (
            "speech-selection/en-6/ada/x.json",
            b"{",
            Ending::Rejected,
            "not_json",
        ),
        (
            "speech-selection/no-such/ada/x.json",
            b"{}",
            Ending::Rejected,
            "unknown_leaderboard",
        ),
        (
            "speech-selection/en-6/x.json",
            b"{}",
            Ending::Rejected,
            "misplaced_upload",
        ),
        (
            "speech-selection/x.json",
            b"{}",
            Ending::Rejected,
            "misplaced_upload",
        ),
        (
            "speech-selection/en-6/#/x.json",
            b"{}",
            Ending::Rejected,
            "unusable_name",
        ),
    ];
    for (key, artifact, ending, code) in cases {
        let world = World::with(key, artifact);
        let delivered = world.deliver(&fuse(NEVER), false).expect(key);
        let receipt = world.receipt(&delivered);
        assert_eq!(
            (receipt.verdict.status, receipt.verdict.reasons[0].code.as_str()),
            (ending, code),
            "{key}"
        );
        assert_eq!(world.n_unfinished(), 0, "{key}");
    }
}

#[test]
fn a_version_that_is_gone_or_too_large_is_told_so() {
    let mut gone = World::with(KEY, b"{}");
    gone.upload.version = Some("7".into());
    let delivered = gone.deliver(&fuse(NEVER), false).expect("delivered");
    assert_eq!(delivered.receipt.verdict.reasons[0].code, "deleted");

    let large = World::with(KEY, &vec![b' '; (1 << 20) + 1]);
    let delivered = large.deliver(&fuse(NEVER), false).expect("delivered");
    let reason = &delivered.receipt.verdict.reasons[0];
    assert_eq!(
        (reason.code.as_str(), reason.actual),
        ("too_large", Some((1 << 20) + 1))
    );
}

#[test]
fn receipts_have_a_stable_form() {
    let world = World::with(KEY, br#"{"targets": {"job": ["job/9"]}, "nontargets": []}"#);
    let rejected = world.receipt(&world.deliver(&fuse(NEVER), false).expect("delivered"));
    insta::assert_json_snapshot!("rejected_receipt", rejected);
    let world = World::with(KEY, &tiny::good());
    let scored = world.receipt(&world.deliver(&fuse(NEVER), false).expect("delivered"));
    insta::assert_json_snapshot!("scored_receipt", scored);
}
