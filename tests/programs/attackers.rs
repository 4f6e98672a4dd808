//! Hostile programs of every kind beside honest ones: each honest one is scored as it is alone, each hostile one ends with its code.

use std::io::Write as _;

use dataperf::Ending;
use dataperf::ports::leaderboard::Leaderboards as _;
use dataperf::programs::rounded;
use serde_json::json;

use super::attacks::hostile;
use super::{closed_round, offline, program, with_programs};
use crate::attackers::{median_and_worst, n_of_each};
use crate::challenges::publish;
use crate::finals::staged;
use crate::organizer::digest;
use crate::project::{BENCHMARK, frozen};
use crate::world::World;

/// Fuel with which the example ends and an endless program ends soon.
const MAX_FUEL: u64 = 200_000_000;
/// Honest uploads for each of `DATAPERF_ATTACKERS`.
const HONEST: usize = 3;

/// Programs of every kind, and the code with which each ends. What takes two gigabytes to compile is left out: two of them at once are all the memory
/// that some machines have, and `attacks.rs` uploads one.
fn attacks() -> Vec<(Vec<u8>, &'static str)> {
    let kinds = hostile::kinds().into_iter();
    let mut attacks: Vec<_> = kinds
        // what prints the pool writes no document
        .map(|hostile| (hostile.module, hostile.code.unwrap_or("not_json")))
        .filter(|(_, code)| *code != "compile_limit")
        .collect();
    let takes_all =
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable";
    let text = format!(r#"(module (memory (export "memory") 1) (func (export "_start") {takes_all}))"#);
    attacks.push((wat::parse_str(text).unwrap(), "out_of_memory"));
    attacks.push((b"\0asm\x01\0\0\0".to_vec(), "not_a_command"));
    attacks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_honest_are_run_beside_endless_and_greedy_programs() {
    let world = World::with(|config| {
        with_programs(config);
        for function in &mut config.functions {
            function.concurrency = 2;
        }
    })
    .await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({ "max_fuel": MAX_FUEL }));
    round[0]["daily_limit"] = json!(100_000);
    assert_eq!(publish(&world, &round).code, 0);
    let path = program("speech_selection-c");
    let score = offline(&path, &directory)["score"].as_f64().unwrap();
    let (honest, expected) = (std::fs::read(path).unwrap(), rounded(score, 312));
    let put = async |who: String, bytes: Vec<u8>| {
        let key = format!("{BENCHMARK}/en-25/{who}/selector.wasm");
        world.put(&key, bytes).await
    };
    let attacks = attacks();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for n in 0..n_of_each() * attacks.len() {
        let (bytes, code) = &attacks[n % attacks.len()];
        // spread over the hostile ones
        if good.len() * attacks.len() <= n * HONEST {
            good.push(put(format!("honest-{n}"), honest.clone()).await);
        }
        bad.push((*code, put(format!("mallory-{n}"), bytes.clone()).await));
    }
    world.settle().await;
    let receipt = async |sent: &crate::world::Sent| {
        let known = world.leaderboards().submission(BENCHMARK, &sent.id()).await;
        known.unwrap().unwrap().receipt.unwrap()
    };
    let mut seconds = Vec::new();
    for sent in &good {
        let receipt = receipt(sent).await;
        assert_eq!(
            (receipt.verdict.status, receipt.verdict.score),
            (Ending::Scored, Some(expected)),
            "{receipt:?}"
        );
        seconds.push((receipt.finished_at.unix_millis() - receipt.received_at.unix_millis()) as f64 / 1e3);
    }
    for (code, sent) in &bad {
        let verdict = receipt(sent).await.verdict;
        let found = verdict.reasons[0].code.as_str();
        assert_eq!((verdict.status, found), (Ending::Rejected, *code), "{verdict:?}");
    }
    let (median, worst) = median_and_worst(seconds);
    // Not captured by the test harness: for docs/performance.md.
    let _ = writeln!(
        std::io::stderr(),
        "{} honest programs beside {} hostile ones: {median:.2} s, 99 of 100 {worst:.2} s",
        good.len(),
        bad.len()
    );
    assert!(world.cloud.on_failure().await.unwrap().is_empty());
}
