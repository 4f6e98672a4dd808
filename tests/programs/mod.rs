//! Rounds of the closed division end to end: programs are run by a function of their own on data that nobody has seen.

mod attackers;
mod attacks;
mod channels;
mod python;
mod rights;
mod storm;
mod tasks;
mod text_models;

use std::path::{Path, PathBuf};

use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::programs::{Layer, Output, ProgramRequest, Programs, rounded};
use dataperf::replicates::Replicates;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Descriptor, Digest, Ending, NoIntervals, Receipt};
use dataperf_aws::Addresses;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_local::{Config, FunctionSpec, Moment, Storm, Trigger};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::challenges::{publish, receipt};
use crate::datasets::finals::staged;
use crate::people::organizer_mistakes::{copy, digest};
use crate::read_api::{ANONYMOUS, ORGANIZER, Reading};
use crate::support::project::{self, BENCHMARK, dataperf, frozen, root};
use crate::support::world::{Sent, World, as_deployed, codes, deployed};

/// The function that runs programs.
const CLOSED: &str = "closed";

fn program(name: &str) -> PathBuf {
    root().join(format!("examples/closed/{name}.wasm"))
}

/// All functions with the rights that they have when they are deployed.
fn with_programs(config: &mut Config) {
    as_deployed(config);
    let runner = FunctionSpec {
        name: CLOSED.into(),
        binary: crate::support::project::binary(CLOSED),
        trigger: Trigger::default(),
        policy: Some(deployed(CLOSED)),
        ..config.functions[0].clone()
    };
    config.functions.push(runner);
}

/// As [`with_programs`], with a process for each of many verdicts that are held at the same time.
fn with_room_for_held_verdicts(config: &mut Config) {
    with_programs(config);
    config.functions[0].concurrency = 8;
}

fn closed_round(public: Digest, hidden: Digest, programs: &Value) -> Value {
    let mut programs = programs.clone();
    programs["public"] = json!(public);
    json!([{
        "id": "closed", "opens": "2026-03-01T00:00:00Z", "closes": "2999-01-01T00:00:00Z", "division": "closed",
        "dataset": hidden, "programs": programs, "daily_limit": 3,
    }])
}

async fn send(world: &World, submitter: &str, bytes: impl Into<Vec<u8>>) -> Sent {
    let key = format!("{BENCHMARK}/en-25/{submitter}/selector.wasm");
    world.put(&key, bytes).await
}

async fn upload(world: &World, submitter: &str, bytes: impl Into<Vec<u8>>) -> Sent {
    let sent = send(world, submitter, bytes).await;
    world.settle().await;
    sent
}

/// The output of `dataperf closed run` for a program on a data set.
fn offline(program: &Path, dataset: &Path) -> Value {
    let ran = project::ran_as_json([
        "closed".as_ref(),
        "run".as_ref(),
        program.as_os_str(),
        "--leaderboard".as_ref(),
        "en-25".as_ref(),
        "--dataset".as_ref(),
        dataset.as_os_str(),
    ]);
    ran.json()
}

async fn output_object(world: &World, sent: &Sent) -> Got {
    let key = Output::key(BENCHMARK, &sent.id());
    let submissions = world.bucket("submissions");
    submissions.get(&key, None, 1 << 24).await.unwrap()
}

async fn output(world: &World, sent: &Sent) -> Option<Output> {
    match output_object(world, sent).await {
        Got::Object(object) => Some(serde_json::from_slice(&object.bytes).unwrap()),
        _ => None,
    }
}

/// Only the score and codes reveal anything that follows from the hidden data.
fn tells_little(receipt: &Receipt, stored: &Value) {
    let verdict = &receipt.verdict;
    assert!(
        verdict.metrics.is_empty() && verdict.artifact.is_none(),
        "{receipt:?}"
    );
    assert!(
        stored.get("metrics").is_none() && stored.get("artifact").is_none(),
        "{stored}"
    );
    // everything is shown about the run on public data
    let mut of_hidden = stored.clone();
    assert!(
        of_hidden.as_object_mut().unwrap().remove("public_run").is_some(),
        "{stored}"
    );
    assert!(!of_hidden.to_string().contains("\"fuel\""), "{stored}");
    // and not before a second is over, however early it has ended
    assert!(
        receipt.finished_at.unix_millis() - receipt.received_at.unix_millis() >= 1000,
        "{receipt:?}"
    );
    for reason in &verdict.reasons {
        assert_eq!(
            (reason.at.as_str(), reason.limit, reason.actual),
            ("", None, None),
            "{reason:?}"
        );
        assert!(
            reason.message.starts_with("on the hidden data, so only"),
            "{reason:?}"
        );
    }
}

