//! The reliability of ranks: a board is compared after its scores, whatever breaks on the way, and
//! everybody can read the result.

use dataperf::board::Board;
use dataperf::comparison::leading_pairs::Pairs;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::{Digest, Timestamp};
use dataperf_local::{Config, Moment};
use serde_json::{Value, json};

use crate::challenges::publish;
use crate::datasets::finals::finish;
use crate::faults::nothing_lost::one_process_a_run;
use crate::read_api::{ADA, ANONYMOUS, Answer, BO, ORGANIZER, Reading};
use crate::support::project::BENCHMARK;
use crate::support::small_language::{Layout, TARGETS};
use crate::support::world::{CARETAKER, World, board, key, with_caretaker};

pub(crate) const BOARD: &str = "/api/v1/benchmarks/speech-selection/leaderboards/en-25";

/// A contest of 32 clips a word, and a read API.
async fn reading(change: impl FnOnce(&mut Config)) -> Reading {
    Reading::new(contest(change).await).await
}

/// A contest of 32 clips a word: the demo's boards have fewer than an interval takes.
pub(crate) async fn contest(change: impl FnOnce(&mut Config)) -> World {
    let world = World::without_dataset(|config| {
        with_caretaker(config);
        change(config);
    })
    .await;
    let mut layout = Layout::new(16);
    layout.repeat_eval(8);
    let out = world.scratch().join("compared");
    layout.import(world.scratch(), &out).unwrap();
    world.publish(&out);
    world
}

/// A submission that obeys the rules, a different one for each `n` below 12; every third has the words mixed up.
pub(crate) fn submission(n: usize) -> Vec<u8> {
    let train = Layout::new(16).train;
    let mut targets = serde_json::Map::new();
    for (word, target) in TARGETS.into_iter().enumerate() {
        let clip = &train.targets[target][n % 4];
        let ids = if n % 3 == 2 && word == 1 {
            vec![]
        } else {
            vec![clip.clone()]
        };
        targets.insert(target.into(), ids.into());
    }
    json!({ "targets": targets, "nontargets": [train.nontargets[n % 4]] })
        .to_string()
        .into_bytes()
}

/// Lets the caretaker have due boards compared, and waits for it.
pub(crate) async fn compare(world: &World) {
    let event = json!({"source": "aws.events", "task": "compare"});
    world.cloud.invoke(CARETAKER, &event).await.unwrap();
    world.settle().await;
    let due = world.leaderboards().boards_to_compare(BENCHMARK).await.unwrap();
    assert_eq!(due, [], "all are compared");
}

/// The board as anybody reads it.
fn shown(reading: &Reading) -> Value {
    reading.ask(ANONYMOUS, BOARD).json()
}

fn rows(board: &Value) -> &[Value] {
    board["rows"].as_array().unwrap()
}

/// The row of a submitter.
fn row<'a>(board: &'a Value, submitter: &str) -> &'a Value {
    let row = rows(board).iter().find(|row| row["submitter"] == submitter);
    row.unwrap_or_else(|| panic!("{submitter}: {board:#}"))
}

fn interval(row: &Value) -> (u64, u64) {
    let end = |n: usize| {
        row["rank_interval"][n]
            .as_u64()
            .unwrap_or_else(|| panic!("{row:#}"))
    };
    (end(0), end(1))
}

/// Every row is compared in its current state, and its rank is in its interval.
fn assert_compared(board: &Value) {
    for row in rows(board) {
        let (first, last) = interval(row);
        assert!(first <= last && last <= rows(board).len() as u64, "{row:#}");
        // equal scores share the first of their ranks, and their intervals begin there or before
        assert!(first <= row["rank"].as_u64().unwrap(), "{board:#}");
        let [low, high] = [0, 1].map(|n| row["interval"][n].as_f64().unwrap());
        let score = row["score"].as_f64().unwrap();
        assert!(low <= score && score <= high, "{row:#}");
    }
}

