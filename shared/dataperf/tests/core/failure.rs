//! What the platform gives up ends too, once, and can be evaluated again.

use dataperf::failure::{Cause, FailureJudge};
use dataperf::ports::leaderboard::{Leaderboards, Reopened};
use dataperf::workflow::{Ports, Settled, WorkflowError, settle};
use dataperf::{Ending, Feedback, SubmissionId, Timestamp};

use crate::pipeline::{Fuse, Fused, KEY, NEVER, World, fuse};
use crate::tiny;

const BENCHMARK: &str = "speech-selection";

impl World {
    fn give_up(&self, fuse: &Fuse, late: bool, now: i64) -> Result<Settled, WorkflowError> {
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
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &results,
            signer: &signer,
            now: &|| Timestamp::from_unix_millis(now),
        };
        let judge = FailureJudge {
            hosted: &tiny::HOSTED,
            reason: Cause::TimeLimit.reason("request-1", true),
        };
        pollster::block_on(settle(&self.upload, judge, ports))
    }

    fn reopen(&self) -> Reopened {
        pollster::block_on(self.leaderboards.reopen(BENCHMARK, &self.upload.id())).expect("a table")
    }

    fn stored(&self) -> SubmissionId {
        self.upload.id()
    }
}

#[test]
fn an_upload_that_was_given_up_has_a_receipt_with_a_reason() {
    for key in [KEY, "speech-selection/x.json"] {
        let world = World::with(key, &tiny::good());
        let given_up = world.give_up(&fuse(NEVER), false, 5_000).expect(key);
        assert!(given_up.recorded);
        let receipt = world.receipt(&given_up);
        assert_eq!(receipt, given_up.receipt.shown(Feedback::Score, &tiny::HOSTED));
        assert_eq!(
            (&receipt.submission, receipt.verdict.status),
            (&world.stored(), Ending::Failed)
        );
        let reason = &receipt.verdict.reasons[0];
        assert_eq!(reason.code, "time_limit");
        assert!(
            reason.message.contains("`request-1`") && reason.message.contains("`daily_failures`"),
            "{reason:?}"
        );
        assert_eq!(world.n_unfinished(), 0);
        let late = world.deliver(&fuse(NEVER), false).expect("a late delivery");
        let late = (late.recorded, late.receipt.shown(Feedback::Score, &tiny::HOSTED));
        assert_eq!(late, (false, receipt), "changes nothing");
    }
}

#[test]
fn giving_up_ends_once_wherever_it_breaks_off() {
    for late in [false, true] {
        for fail_at in 0..4 {
            let world = World::with(KEY, &tiny::good());
            let _ = world.give_up(&fuse(fail_at), late, 5_000);
            let second = world
                .give_up(&fuse(NEVER), false, 6_000)
                .expect("the queue hands it out again");
            assert_eq!(
                world.receipt(&second),
                second.receipt.shown(Feedback::Score, &tiny::HOSTED)
            );
            assert_eq!(world.n_unfinished(), 0);
            let failed = pollster::block_on(world.leaderboards.failed(BENCHMARK)).expect("a table");
            assert_eq!(failed.len(), 1);
        }
    }
}

#[test]
fn a_verdict_stands_when_the_event_is_given_up_later() {
    let world = World::with(KEY, &tiny::good());
    let scored = world.deliver(&fuse(NEVER), false).expect("scored");
    let given_up = world.give_up(&fuse(NEVER), false, 5_000).expect("known");
    assert_eq!((given_up.recorded, &given_up.receipt), (false, &scored.receipt));
    assert_eq!(
        world.receipt(&given_up),
        scored.receipt.shown(Feedback::Score, &tiny::HOSTED)
    );
    assert!(matches!(world.reopen(), Reopened::Final(_)));
}

#[test]
fn a_failed_submission_is_evaluated_again_and_its_receipt_replaced() {
    for (late, fail_at) in [false, true]
        .into_iter()
        .flat_map(|late| (0..7).map(move |at| (late, at)))
    {
        let world = World::with(KEY, &tiny::good());
        world.give_up(&fuse(NEVER), false, 1_500).expect("given up");
        assert!(matches!(world.reopen(), Reopened::Reopened(_)));
        assert_eq!(world.n_unfinished(), 1);
        let _ = world.deliver(&fuse(fail_at), late);
        let scored = world.deliver(&fuse(NEVER), false).expect("the next delivery");
        assert_eq!(scored.receipt.verdict.status, Ending::Scored);
        let shown = scored.receipt.shown(Feedback::Score, &tiny::HOSTED);
        assert_eq!(world.receipt(&scored), shown, "broken at call {fail_at}");
        assert_eq!(world.n_unfinished(), 0);
    }
}

#[test]
fn a_second_failure_replaces_the_first_and_not_the_other_way() {
    let world = World::with(KEY, &tiny::good());
    let first = world.give_up(&fuse(NEVER), false, 1_500).expect("given up");
    world.reopen();
    let second = world.give_up(&fuse(NEVER), false, 9_000).expect("given up again");
    assert_ne!(first.receipt, second.receipt);
    assert_eq!(
        world.receipt(&first),
        second.receipt.shown(Feedback::Score, &tiny::HOSTED)
    );
}
