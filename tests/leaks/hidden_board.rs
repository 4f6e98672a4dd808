//! A blind round: only the organizer sees the rows of its board.

use dataperf::Receipt;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf_aws::Key;
use serde_json::{Value, json};

use crate::challenges::{publish, receipt};
use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, good};
use crate::support::world::{World, key, with_caretaker};

fn round(closes: &str) -> Value {
    json!([{ "id": "spring", "opens": "2026-01-01", "closes": closes, "preset": "blind", "artifacts": "public" }])
}

/// Every address that has rows, points, submissions or what is made of them.
fn ways(of_bo: &str, of_ada: &str) -> Vec<String> {
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let board = format!("{url}/leaderboards/en-25");
    let mut ways = vec!["/api/v1/benchmarks".to_owned(), url.clone()];
    for format in ["json", "csv"] {
        ways.push(format!("{board}?round=spring&include=spread&format={format}"));
        ways.push(format!("{board}/series?round=spring&format={format}"));
        ways.push(format!("{url}/submissions?submitter=bo&format={format}"));
        ways.push(format!("{url}/submissions/{of_bo}/figures?format={format}"));
    }
    ways.push(format!("{board}/retirement?round=spring"));
    for rest in ["", "/receipt", "/artifact"] {
        ways.push(format!("{url}/submissions/{of_bo}{rest}"));
    }
    ways.push(format!("{url}/submissions/{of_ada}/difference?from={of_bo}"));
    ways
}

