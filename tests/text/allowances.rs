//! A day's allowance counts each line with a result once, even if a file is killed at any moment
//! and given up.

use dataperf::Ending;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf_collections_aws::text::Examples;
use dataperf_local::Moment;
use serde_json::json;

use super::{BENCHMARK, Text, VERDICT, example, fooling, status};
use crate::support::world::Sent;

/// A file that is not tried again by itself: whatever kills it has it given up.
async fn one_try(lines_a_day: usize) -> Text {
    Text::with(
        |config| config.retry_backoff = Vec::new(),
        |rules| {
            rules["examples_a_day"] = json!(2 * lines_a_day);
            rules["validation"] = json!({ "share_of_others": 0.0, "verdicts_a_day": lines_a_day });
        },
    )
    .await
}

impl Text {
    async fn ending(&self, sent: &Sent) -> Ending {
        status(&self.world.whole_receipt(sent).await)
    }

    /// The organizer tries again what was given up, and the caretaker ends the scores that were on their way.
    async fn redrive(&self) {
        assert_eq!(self.world.command(["redrive", "--all-failed"]).code, 0);
        self.world.settle().await;
        let on_their_way = self.world.leaderboards().unfinished(BENCHMARK).await.unwrap();
        if !on_their_way.is_empty() {
            self.world.sweep().await; // sees them for the first time
            self.world.sweep().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_given_up_example_file_keeps_filed_examples() {
    let text = one_try(1).await; // two examples a day
    let (submit, faults) = (format!("{BENCHMARK}-submit"), text.world.cloud.faults());
    let (mut n_killed, mut n_partly) = (0, 0);
    for n in (1..).step_by(3) {
        let who = format!("s{n:03}");
        let lines = [fooling(2 * n), fooling(2 * n + 1)];
        faults.kill_at(&submit, Moment::After(n));
        let sent = text.send("submit", &who, "one", &lines).await;
        text.world.settle().await;
        let is_over = faults.kill_no_more(&submit);
        let n_filed = text.items(&format!("examples#{who}")).await.len() as u64;
        assert_eq!(text.n_taken(&who, "examples").await, n_filed, "killed at {n}");
        if text.ending(&sent).await == Ending::Failed {
            n_killed += 1;
            n_partly += usize::from(n_filed > 0);
            text.redrive().await;
        }
        let receipt = text.receipts(&[sent]).await.remove(0);
        assert_eq!(status(&receipt), Ending::Accepted, "killed at {n}: {receipt:#?}");
        let codes: Vec<&str> = receipt.verdict.lines.iter().map(super::line_code).collect();
        assert_eq!(codes, ["", ""], "killed at {n}");
        assert_eq!(receipt.verdict.metrics["examples_used"], 2, "killed at {n}");
        assert_eq!(text.n_taken(&who, "examples").await, 2, "killed at {n}");
        assert_eq!(
            text.counts(&who).await,
            [2, 2, 2, 0, 0, 0, 0],
            "killed at {n}, each counts once"
        );
        if is_over {
            break; // it had ended before its turn came
        }
    }
    assert!(
        n_killed >= 4 && n_partly >= 1,
        "{n_killed}, {n_partly} after filing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_given_up_verdict_file_keeps_given_verdicts() {
    let text = one_try(2).await; // two verdicts a day
    let faults = text.world.cloud.faults();
    let (mut n_killed, mut n_partly) = (0, 0);
    for n in (1..).step_by(3) {
        let (author, who) = (format!("s{n:03}"), format!("v{n:03}"));
        let receipt = text
            .submit(&author, "one", &[fooling(2 * n), fooling(2 * n + 1)])
            .await;
        text.world.name_rater::<Examples>(&who).await;
        let lines = receipt.verdict.lines.iter();
        let lines: Vec<_> = lines
            .map(|line| json!({ "example": example(line), "label": "positive" }))
            .collect();
        faults.kill_at(VERDICT, Moment::After(n));
        let sent = text.send("verdict", &who, "one", &lines).await;
        text.world.settle().await;
        let is_over = faults.kill_no_more(VERDICT);
        let marks = text.items(&format!("rater#{who}")).await;
        let n_given = marks
            .iter()
            .filter(|mark| mark.contains_key("submission"))
            .count() as u64;
        assert_eq!(text.n_taken(&who, "verdicts").await, n_given, "killed at {n}");
        if text.ending(&sent).await == Ending::Failed {
            n_killed += 1;
            n_partly += usize::from(n_given == 1);
            text.redrive().await;
        }
        let receipt = text.receipts(&[sent]).await.remove(0);
        assert_eq!(status(&receipt), Ending::Accepted, "killed at {n}: {receipt:#?}");
        let codes: Vec<&str> = receipt.verdict.lines.iter().map(super::line_code).collect();
        assert_eq!(codes, ["", ""], "killed at {n}");
        assert_eq!(receipt.verdict.metrics["verdicts_used"], 2, "killed at {n}");
        assert_eq!(text.n_taken(&who, "verdicts").await, 2, "killed at {n}");
        if is_over {
            break; // it had ended before its turn came
        }
    }
    assert!(
        n_killed >= 4 && n_partly >= 1,
        "{n_killed}, {n_partly} between two verdicts"
    );
}

/// A score whose function was killed while it was written is written by the caretaker, and not if its submitter was disqualified since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_scores_do_not_restore_a_disqualified_submitter() {
    let text = Text::with(
        |config| config.retry_backoff = Vec::new(),
        |rules| rules["validation"] = json!({ "equal": 1, "most": 1, "share_of_others": 0.0 }),
    )
    .await;
    let faults = text.world.cloud.faults();
    let _leases = text.world.short_leases(BENCHMARK);
    let mut n_on_their_way = 0;
    for n in (8..).step_by(2) {
        let who = format!("s{n:03}");
        let receipt = text.submit(&who, "one", &[fooling(n)]).await;
        let id = example(&receipt.verdict.lines[0]);
        let line = json!({ "example": id, "label": "positive" });
        faults.kill_at(VERDICT, Moment::After(n));
        text.send("verdict", super::RATERS[0], &id, &[line]).await;
        text.world.settle().await;
        let is_over = faults.kill_no_more(VERDICT);
        let unfinished = text.world.leaderboards().unfinished(BENCHMARK).await.unwrap();
        n_on_their_way += unfinished.len();
        let args = [
            "dynamic",
            "disqualify",
            "submitter",
            &who,
            "--reason",
            "not theirs",
        ];
        assert_eq!(text.world.command(args).code, 0);
        text.redrive().await;
        assert!(text.row(&who).await.is_none(), "killed at {n}");
        let unfinished = text.world.leaderboards().unfinished(BENCHMARK).await.unwrap();
        assert_eq!(unfinished, [], "killed at {n}");
        if is_over {
            break; // it had ended before its turn came
        }
    }
    assert!(n_on_their_way >= 1, "{n_on_their_way}");
}
