//! Models that compete on the examples of Adversarial Text: programs are uploaded, and what their runs take is a part of their scores.

use std::path::{Path, PathBuf};

use dataperf::board::Board;
use dataperf::programs::{Output, rounded};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Receipt};
use serde_json::{Value, json};

use super::program;
use super::tasks::{open_round, publish_round, start, that_says};
use crate::support::project::{dataperf, ran_as_json as ran, root, text};
use crate::support::words;
use crate::support::world::{Sent, World, codes};

const BENCHMARK: &str = "adversarial-text-models";
/// Examples of the hidden data set.
const N_EXAMPLES: usize = 144;

/// The demo's rounds again, of which everybody may have another part, and the data set of all that is hidden.
async fn contest() -> (World, PathBuf, PathBuf) {
    let (world, hidden) = start(BENCHMARK).await;
    let public = imported(&world, "practice", "part: dev\n");
    (world, public, hidden)
}

/// A data set of the demo's rounds under a title of its own.
fn imported(world: &World, title: &str, terms: &str) -> PathBuf {
    let [from, out] = ["from", "out"].map(|name| world.scratch().join(format!("{title}-{name}")));
    std::fs::create_dir(&from).unwrap();
    let rounds = ["round-1", "round-2", "round-3"].map(|round| {
        let directory = root().join("demo").join(BENCHMARK).join(round);
        format!("  {round}: {}\n", directory.display())
    });
    let document = format!("title: {title}\n{terms}rounds:\n{}", rounds.concat());
    std::fs::write(from.join("models.yaml"), document).unwrap();
    ran(words!(
        "dataset import {BENCHMARK} --from {} --out {}",
        text(&from),
        text(&out)
    ));
    out
}

async fn upload(world: &World, submitter: &str, bytes: Vec<u8>) -> (Sent, Receipt) {
    let key = format!("{BENCHMARK}/models/{submitter}/reader.wasm");
    let sent = world.put(&key, bytes).await;
    world.settle().await;
    let receipt = world.whole_receipt(&sent).await;
    (sent, receipt)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_compete_as_programs_on_all_rounds() {
    let (world, public, hidden) = contest().await;
    // an active data set takes no artifacts, whatever cost they claim
    world.publish(&public);
    let artifact = root().join("demo/adversarial-text-models/submissions/models/ada/overlap.json");
    let (_, refused) = upload(&world, "cleo", std::fs::read(&artifact).unwrap()).await;
    assert_eq!(codes(&refused), ["programs_only"], "{refused:?}");
    let baselines = world.command(["baseline", "submit", "--dataset", text(&public)]);
    baselines.assert_refused("takes programs alone");

    kits_score_where_the_examples_are_for_practice(&world, &public, &hidden);
    open_round(&world, BENCHMARK, &public, &hidden);
    let mut expected = Vec::new();
    for (submitter, name) in [("ada", "text_overlap-rust"), ("bo", "text_constant-rust")] {
        let path = program(name);
        let (sent, receipt) = upload(&world, submitter, std::fs::read(&path).unwrap()).await;
        let verdict = &receipt.verdict;
        assert_eq!(verdict.status, Ending::Scored, "{receipt:?}");
        assert!(verdict.metrics.is_empty(), "{receipt:?}");
        let offline = ran(["closed", "run", text(&path), "-l", "models", "-d", text(&hidden)]).json();
        let whole = offline["score"].as_f64().unwrap();
        assert_eq!(verdict.score, Some(rounded(whole, N_EXAMPLES)), "{offline}");
        // what the run took is in the artifact, and in the score
        let (bucket, id) = (world.bucket("submissions"), sent.id());
        let output = Output::read(&bucket, BENCHMARK, &id, verdict.dataset);
        let output = output.await.unwrap().unwrap();
        let artifact: Value = serde_json::from_str(&output.artifact.unwrap()).unwrap();
        assert_eq!(artifact["measured"]["fuel"], json!(output.fuel));
        let points = offline["metrics"]["points"].as_object().unwrap();
        assert!(points["compute"].as_f64().unwrap() < 0.0 && points["memory"].as_f64().unwrap() < 0.0);
        let sum: f64 = points.values().map(|points| points.as_f64().unwrap()).sum();
        assert!((sum / 100.0 - whole).abs() < 1e-12, "{offline}");
        expected.push((submitter.to_owned(), verdict.score));
    }
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "models".into(),
        round: "closed".into(),
    };
    let rows = world.leaderboards().top(&board, 10).await.unwrap();
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| (row.entry.submitter, row.entry.score))
        .collect();
    assert_eq!(rows, expected, "rules are better than one answer to everything");
    is_compared(&world, &hidden, &expected);

    // no program is run for a board that it has made up, whose name it could read
    let key = format!("{BENCHMARK}/secret-board/mal/reader.wasm");
    let sent = world
        .put(&key, std::fs::read(program("text_overlap-rust")).unwrap())
        .await;
    world.settle().await;
    let refused = world.whole_receipt(&sent).await;
    assert_eq!(codes(&refused), ["unknown_leaderboard"], "{refused:?}");
    assert!(refused.verdict.program.is_none(), "{refused:?}");
    assert!(
        refused.verdict.reasons[0].message.contains("`models`"),
        "{refused:?}"
    );
    is_rescored(&world, &public).await;
}

