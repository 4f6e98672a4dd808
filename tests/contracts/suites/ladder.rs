//! Requirements on tables when the Ladder releases scores: the order of recording decides.

use super::story::{HOSTED, Outcome, Story};
use dataperf::board::Board;
use dataperf::challenge::{Ranking, Together};
use dataperf::ladder::{LastReleased, Margin, Rung, released};
use dataperf::receipt::released_score::Climb;
use dataperf::rows::revision::{Finalized, Revision};
use dataperf::submission::Entry;
use dataperf::table::leaderboard::Recorded;
use dataperf::table::maintenance::{Maintenance, Revised};
use dataperf::{Digest, Receipt, Timestamp};

/// Less is better in it.
const STEP: f64 = 0.125;

async fn rung<T: Maintenance>(
    story: &Story<'_, T>,
    submitter: &str,
) -> Result<Rung, dataperf::ports::PortError> {
    let evaluation = story.terms.ladder_of(&story.board.leaderboard);
    let benchmark = &story.board.benchmark;
    story.table.rung(benchmark, evaluation, submitter).await
}

/// The score that a receipt releases after the submitter's current rung.
async fn on_rung<T: Maintenance>(
    story: &Story<'_, T>,
    receipt: &Receipt,
) -> Result<Receipt, dataperf::ports::PortError> {
    let rung = rung(story, &receipt.submitter).await?;
    let release = |score| {
        released(
            score,
            &story.board,
            &rung,
            Margin {
                margin: STEP,
                grain: STEP,
                n_steps: None,
            },
            receipt.verdict.dataset,
            &HOSTED,
        )
    };
    Ok(Receipt {
        ladder: receipt.verdict.score.map(release),
        ..receipt.clone()
    })
}

/// Records a score as the workflow does.
async fn submit<T: Maintenance>(
    story: &Story<'_, T>,
    submitter: &str,
    at: i64,
    score: f64,
) -> Result<Receipt, Box<dyn std::error::Error + Send + Sync>> {
    let receipt = story.receipt(submitter, at, Some(score)).await?;
    let receipt = on_rung(story, &receipt).await?;
    assert_eq!(story.end(&receipt).await?, Recorded::Now);
    Ok(receipt)
}

/// The series as `score`, with a star if that is the submission's own.
async fn series<T: Maintenance>(story: &Story<'_, T>) -> Result<Vec<String>, dataperf::ports::PortError> {
    let series = story.table.series(&story.board).await?;
    let line = |line: &dataperf::submission::Entry| {
        let star = if line.climb == Some(Climb::Climbed) {
            "*"
        } else {
            ""
        };
        format!("{}{star}", line.score.unwrap_or(f64::NAN))
    };
    Ok(series.iter().map(line).collect())
}

pub(crate) async fn ladders(table: &impl Maintenance, benchmark: &str) -> Outcome {
    released_in_the_order_of_recording(table, benchmark).await?;
    rankings(table, benchmark).await?;
    boards_of_one_evaluation(table, benchmark).await?;
    changes(table, benchmark).await?;
    latest(table, benchmark).await?;
    lifting(table, benchmark).await?;
    finals(table, benchmark).await?;
    another_ranking(table, benchmark).await
}