/// The board's leaders in the list of benchmarks.
fn leaders(reading: &Reading, who: &str) -> Value {
    let listed = reading.ask(who, "/api/v1/benchmarks?include=leaders").json();
    let benchmarks = listed["benchmarks"].as_array().unwrap();
    let benchmark = benchmarks
        .iter()
        .find(|benchmark| benchmark["id"] == BENCHMARK)
        .unwrap();
    let boards = benchmark["leaderboards"].as_array().unwrap();
    let is_it = |board: &&Value| board["name"] == "en-25" && board["round"] == "spring";
    boards.iter().find(is_it).unwrap()["leaders"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn only_the_organizer_sees_a_hidden_board() {
    let world = World::with(with_caretaker).await;
    let ran = publish(&world, &round("2999-01-01"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let of_ada = world.put(&key("ada", 0), good(0)).await;
    let of_bo = world.put(&key("bo", 0), good(1)).await;
    world.settle().await;
    let (own, secret) = (receipt(&world, &of_ada).await, receipt(&world, &of_bo).await);
    let reading = Reading::new(world).await;
    let released = |receipt: &Receipt| receipt.ladder.as_ref().unwrap().score.unwrap();
    let [score, rounded] =
        [secret.verdict.score.unwrap(), released(&secret)].map(|score| json!(score).to_string());
    let secrets = [score.as_str(), rounded.as_str(), secret.submission.as_str()];
    let of_own = [own.verdict.score.unwrap(), released(&own)].map(|score| json!(score).to_string());

    for who in [ANONYMOUS, ADA] {
        for path in ways(secret.submission.as_str(), own.submission.as_str()) {
            let answer = reading.ask(who, &path);
            let text = String::from_utf8(answer.body.clone()).unwrap();
            for secret in secrets {
                assert!(!text.contains(secret), "{who} reads {secret} at {path}: {text}");
            }
        }
        for path in ways(own.submission.as_str(), own.submission.as_str()) {
            let path = path.replace("submitter=bo", "submitter=ada");
            let text = String::from_utf8(reading.ask(who, &path).body.clone()).unwrap();
            for own in &of_own {
                assert!(
                    !text.contains(own.as_str()),
                    "{who} reads {own} at {path}: {text}"
                );
            }
        }
        let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25?round=spring");
        let board = reading.ask(who, &path).json();
        assert_eq!(
            board["rows"],
            json!([]),
            "not even one's own: it would tell the rank"
        );
        assert_eq!(board["hidden_until"], "2999-01-02T00:00:00.000Z");
        assert_eq!(board["comparison"], Value::Null);
        assert_eq!(leaders(&reading, who)["hidden_until"], board["hidden_until"]);
    }

    // one's own submission has neither score nor rank
    let path = |id: &str| format!("/api/v1/benchmarks/{BENCHMARK}/submissions/{id}");
    let theirs = reading.ask(ADA, &path(own.submission.as_str()));
    let known = theirs.json();
    assert_eq!(
        (&known["status"], &known["score"], &known["whole_at"]),
        (&json!("scored"), &Value::Null, &json!("2999-01-02T00:00:00.000Z")),
        "{theirs:?}"
    );
    for nothing in ["rank_interval", "area"] {
        assert_eq!(theirs.json()[nothing], Value::Null);
    }
    let (of_others, of_bo) = (
        reading.ask(BO, &path(own.submission.as_str())),
        reading.ask(BO, &path(secret.submission.as_str())),
    );
    assert_eq!((of_others.status, of_bo.status), (403, 200));
    let listed = format!("/api/v1/benchmarks/{BENCHMARK}/submissions?submitter=ada");
    assert_eq!(
        reading.ask(ADA, &listed).json()["submissions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(reading.ask(BO, &listed).json()["submissions"], json!([]));

    let text = String::from_utf8(reading.world.result(&own.object_key()).await).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&written["status"], &written["withheld_until"]),
        (&json!("scored"), &json!("2999-01-02T00:00:00.000Z"))
    );
    assert!(of_own.iter().all(|own| !text.contains(own.as_str())), "{text}");

    let view = async || {
        let key = Key::new(format!("{BENCHMARK}#public"), "en-25#spring");
        reading.world.leaderboards().item(key).await.unwrap()
    };
    assert_eq!(view().await, None, "dashboards see no hidden board");

    // the organizer sees everything
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25?round=spring");
    let board = reading.ask(ORGANIZER, &path).json();
    assert_eq!(board["rows"].as_array().unwrap().len(), 2);
    assert_eq!(board["hidden_until"], Value::Null);
    let ran = reading.world.command(["leaderboard", BENCHMARK, "en-25"]);
    assert_eq!(ran.json()[0]["places"].as_array().unwrap().len(), 2);

    // a document without the round would open its boards, and so would none
    let ran = publish(
        &reading.world,
        &json!([{ "id": "summer", "opens": "2027-01-01" }]),
    );
    let reason = &ran.json()["reasons"][0];
    assert_eq!(
        (ran.code, &reason["code"], &reason["at"]),
        (
            2,
            &json!("hidden_round_missing"),
            &json!(format!("/benchmarks/{BENCHMARK}/rounds"))
        ),
    );
    let ran = reading.world.command(["challenge", "remove", BENCHMARK]);
    ran.assert_refused("hides its boards");
    assert_eq!(reading.ask(ANONYMOUS, &path).json()["rows"], json!([]));

    let led = leaders(&reading, ORGANIZER);
    assert_eq!(
        (&led["n_submitters"], &led["has_more"]),
        (&json!(2), &json!(false))
    );

    // when the round closes so does everybody
    assert_eq!(publish(&reading.world, &round("2026-02-01")).code, 0);
    for who in [ANONYMOUS, ADA, BO] {
        let board = reading.ask(who, &path).json();
        assert_eq!(board["rows"].as_array().unwrap().len(), 2, "{who}: {board}");
        assert_eq!(board["hidden_until"], Value::Null);
        let leader = &leaders(&reading, who)["leader"];
        assert_eq!(leader["submission"], board["rows"][0]["submission"]);
        assert_eq!(
            (&leader["rank"], &leader["score"]),
            (&json!(1), &board["rows"][0]["score"])
        );
    }
    let top = reading.world.leaderboards().top(&own.board(), 10).await.unwrap();
    assert_eq!(top.len(), 2);
    let view = view().await.expect("dashboards see the board");
    assert_eq!(view["rows"].as_l().map(Vec::len), Ok(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_can_not_be_hidden_for_good() {
    let world = World::new().await;
    let rounds = json!([{ "id": "spring", "opens": "2026-01-01", "preset": "blind" }]);
    let ran = publish(&world, &rounds);
    assert_eq!(
        (ran.code, ran.json()["reasons"][0]["code"].as_str()),
        (2, Some("hidden_for_good"))
    );
}