async fn stored(world: &World, receipt: &Receipt) -> Value {
    serde_json::from_slice(&world.result(&receipt.object_key()).await).unwrap()
}

/// Anybody checks the signature and the program; the score is repeated by running it.
async fn verifies(world: &World, receipt: &Receipt, module: &Path, hidden: &Path) {
    let path = world.scratch().join("receipt.json");
    std::fs::write(&path, stored(world, receipt).await.to_string()).unwrap();
    let keys = crate::uploads::receipts::keys(world, "keys.json");
    let verify = |more: &[&std::ffi::OsStr]| {
        let arguments = ["verify".as_ref(), path.as_os_str(), "--artifact".as_ref()];
        dataperf(arguments.iter().chain(more))
    };
    let (keys, hidden) = (keys.as_os_str(), hidden.as_os_str());
    let ran = verify(&[module.as_os_str(), "--keys".as_ref(), keys]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let other = verify(&[path.as_os_str(), "--keys".as_ref(), keys]);
    assert_eq!(other.code, 1, "{other:?}");
    let recomputed = verify(&[module.as_os_str(), "--dataset".as_ref(), hidden]);
    recomputed.assert_refused("dataperf closed run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_scored_on_hidden_data_as_offline() {
    let world = World::with(with_programs).await;
    let (hidden_directory, hidden) = staged(&world);
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let public = digest(frozen());
    let ran = publish(&world, &closed_round(public, hidden, &json!({})));
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut expected = Vec::new();
    for (submitter, name) in [("ada", "speech_selection-c"), ("bo", "speech_selection-rust")] {
        let module = std::fs::read(program(name)).unwrap();
        let sent = upload(&world, submitter, module.clone()).await;
        let receipt = receipt(&world, &sent).await;
        let alone = offline(&program(name), &hidden_directory);
        let score = rounded(alone["score"].as_f64().unwrap(), 312);
        assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
        assert_eq!(receipt.verdict.score, Some(score), "{alone}");
        assert_eq!(receipt.verdict.dataset, Some(hidden));
        let shown = receipt.verdict.program.as_ref().unwrap();
        assert_eq!(shown.module, Digest::compute(&module));
        assert!(shown.layers.contains(&Layer::SystemCallFilter), "{shown:?}");
        assert!(!shown.layers.contains(&Layer::MicroVm), "{shown:?}");
        assert_eq!(alone["run"]["engine"], json!(shown.engine));
        let on_public = offline(&program(name), frozen());
        let shown = receipt.verdict.public_run.as_ref().unwrap();
        assert_eq!(json!(shown.fuel), on_public["run"]["fuel"]);
        assert_eq!(json!(shown.output), on_public["run"]["output"]);
        assert!(
            shown.log.ends_with("of the others\n") && !shown.is_log_cut,
            "{shown:?}"
        );
        tells_little(&receipt, &stored(&world, &receipt).await);
        verifies(&world, &receipt, &program(name), &hidden_directory).await;
        // what a reviewer needs to run it again is the organizer's
        let output = output(&world, &sent).await.unwrap();
        assert_eq!(json!(output.fuel), alone["run"]["fuel"]);
        assert_eq!(json!(output.output), alone["run"]["output"]);
        assert_eq!(
            json!(Digest::compute(output.artifact.unwrap().as_bytes())),
            alone["artifact"]
        );
        // intervals would tell more than the rounded score does
        let key = Replicates::key(BENCHMARK, &receipt.submission);
        let kept = world.bucket("results").get(&key, None, 1 << 24).await.unwrap();
        let Got::Object(kept) = kept else {
            panic!("no replicates")
        };
        let kept = Replicates::from_bytes(&key, &kept.bytes).unwrap();
        assert_eq!(kept.header.missing, Some(NoIntervals::OfProgram));
        expected.push((submitter, score));
    }
    expected.sort_by(|one, other| other.1.total_cmp(&one.1));

    let reading = Reading::new(world).await;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    for who in [ANONYMOUS, ORGANIZER] {
        let page = reading
            .ask(who, &format!("{url}/leaderboards/en-25?round=closed"))
            .json();
        let rows = page["rows"].as_array().unwrap();
        let actual: Vec<(&str, f64)> = rows
            .iter()
            .map(|row| (row["submitter"].as_str().unwrap(), row["score"].as_f64().unwrap()))
            .collect();
        assert_eq!(actual, expected, "{page}");
    }
    let rounds = reading.ask(ANONYMOUS, &url).json()["challenge"]["rounds"].clone();
    assert_eq!(rounds[0]["programs"]["public"], json!(public), "{rounds}");
    // participants get the public data set of the round, never the hidden one
    let page = reading
        .ask(ANONYMOUS, &format!("{url}/leaderboards/en-25?round=closed"))
        .json();
    let kit = reading.ask(ANONYMOUS, &format!("{url}/leaderboards/en-25/kit?round=closed"));
    assert!(page["kit"].as_str().is_some(), "{page}");
    let location = kit.header("location").to_owned();
    assert!(
        location.contains(&dataset_prefix(BENCHMARK, public)),
        "{location}"
    );
    stays_unseen(&reading, public, hidden, &hidden_directory);
}

/// No document and no command gives participants the data that programs meet unseen.
fn stays_unseen(reading: &Reading, public: Digest, hidden: Digest, directory: &Path) {
    let world = &reading.world;
    let document = world.scratch().join("again.yaml");
    let shown = world.command(["challenge", "show", BENCHMARK, "--format", "yaml"]);
    std::fs::write(&document, &shown.stdout).unwrap();
    world.ran(["challenge", "publish", document.to_str().unwrap()]);
    let again = world.command(["challenge", "show", BENCHMARK, "--format", "yaml"]);
    assert_eq!(shown.stdout, again.stdout, "what is shown is what was published");
    assert!(shown.stdout.contains(&format!("public: {public}")), "{shown:?}");

    // neither this round nor another one takes artifacts for these data while programs compete on them
    let mut open = closed_round(public, hidden, &json!({}));
    open[0].as_object_mut().unwrap().remove("programs");
    let mut others = open.clone();
    others[0]["id"] = json!("open-to-all");
    for rounds in [open, others] {
        let ran = publish(world, &rounds);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(ran.json()["reasons"][0]["code"], "takes_artifacts");
    }
    let mut at_once = closed_round(public, hidden, &json!({}));
    let mut other = at_once[0].clone();
    other.as_object_mut().unwrap().remove("programs");
    other["id"] = json!("open-to-all");
    other["leaderboards"] = json!(["en-60"]);
    at_once[0]["leaderboards"] = json!(["en-25"]);
    at_once.as_array_mut().unwrap().push(other);
    let ran = publish(world, &at_once);
    assert_eq!(
        (ran.code, &ran.json()["reasons"][0]["code"]),
        (2, &json!("takes_artifacts")),
        "{ran:?}"
    );
    let mut put_off = closed_round(public, hidden, &json!({}));
    put_off[0]["opens"] = json!("2998-01-01");
    assert_eq!(publish(world, &put_off).code, 2, "and a document after that");
    let ran = world.command(["challenge", "remove", BENCHMARK]);
    ran.assert_refused("unseen");
    let ran = world.command(["dataset", "publish", "--replace", directory.to_str().unwrap()]);
    ran.assert_refused("nobody may see before the close");

    // nor does a document without the round lead to their kit
    let next = json!([{ "id": "next", "opens": "2999-01-01" }]);
    assert_eq!(publish(world, &next).code, 0);
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25/kit?round=closed");
    let location = reading.ask(ANONYMOUS, &path).header("location").to_owned();
    assert!(
        location.contains(&dataset_prefix(BENCHMARK, public)),
        "{location}"
    );
    let unknown = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25/kit?round=nobodys");
    assert_eq!(reading.ask(ANONYMOUS, &unknown).status, 404);
}

/// A copy of the demo's data set on which a program needs more fuel than on the demo's own, and how much it needs on both.
fn that_needs_more_fuel(world: &World, program: &Path) -> (PathBuf, u64, u64) {
    let fuel = |directory: &Path| offline(program, directory)["run"]["fuel"].as_u64().unwrap();
    let of_public = fuel(frozen());
    for seed in 1..100 {
        let directory = world.scratch().join(format!("hidden-{seed}"));
        copy(frozen(), &directory);
        let path = directory.join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        manifest["parameters"]["seeds"] = json!([seed]); // another manifest gives the pool in another order
        std::fs::write(&path, format!("{manifest:#}\n")).unwrap();
        let of_hidden = fuel(&directory);
        if of_hidden > of_public {
            return (directory, of_public, of_hidden);
        }
    }
    unreachable!("half of all orders need more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_hidden_run_reveals_one_code() {
    let world = World::with(with_programs).await;
    let selector = program("speech_selection-c");
    let (directory, of_public, of_hidden) = that_needs_more_fuel(&world, &selector);
    world.ran(["dataset", "publish", "--stage", directory.to_str().unwrap()]);
    let max_fuel = json!({ "max_fuel": u64::midpoint(of_public, of_hidden) });
    let ran = publish(
        &world,
        &closed_round(digest(frozen()), digest(&directory), &max_fuel),
    );
    assert_eq!(ran.code, 0, "{ran:?}");

    // on public data everything is shown, and nothing is counted
    for bytes in [
        b"{\"targets\": {}}".to_vec(),
        b"\0asm\x01\0\0\0".to_vec(),
        Vec::new(),
    ] {
        let sent = upload(&world, "ada", bytes).await;
        let receipt = receipt(&world, &sent).await;
        assert_eq!(receipt.verdict.status, Ending::Rejected);
        assert!(receipt.verdict.program.is_none(), "{receipt:?}");
        let message = &receipt.verdict.reasons[0];
        assert!(
            ["invalid_module", "not_a_command"].contains(&message.code.as_str()),
            "{message:?}"
        );
        assert!(!message.message.starts_with("on the hidden data"), "{message:?}");
    }
    let module = std::fs::read(&selector).unwrap();
    // boards that there are not have no limits, and no runs
    let sent = world
        .put(&format!("{BENCHMARK}/en-99/ada/selector.wasm"), module.clone())
        .await;
    world.settle().await;
    let refused = receipt(&world, &sent).await;
    assert_eq!(codes(&refused), ["unknown_leaderboard"], "{refused:?}");
    assert!(refused.verdict.program.is_none(), "{refused:?}");
    // on hidden data the code is shown, and every run counts
    for n in 1..=4 {
        let sent = upload(&world, "ada", module.clone()).await;
        let receipt = receipt(&world, &sent).await;
        if n == 4 {
            assert_eq!(codes(&receipt), ["daily_limit"]);
            assert_eq!(output(&world, &sent).await, None, "it is not even run");
            continue;
        }
        assert_eq!(codes(&receipt), ["out_of_fuel"], "{receipt:?}");
        assert!(receipt.verdict.program.is_some());
        tells_little(&receipt, &stored(&world, &receipt).await);
    }
}

/// A failure on public data costs the organizer a run, and its submitter only a place among the
/// day's failures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_public_failures_delay_a_submitter() {
    let world = World::with(with_programs).await;
    let (_, hidden) = staged(&world);
    let round = closed_round(digest(frozen()), hidden, &json!({ "daily_failures": 2 }));
    assert_eq!(publish(&world, &round).code, 0);
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let faulty = b"\0asm\x01\0\0\0";
    for bytes in [faulty.to_vec(), module.clone(), faulty.to_vec()] {
        let sent = upload(&world, "ada", bytes.clone()).await;
        let receipt = receipt(&world, &sent).await;
        assert_eq!(
            receipt.verdict.status == Ending::Scored,
            bytes == module,
            "{receipt:?}"
        );
    }
    for bytes in [faulty.to_vec(), module.clone()] {
        let sent = upload(&world, "ada", bytes).await;
        let receipt = receipt(&world, &sent).await;
        assert_eq!(codes(&receipt), ["daily_failures"], "{receipt:?}");
        let reason = &receipt.verdict.reasons[0];
        assert_eq!((&reason.limit, &reason.actual), (&Some(2), &Some(2)));
        assert_eq!(output(&world, &sent).await, None, "it is not even run");
    }
    let sent = upload(&world, "bob", module).await;
    let of_another = receipt(&world, &sent).await;
    assert_eq!(of_another.verdict.status, Ending::Scored, "{of_another:?}");
}

/// A world with a round of programs, and Ada's program there, whose run the platform has lost.
async fn with_a_lost_run(daily_limit: u64, programs: &Value) -> (World, Sent) {
    let world = World::with(|config| {
        with_programs(config);
        config.retry_backoff = Vec::new();
    })
    .await;
    let (_, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, programs);
    round[0]["daily_limit"] = json!(daily_limit);
    assert_eq!(publish(&world, &round).code, 0);
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    world.cloud.faults().kill_at_every(CLOSED, 1);
    let lost = upload(&world, "ada", module).await;
    world.cloud.faults().kill_no_more(CLOSED);
    let failed = receipt(&world, &lost).await;
    assert_eq!(failed.verdict.status, Ending::Failed, "{failed:?}");
    (world, lost)
}

/// A lost program may have revealed something about hidden data, so it counts until it is retried,
/// and once then too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_fails_stays_counted() {
    let (world, lost) = with_a_lost_run(1, &json!({})).await;
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let refused = async || {
        let sent = upload(&world, "ada", module.clone()).await;
        let receipt = receipt(&world, &sent).await;
        assert_eq!(codes(&receipt), ["daily_limit"]);
    };
    refused().await;
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    let scored = receipt(&world, &lost).await;
    assert_eq!(scored.verdict.status, Ending::Scored, "{scored:?}");
    refused().await;
}

/// A counted program has been admitted: neither others' failures of the day nor a second delivery
/// undo that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_failures_do_not_exclude_an_admitted_program() {
    let (world, lost) = with_a_lost_run(2, &json!({ "daily_failures": 1 })).await;
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let faulty = upload(&world, "ada", b"\0asm\x01\0\0\0").await;
    assert_eq!(receipt(&world, &faulty).await.verdict.status, Ending::Rejected);
    let refused = upload(&world, "ada", module).await;
    assert_eq!(codes(&receipt(&world, &refused).await), ["daily_failures"]);
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    let scored = receipt(&world, &lost).await;
    assert_eq!(scored.verdict.status, Ending::Scored, "{scored:?}");
}