async fn released_in_the_order_of_recording(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let mut story = Story::new(table, benchmark, "ladder", Ranking::Best);
    assert_eq!(rung(&story, "ada").await?, Rung::new("ladder"));
    // recorded in another order than uploaded
    let first = submit(&story, "ada", 3, 0.76).await?;
    submit(&story, "ada", 1, 0.7).await?;
    submit(&story, "ada", 2, 0.6).await?;
    submit(&story, "bo", 4, 0.9).await?;
    assert_eq!(series(&story).await?, ["0.75", "0.625*", "0.75*", "0.875*"]);
    assert_eq!(story.top().await?, ["1 ada 0.625", "2 bo 0.875"]);
    let history = table.history(benchmark, "ada", 1_000).await?;
    let of_board = history.iter().filter(|line| line.board == story.board);
    let scores: Vec<Option<f64>> = of_board.map(|line| line.score).collect();
    assert_eq!(scores, [Some(0.75), Some(0.625), Some(0.75)]);
    let known = table.submission(benchmark, &first.submission).await?;
    let known = known.ok_or("it was recorded")?;
    assert_eq!(known.entry().score, Some(0.75));
    let own = known.receipt.as_ref().and_then(|receipt| receipt.verdict.score);
    assert_eq!(own, Some(0.76), "the table keeps the submission's own");

    // two that were worked out after the same rung: the second is decided again
    let (one, two) = (
        story.receipt("ada", 5, Some(0.3)).await?,
        story.receipt("ada", 6, Some(0.45)).await?,
    );
    let (one, stale) = (on_rung(&story, &one).await?, on_rung(&story, &two).await?);
    assert_eq!(story.end(&one).await?, Recorded::Now);
    assert_eq!(story.end(&stale).await?, Recorded::LadderMoved);
    assert_eq!(
        table
            .submission(benchmark, &stale.submission)
            .await?
            .and_then(|known| known.receipt),
        None,
        "nothing of it is recorded"
    );
    let again = on_rung(&story, &stale).await?;
    assert_eq!(story.end(&again).await?, Recorded::Now);
    assert_eq!(
        story.end(&stale).await?,
        Recorded::Before(again.clone()),
        "another delivery gets what stands"
    );
    assert_eq!(
        (again.public_score(), again.climb()),
        (one.public_score(), Some(Climb::Held))
    );

    // with another data set it starts again
    story.dataset = Digest::compute(b"another");
    let other = submit(&story, "ada", 7, 0.8).await?;
    assert_eq!(
        (other.public_score(), other.climb()),
        (Some(0.75), Some(Climb::Climbed))
    );
    Ok(())
}

/// On a board of best scores, a repeated earlier score never appears; elsewhere it does.
async fn rankings(table: &impl Maintenance, benchmark: &str) -> Outcome {
    for (ranking, expected) in [
        (Ranking::Best, vec!["1 ada 0.5"]),
        (Ranking::Latest, vec!["1 ada 0.5"]),
    ] {
        let story = Story::new(table, benchmark, &format!("ladder {ranking:?}"), ranking);
        let mut sent = Vec::new();
        for (at, score) in [(2, 0.75), (3, 0.5), (1, 0.55)] {
            sent.push(submit(&story, "ada", at, score).await?);
        }
        assert_eq!(story.top().await?, expected, "{ranking:?}");
        let standing = story.ranked(&story.board).await?[0].entry.id.clone();
        if ranking == Ranking::Best {
            assert_eq!(standing, sent[1].submission, "the one whose score it is");
        }
    }
    Ok(())
}

