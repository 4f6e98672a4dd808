//! Published boards: a signed log that says what the read API shows, and that anybody can verify.

use std::fs;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};

use crate::boards::comparisons::{BOARD, compare, contest, submission};
use crate::boards::many_rows::object_of;
use crate::challenges::publish;
use crate::read_api::{ADA, ANONYMOUS, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, Ran, dataperf};
use crate::support::world::{World, key};
use crate::uploads::receipts::keys;

/// Lets a minute pass for the log of a board.
async fn pass_a_minute(world: &World, round: &str) {
    let earlier = AttributeValue::S("2020-01-01T00:00:00.000Z".into());
    for (partition, attribute) in [("log", "published_at"), ("projections", "logged_at")] {
        let update = world.clients.dynamodb.update_item().table_name("dataperf");
        let update = update
            .key("pk", AttributeValue::S(format!("{BENCHMARK}#{partition}")))
            .key("sk", AttributeValue::S(format!("en-25#{round}")))
            .update_expression(format!("SET {attribute} = :earlier"))
            .expression_attribute_values(":earlier", earlier.clone());
        update.send().await.unwrap();
    }
}

fn document(reading: &Reading, rest: &str) -> Value {
    let answer = reading.ask(ANONYMOUS, &format!("{BOARD}/document{rest}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn written(world: &World, name: &str, json: &Value) -> PathBuf {
    let path = world.scratch().join(name);
    fs::write(&path, json.to_string()).unwrap();
    path
}

fn verify(document: &Path, more: &[&Path], flags: &[&str]) -> Ran {
    let mut words = vec!["--format", "json", "verify", document.to_str().unwrap()];
    for (flag, path) in flags.iter().zip(more) {
        words.extend([*flag, path.to_str().unwrap()]);
    }
    dataperf(words)
}

fn codes(ran: &Ran) -> Vec<String> {
    let findings = ran.json()["findings"].as_array().unwrap().clone();
    findings
        .iter()
        .map(|one| one["code"].as_str().unwrap().to_owned())
        .collect()
}

/// The document says what everybody reads of the board, and verifies by its keys, receipts, data set and artifacts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn a_published_board_equals_the_api_and_verifies() {
    let world = contest(|_| ()).await;
    let artifacts = world.scratch().join("artifacts");
    for (n, submitter) in ["ada", "bo", "cy", "baseline-a"].into_iter().enumerate() {
        let bytes = submission(n.min(2));
        fs::create_dir_all(artifacts.join(submitter)).unwrap();
        fs::write(artifacts.join(submitter).join("x.json"), &bytes).unwrap();
        world.put(&key(submitter, n), bytes).await;
    }
    world.settle().await;
    compare(&world).await;
    assert_eq!(world.command(["keys", "publish"]).code, 0);
    let public_keys = keys(&world, "public-keys.json");
    let receipts = world.scratch().join("receipts");
    let reading = Reading::new(world).await;
    let first = document(&reading, "");
    assert_eq!((&first["number"], &first["earlier"]), (&json!(1), &json!([])));
    let page = reading.ask(ANONYMOUS, BOARD).json();
    let rows = first["rows"].as_array().unwrap();
    let shown = page["rows"].as_array().unwrap();
    assert_eq!((rows.len(), shown.len()), (4, 4));
    let fields = [
        "rank",
        "submitter",
        "submission",
        "score",
        "received_at",
        "is_baseline",
        "is_released",
        "dataset",
    ];
    let of_comparison = ["rank_interval", "interval", "n_submissions", "is_above_baselines"];
    for (row, shown) in rows.iter().zip(shown) {
        for field in fields.iter().chain(&of_comparison) {
            assert_eq!(row[*field], shown[*field], "{field}");
        }
        assert!(row["evidence"].as_str().unwrap().starts_with("sha256:"), "{row}");
        assert!(row["rank_interval"].is_array(), "{row}");
        let id = row["submission"].as_str().unwrap();
        let receipt = reading.ask(
            ORGANIZER,
            &format!("/api/v1/benchmarks/{BENCHMARK}/submissions/{id}/receipt"),
        );
        fs::create_dir_all(&receipts).unwrap();
        let submitter = row["submitter"].as_str().unwrap();
        let object = object_of(
            &reading.world,
            "results",
            &format!("{BENCHMARK}/en-25/{submitter}/{id}.json"),
        )
        .await;
        assert_eq!(receipt.status, 200);
        fs::write(receipts.join(format!("{id}.json")), object).unwrap();
    }
    let path = written(&reading.world, "board.json", &first);
    let frozen = reading.world.scratch().join("compared");
    let all = ["--keys", "--receipts", "--dataset", "--submissions"];
    let ran = verify(&path, &[&public_keys, &receipts, &frozen, &artifacts], &all);
    assert_eq!((ran.code, &ran.json()["verified"]), (0, &json!(true)), "{ran:?}");
    let checked = ran.json()["checked"].to_string();
    for part in [
        "the document was signed by",
        "ranks and ties",
        "4 scores are those of their receipts",
        "4 scores are what their artifacts",
        "4 digests",
        "intervals are",
    ] {
        assert!(checked.contains(part), "{part}: {checked}");
    }

    // nobody vouches for a document without keys
    let alone = verify(&path, &[], &[]);
    assert_eq!(
        (alone.code, &alone.json()["verified"]),
        (0, &json!(false)),
        "{alone:?}"
    );

    // whatever is changed is found
    for (change, code) in [
        (("rank", json!(9)), "wrong_rank"),
        (("score", json!(0.125)), "score_differs"),
        (("rank_interval", json!([1, 1])), "interval_differs"),
        (
            ("evidence", json!(format!("sha256:{}", "0".repeat(64)))),
            "evidence_differs",
        ),
    ] {
        let mut forged = first.clone();
        let place = forged["rows"]
            .as_array()
            .unwrap()
            .iter()
            .position(|row| row["rank"] == json!(2))
            .unwrap();
        forged["rows"][place][change.0] = change.1;
        let forged = written(&reading.world, "forged.json", &forged);
        let ran = verify(&forged, &[&public_keys, &receipts, &frozen, &artifacts], &all);
        let actual = codes(&ran);
        assert_eq!(ran.code, 1);
        assert!(
            actual.contains(&"signature".to_owned()) && actual.contains(&code.to_owned()),
            "{code}: {actual:?}"
        );
    }

    // without changes nothing is appended, nor more often than once a minute
    compare(&reading.world).await;
    assert_eq!(document(&reading, "")["number"], 1);
    let withdrawn = rows.iter().find(|row| row["submitter"] == "bo").unwrap()["submission"]
        .as_str()
        .unwrap();
    reading.world.ran(["withdraw", BENCHMARK, withdrawn]);
    compare(&reading.world).await;
    assert_eq!(document(&reading, "")["number"], 1);
    pass_a_minute(&reading.world, "open").await;
    compare(&reading.world).await;
    let second = document(&reading, "");
    assert_eq!(
        (&second["number"], second["earlier"].as_array().unwrap().len()),
        (&json!(2), 1)
    );
    assert_eq!(document(&reading, "?number=1"), first);
    let unknown = reading.ask(ANONYMOUS, &format!("{BOARD}/document?number=3"));
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (404, &json!("unknown_document"))
    );

    // the owner of the first document detects that a row was removed, and that a log was written
    // twice
    let later = written(&reading.world, "later.json", &second);
    let since = ["--keys", "--since"];
    assert_eq!(
        codes(&verify(&later, &[&public_keys, &path], &since)),
        ["removed_row"]
    );
    let mut other = first.clone();
    other["published_at"] = json!("2026-01-01T00:00:00.000Z");
    let other = written(&reading.world, "other.json", &other);
    let actual = codes(&verify(&later, &[&public_keys, &other], &since));
    assert_eq!(actual, ["signature", "fork"], "whoever changes the kept one");
    assert_eq!(codes(&verify(&path, &[&public_keys, &later], &since)), ["older"]);
    reading
        .world
        .command(["withdraw", BENCHMARK, withdrawn, "--undo"]);
    pass_a_minute(&reading.world, "open").await;
    compare(&reading.world).await;
    let third = written(&reading.world, "third.json", &document(&reading, ""));
    let ran = verify(&third, &[&public_keys, &path], &since);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A blind round has no documents until its close, and a contest's says that it has closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_shows_no_more_than_its_round() {
    let world = contest(|_| ()).await;
    let round = |preset: &str, closes: &str| json!([{ "id": "spring", "opens": "2026-01-01", "closes": closes, "preset": preset }]);
    assert_eq!(publish(&world, &round("blind", "2999-01-01")).code, 0);
    for (n, submitter) in ["ada", "bo"].into_iter().enumerate() {
        world.put(&key(submitter, n), submission(n)).await;
    }
    world.settle().await;
    compare(&world).await;
    let reading = Reading::new(world).await;
    let path = format!("{BOARD}/document?round=spring");
    for who in [ANONYMOUS, ADA, ORGANIZER] {
        let answer = reading.ask(who, &path);
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (404, &json!("hidden_board")),
            "{who}"
        );
    }
    assert_eq!(publish(&reading.world, &round("contest", "2999-01-01")).code, 0);
    compare(&reading.world).await;
    let open = document(&reading, "?round=spring");
    assert_eq!(
        (&open["is_closed"], &open["rows"][0]["is_released"]),
        (&json!(false), &json!(true))
    );
    assert!(
        open["rows"][0]["interval"].is_null() && open["comparison"]["resolution"].is_null(),
        "{open}"
    );
    assert_eq!(publish(&reading.world, &round("contest", "2026-02-01")).code, 0);
    pass_a_minute(&reading.world, "spring").await;
    compare(&reading.world).await;
    let closed = document(&reading, "?round=spring");
    assert_eq!(
        (&closed["is_closed"], &closed["number"]),
        (&json!(true), &json!(2))
    );
}