/// The event that asks for a run of a program, without its addresses, and these.
async fn asked_for(world: &World, sent: &Sent, hidden: Digest) -> (Value, Addresses) {
    let programs = json!({
        "public": digest(frozen()), "max_fuel": Programs::MAX_FUEL, "max_memory_mib": Programs::MAX_MEMORY_MIB,
    });
    let request = ProgramRequest {
        benchmark: BENCHMARK.into(),
        leaderboard: "en-25".into(),
        dataset: hidden,
        programs: serde_json::from_value(programs).unwrap(),
    };
    let mut event = sent.event("2026-06-01T00:00:00.000Z");
    let (submissions, datasets) = (world.bucket("submissions"), world.bucket("datasets"));
    let upload = &dataperf_aws::uploads(&event).unwrap()[0];
    let is_public = Descriptor::for_benchmark::<SpeechSelection>().is_public;
    let addresses = Addresses::of_run(&submissions, &datasets, upload, &request, is_public).await;
    event["program"] = json!(request);
    (event, addresses.unwrap())
}

/// A caller that waits for a run may repeat the request: nothing is run or stored twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluated_program_is_not_run_again() {
    let world = World::with(with_programs).await;
    let (_, hidden) = staged(&world);
    let public = digest(frozen());
    assert_eq!(publish(&world, &closed_round(public, hidden, &json!({}))).code, 0);
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let sent = upload(&world, "ada", module).await;
    assert_eq!(receipt(&world, &sent).await.verdict.status, Ending::Scored);
    let stored_at = async || match output_object(&world, &sent).await {
        Got::Object(object) => object.stored_at.expect("S3 says when"),
        other => panic!("{other:?}"),
    };
    let first = stored_at().await;
    let (mut event, addresses) = asked_for(&world, &sent, hidden).await;
    event[Addresses::EVENT] = addresses.packed().unwrap().into();
    world.cloud.invoke(CLOSED, &event).await.unwrap();
    assert_eq!(stored_at().await, first, "a run takes a second at least");
}