/// The organizer compares any two submissions, of which the board says no more than rank intervals.
fn two_are_compared(world: &World, board: &Value) {
    let id = |submitter| row(board, submitter)["submission"].as_str().unwrap().to_owned();
    let [ada, cy, dan] = ["ada", "cy", "dan"].map(id);
    let compare = |one: &str, other: &str| {
        let ran = world.ran(["leaderboard", "compare", one, other]);
        ran.json()
    };
    let (compared, turned) = (compare(&ada, &cy), compare(&cy, &ada));
    let score = |submitter| row(board, submitter)["score"].as_f64().unwrap();
    let difference = compared["difference"].as_f64().unwrap();
    assert!(
        (difference - (score("ada") - score("cy"))).abs() < 1e-12,
        "{compared}"
    );
    assert_eq!(turned["difference"].as_f64(), Some(-difference), "{turned}");
    let [low, high] = [0, 1].map(|end| compared["interval"][end].as_f64().unwrap());
    assert!(low <= difference && difference <= high, "{compared}");
    // what both have in common cancels: it is narrower than the two intervals of the scores together
    let width = |submitter| {
        let [low, high] = [0, 1].map(|end| row(board, submitter)["interval"][end].as_f64().unwrap());
        high - low
    };
    assert!(high - low < width("ada") + width("cy"), "{compared}");
    let right_oftener =
        ["n_items_first_better", "n_items_second_better"].map(|name| compared[name].as_u64().unwrap());
    assert!(
        right_oftener.iter().sum::<u64>() > 0,
        "they are different files: {compared}"
    );
    let same = compare(&cy, &dan);
    assert_eq!(
        (
            &same["interval"],
            &same["share_first_better"],
            &same["clearly_better"]
        ),
        (&Value::Null, &json!(0.5), &Value::Null),
        "the same file"
    );
    let why = same["why_none"].as_str().unwrap();
    assert!(why.contains("fewer than 6 items"), "{why}");
    let rows = crate::commands::tables::csv(world, &["leaderboard", "compare", &ada, &cy]);
    assert_eq!(rows.column("first_submitter"), ["ada"]);
    assert_eq!(rows.column("difference")[0].parse(), Ok(difference));

    let other_digit = u8::from(ada.ends_with('0'));
    let misspelt = format!("{}{other_digit}", &ada[..31]);
    for (one, other, message) in [
        (&ada, &ada, "named twice"),
        (&ada, &misspelt, "did you mean"),
        (&ada, &"my.json".to_owned(), "there is no submission `my.json`"),
    ] {
        let ran = world.command(["leaderboard", "compare", one, other]);
        ran.assert_refused(message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_compared_after_its_scores() {
    let reading = reading(|_| ()).await;
    let world = &reading.world;
    for (n, submitter) in ["ada", "bo", "cy", "dan"].into_iter().enumerate() {
        world.put(&key(submitter, n), submission(n.min(2))).await; // Dan has Cy's file
    }
    for n in 4..6 {
        world.put(&key("ada", n), submission(0)).await; // the same file again and again
    }
    world.settle().await;
    compare(world).await;
    let board = shown(&reading);
    assert_eq!(rows(&board).len(), 4);
    assert_compared(&board);
    two_are_compared(world, &board);
    let tries = |submitter| row(&board, submitter)["n_submissions"].as_u64().unwrap();
    assert_eq!(["ada", "bo", "cy", "dan"].map(tries), [3, 1, 1, 1]);
    let [cy, dan] = ["cy", "dan"].map(|submitter| interval(row(&board, submitter)));
    assert_eq!(cy, dan, "identical predictions are a tie");
    assert!(cy.0 < cy.1, "{cy:?}");
    // made of the paired differences of neighbours: not before everything is shown
    let comparison_one = |who| reading.ask(who, BOARD).json()["comparison"].clone();
    for who in [ANONYMOUS, ADA] {
        let comparison = comparison_one(who);
        assert_eq!(
            (&comparison["resolution"], &comparison["is_resolution_withheld"]),
            (&Value::Null, &json!(true)),
            "{who}"
        );
    }
    assert!(
        comparison_one(ORGANIZER)["resolution"].is_f64(),
        "{}",
        comparison_one(ORGANIZER)
    );
    let id = row(&board, "cy")["submission"].as_str().unwrap();
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/submissions/{id}");
    let one = reading.ask(ANONYMOUS, &path).json();
    for name in ["rank_interval", "interval", "n_submissions", "is_above_baselines"] {
        assert_eq!(one[name], row(&board, "cy")[name], "{one:#}");
    }

    // A row that goes changes what the others may be.
    let withdrawn = row(&board, "bo")["submission"].as_str().unwrap().to_owned();
    world.ran(["withdraw", BENCHMARK, &withdrawn]);
    compare(world).await;
    let board = shown(&reading);
    assert_eq!(rows(&board).len(), 3);
    assert_compared(&board);
}

/// If a round rounds its scores, ranks have intervals anyway, and scores have none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranks_of_rounded_scores_have_intervals() {
    let reading = reading(|_| ()).await;
    let world = &reading.world;
    let round = |ladder: bool| json!([{ "id": "spring", "leaderboards": ["en-25"], "opens": "2026-01-01", "closes": "2999-01-01", "ladder": ladder }]);
    assert_eq!(publish(world, &round(false)).code, 0);
    for (n, submitter) in ["ada", "bo", "cy", "dan"].into_iter().enumerate() {
        world.put(&key(submitter, n), submission(n.min(2))).await; // Dan has Cy's file
    }
    world.settle().await;
    compare(world).await;
    let board = reading.ask(ANONYMOUS, &format!("{BOARD}?round=spring")).json();
    assert_eq!(rows(&board).len(), 4, "{board:#}");
    for row in rows(&board) {
        let ((first, last), rank) = (interval(row), row["rank"].as_u64().unwrap());
        assert!(first <= rank && rank <= last && last <= 4, "{row:#}");
        assert_eq!(
            (&row["is_released"], &row["interval"]),
            (&json!(true), &Value::Null),
            "{row:#}"
        );
        assert_eq!(row["n_submissions"], 1);
    }
    let [cy, dan] = ["cy", "dan"].map(|submitter| interval(row(&board, submitter)));
    assert_eq!(cy, dan, "identical predictions are a tie");
    assert!(
        rows(&board).iter().any(|row| interval(row) != (1, 4)),
        "some are told apart: {board:#}"
    );
    let why = |name: &str| board["comparison"][name].as_str().map(str::to_owned);
    assert_eq!(why("why_none"), None);
    assert!(
        why("why_no_score_intervals").unwrap().contains("rounds scores"),
        "{board:#}"
    );

    // with another Ladder nothing is revealed about released scores
    let ran = publish(world, &round(true));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(format!("{ran:?}").contains("preset_changed"), "{ran:?}");
    world.put(&key("eve", 5), submission(1)).await;
    world.settle().await;
    compare(world).await;
    let board = reading.ask(ANONYMOUS, &format!("{BOARD}?round=spring")).json();
    assert_eq!(rows(&board).len(), 5, "{board:#}");
    for row in rows(&board) {
        assert_eq!(
            (&row["rank_interval"], &row["interval"]),
            (&Value::Null, &Value::Null),
            "{row:#}"
        );
    }

    // nor is it where the board leaves the round, or the challenge is removed
    let mut elsewhere = round(true);
    elsewhere[0]["leaderboards"] = json!(["en-60"]);
    elsewhere[0]["id"] = json!("elsewhere");
    let moved = publish(world, &elsewhere);
    assert_eq!(moved.code, 0, "{moved:?}");
    assert!(format!("{moved:?}").contains("preset_changed"), "{moved:?}");
    let removed = world.ran(["challenge", "remove", BENCHMARK]);
    assert_eq!(removed.json()["warnings"][0]["code"], "preset_changed");
}

/// One submission has nothing to be compared with: it is clearly first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_of_one_row() {
    let reading = reading(|_| ()).await;
    reading.world.put(&key("ada", 0), submission(0)).await;
    reading.world.settle().await;
    compare(&reading.world).await;
    let board = shown(&reading);
    assert_eq!(interval(row(&board, "ada")), (1, 1));
    assert_compared(&board);
}

/// The function is killed at every write of comparing: what is redelivered or the caretaker compares all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comparison_killed_at_any_moment() {
    let reading = reading(one_process_a_run).await;
    let world = &reading.world;
    world.put(&key("ada", 0), submission(0)).await;
    world.settle().await;
    let (faults, mut n_killed) = (world.cloud.faults(), 0);
    for moment in Moment::of_writes() {
        let submitter = format!("s{}", n_killed % 3);
        faults.kill_no_more(BENCHMARK);
        world.put(&key(&submitter, n_killed), submission(n_killed)).await;
        world.settle().await;
        world
            .leaderboards()
            .mark_to_compare(&board("en-25"))
            .await
            .unwrap();
        faults.kill_at(BENCHMARK, moment);
        let event = json!({"source": "aws.events", "task": "compare"});
        world.cloud.invoke(CARETAKER, &event).await.unwrap();
        world.settle().await;
        if faults.kill_no_more(BENCHMARK) {
            break; // it had ended before its turn came
        }
        n_killed += 1;
        compare(world).await;
        let board = shown(&reading);
        assert_eq!(rows(&board).len(), 1 + n_killed.min(3));
        assert_compared(&board);
    }
    assert!(n_killed >= 4, "comparing writes: {n_killed}");
}