/// Boards that are scored with the same evaluation data reveal no more than one board would.
#[allow(clippy::too_many_lines)] // one story
async fn boards_of_one_evaluation(table: &impl Maintenance, benchmark: &str) -> Outcome {
    for ranking in [Ranking::Best, Ranking::Latest] {
        let board_of = |leaderboard: &str| {
            let leaderboard = format!("{leaderboard} of {ranking:?}");
            let mut story = Story::new(table, benchmark, &leaderboard, ranking);
            story.terms.together = Some(Together {
                evaluation: format!("shared {ranking:?}"),
                leaderboards: Vec::new(),
            });
            story
        };
        let (one, two, three) = (board_of("one"), board_of("two"), board_of("three"));
        let shown = |receipt: &Receipt| (receipt.public_score(), receipt.climb());
        let held = |score| (score, Some(Climb::Held));
        let climbed = |score| (Some(score), Some(Climb::Climbed));
        // less is better
        let first = submit(&one, "ada", 1, 0.5).await?;
        assert_eq!(shown(&first), climbed(0.5));
        // a worse score, the same score and one within the margin are held on the other board, which has nothing to show
        let mut without = Vec::new();
        for (at, score) in [(2, 0.75), (3, 0.5), (4, 0.4375)] {
            let receipt = submit(&two, "ada", at, score).await?;
            assert_eq!(shown(&receipt), held(None), "{score}");
            without.push(receipt);
        }
        assert_eq!((two.top().await?, series(&two).await?.len()), (vec![], 3));
        assert_eq!(
            shown(&submit(&two, "bo", 5, 0.75).await?),
            climbed(0.75),
            "another name"
        );
        assert_eq!(shown(&submit(&two, "ada", 6, 0.25).await?), climbed(0.25));
        // each board shows what was released there, and no other
        assert_eq!(shown(&submit(&one, "ada", 7, 0.25).await?), held(Some(0.5)));
        assert_eq!(shown(&submit(&two, "ada", 8, 0.375).await?), held(Some(0.25)));
        assert_eq!(shown(&submit(&three, "ada", 9, 0.25).await?), held(None));
        assert_eq!((one.top().await?.len(), three.top().await?.len()), (1, 0));
        // two boards at once: the second is decided again
        let (faster, slower) = (
            on_rung(&one, &one.receipt("ada", 10, Some(0.0625)).await?).await?,
            on_rung(&two, &two.receipt("ada", 11, Some(0.0625)).await?).await?,
        );
        assert_eq!(one.end(&faster).await?, Recorded::Now);
        assert_eq!(two.end(&slower).await?, Recorded::LadderMoved);
        let slower = on_rung(&two, &slower).await?;
        assert_eq!(two.end(&slower).await?, Recorded::Now);
        assert_eq!(
            (shown(&faster), shown(&slower)),
            (climbed(0.125), held(Some(0.25)))
        );
        // a withdrawal takes the Ladder back on all boards, and its undoing restores it
        let at = Timestamp::from_unix_millis(12);
        let withdraw = async |board_of: &Receipt| {
            table
                .withdraw(benchmark, &board_of.submission, at, HOSTED.direction, None)
                .await
        };
        withdraw(&faster).await?;
        let best = async || {
            Ok::<_, dataperf::ports::PortError>(
                rung(&three, "ada")
                    .await?
                    .best(Some(one.dataset), HOSTED.direction)
                    .map(|best| best.score),
            )
        };
        assert_eq!(best().await?, Some(0.25));
        table
            .reinstate(benchmark, &faster.submission, at, HOSTED.direction, None)
            .await?;
        assert_eq!(best().await?, Some(0.125));
        // what is held without a score can be withdrawn, stays away while it is, and is shown once nothing is withheld
        withdraw(&without[0]).await?;
        let lift = async |board_of: &Receipt| table.lift(benchmark, &board_of.submission, &HOSTED).await;
        assert_eq!(lift(&without[0]).await?, None, "it is withdrawn");
        let lifted = lift(&without[1]).await?.ok_or("it was not lifted")?;
        assert_eq!(shown(&lifted), (Some(0.5), None));
        assert!(series(&two).await?.contains(&"0.5".to_owned()));
    }
    // a listed baseline has a Ladder for each board
    let mut story = Story::new(table, benchmark, "one of Best", Ranking::Best);
    story.terms.together = Some(Together {
        evaluation: "shared Best".into(),
        leaderboards: Vec::new(),
    });
    story.terms.is_listed = true;
    assert_eq!(story.terms.ladder_of("one of Best"), "one of Best");
    Ok(())
}

/// On a board of latest submissions, the latest does not show the score of a withdrawn one.
async fn latest(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let story = Story::new(table, benchmark, "ladder latest", Ranking::Latest);
    submit(&story, "ada", 1, 0.75).await?;
    let best = submit(&story, "ada", 2, 0.25).await?;
    submit(&story, "ada", 3, 0.5).await?;
    assert_eq!(story.top().await?, ["1 ada 0.25"], "less is better");
    let at = Timestamp::from_unix_millis(4);
    table
        .withdraw(benchmark, &best.submission, at, HOSTED.direction, None)
        .await?;
    assert_eq!(
        story.top().await?,
        ["1 ada 0.75"],
        "the latest whose score is of a submission that counts"
    );
    table
        .reinstate(benchmark, &best.submission, at, HOSTED.direction, None)
        .await?;
    assert_eq!(story.top().await?, ["1 ada 0.25"]);
    Ok(())
}