/// Whatever is killed, the program's upload ends once, with one score. Each verdict is held for a while, so several clouds share the moments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_function_scores_a_program_once() {
    const N_CLOUDS: usize = 6;
    let ended = join_all((0..N_CLOUDS).map(|cloud| kill_at_every(N_CLOUDS, cloud))).await;
    for (place, function) in [CLOSED, BENCHMARK].into_iter().enumerate() {
        let n_killed: usize = ended.iter().map(|(n_killed, _)| n_killed[place]).sum();
        assert!(n_killed >= 2, "{function} writes: {n_killed}");
    }
    let mut scores: Vec<f64> = ended.into_iter().flat_map(|(_, scores)| scores).collect();
    scores.dedup();
    assert_eq!(scores.len(), 1, "one program, one score: {scores:?}");
}

/// Kills both functions at each moment that has its turn in this cloud. Gives how often each was killed, and the scores.
async fn kill_at_every(n_clouds: usize, cloud: usize) -> ([usize; 2], Vec<f64>) {
    let world = World::with(|config| {
        with_programs(config);
        config.idle_timeout = std::time::Duration::ZERO;
        for function in &mut config.functions {
            function.concurrency = 1;
        }
    })
    .await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({}));
    round[0]["daily_limit"] = json!(1000);
    assert_eq!(publish(&world, &round).code, 0);
    let module = channels::small(&world, &directory, 0);
    let (mut scores, mut n_killed) = (Vec::new(), [0; 2]);
    for (place, function) in [CLOSED, BENCHMARK].into_iter().enumerate() {
        // an invoked function may run between two writes, so a kill before a write differs from one after the preceding write
        let moments = (1..).flat_map(|n| [Moment::BeforeWrite(n), Moment::AfterWrite(n)]);
        for moment in moments.skip(cloud).step_by(n_clouds) {
            world.cloud.faults().kill_at(function, moment);
            let sent = upload(&world, "ada", module.clone()).await;
            let is_over = world.cloud.faults().kill_no_more(function);
            let receipt = receipt(&world, &sent).await;
            scores.push(receipt.verdict.score.expect("it is scored"));
            if is_over {
                break;
            }
            n_killed[place] += 1;
        }
    }
    let board = crate::datasets::finals::board("closed");
    let series = world.leaderboards().series(&board).await.unwrap();
    let mut ids: Vec<&str> = series.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), series.len(), "each counts once");
    (n_killed, scores)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_with_programs_reports_missing_settings() {
    let world = World::new().await;
    let public = digest(frozen());
    let (_, hidden) = staged(&world);
    let mut round = closed_round(public, public, &json!({ "max_fuel": Programs::MOST_FUEL + 1 }));
    round[0]["division"] = json!("open");
    round[0]["final"] = json!(hidden);
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 2, "{ran:?}");
    let output = ran.stdout.clone() + &ran.stderr;
    for code in ["not_closed", "not_hidden", "not_with_programs", "bad_limit"] {
        assert!(output.contains(code), "{code}: {output}");
    }
    let mut round = closed_round(public, hidden, &json!({}));
    round[0].as_object_mut().unwrap().remove("programs");
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(ran.json()["reasons"][0]["code"], "takes_artifacts", "{ran:?}");
    // and what a program may use is at most what all may
    let more = json!({ "max_module_kib": 4097, "max_output_kib": 1 << 20, "python": "yes" });
    let ran = publish(&world, &closed_round(public, hidden, &more));
    let output = ran.stdout.clone() + &ran.stderr;
    for at in [
        "programs/max_module_kib",
        "programs/max_output_kib",
        "programs/python",
    ] {
        assert!(ran.code == 2 && output.contains(at), "{at}: {output}");
    }
}

