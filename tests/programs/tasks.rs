//! Every task that has closed boards, end to end: a program is uploaded, run with the rights that the function has when it is deployed, and scored
//! as the artifact that it writes is offline.

use std::path::{Path, PathBuf};

use dataperf::programs::Output;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Receipt};
use serde_json::{Map, Value, json};

use super::with_programs;
use crate::people::organizer_mistakes::{copy, digest};
use crate::support::project::{Ran, binary, imported_by_id, ran_as_json as ran, root, text};
use crate::support::words;
use crate::support::world::World;

/// A world with the functions of one benchmark and of programs, and the benchmark's demo data set.
pub(super) async fn start(benchmark: &str) -> (World, PathBuf) {
    let world = World::without_dataset(|config| {
        let function = &mut config.functions[0];
        benchmark.clone_into(&mut function.name);
        function.binary = binary(benchmark);
        function.trigger.prefix = format!("{benchmark}/");
        with_programs(config);
    })
    .await;
    (world, imported_by_id(benchmark).to_owned())
}

/// Publishes both data sets and a round between them.
pub(super) fn open_round(world: &World, benchmark: &str, public: &Path, hidden: &Path) {
    world.publish(public);
    let published = publish_round(world, benchmark, public, hidden);
    assert_eq!(published.code, 0, "{published:?}");
}

/// Publishes such a round, whose public data set is published already.
pub(super) fn publish_round(world: &World, benchmark: &str, public: &Path, hidden: &Path) -> Ran {
    world.ran(["dataset", "publish", "--stage", text(hidden)]);
    let round = json!({ "id": "closed", "opens": "2026-03-01T00:00:00Z", "division": "closed", "dataset": digest(hidden),
        "programs": { "public": digest(public) } });
    let document = json!({ "schema": 1, "title": "t", "benchmarks": { benchmark: { "rounds": [round] } } });
    let path = world.scratch().join("challenge.yaml");
    std::fs::write(&path, document.to_string()).unwrap();
    world.command(["challenge", "publish", text(&path)])
}

/// Uploads a program, and holds what came of it against the same run offline.
async fn is_scored_as_offline(
    world: &World,
    (benchmark, board): (&str, &str),
    program: &Path,
    hidden: &Path,
) {
    let key = format!("{benchmark}/{board}/ada/program.wasm");
    let sent = world.put(&key, std::fs::read(program).unwrap()).await;
    world.settle().await;
    let submission = world.leaderboards().submission(benchmark, &sent.id()).await;
    let Receipt { verdict, .. } = submission.unwrap().unwrap().receipt.expect("it has ended");
    assert_eq!(verdict.status, Ending::Scored, "{verdict:?}");
    let offline = ran(["closed", "run", text(program), "-l", board, "-d", text(hidden)]).json();
    let (shown, whole) = (verdict.score.unwrap(), offline["score"].as_f64().unwrap());
    assert!((shown - whole).abs() <= 0.05, "{shown} is {whole}, rounded");
    assert_eq!(verdict.dataset, Some(digest(hidden)));
    assert!(
        verdict.metrics.is_empty() && verdict.program.is_some(),
        "{verdict:?}"
    );
    let got = world.bucket("submissions");
    let output = Output::read(&got, benchmark, &sent.id(), verdict.dataset)
        .await
        .unwrap()
        .unwrap();
    assert!(output.is_hidden_run && output.reasons.is_empty(), "{output:?}");
    assert_eq!(json!(output.fuel), offline["run"]["fuel"]);
    assert_eq!(json!(output.output), offline["run"]["output"]);
}

/// The examples, on two data sets that have no row in common.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_scored_in_own_data_tasks() {
    for (benchmark, board) in [
        ("debugging", "tissue"),
        ("acquisition", "clinics"),
        ("selection", "digits-20"),
    ] {
        let (world, whole) = start(benchmark).await;
        let [public, hidden] = ["public", "hidden"].map(|name| world.scratch().join(name));
        ran(words!(
            "dataset split {} --all-rows --public {} --final {}",
            text(&whole),
            text(&public),
            text(&hidden)
        ));
        open_round(&world, benchmark, &public, &hidden);
        for language in ["c", "rust"] {
            let program = root().join(format!("examples/closed/{benchmark}-{language}.wasm"));
            is_scored_as_offline(&world, (benchmark, board), &program, &hidden).await;
        }
    }
}

/// The rows of a table of `/data`, without its header.
fn rows(data: &Path, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(data.join(name)).unwrap();
    let lines = text.lines().skip(1);
    lines
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

/// An artifact that obeys a benchmark's rules, with the ids of `/data`.
fn artifact(benchmark: &str, data: &Path) -> Value {
    let task: Value = serde_json::from_slice(&std::fs::read(data.join("task.json")).unwrap()).unwrap();
    let names = |key: &str| {
        task[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
    };
    let artifact: Map<String, Value> = match benchmark {
        // some images of each kind, from the beginning
        "vision-selection" => {
            let labels = || (0..40).map(|id| (id.to_string(), json!(id % 2)));
            names("concepts")
                .map(|name| (name, Value::Object(labels().collect())))
                .collect()
        }
        // from the last example to the first
        "vision-debugging" => names("tasks")
            .map(|name| {
                let n = rows(data, &format!("train-{name}.csv")).len();
                (name, json!((0..n).rev().collect::<Vec<_>>()))
            })
            .collect(),
        // one example of each seller, and a tenth of the first one's examples
        _ => names("markets")
            .map(|market| {
                let sellers = rows(data, "sellers.csv")
                    .into_iter()
                    .filter(|row| row[0] == market);
                let counts = sellers.enumerate().map(|(idx, row)| match idx {
                    0 => row[2].parse::<usize>().unwrap() / 2,
                    _ => 1,
                });
                let counts: Vec<usize> = counts.collect();
                (market, json!(counts))
            })
            .collect(),
    };
    Value::Object(artifact)
}

/// A program that writes a text.
pub(super) fn that_says(message: &str) -> Vec<u8> {
    let bytes: Vec<String> = message.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 4)
        (data (i32.const 1024) "{}")
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 1024))
            (i32.store (i32.const 4) (i32.const {}))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#,
        bytes.concat(),
        message.len()
    );
    wat::parse_str(text).unwrap()
}

/// A copy of a data set with another parameter, so that its rows come in another order.
fn reordered(benchmark: &str, whole: &Path, out: &Path) {
    copy(whole, out);
    let path = out.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let (name, value) = match benchmark {
        "vision-selection" => ("max_examples", json!(900)),
        "vision-debugging" => ("target_share", json!(0.94)),
        _ => ("n_trials", json!(9)),
    };
    manifest["parameters"][name] = value;
    std::fs::write(&path, format!("{manifest:#}\n")).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_scored_in_the_papers_tasks() {
    for benchmark in ["vision-selection", "vision-debugging", "data-acquisition"] {
        let (world, public) = start(benchmark).await;
        let [hidden, data, program] =
            ["hidden", "data", "program.wasm"].map(|name| world.scratch().join(name));
        reordered(benchmark, &public, &hidden);
        open_round(&world, benchmark, &public, &hidden);
        ran(words!(
            "closed data -l open -d {} --out {}",
            text(&public),
            text(&data)
        ));
        let message = artifact(benchmark, &data).to_string();
        std::fs::write(&program, that_says(&message)).unwrap();
        is_scored_as_offline(&world, (benchmark, "open"), &program, &hidden).await;
    }
}