/// Withdrawing and scoring again.
async fn changes(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let story = Story::new(table, benchmark, "ladder changes", Ranking::Best);
    let first = submit(&story, "ada", 1, 0.75).await?;
    let best = submit(&story, "ada", 2, 0.25).await?;
    let held = submit(&story, "ada", 3, 0.5).await?;
    let at = Timestamp::from_unix_millis(4);
    table
        .withdraw(benchmark, &best.submission, at, HOSTED.direction, None)
        .await?;
    assert_eq!(
        story.top().await?,
        ["1 ada 0.75"],
        "not what held at the withdrawn one's score"
    );
    let now = rung(&story, "ada").await?;
    let last = LastReleased {
        score: 0.75,
        submission: first.submission.clone(),
        dataset: Some(story.dataset),
    };
    assert_eq!((now.n_changes, now.on(&story.board)), (3, Some(&last)));

    // with the same data set what was released stays
    let run = table.begin_run(&story.board, at).await?;
    let again = Receipt {
        revision: 2,
        finished_at: at,
        verdict: story.verdict(Some(0.125)),
        ..held.clone()
    };
    let revised = table.revise(&again, &HOSTED, &run.id).await?;
    assert_eq!(revised, Revised::Recorded);
    assert_eq!(series(&story).await?, ["0.75*", "0.25"]);
    assert_eq!(rung(&story, "ada").await?.n_changes, 3);
    // of another run, a verdict that is of the revision before this one takes no place
    let of_other = table.revise(&again, &HOSTED, "another run").await?;
    assert_eq!(of_other, Revised::Moved);

    // and what is decided again follows the current rung
    let stale = Receipt {
        ladder: best.ladder.clone(),
        ..Receipt {
            revision: 2,
            finished_at: at,
            ..first.clone()
        }
    };
    let revised = table.revise(&stale, &HOSTED, &run.id).await?;
    assert_eq!(revised, Revised::Moved);
    let fresh = on_rung(&story, &stale).await?;
    let revised = table.revise(&fresh, &HOSTED, &run.id).await?;
    assert_eq!(revised, Revised::Recorded);

    // a score that turns out to be against the rules leaves the Ladder
    table.end_run(&story.board, &run, at, &[]).await?;
    let run = table
        .begin_run(&story.board, Timestamp::from_unix_millis(5))
        .await?;
    let rejected = Receipt {
        revision: 3,
        finished_at: Timestamp::from_unix_millis(5),
        ladder: None,
        verdict: story.verdict(None),
        ..first
    };
    table.revise(&rejected, &HOSTED, &run.id).await?;
    assert_eq!(rung(&story, "ada").await?.on(&story.board), None);
    let repeated = submit(&story, "ada", 6, 0.9).await?;
    assert_eq!(
        (repeated.public_score(), repeated.climb()),
        (Some(0.875), Some(Climb::Climbed))
    );
    Ok(())
}

async fn lifting(table: &impl Maintenance, benchmark: &str) -> Outcome {
    for ranking in [Ranking::Best, Ranking::Latest] {
        let story = Story::new(table, benchmark, &format!("ladder lifted {ranking:?}"), ranking);
        let mut sent = Vec::new();
        for (at, score) in [(1, 0.5), (2, 0.4375), (3, 0.9375)] {
            sent.push(submit(&story, "ada", at, score).await?);
        }
        assert_eq!(series(&story).await?, ["0.5*", "0.5", "0.5"]);
        for receipt in &sent {
            let lift = || table.lift(benchmark, &receipt.submission, &HOSTED);
            let lifted = lift().await?.ok_or("it was not lifted")?;
            assert_eq!(
                (lifted.public_score(), lifted.climb()),
                (receipt.verdict.score, None)
            );
            assert_eq!(lift().await?, None, "once");
        }
        assert_eq!(series(&story).await?, ["0.5", "0.4375", "0.9375"]);
        let expected = match ranking {
            Ranking::Best => vec!["1 ada 0.4375"],
            Ranking::Latest => vec!["1 ada 0.9375"],
        };
        assert_eq!(story.top().await?, expected, "{ranking:?}");
        let plain = story.submit("bo", 4, Some(0.25)).await?;
        let lifted = table.lift(benchmark, &plain.submission, &HOSTED).await?;
        assert_eq!(lifted, None, "there is nothing to lift");
    }
    Ok(())
}

