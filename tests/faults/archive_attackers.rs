//! Hostile archives and floods of look-ups among honest uploads, on a benchmark whose artifacts may
//! be archives. Each honest one is scored as usual, each hostile one is rejected, and the function
//! stays small.

use std::io::{Cursor, Write as _};
use std::path::Path;

use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Benchmark, Ending};
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_datasets::{Import, Silent, import};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::faults::attackers::{median_and_worst, n_of_each};
use crate::support::project::{binary, root};
use crate::support::world::{Sent, World, with_caretaker};

/// Uploads at once.
const AT_ONCE: usize = 8;
/// The most memory that a function may take, in kilobytes: a debug build has some 60 MB with the demo's data set.
const MAX_PEAK_KIB: u64 = 400 << 10;

/// A kind of attack: its name, its file's ending and its bytes.
type Attack = (&'static str, &'static str, Vec<u8>);

/// A world with one benchmark's function and the data set that a folder becomes.
async fn world_of<B: Import>(folder: &Path) -> World {
    let world = World::without_dataset(|config| {
        let spec = &mut config.functions[0];
        spec.name = B::ID.into();
        spec.binary = binary(B::ID);
        spec.trigger.prefix = format!("{}/", B::ID);
        spec.concurrency = 4;
        with_caretaker(config);
    })
    .await;
    let frozen = world.scratch().join("frozen");
    import::<B>(folder, &frozen, &Silent).unwrap();
    world.publish(&frozen);
    world
}

fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer
            .start_file(name.as_str(), SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The uploads of anybody who may send an archive.
fn archives(name: &str, good: &[u8]) -> Vec<Attack> {
    let mut flipped = good.to_vec();
    let middle = flipped.len() / 3;
    for byte in &mut flipped[middle..middle + 40] {
        *byte = !*byte;
    }
    let mut lying = good.to_vec();
    // the sizes of the first entry, in its own header and in the directory at the end
    for at in 0..lying.len() - 30 {
        let sizes = match &lying[at..at + 4] {
            b"PK\x03\x04" => at + 18,
            b"PK\x01\x02" => at + 20,
            _ => continue,
        };
        lying[sizes..sizes + 8].copy_from_slice(&[0xf0, 0xff, 0xff, 0x7f, 0xf0, 0xff, 0xff, 0x7f]);
    }
    let many = (0..3_000).map(|n| (format!("{n}.csv"), Vec::new()));
    vec![
        (
            "a bomb",
            "zip",
            packed(&[(name.to_owned(), vec![b'0'; 16 << 20])]),
        ),
        ("a cut archive", "zip", good[..good.len() / 2].to_vec()),
        (
            "an archive without its beginning",
            "zip",
            good[good.len() / 2..].to_vec(),
        ),
        ("an archive with a wrong checksum", "zip", flipped),
        ("an archive that lies about sizes", "zip", lying),
        ("very many entries", "zip", packed(&many.collect::<Vec<_>>())),
        (
            "names that lead elsewhere",
            "zip",
            packed(&[
                ("../../etc/passwd".into(), b"x".to_vec()),
                ("/a".into(), b"y".to_vec()),
            ]),
        ),
        ("a signature and nothing else", "zip", b"PK\x03\x04".to_vec()),
    ]
}

/// Uploads each kind of attack the given number of times, with an honest upload before each.
async fn attacked<B: Benchmark>(
    world: &World,
    leaderboard: &str,
    honest: (&str, &[u8]),
    n_honest: usize,
    attacks: &[Attack],
) {
    let (ending, honest) = honest;
    let send = async |name: String, ending: &str, bytes: &[u8]| {
        let key = format!("{}/{leaderboard}/{name}/x.{ending}", B::ID);
        world.put(&key, bytes).await
    };
    let seconds = async |sent: &[Sent]| {
        let (mut seconds, mut scores) = (Vec::new(), Vec::new());
        for sent in sent {
            let known = world.leaderboards().submission(B::ID, &sent.id()).await;
            let receipt = known.unwrap().unwrap().receipt.unwrap();
            assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
            seconds
                .push((receipt.finished_at.unix_millis() - receipt.received_at.unix_millis()) as f64 / 1e3);
            scores.push(receipt.verdict.score.unwrap());
        }
        scores.dedup();
        assert_eq!(scores.len(), 1, "the same file has the same score");
        (median_and_worst(seconds), scores[0])
    };
    let n = n_of_each() * attacks.len();
    let before = stream::iter(0..n_honest).map(|n| send(format!("before-{n}"), ending, honest));
    let before: Vec<Sent> = before.buffer_unordered(AT_ONCE).collect().await;
    world.settle().await;
    let all = (0..n).map(|n| (n, &attacks[n % attacks.len()]));
    let all = stream::iter(all).map(async |(n, (kind, of_kind, bytes))| {
        let others = if n < n_honest {
            Some(send(format!("beside-{n}"), ending, honest).await)
        } else {
            None
        };
        (others, *kind, send(format!("mallory-{n}"), of_kind, bytes).await)
    });
    let pairs: Vec<(Option<Sent>, &str, Sent)> = all.buffer_unordered(AT_ONCE).collect().await;
    world.settle().await;
    let others: Vec<Sent> = pairs.iter().filter_map(|(sent, ..)| sent.clone()).collect();
    let ((alone, score), (others, same)) = (seconds(&before).await, seconds(&others).await);
    assert_eq!(score.to_bits(), same.to_bits());
    let mut codes = std::collections::BTreeMap::new();
    for (_, kind, sent) in &pairs {
        let known = world.leaderboards().submission(B::ID, &sent.id()).await;
        let receipt = known.unwrap().unwrap().receipt.unwrap();
        assert_eq!(receipt.verdict.status, Ending::Rejected, "{kind}: {receipt:?}");
        codes.insert(*kind, receipt.verdict.reasons[0].code.clone());
    }
    let snapshot = world.cloud.snapshot().await.unwrap();
    let peak = snapshot.functions[B::ID].peak_memory_kib;
    // Not captured by the test harness: for docs/performance.md.
    let _ = writeln!(
        std::io::stderr(),
        "{}: {n_honest} honest uploads, alone {:.3} s, 99 of 100 {:.3} s; beside {n} hostile ones {:.3} s, {:.3} s; at most {peak} kB; {codes:?}",
        B::ID,
        alone.0,
        alone.1,
        others.0,
        others.1
    );
    assert_eq!(snapshot.n_retried, 0, "nothing was tried again");
    assert!(world.cloud.on_failure().await.unwrap().is_empty());
    assert!(peak > 0 && peak < MAX_PEAK_KIB, "{peak} kB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vision_selection_serves_honest_submitters_despite_attackers() {
    let demo = root().join("demo").join(VisionSelection::ID);
    let world = world_of::<VisionSelection>(&demo).await;
    let folder = demo.join("submissions/open/coin-flip");
    let [good, zip] =
        ["random_20.json", "random_120.zip"].map(|file| std::fs::read(folder.join(file)).unwrap());
    let mut attacks = archives("3.csv", &zip);
    let unknown = |n: usize| -> Vec<u8> {
        let ids = (0..n).map(|id| (format!("{id:016x}"), json!(id % 2)));
        let ids: serde_json::Map<String, serde_json::Value> = ids.collect();
        json!({ "3": ids, "5": ids, "8": ids }).to_string().into_bytes()
    };
    attacks.push(("a look-up of all that is allowed", "json", unknown(100)));
    attacks.push(("a flood of look-ups", "json", unknown(50_000)));
    attacked::<VisionSelection>(&world, "open", ("json", &good), n_of_each() * 10, &attacks).await;
}