/// A round may demand more than a machine has. That is no fault of who submits, and a machine that has it runs the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_without_demanded_layers_runs_nothing() {
    let mut world = World::with(|config| {
        with_programs(config);
        config.retry_backoff = Vec::new();
    })
    .await;
    let (_, hidden) = staged(&world);
    let public = digest(frozen());
    let wrong = closed_round(public, hidden, &json!({ "layers": ["micro_vm", "moat"] }));
    let ran = publish(&world, &wrong);
    assert_eq!(
        (ran.code, &ran.json()["reasons"][0]["code"]),
        (2, &json!("unknown_layer")),
        "{ran:?}"
    );
    let round = closed_round(public, hidden, &json!({ "layers": ["micro_vm"] }));
    assert_eq!(publish(&world, &round).code, 0);
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let sent = upload(&world, "ada", module).await;
    let failed = receipt(&world, &sent).await;
    assert_eq!(failed.verdict.status, Ending::Failed, "{failed:?}");
    assert_eq!(codes(&failed), ["organizer_fault"]);
    let records = world.cloud.on_failure().await.unwrap();
    assert!(
        format!("{records:?}").contains("micro_vm"),
        "it says what is missing: {records:?}"
    );

    world
        .change(|config| {
            let closed = config
                .functions
                .iter_mut()
                .find(|function| function.name == CLOSED)
                .unwrap();
            closed
                .environment
                .insert("DATAPERF_MICRO_VM".into(), "true".into());
        })
        .await;
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    let scored = receipt(&world, &sent).await;
    let shown = scored.verdict.program.as_ref().expect("it was run");
    assert!(shown.layers.contains(&Layer::MicroVm), "{shown:?}");
}