/// The rows of a final board, in the end and after a repetition.
#[allow(clippy::too_many_lines)] // one story
async fn finals(table: &impl Maintenance, benchmark: &str) -> Outcome {
    {
        let story = Story::new(table, benchmark, "final", Ranking::Best);
        let one = story.submit("ada", 1, Some(0.25)).await?;
        story.submit("bo", 2, Some(0.5)).await?;
        let other = story.submit("ada", 3, Some(0.75)).await?;
        let last = story.board.of_final();
        let at = Timestamp::from_unix_millis(4);
        let run = table.begin_run(&last, at).await?;
        let rows = story.ranked(&story.board).await?;
        for _ in 0..2 {
            for row in &rows {
                let score = (row.entry.submitter == "ada").then_some(0.625);
                let of_row = finalized(&story, &row.entry, score);
                assert!(table.finalize(&of_row, &HOSTED).await?);
            }
        }
        let shown = |rows: &[dataperf::rows::ranking::Ranked]| -> Vec<(String, Option<f64>)> {
            let row = |row: &dataperf::rows::ranking::Ranked| (row.entry.submitter.clone(), row.entry.score);
            rows.iter().map(row).collect()
        };
        let standing = story.ranked(&last).await?;
        assert_eq!(shown(&standing), vec![("ada".to_owned(), Some(0.625))]);
        assert_eq!(table.series(&last).await?.len(), 1);
        assert_eq!(
            table.revisions(&last, &run.id).await?.len(),
            rows.len(),
            "also what was refused, once"
        );
        let is_listed = |board: &Board| *board == last;
        assert!(table.boards(benchmark).await?.iter().any(is_listed));
        table
            .withdraw(benchmark, &one.submission, at, HOSTED.direction, None)
            .await?;
        let standing = story.ranked(&last).await?;
        assert_eq!(shown(&standing), []);
        let known = table
            .submission(benchmark, &one.submission)
            .await?
            .ok_or("it is there")?;
        assert_eq!(
            known.receipt.as_ref().map(|receipt| &receipt.verdict),
            Some(&one.verdict)
        );
        // another one of the submitter takes the place, also when the first one has been back meanwhile
        let of_one = vec![("ada".to_owned(), Some(0.625))];
        let last_of_other = finalized(&story, &entry_of(&story, &other).await?, Some(0.5625));
        assert!(table.finalize(&last_of_other, &HOSTED).await?);
        let of_other = vec![("ada".to_owned(), Some(0.5625))];
        assert_eq!(shown(&story.ranked(&last).await?), of_other);
        table
            .reinstate(benchmark, &one.submission, at, HOSTED.direction, None)
            .await?;
        assert_eq!(shown(&story.ranked(&last).await?), of_one);
        assert!(table.finalize(&last_of_other, &HOSTED).await?, "once more");
        assert_eq!(shown(&story.ranked(&last).await?), of_one);
        table
            .withdraw(benchmark, &one.submission, at, HOSTED.direction, None)
            .await?;
        assert_eq!(shown(&story.ranked(&last).await?), of_other);
        table
            .reinstate(benchmark, &one.submission, at, HOSTED.direction, None)
            .await?;
        for gone in [&other.submission, &one.submission] {
            table
                .withdraw(benchmark, gone, at, HOSTED.direction, None)
                .await?;
        }
        assert_eq!(shown(&story.ranked(&last).await?), [], "both are withdrawn");
        // in any order of restoration, the final board follows the public one
        for back in [&one.submission, &other.submission] {
            table
                .reinstate(benchmark, back, at, HOSTED.direction, None)
                .await?;
        }
        assert_eq!(shown(&story.ranked(&last).await?), of_one);
        assert_eq!(table.series(&story.board).await?.len(), 3);
        // a violation of the final rules removes the final row while the public row stays
        let against = story.submit("ada", 5, Some(0.125)).await?;
        let last_of_it = finalized(&story, &entry_of(&story, &against).await?, None);
        assert!(table.finalize(&last_of_it, &HOSTED).await?);
        assert_eq!(shown(&story.ranked(&last).await?), []);
        table
            .withdraw(benchmark, &against.submission, at, HOSTED.direction, None)
            .await?;
        assert_eq!(shown(&story.ranked(&last).await?), of_one);
        table
            .reinstate(benchmark, &against.submission, at, HOSTED.direction, None)
            .await?;
        assert_eq!(shown(&story.ranked(&last).await?), []);
        // as after scoring again: what has no score any more makes room, and takes its place again
        table
            .withdraw(benchmark, &against.submission, at, HOSTED.direction, None)
            .await?;
        for (score, run, of_ada) in [(None, "one", &of_other), (Some(0.25), "two", &of_one)] {
            again(&story, &one, score, run).await?;
            assert_eq!(shown(&story.ranked(&last).await?), *of_ada);
        }
    }
    Ok(())
}