/// A kit of examples for practice tells of a program what their data set does, and one of hidden examples nothing.
fn kits_score_where_the_examples_are_for_practice(world: &World, public: &Path, hidden: &Path) {
    let path = program("text_overlap-rust");
    let run =
        |dataset: &Path| ran(["closed", "run", text(&path), "-l", "models", "-d", text(dataset)]).json();
    for (dataset, is_for_practice) in [(public, true), (hidden, false)] {
        let kit = world.scratch().join(format!("kit-{is_for_practice}"));
        ran(["dataset", "show", text(dataset), "--public", text(&kit)]);
        let readme = std::fs::read_to_string(kit.join("README.md")).unwrap();
        assert_eq!(
            readme.contains("The right answers are here"),
            is_for_practice,
            "{readme}"
        );
        assert_ne!(
            readme.contains("the right answers are the organizer's"),
            is_for_practice
        );
        let answers = kit.join("public/rounds/round-1.safetensors");
        assert_eq!(answers.exists(), is_for_practice);
        let (of_kit, whole) = (run(&kit), run(dataset));
        assert!(whole["score"].is_number(), "{whole}");
        if is_for_practice {
            assert_eq!(
                (&of_kit["score"], &of_kit["metrics"]),
                (&whole["score"], &whole["metrics"])
            );
        } else {
            assert_eq!(of_kit["status"], "valid", "{of_kit}");
        }
    }
}

/// Programs are run again where the round's data set is another one, however many there are.
async fn is_rescored(world: &World, public: &Path) {
    for submitter in ["cy", "dan", "eve"] {
        let path = program("text_constant-rust");
        let (_, receipt) = upload(world, submitter, std::fs::read(path).unwrap()).await;
        assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
    }
    let corrected = imported(world, "corrected", "part: test\n");
    open_round(world, BENCHMARK, public, &corrected);
    world.ran(["rescore", BENCHMARK, "models", "--round", "closed"]);
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "models".into(),
        round: "closed".into(),
    };
    let rows = world.leaderboards().top(&board, 10).await.unwrap();
    assert_eq!(rows.len(), 5);
    let with = Some(super::digest(&corrected));
    for row in rows {
        let known = world.leaderboards().submission(BENCHMARK, &row.entry.id).await;
        let verdict = known.unwrap().unwrap().receipt.unwrap().verdict;
        assert_eq!((verdict.status, verdict.dataset), (Ending::Scored, with));
    }
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

