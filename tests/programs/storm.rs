//! A storm with programs in it: functions are killed, storage and table are in trouble and events go astray while programs are run. Each upload ends
//! once, as it would have on a good day, and each run on hidden data is counted once.

use std::io::Write as _;
use std::time::Duration;

use dataperf::programs::rounded;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Receipt};
use dataperf_local::Storm;
use serde_json::json;

use super::channels::small;
use super::{closed_round, offline, with_programs};
use crate::challenges::publish;
use crate::datasets::finals::staged;
use crate::faults::storms::{n_uploads, without_retries};
use crate::people::organizer_mistakes::digest;
use crate::read_api::{ADA, Reading};
use crate::support::project::{BENCHMARK, frozen};
use crate::support::world::World;

/// Fuel with which an endless program ends soon.
const MAX_FUEL: u64 = 20_000_000;
/// More than are uploaded.
const LIMIT: u64 = 100_000;

/// A program that never ends.
const ENDLESS: &str =
    r#"(module (memory (export "memory") 1) (func (export "_start") (loop $again (br $again))))"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_run_in_a_storm() {
    let world = World::with(|config| {
        with_programs(config);
        for function in &mut config.functions {
            function.concurrency = 2;
        }
        config.retry_backoff = vec![Duration::from_millis(5); 2];
        without_retries(config);
    })
    .await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({ "max_fuel": MAX_FUEL }));
    round[0]["daily_limit"] = json!(LIMIT);
    round[0]["programs"]["daily_failures"] = json!(100_000);
    round[0]["total_limit"] = json!(LIMIT);
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 0, "{ran:?}");
    let good = |n: usize| {
        let (path, module) = (world.scratch().join("good.wasm"), small(&world, &directory, n));
        std::fs::write(&path, &module).unwrap();
        let score = offline(&path, &directory)["score"].as_f64().unwrap();
        (module, Ok(rounded(score, 312)))
    };
    let programs: [(Vec<u8>, Result<f64, &str>); 4] = [
        good(0),
        (wat::parse_str(ENDLESS).unwrap(), Err("out_of_fuel")),
        good(1),
        (b"\0asm\x01\0\0\0".to_vec(), Err("not_a_command")),
    ];
    world.cloud.faults().storm(Some(Storm {
        seed: 17,
        kills_before: 25,
        kills_after: 25,
        s3_unavailable: 30,
        s3_cut: 20,
        table_throttled: 30,
        table_errors: 20,
        table_lost_answers: 30,
        events_dropped: 80,
        events_duplicated: 200,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        ..Storm::default()
    }));
    // a run takes longer than an evaluation
    let n = n_uploads().div_ceil(2);
    let mut sent = Vec::new();
    for n in 0..n {
        let key = format!("{BENCHMARK}/en-25/ada/{n}.wasm");
        sent.push(world.put(&key, programs[n % programs.len()].0.clone()).await);
    }
    world.settle().await;
    world.sweep().await;
    let injected = world.cloud.faults().injected();
    world.cloud.faults().storm(None);
    world.clear(BENCHMARK).await;
    let _ = writeln!(std::io::stderr(), "{n} programs: {injected:?}");
    for kind in ["S3 503", "DynamoDB throttled"] {
        assert!(injected.contains_key(kind), "no fault of {kind}: {injected:?}");
    }
    // of so few events one kind or another may be missing
    let astray = ["event dropped", "event duplicated", "event delayed"];
    assert!(
        astray.iter().any(|kind| injected.contains_key(kind)),
        "{injected:?}"
    );
    let is_killed = |name: &&str| name.starts_with("function killed");
    assert!(injected.keys().any(is_killed), "{injected:?}");
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.clear(BENCHMARK).await;

    let receipts = world.receipts(&sent).await;
    let (mut n_scored, mut n_runs) = (0, 0);
    for (n, sent) in sent.iter().enumerate() {
        let Receipt { verdict, .. } = &receipts[&sent.id()];
        match programs[n % programs.len()].1 {
            Ok(score) => {
                assert_eq!(
                    (verdict.status, verdict.score),
                    (Ending::Scored, Some(score)),
                    "{verdict:?}"
                );
                n_scored += 1;
                n_runs += 1;
            }
            Err(code) => {
                assert_eq!(verdict.status, Ending::Rejected, "{verdict:?}");
                assert_eq!(verdict.reasons[0].code, code);
                // what fails on public data is not run on hidden data
                assert!(verdict.program.is_none(), "{verdict:?}");
            }
        }
    }
    let board = crate::datasets::finals::board("closed");
    let series = world.leaderboards().series(&board).await.unwrap();
    let mut ids: Vec<&str> = series.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(
        (ids.len(), series.len()),
        (n_scored, n_scored),
        "each stands once"
    );
    assert_eq!(n_used_of_the_round(world).await, n_runs, "each counts once");
}

/// The count of the whole round, because a day may end meanwhile.
async fn n_used_of_the_round(world: World) -> u64 {
    let reading = Reading::new(world).await;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/quotas?submitter=ada");
    let quotas = reading.ask(ADA, &path).json();
    let quotas = quotas["leaderboards"].as_array().unwrap();
    let quota = quotas
        .iter()
        .find(|quota| quota["leaderboard"] == "en-25")
        .unwrap();
    quota["round_limit"]["n_used"].as_u64().unwrap()
}
