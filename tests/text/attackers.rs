//! Bad lines, files and verdicts among honest examples: each honest example is accepted, nothing
//! hostile is, and none fails.

use dataperf::Ending;
use serde_json::json;

use super::{BENCHMARK, Text, fooling, line, own, status};
use crate::faults::attackers::{bad_lines, beside_each_other, ended, n_of_each, nothing_was_taken};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn examples_are_accepted_despite_bad_lines() {
    let text = Text::new().await;
    let good = line("positive", &own(1 << 40));
    let named = |kind: &'static str| move |(name, bytes): (&'static str, Vec<u8>)| (kind, name, bytes);
    let mut attacks: Vec<_> = bad_lines(&good, "text")
        .into_iter()
        .map(named("submit"))
        .collect();
    let verdict = json!({ "example": "0123456789abcdef0123456789abcdef", "label": "positive" });
    attacks.extend(bad_lines(&verdict, "label").into_iter().map(named("verdict")));
    attacks.extend([
        ("submit", "no such label", line("sad", "x").to_string().into()),
        (
            "submit",
            "no such context",
            json!({ "task": "nli", "context": "c9", "text": "x", "label": "neutral" })
                .to_string()
                .into(),
        ),
        ("verdict", "no such example", verdict.to_string().into()),
    ]);
    let honest = async |n: usize| {
        let sent = text
            .send("submit", &format!("honest-{n}"), "one", &[fooling(n)])
            .await;
        let receipt = ended(&text.world, BENCHMARK, &sent).await;
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:?}");
        let line = &receipt.verdict.lines[0];
        assert_eq!(
            (line.status, &line.details["fooled"]),
            (Ending::Accepted, &json!(true)),
            "{line:?}"
        );
        receipt
    };
    let hostile = async |n: usize| {
        let (kind, name, bytes) = &attacks[n % attacks.len()];
        let key = format!("{BENCHMARK}/{kind}/mallory/{n}.jsonl");
        let sent = text.world.put(&key, bytes.clone()).await;
        nothing_was_taken(name, &ended(&text.world, BENCHMARK, &sent).await.verdict);
    };
    let n = n_of_each() * attacks.len();
    let n_honest = beside_each_other(BENCHMARK, (n.min(500), honest), (n, hostile)).await;
    text.world.settle().await;
    assert_eq!(
        text.items("unjudged").await.len(),
        n_honest,
        "what waits for raters"
    );
    assert_eq!(text.n_taken("mallory", "examples").await, 0);
    assert!(text.world.cloud.on_failure().await.unwrap().is_empty());
}