/// The organizer sees what competitors do not: figures, the front, and Dynabench's score.
fn is_compared(world: &World, hidden: &Path, expected: &[(String, Option<f64>)]) {
    let compare = |round: &str| {
        let cloud = ["dynamic", "board", "--round", round, "--dataset", text(hidden)];
        world.command(cloud)
    };
    let compared = compare("closed");
    assert_eq!(compared.code, 0, "{compared:?}");
    let document = compared.json();
    let models = document["models"].as_array().unwrap();
    let shown: Vec<(String, Option<f64>)> = models
        .iter()
        .map(|model| {
            let score = rounded(model["score"].as_f64().unwrap() / 100.0, N_EXAMPLES);
            (model["name"].as_str().unwrap().to_owned(), Some(score))
        })
        .collect();
    assert_eq!(shown, expected, "the board has these scores, rounded");
    assert!(models.iter().any(|model| model["is_on_front"] == true));
    let leads = models.iter().map(|model| model["leads_under"].as_f64().unwrap());
    assert!((leads.sum::<f64>() - 1.0).abs() < 1e-9, "{document}");
    assert!(document["why_no_intervals"].is_null(), "{document}");
    for model in models {
        let [rank, first, last] = [&model["rank"], &model["ranks"][0], &model["ranks"][1]];
        let [rank, first, last] = [rank, first, last].map(|rank| rank.as_u64().unwrap());
        assert!(first <= rank && rank <= last, "{model}");
        // both are as fair, where Dynabench's score is no number
        assert!(model["dynascore_2021"].is_null(), "{model}");
    }
    assert_eq!(
        document["runs"][0]["outcome"]["rounds"]
            .as_object()
            .unwrap()
            .len(),
        3
    );
    let nobody = compare("another");
    nobody.assert_refused("has no programs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_data_must_differ_and_keep_the_rates() {
    let (world, _, hidden) = contest().await;
    let published = |public: &Path| {
        world.ran(["dataset", "publish", "--stage", text(public)]);
        publish_round(&world, BENCHMARK, public, &hidden)
    };
    let refused = published(&imported(
        &world,
        "cheap-fuel",
        "part: dev\nrates: { fuel: 2.0 }\n",
    ));
    assert_eq!(refused.code, 2, "{refused:?}");
    let output = refused.stdout + &refused.stderr;
    assert!(
        output.contains("other_rules") && output.contains("`rates`"),
        "{output}"
    );
    let warned = published(&imported(&world, "same-texts", "part: test\n"));
    assert_eq!(warned.code, 0, "{warned:?}");
    let output = warned.stdout + &warned.stderr;
    assert!(
        output.contains("same_files") && output.contains("inputs.jsonl"),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_cannot_report_its_own_resources() {
    let (world, public, hidden) = contest().await;
    open_round(&world, BENCHMARK, &public, &hidden);
    let free = json!({ "answers": {}, "measured": { "fuel": 0, "memory_bytes": 0 } });
    let (_, receipt) = upload(&world, "ada", that_says(&free.to_string())).await;
    assert_eq!(codes(&receipt), ["unknown_key"], "{receipt:?}");
    assert_eq!(receipt.verdict.reasons[0].at, "/measured");
    let (_, receipt) = upload(
        &world,
        "ada",
        that_says(r#"{"answers": {"0": {"label": "fine"}}}"#),
    )
    .await;
    assert_eq!(codes(&receipt), ["bad_answer", "missing_answers"], "{receipt:?}");
    // an artifact is no program
    let (_, receipt) = upload(&world, "ada", free.to_string().into_bytes()).await;
    assert_eq!(codes(&receipt), ["invalid_module"], "{receipt:?}");
}

#[test]
fn a_model_round_measures_its_programs() {
    let digest = |name: &str| dataperf::Digest::compute(name.as_bytes());
    let document = json!({ "schema": 1, "title": "t", "benchmarks": { BENCHMARK: {
        "rounds": [
            { "id": "open-to-all", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z" },
            { "id": "python", "opens": "2026-04-01T00:00:00Z", "division": "closed", "dataset": digest("hidden"),
              "programs": { "public": digest("public"), "python": true } },
        ],
    } } });
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), document.to_string()).unwrap();
    let checked = dataperf(["--format", "json", "challenge", "check", text(path.path())]);
    assert_eq!(checked.code, 2, "{checked:?}");
    let shown: Vec<Value> = checked.json()["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| json!([reason["code"], reason["at"]]))
        .collect();
    let at = format!("/benchmarks/{BENCHMARK}/rounds");
    assert_eq!(
        shown,
        [
            json!(["programs_only", format!("{at}/0")]),
            json!(["not_measured", format!("{at}/1/programs/python")])
        ],
        "{checked:?}"
    );
}
