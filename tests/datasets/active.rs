//! Several active data sets of one benchmark, each with its boards.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Ending, Receipt};
use serde_json::{Value, json};

use crate::people::organizer_mistakes::{copy, digest, other_dataset};
use crate::read_api::{ANONYMOUS, Reading};
use crate::support::project::{BENCHMARK, Ran, frozen, good};
use crate::support::world::{Sent, World};

/// The demo's data set with one board, which is scored like `en-25` except for its seeds.
fn own_dataset(world: &World, board: &str) -> PathBuf {
    let out = world.scratch().join(board);
    copy(frozen(), &out);
    let path = out.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let limits = manifest["parameters"]["leaderboards"]["en-25"].clone();
    manifest["parameters"]["leaderboards"] = json!({ board: limits });
    manifest["parameters"]["seeds"] = json!([1, 2]);
    fs::write(&path, format!("{manifest:#}\n")).unwrap();
    out
}

async fn upload(world: &World, board: &str, submitter: &str, n: usize) -> Sent {
    world
        .put(&format!("{BENCHMARK}/{board}/{submitter}/{n}.json"), good(n))
        .await
}

async fn scored(world: &World, board: &str, submitter: &str, n: usize) -> Receipt {
    let sent = upload(world, board, submitter, n).await;
    world.settle().await;
    crate::challenges::receipt(world, &sent).await
}

async fn current(world: &World) -> Value {
    let key = format!("{BENCHMARK}/current.json");
    let Got::Object(object) = world.bucket("datasets").get(&key, None, 1 << 20).await.unwrap() else {
        panic!("`{key}` is there")
    };
    serde_json::from_slice(&object.bytes).unwrap()
}

fn publish(world: &World, directory: &Path) -> Ran {
    world.command(["dataset", "publish", directory.to_str().unwrap()])
}

