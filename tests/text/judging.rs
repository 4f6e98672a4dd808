//! Verdicts: who may judge what, what decides, and the score that follows.

use std::time::Duration;

use dataperf::{Ending, Timestamp};
use dataperf_collections::text::ExampleId;
use dataperf_collections_aws::common::{file, index, read};
use dataperf_collections_aws::text::{Examples, FiledExample};
use dataperf_local::Moment;
use serde_json::{Value, json};

use super::{BENCHMARK, RATERS, Text, VERDICT, code, example, fooling, honest, line_code, status};
use crate::read_api::{ADA, ANONYMOUS, Reading};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_equal_verdicts_decide() {
    let text = Text::new().await;
    let receipt = text
        .submit("ada", "one", &[fooling(1), fooling(2), fooling(3), honest(4)])
        .await;
    let ids: Vec<String> = receipt.verdict.lines.iter().map(example).collect();
    for rater in &RATERS[..2] {
        text.judge(rater, &ids[0], "positive").await;
    }
    assert_eq!(
        text.counts("ada").await,
        [4, 3, 3, 0, 0, 0, 0],
        "two decide nothing"
    );
    text.judge(RATERS[2], &ids[0], "positive").await;
    assert_eq!(text.counts("ada").await, [4, 3, 2, 1, 0, 0, 0]);
    let late = text.judge(RATERS[3], &ids[0], "negative").await;
    assert_eq!(
        (status(&late), code(&late)),
        (Ending::Rejected, "enough_verdicts")
    );

    for (rater, label) in RATERS
        .iter()
        .zip(["negative", "positive", "negative", "positive", "negative"])
    {
        let receipt = text.judge(rater, &ids[1], label).await;
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    }
    assert_eq!(
        text.counts("ada").await,
        [4, 3, 1, 1, 1, 0, 0],
        "another label is right"
    );
    for (rater, label) in RATERS
        .iter()
        .zip(["negative", "positive", "neutral", "positive", "negative"])
    {
        text.judge(rater, &ids[2], label).await;
    }
    assert_eq!(
        text.counts("ada").await,
        [4, 3, 0, 1, 2, 0, 0],
        "without agreement it is refused"
    );
    assert_eq!(text.items("unjudged").await.len(), 0);
    let (_, metrics) = text.row("ada").await.unwrap();
    assert_eq!(metrics["vmer_low"], metrics["vmer_high"]);
    assert_eq!(metrics["vmer_low"].as_f64(), Some(0.25));
}

