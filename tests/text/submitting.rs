//! Examples: the models' answers, duplicates, the day's count, and a board that also counts what fooled nobody.

use dataperf::{Ending, Receipt};
use dataperf_collections::text::{Example, ExampleId};
use dataperf_collections_aws::common::{file, index, read};
use dataperf_collections_aws::text::{Examples, FiledExample};
use serde_json::json;

use super::{Text, code, configured, example, fooling, honest, line, line_code, own, status};
use crate::support::world::{CARETAKER, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_answer_immediately_and_non_fooling_examples_count() {
    let text = Text::new().await;
    let mut unknown = fooling(9);
    unknown["label"] = json!("sad");
    let receipt = text
        .submit("ada", "one", &[fooling(1), honest(2), unknown, honest(3)])
        .await;
    assert_eq!(status(&receipt), Ending::Accepted, "{receipt:#?}");
    let lines = &receipt.verdict.lines;
    let fooled: Vec<_> = [0, 1, 3].map(|n| lines[n].details["fooled"] == true).into();
    assert_eq!(fooled, [true, false, false]);
    let model = &lines[0].details["models"]["r1"];
    assert_eq!(
        (&model["label"], &model["fooled"]),
        (&json!("negative"), &json!(true))
    );
    let sum: f64 = model["probabilities"]
        .as_object()
        .unwrap()
        .values()
        .map(|p| p.as_f64().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-9, "{model}");
    assert_eq!(line_code(&lines[2]), "unknown_label");
    assert_eq!(receipt.verdict.metrics["examples_used"], 3);
    assert_eq!(text.counts("ada").await, [3, 1, 1, 0, 0, 0, 0]);
    let (_, metrics) = text.row("ada").await.unwrap();
    assert_eq!(
        (metrics["vmer_low"].as_f64(), metrics["vmer_high"].as_f64()),
        (Some(0.0), Some(1.0 / 3.0))
    );

    text.submit("ada", "two", &[honest(4)]).await;
    assert_eq!(
        text.counts("ada").await,
        [4, 1, 1, 0, 0, 0, 0],
        "a submission that fools nobody changes the rate"
    );
    assert_eq!(text.items("unjudged").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_earlier_texts_do_not_count() {
    let text = Text::new().await;
    text.submit("ada", "one", &[fooling(1)]).await;
    let mut again = fooling(1);
    again["text"] = json!(again["text"].as_str().unwrap().to_uppercase());
    let twins: Vec<_> = [2, 2, 3, 3, 4, 4].map(fooling).into();
    let receipt = text.submit("bo", "one", &[vec![again], twins].concat()).await;
    let lines = &receipt.verdict.lines;
    assert_eq!(
        lines[0].details["duplicate"],
        json!({ "how": "exact", "whose": "another's", "example": null })
    );
    for (first, second) in [(1, 2), (3, 4), (5, 6)] {
        assert!(!lines[first].details.contains_key("duplicate"), "{first}");
        let id = example(&lines[first]);
        assert_eq!(
            lines[second].details["duplicate"],
            json!({ "how": "exact", "whose": "own", "example": id })
        );
    }
    assert_eq!(text.counts("bo").await, [3, 3, 3, 0, 0, 0, 4]);
    assert_eq!(text.counts("ada").await, [1, 1, 1, 0, 0, 0, 0]);
}

/// A run that was interrupted after filing the keys of its texts, and before the examples, leaves
/// keys without an example. That happens if a model gives the next run no answer, or the upload is
/// given up. They must not make other texts duplicates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_without_an_example_make_no_duplicate() {
    let text = Text::new().await;
    let receipt = text.submit("ada", "one", &[honest(1)]).await;
    let table = text.world.leaderboards();
    let there = read::<Examples>(&table, &example(&receipt.verdict.lines[0]).parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    let message = Example {
        text: fooling(2)["text"].as_str().unwrap().to_owned(),
        ..there.content.clone()
    };
    let cut_short = FiledExample {
        id: ExampleId::derive(there.submission.as_str(), 2),
        line: 2,
        content: message,
        ..there
    };
    index(&table, &cut_short, ()).await.unwrap();
    let receipt = text.submit("ada", "again", &[fooling(2)]).await;
    assert!(
        !receipt.verdict.lines[0].details.contains_key("duplicate"),
        "{receipt:#?}"
    );
    assert_eq!(text.counts("ada").await, [2, 1, 1, 0, 0, 0, 0]);
    // once it is filed, by whatever run, it is the earlier one
    file(&table, &cut_short).await.unwrap();
    let receipt = text.submit("bo", "one", &[fooling(2)]).await;
    assert_eq!(
        receipt.verdict.lines[0].details["duplicate"],
        json!({ "how": "exact", "whose": "another's", "example": null })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_has_so_many_examples() {
    let text = Text::with(|_| (), |rules| rules["examples_a_day"] = json!(3)).await;
    let lines: Vec<_> = (0..5).map(fooling).collect();
    let receipt = text.submit("ada", "one", &lines).await;
    let codes: Vec<&str> = receipt.verdict.lines.iter().map(line_code).collect();
    assert_eq!(codes, ["", "", "", "daily_examples", "daily_examples"]);
    let receipt = text.submit("ada", "two", &[fooling(7)]).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Rejected, "daily_examples")
    );
    let receipt = text.submit("bo", "one", &[line("sad", "x"), fooling(8)]).await;
    assert_eq!(
        receipt.verdict.metrics["examples_used"], 1,
        "a bad line costs nothing"
    );
    assert_eq!(text.n_taken("ada", "examples").await, 3);
    assert_eq!(text.counts("ada").await[0], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_of_non_fooling_examples_is_validated() {
    let text = Text::with(
        |_| (),
        |rules| rules["validation"] = json!({ "share_of_others": 0.5 }),
    )
    .await;
    let lines: Vec<_> = (0..60).map(honest).collect();
    let receipt = text.submit("ada", "one", &lines).await;
    let chosen = receipt.verdict.lines.iter().filter(|line| {
        let id = example(line).parse().unwrap();
        dataperf_collections::text::is_validated_by_chance(&id, 0.5)
    });
    let n_chosen = chosen.count();
    assert!((15..45).contains(&n_chosen), "{n_chosen}");
    assert_eq!(text.items("unjudged").await.len(), n_chosen);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_organizer_exports_a_round_without_names() {
    let text = Text::new().await;
    let lines: Vec<_> = (0..6)
        .map(|n| line(["positive", "negative"][n % 2], &own(n)))
        .collect();
    for who in ["ada", "bo", "cy"] {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| {
                let mut line = line.clone();
                line["text"] = json!(format!("{who} {}", line["text"].as_str().unwrap()));
                line
            })
            .collect();
        let receipt = text.submit(who, "one", &lines).await;
        for line in receipt
            .verdict
            .lines
            .iter()
            .filter(|line| line.details["fooled"] == true)
        {
            for rater in &super::RATERS[..3] {
                text.judge(rater, &example(line), "positive").await;
            }
        }
    }
    // the rules change during the round: earlier decisions follow the first ones
    text.rules(|rules| rules["validation"] = json!({ "share_of_others": 0.0, "equal": 4, "most": 5 }))
        .await;
    let receipt = text.submit("dee", "one", &[fooling(50)]).await;
    for rater in &super::RATERS[..4] {
        text.judge(rater, &example(&receipt.verdict.lines[0]), "positive")
            .await;
    }
    let out = text.world.scratch().join("export");
    let endpoint = text.world.cloud.lambda_endpoint().to_owned();
    let ran = text
        .world
        .command(["dynamic", "export", "--out", out.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?} {endpoint}");
    let mut n_rows = 0;
    for part in ["train", "dev", "test"] {
        let rows = std::fs::read_to_string(out.join(format!("{part}.jsonl"))).unwrap();
        n_rows += rows.lines().count();
        for name in ["ada\"", "\"bo\"", "\"cy\"", "\"dee\"", "rosa", "rita", "ruth"] {
            assert!(!rows.contains(name), "{part} names {name}");
        }
        assert!(out.join(format!("{part}.parquet")).is_file());
    }
    assert!(n_rows >= 3, "{n_rows}");
    let provenance = std::fs::read(out.join("provenance.json")).unwrap();
    let provenance: serde_json::Value = serde_json::from_slice(&provenance).unwrap();
    let rules = provenance["rules"].as_array().unwrap();
    let equal: Vec<_> = rules.iter().map(|rules| &rules["validation"]["equal"]).collect();
    assert_eq!(equal, [&json!(3), &json!(4)], "{provenance}");
    assert_eq!(rules[1]["n_examples"], 1);
    let n_examples = rules.iter().map(|rules| rules["n_examples"].as_u64().unwrap());
    assert_eq!(n_examples.sum::<u64>(), n_rows as u64);
}

/// A delivery that fails after another has ended the upload: what the upload was given stays counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_failure_after_completion_returns_nothing() {
    let text = Text::new().await;
    let sent = text.send("submit", "ada", "one", &[fooling(1), honest(2)]).await;
    let before = text.receipts(std::slice::from_ref(&sent)).await;
    assert_eq!(status(&before[0]), Ending::Accepted);
    let event = sent.event("2026-03-01T12:00:00.250Z");
    let record = json!({
        "version": "1.0", "timestamp": "2026-03-01T12:10:00.250Z",
        "requestContext": { "requestId": "r-1", "functionArn": "arn", "condition": "RetriesExhausted", "approximateInvokeCount": 3 },
        "requestPayload": event,
        "responsePayload": { "errorType": "Transient", "errorMessage": "the table could not be asked" },
    });
    let message = json!({ "messageId": "m", "eventSource": "aws:sqs", "body": record.to_string() });
    let cloud = &text.world.cloud;
    cloud
        .invoke(CARETAKER, &json!({ "Records": [message] }))
        .await
        .unwrap();
    let after = text.receipts(std::slice::from_ref(&sent)).await;
    assert_eq!(after, before);
    assert_eq!(text.n_taken("ada", "examples").await, 2);
    assert_eq!(cloud.on_failure().await.unwrap(), [], "the record was read");
}

/// A collection's submitters are distinguished like those of benchmarks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_names_that_look_alike_the_first_writes() {
    let text = Text::new().await;
    let codes = |receipt: &Receipt| -> Vec<String> {
        let reasons = receipt.verdict.reasons.iter();
        reasons.map(|reason| reason.code.clone()).collect()
    };
    assert_eq!(codes(&text.submit("lo-1", "one", &[fooling(1)]).await), [""; 0]);
    assert_eq!(
        codes(&text.submit("l0_1", "one", &[fooling(2)]).await),
        ["name_looks_alike"]
    );
    assert_eq!(codes(&text.submit("lo-1", "two", &[fooling(3)]).await), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_before_any_rules_are_rejected() {
    let text = Text {
        world: World::without_dataset(configured).await,
    };
    let receipt = text.submit("ada", "one", &[honest(1)]).await;
    assert_eq!(
        (status(&receipt), code(&receipt)),
        (Ending::Rejected, "unknown_leaderboard")
    );
}
