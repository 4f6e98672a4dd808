//! Bad lines and files among honest requests: each honest one gets its images, no hostile one makes
//! any, and none fails.

use dataperf::Ending;
use serde_json::json;

use super::{BENCHMARK, Nibbler, images, status};
use crate::faults::attackers::{bad_lines, beside_each_other, ended, n_of_each, nothing_was_taken};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_submitters_get_images_despite_bad_lines() {
    let nibbler = Nibbler::new().await;
    let mut attacks = bad_lines(&json!({ "prompt": "a lake" }), "prompt");
    let denied = json!({ "prompt": "g0re and more gore" }).to_string();
    attacks.push(("only denied prompts", denied.into()));
    let honest = async |n: usize| {
        let prompt = format!("horse number {n} lying in ketchup");
        let sent = nibbler.ask(&format!("honest-{n}"), "one", &[&prompt]).await;
        let receipt = ended(&nibbler.world, BENCHMARK, &sent).await;
        assert_eq!(status(&receipt), Ending::Accepted, "{receipt:?}");
        assert_eq!(images(&receipt.verdict.lines[0]).len(), 3);
        receipt
    };
    let hostile = async |n: usize| {
        let (kind, bytes) = &attacks[n % attacks.len()];
        let key = format!("{BENCHMARK}/generate/mallory/{n}.jsonl");
        let sent = nibbler.world.put(&key, bytes.clone()).await;
        nothing_was_taken(kind, &ended(&nibbler.world, BENCHMARK, &sent).await.verdict);
    };
    let n = n_of_each() * attacks.len();
    let n_honest = beside_each_other(BENCHMARK, (n.min(500), honest), (n, hostile)).await;
    nibbler.world.settle().await;
    assert_eq!(nibbler.n_taken("mallory").await, 0, "no set was taken");
    assert_eq!(
        nibbler.world.images.n_requests() as usize,
        n_honest,
        "and none was asked for"
    );
    assert!(nibbler.world.cloud.on_failure().await.unwrap().is_empty());
}
