//! The Ladder end to end: no way out tells more than what it has released, until the round closes.

use dataperf::board::Board;
use dataperf::receipt::released_score::Climb;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Feedback, Receipt};
use serde_json::{Value, json};

use crate::challenges::publish_ladder;
use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};
use crate::support::project::{self, BENCHMARK, frozen, good, hosted};
use crate::support::words;
use crate::support::world::{Sent, World, with_caretaker};

const OPEN_UNTIL: &str = "2999-01-01T00:00:00Z";
const CLOSED_SINCE: &str = "2020-01-02T00:00:00Z";

fn board() -> Board {
    Board {
        round: "spring".into(),
        ..crate::support::world::board("en-25")
    }
}

/// Everything that somebody can read of ada's submissions and their board, by its path.
fn answers(reading: &Reading, who: &str, receipts: &[Receipt]) -> Vec<(String, String)> {
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let board = format!("{url}/leaderboards/en-25");
    let mut paths = vec![url.clone()];
    for format in ["json", "csv"] {
        paths.push(format!("{board}?round=spring&include=spread&format={format}"));
        paths.push(format!("{board}/series?round=spring&format={format}"));
        paths.push(format!("{url}/submissions?submitter=ada&format={format}"));
    }
    for receipt in receipts {
        let id = &receipt.submission;
        paths.extend(
            ["", "/figures", "/figures?format=csv", "/receipt"]
                .map(|rest| format!("{url}/submissions/{id}{rest}")),
        );
    }
    let answer = |path: String| {
        let answer = reading.ask(who, &path);
        let theirs = who == ADA || who == ORGANIZER || !path.ends_with("/receipt");
        assert_eq!(answer.status == 200, theirs, "{who} at {path}: {answer:?}");
        (path, String::from_utf8(answer.body).unwrap())
    };
    paths.into_iter().map(answer).collect()
}

/// The score of a whole receipt as JSON and CSV write it.
fn own(receipt: &Receipt) -> String {
    json!(receipt.verdict.score).to_string()
}

