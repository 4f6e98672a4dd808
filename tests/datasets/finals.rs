//! Final data sets: scored with once, after the close, whatever is killed, and seen by no upload before.

use dataperf::benchmark::dataset::Dataset;
use dataperf::board::Board;
use dataperf::closing::finishing::FinalReport;
use dataperf::closing::receipt_release::ReleaseProgress;
use dataperf::comparison::Comparison;
use dataperf::dataset::{Integrity, dataset_prefix};
use dataperf::evaluation::evaluate::evaluate;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::replicates::Replicates;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{Digest, Direction, Receipt};
use dataperf_aws::BoardPlace;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_datasets::DirectoryBucket;
use dataperf_local::Moment;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::challenges::{publish, upload_at};
use crate::faults::nothing_lost::one_process_a_run;
use crate::people::organizer_mistakes::{digest, other_dataset};
use crate::read_api::{ANONYMOUS, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, good, hosted};
use crate::support::words;
use crate::support::world::{CARETAKER, World, with_caretaker};

pub(crate) const SUBMITTERS: [&str; 6] = ["ada", "bo", "cy", "di", "ed", "fay"];

pub(crate) fn board(round: &str) -> Board {
    Board {
        round: round.into(),
        ..crate::support::world::board("en-25")
    }
}

pub(crate) async fn finish(world: &World) {
    let event = json!({ "source": "aws.events", "task": "finish" });
    world.cloud.invoke(CARETAKER, &event).await.unwrap();
    world.settle().await;
}

/// The score of the n-th good artifact with a data set, without any cloud.
pub(crate) async fn offline(directory: &std::path::Path, n: usize) -> f64 {
    let opened = Dataset::<SpeechSelection>::open(
        DirectoryBucket::new(directory),
        String::new(),
        Some(digest(directory)),
        Integrity::Digests,
    );
    let verdict = evaluate(&opened.await.unwrap(), "en-25", &good(n)).await.unwrap();
    verdict.score.unwrap()
}

/// Stages a data set that never becomes active.
pub(crate) fn staged(world: &World) -> (std::path::PathBuf, Digest) {
    let other = other_dataset(world);
    with_other_labels(&other);
    world.ran(["dataset", "publish", "--stage", other.to_str().unwrap()]);
    let digest = digest(&other);
    (other, digest)
}

/// Gives every test clip the next class, so that right labels are wrong and submissions rank
/// differently.
fn with_other_labels(directory: &std::path::Path) {
    let path = directory.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let name = "en/eval.safetensors";
    let entry = &mut manifest["files"][name];
    let begin = entry["tensors"]["classes"]["begin"].as_u64().unwrap() as usize;
    let n_items = entry["tensors"]["classes"]["shape"][0].as_u64().unwrap() as usize;
    let mut bytes = std::fs::read(directory.join(name)).unwrap();
    let classes = &mut bytes[begin..begin + n_items];
    let n_classes = classes.iter().max().unwrap() + 1;
    for class in classes.iter_mut() {
        *class = (*class + 1) % n_classes;
    }
    entry["digest"] = json!(Digest::compute(&bytes));
    std::fs::write(directory.join(name), bytes).unwrap();
    std::fs::write(&path, format!("{manifest:#}\n")).unwrap();
}

fn spring(last: Digest, closes: &str) -> Value {
    json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "closes": closes, "final": last, "preset": "practice" }])
}

