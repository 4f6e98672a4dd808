//! Misplaced files: each has one note with its right place.

use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::upload::misplaced::Note;
use dataperf_aws::{S3Bucket, versions};
use dataperf_local::Moment;

use crate::support::project::{BENCHMARK, good};
use crate::support::world::{CARETAKER, World, as_deployed, key};

/// More than one page of a listing.
const MANY: usize = 1_100;
/// The most memory that the function may take, in kilobytes: a debug build has some 40 MB without any file.
const MAX_PEAK_KIB: u64 = 120 << 10;

async fn cloud() -> World {
    let world = World::with(as_deployed).await;
    world.settle().await;
    world
}

async fn note(world: &World, key: &str) -> Option<Note> {
    let results = S3Bucket::new(world.clients.s3.clone(), "results");
    match results.get(&Note::place(key), None, 1 << 20).await.unwrap() {
        Got::Object(object) => Some(serde_json::from_slice(&object.bytes).unwrap()),
        _ => None,
    }
}

/// How often notes were written.
async fn n_written(world: &World) -> usize {
    let (mut n, mut place) = (0, None);
    loop {
        let page = versions(&world.clients.s3, "results", &Note::prefix(), place.as_ref())
            .await
            .unwrap();
        n += page.uploads.len();
        place = page.next;
        if place.is_none() {
            return n;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_misplaced_file_suggests_the_nearest_key_once() {
    let world = cloud().await;
    let right = world.put(&key("ada", 0), good(0)).await;
    let longest = "🦜".repeat(256);
    let cases = [
        ("my.json", "BENCHMARK/LEADERBOARD/SUBMITTER/my.json"),
        ("en-25/ada/my.json", "speech-selection/en-25/ada/my.json"),
        (
            "speech-selecton/en-25/ada/my.json",
            "speech-selection/en-25/ada/my.json",
        ),
        (
            "speech-selection/en-25/my.json",
            "speech-selection/en-25/SUBMITTER/my.json",
        ),
        (
            "speech-selection",
            "BENCHMARK/LEADERBOARD/SUBMITTER/speech-selection",
        ),
        (
            "en25/Ada/mé 100%+?.json",
            "speech-selection/en-25/ada/mé 100%+?.json",
        ),
        ("a/../en-25/./ada/my.json", "speech-selection/en-25/ada/my.json"),
        (
            "adversarial-text/sumbit/ada/x.jsonl",
            "adversarial-text/submit/ada/x.jsonl",
        ),
        (
            "adversarial-text/ada/x.jsonl",
            "adversarial-text/KIND/ada/x.jsonl",
        ),
        ("_/misplaced/my.json", "BENCHMARK/LEADERBOARD/misplaced/my.json"),
        ("_/my.json", "BENCHMARK/LEADERBOARD/SUBMITTER/my.json"),
        (
            "en-25/\u{1}\u{202e}\u{fffe}\u{ffff}ada/my\n.json",
            "speech-selection/en-25/ada/my\n.json",
        ),
        ("~/\u{10ffff}/ada/x.json", "BENCHMARK/LEADERBOARD/ada/x.json"),
        (longest.as_str(), "BENCHMARK/LEADERBOARD/SUBMITTER/FILE"),
    ];
    for (key, _) in &cases {
        world.put(key, good(0)).await;
    }
    world.put("speech-selecton/en-25/", "").await; // a folder
    world.sweep().await;
    for (key, nearest) in &cases {
        let note = note(&world, key)
            .await
            .unwrap_or_else(|| panic!("`{key}` has no note"));
        assert_eq!((note.key.as_str(), note.nearest.as_str()), (*key, *nearest));
        assert_eq!(note.code, "misplaced_upload");
        assert!(note.message.contains("upload the file as"), "{}", note.message);
    }
    assert_eq!(n_written(&world).await, cases.len());
    world.sweep().await;
    assert_eq!(n_written(&world).await, cases.len(), "each version has one note");

    // another version of the same key is another upload
    let again = world.put("my.json", good(1)).await;
    world.sweep().await;
    world.sweep().await;
    assert_eq!(n_written(&world).await, cases.len() + 1);
    let note = note(&world, "my.json").await.unwrap();
    assert_eq!(note.version.as_deref(), Some(again.version.as_str()));

    // what is below a benchmark has its receipt as well, and what is right has no note
    let table = world.leaderboards();
    assert!(table.submission(BENCHMARK, &right.id()).await.unwrap().is_some());
    assert!(self::note(&world, &right.key).await.is_none());
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_misplaced_files_are_noted_in_pages() {
    let world = cloud().await;
    let mut sent = Vec::new();
    for n in 0..3 {
        sent.push(world.put(&key("ada", n), good(n)).await);
    }
    for n in 0..MANY {
        // before all benchmarks, and after them
        let first = if n % 2 == 0 { "0" } else { "zebra" };
        world.put(&format!("{first}/{n:04}.json"), "{}").await;
    }
    world.sweep().await;
    assert_eq!(n_written(&world).await, MANY);
    assert_eq!(world.receipts(&sent).await.len(), 3);
    let peak = world.cloud.snapshot().await.unwrap().functions[CARETAKER].peak_memory_kib;
    assert!(peak > 0 && peak < MAX_PEAK_KIB, "{peak} kB");
}

/// A sweep that is killed anywhere leaves nothing without a note, and no note is written in part.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_sweep_makes_up_a_killed_one() {
    let world = cloud().await;
    for n in 0..20 {
        world.put(&format!("lost/{n}.json"), "{}").await;
    }
    for n in 1..=24 {
        let moment = if n % 2 == 0 {
            Moment::Before(n)
        } else {
            Moment::After(n)
        };
        world.cloud.faults().kill_at(CARETAKER, moment);
        world.sweep().await;
        assert!(
            !world.cloud.faults().kill_no_more(CARETAKER),
            "a sweep makes more requests than {n}"
        );
        world.put(&format!("lost/killed-{n}.json"), "{}").await;
    }
    world.sweep().await;
    for n in 0..20 {
        assert!(note(&world, &format!("lost/{n}.json")).await.is_some(), "{n}");
    }
    assert_eq!(n_written(&world).await, 20 + 24, "one each");
}
