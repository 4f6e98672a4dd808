//! Receipts are signed, and anybody with the public keys can tell a true one from a changed one, without any data set.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dataperf::closing::receipt_release::ReleaseProgress;
use dataperf::table::maintenance::{Maintenance as _, Withdrawn};
use dataperf::{Ending, Receipt};
use dataperf_local::{Config, Moment, Storm};
use serde_json::{Value, json};

use crate::datasets::finals::finish_round;
use crate::faults::nothing_lost::one_process_a_run;
use crate::faults::storms::without_retries;
use crate::people::organizer_mistakes::other_dataset;
use crate::read_api::{ADA, ANONYMOUS, BO, Reading};
use crate::support::project::{self, BENCHMARK, Ran, dataperf, demo, frozen, good, hosted};
use crate::support::words;
use crate::support::world::{Sent, World, as_deployed, key};

/// A receipt as it is in the results bucket.
async fn object(world: &World, key: &str) -> Value {
    serde_json::from_slice(&world.result(key).await).unwrap()
}

/// Writes a document for the command line; where.
fn file(world: &World, name: &str, document: &Value) -> PathBuf {
    let path = world.scratch().join(name);
    fs::write(&path, document.to_string()).unwrap();
    path
}

/// The published keys, in a file.
pub(crate) fn keys(world: &World, name: &str) -> PathBuf {
    let ran = world.ran(["keys", "show"]);
    file(world, name, &ran.json())
}

/// `dataperf verify` with the keys alone: no data set, no artifact, no cloud.
fn verify(world: &World, receipt: &Value, keys: &Path) -> Ran {
    let path = file(world, "receipt.json", receipt);
    dataperf(words!(
        "--format json verify {} --keys {}",
        path.display(),
        keys.display()
    ))
}

fn assert_genuine(world: &World, receipt: &Value, keys: &Path) {
    let ran = verify(world, receipt, keys);
    let document = ran.json();
    assert_eq!(
        (ran.code, &document["verified"], &document["signature"]),
        (0, &json!(true), &json!("holds")),
        "{ran:?}"
    );
    let fields = document["fields"].as_array().unwrap();
    assert_eq!(fields.len(), receipt.as_object().unwrap().len());
    for field in fields {
        assert_eq!(field["state"], "checked", "{field}");
    }
}

/// A value of the same kind that says something else.
fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(is_it) => json!(!is_it),
        Value::Number(number) if number.is_u64() => json!(number.as_u64().unwrap() + 1),
        Value::Number(number) => json!(number.as_f64().unwrap().next_up()),
        Value::String(text) if text.parse::<dataperf::Timestamp>().is_ok() => {
            json!("2001-01-01T00:00:00.000Z")
        }
        Value::String(text) if text.starts_with("sha256:") => json!(format!("sha256:{}", "0".repeat(64))),
        Value::String(text) if text.len() == 32 => json!("0".repeat(32)),
        Value::String(text) if ["scored", "rejected", "failed"].contains(&text.as_str()) => json!("accepted"),
        Value::String(text) if ["score", "metrics", "full"].contains(&text.as_str()) => {
            json!(if text == "full" { "metrics" } else { "full" })
        }
        Value::String(text) => json!(format!("{text}x")),
        Value::Array(items) => items[1..].into(),
        Value::Object(members) => {
            let (first, value) = members.iter().next().unwrap();
            let mut members = members.clone();
            members.insert(first.clone(), changed(value));
            Value::Object(members)
        }
        Value::Null => panic!("no member of a receipt is null"),
    }
}

fn assert_changes_are_noticed(world: &World, receipt: &Value, keys: &Path) {
    for (name, value) in receipt.as_object().unwrap() {
        let mut other = receipt.clone();
        other[name] = changed(value);
        let ran = verify(world, &other, keys);
        assert_eq!(ran.code, 1, "`{name}` is {}: {ran:?}", other[name]);
    }
    let mut more = receipt.clone();
    more["unheard_of"] = json!(1);
    assert_eq!(verify(world, &more, keys).code, 1);
}

fn configured(config: &mut Config) {
    as_deployed(config);
    config.retry_backoff = vec![Duration::from_millis(20); 2];
}

async fn uploaded(world: &World, n: usize) -> (Sent, Receipt) {
    let sent = world.put(&key("ada", n), good(n)).await;
    let receipt = world.only_receipt_of(&sent).await;
    (sent, receipt)
}

