//! Requirements on tables for rankings, baselines, limits, withdrawals and re-scoring.

use super::story::{COUNTED, HOSTED, Outcome, Story};
use dataperf::board::Usage;
use dataperf::challenge::{Limits, OverLimit, Ranking, Together};
use dataperf::rows::ranking::Ranked;
use dataperf::submission::{Entry, Withdrawal};
use dataperf::table::leaderboard::Recorded;
use dataperf::table::maintenance::{Maintenance, Reinstated, Revised, Withdrawn};
use dataperf::{Ending, Receipt};
use dataperf::{SubmissionId, Timestamp};

const DAY: i64 = 86_400_000;
/// Rankings, baselines, limits, withdrawals, re-scoring. `benchmark` keeps several runs in one table apart.
///
/// # Errors
/// The table's answer; a broken promise panics.
///
/// # Panics
/// When the table breaks a promise.
pub(crate) async fn maintenance(table: &impl Maintenance, benchmark: &str) -> Outcome {
    rankings(table, benchmark).await?;
    baselines(table, benchmark).await?;
    limits(table, benchmark).await?;
    super::limits::places(table, benchmark).await?;
    super::limits::failures(table, benchmark).await?;
    counted_rejections(table, benchmark).await?;
    shared_limits(table, benchmark).await?;
    withdrawals(table, benchmark).await?;
    for ranking in [Ranking::Best, Ranking::Latest] {
        reinstatements(table, benchmark, ranking).await?;
    }
    for ranking in [Ranking::Best, Ranking::Latest] {
        rescoring(table, benchmark, ranking).await?;
    }
    super::datasets::datasets(table, benchmark).await?;
    super::ladder::ladders(table, benchmark).await
}

async fn rankings(table: &impl Maintenance, benchmark: &str) -> Outcome {
    for (ranking, expected) in [
        (Ranking::Best, vec!["1 bo 0.25", "2 ada 0.5"]),
        (Ranking::Latest, vec!["1 bo 0.25", "2 ada 0.75"]),
    ] {
        let story = Story::new(table, benchmark, &format!("{ranking:?}"), ranking);
        // out of order, as events come
        for (submitter, at, score) in [
            ("ada", 3000, Some(0.75)),
            ("bo", 2000, Some(0.5)),
            ("ada", 1000, Some(0.5)),
            ("ada", 4000, None),
            ("bo", 5000, Some(0.25)),
        ] {
            story.submit(submitter, at, score).await?;
        }
        assert_eq!(story.top().await?, expected, "{ranking:?}");
    }
    Ok(())
}

async fn baselines(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let story = Story::new(table, benchmark, "baselines", Ranking::Best);
    for (submitter, at, score) in [
        ("baseline-random", 1, 0.5),
        ("ada", 2, 0.5),
        ("bo", 3, 0.5),
        ("baseline-all", 4, 0.125),
        ("cy", 5, 0.75),
        ("baseline-none", 6, 1.0),
    ] {
        story.submit(submitter, at, Some(score)).await?;
    }
    let expected = [
        "- baseline-all 0.125",
        "- baseline-random 0.5",
        "1 ada 0.5",
        "1 bo 0.5",
        "3 cy 0.75",
        "- baseline-none 1",
    ];
    assert_eq!(
        story.top().await?,
        expected,
        "they keep their places and take no rank"
    );
    let history = table.history(benchmark, "baseline-all", 1).await?;
    assert!(history.iter().all(|line| line.is_baseline));
    Ok(())
}

async fn limits(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "limits", Ranking::Best);
    let (daily, total) = (Some(2), Some(3));
    story.terms.limits = Some(Limits { daily, total });
    story.submit("ada", 1, Some(0.5)).await?;
    story.submit("ada", 2, None).await?;
    story.submit("ada", 3, Some(0.25)).await?;
    let mut third = story.receipt("ada", 4, Some(0.125)).await?;
    let over = |limit, count, is_daily| {
        Recorded::OverLimit(OverLimit {
            limit,
            count,
            is_daily,
        })
    };
    assert_eq!(
        story.end(&third).await?,
        over(2, 2, true),
        "rejected submissions don't count"
    );
    assert_eq!(
        table.unfinished(benchmark).await?.len(),
        1,
        "and nothing was recorded"
    );
    third.verdict = story.verdict(None);
    assert_eq!(story.end(&third).await?, Recorded::Now);
    story.submit("bo", 5, Some(0.75)).await?;
    story.submit("ada", DAY, Some(1.0)).await?;
    let mut fifth = story.receipt("ada", DAY + 1, Some(0.125)).await?;
    assert_eq!(story.end(&fifth).await?, over(3, 3, false));
    fifth.verdict = story.verdict(None);
    story.end(&fifth).await?;
    assert_eq!(story.top().await?, ["1 ada 0.25", "2 bo 0.75"]);
    let at = Timestamp::from_unix_millis(7);
    assert_eq!(
        table.usage(&story.board, "ada", at).await?,
        Usage { day: 2, total: 3 }
    );
    assert_eq!(table.usage(&story.board, "cy", at).await?, Usage::default());
    Ok(())
}