/// Another ranking is that of all rows, of the public board and of the final one, whenever they were written, and withdrawals under any ranking leave
/// what was there before once they are undone.
async fn another_ranking(table: &impl Maintenance, benchmark: &str) -> Outcome {
    let at = Timestamp::from_unix_millis(4);
    let mut story = Story::new(table, benchmark, "another ranking", Ranking::Best);
    let one = story.submit("ada", 1, Some(0.25)).await?;
    let other = story.submit("ada", 2, Some(0.5)).await?;
    let last = story.board.of_final();
    table.begin_run(&last, at).await?;
    for receipt in [&one, &other] {
        let line = entry_of(&story, receipt).await?;
        assert!(
            table
                .finalize(&finalized(&story, &line, line.score), &HOSTED)
                .await?
        );
    }
    let (one, other) = (one.submission, other.submission);
    for (ranking, expected, without_one) in [
        (Ranking::Latest, vec![other.clone()], vec![other.clone()]),
        (Ranking::Best, vec![one.clone()], vec![other.clone()]),
        (Ranking::Latest, vec![other.clone()], vec![other.clone()]),
    ] {
        story.terms.ranking = ranking;
        let standing = async || {
            let mut rankings = Vec::new();
            for board in [&story.board, &last] {
                let rows = story.rows(board).await?;
                let mut ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
                ids.sort();
                rankings.push(ids);
            }
            Ok::<_, dataperf::ports::PortError>(rankings)
        };
        assert_eq!(
            standing().await?,
            [expected.clone(), expected.clone()],
            "{ranking:?}"
        );
        table
            .withdraw(benchmark, &one, at, HOSTED.direction, None)
            .await?;
        assert_eq!(
            standing().await?,
            [without_one.clone(), without_one],
            "{ranking:?}"
        );
        table
            .reinstate(benchmark, &one, at, HOSTED.direction, None)
            .await?;
        assert_eq!(standing().await?, [expected.clone(), expected], "{ranking:?}");
    }
    Ok(())
}

/// Scores a submission again in a run of its own.
async fn again(
    story: &Story<'_, impl Maintenance>,
    received: &Receipt,
    score: Option<f64>,
    run: &str,
) -> Outcome {
    let known = story
        .table
        .submission(&story.board.benchmark, &received.submission)
        .await?;
    let old = known.and_then(|known| known.receipt).ok_or("it has ended")?;
    let receipt = Receipt {
        revision: old.revision + 1,
        verdict: story.verdict(score),
        finished_at: Timestamp::from_unix_millis(old.finished_at.unix_millis() + 1),
        ..old
    };
    let revised = story.table.revise(&receipt, &HOSTED, run).await?;
    assert_eq!(revised, Revised::Recorded);
    Ok(())
}

/// The line of a submission that has ended.
async fn entry_of(
    story: &Story<'_, impl Maintenance>,
    receipt: &Receipt,
) -> Result<Entry, dataperf::ports::PortError> {
    let known = story
        .table
        .submission(&story.board.benchmark, &receipt.submission)
        .await?;
    known
        .map(|known| known.entry())
        .ok_or_else(|| dataperf::ports::PortError::Malformed {
            subject: format!("submission `{}`", receipt.submission),
            why: "it is not there".into(),
        })
}

/// The final data set's result for a line of the public board.
fn finalized(story: &Story<'_, impl Maintenance>, line: &Entry, score: Option<f64>) -> Finalized {
    let verdict = story.verdict(score);
    Finalized {
        board: line.board.of_final(),
        revision: Revision {
            id: line.id.clone(),
            submitter: line.submitter.clone(),
            received_at: line.received_at,
            is_baseline: false,
            before: line.score,
            dataset_before: line.dataset,
            ending: verdict.status,
            after: score,
        },
        verdict,
    }
}