/// Ranks from 1, the best score first.
pub(crate) fn ranks(scores: &[f64]) -> Vec<usize> {
    let rank = |own: &f64| 1 + scores.iter().filter(|other| *other > own).count();
    scores.iter().map(rank).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn a_final_board_appears_only_after_the_close() {
    let world = World::with(with_caretaker).await;
    let (other, last) = staged(&world);
    assert_eq!(publish(&world, &spring(last, "2999-01-01T00:00:00Z")).code, 0);
    let mut receipts: Vec<Receipt> = Vec::new();
    for (n, submitter) in SUBMITTERS.iter().enumerate() {
        receipts.push(upload_at(&world, submitter, n, "2026-03-02T00:00:00Z").await);
    }
    let second = upload_at(&world, "ada", 1, "2026-03-03T00:00:00Z").await;
    let reading = Reading::new(world).await;
    let world = &reading.world;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let of_final = format!("{url}/leaderboards/en-25?round=spring.final");

    // before the close
    finish(world).await;
    assert_eq!(
        world.leaderboards().run(&board("spring.final")).await.unwrap(),
        None
    );
    for who in [ANONYMOUS, ORGANIZER] {
        let described = reading.ask(who, &url).json();
        assert_eq!(described["challenge"]["rounds"][0]["has_final"], true);
        assert!(!described.to_string().contains(&last.to_string()), "{described}");
        assert_eq!(reading.ask(who, &of_final).json()["rows"], json!([]));
    }
    let ran = world.command(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    ran.assert_refused("final data set of the round `spring`");

    // after it, by the caretaker at its time, once
    assert_eq!(publish(world, &spring(last, "2026-04-01T00:00:00Z")).code, 0);
    finish(world).await;
    let run = world
        .leaderboards()
        .run(&board("spring.final"))
        .await
        .unwrap()
        .unwrap();
    assert!(run.ended_at.is_some());
    let report = world.command(["challenge", "report", BENCHMARK, "spring"]).json();
    let report = report["report"].as_str().unwrap();
    for part in [
        "## en-25\n",
        "Winner",
        "ranked by the final data set",
        "| rank | public |",
        "Shake-up",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let page = world.scratch().join("report.html");
    world.ran(words!(
        "challenge report {BENCHMARK} spring --out {}",
        page.display()
    ));
    assert!(std::fs::read_to_string(page).unwrap().contains("<th>public</th>"));
    // what was uploaded since would be missing there
    let ran = publish(world, &spring(last, "2999-01-01T00:00:00Z"));
    assert_eq!(
        (ran.code, &ran.json()["reasons"][0]["code"]),
        (2, &json!("finish_undone")),
        "{ran:?}"
    );
    let standing: Vec<usize> = (0..SUBMITTERS.len())
        .map(|n| {
            if n == 0 && second.verdict.score > receipts[0].verdict.score {
                1
            } else {
                n
            }
        })
        .collect();
    let (mut public, mut finals) = (Vec::new(), Vec::new());
    for &n in &standing {
        public.push(
            if n == 1 {
                second.verdict.score
            } else {
                receipts[n].verdict.score
            }
            .unwrap(),
        );
        finals.push(offline(&other, n).await);
    }
    let mut expected: Vec<(&str, f64)> = SUBMITTERS.into_iter().zip(finals.iter().copied()).collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));
    let top = world
        .leaderboards()
        .top(&board("spring.final"), 99)
        .await
        .unwrap();
    let mut rows: Vec<(&str, f64)> = top
        .iter()
        .map(|row| (row.entry.submitter.as_str(), row.entry.score.unwrap()))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    assert_eq!(rows, expected);
    assert!(top.iter().all(|row| row.entry.dataset == Some(last)));
    let (by_public, by_final) = (ranks(&public), ranks(&finals));
    let moved: usize = by_public
        .iter()
        .zip(&by_final)
        .map(|(one, other)| one.abs_diff(*other))
        .sum();
    assert!(
        moved > 0,
        "the two data sets rank differently: {by_public:?} {by_final:?}"
    );
    let shake_up = moved as f64 / 36.0;

    // every way to read it
    let page = reading.ask(ANONYMOUS, &of_final).json();
    assert_eq!(page["finish"]["shake_up"], json!(shake_up), "{page}");
    assert_eq!(page["finish"]["finished_at"], json!(run.ended_at), "{page}");
    assert_eq!(
        (&page["finish"]["n_ranked"], &page["dataset"]),
        (&json!(6), &json!(last.to_string()))
    );
    for row in page["rows"].as_array().unwrap() {
        let who = SUBMITTERS
            .iter()
            .position(|who| row["submitter"] == *who)
            .unwrap();
        assert_eq!(
            (&row["public_rank"], &row["rank"]),
            (&json!(by_public[who]), &json!(by_final[who])),
            "{row}"
        );
        let n_tries = if row["submitter"] == "ada" { 2 } else { 1 };
        assert_eq!(row["n_submissions"], n_tries, "{row}");
    }
    let csv = reading.ask(ANONYMOUS, &format!("{of_final}&format=csv"));
    let csv = String::from_utf8(csv.body).unwrap();
    assert!(csv.lines().next().unwrap().ends_with(",public_rank"), "{csv}");
    let public_board = reading
        .ask(ANONYMOUS, &format!("{url}/leaderboards/en-25?round=spring"))
        .json();
    assert_eq!(public_board["finish"], Value::Null);
    let ran = world.command(["leaderboard", BENCHMARK, "en-25", "--round", "spring.final"]);
    assert_eq!(ran.json()[0]["finish"]["shake_up"], json!(shake_up), "{ran:?}");

    // what was there before is as it was: receipts, public rows, and what they are compared by
    for (n, receipt) in receipts.iter().enumerate().skip(1) {
        let known = world
            .leaderboards()
            .submission(BENCHMARK, &receipt.submission)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(known.receipt.as_ref(), Some(receipt));
        for (key, expected) in [
            (
                Replicates::key(BENCHMARK, &receipt.submission),
                receipt.verdict.score,
            ),
            (
                Replicates::key_on(&board("spring.final"), &receipt.submission),
                Some(finals[n]),
            ),
        ] {
            let Got::Object(object) = world.bucket("results").get(&key, None, 1 << 26).await.unwrap() else {
                panic!("there is no `{key}`")
            };
            let kept = Replicates::from_bytes(&key, &object.bytes).unwrap();
            assert_eq!(Some(kept.header.score), expected, "{key}");
        }
    }
    let before = world
        .leaderboards()
        .revisions(&board("spring.final"), &run.id)
        .await
        .unwrap();
    finish(world).await;
    let again = world.leaderboards().run(&board("spring.final")).await.unwrap();
    assert_eq!(again.as_ref(), Some(&run), "once");
    assert_eq!(
        world
            .leaderboards()
            .revisions(&board("spring.final"), &run.id)
            .await
            .unwrap(),
        before
    );

    // what is withdrawn leaves both boards
    let best = &top[0].entry;
    let table = world.leaderboards();
    let both = async || {
        let url = async |round: &str| {
            table
                .board_page(&board(round), BoardPlace::default(), 99)
                .await
                .unwrap()
                .0
        };
        let series = table.series(&board("spring.final")).await.unwrap();
        (url("spring").await, url("spring.final").await, series)
    };
    let before = both().await;
    assert_eq!(world.command(["withdraw", BENCHMARK, best.id.as_str()]).code, 0);
    let top = table.top(&board("spring.final"), 99).await.unwrap();
    assert!(top.len() == 5 && top.iter().all(|row| row.entry.id != best.id));
    // and when that is undone it is on both again, with its spread
    world.ran(["withdraw", BENCHMARK, best.id.as_str(), "--undo"]);
    let after = both().await;
    assert_eq!(after.2.len(), before.2.len());
    let shown = |rows: &[dataperf_aws::BoardRow]| {
        let url = |row: &dataperf_aws::BoardRow| (row.entry.id.clone(), row.entry.score, row.spread.clone());
        rows.iter().map(url).collect::<Vec<_>>()
    };
    assert_eq!(shown(&after.0), shown(&before.0));
    assert_eq!(shown(&after.1), shown(&before.1));

    // it is scored once: what is scored again is the round itself
    let again = world.command(["rescore", BENCHMARK, "en-25", "--round", "spring.final"]);
    again.assert_refused("`--round spring`");
    assert_eq!(shown(&both().await.1), shown(&after.1), "it is as it was");
}

/// A submission that was withdrawn when its round was finished, and restored later, is scored with
/// the final data set too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_submission_gets_its_final_score() {
    let world = World::with(with_caretaker).await;
    let (_, last) = staged(&world);
    assert_eq!(publish(&world, &spring(last, "2999-01-01T00:00:00Z")).code, 0);
    upload_at(&world, "ada", 0, "2026-03-02T00:00:00Z").await;
    let gone = upload_at(&world, "bo", 1, "2026-03-02T00:00:00Z").await;
    let withdraw = ["withdraw", BENCHMARK, gone.submission.as_str()];
    assert_eq!(world.command(withdraw).code, 0);
    assert_eq!(publish(&world, &spring(last, "2026-04-01T00:00:00Z")).code, 0);
    finish(&world).await;
    let table = world.leaderboards();
    let of_final = async || {
        let run = table.run(&board("spring.final")).await.unwrap().unwrap();
        let rows = table.rows(&board("spring.final")).await.unwrap();
        let names: Vec<String> = rows.into_iter().map(|row| row.submitter).collect();
        (run.ended_at.is_some(), names)
    };
    assert_eq!(of_final().await, (true, vec!["ada".into()]));
    assert_eq!(world.command([&withdraw[..], &["--undo"]].concat()).code, 0);
    finish(&world).await;
    assert_eq!(of_final().await, (true, vec!["ada".into(), "bo".into()]));
    // what was finished stays so
    assert_eq!(world.command(withdraw).code, 0);
    assert_eq!(world.command([&withdraw[..], &["--undo"]].concat()).code, 0);
    assert_eq!(of_final().await, (true, vec!["ada".into(), "bo".into()]));
}