/// Whoever took a board's mark away and was killed before the result was written has left another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_comparison_is_made_again() {
    let reading = reading(one_process_a_run).await;
    let (world, board) = (&reading.world, board("en-25"));
    world.put(&key("ada", 0), submission(0)).await;
    world.settle().await;
    compare(world).await;
    let table = world.leaderboards();
    let due = async || table.boards_to_compare(BENCHMARK).await.unwrap();
    let compared_at = || shown(&reading)["comparison"]["compared_at"].clone();
    let before = compared_at();
    let ahead = Timestamp::from_unix_millis(dataperf_aws::now().unix_millis() + 60_000);
    table.mark_to_compare(&board).await.unwrap();
    table.take_to_compare(&board, ahead).await.unwrap();
    compare(world).await;
    assert_eq!(compared_at(), before, "it is left to whoever took it");
    let past = Timestamp::from_unix_millis(1);
    table.take_to_compare(&board, past).await.unwrap();
    assert_eq!(due().await, std::slice::from_ref(&board));
    compare(world).await;
    assert_ne!(compared_at(), before);
    assert_eq!(due().await, []);
}

/// A row of an earlier version has no replicates. It takes its place in the ranks of the others, and scoring the board again fixes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rescoring_adds_a_row_without_replicates_to_comparisons() {
    let reading = reading(one_process_a_run).await; // no process keeps what it has read
    let world = &reading.world;
    let mut sent = Vec::new();
    for (n, submitter) in ["ada", "bo", "cy"].into_iter().enumerate() {
        sent.push(world.put(&key(submitter, n), submission(n)).await);
    }
    world.settle().await;
    let object = format!("{BENCHMARK}/_/_replicates/{}", sent[1].id());
    let delete = world.clients.s3.delete_object().bucket("results").key(object);
    delete.send().await.unwrap();
    let mark = async || {
        let marked = world.leaderboards().mark_to_compare(&board("en-25")).await;
        marked.unwrap();
    };
    mark().await;
    compare(world).await;
    let before = shown(&reading);
    assert_eq!(before["comparison"]["n_missing"], 1);
    assert!(row(&before, "bo")["rank_interval"].is_null(), "{before:#}");
    let (first, last) = interval(row(&before, "ada"));
    assert!(last > first, "Bo's true rank is not known: {before:#}");

    world.ran(["rescore", BENCHMARK, "en-25"]);
    world.settle().await;
    mark().await;
    compare(world).await;
    let after = shown(&reading);
    assert_eq!(after["comparison"]["n_missing"], 0);
    assert_compared(&after);
}