/// Every text of the table but the organizer's: whole receipts.
async fn items(world: &World) -> String {
    let mut texts = Vec::new();
    for mut item in world.items().await {
        item.remove("receipt");
        texts.push(format!("{item:?}"));
    }
    texts.join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story, and every way out
async fn every_output_shows_only_released_ladder_scores() {
    let world = World::with(with_caretaker).await;
    publish_ladder(&world, true, OPEN_UNTIL);
    let mut receipts = Vec::new();
    let mut sent = Vec::new();
    for n in 0..6 {
        sent.push(
            world
                .put(&format!("{BENCHMARK}/en-25/ada/{n}.json"), good(n))
                .await,
        );
        world.settle().await; // one after another: the order of recording is that of uploading
        receipts.push(world.whole_receipt(sent.last().unwrap()).await);
    }
    let row = world.items().await.into_iter().find(|item| {
        item["pk"].as_s().unwrap().contains("#rows#en-25#spring") && item["sk"].as_s().unwrap() == "ada"
    });
    assert_eq!(
        row.unwrap()["n_scored"].as_n().unwrap(),
        "6",
        "those that did not climb are tries"
    );
    let bo = world.put(&format!("{BENCHMARK}/en-25/bo/0.json"), good(0)).await;
    world.settle().await;
    let of_bo = world.whole_receipt(&bo).await;
    let reading = Reading::new(world).await;
    let world = &reading.world;

    // by hand: the last released one, or the own, rounded
    let n_items = receipts[0].verdict.metrics["n_eval"].as_f64().unwrap();
    let mut last: Option<f64> = None;
    for receipt in &receipts {
        let own = receipt.verdict.score.unwrap();
        let rounded = (own * n_items).round() / n_items;
        if receipt.climb() == Some(Climb::Climbed) {
            assert!(last.is_none_or(|last| rounded > last), "{receipt:?}");
            last = Some(rounded);
        }
        assert_eq!(receipt.public_score(), last, "{receipt:?}");
    }
    let climbed = |receipt: &&Receipt| receipt.climb() == Some(Climb::Climbed);
    let n_climbs = receipts.iter().filter(climbed).count();
    assert!(
        (2..receipts.len()).contains(&n_climbs),
        "some climb and some don't: {n_climbs}"
    );

    // nobody but the organizer reads a score of a submission's own, not even one that has climbed
    for receipt in &receipts {
        let (object, text) = world.stored_receipt(receipt).await;
        assert_eq!(
            object.unsigned(),
            receipt.shown(Feedback::Score, hosted(BENCHMARK))
        );
        assert_eq!(object.verdict.score, receipt.public_score());
        assert!(!text.contains(&own(receipt)), "{text}");
    }
    let table = items(world).await;
    for who in [ANONYMOUS, ADA, BO] {
        let read = answers(&reading, who, &receipts);
        for receipt in &receipts {
            for (path, text) in &read {
                assert!(
                    !text.contains(&own(receipt)),
                    "{who} reads {} at {path}: {text}",
                    own(receipt)
                );
            }
            assert!(!table.contains(&own(receipt)), "{} is in the table", own(receipt));
        }
        let at = |end: &str| {
            let file = read.iter().find(|(path, _)| path.ends_with(end));
            serde_json::from_str::<Value>(&file.unwrap().1).unwrap()
        };
        let rows = at("include=spread&format=json");
        assert_eq!(rows["rows"][0]["score"], json!(last), "{rows}");
        for row in rows["rows"].as_array().unwrap() {
            assert_eq!(row["is_released"], true);
            for nothing in [
                "interval",
                "rank_interval",
                "is_above_baselines",
                "area",
                "spread",
            ] {
                assert!(row[nothing].is_null(), "{row}");
            }
        }
        let why = rows["comparison"]["why_none"].as_str().unwrap();
        assert!(why.contains("Ladder"), "{why}");
        assert_eq!(
            (&rows["comparison"]["resolution"], &rows["comparison"]["n_best"]),
            (&Value::Null, &json!(0))
        );
        let one = at(&format!("/submissions/{}", receipts[0].submission));
        assert_eq!(
            (&one["feedback"], &one["is_released"]),
            (&json!("score"), &json!(true))
        );
        assert!(
            one["withheld"].as_array().unwrap().contains(&json!("score")),
            "{one}"
        );
    }
    let of_organizer = answers(&reading, ORGANIZER, &receipts);
    for receipt in &receipts {
        let read = of_organizer.iter().any(|(_, text)| text.contains(&own(receipt)));
        assert!(read, "the organizer reads everything");
    }
    let round = &reading
        .ask(ANONYMOUS, &format!("/api/v1/benchmarks/{BENCHMARK}"))
        .json()["challenge"]["rounds"][0];
    assert_eq!(
        (&round["preset"], &round["ladder"]),
        (&json!("contest"), &json!(true)),
        "participants are told"
    );

    // what is released verifies, and says what was not recomputed
    let ran = verified(world, &world.stored_receipt(&receipts[1]).await.1, &good(1));
    assert_eq!(
        (
            ran["verified"].clone(),
            ran["withheld"].as_array().unwrap().contains(&json!("score"))
        ),
        (json!(true), true),
        "{ran}"
    );

    // a delivery once more, an evaluation once more: what was released stays
    world.ran(["rescore", BENCHMARK, "en-25", "--round", "spring"]);
    for (sent, before) in sent.iter().zip(&receipts) {
        let again = world.whole_receipt(sent).await;
        assert_eq!((again.revision, &again.ladder), (2, &before.ladder));
        let (object, text) = world.stored_receipt(&again).await;
        assert_eq!(object.verdict.score, before.public_score());
        assert!(!text.contains(&own(before)), "{text}");
    }

    without_the_round(&reading, &receipts);
    publish_ladder(world, true, OPEN_UNTIL);
    after_the_close(&reading, &sent, &receipts, &of_bo).await;
}

/// Uploads to a second board with the same test set reveal nothing that the first one holds back,
/// until the close.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_board_does_not_reveal_a_held_score() {
    let world = World::with(with_caretaker).await;
    publish_ladder(&world, true, OPEN_UNTIL);
    let upload = async |leaderboard: &str, n: usize| {
        let key = format!("{BENCHMARK}/{leaderboard}/ada/{n}.json");
        let sent = world.put(&key, good(n)).await;
        world.settle().await;
        world.whole_receipt(&sent).await
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for n in 0..6 {
        first.push(upload("en-25", n).await);
    }
    for n in 0..6 {
        second.push(upload("en-60", n).await);
    }
    let n_held = first
        .iter()
        .filter(|receipt| receipt.climb() == Some(Climb::Held))
        .count();
    assert!(n_held > 0, "the first board holds some back");
    for receipt in &second {
        assert_eq!(
            (receipt.verdict.status, receipt.climb()),
            (Ending::Scored, Some(Climb::Held))
        );
        let (object, text) = world.stored_receipt(receipt).await;
        assert_eq!((receipt.public_score(), object.verdict.score), (None, None));
        let ladder = serde_json::from_str::<Value>(&text).unwrap()["ladder"].clone();
        assert_eq!(
            (&ladder["score"], &ladder["has_climbed"]),
            (&Value::Null, &json!(false))
        );
        assert!(!text.contains(&own(receipt)), "{text}");
    }
    let table = items(&world).await;
    let reading = Reading::new(world).await;
    let world = &reading.world;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let mut paths = vec![
        format!("{url}/leaderboards/en-60?round=spring&include=spread"),
        format!("{url}/leaderboards/en-60/series?round=spring"),
        format!("{url}/submissions?submitter=ada"),
    ];
    for receipt in &second {
        let id = &receipt.submission;
        paths.extend(["", "/figures", "/receipt"].map(|rest| format!("{url}/submissions/{id}{rest}")));
    }
    for who in [ANONYMOUS, ADA, BO] {
        for path in &paths {
            let text = String::from_utf8(reading.ask(who, path).body).unwrap();
            for receipt in &second {
                assert!(!text.contains(&own(receipt)), "{who} at {path}: {text}");
            }
        }
    }
    assert!(second.iter().all(|receipt| !table.contains(&own(receipt))));
    let board = reading.ask(ANONYMOUS, &paths[0]).json();
    assert_eq!(board["rows"], json!([]));
    let one = format!("{url}/submissions/{}", second[0].submission);
    assert_eq!(reading.ask(ADA, &one).json()["score"], Value::Null);
    assert_ne!(reading.ask(ANONYMOUS, &one).status, 200, "it is on no board");

    publish_ladder(world, true, CLOSED_SINCE);
    crate::datasets::finals::finish_round(world, "spring").await;
    let best = second
        .iter()
        .filter_map(|receipt| receipt.verdict.score)
        .fold(0.0, f64::max);
    let second_board = Board {
        leaderboard: "en-60".into(),
        ..self::board()
    };
    let top = world.leaderboards().top(&second_board, 9).await.unwrap();
    assert_eq!((top[0].entry.score, top[0].entry.climb), (Some(best), None));
}

async fn upload(world: &World, leaderboard: &str, name: &str, n: usize) -> Receipt {
    let key = format!("{BENCHMARK}/{leaderboard}/ada/{name}.json");
    let sent = world.put(&key, good(n)).await;
    world.settle().await;
    world.whole_receipt(&sent).await
}

fn is_held(receipt: &Receipt) -> bool {
    assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
    (receipt.climb(), receipt.public_score()) == (Some(Climb::Held), None)
}

/// A data set that takes the place of another starts the Ladder again, once for all boards of a test set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boards_that_are_scored_again_share_their_ladder() {
    let world = World::new().await;
    publish_ladder(&world, true, OPEN_UNTIL);
    let first = upload(&world, "en-25", "first", 0).await;
    assert_eq!(first.climb(), Some(Climb::Climbed));
    let held = upload(&world, "en-60", "held", 1).await;
    assert!(is_held(&held), "{held:?}");

    world.replace(&crate::people::organizer_mistakes::other_dataset(&world));
    for leaderboard in ["en-25", "en-60"] {
        world.ran(["rescore", BENCHMARK, leaderboard, "--round", "spring"]);
    }
    let again = async |receipt: &Receipt| {
        let known = world
            .leaderboards()
            .submission(BENCHMARK, &receipt.submission)
            .await;
        let again = known.unwrap().unwrap().receipt.unwrap();
        assert_ne!(again.verdict.dataset, receipt.verdict.dataset);
        again
    };
    assert_eq!(again(&first).await.climb(), Some(Climb::Climbed));
    let held = again(&held).await;
    assert!(is_held(&held), "{held:?}");
    let next = upload(&world, "en-60", "next", 2).await;
    assert!(is_held(&next), "{next:?}");
}