/// The signed addresses of a run may have expired when its turn comes: then it is requested again,
/// and counts as nobody's failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_expired_addresses_is_requested_again() {
    let world = World::with(|config| {
        with_programs(config);
        config.retry_backoff = Vec::new();
    })
    .await;
    let (_, hidden) = staged(&world);
    let round = closed_round(digest(frozen()), hidden, &json!({}));
    assert_eq!(publish(&world, &round).code, 0);
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    // its event is lost, and of the run there are addresses that credentials have signed which no longer hold
    world.cloud.faults().storm(Some(Storm {
        events_dropped: 1000,
        ..Storm::default()
    }));
    let sent = upload(&world, "ada", module).await;
    world.cloud.faults().storm(None);
    let (mut event, addresses) = asked_for(&world, &sent, hidden).await;
    let signed = serde_json::to_string(&addresses).unwrap();
    let gone = signed.replace("X-Amz-Credential=local%2F", "X-Amz-Credential=gone%2F");
    assert_ne!(signed, gone);
    let gone: Addresses = serde_json::from_str(&gone).unwrap();
    event[Addresses::EVENT] = gone.packed().unwrap().into();
    world.cloud.invoke(CLOSED, &event).await.unwrap();
    world.settle().await;
    assert_eq!(receipt(&world, &sent).await.verdict.status, Ending::Scored);
}

/// The command asks the function what holds programs, and shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_probe_names_each_layer_that_holds() {
    let world = World::with(with_programs).await;
    let probe = world.ran(["closed", "probe"]).json();
    assert_eq!(probe["runs"], true);
    let here = dataperf(["closed", "probe", "--here"]);
    assert!(
        here.code == 0 && here.stdout.contains("system_call_filter"),
        "{here:?}"
    );
    for layer in ["system_call_filter", "kernel_limits", "hidden_memory"] {
        assert!(
            probe["layers"].as_array().unwrap().contains(&json!(layer)),
            "{probe}"
        );
    }
    let without = World::new().await;
    let nobody = without.command(["closed", "probe"]);
    nobody.assert_refused("`Programs`");
}