/// Scores of another data set can't be compared: such rows have no interval and are in nobody's way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_different_data_sets_are_not_compared() {
    let reading = reading(|_| ()).await;
    let world = &reading.world;
    for (n, submitter) in ["ada", "bo"].into_iter().enumerate() {
        world.put(&key(submitter, n), submission(n)).await;
    }
    world.settle().await;
    let mut layout = Layout::new(16);
    layout.repeat_eval(6);
    let out = world.scratch().join("other");
    layout.import(world.scratch(), &out).unwrap();
    world.replace(&out);
    world.put(&key("cy", 2), submission(2)).await;
    world.settle().await;
    compare(world).await;
    let board = shown(&reading);
    for submitter in ["ada", "bo"] {
        let row = row(&board, submitter);
        assert_eq!(row["is_of_other_dataset"], true);
        assert!(
            row["rank_interval"].is_null() && row["interval"].is_null(),
            "{row:#}"
        );
    }
    assert_eq!(interval(row(&board, "cy")), (1, 1));
}

/// A round of all boards with a final data set.
fn spring(closes: &str, last: Digest) -> Value {
    json!([{ "id": "spring", "opens": "2026-01-01T00:00:00Z", "closes": closes, "final": last, "preset": "practice" }])
}

/// The key of a board's paired differences, and whether there are any.
async fn pairs_of(world: &World, board: &Board) -> (String, bool) {
    let key = Pairs::key(board);
    let got = world.bucket("results").get(&key, None, 1 << 20).await.unwrap();
    (key, matches!(got, Got::Object(_)))
}