/// A challenge that is published again, and so knows the active data set, continues with the
/// existing Ladder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_the_challenge_again_keeps_the_ladder() {
    let world = World::new().await;
    publish_ladder(&world, true, OPEN_UNTIL);
    world.replace(&crate::people::organizer_mistakes::other_dataset(&world));
    assert_eq!(
        upload(&world, "en-25", "first", 0).await.climb(),
        Some(Climb::Climbed)
    );
    let held = upload(&world, "en-60", "held", 1).await;
    assert!(is_held(&held), "{held:?}");

    publish_ladder(&world, true, OPEN_UNTIL);
    let same = upload(&world, "en-60", "same", 1).await;
    assert_eq!(same.verdict.dataset, held.verdict.dataset);
    assert!(is_held(&same), "{same:?}");
}

/// A contest shows every score, and none of its digits that the test set has no item for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_rounded_scores_are_visible_until_the_close() {
    let world = World::with(with_caretaker).await;
    publish_ladder(&world, false, OPEN_UNTIL);
    let mut receipts = Vec::new();
    for n in [0, 1, 2, 3, 0] {
        let key = format!("{BENCHMARK}/en-25/ada/{}.json", receipts.len());
        let sent = world.put(&key, good(n)).await;
        world.settle().await;
        receipts.push(world.whole_receipt(&sent).await);
    }
    let n_items = receipts[0].verdict.metrics["n_eval"].as_f64().unwrap();
    for receipt in &receipts {
        let own = receipt.verdict.score.unwrap();
        let rounded = (own * n_items).round() / n_items;
        assert_eq!(
            (receipt.public_score(), receipt.climb()),
            (Some(rounded), Some(Climb::Climbed))
        );
        assert_ne!(own.to_bits(), rounded.to_bits(), "it has more digits");
    }
    assert_eq!(receipts[0].public_score(), receipts[4].public_score());
    let shown: std::collections::BTreeSet<u64> = receipts
        .iter()
        .filter_map(|receipt| Some(receipt.public_score()?.to_bits()))
        .collect();
    assert!(shown.len() > 2, "worse scores are shown too");
    let reading = Reading::new(world).await;
    let world = &reading.world;
    let table = items(world).await;
    for receipt in &receipts {
        let (object, text) = world.stored_receipt(receipt).await;
        assert_eq!(object.verdict.score, receipt.public_score());
        assert!(!text.contains(&own(receipt)), "{text}");
        assert!(!table.contains(&own(receipt)), "{} is in the table", own(receipt));
    }
    for who in [ANONYMOUS, ADA, BO] {
        for (path, text) in answers(&reading, who, &receipts) {
            for receipt in &receipts {
                assert!(
                    !text.contains(&own(receipt)),
                    "{who} reads {} at {path}",
                    own(receipt)
                );
            }
        }
    }
    let exported = world.exported("exported");
    for receipt in &receipts {
        assert!(!exported.contains(&own(receipt)), "{exported}");
    }
    let described = reading
        .ask(ANONYMOUS, &format!("/api/v1/benchmarks/{BENCHMARK}"))
        .json();
    assert_eq!(described["challenge"]["rounds"][0]["ladder"], json!(false));
    without_the_round(&reading, &receipts);

    publish_ladder(world, false, CLOSED_SINCE);
    crate::datasets::finals::finish_round(world, "spring").await;
    let top = world.leaderboards().top(&board(), 9).await.unwrap();
    let best = receipts
        .iter()
        .filter_map(|receipt| receipt.verdict.score)
        .fold(0.0, f64::max);
    assert_eq!((top[0].entry.score, top[0].entry.climb), (Some(best), None));
    for receipt in &receipts {
        let (object, text) = world.stored_receipt(receipt).await;
        assert_eq!(object.verdict.score, receipt.verdict.score);
        assert!(text.contains(&own(receipt)), "{text}");
    }
}

