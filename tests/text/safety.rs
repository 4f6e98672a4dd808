//! Who sees what: a rater sees nothing that could influence the verdict, and nobody sees a verdict
//! before the decision.

use dataperf::table::leaderboard::Leaderboards as _;
use dataperf_collections_aws::text::Examples;
use serde_json::{Value, json};

use super::{BENCHMARK, RATERS, Text, example, fooling, line_code, own};
use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};

/// Hidden from raters: labels, models, names, and whether a model was fooled.
const SECRETS: [&str; 8] = [
    "positive", "negative", "neutral", "r1", "fool", "\"ada\"", "why", "because",
];

fn tells_nothing(subject: &str, shown: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{subject} tells `{secret}`: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rater_learns_nothing_but_the_text() {
    let text = Text::new().await;
    text.world.name_rater::<Examples>("bo").await;
    let mut line = fooling(1);
    line["why"] = json!("because it is long");
    let receipt = text.submit("ada", "one", &[line]).await;
    let id = example(&receipt.verdict.lines[0]);

    let queued = text.items("unjudged").await;
    assert_eq!(queued.len(), 1);
    let mut names: Vec<&str> = queued[0].keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["example", "pk", "round", "schema", "sk", "task", "text"]);
    tells_nothing("the queue", &format!("{:?}", queued[0]));

    let ran = text.world.ran(["dynamic", "next", "--rater", "rosa"]);
    let mut shown = ran.json();
    assert_eq!(shown["example"], id.as_str());
    shown.as_object_mut().unwrap().remove("labels"); // those of the task, for all its texts
    tells_nothing("`dataperf dynamic next`", &shown.to_string());

    let judged = text.judge("rosa", &id, "positive").await;
    assert_eq!(
        judged.verdict.lines[0].details,
        [("example".to_owned(), json!(id))].into()
    );
    let judged = text.judge("rita", &id, "negative").await;
    assert_eq!(
        judged.verdict.lines[0].details,
        [("example".to_owned(), json!(id))].into(),
        "one who agrees with the author is told the same as one who does not"
    );
    // nothing of the verdicts is anywhere that the author or another rater reads
    let (_, metrics) = text.row("ada").await.unwrap();
    assert_eq!(metrics["n_pending"], 1);

    let reading = Reading::new(text.world).await;
    let next = format!("/api/v1/benchmarks/{BENCHMARK}/validation/next");
    for (who, status) in [(ANONYMOUS, 401), (ADA, 403), (ORGANIZER, 403), (BO, 200)] {
        assert_eq!(reading.ask(who, &next).status, status, "{who}");
    }
    let mut answer = reading.ask(BO, &next).json();
    assert_eq!(
        (&answer["kind"], &answer["n_left_today"]),
        (&json!("example"), &json!(200))
    );
    assert_eq!(answer["item"]["example"], id.as_str());
    assert_eq!(answer["rules"]["tasks"]["sentiment"]["needs_context"], false);
    answer.as_object_mut().unwrap().remove("rules");
    tells_nothing("the read API", &answer.to_string());
    let skipped = reading.ask(BO, &format!("{next}?skip={id}")).json();
    assert_eq!(skipped["item"], Value::Null);
    for (n, status) in [(199, 200), (200, 400)] {
        let others = ",0123456789abcdef0123456789abcdef".repeat(n);
        let answer = reading.ask(BO, &format!("{next}?skip={id}{others}"));
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(
            answer.text().contains("the limit is 200 ids"),
            status == 400,
            "{answer:?}"
        );
    }
    assert_eq!(
        reading.ask(BO, &format!("{next}?task=nli")).json()["item"],
        Value::Null
    );
    let token = |who| reading.ask(who, "/api/v1/token").json()["is_rater"].clone();
    assert_eq!((token(BO), token(ADA)), (json!([BENCHMARK]), json!([])));
    let image = format!("/api/v1/benchmarks/{BENCHMARK}/validation/{id}/image");
    assert_eq!(
        (reading.ask(BO, &image).status, reading.ask(ADA, &image).status),
        (404, 403)
    );
    let contexts = reading
        .ask(
            ANONYMOUS,
            &format!("/api/v1/benchmarks/{BENCHMARK}/contexts?task=nli"),
        )
        .json();
    assert_eq!(
        (&contexts["n_contexts"], &contexts["contexts"][0]["id"]),
        (&json!(1), &json!("c1"))
    );
    let rules = contexts["rules"].to_string();
    assert!(!rules.contains("models/") && !rules.contains("http"), "{rules}");
}