/// A restored submission returns to the public board, and so to the final one, where it replaces
/// another of its submitter. No other later submission of the public board does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_submission_replaces_another_of_its_submitter() {
    let world = World::with(with_caretaker).await;
    let (_, last) = staged(&world);
    assert_eq!(publish(&world, &spring(last, "2999-01-01T00:00:00Z")).code, 0);
    let mut both = Vec::new();
    for n in [0, 1] {
        both.push(upload_at(&world, "ada", n, "2026-03-02T00:00:00Z").await);
    }
    both.sort_by(|a, b| b.verdict.score.unwrap().total_cmp(&a.verdict.score.unwrap()));
    let [best, other] = [&both[0].submission, &both[1].submission];
    let withdraw = ["withdraw", BENCHMARK, best.as_str()];
    assert_eq!(world.command(withdraw).code, 0);
    assert_eq!(publish(&world, &spring(last, "2026-04-01T00:00:00Z")).code, 0);
    finish(&world).await;
    let table = world.leaderboards();
    let of_final = async || {
        let run = table.run(&board("spring.final")).await.unwrap().unwrap();
        assert!(run.ended_at.is_some());
        let rows = table.rows(&board("spring.final")).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(of_final().await, std::slice::from_ref(other));
    let late = upload_at(&world, "bo", 2, "2026-03-02T00:00:00Z").await;
    assert!(late.verdict.score.is_some(), "it is on the public board");
    assert_eq!(world.command([&withdraw[..], &["--undo"]].concat()).code, 0);
    finish(&world).await;
    assert_eq!(of_final().await, std::slice::from_ref(best));
    assert_eq!(world.command(withdraw).code, 0);
    assert_eq!(of_final().await, std::slice::from_ref(other));
}