/// A challenge that shows everything and has the round no longer does not show what the round's Ladder holds back.
fn without_the_round(reading: &Reading, receipts: &[Receipt]) {
    let document = json!({ "schema": 1, "title": "t", "benchmarks": { BENCHMARK: { "rounds": [] } } });
    let path = reading.world.scratch().join("without.yaml");
    std::fs::write(&path, document.to_string()).unwrap(); // JSON is YAML
    let ran = reading
        .world
        .command(words!("challenge publish {} --remove spring", path.display()));
    assert_eq!(ran.code, 0, "{ran:?}");
    for receipt in receipts {
        for rest in ["", "/figures"] {
            let path = format!(
                "/api/v1/benchmarks/{BENCHMARK}/submissions/{}{rest}",
                receipt.submission
            );
            let text = String::from_utf8(reading.ask(ANONYMOUS, &path).body).unwrap();
            assert!(!text.contains(&own(receipt)), "{text}");
            assert!(!text.contains("\"full\""), "{text}");
        }
    }
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25?round=spring&include=spread");
    let page = reading.ask(ANONYMOUS, &path).json();
    let rows = page["rows"].as_array().unwrap();
    assert!(!rows.is_empty(), "{page}");
    // the mean over the seeds is the score
    assert!(rows.iter().all(|row| row["spread"].is_null()), "{page}");
    assert!(page["comparison"]["resolution"].is_null(), "{page}");
}

