//! Hostile programs of every kind among honest ones: each honest one is scored as usual, each
//! hostile one ends with its code.

use dataperf::Ending;
use dataperf::programs::rounded;
use serde_json::json;

use super::attacks::hostile;
use super::{closed_round, offline, program, with_programs};
use crate::challenges::publish;
use crate::datasets::finals::staged;
use crate::faults::attackers::{beside_each_other, ended, n_of_each};
use crate::people::organizer_mistakes::digest;
use crate::support::project::{BENCHMARK, frozen};
use crate::support::world::World;

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
async fn honest_programs_run_despite_endless_and_greedy_ones() {
    let world = World::with(|config| {
        with_programs(config);
        for function in &mut config.functions {
            function.concurrency = 8; // as many as there are clients: on AWS nobody waits for another's program
        }
    })
    .await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({ "max_fuel": MAX_FUEL }));
    round[0]["daily_limit"] = json!(100_000);
    round[0]["programs"]["daily_failures"] = json!(100_000);
    assert_eq!(publish(&world, &round).code, 0);
    let path = program("speech_selection-c");
    let score = offline(&path, &directory)["score"].as_f64().unwrap();
    let (honest, expected) = (std::fs::read(path).unwrap(), rounded(score, 312));
    let run = async |who: String, bytes: &[u8]| {
        let sent = world
            .put(&format!("{BENCHMARK}/en-25/{who}/selector.wasm"), bytes)
            .await;
        ended(&world, BENCHMARK, &sent).await
    };
    let good = async |n: usize| {
        let receipt = run(format!("honest-{n}"), &honest).await;
        let verdict = &receipt.verdict;
        assert_eq!(
            (verdict.status, verdict.score),
            (Ending::Scored, Some(expected)),
            "{receipt:?}"
        );
        receipt
    };
    let attacks = attacks();
    let bad = async |n: usize| {
        let (bytes, code) = &attacks[n % attacks.len()];
        let verdict = run(format!("mallory-{n}"), bytes).await.verdict;
        let actual = verdict.reasons[0].code.as_str();
        assert_eq!((verdict.status, actual), (Ending::Rejected, *code), "{verdict:?}");
    };
    let n = n_of_each();
    beside_each_other("programs", (n.min(50) * HONEST, good), (n * attacks.len(), bad)).await;
    world.settle().await;
    assert!(world.cloud.on_failure().await.unwrap().is_empty());
}