/// A rejection that follows from hidden data counts as a score does.
async fn counted_rejections(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "counted", Ranking::Best);
    story.terms.limits = Some(Limits {
        daily: Some(2),
        total: None,
    });
    let over = Recorded::OverLimit(OverLimit {
        limit: 2,
        count: 2,
        is_daily: true,
    });
    for (at, ended) in [(1, Recorded::Now), (2, Recorded::Now), (3, over)] {
        let mut receipt = story.receipt("ada", at, None).await?;
        receipt.verdict.reasons[0].code = COUNTED.into();
        assert_eq!(story.end(&receipt).await?, ended);
        if at == 3 {
            receipt.verdict = story.verdict(None);
            assert_eq!(
                story.end(&receipt).await?,
                Recorded::Now,
                "any other rejection is free"
            );
        }
    }
    assert!(story.top().await?.is_empty(), "they stand on no board");
    let at = Timestamp::from_unix_millis(1);
    assert_eq!(
        table.usage(&story.board, "ada", at).await?,
        Usage { day: 2, total: 2 }
    );
    Ok(())
}

/// Boards that are scored with the same evaluation data have one limit together.
async fn shared_limits(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let boards = ["shared-25", "shared-60"].map(|board| {
        let mut story = Story::new(table, benchmark, board, Ranking::Best);
        let (daily, total) = (None, Some(2));
        story.terms.limits = Some(Limits { daily, total });
        story.terms.together = Some(Together {
            evaluation: "shared".into(),
            leaderboards: vec!["shared-25".into(), "shared-60".into()],
        });
        story
    });
    boards[0].submit("ada", 1, Some(0.5)).await?;
    boards[1].submit("ada", 2, Some(0.5)).await?;
    for story in &boards {
        let mut third = story.receipt("ada", 3, Some(0.25)).await?;
        let over = OverLimit {
            limit: 2,
            count: 2,
            is_daily: false,
        };
        assert_eq!(story.end(&third).await?, Recorded::OverLimit(over));
        third.verdict = story.verdict(None);
        story.end(&third).await?;
        assert_eq!(story.top().await?, ["1 ada 0.5"]);
        let counter = story.terms.counter(&story.board);
        let at = Timestamp::from_unix_millis(7);
        assert_eq!(
            table.usage(&counter, "ada", at).await?,
            Usage { day: 2, total: 2 }
        );
    }
    Ok(())
}

async fn withdrawals(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let story = Story::new(table, benchmark, "withdrawals", Ranking::Best);
    let at = Timestamp::from_unix_millis(99);
    let withdraw = async |receipt: &Receipt| {
        table
            .withdraw(
                benchmark,
                &receipt.submission,
                at,
                HOSTED.direction,
                Some("a mistake"),
            )
            .await
    };
    let first = story.submit("ada", 1, Some(0.5)).await?;
    let best = story.submit("ada", 2, Some(0.25)).await?;
    story.submit("bo", 3, Some(0.375)).await?;
    let rejected = story.submit("bo", 4, None).await?;
    let best_id = best.submission.clone();
    assert!(matches!(withdraw(&best).await?, Withdrawn::Now(_)));
    assert_eq!(
        story.top().await?,
        ["1 bo 0.375", "2 ada 0.5"],
        "the next best takes its place"
    );
    assert!(matches!(withdraw(&best).await?, Withdrawn::Before(_)));
    assert!(matches!(
        withdraw(&rejected).await?,
        Withdrawn::NothingToWithdraw(Some(_))
    ));
    story.submit("ada", 5, Some(0.75)).await?;
    assert!(matches!(withdraw(&first).await?, Withdrawn::Now(_)));
    assert_eq!(story.top().await?, ["1 bo 0.375", "2 ada 0.75"]);
    assert_eq!(story.series().await?, [0.375, 0.75]);
    let known = table
        .submission(benchmark, &best.submission)
        .await?
        .ok_or("it is there")?;
    assert_eq!(
        (known.withdrawn_at, known.receipt),
        (Some(at), Some(best)),
        "its receipt stays"
    );
    let history = table.history(benchmark, "ada", 100).await?;
    let of_board = table.withdrawn(&story.board).await?;
    let of_board: Vec<_> = of_board
        .iter()
        .map(|line| (&line.id, line.withdrawn_at))
        .collect();
    assert_eq!(
        of_board,
        [(&first.submission, Some(at)), (&best_id, Some(at))],
        "in the order of the uploads"
    );
    let withdrawn = history
        .iter()
        .filter(|line| line.board == story.board && line.withdrawn_at.is_some());
    assert_eq!(withdrawn.count(), 2);
    Ok(())
}