/// After the close whole receipts are shown by the clock, and boards once they are released.
async fn after_the_close(reading: &Reading, sent: &[Sent], receipts: &[Receipt], of_bo: &Receipt) {
    let world = &reading.world;
    let early = world.command(["challenge", "release", BENCHMARK, "spring"]);
    assert_eq!(early.code, 1, "{early:?}");
    publish_ladder(world, true, CLOSED_SINCE);
    let read = answers(reading, ADA, receipts);
    for receipt in receipts {
        let own = own(receipt);
        let path = format!("/submissions/{}", receipt.submission);
        for end in [path.clone(), format!("{path}/receipt")] {
            let (_, text) = read.iter().find(|(path, _)| path.ends_with(&end)).unwrap();
            assert!(text.contains(&own), "{end}: {text}");
        }
    }
    for n_changed in [7, 0] {
        let released = world
            .command(["challenge", "release", BENCHMARK, "spring"])
            .json();
        assert_eq!(
            (&released["receipts"], &released["lifted"]),
            (&json!(n_changed), &json!(n_changed)),
            "{released}"
        );
    }
    for sent in sent {
        let receipt = world.whole_receipt(sent).await;
        let (object, text) = world.stored_receipt(&receipt).await;
        assert_eq!(
            object.unsigned(),
            receipt.shown(Feedback::Full, hosted(BENCHMARK))
        );
        assert!(text.contains(&own(&receipt)), "{text}");
    }
    let best = receipts
        .iter()
        .max_by(|a, b| a.verdict.score.partial_cmp(&b.verdict.score).unwrap());
    let best = best.unwrap();
    let top = world.leaderboards().top(&board(), 9).await.unwrap();
    let scores: Vec<_> = top
        .iter()
        .map(|row| (row.entry.id.clone(), row.entry.score, row.entry.climb))
        .collect();
    let expected = [best, of_bo].map(|receipt| (receipt.submission.clone(), receipt.verdict.score, None));
    assert_eq!(scores, expected, "the board shows submissions' own scores");
    world
        .cloud
        .invoke(crate::support::world::CARETAKER, &json!({ "task": "compare" }))
        .await
        .unwrap();
    world.settle().await;
    let path = format!("/api/v1/benchmarks/{BENCHMARK}/leaderboards/en-25?round=spring");
    let rows = reading.ask(ANONYMOUS, &path).json();
    for row in rows["rows"].as_array().unwrap() {
        assert_eq!(row["is_released"], false, "{rows}");
    }
    // the replicates of submissions' own scores are read again: the demo's test set is too small for intervals of scores, and says so
    assert_eq!(rows["comparison"]["why_none"], Value::Null, "{rows}");
    let why = rows["comparison"]["why_no_score_intervals"].as_str().unwrap();
    assert!(why.contains("fewer than 20 items"), "{why}");
}

/// Uploads one artifact and reads its receipt, as its submitter does.
async fn shown_score(world: &World, n: usize, artifact: &Value) -> f64 {
    let key = format!("{BENCHMARK}/en-25/eve/{n}.json");
    let sent = world.put(&key, artifact.to_string()).await;
    // the board need not be compared before the next one
    let receipt = crate::faults::attackers::ended(world, BENCHMARK, &sent).await;
    receipt.public_score().expect("it obeys the rules")
}

/// The artifacts of the demo, mixed: of each word as many clips as the first one has, drawn from all of them.
struct Clips {
    of_word: Vec<(String, usize, Vec<Value>)>,
    random: u64,
}