fn difference(reading: &Reading, who: &str, one: &str, other: &str, more: &str) -> Answer {
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/submissions/{one}/difference?from={other}{more}");
    reading.ask(who, &path)
}

fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["code"].as_str().unwrap().to_owned())
}

/// The read API's difference is what the organizer's command says, with its interval moved outward to two digits of its width.
#[allow(clippy::float_cmp, reason = "the same numbers")]
fn is_that_of_the_organizer(reading: &Reading, one: &str, other: &str) {
    let shown = difference(reading, ANONYMOUS, one, other, "");
    assert_eq!(shown.status, 200, "{shown:?}");
    let shown = shown.json();
    let ran = reading.world.ran(["leaderboard", "compare", one, other]);
    let exact = ran.json();
    assert_eq!(shown["difference"], exact["difference"], "{shown}");
    let ends = |value: &Value| [0, 1].map(|end| value["interval"][end].as_f64().unwrap());
    if exact["interval"].is_null() {
        assert_eq!(
            (&shown["interval"], &shown["clearly_better"]),
            (&Value::Null, &Value::Null),
            "{shown}"
        );
        assert_eq!(shown["why_none"], exact["why_none"]);
        assert!(shown["why_none"].is_string(), "{shown}");
        return;
    }
    let ([low, high], [inner, outer]) = (ends(&shown), ends(&exact));
    let unit = 10_f64.powf((outer - inner).log10().floor() - 1.0) * 1.001;
    assert!(low <= inner && inner - low <= unit, "{shown} {exact}");
    assert!(outer <= high && high - outer <= unit, "{shown} {exact}");
    assert!(
        low < inner || outer < high,
        "the digits of the draws are not shown: {shown}"
    );
    let better = exact["clearly_better"].as_u64();
    let better = better.map_or(Value::Null, |better| json!(if better == 1 { one } else { other }));
    assert_eq!(shown["clearly_better"], better, "{shown}");
    // what only the draws and the items tell is not there
    for name in [
        "share_first_better",
        "n_items_first_better",
        "n_items_second_better",
    ] {
        assert!(
            exact[name].is_number() && shown.get(name).is_none(),
            "{name}: {shown}"
        );
    }

    let turned = difference(reading, ANONYMOUS, other, one, "").json();
    let [turned_low, turned_high] = ends(&turned);
    let value = |value: &Value| value["difference"].as_f64().unwrap();
    assert_eq!(value(&turned), -value(&shown), "{turned}");
    assert!(
        turned_low + high == 0.0 && turned_high + low == 0.0,
        "{turned} {shown}"
    );
    assert_eq!(turned["clearly_better"], shown["clearly_better"]);
}