/// An upload processed after its round's close is scored with the board's data set, and not with
/// the one that is active then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_verdict_uses_its_closed_boards_data() {
    let world = World::with(with_caretaker).await;
    let (other, _) = staged(&world);
    let round = |closes: &str| json!([{ "id": "spring", "opens": "2026-03-01T00:00:00Z", "closes": closes, "preset": "practice" }]);
    assert_eq!(publish(&world, &round("2999-01-01T00:00:00Z")).code, 0);
    let first = upload_at(&world, "ada", 0, "2026-03-02T00:00:00Z").await;
    assert_eq!(publish(&world, &round("2026-04-01T00:00:00Z")).code, 0);
    world.ran(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    let late = upload_at(&world, "bo", 0, "2026-03-03T00:00:00Z").await;
    assert_eq!(late.round, "spring");
    assert_eq!(
        (late.verdict.dataset, late.verdict.score),
        (first.verdict.dataset, first.verdict.score)
    );
    // outside of the round the active data set counts
    let after = upload_at(&world, "bo", 0, "2026-05-01T00:00:00Z").await;
    assert_eq!(after.verdict.dataset, Some(digest(&other)));
}

/// One upload a round; each round is finished by a run that is killed at another of its writes. Two clouds share the moments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finishing_killed_at_any_moment() {
    let n_killed = Box::pin(join(finish_killed(0), finish_killed(1))).await;
    assert!(n_killed.0 + n_killed.1 >= 9, "a run writes: {n_killed:?}");
}