impl Clips {
    fn new() -> Self {
        let read = |n| serde_json::from_slice::<Value>(&good(n)).unwrap();
        let words = |artifact: &Value| -> Vec<(String, Vec<Value>)> {
            let targets = artifact["targets"].as_object().unwrap().iter();
            let targets = targets.map(|(word, clips)| (word.clone(), clips));
            let all = targets.chain([("nontargets".to_owned(), &artifact["nontargets"])]);
            all.map(|(word, clips)| (word, clips.as_array().unwrap().clone()))
                .collect()
        };
        let first = words(&read(0));
        let mut of_word: Vec<_> = first
            .into_iter()
            .map(|(word, clips)| (word, clips.len(), clips))
            .collect();
        for n in 1..6 {
            for (word, clips) in words(&read(n)) {
                let known = of_word.iter_mut().find(|(known, ..)| *known == word).unwrap();
                known.2.extend(clips);
            }
        }
        for (_, _, clips) in &mut of_word {
            clips.sort_by_key(Value::to_string);
            clips.dedup();
        }
        Self { of_word, random: 7 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % n
    }

    /// Some clips of each word, of which about `share` percent are freshly drawn.
    fn drawn(&mut self, from: Option<&[Vec<Value>]>, share: usize) -> Vec<Vec<Value>> {
        let mut drawn = Vec::new();
        for word in 0..self.of_word.len() {
            let n = self.of_word[word].1;
            let mut chosen: Vec<Value> = from.map_or_else(Vec::new, |from| from[word].clone());
            chosen.retain(|_| self.below(100) >= share);
            while chosen.len() < n {
                let clip = self.below(self.of_word[word].2.len());
                let clip = self.of_word[word].2[clip].clone();
                if !chosen.contains(&clip) {
                    chosen.push(clip);
                }
            }
            drawn.push(chosen);
        }
        drawn
    }

    fn artifact(&self, chosen: &[Vec<Value>]) -> Value {
        let mut artifact = json!({ "targets": {}, "nontargets": [] });
        for ((word, ..), clips) in self.of_word.iter().zip(chosen) {
            if word == "nontargets" {
                artifact["nontargets"] = json!(clips);
            } else {
                artifact["targets"][word] = json!(clips);
            }
        }
        artifact
    }
}

/// Random changes, of which the attacker keeps those that the platform calls better: the board's
/// score at first and in the end, and how often it changed.
async fn climb(preset: &str, ladder: bool, n_uploads: usize) -> (f64, f64, usize) {
    let world = World::new().await;
    let round =
        json!({ "id": "spring", "opens": "2020-01-01T00:00:00Z", "preset": preset, "ladder": ladder });
    assert_eq!(crate::challenges::publish(&world, &json!([round])).code, 0);
    let mut clips = Clips::new();
    let mut best = clips.drawn(None, 0);
    let first = shown_score(&world, 0, &clips.artifact(&best)).await;
    let (mut last, mut n_news) = (first, 0);
    for n in 1..n_uploads {
        let tried = clips.drawn(Some(&best), 25);
        let score = shown_score(&world, n, &clips.artifact(&tried)).await;
        if score > last {
            (last, best) = (score, tried);
            n_news += 1;
        }
    }
    (first, last, n_news)
}

/// Source: Blum and Hardt (2015). A thousand uploads are tried in the core, without a cloud.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_changes_climb_less_on_the_ladder() {
    let n_uploads = 40;
    let (first, plain, n_plain) = climb("practice", false, n_uploads).await;
    println!("plain board: from {first:.4} to {plain:.4}, {n_plain} times something new");
    let (first, auto, n_auto) = climb("contest", true, n_uploads).await;
    println!("the Ladder: from {first:.4} to {auto:.4}, {n_auto} times something new");
    assert!(n_auto * 2 <= n_plain, "{n_auto} of {n_plain}");
    assert!(auto < plain, "{auto} {plain}");
}

fn verified(world: &World, receipt: &str, artifact: &[u8]) -> Value {
    let paths = [("receipt.json", receipt.as_bytes()), ("artifact.json", artifact)].map(|(name, bytes)| {
        let path = world.scratch().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let dataset = frozen().to_str().unwrap();
    let [receipt, artifact] = &paths;
    let ran = project::ran(words!(
        "--format json verify {receipt} --dataset {dataset} --artifact {artifact}"
    ));
    ran.json()
}