/// The board itself distinguishes pending, validated and refused examples. It shows the validated
/// error rate and its interval: in the command line, in the API and in both as CSV.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_board_shows_each_annotators_score_parts() {
    let text = Text::with(
        |_| (),
        |rules| rules["validation"]["share_of_others"] = json!(0.0),
    )
    .await;
    let receipt = text
        .submit("ada", "one", &[fooling(1), fooling(2), fooling(3), honest(4)])
        .await;
    let ids: Vec<String> = receipt.verdict.lines.iter().map(example).collect();
    for (id, label) in [(&ids[0], "positive"), (&ids[1], "negative")] {
        for rater in &RATERS[..3] {
            let receipt = text.judge(rater, id, label).await;
            assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
        }
    }
    let expected = json!({ "n_submitted": 4.0, "n_pending": 1.0, "n_validated": 1.0, "n_refused": 1.0, "vmer_low": 0.25,
                           "vmer_high": 0.5, "vmer_low_from": 0.045_587_260_809_700_575, "vmer_high_to": 0.849_961_010_847_850_6 });
    let assert_metrics = |actual: &serde_json::Value| {
        for (name, value) in expected.as_object().unwrap() {
            let (actual, value) = (actual[name].as_f64().unwrap(), value.as_f64().unwrap());
            assert!((actual - value).abs() < 1e-12, "{name}: {actual}, not {value}");
        }
        assert_eq!(
            actual.as_object().unwrap().len(),
            expected.as_object().unwrap().len()
        );
    };
    let board = ["leaderboard", BENCHMARK, "sentiment"];
    let documents = text.world.command(board).json();
    assert_metrics(&documents[0]["places"][0]["metrics"]);
    let columns = crate::commands::tables::csv(&text.world, &board);
    assert_eq!(
        (columns.column("n_pending"), columns.column("vmer_low")),
        (vec!["1"], vec!["0.25"])
    );

    let reading = Reading::new(text.world).await;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/sentiment");
    let page = reading.ask(ANONYMOUS, &path).json();
    assert_metrics(&page["rows"][0]["metrics"]);
    let named: Vec<&serde_json::Value> = page["columns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|column| column["metrics"].as_array().unwrap())
        .collect();
    assert_eq!(named.len(), expected.as_object().unwrap().len(), "{page:#}");
    let csv = reading.ask(ANONYMOUS, &format!("{path}?format=csv")).text();
    let (header, row) = csv.split_once("\r\n").or_else(|| csv.split_once('\n')).unwrap();
    assert!(
        header.ends_with(
            ",n_submitted,n_pending,n_validated,n_refused,vmer_low,vmer_high,vmer_low_from,vmer_high_to"
        ),
        "{header}"
    );
    assert_eq!(
        header.split(',').count(),
        row.trim_end().split(',').count(),
        "{csv}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn raters_judge_only_shown_foreign_examples_once() {
    let text = Text::with(
        |_| (),
        |rules| rules["validation"] = json!({ "share_of_others": 0.0, "verdicts_a_day": 3 }),
    )
    .await;
    let receipt = text.submit("rosa", "one", &[fooling(1), honest(2)]).await;
    let ids: Vec<String> = receipt.verdict.lines.iter().map(example).collect();
    let refused = |receipt: &dataperf::Receipt| (status(receipt), code(receipt).to_owned());
    let rejected = |code: &str| (Ending::Rejected, code.to_owned());
    assert_eq!(
        refused(&text.judge("rosa", &ids[0], "positive").await),
        rejected("own_example")
    );
    assert_eq!(
        refused(&text.judge("bo", &ids[0], "positive").await),
        rejected("not_a_rater")
    );
    assert_eq!(
        refused(&text.judge("rita", &ids[1], "positive").await),
        rejected("unknown_example"),
        "what fooled nobody is shown to nobody"
    );
    assert_eq!(
        refused(&text.judge("rita", &"0".repeat(32), "positive").await),
        rejected("unknown_example")
    );
    assert_eq!(
        refused(&text.judge("rita", &ids[0], "entailment").await),
        rejected("unknown_label")
    );
    assert_eq!(
        status(&text.judge("rita", &ids[0], "positive").await),
        Ending::Accepted
    );
    assert_eq!(
        refused(&text.judge("rita", &ids[0], "negative").await),
        rejected("judged_before")
    );
    assert_eq!(
        text.n_taken("rita", "verdicts").await,
        1,
        "what is refused costs nothing"
    );

    let lines: Vec<_> = (10..15).map(fooling).collect();
    let receipt = text.submit("ada", "one", &lines).await;
    let verdicts: Vec<_> = receipt
        .verdict
        .lines
        .iter()
        .map(|line| json!({ "example": example(line), "label": "positive" }))
        .collect();
    let sent = text.send("verdict", "rita", "many", &verdicts).await;
    let receipt = text.receipts(&[sent]).await.remove(0);
    let n_taken = receipt
        .verdict
        .lines
        .iter()
        .filter(|line| line.status == Ending::Accepted)
        .count();
    assert_eq!(n_taken, 2, "three a day: {receipt:#?}");
    assert_eq!(receipt.verdict.metrics["verdicts_used"], 3);
}

/// An example filed under other numbers of verdicts is decided by those of its submission, even if
/// its round pins no data set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_example_keeps_its_number_of_verdicts() {
    let validation =
        |equal: usize, most: usize| json!({ "share_of_others": 0.0, "equal": equal, "most": most });
    let text = Text::with(|_| (), |rules| rules["validation"] = validation(2, 3)).await;
    let receipt = text.submit("ada", "one", &[fooling(1)]).await;
    let id = example(&receipt.verdict.lines[0]);
    text.rules(|rules| rules["validation"] = validation(4, 5)).await;
    for (rater, counts) in [
        (RATERS[0], [1, 1, 1, 0, 0, 0, 0]),
        (RATERS[1], [1, 1, 0, 1, 0, 0, 0]), // two equal ones, where four are wanted by now
        (RATERS[2], [1, 1, 0, 1, 0, 0, 0]),
    ] {
        text.judge(rater, &id, "positive").await;
        assert_eq!(text.counts("ada").await, counts);
    }
    let late = text.judge(RATERS[3], &id, "positive").await;
    assert_eq!(line_code(&late.verdict.lines[0]), "enough_verdicts");
}

