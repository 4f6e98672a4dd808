//! Requirements on tables for submissions that are counted before they are evaluated.

use std::collections::BTreeSet;

use super::story::{Outcome, Story};
use dataperf::Digest;
use dataperf::Reason;
use dataperf::Timestamp;
use dataperf::Verdict;
use dataperf::board::{Board, Usage};
use dataperf::challenge::{Limits, OverLimit, Ranking, Reserved, Together};
use dataperf::programs::{Program, Programs, PublicRun};
use dataperf::receipt::fault::Cause;
use dataperf::submission::Submission;
use dataperf::table::leaderboard::{Recorded, Reopened};
use dataperf::table::maintenance::Maintenance;

/// Places are kept while uploads are evaluated, once each, and given back where no score comes of it.
pub(crate) async fn places(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "places", Ranking::Best);
    let (daily, total) = (Some(5), Some(2));
    story.terms.limits = Some(Limits { daily, total });
    let at = Timestamp::from_unix_millis(1);
    let usage = async |board: &Board| {
        let used = table.usage(board, "ada", at).await?;
        assert_eq!(used.day, used.total);
        Ok::<_, dataperf::ports::PortError>(used.total)
    };
    let over = Reserved::OverLimit(OverLimit {
        limit: 2,
        count: 2,
        is_daily: false,
    });

    let mut receipts = Vec::new();
    let mut submissions: Vec<Submission> = Vec::new();
    for at in 1..=3 {
        let receipt = story.receipt("ada", at, Some(0.5)).await?;
        let known = table.submission(benchmark, &receipt.submission).await?;
        submissions.push(known.ok_or("it was received")?);
        receipts.push(receipt);
    }
    let reserve = async |n: usize| table.reserve(&submissions[n], &story.terms).await;
    for (n, expected) in [
        (0, Reserved::Now),
        (0, Reserved::Before),
        (1, Reserved::Now),
        (1, Reserved::Before),
    ] {
        assert_eq!(
            reserve(n).await?,
            expected,
            "each once, however often its event comes"
        );
    }
    assert_eq!(reserve(2).await?, over, "two are being evaluated");
    assert_eq!(usage(&story.board).await?, 2);
    assert!(story.top().await?.is_empty());

    // the first is scored, the second fails, so that its place is the third's
    assert_eq!(story.end(&receipts[0]).await?, Recorded::Now);
    assert_eq!(reserve(2).await?, over);
    let reason = Reason::new("organizer_fault", "", "the platform's");
    receipts[1].verdict = Verdict::failed(benchmark, "places", reason);
    let limits = story.terms.limits.take(); // the judge of failures knows no limit
    assert_eq!(story.end(&receipts[1]).await?, Recorded::Now);
    story.terms.limits = limits;
    assert_eq!(usage(&story.board).await?, 1);
    let reserve = async |n: usize| table.reserve(&submissions[n], &story.terms).await;
    assert_eq!(reserve(2).await?, Reserved::Now);
    assert_eq!(story.end(&receipts[2]).await?, Recorded::Now);
    assert!(matches!(story.end(&receipts[2]).await?, Recorded::Before(_)));
    assert_eq!(usage(&story.board).await?, 2);
    assert_eq!(
        reserve(0).await?,
        Reserved::Before,
        "it has ended: nothing is counted"
    );
    assert_eq!(usage(&story.board).await?, 2);

    // the board counts with others from here on: the place moves
    story.terms.limits = Some(Limits {
        daily: Some(5),
        total: None,
    });
    let fourth = story.receipt("ada", 4, Some(0.25)).await?;
    let known = table.submission(benchmark, &fourth.submission).await?;
    let known = known.ok_or("it was received")?;
    assert_eq!(table.reserve(&known, &story.terms).await?, Reserved::Now);
    assert_eq!(usage(&story.board).await?, 3);
    story.terms.together = Some(Together {
        evaluation: "places of both".into(),
        leaderboards: vec!["places".into(), "others".into()],
    });
    let counter = story.terms.counter(&story.board);
    assert_eq!(table.reserve(&known, &story.terms).await?, Reserved::Before);
    assert_eq!((usage(&story.board).await?, usage(&counter).await?), (2, 1));
    assert_eq!(story.end(&fourth).await?, Recorded::Now);
    assert_eq!(
        table.usage(&counter, "ada", at).await?,
        Usage { day: 1, total: 1 }
    );
    Ok(())
}

