//! Data sets that are retired for a fresh one at a date, whatever is killed, with a report of the gap.

use dataperf::board::Board;
use dataperf::closing::retirement::RetirementReport;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Digest, NoIntervals, Receipt};
use dataperf_local::Moment;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::challenges::{publish, stored, upload_at};
use crate::datasets::finals::{SUBMITTERS, board, finish, finish_round, offline, ranks, staged};
use crate::faults::nothing_lost::one_process_a_run;
use crate::people::organizer_mistakes::{copy, digest};
use crate::read_api::{ANONYMOUS, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, frozen};
use crate::support::words;
use crate::support::world::{World, with_caretaker};

const LATE: &str = "2999-01-01T00:00:00Z";
const RETIRED: &str = "2026-03-05T00:00:00Z";

/// One round, whose data set is retired.
fn spring(retire: &Value) -> Value {
    json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "preset": "practice", "retire": retire }])
}

fn at(time: &str, dataset: Digest) -> Value {
    json!({ "at": time, "dataset": dataset })
}

/// The report in the results bucket.
async fn report(world: &World, board: &Board, successor: Digest) -> Option<RetirementReport> {
    let key = RetirementReport::key(board, successor);
    match world.bucket("results").get(&key, None, 1 << 24).await.unwrap() {
        Got::Object(object) => Some(RetirementReport::from_json(&key, &object.bytes).unwrap()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn old_and_new_data_sets_never_rank_together() {
    let world = World::with(with_caretaker).await;
    let (other, fresh) = staged(&world);
    let old = digest(frozen());
    assert_eq!(publish(&world, &spring(&at(LATE, fresh))).code, 0);
    let mut receipts: Vec<Receipt> = Vec::new();
    for (n, submitter) in SUBMITTERS.iter().enumerate() {
        receipts.push(upload_at(&world, submitter, n, "2026-03-02T00:00:00Z").await);
    }
    let second = upload_at(&world, "ada", 1, "2026-03-03T00:00:00Z").await;
    upload_at(&world, "baseline-plain", 2, "2026-03-03T00:00:00Z").await;
    let reading = Reading::new(world).await;
    let world = &reading.world;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let of_board = format!("{url}/leaderboards/en-25?round=spring");
    let of_report = format!("{url}/leaderboards/en-25/retirement?round=spring");

    // before its time
    every_view_has_the_data_set(&reading, old);
    finish(world).await;
    assert_eq!(report(world, &board("spring"), fresh).await, None);
    for who in [ANONYMOUS, ORGANIZER] {
        let described = reading.ask(who, &url).json();
        let round = &described["challenge"]["rounds"][0];
        assert_eq!(round["retires_at"], "2999-01-01T00:00:00.000Z");
        assert!(!described.to_string().contains(&fresh.to_string()), "{described}");
        let problem = reading.ask(who, &of_report).json();
        assert_eq!(problem["code"], "not_retired", "{problem}");
    }
    let ran = world.command(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    ran.assert_refused("when that is retired");

    // its time has come: what is uploaded since then has the other data set, and no rank is shared
    let ran = publish(world, &spring(&at(RETIRED, fresh)));
    assert_eq!(ran.code, 0, "{ran:?}");
    // the fresh data set has other English labels, and the Portuguese and Indonesian files as they are
    let warned = |code: &str| {
        let warnings = ran.json()["warnings"].as_array().unwrap().clone();
        warnings.into_iter().find(|warning| warning["code"] == code)
    };
    assert!(warned("retired_at_once").is_some(), "{ran:?}");
    let same = warned("same_items").unwrap_or_else(|| panic!("{ran:?}"))["message"].to_string();
    assert!(same.contains("`pt`") && !same.contains("`en`"), "{same}");
    let early = upload_at(world, "gus", 3, "2026-03-04T23:59:59.999Z").await;
    let late = upload_at(world, "hal", 4, RETIRED).await;
    assert_eq!(
        (early.verdict.dataset, late.verdict.dataset),
        (Some(old), Some(fresh))
    );
    let page = reading.ask(ANONYMOUS, &of_board).json();
    for row in page["rows"].as_array().unwrap() {
        let rank = if row["submitter"] == "hal" {
            json!(1)
        } else {
            Value::Null
        };
        assert_eq!(row["rank"], rank, "{row}");
    }
    new_rows_stand_before_old_ones(&reading, &of_board, fresh);
    every_view_has_the_data_set(&reading, fresh);
    cannot_be_undone(world, fresh);
    every_view_has_the_data_set(&reading, fresh);

    // which nobody does by hand before
    let board_of_round = board("spring");
    let ran = world.command(words!(
        "rescore {BENCHMARK} {} --round spring",
        &board_of_round.leaderboard
    ));
    ran.assert_refused("scores the board again");

    // the caretaker has the board's submissions scored with it, once
    finish(world).await;
    let mut before: Vec<(&str, usize, f64)> = Vec::new();
    let is_second = second.verdict.score > receipts[0].verdict.score;
    for (n, submitter) in SUBMITTERS.iter().enumerate() {
        let standing = if n == 0 && is_second {
            (1, &second)
        } else {
            (n, &receipts[n])
        };
        before.push((submitter, standing.0, standing.1.verdict.score.unwrap()));
    }
    before.push(("gus", 3, early.verdict.score.unwrap()));
    let mut after = Vec::new();
    for (_, artifact, _) in &before {
        after.push(offline(&other, *artifact).await);
    }
    let top = world.leaderboards().top(&board("spring"), 99).await.unwrap();
    assert!(top.iter().all(|row| row.entry.dataset == Some(fresh)), "{top:?}");
    for ((submitter, ..), score) in before.iter().zip(&after) {
        let row = top.iter().find(|row| row.entry.submitter == *submitter).unwrap();
        assert_eq!(row.entry.score, Some(*score), "{submitter}");
    }

    // what it says
    let reported = report(world, &board("spring"), fresh).await.unwrap();
    assert_eq!(
        (
            reported.n_scored,
            reported.n_rejected,
            reported.dataset_before,
            reported.retired_at
        ),
        (7, 0, Some(old), Some(RETIRED.parse().unwrap()))
    );
    let scores: Vec<f64> = before.iter().map(|url| url.2).collect();
    let (ranks_before, ranks_after) = (ranks(&scores), ranks(&after));
    for (n, (submitter, _, score)) in before.iter().enumerate() {
        let line = reported
            .lines
            .iter()
            .find(|line| line.submitter == *submitter)
            .unwrap();
        assert_eq!(
            (line.before, line.after, line.rank_before, line.rank_after),
            (
                *score,
                Some(after[n]),
                Some(ranks_before[n]),
                Some(ranks_after[n])
            )
        );
        let gap = line.gap.unwrap();
        assert!((gap.value - (score - after[n])).abs() < 1e-12);
    }
    let n = scores.len() as f64;
    let gap = (scores.iter().sum::<f64>() - after.iter().sum::<f64>()) / n;
    assert!((reported.gap.unwrap().value - gap).abs() < 1e-12);
    let baseline = reported.lines.iter().find(|line| line.is_baseline).unwrap();
    assert_eq!((baseline.rank_before, baseline.rank_after), (None, None));
    assert_eq!(
        reported.gap_of_baselines.map(|gap| gap.value),
        baseline.gap.map(|gap| gap.value)
    );
    assert!(reported.slope.is_some() && reported.intercept.is_some() && reported.tau_b.is_some());
    for figure in [reported.gap, reported.slope, reported.intercept, reported.tau_b] {
        let Some((low, high)) = figure.unwrap().interval else {
            assert!(reported.why_none.is_some(), "{reported:?}");
            continue;
        };
        let value = figure.unwrap().value;
        assert!(low <= value && value <= high && low < high, "{reported:?}");
    }

    // every way to read it
    let answered = reading.ask(ANONYMOUS, &of_report).json();
    assert_eq!(
        answered["gap"]["value"],
        json!(reported.gap.unwrap().value),
        "{answered}"
    );
    assert_eq!(answered["lines"].as_array().unwrap().len(), 8);
    let (mut lines, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = reading
            .ask(ANONYMOUS, &format!("{of_report}&limit=3{cursor}"))
            .json();
        assert_eq!(page["gap"], answered["gap"], "the figures are of all lines");
        lines.push(page["lines"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let n_lines: Vec<usize> = lines.iter().map(Vec::len).collect();
    assert_eq!(n_lines, [3, 3, 2]);
    assert_eq!(json!(lines.concat()), answered["lines"]);
    let foreign = format!("{of_board}{cursor}");
    assert_eq!(reading.ask(ANONYMOUS, &foreign).status, 404, "of another list");
    // the round is open: of intervals two would give the standard error of a pair
    assert!(answered["gap"]["interval"].is_null(), "{answered}");
    assert!(
        answered["why_none"]
            .as_str()
            .unwrap()
            .contains("hidden until the round shows"),
        "{answered}"
    );
    let ran = world.command(words!("leaderboard retirement {BENCHMARK} en-25 --round spring"));
    assert_eq!(
        ran.json()["gap"]["value"],
        json!(reported.gap.unwrap().value),
        "{ran:?}"
    );
    let retirement = [
        "leaderboard",
        "retirement",
        BENCHMARK,
        "en-25",
        "--round",
        "spring",
    ];
    let rows = crate::commands::tables::csv(world, &retirement);
    assert_eq!(rows.column("gap").len(), 8, "{:?}", rows.rows);
    let page = reading.ask(ANONYMOUS, &of_board).json();
    let rows = page["rows"].as_array().unwrap();
    assert!(
        rows.iter()
            .all(|row| row["rank"].is_null() == (row["is_baseline"] == true))
    );

    // earlier receipts stay, submissions off the board are not scored again, and nothing is done
    // twice
    for receipt in &receipts[1..] {
        assert!(stored(world, &receipt.object_key()).await.is_some());
        let known = world
            .leaderboards()
            .submission(BENCHMARK, &receipt.submission)
            .await;
        let now = known.unwrap().unwrap().receipt.unwrap();
        assert_eq!((now.revision, now.verdict.dataset), (2, Some(fresh)));
        assert!(stored(world, &now.object_key()).await.is_some());
    }
    let behind = if is_second { &receipts[0] } else { &second };
    let known = world
        .leaderboards()
        .submission(BENCHMARK, &behind.submission)
        .await;
    assert_eq!(known.unwrap().unwrap().receipt.as_ref(), Some(behind));
    finish(world).await;
    assert_eq!(
        report(world, &board("spring"), fresh).await,
        Some(reported.clone())
    );

    cannot_be_undone(world, fresh);
    every_view_has_the_data_set(&reading, fresh);

    // the report is there also when the fresh data set has become the round's own
    let own =
        json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "preset": "practice", "dataset": fresh }]);
    assert_eq!(publish(world, &own).code, 0);
    let answered = reading.ask(ANONYMOUS, &of_report).json();
    assert_eq!(answered["finished_at"], json!(reported.finished_at), "{answered}");
}

/// However long pages are: what has a rank comes first, each row once, and the others behind, best first as well.
fn new_rows_stand_before_old_ones(reading: &Reading, of_board: &str, fresh: Digest) {
    let whole = reading.ask(ANONYMOUS, of_board).json()["rows"].clone();
    let rows = whole.as_array().unwrap();
    let n_new = rows
        .iter()
        .filter(|row| row["dataset"] == json!(fresh.to_string()))
        .count();
    assert!(n_new > 0 && n_new < rows.len(), "both stand: {whole}");
    let (new, old) = rows.split_at(n_new);
    assert!(
        new.iter().all(|row| row["is_of_other_dataset"] == false),
        "{whole}"
    );
    assert!(
        old.iter().all(|row| row["is_of_other_dataset"] == true),
        "{whole}"
    );
    for of_one in [new, old] {
        let scores: Vec<f64> = of_one.iter().map(|row| row["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    }
    for limit in 1..=rows.len() {
        let (mut paged, mut next) = (Vec::new(), None::<String>);
        loop {
            let cursor = next.map(|next| format!("&cursor={next}")).unwrap_or_default();
            let page = reading
                .ask(ANONYMOUS, &format!("{of_board}&limit={limit}{cursor}"))
                .json();
            let page_rows = page["rows"].as_array().unwrap();
            assert!(page_rows.len() <= limit && paged.len() < 2 * rows.len(), "{page}");
            paged.extend(page_rows.iter().cloned());
            next = page["next"].as_str().map(str::to_owned);
            if next.is_none() {
                break;
            }
        }
        assert_eq!(paged, *rows, "pages of {limit}");
    }
    let csv = reading.ask(ANONYMOUS, &format!("{of_board}&format=csv")).text();
    let ids: Vec<&str> = rows
        .iter()
        .map(|row| row["submission"].as_str().unwrap())
        .collect();
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert!(
        lines.len() == ids.len() && lines.iter().zip(&ids).all(|(line, id)| line.contains(id)),
        "{csv}"
    );
    let ran = reading
        .world
        .command(["leaderboard", BENCHMARK, "en-25", "--round", "spring"]);
    let shown: Vec<Value> = ran.json()[0]["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["submission"].clone())
        .collect();
    assert_eq!(shown, ids, "{ran:?}");
}

/// List, benchmark, board, round, kit and command line say one data set of the round's board, and describe it.
fn every_view_has_the_data_set(reading: &Reading, dataset: Digest) {
    let expected = json!(dataset.to_string());
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let in_list = reading.ask(ANONYMOUS, "/api/v1/benchmarks").json();
    let described = reading.ask(ANONYMOUS, &url).json();
    let listed = in_list["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == BENCHMARK)
        .unwrap();
    for benchmark in [listed, &described] {
        let boards = benchmark["leaderboards"].as_array().unwrap();
        let board = boards
            .iter()
            .find(|board| board["name"] == "en-25" && board["round"] == "spring")
            .unwrap();
        assert_eq!(board["dataset"], expected, "{board}");
    }
    let descriptions = described["dataset_descriptions"].as_array().unwrap();
    assert!(
        descriptions.iter().any(|one| one["digest"] == expected),
        "{descriptions:?}"
    );
    let of_round = &described["challenge"]["rounds"][0]["dataset"];
    assert!(of_round.is_null() || *of_round == expected, "{of_round}");
    let page = reading
        .ask(ANONYMOUS, &format!("{url}/leaderboards/en-25?round=spring"))
        .json();
    assert_eq!(page["dataset"], expected);
    let kit = reading.ask(ANONYMOUS, page["kit"].as_str().unwrap());
    assert_eq!(kit.status, 302);
    assert!(kit.header("location").contains(&dataset.hex()), "{kit:?}");
    let ran = reading
        .world
        .command(["leaderboard", BENCHMARK, "en-25", "--round", "spring"]);
    assert_eq!(ran.json()[0]["dataset"], expected, "{ran:?}");
}

/// No way back: not another moment, not by way of another document or none, and nothing that was used is fresh.
fn cannot_be_undone(world: &World, fresh: Digest) {
    let refused = |rounds: &Value, code: &str, place: &str| {
        let ran = publish(world, rounds);
        assert_eq!(ran.code, 2, "{ran:?}");
        let reasons = ran.json()["reasons"].clone();
        let at = format!("/benchmarks/{BENCHMARK}/rounds/0/{place}");
        let is_there = |reason: &Value| reason["code"] == code && reason["at"] == json!(at);
        assert!(
            reasons.as_array().unwrap().iter().any(is_there),
            "{code} {place}: {reasons}"
        );
    };
    let old = digest(frozen());
    let plain =
        |dataset: Digest| json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "dataset": dataset }]);
    let guarded = || {
        refused(&spring(&at(LATE, fresh)), "retirement_undone", "retire/at");
        refused(
            &spring(&at("2026-03-04T00:00:00Z", fresh)),
            "retirement_undone",
            "retire/at",
        );
        refused(&plain(old), "retirement_undone", "retire");
        let mut closed = spring(&at(RETIRED, fresh));
        closed[0]["closes"] = json!("2026-03-05T00:00:00.001Z");
        closed[0]["final"] = json!(old);
        refused(&closed, "final_in_use", "final");
        refused(&spring(&at(LATE, old)), "successor_in_use", "retire/dataset");
    };
    guarded();
    // what was uploaded in the round stays in it
    let mut closed = spring(&at("2026-03-05T00:00:00Z", fresh));
    closed[0]["closes"] = json!("2026-03-05T00:00:00.001Z");
    assert_eq!(publish(world, &closed).code, 0, "all was uploaded before");
    world.ran(["challenge", "remove", BENCHMARK]);
    guarded();
    // a data set that became active elsewhere can't be another round's fresh one, not even
    // afterwards
    let elsewhere = json!([{ "id": "autumn", "opens": "2026-09-01T00:00:00Z", "retire": at(LATE, fresh) }]);
    refused(&elsewhere, "successor_in_use", "retire/dataset");
    let without = json!([{ "id": "autumn", "opens": "2999-01-01T00:00:00Z" }]);
    assert_eq!(publish(world, &without).code, 0);
    guarded();
    assert_eq!(publish(world, &spring(&at(RETIRED, fresh))).code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_previously_active_data_set_is_not_fresh() {
    let world = World::new().await;
    let (other, fresh) = staged(&world);
    let retire = |dataset| publish(&world, &spring(&at(LATE, dataset)));
    assert_eq!(retire(fresh).code, 0, "only staged");
    assert_eq!(publish(&world, &json!([])).code, 0);
    let run = |args: &[&str]| {
        world.ran(args);
    };
    run(&["dataset", "publish", "--replace", other.to_str().unwrap()]);
    run(&["dataset", "publish", "--replace", frozen().to_str().unwrap()]);
    let ran = retire(fresh);
    assert!(ran.code == 2 && ran.stdout.contains("it was active"), "{ran:?}");
    let last = json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "closes": LATE, "final": fresh }]);
    let ran = publish(&world, &last);
    assert!(ran.code == 2 && ran.stdout.contains("final_in_use"), "{ran:?}");
}

/// An upload from before whose turn comes late is scored with the retired data set, and takes no place from a later one of its submitter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_uploads_do_not_replace_later_ones() {
    let world = World::with(with_caretaker).await;
    let (_, fresh) = staged(&world);
    assert_eq!(
        publish(&world, &spring(&at("2026-03-10T00:00:00Z", fresh))).code,
        0
    );
    let later = upload_at(&world, "ada", 0, "2026-03-12T00:00:00Z").await;
    assert_eq!(later.verdict.dataset, Some(fresh));
    for n in [1, 2] {
        let earlier = upload_at(&world, "ada", n, "2026-03-05T00:00:00Z").await;
        assert_ne!(earlier.verdict.dataset, Some(fresh));
    }
    let rows = world.leaderboards().rows(&board("spring")).await.unwrap();
    let rows: Vec<_> = rows.into_iter().map(|row| (row.id, row.dataset)).collect();
    assert_eq!(rows, [(later.submission, Some(fresh))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_unable_to_retire_is_refused() {
    let world = World::new().await;
    let (other, fresh) = staged(&world);
    // a data set that lacks a board of the round
    let smaller = world.scratch().join("smaller");
    copy(&other, &smaller);
    let path = smaller.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let boards = manifest["parameters"]["leaderboards"].as_object_mut().unwrap();
    boards.remove("en-60").unwrap();
    std::fs::write(&path, format!("{manifest:#}\n")).unwrap();
    world.ran(["dataset", "publish", "--stage", smaller.to_str().unwrap()]);
    let round = |id: &str, day: u8, dataset: Digest| {
        let [opens, closes] = [day, day + 1].map(|day| format!("2999-03-{day:02}T00:00:00Z"));
        let at = format!("2999-03-{day:02}T12:00:00Z");
        json!({ "id": id, "opens": opens, "closes": closes, "retire": { "at": at, "dataset": dataset } })
    };
    let rounds = json!([
        round("unknown", 1, Digest::compute(b"nobody's")),
        round("in-force", 2, digest(frozen())),
        round("smaller", 3, digest(&smaller)),
        round("fine", 4, fresh),
    ]);
    let ran = publish(&world, &rounds);
    assert_eq!(ran.code, 2, "{ran:?}");
    let message: Vec<(Value, String)> = ran.json()["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| {
            let at = reason["at"].as_str().unwrap();
            let at = at.replacen("/benchmarks/speech-selection/rounds/", "", 1);
            (reason["code"].clone(), at)
        })
        .collect();
    let expected = [
        ("unusable_dataset", "0/retire/dataset"),
        ("successor_in_use", "1/retire/dataset"),
        ("unknown_leaderboard", "2/retire/dataset"),
    ];
    assert_eq!(
        message,
        expected.map(|(code, at)| (json!(code), at.to_owned())),
        "{ran:?}"
    );
}

/// One upload a round; each round's data set is retired by a run that is killed at another of its writes. Two clouds share the moments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retiring_killed_at_any_moment() {
    let n_killed = Box::pin(join(retire_killed(0), retire_killed(1))).await;
    assert!(n_killed.0 + n_killed.1 >= 11, "a run writes: {n_killed:?}");
}

/// Kills at each second moment from this one on; how many.
async fn retire_killed(first: usize) -> usize {
    const N_ROUNDS: usize = 20;
    let world = World::with(one_process_a_run).await;
    let (other, fresh) = staged(&world);
    let day = |n: usize| format!("2020-{:02}-{:02}T00:00:00Z", 1 + n / 28, 1 + n % 28);
    let hour = |n: usize, hour: &str| day(n).replace("T00", hour);
    let round = |n: usize| json!({ "id": format!("r{n}"), "opens": day(n), "closes": day(n + 1), "dataset": digest(frozen()), "preset": "practice", "retire": at(&hour(n, "T18"), fresh) });
    let rounds: Vec<Value> = (0..N_ROUNDS).map(round).collect();
    let ran = publish(&world, &json!(rounds));
    assert_eq!(ran.code, 0, "{ran:?}");
    let (before, after) = (offline(frozen(), 0).await, offline(&other, 0).await);
    let mut n_killed = 0;
    for moment in Moment::of_writes().skip(first).step_by(2) {
        assert!(n_killed < N_ROUNDS, "there is a round for each moment");
        let round = format!("r{n_killed}");
        let receipt = upload_at(&world, "ada", 0, &hour(n_killed, "T12")).await;
        world.cloud.faults().kill_at(BENCHMARK, moment);
        finish_round(&world, &round).await;
        let is_over = world.cloud.faults().kill_no_more(BENCHMARK);
        retired_once(&world, &round, &receipt, fresh, (before, after)).await;
        if is_over {
            break;
        }
        n_killed += 1;
    }
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
    n_killed
}

/// The one submission of a round has its score of the fresh data set, replaced once, and the report
/// has both.
async fn retired_once(world: &World, round: &str, receipt: &Receipt, fresh: Digest, scores: (f64, f64)) {
    world.project_boards(BENCHMARK).await;
    let (table, on_board) = (world.leaderboards(), board(round));
    let id = &receipt.submission;
    let top = table.top(&on_board, 9).await.unwrap();
    let rows: Vec<_> = top
        .iter()
        .map(|row| (&row.entry.id, row.entry.score, row.entry.dataset))
        .collect();
    assert_eq!(rows, [(id, Some(scores.1), Some(fresh))], "{round}");
    assert_eq!(table.series(&on_board).await.unwrap().len(), 1);
    let known = table.submission(BENCHMARK, id).await.unwrap().unwrap();
    let now = known.receipt.unwrap();
    assert_eq!(
        (now.revision, now.verdict.score),
        (receipt.revision + 1, Some(scores.1))
    );
    let kept = stored(world, &now.object_key()).await.unwrap();
    assert_eq!(kept.verdict.score, Some(scores.1));
    let reported = report(world, &on_board, fresh).await.unwrap();
    let lines: Vec<_> = reported
        .lines
        .iter()
        .map(|line| (&line.submission, line.before, line.after))
        .collect();
    assert_eq!(lines, [(id, scores.0, Some(scores.1))], "{round}");
    let gap = reported.gap.unwrap();
    assert!((gap.value - (scores.0 - scores.1)).abs() < 1e-12);
    assert_eq!(
        gap.interval.is_none(),
        reported.why_none.is_some(),
        "{reported:?}"
    );
    let is_kept = !matches!(reported.why_none, Some(NoIntervals::DrawsNotKept { .. }));
    assert!(is_kept, "{reported:?}");
}