/// A mistaken withdrawal can be undone completely, however the board ranks.
async fn reinstatements(table: &impl Maintenance, benchmark: &str, ranking: Ranking) -> Outcome {
    let story = Story::new(table, benchmark, &format!("reinstatements {ranking:?}"), ranking);
    let (at, later) = (Timestamp::from_unix_millis(99), Timestamp::from_unix_millis(100));
    let mut receipts = Vec::new();
    for (n, submitter, score) in [
        (1, "ada", 0.5),
        (2, "ada", 0.25),
        (3, "bo", 0.375),
        (4, "ada", 0.75),
    ] {
        receipts.push(story.submit(submitter, n, Some(score)).await?);
    }
    let before = (story.ranked(&story.board).await?, story.series().await?);
    for receipt in &receipts {
        let id = &receipt.submission;
        let not_yet = table
            .reinstate(benchmark, id, later, HOSTED.direction, None)
            .await?;
        assert!(matches!(not_yet, Reinstated::NotWithdrawn(Some(_))));
        table
            .withdraw(benchmark, id, at, HOSTED.direction, Some("a mistake"))
            .await?;
        assert_ne!(story.series().await?, before.1);
        assert_eq!(table.withdrawn(&story.board).await?.len(), 1);
        let back = table
            .reinstate(benchmark, id, later, HOSTED.direction, Some("mine"))
            .await?;
        let Reinstated::Now(back) = back else {
            return Err("it was withdrawn".into());
        };
        let noted = Withdrawal {
            at,
            reason: Some("a mistake".into()),
            undone_at: Some(later),
            undo_reason: Some("mine".into()),
        };
        assert_eq!(
            (back.withdrawn_at, &back.withdrawals),
            (None, &vec![noted.clone()])
        );
        let known = table.submission(benchmark, id).await?;
        assert_eq!(known.as_ref(), Some(&back));
        let history = table.history(benchmark, &receipt.submitter, 100).await?;
        let line = history.iter().find(|line| line.id == *id).ok_or("it is there")?;
        assert_eq!((line.withdrawn_at, &line.withdrawals), (None, &vec![noted]));
        let ranks = |top: &[Ranked]| {
            let visible = |row: &Ranked| (row.shown_rank(), row.entry.id.clone(), row.entry.score);
            top.iter().map(visible).collect::<Vec<_>>()
        };
        assert_eq!(ranks(&story.ranked(&story.board).await?), ranks(&before.0));
        assert_eq!(story.series().await?, before.1);
        assert_eq!(table.withdrawn(&story.board).await?, []);
    }
    // all of a submitter's, in any order
    let of_ada = [&receipts[0], &receipts[1], &receipts[3]];
    for receipt in of_ada {
        table
            .withdraw(benchmark, &receipt.submission, at, HOSTED.direction, None)
            .await?;
    }
    assert_eq!(story.top().await?, ["1 bo 0.375"]);
    for receipt in of_ada.iter().rev() {
        table
            .reinstate(benchmark, &receipt.submission, later, HOSTED.direction, None)
            .await?;
    }
    let shown = |top: &[Ranked]| top.iter().map(|row| row.entry.id.clone()).collect::<Vec<_>>();
    assert_eq!(shown(&story.ranked(&story.board).await?), shown(&before.0));
    // whoever finishes the round must have looked for restored submissions
    let last = story.board.of_final();
    let run = table.begin_only_run(&last, at).await?;
    let id = &receipts[0].submission;
    table.withdraw(benchmark, id, at, HOSTED.direction, None).await?;
    table
        .reinstate(benchmark, id, later, HOSTED.direction, None)
        .await?;
    assert!(!table.end_run(&last, &run, later, &[]).await?);
    let looked = table.begin_only_run(&last, later).await?;
    assert_eq!((&looked.id, looked.ended_at), (&run.id, None));
    assert!(table.end_run(&last, &looked, later, &[]).await?);
    let ended = table.run(&last).await?;
    assert_eq!(ended.and_then(|ended| ended.ended_at), Some(later));
    let unknown = SubmissionId::derive("b", "nobody's", "v");
    let unknown = table
        .reinstate(benchmark, &unknown, later, HOSTED.direction, None)
        .await?;
    assert_eq!(unknown, Reinstated::NotWithdrawn(None));
    Ok(())
}