/// An evaluation that took too long gives its place back and is counted among the day's failures, until it is reopened. Nothing else that fails is.
async fn failures_of_artifacts(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "slow", Ranking::Best);
    let usage = async |board: &Board| {
        let used = table.usage(board, "ada", Timestamp::from_unix_millis(1)).await?;
        Ok::<_, dataperf::ports::PortError>(used.day)
    };
    let failures = story.terms.failures(&story.board);
    let (daily, total) = (Some(5), Some(5));
    for (n, limits, cause, is_counted) in [
        (1, Some(Limits { daily, total }), Cause::TimeLimit, true),
        (2, None, Cause::TimeLimit, true),
        (3, Some(Limits { daily, total }), Cause::Crashed, true),
        (4, Some(Limits { daily, total }), Cause::Unavailable, false),
    ] {
        story.terms.limits = limits;
        let mut receipt = story.receipt("ada", n, None).await?;
        let known = table.submission(benchmark, &receipt.submission).await?;
        let known = known.ok_or("it was received")?;
        table.reserve(&known, &story.terms).await?;
        assert_eq!(usage(&story.board).await?, u64::from(limits.is_some()));
        receipt.verdict = Verdict::failed(benchmark, "slow", cause.reason("request-1", true));
        assert_eq!(story.end(&receipt).await?, Recorded::Now);
        assert!(matches!(story.end(&receipt).await?, Recorded::Before(_)));
        assert_eq!(usage(&story.board).await?, 0, "{cause:?}");
        assert_eq!(usage(&failures).await?, u64::from(is_counted), "{cause:?}");
        let reopened = table.reopen(benchmark, &receipt.submission).await?;
        assert!(matches!(reopened, Reopened::Reopened(_)), "{reopened:?}");
        assert_eq!(usage(&failures).await?, 0, "{cause:?}");
        // again as before, and counted once
        table.reserve(&known, &story.terms).await?;
        assert_eq!(story.end(&receipt).await?, Recorded::Now);
        assert_eq!(
            (usage(&story.board).await?, usage(&failures).await?),
            (0, u64::from(is_counted))
        );
        table.reopen(benchmark, &receipt.submission).await?;
    }
    Ok(())
}

/// A program that has failed on public data gives its place back and is counted among the day's failures, once.
pub(crate) async fn failures(table: &impl Maintenance, benchmark: &str) -> Outcome {
    failures_of_artifacts(table, benchmark).await?;
    let mut story = Story::new(table, benchmark, "failures", Ranking::Best);
    story.terms.programs = Some(Programs {
        public: Digest::compute(b"public"),
        max_fuel: 1,
        max_memory_mib: 1,
        max_module_kib: None,
        max_output_kib: None,
        daily_failures: None,
        python: false,
        layers: BTreeSet::new(),
    });
    let usage = async |board: &Board| table.usage(board, "ada", Timestamp::from_unix_millis(1)).await;
    let failures = story.terms.failures(&story.board);
    let limits = Limits {
        daily: Some(5),
        total: Some(5),
    };
    // counted before the run, even without limits, except for listed baselines
    let unlimited = Limits::default();
    for (n, limits, reserved) in [
        (1, Some(limits), Reserved::Now),
        (2, Some(unlimited), Reserved::Now),
        (3, None, Reserved::Unlimited),
    ] {
        story.terms.limits = limits;
        let mut receipt = story.receipt("ada", n, None).await?;
        let known = table.submission(benchmark, &receipt.submission).await?;
        let known = known.ok_or("it was received")?;
        assert_eq!(table.reserve(&known, &story.terms).await?, reserved);
        let running = u64::from(reserved == Reserved::Now);
        assert_eq!(usage(&story.board).await?.day, running);
        receipt.verdict.public_run = Some(PublicRun {
            fuel: Some(1),
            output: None,
            log: String::new(),
            is_log_cut: false,
        });
        assert_eq!(story.end(&receipt).await?, Recorded::Now);
        assert!(matches!(story.end(&receipt).await?, Recorded::Before(_)));
        assert_eq!(usage(&story.board).await?, Usage { day: 0, total: 0 });
        let n = u64::try_from(n)?;
        assert_eq!(usage(&failures).await?, Usage { day: n, total: n });
    }
    // on hidden data it counts as a score does
    story.terms.limits = Some(limits);
    let mut receipt = story.receipt("ada", 4, None).await?;
    receipt.verdict.program = Some(Program {
        module: Digest::compute(b"module"),
        engine: "engine".into(),
        layers: BTreeSet::new(),
    });
    assert_eq!(story.end(&receipt).await?, Recorded::Now);
    assert_eq!(usage(&story.board).await?, Usage { day: 1, total: 1 });
    assert_eq!(usage(&failures).await?, Usage { day: 3, total: 3 });
    Ok(())
}