async fn side_by_side(warm_mib: Option<&str>) {
    let world = World::with(|config| {
        config.functions[0].concurrency = 1;
        if let Some(mib) = warm_mib {
            let environment = &mut config.functions[0].environment;
            environment.insert("DATAPERF_WARM_MIB".into(), mib.into());
        }
    })
    .await;
    let first = scored(&world, "en-25", "ada", 0).await;
    let none = scored(&world, "own-25", "ada", 0).await;
    assert_eq!(none.verdict.reasons[0].code, "unknown_leaderboard");
    assert!(none.verdict.reasons[0].message.contains("`en-25`"), "{none:?}");

    let own = own_dataset(&world, "own-25");
    let ran = publish(&world, &own);
    assert_eq!((ran.code, &ran.json()["replaced"]), (0, &json!({})), "{ran:?}");
    let of_own = scored(&world, "own-25", "ada", 0).await;
    let of_demo = scored(&world, "en-25", "bo", 0).await;
    assert_eq!(first.verdict.dataset, Some(digest(frozen())));
    assert_eq!(of_own.verdict.dataset, Some(digest(&own)));
    assert_eq!(of_demo.verdict.dataset, Some(digest(frozen())));
    assert_eq!(
        first.verdict.score, of_demo.verdict.score,
        "the same file is scored alike"
    );
    assert_ne!(
        of_own.verdict.score, of_demo.verdict.score,
        "other seeds, another score"
    );
    let snapshot = world.cloud.snapshot().await.unwrap();
    assert_eq!(
        snapshot.functions[BENCHMARK].init.n, 1,
        "one process noticed the new board"
    );
    let listed = world.command(["dataset", "list", BENCHMARK]).json();
    let listed: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let name = row["leaderboard"]["name"].as_str().unwrap();
            (name, row["dataset"].as_str().unwrap())
        })
        .collect();
    assert_eq!(listed.len(), 7, "{listed:?}");
    assert!(
        listed.contains(&("own-25", &digest(&own).to_string())),
        "{listed:?}"
    );
    assert!(
        listed.contains(&("pt-60", &digest(frozen()).to_string())),
        "{listed:?}"
    );

    world.ran(["dataset", "retire", BENCHMARK, "own-25"]);
    let late = scored(&world, "own-25", "bo", 1).await;
    assert_eq!(late.verdict.reasons[0].code, "unknown_leaderboard");
    let again = world.command(["dataset", "retire", BENCHMARK, "own-25"]);
    assert_eq!(again.code, 1, "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_scores_boards_of_two_data_sets() {
    Box::pin(side_by_side(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_room_for_two_data_sets_both_reload() {
    Box::pin(side_by_side(Some("0"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn taking_over_another_data_sets_board_needs_confirmation() {
    let world = World::new().await;
    publish(&world, &own_dataset(&world, "own-25"));
    let before = current(&world).await;
    assert_eq!(
        (&before["schema"], before["boards"].as_object().unwrap().len()),
        (&json!(2), 7)
    );
    let other = other_dataset(&world);
    let ran = publish(&world, &other);
    assert_eq!(ran.code, 1, "{ran:?}");
    for message in ["`en-25`", "`pt-60`", &digest(frozen()).to_string(), "--replace"] {
        assert!(ran.stderr.contains(message), "{ran:?}");
    }
    assert!(!ran.stderr.contains("own-25"), "{ran:?}");
    assert_eq!(current(&world).await, before);
    let prefix = dataset_prefix(BENCHMARK, digest(&other));
    let listed = world
        .clients
        .s3
        .list_objects_v2()
        .bucket("datasets")
        .prefix(prefix);
    assert_eq!(
        listed.send().await.unwrap().key_count(),
        Some(0),
        "nothing was uploaded"
    );

    let round = json!({ "id": "spring", "opens": "2020-01-01T00:00:00Z", "preset": "practice" });
    assert_eq!(crate::challenges::publish(&world, &json!([round])).code, 0);
    scored(&world, "en-25", "ada", 0).await;
    let replaced = world.replace(&other);
    assert_eq!(replaced["replaced"]["en-25"], json!(digest(frozen())));
    let to_rescore = json!([{ "leaderboard": "en-25", "round": "spring" }]);
    assert_eq!(replaced["to_rescore"], to_rescore, "the round that has scores");
    let boards = current(&world).await["boards"].clone();
    assert_eq!(boards["en-25"], json!(digest(&other)));
    assert_eq!(boards["own-25"], before["boards"]["own-25"], "other boards stay");
    assert_eq!(publish(&world, &other).code, 0, "the same again is no change");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_publishing_loses_no_board() {
    let world = World::new().await;
    let own: Vec<PathBuf> = (0..4).map(|n| own_dataset(&world, &format!("own-{n}"))).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = own
            .iter()
            .map(|own| scope.spawn(|| publish(&world, own)))
            .collect();
        for run in runs {
            let ran = run.join().unwrap();
            assert_eq!(ran.code, 0, "{ran:?}");
        }
    });
    let boards = current(&world).await["boards"].clone();
    for (n, own) in own.iter().enumerate() {
        assert_eq!(boards[format!("own-{n}")], json!(digest(own)));
    }
    assert_eq!(boards.as_object().unwrap().len(), 6 + own.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_replaced_only_if_unchanged() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let bucket = world.bucket("datasets");
    let put = async |text: &'static str, tag: Option<&str>| {
        let bytes = Bytes::from_static(text.as_bytes());
        bucket.put_if("b/current.json", bytes, tag).await.unwrap()
    };
    assert_eq!(bucket.get_tagged("b/current.json", 10).await.unwrap(), None);
    assert!(put("one", None).await);
    assert!(!put("two", None).await, "somebody was faster");
    let one = bucket.get_tagged("b/current.json", 10).await.unwrap().unwrap();
    assert!(put("two", Some(&one.tag)).await);
    assert!(
        !put("three", Some(&one.tag)).await,
        "it is not what was read any more"
    );
    let two = bucket.get_tagged("b/current.json", 10).await.unwrap().unwrap();
    assert_eq!(two.bytes, "two");
    assert!(
        !bucket
            .put_if("b/gone.json", Bytes::new(), Some(&two.tag))
            .await
            .unwrap()
    );
    bucket
        .get_tagged("b/current.json", 2)
        .await
        .expect_err("it is larger");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_object_is_replaced_on_request() {
    let world = World::new().await;
    let key = format!("{BENCHMARK}/current.json");
    world.put_into("datasets", &key, "{\"schema\": 7}").await;
    let own = own_dataset(&world, "own-25");
    let refused = publish(&world, &own);
    assert!(
        refused.code == 1 && refused.stderr.contains("current.json") && refused.stderr.contains("--replace"),
        "{refused:?}"
    );
    world.replace(&own);
    assert_eq!(current(&world).await["boards"], json!({ "own-25": digest(&own) }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_data_set_scores_are_unranked_until_rescored() {
    let reading = Reading::new(World::new().await).await;
    let world = &reading.world;
    let mut earlier = Vec::new();
    for (submitter, n) in [("ada", 0), ("bo", 1), ("cy", 2)] {
        earlier.push(scored(world, "en-25", submitter, n).await);
    }
    let other = other_dataset(world);
    world.replace(&other);
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25");
    let rows = || reading.ask(ANONYMOUS, &path).json();
    let page = rows();
    assert_eq!(page["dataset"], json!(digest(&other)));
    assert!(
        page["rows"].as_array().unwrap().iter().all(|row| {
            row["rank"] == json!(null)
                && row["is_of_other_dataset"] == json!(true)
                && row["dataset"] == json!(digest(frozen()))
        }),
        "{page}"
    );

    let now = scored(world, "en-25", "ada", 0).await;
    let page = rows();
    let row_of = |page: &Value, submitter: &str| {
        let rows = page["rows"].as_array().unwrap().clone();
        rows.into_iter()
            .find(|row| row["submitter"] == submitter)
            .unwrap()
    };
    assert_eq!(row_of(&page, "ada")["rank"], json!(1), "{page}");
    assert_eq!(row_of(&page, "ada")["score"], json!(now.verdict.score));
    assert_eq!(row_of(&page, "bo")["rank"], json!(null), "{page}");
    let board = world.command(["leaderboard", BENCHMARK, "en-25"]).json()[0].clone();
    assert_eq!(board["dataset"], json!(digest(&other)));
    let ranks: Vec<(&Value, &Value)> = board["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| (&place["submitter"], &place["rank"]))
        .collect();
    assert_eq!(ranks.len(), 3, "{board}");
    assert!(ranks.contains(&(&json!("ada"), &json!(1))), "{board}");
    assert!(ranks.contains(&(&json!("cy"), &json!(null))), "{board}");
    let csv = String::from_utf8(reading.ask(ANONYMOUS, &format!("{path}?format=csv")).body).unwrap();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .contains("dataset,is_of_other_dataset"),
        "{csv}"
    );
    assert_eq!(
        csv.lines().filter(|line| line.contains(",true,")).count(),
        2,
        "{csv}"
    );

    world.ran(["rescore", BENCHMARK, "en-25"]);
    let page = rows();
    let mut ranks: Vec<u64> = page["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["rank"].as_u64().unwrap())
        .collect();
    ranks.sort_unstable();
    assert_eq!((ranks.len(), ranks[0]), (3, 1), "{page}");
    assert_eq!(row_of(&page, "bo")["dataset"], json!(digest(&other)));
    assert!(
        earlier
            .iter()
            .all(|receipt| receipt.verdict.status == Ending::Scored)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boards_of_two_data_sets_have_separate_limits() {
    let world = World::new().await;
    assert_eq!(publish(&world, &own_dataset(&world, "own-25")).code, 0);
    let rounds = json!([{
        "id": "one", "leaderboards": ["en-25", "en-60", "own-25"], "opens": "2020-01-01T00:00:00Z", "total_limit": 1,
    }]);
    let published = crate::challenges::publish(&world, &rounds);
    assert_eq!(published.code, 0, "{published:?}");
    let codes = |receipt: &Receipt| -> Vec<String> {
        let reasons = receipt.verdict.reasons.iter();
        reasons.map(|reason| reason.code.clone()).collect()
    };
    let of_demo = scored(&world, "en-25", "ada", 0).await;
    let of_own = scored(&world, "own-25", "ada", 0).await;
    assert_eq!(
        (of_demo.verdict.status, of_own.verdict.status),
        (Ending::Scored, Ending::Scored)
    );
    for board in ["en-60", "own-25"] {
        let over = scored(&world, board, "ada", 1).await;
        assert_eq!(codes(&over), ["total_limit"], "{board}");
    }

    let fresh = publish(&world, &own_dataset(&world, "own-60"));
    assert_eq!(
        fresh.json()["rounds_to_publish_again"],
        json!([]),
        "the round does not have it"
    );
    let wrong = json!([{ "id": "one", "leaderboards": ["en-25", "nope"], "opens": "2020-01-01T00:00:00Z" }]);
    let refused = crate::challenges::publish(&world, &wrong);
    assert_eq!(refused.code, 2, "{refused:?}");
    let reason = &refused.json()["reasons"][0];
    assert_eq!(reason["code"], "unknown_leaderboard");
    assert!(
        reason["message"].as_str().unwrap().contains("`own-60`"),
        "{reason}"
    );
    let all = json!([{ "id": "two", "opens": "2020-01-01T00:00:00Z", "daily_limit": 1 }]);
    assert_eq!(crate::challenges::publish(&world, &all).code, 0);
    let newer = publish(&world, &own_dataset(&world, "own-99"));
    assert_eq!(newer.json()["rounds_to_publish_again"], json!(["two"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_lacking_new_boards_are_listed_and_refreshed() {
    let world = World::new().await;
    let add = |more: &[&str]| {
        let args: Vec<&str> = ["submitter", "add"].iter().chain(more).copied().collect();
        world.ran(&args);
    };
    add(&["ada", BENCHMARK, "--access", "policy"]);
    add(&["bo", BENCHMARK]);
    add(&["cy", BENCHMARK, "-l", "en-25"]);
    let own = own_dataset(&world, "own-25");
    let published = publish(&world, &own).json();
    let lacking = json!([
        { "submitter": "bo", "access": "forms", "lacks": ["own-25"] },
    ]);
    assert_eq!(
        published["submitters_without_rights"], lacking,
        "who chose boards lacks none, and the policy is for all"
    );

    let refreshed = world.ran(["submitter", "refresh", BENCHMARK, "--all"]).json();
    assert_eq!(refreshed[0]["submitter"], "bo");
    let forms = refreshed[0]["forms"].as_array().unwrap();
    assert_eq!((forms.len(), &forms[0]["leaderboard"]), (1, &json!("own-25")));
    assert_eq!(
        publish(&world, &own).json()["submitters_without_rights"],
        json!([])
    );
    let nobody = world.command(["submitter", "refresh", BENCHMARK, "di"]);
    nobody.assert_refused("submitter add");
}