impl World {
    /// Waits until everything has ended, and gives the receipt of one of several uploads as the table has it.
    async fn only_receipt_of(&self, sent: &Sent) -> Receipt {
        self.settle().await;
        self.whole_receipt(sent).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changing_any_field_invalidates_a_signed_receipt() {
    let world = World::without_dataset(configured).await;
    crate::people::organizer_mistakes::put_in_force_without_files(&world).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let keys = keys(&world, "keys.json");

    let (sent, failed) = uploaded(&world, 0).await;
    assert_eq!(failed.verdict.status, Ending::Failed);
    let at = failed.object_key();
    let of_failure = object(&world, &at).await;

    world.publish(frozen());
    assert_eq!(world.command(["redrive", sent.id().as_str()]).code, 0);
    let scored = world.only_receipt_of(&sent).await;
    assert_eq!(scored.verdict.status, Ending::Scored);
    let of_score = object(&world, &at).await;

    let several = demo().join("submissions/en-60/hasty/bad_several_reasons.json");
    let bad = format!("{BENCHMARK}/en-60/hasty/x.json");
    let rejected = world.put(&bad, fs::read(several).unwrap()).await;
    let of_rejection = object(&world, &world.only_receipt_of(&rejected).await.object_key()).await;

    world.replace(&other_dataset(&world));
    world.ran(["rescore", BENCHMARK, "en-25"]);
    let again = world.only_receipt_of(&sent).await;
    assert_eq!(again.revision, 2);
    let of_second = object(&world, &again.object_key()).await;

    for (receipt, status) in [
        (&of_failure, "failed"),
        (&of_score, "scored"),
        (&of_rejection, "rejected"),
        (&of_second, "scored"),
    ] {
        assert_eq!(
            (&receipt["schema"], &receipt["status"]),
            (&json!(2), &json!(status))
        );
        assert_genuine(&world, receipt, &keys);
        assert_changes_are_noticed(&world, receipt, &keys);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_receipts_stay_valid_after_key_rotation() {
    let world = World::with(configured).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let first_keys = keys(&world, "first.json");
    let first = object(&world, &uploaded(&world, 0).await.1.object_key()).await;

    let ran = world.ran(["keys", "rotate"]);
    let all = ran.json();
    assert_eq!(all["keys"].as_array().unwrap().len(), 2);
    assert!(
        all["keys"][0]["valid_until"].is_string() && all["keys"][1]["valid_until"].is_null(),
        "{all}"
    );
    let second = object(&world, &uploaded(&world, 1).await.1.object_key()).await;
    assert_eq!(
        (&first["signature"]["key"], &second["signature"]["key"]),
        (&all["keys"][0]["id"], &all["keys"][1]["id"]),
        "the functions sign with the new key at once"
    );
    let both = keys(&world, "both.json");
    for receipt in [&first, &second] {
        assert_genuine(&world, receipt, &both);
    }
    assert_genuine(&world, &first, &first_keys);
    let unknown = verify(&world, &second, &first_keys);
    assert_eq!(
        (unknown.code, &unknown.json()["signature"]),
        (1, &json!("does not hold")),
        "{unknown:?}"
    );

    let mut swapped = all.clone();
    let public = |n: usize| all["keys"][n]["public_key"].clone();
    (swapped["keys"][0]["public_key"], swapped["keys"][1]["public_key"]) = (public(1), public(0));
    let swapped = file(&world, "swapped.json", &swapped);
    for receipt in [&first, &second] {
        assert_eq!(
            verify(&world, receipt, &swapped).code,
            1,
            "another key under the same id"
        );
    }
    let ran = world.command(["keys", "publish"]);
    assert_eq!(
        (ran.code, ran.json()),
        (0, all),
        "publishing again changes nothing"
    );

    let reading = Reading::new(world).await;
    assert_eq!(
        reading.ask(ANONYMOUS, "/api/v1/keys").json(),
        reading.world.command(["keys", "show"]).json()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_benchmark_with_its_own_key_signs_alone() {
    let world = World::with(configured).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let shared = object(&world, &uploaded(&world, 0).await.1.object_key()).await;
    let ran = world.ran(["keys", "rotate", "--benchmark", BENCHMARK]);
    let all = ran.json();
    assert_eq!(all["keys"][1]["benchmarks"], json!({ BENCHMARK: null }));
    assert!(
        all["keys"][0]["benchmarks"][BENCHMARK].is_string(),
        "until when: {all}"
    );
    assert!(
        all["keys"]
            .as_array()
            .unwrap()
            .iter()
            .all(|key| key["valid_until"].is_null()),
        "the others go on with the shared key: {all}"
    );
    let own = object(&world, &uploaded(&world, 1).await.1.object_key()).await;
    assert_eq!(own["signature"]["key"], all["keys"][1]["id"]);
    let published = keys(&world, "keys.json");
    for receipt in [&shared, &own] {
        assert_genuine(&world, receipt, &published);
    }

    let mut others = all.clone();
    others["keys"][1]["benchmarks"] = json!({ "vision-selection": null });
    let others = file(&world, "others.json", &others);
    let refused = verify(&world, &own, &others);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stdout.contains("signs receipts of vision-selection"),
        "{refused:?}"
    );

    // the role that a benchmark's function has in AWS
    let deployed: Value = serde_json::from_str(
        &fs::read_to_string(crate::support::project::root().join("infra/policies.json")).unwrap(),
    )
    .unwrap();
    let statements = deployed[BENCHMARK]["Statement"].as_array().unwrap();
    let sign = statements
        .iter()
        .find(|statement| statement["Sid"] == "SignReceipts")
        .unwrap();
    assert_eq!(
        sign["Condition"]["StringLike"]["kms:RequestAlias"],
        format!("{}-{BENCHMARK}", crate::support::world::SIGNING_KEY)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submitters_read_the_signed_form_everywhere() {
    let world = World::with(configured).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let round = |closes: &str| json!([{ "id": "spring", "opens": "2026-01-01T00:00:00Z", "closes": closes }]);
    assert_eq!(
        crate::challenges::publish(&world, &round("2999-01-01T00:00:00Z")).code,
        0
    );
    let (_, receipt) = uploaded(&world, 0).await;
    let keys = keys(&world, "keys.json");
    let reduced = object(&world, &receipt.object_key()).await;
    assert_genuine(&world, &reduced, &keys);
    let path = format!(
        "/api/v1/benchmarks/{BENCHMARK}/submissions/{}/receipt",
        receipt.submission
    );
    let reading = Reading::new(world).await;
    assert_eq!(reading.ask(ADA, &path).json(), reduced);
    assert_eq!(reading.ask(BO, &path).status, 403);

    assert_eq!(
        crate::challenges::publish(&reading.world, &round("2026-01-02T00:00:00Z")).code,
        0
    );
    let unreleased = reading.ask(ADA, &path).json();
    assert_eq!(
        (&unreleased["feedback"], unreleased.get("signature")),
        (&json!("full"), None)
    );
    // no command: the function is called at the caretaker's time
    finish_round(&reading.world, "spring").await;
    let whole = object(&reading.world, &receipt.object_key()).await;
    assert_genuine(&reading.world, &whole, &keys);
    assert_changes_are_noticed(&reading.world, &whole, &keys);
    assert_eq!(reading.ask(ADA, &path).json(), whole);
    let ran = reading
        .world
        .command(["challenge", "release", BENCHMARK, "spring"]);
    assert_eq!(
        (ran.code, &ran.json()["receipts"]),
        (0, &json!(0)),
        "it was there: {ran:?}"
    );
}

/// Each round has a valid score and a withdrawn one; each is released by a run that is killed at
/// another of its writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn releasing_killed_at_any_moment() {
    const N_ROUNDS: usize = 16;
    let mut world = World::new().await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let keys = keys(&world, "keys.json");
    let day = |n: usize| format!("2020-{:02}-{:02}T00:00:00Z", 1 + n / 28, 1 + n % 28);
    let rounds = |is_open: bool| {
        let round = |n: usize| json!({ "id": format!("r{n}"), "opens": day(n), "closes": day(n + 1), "preset": "practice" });
        let mut rounds: Vec<Value> = (0..N_ROUNDS).map(round).collect();
        if is_open {
            // while this one may use the same data nothing is shown but scores
            rounds.push(
                json!({ "id": "open-still", "opens": day(N_ROUNDS), "closes": "2999-01-01T00:00:00Z" }),
            );
        }
        json!(rounds)
    };
    assert_eq!(crate::challenges::publish(&world, &rounds(true)).code, 0);
    let (table, at) = (world.leaderboards(), "2020-12-31T00:00:00Z".parse().unwrap());
    let mut sent = Vec::new();
    for n in 0..N_ROUNDS {
        let noon = day(n).replace("T00", "T12");
        let standing = crate::challenges::upload_at(&world, "ada", 0, &noon).await;
        let withdrawn = crate::challenges::upload_at(&world, "bo", 1, &noon).await;
        let direction = hosted(BENCHMARK).direction;
        let done = table
            .withdraw(BENCHMARK, &withdrawn.submission, at, direction, None)
            .await;
        assert!(matches!(done.unwrap(), Withdrawn::Now(_)));
        sent.push([standing, withdrawn]);
    }
    world.change(one_process_a_run).await;
    finish_round(&world, "r0").await;
    let released = async |round: &str| {
        let progress =
            ReleaseProgress::read(&world.bucket("results"), &crate::datasets::finals::board(round)).await;
        progress
            .unwrap()
            .is_some_and(|progress| progress.ended_at.is_some())
    };
    assert!(!released("r0").await, "not while anything is withheld");
    assert_eq!(
        object(&world, &sent[0][0].object_key()).await["feedback"],
        "metrics"
    );

    assert_eq!(crate::challenges::publish(&world, &rounds(false)).code, 0);
    let mut n_killed = 0;
    for moment in Moment::of_writes() {
        assert!(n_killed < N_ROUNDS, "there is a round for each moment");
        let round = format!("r{n_killed}");
        world.cloud.faults().kill_at(BENCHMARK, moment);
        finish_round(&world, &round).await;
        let is_over = world.cloud.faults().kill_no_more(BENCHMARK);
        assert!(released(&round).await, "{round}");
        for receipt in &sent[n_killed] {
            let whole = object(&world, &receipt.object_key()).await;
            assert_eq!(whole["feedback"], "full", "{round}");
            assert!(whole["metrics"]["per_seed"].is_array(), "{whole}");
            if n_killed % 4 == 0 {
                assert_genuine(&world, &whole, &keys);
            }
        }
        if is_over {
            break;
        }
        n_killed += 1;
    }
    assert!(n_killed >= 7, "a run writes: {n_killed}");
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verifying_an_unsigned_receipt_names_unchecked_parts() {
    let world = World::with(configured).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let keys = keys(&world, "keys.json");
    let (sent, receipt) = uploaded(&world, 0).await;
    let mut old = object(&world, &receipt.object_key()).await;
    old.as_object_mut().unwrap().remove("signature");
    old["schema"] = json!(1);
    let ran = verify(&world, &old, &keys);
    assert_eq!(
        (ran.code, &ran.json()["signature"]),
        (1, &json!("none")),
        "{ran:?}"
    );

    let artifact = world.scratch().join("artifact.json");
    fs::write(&artifact, good(0)).unwrap();
    let path = file(&world, "old.json", &old);
    let [path, artifact, dataset] = [&path, &artifact, frozen()].map(|path| path.to_str().unwrap());
    let ran = project::ran(words!(
        "--format json verify {path} --dataset {dataset} --artifact {artifact}"
    ));
    let fields: BTreeMap<String, String> = ran.json()["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            (
                field["field"].as_str().unwrap().into(),
                field["state"].as_str().unwrap().into(),
            )
        })
        .collect();
    let unchecked: Vec<&str> = fields
        .iter()
        .filter(|(_, state)| *state == "not checked")
        .map(|(name, _)| name.as_str())
        .collect();
    let only_signed = [
        "bucket",
        "feedback",
        "finished_at",
        "key",
        "received_at",
        "round",
        "version",
    ];
    assert_eq!(unchecked, only_signed);
    let output = dataperf(["verify", path, "--dataset", dataset, "--artifact", artifact]).stdout;
    assert!(output.contains("schema 1 and not signed"), "{output}");

    // what an attack of the review changed without being noticed
    for (name, value) in [
        ("submitter", json!("bo")),
        ("leaderboard", json!("en-60")),
        ("submission", json!("0".repeat(32))),
        ("unheard_of", json!(1)),
    ] {
        let mut other = old.clone();
        other[name] = value;
        let path = file(&world, "changed.json", &other);
        let ran = dataperf(words!(
            "verify {} --dataset {dataset} --artifact {artifact}",
            path.display()
        ));
        assert_eq!(ran.code, 1, "{name}: {ran:?}");
    }
    for name in ["dataset", "artifact"] {
        let mut less = old.clone();
        less.as_object_mut().unwrap().remove(name);
        let path = file(&world, "changed.json", &less);
        let ran = dataperf(words!(
            "verify {} --dataset {dataset} --artifact {artifact}",
            path.display()
        ));
        assert_eq!(ran.code, 1, "without {name}: {ran:?}");
    }
    // a reader that takes the first of two members would see another score
    let twice = old.to_string().replacen('{', "{\"score\": 1.0, ", 1);
    fs::write(world.scratch().join("twice.json"), twice).unwrap();
    let twice = world.scratch().join("twice.json");
    let ran = dataperf(["verify", twice.to_str().unwrap(), "--artifact", artifact]);
    ran.assert_refused("twice");
    drop(sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_upload_fails_for_good_because_signing_did() {
    let world = World::with(|config| {
        configured(config);
        without_retries(config);
        config.retry_backoff = vec![Duration::from_millis(5); 2];
    })
    .await;
    world.cloud.faults().storm(Some(Storm {
        seed: 3,
        lambda_errors: 400,
        ..Storm::default()
    }));
    let mut sent = Vec::new();
    for n in 0..20 {
        sent.push(world.put(&key("ada", n), good(n % 6)).await);
    }
    world.settle().await;
    assert!(world.cloud.faults().injected().contains_key("Lambda or KMS 500"));
    world.cloud.faults().storm(None);
    world.sweep().await;
    world.all_scored(&sent).await;
}