/// Kills at each second moment from this one on; how many.
async fn finish_killed(first: usize) -> usize {
    const N_ROUNDS: usize = 24;
    let mut world = World::new().await;
    let (other, last) = staged(&world);
    let day = |n: usize| format!("2020-{:02}-{:02}T00:00:00Z", 1 + n / 28, 1 + n % 28);
    let noon = |n: usize| day(n).replace("T00", "T12");
    let rounds = |is_open: bool| {
        let round = |n: usize| json!({ "id": format!("r{n}"), "opens": day(n), "closes": day(n + 1), "final": last, "ladder": true });
        let mut rounds: Vec<Value> = (0..N_ROUNDS).map(round).collect();
        if is_open {
            // while this one may use the same data nothing is shown but what the Ladder has released
            rounds.push(
                json!({ "id": "open-still", "opens": day(N_ROUNDS), "closes": "2999-01-01T00:00:00Z" }),
            );
        }
        json!(rounds)
    };
    let ran = publish(&world, &rounds(true));
    assert_eq!(ran.code, 0, "{ran:?}");
    let own = offline(crate::support::project::frozen(), 0).await;
    let expected = offline(&other, 0).await;
    let mut receipts = Vec::new();
    for n in 0..N_ROUNDS {
        let receipt = upload_at(&world, "ada", 0, &noon(n)).await;
        assert_eq!(
            (&receipt.round, receipt.climb().is_some()),
            (&format!("r{n}"), true)
        );
        receipts.push(receipt);
    }
    world.change(one_process_a_run).await;
    // nothing is finished while own scores may not be shown
    finish_round(&world, "r0").await;
    let run = world
        .leaderboards()
        .run(&board("r0.final"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(run.ended_at, None);
    assert_eq!(publish(&world, &rounds(false)).code, 0);
    let mut n_killed = 0;
    for moment in Moment::of_writes().skip(first).step_by(2) {
        assert!(n_killed < N_ROUNDS, "there is a round for each moment");
        let round = format!("r{n_killed}");
        world.cloud.faults().kill_at(BENCHMARK, moment);
        finish_round(&world, &round).await;
        let is_over = world.cloud.faults().kill_no_more(BENCHMARK);
        finished_once(&world, &round, &receipts[n_killed], own, expected).await;
        if is_over {
            break;
        }
        n_killed += 1;
    }
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
    n_killed
}

/// Scores are rounded if a round's close shows everything. Then the round's own Ladder shows them
/// or, if that was removed meanwhile, the receipts do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_digits_appear_after_closing_without_a_ladder() {
    let world = World::with(with_caretaker).await;
    let (other, last) = staged(&world);
    let rounds = |preset: Option<&str>, closes: &str| {
        let mut summer = json!({ "id": "summer", "opens": "2020-03-01", "closes": closes });
        summer["preset"] = preset.map_or(Value::Null, |preset| json!(preset));
        summer
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        json!([{ "id": "spring", "opens": "2020-01-01", "closes": "2020-02-01", "preset": "practice", "final": last }, summer])
    };
    assert_eq!(publish(&world, &rounds(None, "2999-01-01")).code, 0);
    // another round may have the same data afterwards: nothing is rounded, and the final board waits for nobody
    let first = upload_at(&world, "ada", 0, "2020-01-10T00:00:00Z").await;
    assert_eq!((first.round.as_str(), &first.ladder), ("spring", &None));
    let table = world.leaderboards();
    let shown = async |round: &str| {
        let rows = table.rows(&board(round)).await.unwrap();
        rows.iter().map(|row| row.score.unwrap()).collect::<Vec<_>>()
    };
    finish_round(&world, "spring").await;
    assert_eq!(shown("spring.final").await, [offline(&other, 0).await]);

    let second = upload_at(&world, "ada", 0, "2020-03-10T00:00:00Z").await;
    let rounded = second.ladder.and_then(|released| released.score);
    assert!(rounded.is_some() && rounded != first.verdict.score);
    assert_eq!(shown("summer").await, Vec::from_iter(rounded));
    let ran = publish(&world, &rounds(Some("practice"), "2999-01-01"));
    assert!(format!("{ran:?}").contains("preset_changed"), "{ran:?}");
    finish_round(&world, "summer").await;
    assert_eq!(shown("summer").await, Vec::from_iter(rounded), "it is open");
    assert_eq!(publish(&world, &rounds(Some("practice"), "2020-04-01")).code, 0);
    finish_round(&world, "summer").await;
    assert_eq!(shown("summer").await, Vec::from_iter(first.verdict.score));

    // after the close the final data set may become active, and the document stays unchanged:
    // without the round there is a warning
    world.ran(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    let ran = publish(&world, &rounds(Some("practice"), "2020-04-01"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!format!("{ran:?}").contains("closed_round_missing"), "{ran:?}");
    let ran = publish(&world, &json!([rounds(Some("practice"), "2020-04-01")[1]]));
    assert!(format!("{ran:?}").contains("closed_round_missing"), "{ran:?}");
}

/// A round whose data another one may be scored with stays rounded until that one has closed, on its board and on the one after its close.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounded_scores_wait_for_the_last_sharing_round() {
    let world = World::with(with_caretaker).await;
    let rounds = |closes: &str| {
        json!([
            { "id": "spring", "opens": "2020-01-01", "closes": "2020-02-01" },
            { "id": "summer", "opens": "2020-03-01", "closes": closes },
        ])
    };
    let ran = publish(&world, &rounds("2999-01-01"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let inside = upload_at(&world, "ada", 0, "2020-01-10T00:00:00Z").await;
    let after = upload_at(&world, "bo", 0, "2020-02-10T00:00:00Z").await;
    assert_eq!(
        (inside.round.as_str(), after.round.as_str()),
        ("spring", "spring.post")
    );
    let own = inside.verdict.score.unwrap();
    let rounded = inside.public_score().unwrap();
    assert_ne!(own.to_bits(), rounded.to_bits());
    let back = upload_at(&world, "cy", 0, "2020-02-09T00:00:00Z").await;
    let withdraw = ["withdraw", BENCHMARK, back.submission.as_str()];
    assert_eq!(world.command(withdraw).code, 0);
    let table = world.leaderboards();
    let shown = async || {
        let mut of_boards = Vec::new();
        for round in ["spring", "spring.post"] {
            let rows = table.rows(&board(round)).await.unwrap();
            of_boards.push(rows.iter().map(|row| row.score.unwrap()).collect::<Vec<_>>());
        }
        of_boards
    };
    finish_round(&world, "spring").await;
    assert_eq!(shown().await, [[rounded], [rounded]]);
    let waits = world.command(["challenge", "finish", BENCHMARK, "spring"]);
    waits.assert_refused("the round `summer` has closed");
    assert_eq!(publish(&world, &rounds("2020-04-01")).code, 0);
    finish_round(&world, "spring").await;
    assert_eq!(shown().await, [[own], [own]]);
    // what was passed is not gone through again
    let after_all = async || {
        let state = ReleaseProgress::read(&world.bucket("results"), &board("spring.post")).await;
        state.unwrap().expect("it was released").after
    };
    let last = after_all().await;
    assert_eq!(last.as_ref().map(|(_, id)| id), Some(&after.submission));
    for _ in 0..2 {
        finish_round(&world, "spring").await;
        assert_eq!(after_all().await, last);
    }
    // later uploads are shown unchanged, and so are restored ones
    let late = upload_at(&world, "di", 0, "2020-02-20T00:00:00Z").await;
    assert_eq!((late.round.as_str(), late.ladder), ("spring.post", None));
    let undo = ["withdraw", "--undo", BENCHMARK, back.submission.as_str()];
    assert_eq!(world.command(undo).code, 0);
    finish_round(&world, "spring").await;
    assert_eq!(shown().await, [vec![own], vec![own; 3]]);
}

/// A final data set that can't be read keeps the boards of other rounds from nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unfinishable_round_does_not_block_others() {
    let world = World::with(with_caretaker).await;
    let (_, last) = staged(&world);
    let damaged = other_dataset(&world);
    world.ran(["dataset", "publish", "--stage", damaged.to_str().unwrap()]);
    let damaged = digest(&damaged);
    let round = |id: &str, month: u8, last: Digest| json!({ "id": id, "opens": format!("2020-{month:02}-01"), "closes": format!("2020-{month:02}-09"), "final": last });
    let rounds = json!([round("a", 1, damaged), round("b", 2, last)]);
    assert_eq!(publish(&world, &rounds).code, 0);
    for month in 1..=2 {
        upload_at(&world, "ada", 0, &format!("2020-{month:02}-02T00:00:00Z")).await;
    }
    let key = format!("{}en/eval.safetensors", dataset_prefix(BENCHMARK, damaged));
    let put = world.clients.s3.put_object().bucket("datasets").key(&key);
    put.body(b"damaged".to_vec().into()).send().await.unwrap();

    let event = json!({ "finish": {} });
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    let (_, error) = world.only_failure().await;
    assert!(error.to_string().contains("eval.safetensors"), "{error}");
    let table = world.leaderboards();
    let ended = async |round: &str| {
        let run = table.run(&board(round).of_final()).await.unwrap().unwrap();
        run.ended_at.is_some()
    };
    assert!(!ended("a").await && ended("b").await);
    assert_eq!(table.top(&board("b.final"), 9).await.unwrap().len(), 1);
}

/// Asks the function for one round, as the caretaker asks for all.
/// The challenge of another contest leaves a closed round whose final board is due, and each page shows its own contest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::too_many_lines)] // one story
async fn another_contest_keeps_a_due_final_board() {
    let world = World::with(with_caretaker).await;
    let (_, last) = staged(&world);
    let challenge = |title: &str, about: &str, round: Value| {
        json!({ "schema": 1, "title": title, "about": about, "benchmarks": { BENCHMARK: { "rounds": [round] } },
                "announcements": [{ "date": "2026-01-01", "text": format!("News of {title}.") }] })
    };
    let publish = |challenge: &Value, more: &[&str]| {
        let path = world.scratch().join("contest.yaml");
        std::fs::write(&path, challenge.to_string()).unwrap(); // JSON is YAML
        let mut command = vec!["challenge", "publish", path.to_str().unwrap()];
        command.extend(more);
        world.command(&command)
    };
    let mut spring = spring(last, "2999-01-01T00:00:00Z")[0].clone();
    spring["leaderboards"] = json!(["en-25"]);
    assert_eq!(
        publish(&challenge("Spring", "Prize: a mug.", spring.clone()), &[]).code,
        0
    );
    upload_at(&world, "ada", 0, "2026-03-02T00:00:00Z").await;
    let closed = dataperf_aws::now();
    spring["closes"] = json!(closed);
    assert_eq!(
        publish(&challenge("Spring", "Prize: a mug.", spring.clone()), &[]).code,
        0
    );

    let other =
        json!({ "id": "summer", "leaderboards": ["pt-25"], "opens": "2026-05-01", "preset": "practice" });
    let ran = publish(&challenge("Summer", "No prize.", other.clone()), &[]);
    let is_warned = ["closed_round_missing", "round_removed"].map(|code| ran.stdout.contains(code));
    assert_eq!((ran.code, is_warned), (0, [false, false]), "{ran:?}");
    let same_id = json!({ "id": "spring", "leaderboards": ["pt-25"], "opens": "2026-05-01" });
    let ran = publish(&challenge("Summer", "No prize.", same_id), &[]);
    assert_eq!(
        (ran.code, &ran.json()["reasons"][0]["code"]),
        (2, &json!("round_of_others"))
    );
    let ran = publish(
        &challenge("Summer", "No prize.", other.clone()),
        &["--remove", "sprin"],
    );
    ran.assert_refused("`spring`");

    let reading = Reading::new(world).await;
    let world = &reading.world;
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let shown = reading.ask(ANONYMOUS, &url).json()["challenge"].clone();
    let texts = |id: &str| -> Vec<Value> {
        let rounds = shown["rounds"].as_array().unwrap();
        let round = rounds.iter().find(|round| round["id"] == id).unwrap();
        let visible = shown["announcements"].as_array().unwrap().iter();
        let visible = visible.filter(|one| one["rounds"].as_array().unwrap().contains(&json!(id)));
        let visible = visible.map(|one| one["text"].clone());
        [round["title"].clone(), round["about"].clone()]
            .into_iter()
            .chain(visible)
            .collect()
    };
    assert_eq!(
        texts("spring"),
        ["Spring", "Prize: a mug.", "News of Spring."].map(Value::from)
    );
    assert_eq!(
        texts("summer"),
        ["Summer", "No prize.", "News of Summer."].map(Value::from)
    );

    // everybody sees when the final board is made, and the organizer can have it made now
    let missing = world.command(["leaderboard", BENCHMARK, "--round", "spring.final"]);
    missing.assert_refused("is made by");
    let page = format!("{url}/leaderboards/en-25?round=spring.final");
    let by: dataperf::Timestamp =
        serde_json::from_value(reading.ask(ANONYMOUS, &page).json()["final_by"].clone()).unwrap();
    assert_eq!(by.unix_millis(), closed.unix_millis() + 30 * 60 * 1000);
    let waits = world.command(["challenge", "finish", BENCHMARK, "spring"]);
    waits.assert_refused("--early");
    let removed = |more: &[&str]| {
        let path = world.scratch().join("contest.yaml");
        std::fs::write(&path, challenge("Summer", "No prize.", other.clone()).to_string()).unwrap();
        let mut command = vec!["challenge", "publish", path.to_str().unwrap()];
        command.extend(more);
        world.command(&command)
    };
    let made = world.command(["challenge", "finish", BENCHMARK, "spring", "--early"]);
    assert_eq!(
        (made.code, made.json()["boards"].as_array().unwrap().len()),
        (0, 1),
        "{made:?}"
    );
    let top = world.leaderboards().top(&board("spring.final"), 9).await.unwrap();
    assert_eq!(top.len(), 1);
    assert_eq!(reading.ask(ANONYMOUS, &page).json()["final_by"], Value::Null);

    // the command shows the losses from removing a round
    let ran = removed(&["--remove", "spring"]);
    let warnings = ran.json()["warnings"].to_string();
    assert!(ran.code == 0 && warnings.contains("round_removed"), "{ran:?}");
    assert!(warnings.contains("1 scored submissions"), "{warnings}");
}

pub(crate) async fn finish_round(world: &World, round: &str) {
    let event = json!({ "finish": { "round": round } });
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    world.settle().await;
}

/// The one submission of a round shows its own score, and is on the final board, noted once.
async fn finished_once(world: &World, round: &str, receipt: &Receipt, own: f64, expected: f64) {
    world.project_boards(BENCHMARK).await;
    let (table, public) = (world.leaderboards(), board(round));
    let last = public.of_final();
    let run = table.run(&last).await.unwrap().unwrap();
    let ended_at = run.ended_at.unwrap_or_else(|| panic!("{round} is finished"));
    // whatever was killed, both boards are compared as they are since, or are going to be
    let marked = table.boards_to_compare(BENCHMARK).await.unwrap();
    for board in [&public, &last] {
        let compared = match world
            .bucket("results")
            .get(&Comparison::key(board), None, 1 << 20)
            .await
            .unwrap()
        {
            Got::Object(object) => Comparison::from_bytes(&object.bytes).ok(),
            _ => None,
        };
        let compared = compared.map(|compared| compared.summary.compared_at);
        assert!(
            marked.contains(board) || compared.is_some_and(|at| at >= ended_at),
            "{board:?}"
        );
    }
    let rows = |board: Board| {
        let table = table.clone();
        async move {
            let top = table.top(&board, 9).await.unwrap();
            let series = table.series(&board).await.unwrap();
            assert_eq!(top.len(), series.len());
            top.into_iter()
                .map(|row| (row.entry.id, row.entry.score, row.entry.climb))
                .collect::<Vec<_>>()
        }
    };
    let id = &receipt.submission;
    assert_eq!(rows(public.clone()).await, [(id.clone(), Some(own), None)]);
    assert_eq!(rows(last.clone()).await, [(id.clone(), Some(expected), None)]);
    let revisions = table.revisions(&last, &run.id).await.unwrap();
    let noted: Vec<_> = revisions
        .iter()
        .map(|one| (&one.id, one.before, one.after))
        .collect();
    assert_eq!(noted, [(id, Some(own), Some(expected))]);
    let report = FinalReport::read(&table, &public, Direction::HigherIsBetter)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (report.n_ranked, report.n_rejected, report.shake_up),
        (1, 0, None)
    );
    let known = table
        .submission(BENCHMARK, id)
        .await
        .unwrap()
        .unwrap()
        .receipt
        .unwrap();
    let stored = crate::challenges::stored(world, &known.object_key())
        .await
        .unwrap();
    assert_eq!(
        stored.unsigned(),
        known.shown(dataperf::Feedback::Full, hosted(BENCHMARK))
    );
}
