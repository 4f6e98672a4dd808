//! An organizer's work besides publishing: earlier challenges, announcements, withdrawals,
//! submitters, identical files.

use std::fs;

use dataperf::table::leaderboard::Leaderboards;
use serde_json::{Value, json};

use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, dataperf, good};
use crate::support::words;
use crate::support::world::{World, key};

fn publish(world: &World, document: &Value) -> Value {
    let path = world.scratch().join("challenge.yaml");
    fs::write(&path, document.to_string()).unwrap(); // JSON is YAML
    let ran = world.ran(["challenge", "publish", path.to_str().unwrap()]);
    ran.json()
}

fn document(title: &str, rounds: &Value) -> Value {
    json!({ "schema": 1, "title": title, "about": "Two words: *data* first.\n\n- one\n- two: 3\n", 
            "announcements": [{ "date": "2026-02-03", "text": "older: yes" }, { "date": "2026-02-04T05:06:07.089Z", "text": "# newer\nno" },
                              { "date": "2999-01-01", "text": "to come" }],
            "benchmarks": { BENCHMARK: { "ranking": "latest", "leaderboards": { "pt-25": { "ranking": "best" } }, "rounds": rounds } } })
}

fn rounds() -> Value {
    json!([
        { "id": "one", "leaderboards": ["en-25"], "opens": "2026-03-01", "closes": "2026-03-31", "daily_limit": 2, "total_limit": 5,
          "division": "yes", "artifacts": "public", "preset": "blind",
          "baselines": ["organizers"], "messages": { "before": "null", "after": "123" } },
        { "id": "two", "leaderboards": ["pt-25"], "opens": "2026-01-01T00:00:00Z" },
    ])
}

