//! Uploads a hostile program of each kind: its author sees one code, and nothing of the pool that
//! it has read.

use serde_json::json;

use super::channels::{N_TOLD_APART, artifact, pool, seen, two_faced};
use super::{closed_round, output, send, upload, with_room_for_held_verdicts};
use crate::challenges::{publish, receipt};
use crate::datasets::finals::staged;
use crate::people::organizer_mistakes::digest;
use crate::read_api::Reading;
use crate::support::project::frozen;
use crate::support::world::{World, codes};

#[path = "../../cli/tests/closed/hostile.rs"]
pub(super) mod hostile;

/// Fuel with which the good part of a program ends, and an endless one ends soon.
const MAX_FUEL: u64 = 200_000_000;

/// Whether a text has two lines of a table one after another, as they are or in a document.
pub(super) fn has_lines_of(text: &str, table: &str) -> bool {
    let lines: Vec<&str> = table.lines().collect();
    let pairs = lines.windows(2).map(|pair| format!("{}\n{}", pair[0], pair[1]));
    pairs.into_iter().any(|pair| {
        let quoted = json!(pair).to_string();
        text.contains(&pair) || text.contains(quoted.trim_matches('"'))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_programs_learn_only_one_code() {
    let world = World::with(with_room_for_held_verdicts).await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(
        digest(frozen()),
        hidden,
        &json!({ "max_fuel": MAX_FUEL, "max_memory_mib": 64 }),
    );
    round[0]["daily_limit"] = json!(1000);
    round[0]["programs"]["daily_failures"] = json!(100_000);
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (public_pool, hidden_pool) = (
        pool(&world, frozen(), "public"),
        pool(&world, &directory, "hidden"),
    );
    assert!(has_lines_of(
        &json!({ "a": hidden_pool[..100] }).to_string(),
        &hidden_pool
    ));

    // those that end on public data, with their code
    let mut expected = Vec::new();
    for hostile in hostile::kinds() {
        let sent = upload(&world, "ada", hostile.module).await;
        // what it prints is no document
        expected.push((hostile.name, sent, hostile.code.unwrap_or("not_json"), false));
    }
    // and those that become hostile on hidden data
    let good = artifact(&public_pool, 0);
    let say = |fd: u32| format!("(call $say (i32.const {fd}) (i32.const 8192) (i32.const {N_TOLD_APART}))");
    let flood = "(loop $again (call $say (i32.const 1) (i32.const 0) (i32.const 65536)) (br $again))";
    for (name, body, code) in [
        (
            "an endless loop",
            "(loop $again (br $again))".to_owned(),
            "out_of_fuel",
        ),
        (
            "a memory hog",
            "(loop $again (drop (memory.grow (i32.const 16))) (br $again))".to_owned(),
            "out_of_memory",
        ),
        ("a flood", flood.to_owned(), "output_too_large"),
        ("one that prints the pool", say(1), "not_json"),
        ("one that logs the pool", say(2), "no_output"),
        ("one that logs the pool and traps", say(2) + "unreachable", "trap"),
        (
            "one that prints the pool and exits",
            say(1) + "(call $exit (i32.const 7))",
            "exit_status",
        ),
    ] {
        let program = two_faced(&public_pool, &good, &[], |_| body.clone());
        let sent = send(&world, "ada", program).await;
        expected.push((name, sent, code, true));
    }
    world.settle().await;

    let reading = Reading::new(world).await;
    for (name, sent, code, is_hidden_run) in &expected {
        let shown = receipt(&reading.world, sent).await;
        assert_eq!(codes(&shown), [*code], "{name}: {shown:?}");
        let kept = output(&reading.world, sent).await.unwrap();
        assert_eq!(kept.is_hidden_run, *is_hidden_run, "{name}");
        if *is_hidden_run {
            let seen = seen(&reading, sent).await;
            assert!(!has_lines_of(&seen, &hidden_pool), "{name}: {seen}");
        }
    }
}