/// An example without a rater is never decided, whoever is disqualified and readmitted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_example_without_verdicts_stays_undecided() {
    let text = Text::new().await;
    let receipt = text.submit("ada", "one", &[honest(1)]).await;
    let id = example(&receipt.verdict.lines[0]);
    for undo in [&[][..], &["--undo"]] {
        let args = ["dynamic", "disqualify", "submitter", "ada", "--reason", "a slip"];
        text.world.ran([&args, undo].concat());
        let items = text.items(&format!("example#{id}")).await;
        let of_example = items.iter().find(|item| item.contains_key("status")).unwrap();
        assert_eq!(of_example["status"].as_s().unwrap(), "unjudged", "{undo:?}");
    }
    assert_eq!(text.counts("ada").await, [1, 0, 0, 0, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_organizer_overrides_and_disqualifies() {
    let text = Text::new().await;
    let receipt = text
        .submit("ada", "one", &[fooling(1), fooling(2), fooling(3)])
        .await;
    let ids: Vec<String> = receipt.verdict.lines.iter().map(example).collect();
    for rater in &RATERS[..3] {
        text.judge(rater, &ids[0], "negative").await;
        text.judge(rater, &ids[1], "positive").await;
    }
    assert_eq!(text.counts("ada").await, [3, 3, 1, 1, 1, 0, 0]);
    let decide = |id: &str, decision: &str| {
        let ran = text
            .world
            .command(["dynamic", "decide", id, decision, "--reason", "a look at it"]);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    for (args, message) in [
        (&["incorrect"][..], "which label is right"),
        (
            &["incorrect", "--label", "positive"],
            "choose another label, `neutral` or `negative`",
        ),
        (&["incorrect", "--no-answer"], "which label is right"),
        (&["correct", "--label", "neutral"], "leave out `--label`"),
    ] {
        let args = [&["dynamic", "decide", &ids[0]], args, &["--reason", "a slip"]].concat();
        let ran = text.world.command(&args);
        ran.assert_refused(message);
    }
    assert_eq!(
        text.counts("ada").await,
        [3, 3, 1, 1, 1, 0, 0],
        "what is refused decides nothing"
    );
    decide(&ids[0], "correct");
    assert_eq!(text.counts("ada").await, [3, 3, 1, 2, 0, 0, 0]);
    decide(&ids[2], "flagged");
    assert_eq!(text.counts("ada").await, [3, 3, 0, 2, 0, 1, 0]);
    assert_eq!(text.items("unjudged").await.len(), 0);

    let disqualify = |args: &[&str]| {
        let args = [&["dynamic", "disqualify"], args, &["--reason", "not theirs"]].concat();
        text.world.ran(&args);
    };
    for (kind, name, nearest) in [("submitter", "adda", "`ada`"), ("rater", "ritta", "`rita`")] {
        let args = ["dynamic", "disqualify", kind, name, "--reason", "a slip"];
        let ran = text.world.command(args);
        ran.assert_refused(nearest);
    }
    disqualify(&["rater", "rita"]);
    assert_eq!(
        text.counts("ada").await,
        [3, 3, 1, 1, 0, 1, 0],
        "two verdicts are left of one example, the organizer's decisions stand"
    );
    let refused = text.judge("rita", &ids[1], "positive").await;
    assert_eq!(code(&refused), "disqualified");
    text.judge("rhea", &ids[1], "positive").await;
    assert_eq!(text.counts("ada").await, [3, 3, 0, 2, 0, 1, 0]);
    disqualify(&["example", &ids[1]]);
    assert_eq!(text.counts("ada").await, [2, 2, 0, 1, 0, 1, 0]);
    disqualify(&["submitter", "ada"]);
    assert!(text.row("ada").await.is_none(), "no row is left");
    assert_eq!(
        code(&text.submit("ada", "two", &[fooling(9)]).await),
        "disqualified"
    );
}

/// The first upload is the first example, whichever was processed first: deciding repeats the
/// check.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deciding_an_example_detects_a_later_duplicate() {
    let text = Text::new().await;
    let receipt = text.submit("bo", "one", &[fooling(1)]).await;
    let id = example(&receipt.verdict.lines[0]);
    assert_eq!(text.counts("bo").await, [1, 1, 1, 0, 0, 0, 0]);
    let table = text.world.leaderboards();
    let message = read::<Examples>(&table, &id.parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    // another's upload of the same text, which was stored before and is processed after
    let earlier = FiledExample {
        id: ExampleId::derive("earlier", 1),
        submitter: "ada".into(),
        received_at: Timestamp::from_unix_millis(message.received_at.unix_millis() - 1),
        ..message
    };
    index(&table, &earlier, ()).await.unwrap();
    file(&table, &earlier).await.unwrap();
    for rater in &RATERS[..3] {
        let receipt = text.judge(rater, &id, "positive").await;
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    }
    assert_eq!(text.counts("bo").await, [0, 0, 0, 0, 0, 0, 1]);
}

/// A known duplicate takes no rater's time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_duplicate_goes_to_no_rater() {
    let text = Text::new().await;
    let first = text.submit("ada", "one", &[fooling(1)]).await;
    let own = text.submit("ada", "two", &[fooling(1)]).await;
    let other = text.submit("bo", "one", &[fooling(1)]).await;
    let id = |receipt: &dataperf::Receipt| example(&receipt.verdict.lines[0]);
    assert_eq!(own.verdict.lines[0].details["duplicate"]["whose"], "own");
    let queue = text.items("unjudged").await;
    let queued: Vec<&str> = queue
        .iter()
        .map(|item| item["example"].as_s().unwrap().as_str())
        .collect();
    assert_eq!(queued, [id(&first)], "only the first waits");
    for receipt in [&own, &other] {
        let refused = text.judge("rosa", &id(receipt), "positive").await;
        assert_eq!(
            (status(&refused), code(&refused)),
            (Ending::Rejected, "unknown_example")
        );
    }
    for rater in &RATERS[..3] {
        text.judge(rater, &id(&first), "positive").await;
    }
    assert_eq!(text.counts("ada").await, [1, 1, 0, 1, 0, 0, 1]);
    assert_eq!(text.counts("bo").await, [0, 0, 0, 0, 0, 0, 1]);
}

/// A decision writes a step of a score, which is no upload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_list_uploads_and_no_steps_of_scores() {
    let text = Text::new().await;
    let receipt = text.submit("ada", "one", &[fooling(1)]).await;
    for rater in &RATERS[..3] {
        text.judge(rater, &example(&receipt.verdict.lines[0]), "positive")
            .await;
    }
    let boards = |history: &Value| -> Vec<String> {
        let lines = history.as_array().unwrap().iter();
        lines
            .map(|line| line["leaderboard"].as_str().unwrap().to_owned())
            .collect()
    };
    let status = |more: &[&str]| {
        let args = [&["status", BENCHMARK, "--submitter", "ada"], more].concat();
        text.world.command(&args).json()
    };
    assert_eq!(boards(&status(&[])), ["submit"]);
    assert_eq!(
        boards(&status(&["--steps"])),
        ["sentiment", "sentiment", "submit"]
    );
    let listed = text.world.command(["submitter", "list", BENCHMARK]).json();
    let of_ada = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["submitter"] == "ada")
        .unwrap();
    assert_eq!(
        (&of_ada["n_submissions"], &of_ada["n_scored"]),
        (&json!(1), &json!(0)),
        "{of_ada}"
    );
    let reading = Reading::new(text.world).await;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/submissions?submitter=ada");
    let history = |who| boards(&reading.ask(who, &path).json()["submissions"]);
    assert_eq!(history(ADA), ["submit"]);
    assert_eq!(
        history(ANONYMOUS),
        ["sentiment", "sentiment"],
        "what may stand on a board"
    );
}