/// How far two submissions are apart is the organizer's while the round is open, and everybody's, rounded, when it has closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn paired_differences_appear_only_after_the_close() {
    const LATE: &str = "2999-01-01T00:00:00.000Z";
    let reading = reading(one_process_a_run).await;
    let world = &reading.world;
    let mut layout = Layout::new(16);
    layout.repeat_eval(6);
    let out = world.scratch().join("last");
    layout.import(world.scratch(), &out).unwrap();
    world.ran(["dataset", "publish", "--stage", out.to_str().unwrap()]);
    let last = crate::people::organizer_mistakes::digest(&out);
    let ran = publish(world, &spring(LATE, last));
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut ids = Vec::new();
    for (n, submitter) in ["ada", "bo", "cy", "dan"].into_iter().enumerate() {
        let sent = world.put(&key(submitter, n), submission(n.min(2))).await; // Dan has Cy's file
        ids.push(sent.id().to_string());
    }
    world.settle().await;
    let [ada, bo, cy, dan] = [0, 1, 2, 3].map(|n| ids[n].as_str());
    let public = crate::datasets::finals::board("spring");
    let boards = [public.clone(), public.of_final()];
    let due = async || world.leaderboards().boards_to_compare(BENCHMARK).await.unwrap();

    // while it is open
    compare(world).await;
    finish(world).await;
    assert_eq!(due().await, []);
    for board in &boards {
        let (key, is_there) = pairs_of(world, board).await;
        assert!(!is_there, "`{key}` is written while the round is open");
    }
    for who in [ANONYMOUS, ADA, BO, ORGANIZER] {
        for round in ["", "&round=spring", "&round=spring.final"] {
            let answer = difference(&reading, who, ada, bo, round);
            assert_eq!(refusal(&answer), (409, "not_closed".to_owned()), "{who}");
            assert!(answer.text().contains(LATE), "it says when: {answer:?}");
        }
    }

    // after the close the caretaker has what has no score any more compared
    assert_eq!(publish(world, &spring("2026-01-02T00:00:00Z", last)).code, 0);
    let answer = difference(&reading, ANONYMOUS, ada, bo, "");
    assert_eq!(refusal(&answer), (404, "not_compared".to_owned()));
    let _leases = world.short_leases(BENCHMARK);
    let (faults, mut n_killed) = (world.cloud.faults(), 0);
    for moment in Moment::of_writes() {
        finish(world).await;
        assert!(due().await.contains(&public), "it is due: {moment:?}");
        faults.kill_at(BENCHMARK, moment);
        let event = json!({"source": "aws.events", "task": "compare"});
        world.cloud.invoke(CARETAKER, &event).await.unwrap();
        world.settle().await;
        let is_over = faults.kill_no_more(BENCHMARK);
        compare(world).await;
        let (key, is_there) = pairs_of(world, &public).await;
        assert!(is_there, "`{key}` is missing after {moment:?}");
        if is_over {
            break; // it had ended before its turn came
        }
        n_killed += 1;
        let delete = world.clients.s3.delete_object().bucket("results").key(key);
        delete.send().await.unwrap();
    }
    assert!(n_killed >= 4, "three writes: {n_killed}");
    finish(world).await;
    assert_eq!(due().await, [], "it is compared once");
    for (one, other) in [(ada, bo), (ada, cy), (bo, cy), (cy, dan)] {
        is_that_of_the_organizer(&reading, one, other);
    }
    let of_final = difference(&reading, ANONYMOUS, ada, cy, "&round=spring.final");
    assert_eq!(of_final.status, 200, "{of_final:?}");
    let of_final = of_final.json();
    assert_eq!(
        (&of_final["dataset"], &of_final["round"]),
        (&json!(last.to_string()), &json!("spring.final"))
    );
    let of_board = reading
        .ask(ANONYMOUS, &format!("{BOARD}?round=spring.final"))
        .json();
    let score = |submitter| row(&of_board, submitter)["score"].as_f64().unwrap();
    assert_eq!(of_final["difference"].as_f64(), Some(score("ada") - score("cy")));
    assert!(of_final["interval"].is_array(), "{of_final}");

    // another round that uses the data is open: what was written is not shown
    let mut again = spring("2026-01-02T00:00:00Z", last);
    let summer = json!({ "id": "summer", "opens": "2026-02-01T00:00:00Z", "closes": LATE });
    again.as_array_mut().unwrap().push(summer);
    assert_eq!(publish(world, &again).code, 0);
    let answer = difference(&reading, ORGANIZER, ada, bo, "");
    assert_eq!(refusal(&answer), (409, "not_closed".to_owned()), "{answer:?}");
    assert_eq!(publish(world, &spring("2026-01-02T00:00:00Z", last)).code, 0);

    // invalid requests
    let mut posted = Vec::new();
    for n in 4..6 {
        let sent = world.put(&key(["ed", "fay"][n - 4], n), submission(n)).await;
        posted.push(sent.id().to_string());
    }
    world.settle().await;
    compare(world).await;
    finish(world).await;
    let post = Board {
        round: "spring.post".into(),
        ..public.clone()
    };
    assert!(!pairs_of(world, &post).await.1);
    for (one, other, more, expected) in [
        (ada, ada, "", (400, "bad_request")),
        (ada, "none", "", (400, "bad_request")),
        (ada, bo, "&round=open", (400, "bad_request")),
        (ada, &*"0".repeat(32), "", (404, "unknown_submission")),
        (ada, &*posted[0], "", (409, "different_boards")),
        (&*posted[0], &*posted[1], "", (409, "never_shown")),
    ] {
        let refused = refusal(&difference(&reading, ANONYMOUS, one, other, more));
        assert_eq!((refused.0, refused.1.as_str()), expected, "{one} {other}{more}");
    }
    world.ran(["withdraw", BENCHMARK, bo]);
    let answer = difference(&reading, ANONYMOUS, ada, bo, "");
    assert_eq!(refusal(&answer), (401, "token_needed".to_owned()));
    compare(world).await;
    let answer = difference(&reading, ORGANIZER, ada, bo, "");
    assert_eq!(refusal(&answer), (404, "not_among_the_first".to_owned()));
    is_that_of_the_organizer(&reading, ada, cy);
}