fn in_force(world: &World) -> Value {
    let ran = world.ran(["challenge", "show", BENCHMARK]);
    ran.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_displayed_document_publishes_the_same_challenge() {
    let world = World::new().await;
    let message = publish(&world, &document("Spring: \"x\"", &rounds()));
    let visible = dataperf(words!(
        "leaderboard {BENCHMARK} --s3-endpoint {} --dynamodb-endpoint {}",
        world.cloud.s3_endpoint(),
        world.cloud.dynamodb_endpoint()
    ));
    let announced =
        "Announced 2026-02-04T05:06:07.089Z: # newer\nno\nAnnounced 2026-02-03T00:00:00.000Z: older: yes\n";
    assert!(
        visible.stdout.contains(announced) && !visible.stdout.contains("to come"),
        "{visible:?}"
    );
    let dates: Vec<&str> = message["dates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|date| date["at"].as_str().unwrap())
        .collect();
    let under = format!("/benchmarks/{BENCHMARK}/rounds/0");
    assert_eq!(
        dates,
        [
            "/announcements/0/date",
            "/announcements/2/date",
            &format!("{under}/opens"),
            &format!("{under}/closes")
        ]
    );
    let before = in_force(&world);
    assert_eq!(before["rounds"][0]["opens"], "2026-03-01T00:00:00.000Z");
    assert_eq!(
        before["rounds"][0]["closes"], "2026-04-01T00:00:00.000Z",
        "the end of that day"
    );

    let shown = world.ran(["challenge", "show", BENCHMARK, "--format", "yaml"]);
    let path = world.scratch().join("again.yaml");
    fs::write(&path, &shown.stdout).unwrap();
    publish(&world, &document("another", &json!([])));
    assert_ne!(in_force(&world), before);
    let ran = world.command(["challenge", "publish", path.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}\n{}", shown.stdout);
    assert_eq!(in_force(&world), before, "{}", shown.stdout);

    let refused = world.command(["status", "--format", "yaml"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let remedy = "choose `text`, `json` or, for tables, `csv`";
    assert!(refused.stderr.contains(remedy), "{refused:?}");
    // a date that there is not
    let mut wrong = document("wrong", &json!([]));
    wrong["announcements"][0]["date"] = json!("2026-02-30");
    fs::write(&path, wrong.to_string()).unwrap();
    let ran = dataperf(["--format", "json", "challenge", "check", path.to_str().unwrap()]);
    assert_eq!(
        (ran.code, ran.json()["reasons"][0]["at"].as_str()),
        (2, Some("/announcements/0/date"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn announcements_appear_from_their_date_newest_first() {
    let world = World::new().await;
    publish(&world, &document("Spring", &rounds()));
    let reading = Reading::new(world).await;
    let benchmark = reading
        .ask(ANONYMOUS, &format!("/api/v1/benchmarks/{BENCHMARK}"))
        .json();
    let texts: Vec<&str> = benchmark["challenge"]["announcements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        ["# newer\nno", "older: yes"],
        "what is to come is not told"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_says_which_submissions_stand_on_it() {
    let world = World::new().await;
    let mut challenge = document("Spring", &json!([]));
    challenge["benchmarks"][BENCHMARK]["leaderboards"]["pt-25"] = json!({ "ranking": "best" });
    publish(&world, &challenge);
    let reading = Reading::new(world).await;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let listed = reading.ask(ANONYMOUS, &url).json();
    for (board, ranking) in [("en-25", "latest"), ("pt-25", "best")] {
        let boards = listed["leaderboards"].as_array().unwrap();
        let one = boards.iter().find(|one| one["name"] == board).unwrap();
        assert_eq!(one["ranking"], ranking, "{board}");
        let page = reading
            .ask(ANONYMOUS, &format!("{url}/leaderboards/{board}"))
            .json();
        assert_eq!(page["ranking"], ranking, "{board}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_challenges_are_kept_and_come_back() {
    let world = World::new().await;
    let round = |n: u64| json!([{ "id": "spring", "opens": "2026-01-01", "daily_limit": n }]);
    for n in 1..=3 {
        publish(&world, &document(&format!("number {n}"), &round(n)));
    }
    let history = world.command(["challenge", "history", BENCHMARK]).json();
    let titles = |history: &Value| -> Vec<String> {
        let all = history.as_array().unwrap().iter();
        all.map(|one| {
            format!(
                "{} {} {}",
                one["number"],
                one["title"].as_str().unwrap(),
                one["in_force"]
            )
        })
        .collect()
    };
    assert_eq!(
        titles(&history),
        ["3 number 3 true", "2 number 2 false", "1 number 1 false"]
    );
    let csv = world
        .command(["challenge", "history", BENCHMARK, "--format", "csv"])
        .stdout;
    assert!(
        csv.starts_with("number,published_at,in_force,title,rounds\n3,"),
        "{csv}"
    );

    assert_eq!(world.command(["challenge", "rollback", BENCHMARK]).code, 0);
    assert_eq!(in_force(&world)["title"], "number 2");
    world.ran(["challenge", "rollback", BENCHMARK, "--to", "1"]);
    assert_eq!(in_force(&world)["rounds"][0]["daily_limit"], 1);
    // it counts for the next upload
    let first = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    let second = world.put(&key("ada", 1), good(1)).await;
    world.settle().await;
    let ending = async |sent: &crate::support::world::Sent| {
        let known = world
            .leaderboards()
            .submission(BENCHMARK, &sent.id())
            .await
            .unwrap()
            .unwrap();
        known.receipt.unwrap().verdict.status.as_str()
    };
    assert_eq!(
        (ending(&first).await, ending(&second).await),
        ("scored", "rejected")
    );
    // what was removed comes back as well, and what there never was does not
    assert_eq!(world.command(["challenge", "remove", BENCHMARK]).code, 0);
    let history = world.command(["challenge", "history", BENCHMARK]).json();
    assert_eq!(titles(&history)[0], "5 number 1 false");
    assert_eq!(
        world
            .command(["challenge", "rollback", BENCHMARK, "--to", "9"])
            .code,
        1
    );
    assert_eq!(world.command(["challenge", "rollback", BENCHMARK]).code, 0);
    assert_eq!(in_force(&world)["title"], "number 1");
}

/// Unknown names end with code 1 and the nearest names; known ones are printed completely.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_tells_file_reason_and_rank() {
    let world = World::new().await;
    world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    let rejected = world
        .put(&format!("{BENCHMARK}/en-25/ada/my try.json"), "no json")
        .await;
    world.settle().await;
    world.put(&key("bo", 0), good(0)).await;
    world.put(&key("bo", 1), good(1)).await;
    world.settle().await;
    let status = |name: &str| world.command(["status", BENCHMARK, "--submitter", name]);
    let lines = status("ada").json();
    assert_eq!(
        (&lines[0]["submission"], &lines[0]["file"]),
        (&json!(rejected.id()), &json!("my try.json"))
    );
    assert!(lines[0]["reasons"][0]["message"].is_string(), "{lines}");
    assert_eq!(
        (lines[0]["status"].as_str(), lines[1]["file"].as_str()),
        (Some("rejected"), Some("0.json"))
    );
    let rank = lines[1]["rank"].clone();
    assert!(rank.is_u64(), "{lines}");
    let csv = world
        .command(["status", BENCHMARK, "--submitter", "ada", "--format", "csv"])
        .stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
    for (args, nearest) in [
        (
            vec!["status", BENCHMARK, "--submitter", "adda"],
            "did you mean `ada`",
        ),
        (vec!["leaderboard", BENCHMARK, "en25"], "did you mean `en-25`"),
        (
            vec!["leaderboard", BENCHMARK, "en-25", "--round", "opne"],
            "did you mean `open`",
        ),
        (
            vec!["rescore", BENCHMARK, "en-25", "--round", "opne"],
            "did you mean `open`",
        ),
        (
            vec!["submitter", "add", "cid", BENCHMARK, "-l", "en25"],
            "did you mean `en-25`",
        ),
        (vec!["challenge", "show", "speech-selecton"], "speech-selection"),
    ] {
        let ran = world.command(&args);
        assert!(ran.code == 1 && ran.stderr.contains(nearest), "{args:?}: {ran:?}");
    }
}

/// The same selection with its lists in another order.
fn reversed(artifact: &[u8]) -> Vec<u8> {
    fn reverse(json: &mut Value) {
        match json {
            Value::Array(items) => items.reverse(),
            Value::Object(members) => members.values_mut().for_each(reverse),
            _ => {}
        }
    }
    let mut json: Value = serde_json::from_slice(artifact).unwrap();
    reverse(&mut json);
    serde_json::to_vec_pretty(&json).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn withdrawals_have_reasons_and_can_be_undone() {
    let world = World::new().await;
    let first = world.put(&key("ada", 0), good(0)).await;
    world.put(&key("bo", 0), good(0)).await;
    world.put(&key("bo", 1), good(1)).await;
    world.put(&key("cy", 0), reversed(&good(0))).await;
    world.settle().await;
    let status = |name: &str| world.command(["status", BENCHMARK, "--submitter", name]);
    let rank = status("ada").json()[0]["rank"].clone();
    assert!(rank.is_u64());
    // withdrawn with a reason, and put back
    let id = first.id().to_string();
    let board = || world.command(["leaderboard", BENCHMARK, "en-25"]).json()[0]["places"].clone();
    let before = board();
    world.ran(["withdraw", BENCHMARK, &id, "--reason", "by mistake"]);
    assert_ne!(board(), before);
    let shown = world.command(["status", BENCHMARK, &id]).json();
    assert_eq!(shown["withdrawals"][0]["reason"], "by mistake");
    assert_eq!(status("ada").json()[0]["withdrawal_reason"], "by mistake");
    let long = "x".repeat(501);
    assert_eq!(
        world
            .command(["withdraw", BENCHMARK, &id, "--reason", &long])
            .code,
        1
    );
    let ran = world.command(["withdraw", BENCHMARK, &id, "--undo", "--reason", "sorry"]);
    assert_eq!((ran.code, &ran.json()["withdrawn_at"]), (0, &Value::Null));
    let ranks = |places: &Value| -> Vec<Value> {
        places
            .as_array()
            .unwrap()
            .iter()
            .map(|place| json!([place["rank"], place["submission"], place["score"]]))
            .collect()
    };
    assert_eq!(ranks(&board()), ranks(&before));
    assert_eq!(status("ada").json()[0]["rank"], rank);
    assert_eq!(
        world.command(["withdraw", BENCHMARK, &id, "--undo"]).code,
        1,
        "it stands already"
    );

    // the same file by two submitters
    let same = world
        .command(["submitter", "identical", BENCHMARK, "--several"])
        .json();
    let names: Vec<&Value> = same
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["submitter"])
        .collect();
    assert_eq!(names, ["ada", "bo", "cy"], "{same}");
    assert_eq!(same[0]["artifact"], same[1]["artifact"]);
    assert_ne!(
        same[0]["artifact"], same[2]["artifact"],
        "the same in another order"
    );
    assert_eq!(same[0]["content"], same[2]["content"]);
    let receipt = world
        .command(["status", BENCHMARK, same[2]["submission"].as_str().unwrap()])
        .json();
    assert_eq!(receipt["content"], same[2]["content"], "{receipt}");
    let listed = world.command(["submitter", "list", BENCHMARK]).json();
    for one in listed.as_array().unwrap() {
        let others = match one["submitter"].as_str().unwrap() {
            "ada" => json!(["bo", "cy"]),
            "bo" => json!(["ada", "cy"]),
            "cy" => json!(["ada", "bo"]),
            _ => json!([]),
        };
        assert_eq!(one["same_file_as"], others, "{listed}");
    }

    let reading = Reading::new(world).await;
    let files = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25/files?limit=1");
    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = reading.ask(ORGANIZER, &format!("{files}{cursor}")).json();
        read.extend(page["files"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let of_file = read.iter().filter(|file| file["content"] == same[0]["content"]);
    let owners: Vec<&Value> = of_file.map(|file| &file["submitter"]).collect();
    assert_eq!(owners, ["ada", "bo", "cy"], "{read:?}");
    for who in [ADA, BO, ANONYMOUS] {
        let answer = reading.ask(who, &files);
        assert!(matches!(answer.status, 401 | 403), "{who}: {answer:?}");
        assert!(!answer.text().contains("sha256"), "{who}: {answer:?}");
    }
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/submissions/{id}");
    let private = |who: &str| reading.ask(who, &path).json()["private"]["withdrawals"].clone();
    assert_eq!(private(ADA)[0]["undo_reason"], "sorry");
    assert_eq!(private(ORGANIZER)[0]["reason"], "by mistake");
    for who in [ANONYMOUS, BO] {
        assert_eq!(private(who), Value::Null, "{who}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submitters_are_listed_with_their_remaining_limits() {
    let world = World::new().await;
    let round = json!([{ "id": "spring", "leaderboards": ["en-25"], "opens": "2026-01-01", "daily_limit": 3, "total_limit": 5 }]);
    publish(&world, &document("Spring", &round));
    assert_eq!(world.command(["submitter", "list", BENCHMARK]).json(), json!([]));
    world.ran(["submitter", "add", "cal", BENCHMARK, "-l", "en-25"]);
    let alike = world.command(["submitter", "add", "ca1", BENCHMARK, "-l", "en-25"]);
    alike.assert_refused("looks like `cal`");
    assert_eq!(world.command(["token", "create", "--submitter", "cal"]).code, 0);
    let alike = world.command(["token", "create", "--submitter", "ca1"]);
    alike.assert_refused("looks like `cal`");
    for n in 0..2 {
        world.put(&key("ada", n), good(n)).await;
    }
    world.put(&key("ada", 2), "no json").await;
    world.settle().await;
    let listed = world.command(["submitter", "list", BENCHMARK]).json();
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["submitter"])
        .collect();
    assert_eq!(names, ["ada", "cal"]);
    let ada = &listed[0];
    assert_eq!(
        (&ada["n_submissions"], &ada["n_scored"], &ada["n_rejected"]),
        (&json!(3), &json!(2), &json!(1))
    );
    assert!(ada["last_upload"].is_string());
    let quota = &ada["quotas"][0];
    assert_eq!(
        (&quota["leaderboard"], &quota["daily_left"], &quota["total_left"]),
        (&json!("en-25"), &json!(1), &json!(3))
    );
    assert_eq!(
        (&listed[1]["n_submissions"], &listed[1]["quotas"][0]["total_left"]),
        (&json!(0), &json!(5))
    );
    // a name that looks like one that was given access is refused at an upload, too
    world.put(&key("ca1", 3), good(3)).await;
    world.settle().await;
    let refused = world.command(["status", BENCHMARK, "--submitter", "ca1"]);
    assert!(refused.stdout.contains("name_looks_alike"), "{refused:?}");

    let reading = Reading::new(world).await;
    the_page_has_the_same(&reading, 3);
    let world = &reading.world;
    let csv = world
        .command(["submitter", "list", BENCHMARK, "--format", "csv"])
        .stdout;
    assert!(csv.starts_with("benchmark,submitter,n_submissions,"), "{csv}");
    assert_eq!(csv.lines().count(), 4, "whoever was refused has a receipt");
}

/// The read API lists the submitters that the command line lists, page by page, with the same numbers.
fn the_page_has_the_same(reading: &Reading, n: usize) {
    let world = &reading.world;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/submitters");
    let listed = world.command(["submitter", "list", BENCHMARK]).json();
    let listed = listed.as_array().unwrap();
    let (mut shown, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = reading.ask(ORGANIZER, &format!("{path}?limit=2{cursor}")).json();
        shown.extend(page["submitters"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(shown.len(), n, "{shown:?}");
    assert_eq!(shown.len(), listed.len(), "{listed:?}");
    for (one, listed) in shown.iter().zip(listed) {
        for name in [
            "submitter",
            "n_submissions",
            "n_scored",
            "n_accepted",
            "n_rejected",
            "n_failed",
            "n_unfinished",
            "n_withdrawn",
            "last_upload",
            "is_baseline",
        ] {
            assert_eq!(one[name], listed[name], "{name}: {one}");
        }
        let board = &one["leaderboards"][0];
        assert_eq!(
            board["round_limit"]["n_left"], listed["quotas"][0]["total_left"],
            "{one}"
        );
    }
    let foreign = reading.ask(
        ORGANIZER,
        &format!(
            "/api/v1/benchmarks/{BENCHMARK}/failed{}",
            cursor.replacen('&', "?", 1)
        ),
    );
    assert_eq!(foreign.status, 404, "{foreign:?}");
    let csv = reading.ask(ORGANIZER, &format!("{path}?format=csv")).text();
    assert!(csv.starts_with("submitter,n_submissions,"), "{csv}");
    assert_eq!(csv.lines().count(), n + 1, "{csv}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_similar_names_is_admitted() {
    let world = World::new().await;
    // a refused name is noted nowhere, for any benchmark with a similar one, and failures note
    // nothing
    for n in 0..2 {
        let failed = world.command(["submitter", "add", "dee-1", BENCHMARK, "-l", "no-such-board"]);
        assert_eq!(failed.code, 1, "{n}: {failed:?}");
        assert_eq!(
            world
                .command(["submitter", "add", "rob.1", "vision-selection"])
                .code,
            1,
            "no data set"
        );
    }
    assert_eq!(world.command(["submitter", "add", "dee.1", BENCHMARK]).code, 0);
    let refused = world.command(["token", "create", "--submitter", "dee-1"]);
    assert!(refused.stderr.contains("submitter free dee.1"), "{refused:?}");
    world.ran(["token", "create", "--submitter", "dee.1"]);
    for like_a_baseline in ["baseline_random", "base1ine-x"] {
        let refused = world.command(["token", "create", "--submitter", like_a_baseline]);
        refused.assert_refused("which only the organizer may use");
    }

    // one that was taken by mistake is freed
    assert_eq!(world.command(["submitter", "free", "dee.1"]).code, 0);
    let id = world.command(["token", "list"]).json();
    let id = id
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["submitter"] == "dee.1")
        .unwrap()["id"]
        .clone();
    assert_eq!(world.command(["token", "revoke", id.as_str().unwrap()]).code, 0);
    world.ran(["token", "create", "--submitter", "dee-1"]);
    assert_eq!(world.command(["submitter", "add", "dee-1", BENCHMARK]).code, 0);
    world.ran(["token", "create", "--submitter", "rob_1"]);
    let again = world.command(["submitter", "free", "dee.1"]);
    again.assert_refused("nobody has the name");
}

/// Receipts are filed below names that their submitters chose, with characters that XML can't carry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submitters_are_listed_despite_unusual_folder_names() {
    let world = World::new().await;
    world.put(&format!("{BENCHMARK}/en-25/ada/x.json"), good(0)).await;
    for strange in [
        "en-25/a\u{1}\u{fffe}\u{ffff}",
        "en\u{1f}\u{fffe}/bo",
        "en-25/%41+ü&<",
    ] {
        let key = format!("{BENCHMARK}/{strange}/x.json");
        world.put(&key, good(0)).await;
        let put = world.clients.s3.put_object().bucket("results").key(&key);
        put.body(b"{}".to_vec().into()).send().await.unwrap();
    }
    world.settle().await;
    let ran = world.command(["submitter", "list", BENCHMARK]);
    let names: Vec<Value> = ran
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["submitter"].clone())
        .collect();
    assert_eq!((ran.code, json!(names)), (0, json!(["ada", "bo"])), "{ran:?}");
    let ran = world.command(["status", BENCHMARK, "--submitter", "adda"]);
    ran.assert_refused("`ada`");
}