/// Killed at each moment in turn, the last verdict still has its example decided, once, and the score written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_last_verdict_still_decides() {
    let text = Text::with(
        |config| {
            for function in &mut config.functions {
                function.concurrency = 1;
            }
            config.idle_timeout = Duration::ZERO;
        },
        |rules| {
            rules["validation"] = json!({ "equal": 1, "most": 1, "share_of_others": 0.0 });
            rules["validation"]["verdicts_a_day"] = json!(10_000);
            rules["examples_a_day"] = json!(200);
        },
    )
    .await;
    let lines: Vec<_> = (0..190).map(fooling).collect();
    let receipt = text.submit("ada", "many", &lines).await;
    let mut ids = receipt.verdict.lines.iter().map(example);
    let mut n_decided = 0;
    for moment in Moment::of_writes() {
        let id = ids.next().expect("a run writes less often");
        text.world.cloud.faults().kill_at(VERDICT, moment);
        let receipt = text.judge("rosa", &id, "positive").await;
        n_decided += 1;
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
        assert_eq!(
            text.counts("ada").await,
            [190, 190, 190 - n_decided, n_decided, 0, 0, 0]
        );
        if text.world.cloud.faults().kill_no_more(VERDICT) {
            break;
        }
    }
    assert!(n_decided > 10, "a run writes: {n_decided}");
    assert_eq!(text.n_taken("rosa", "verdicts").await, n_decided);
}