/// A round's topic is shown from its opening on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rounds_contexts_appear_after_its_opening() {
    let text = Text::new().await;
    let coming = br#"{"id": "c1", "task": "nli", "text": "What nobody has read."}"#;
    text.rules_and(|_| (), &[("contexts.jsonl", coming)]).await;
    let current =
        crate::boards::many_rows::object_of(&text.world, "datasets", &format!("{BENCHMARK}/current.json"))
            .await;
    let current: Value = serde_json::from_slice(&current).unwrap();
    let dataset = current["boards"].as_object().unwrap().values().next().unwrap();
    text.rules(|_| ()).await;
    let reading = Reading::new(text.world).await;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let contexts = |opens: &str| {
        let rounds = json!([{ "id": "next", "opens": opens, "dataset": dataset }]);
        let document =
            json!({ "schema": 1, "title": "t", "benchmarks": { BENCHMARK: { "rounds": rounds } } });
        let path = reading.world.scratch().join("next.yaml");
        std::fs::write(&path, document.to_string()).unwrap(); // JSON is YAML
        let ran = reading
            .world
            .command(["challenge", "publish", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        reading
            .ask(ANONYMOUS, &format!("{url}/contexts?round=next"))
            .text()
    };
    let before = contexts("2999-01-01");
    assert!(
        before.contains("The door") && !before.contains("nobody"),
        "{before}"
    );
    assert!(contexts("2026-01-01").contains("nobody"));
    let unknown = reading
        .ask(ANONYMOUS, &format!("{url}/contexts?round=nex"))
        .text();
    assert!(
        unknown.contains("unknown_round") && !unknown.contains("The door"),
        "{unknown}"
    );
}

/// Knowing an example's id does not lead to a step of its score, and so not to its author.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_score_step_does_not_reveal_the_author() {
    let text = Text::new().await;
    let receipt = text.submit("ada", "one", &[fooling(1)]).await;
    let id = example(&receipt.verdict.lines[0]);
    let table = text.world.leaderboards();
    let mut n_steps = 0;
    for entry in table.history(BENCHMARK, "ada", 9).await.unwrap() {
        let submission = table.submission(BENCHMARK, &entry.id).await.unwrap().unwrap();
        if entry.board.leaderboard != "sentiment" {
            continue;
        }
        n_steps += 1;
        let key = &submission.upload.key;
        assert!(key.contains(&id), "{key}");
        assert_ne!(entry.id, dataperf::SubmissionId::derive("scores", key, ""));
        let artifact = submission.receipt.unwrap().verdict.artifact.unwrap();
        assert_ne!(artifact, dataperf::Digest::compute(id.as_bytes()));
    }
    assert_eq!(n_steps, 1);
}

/// A rater is given what waits behind a thousand examples of a task that it did not ask for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_continues_behind_a_thousand_other_examples() {
    let text = Text::new().await;
    let table = text.world.leaderboards();
    let place = |n: usize| {
        let mut place =
            dataperf_aws::Key::new(format!("{BENCHMARK}#unjudged"), format!("2000-01-01#{n:04}")).item();
        for (name, value) in [("example", format!("{n:032x}")), ("task", "nli".to_owned())] {
            place.insert(name.into(), dataperf_aws::text(value));
        }
        (dataperf_aws::Step::Named("place"), table.put(place, None))
    };
    for some in (0..1_001).collect::<Vec<usize>>().chunks(100) {
        let wrote = table.transact(some.iter().copied().map(place).collect()).await;
        assert!(wrote.is_ok());
    }
    text.world.name_rater::<Examples>("bo").await;
    let receipt = text.submit("ada", "one", &[fooling(1)]).await;
    let id = example(&receipt.verdict.lines[0]);
    let reading = Reading::new(text.world).await;
    let request = format!("/api/v1/benchmarks/{BENCHMARK}/validation/next?task=sentiment");
    let next = reading.ask(BO, &request).json();
    assert_eq!(next["item"]["example"], json!(id), "{next}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rater_is_not_shown_its_own() {
    let text = Text::new().await;
    for name in ["ada", "bo"] {
        text.world.name_rater::<Examples>(name).await;
    }
    text.submit("ada", "one", &[fooling(1)]).await;
    let reading = Reading::new(text.world).await;
    let next = format!("/api/v1/benchmarks/{BENCHMARK}/validation/next");
    assert_eq!(reading.ask(ADA, &next).json()["item"], Value::Null);
    assert!(reading.ask(BO, &next).json()["item"].is_object());
}

/// Nobody is shown hate speech who has not agreed to see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hate_speech_is_shown_with_consent_only() {
    let text = Text::with(
        |_| (),
        |rules| {
            rules["tasks"]["hate-speech"] = json!({ "targets": ["r1"] });
            rules["validation"] = json!({ "share_of_others": 1.0 });
        },
    )
    .await;
    // the tests' model knows nothing of this task, which is the organizer's mistake: it ends, and nobody is shown anything
    let hateful = json!({ "task": "hate-speech", "text": own(1), "label": "not-hateful" });
    let receipt = text.submit("ada", "one", &[fooling(1), hateful]).await;
    assert_eq!(line_code(&receipt.verdict.lines[1]), "no_answer");

    let notes = text.world.scratch().join("notes");
    let mut place = dataperf_aws::Key::new(
        format!("{BENCHMARK}#unjudged"),
        "2000-01-01T00:00:00.000Z#0123456789abcdef0123456789abcdef",
    )
    .item();
    for (name, value) in [
        ("example", "0123456789abcdef0123456789abcdef"),
        ("task", "hate-speech"),
        ("text", "what may hurt"),
        ("round", "open"),
    ] {
        place.insert(name.into(), dataperf_aws::text(value));
    }
    place.insert("schema".into(), dataperf_aws::count(1));
    let table = text.world.leaderboards();
    let put = table.put(place, None);
    let wrote = table
        .transact(vec![(dataperf_aws::Step::Named("place"), put)])
        .await;
    assert!(wrote.is_ok());
    let notes = notes.to_str().unwrap();
    let next = ["dynamic", "next", "--rater", RATERS[0], "--notes", notes];
    let refused = text.world.command(next);
    assert!(
        refused.code != 0 && !refused.stdout.contains("what may hurt"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("--consent"), "{refused:?}");
    let shown = text.world.command([&next[..], &["--consent"]].concat());
    assert_eq!(shown.json()["text"], "what may hurt");
    let again = text.world.command(next);
    assert_eq!(again.json()["text"], "what may hurt", "consent is asked for once");
    let skip = ["--skip", "0123456789abcdef0123456789abcdef"];
    let other = text.world.command([&next[..], &skip].concat());
    assert_eq!(other.json()["task"], "sentiment", "a way out: {other:?}");
}