async fn rescoring(table: &impl Maintenance, benchmark: &str, ranking: Ranking) -> Outcome {
    let story = Story::new(table, benchmark, &format!("again {ranking:?}"), ranking);
    let board = &story.board;
    let first = story.submit("ada", 1, Some(0.5)).await?;
    let second = story.submit("ada", 2, Some(0.75)).await?;
    let third = story.submit("bo", 3, Some(0.625)).await?;
    assert_eq!(table.run(board).await?, None);
    let run = table.begin_run(board, Timestamp::from_unix_millis(10)).await?;
    let resumed = table.begin_run(board, Timestamp::from_unix_millis(11)).await?;
    assert_eq!(resumed, run, "it goes on with what was begun");
    let revise = async |old: &Receipt, score: Option<f64>| {
        let receipt = Receipt {
            revision: old.revision + 1,
            finished_at: Timestamp::from_unix_millis(12),
            verdict: story.verdict(score),
            ..old.clone()
        };
        table
            .revise(&receipt, &HOSTED, &run.id)
            .await
            .map(|revised| (receipt, revised))
    };
    let (receipt, revised) = revise(&first, None).await?;
    assert_eq!(revised, Revised::Recorded);
    let (_, again) = revise(&first, Some(0.0)).await?;
    assert_eq!(again, Revised::Settled(receipt), "once in a run");
    revise(&second, Some(0.25)).await?;
    revise(&third, Some(0.125)).await?;
    assert_eq!(story.top().await?, ["1 bo 0.125", "2 ada 0.25"], "{ranking:?}");
    assert_eq!(
        story.series().await?,
        [0.25, 0.125],
        "what is rejected now is in no series"
    );
    let revisions = table.revisions(board, &run.id).await?;
    let mut changes: Vec<_> = revisions
        .iter()
        .map(|revision| (revision.before, revision.after))
        .collect();
    changes.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let expected = [
        (Some(0.5), None),
        (Some(0.625), Some(0.125)),
        (Some(0.75), Some(0.25)),
    ];
    assert_eq!(changes, expected);
    assert_eq!(
        table
            .revision(board, &run.id, &first.submission)
            .await?
            .map(|one| one.ending),
        Some(Ending::Rejected)
    );
    let known = table
        .submission(benchmark, &first.submission)
        .await?
        .ok_or("it is there")?;
    assert_eq!(
        (known.entry().ending, known.entry().score),
        (Some(Ending::Rejected), None)
    );

    let by_id = |mut entries: Vec<Entry>| {
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        entries
    };
    let listed = story.ranked(board).await?;
    let listed = listed.into_iter().map(|row| row.entry).collect();
    assert_eq!(
        by_id(story.rows(board).await?),
        by_id(listed),
        "what stands is listed"
    );

    table
        .end_run(board, &run, Timestamp::from_unix_millis(20), &[])
        .await?;
    let next = table.begin_run(board, Timestamp::from_unix_millis(21)).await?;
    assert_eq!((&next.before, next.ended_at), (&vec![run.id.clone()], None));
    table
        .end_run(board, &next, Timestamp::from_unix_millis(22), &[])
        .await?;
    let third = table.begin_run(board, Timestamp::from_unix_millis(23)).await?;
    assert_eq!(third.before, [next.id, run.id.clone()]);

    // an only run never begins after one that has ended
    let last = board.of_final();
    let only = table
        .begin_only_run(&last, Timestamp::from_unix_millis(30))
        .await?;
    table
        .end_run(&last, &only, Timestamp::from_unix_millis(31), &[])
        .await?;
    let late = table
        .begin_only_run(&last, Timestamp::from_unix_millis(32))
        .await?;
    assert_eq!(
        (late.id, late.ended_at),
        (only.id, Some(Timestamp::from_unix_millis(31)))
    );
    Ok(())
}
