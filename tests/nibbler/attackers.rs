//! Bad lines and files beside honest requests: each honest one gets its images, no hostile one makes any, and none fails.

use dataperf::Ending;
use serde_json::json;

use super::{BENCHMARK, Nibbler, images, status};
use crate::attackers::n_of_each;

/// Files that make no image, by what is wrong with them.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let prompt = |text: &str| json!({ "prompt": text }).to_string();
    let lines = |line: String, n: usize| vec![line; n].join("\n").into_bytes();
    vec![
        ("no JSON", b"{\n}\n]".to_vec()),
        ("no text", vec![0xff, 0xfe, 0, 1, 2]),
        ("deep", lines("[".repeat(100_000), 2)),
        ("very many lines", lines(prompt("a lake"), 20_000)),
        ("one very long line", prompt(&"x".repeat(4 << 20)).into_bytes()),
        ("only denied prompts", lines(prompt("g0re and more gore"), 3)),
        (
            "control characters",
            lines(prompt("\u{0}\u{1}\u{202e}\u{fffe}"), 3),
        ),
        (
            "members twice",
            b"{\"prompt\": \"a\", \"prompt\": \"b\"}".to_vec(),
        ),
        (
            "other types",
            b"{\"prompt\": [1, 2]}\n{\"prompt\": null}\n7\n\"text\"".to_vec(),
        ),
        (
            "unknown members",
            b"{\"prompt\": \"a lake\", \"images\": 1000000}".to_vec(),
        ),
        ("nothing", Vec::new()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_honest_get_their_images_beside_bad_lines() {
    let nibbler = Nibbler::new().await;
    let attacks = hostile();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for n in 0..n_of_each() * attacks.len() {
        let (kind, bytes) = &attacks[n % attacks.len()];
        let prompt = format!("horse number {n} lying in ketchup");
        good.push(nibbler.ask(&format!("honest-{n}"), "one", &[&prompt]).await);
        let key = format!("{BENCHMARK}/generate/mallory/{n}.jsonl");
        bad.push((*kind, nibbler.world.put(&key, bytes.clone()).await));
    }
    for receipt in nibbler.receipts(&good).await {
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:?}");
        assert_eq!(images(&receipt.verdict.lines[0]).len(), 3);
    }
    for (kind, sent) in &bad {
        let receipt = nibbler.receipt(sent).await;
        let verdict = &receipt.verdict;
        let no_line = verdict.lines.iter().all(|line| line.status == Ending::Rejected);
        let is_refused = verdict.status == Ending::Rejected || verdict.status == Ending::Accepted && no_line;
        assert!(is_refused, "{kind}: {verdict:?}");
    }
    assert_eq!(nibbler.n_taken("mallory").await, 0, "no set was taken");
    assert_eq!(
        nibbler.world.images.n_requests() as usize,
        good.len(),
        "and none was asked for"
    );
    assert!(nibbler.world.cloud.on_failure().await.unwrap().is_empty());
}
