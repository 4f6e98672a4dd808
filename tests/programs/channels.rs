//! Measures how much a program's author can learn about hidden data by an upload: it collects
//! everything visible, and counts answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dataperf::programs::{shown_after, stored_after};
use dataperf::{Ending, Timestamp};
use dataperf_closed::Code;
use serde_json::{Value, json};

use super::{closed_round, output, send, stored, with_room_for_held_verdicts};
use crate::challenges::{publish, receipt};
use crate::datasets::finals::staged;
use crate::people::organizer_mistakes::digest;
use crate::read_api::{ADA, Reading};
use crate::support::project::{self, BENCHMARK, frozen};
use crate::support::world::{Sent, World};

/// So many bytes of the pool's table tell the public data from the hidden.
pub(super) const N_TOLD_APART: usize = 512;

/// The pool's table as a program has it.
pub(super) fn pool(world: &World, dataset: &Path, name: &str) -> String {
    let out = world.scratch().join(name);
    project::ran(
        ["closed", "data", "-l", "en-25", "-d"]
            .map(AsRef::as_ref)
            .into_iter()
            .chain([dataset.as_os_str(), "--out".as_ref(), out.as_os_str()]),
    );
    std::fs::read_to_string(out.join("pool.csv")).unwrap()
}

/// An artifact of some clips of each word, of those from a place on.
pub(super) fn artifact(pool: &str, from: usize) -> String {
    let mut by_word: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in pool.lines().skip(1) {
        let (id, word) = line.split_once(',').unwrap();
        by_word.entry(word).or_default().push(id);
    }
    let mut lists: BTreeMap<&str, Vec<&str>> = by_word
        .into_iter()
        .map(|(word, ids)| (word, ids[from..from + 3].to_vec()))
        .collect();
    let nontargets = lists.remove("").unwrap();
    json!({ "targets": lists, "nontargets": nontargets }).to_string()
}

fn escaped(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    bytes.concat()
}

/// A program that writes one artifact on public data, and on other data does something else: `$say` writes so many bytes of one of the texts,
/// whose places and lengths the body is given.
pub(super) fn two_faced(
    public_pool: &str,
    public: &str,
    texts: &[&str],
    body: impl Fn(&[(usize, usize)]) -> String,
) -> Vec<u8> {
    let mut places = Vec::new();
    let mut data = String::new();
    let mut end = 16384;
    for text in [public].iter().chain(texts) {
        data += &[
            "(data (i32.const ",
            &end.to_string(),
            ") \"",
            &escaped(text),
            "\")",
        ]
        .concat();
        places.push((end, text.len()));
        end += text.len();
    }
    let (begin, n) = places[0];
    let text = format!(
        r#"(module
        (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 8)
        (data (i32.const 1024) "pool.csv")
        (data (i32.const 4096) "{}")
        {data}
        (func $say (param $fd i32) (param $begin i32) (param $n i32)
            (i32.store (i32.const 0) (local.get $begin))
            (i32.store (i32.const 4) (local.get $n))
            (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
        (func (export "_start") (local $n i32)
            (drop (call $open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 8) (i32.const 0) (i64.const 2) (i64.const 0)
                (i32.const 0) (i32.const 600)))
            (i32.store (i32.const 0) (i32.const 8192))
            (i32.store (i32.const 4) (i32.const {N_TOLD_APART}))
            (drop (call $read (i32.load (i32.const 600)) (i32.const 0) (i32.const 1) (i32.const 8)))
            (block $hidden
                (loop $again
                    (br_if $hidden (i32.ne (i32.load8_u (i32.add (i32.const 4096) (local.get $n)))
                        (i32.load8_u (i32.add (i32.const 8192) (local.get $n)))))
                    (local.set $n (i32.add (local.get $n) (i32.const 1)))
                    (br_if $again (i32.lt_u (local.get $n) (i32.const {N_TOLD_APART}))))
                (call $say (i32.const 1) (i32.const {begin}) (i32.const {n}))
                (return))
            (local.set $n (i32.const 0))
            {}))"#,
        escaped(&public_pool[..N_TOLD_APART]),
        body(&places[1..]),
    );
    wat::parse_str(text).unwrap()
}

/// Writes one of the texts.
fn say(fd: u32, (begin, n): (usize, usize)) -> String {
    format!("(call $say (i32.const {fd}) (i32.const {begin}) (i32.const {n}))")
}

/// A program that compiles at once: it knows an artifact of the public data, and one of the data in a directory, both of clips from a place on.
pub(super) fn small(world: &World, hidden: &Path, from: usize) -> Vec<u8> {
    let name = |data: &str| format!("{data}-{from}");
    let public_pool = pool(world, frozen(), &name("public"));
    let hidden_pool = pool(world, hidden, &name("hidden"));
    let [public, hidden] = [&public_pool, &hidden_pool].map(|pool| artifact(pool, from));
    two_faced(&public_pool, &public, &[&hidden], |at| say(1, at[0]))
}

/// A verdict on hidden data is recorded at a step since the upload, and every time that its author sees is one of such a step.
fn is_at_a_step(seen: &Value) {
    let time = |value: &Value, name: &str| {
        value[name]
            .as_str()
            .map(|time| time.parse::<Timestamp>().unwrap().unix_millis())
    };
    match seen {
        Value::Object(members) => {
            for name in ["finished_at", "evaluated_at"] {
                if let (Some(received), Some(finished)) = (time(seen, "received_at"), time(seen, name)) {
                    assert_eq!((finished - received) % 500, 0, "{seen:#}");
                    assert!(finished - received >= 1_500, "{seen:#}");
                }
            }
            members.values().for_each(is_at_a_step);
        }
        Value::Array(values) => values.iter().for_each(is_at_a_step),
        _ => {}
    }
}

/// Everything that a submitter may see of an upload, without what it knows before and without times.
pub(super) async fn seen(reading: &Reading, sent: &Sent) -> String {
    fn without(value: &mut Value, names: &[&str]) {
        match value {
            Value::Object(members) => {
                members.retain(|name, _| !names.contains(&name.as_str()));
                members.values_mut().for_each(|value| without(value, names));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
            _ => {}
        }
    }
    let of_receipt = receipt(&reading.world, sent).await;
    let object = stored(&reading.world, &of_receipt).await;
    let id = sent.id();
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let api = reading.ask(ADA, &format!("{url}/submissions/{id}"));
    assert_eq!(api.status, 200, "{}", api.text());
    let history = reading
        .ask(ADA, &format!("{url}/submissions?submitter=ada&limit=100"))
        .json();
    let lines = history["submissions"].as_array().unwrap();
    let line = lines.iter().find(|line| line["submission"] == json!(id));
    let board = reading
        .ask(ADA, &format!("{url}/leaderboards/en-25?round=closed"))
        .json();
    for row in board["rows"].as_array().unwrap() {
        for name in ["interval", "rank_interval"] {
            assert!(row[name].is_null(), "{row}");
        }
    }
    let mut seen = json!([object, api.json(), line.expect("it is in the history")]);
    is_at_a_step(&seen);
    let text = seen.to_string();
    assert!(text.contains("\"public_run\""), "{text}");
    without(&mut seen, &["public_run"]); // of which everything is told, and which knows nothing of hidden data
    let text = seen.to_string();
    assert!(!text.contains("\"fuel\"") && !text.contains("secret-"), "{text}");
    // ids, the file's own name, digest and signature; how many uploads there were; and the times, which are held to steps and counted apart
    without(
        &mut seen,
        &[
            "submission",
            "id",
            "key",
            "version",
            "module",
            "signature",
            "received_at",
            "evaluated_at",
            "finished_at",
            "receipt",
            "n_submissions",
            "e_tag",
        ],
    );
    seen.to_string()
}

/// A program's behaviour on hidden data, if so many texts are at these places and have so many
/// bytes.
type Body<'a> = &'a dyn Fn(&[(usize, usize)]) -> String;

/// Programs that know the hidden data, in groups whose authors must see the same.
fn groups(public_pool: &str, hidden_pool: &str) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let public = artifact(public_pool, 0);
    let good = artifact(hidden_pool, 0);
    // the same artifact in other bytes
    let spaced = format!("  {}\n\n", good.replace(',', " , "));
    let other = artifact(hidden_pool, 3);
    // one unknown id, several, and ids together with another broken rule
    let unknown = good.replacen("[\"", "[\"secret-1\",\"", 1);
    let many_unknown = good.replace("[\"", "[\"secret-2\",\"");
    let twice = {
        let mut document: Value = serde_json::from_str(&unknown).unwrap();
        let nontargets = document["nontargets"].as_array_mut().unwrap();
        nontargets.push(nontargets[0].clone());
        document.to_string()
    };
    let texts = [&good, &spaced, &other, &unknown, &many_unknown, &twice].map(String::as_str);
    let program = |body: Body| two_faced(public_pool, &public, &texts, body);
    let burn = |n: i64| {
        format!(
            "(local.set $n (i32.const {n})) (loop $burn (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $burn (local.get $n)))"
        )
    };
    vec![
        (
            "an artifact, whatever fuel, log and form it comes with",
            vec![
                program(&|at| say(1, at[0])),
                program(&|at| burn(1) + &say(1, at[0])),
                program(&|at| burn(100_000_000) + &say(1, at[0])),
                program(&|at| say(2, at[3]) + &say(1, at[0])),
                program(&|at| say(2, at[4]) + &say(2, at[4]) + &say(1, at[0])),
                program(&|at| say(1, at[1])),
            ],
        ),
        ("another artifact", vec![program(&|at| say(1, at[2]))]),
        (
            "a status, whatever it is",
            [1, 2, 255, -1]
                .map(|status| program(&|at| say(1, at[0]) + &format!("(call $exit (i32.const {status}))")))
                .to_vec(),
        ),
        (
            "a trap, wherever it is",
            vec![
                program(&|_| "unreachable".into()),
                program(&|at| burn(1000) + &say(2, at[3]) + "(drop (i32.load (i32.const -1)))"),
                program(&|_| "(drop (i32.div_s (i32.const 1) (i32.const 0)))".into()),
            ],
        ),
        (
            "no memory, however much was asked for",
            vec![
                program(&|_| "(drop (memory.grow (i32.const 60000)))".into()),
                program(&|_| "(drop (memory.grow (i32.const 30000)))".into()),
            ],
        ),
        ("nothing", vec![program(&|_| String::new())]),
        (
            "ids that there are not, whichever, and beside whatever else",
            vec![
                program(&|at| say(1, at[3])),
                program(&|at| say(1, at[4])),
                program(&|at| say(1, at[5])),
            ],
        ),
        (
            "no document",
            vec![
                program(&|at| say(1, (at[3].0, 10))),
                program(&|at| say(1, (at[4].0, 20))),
            ],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_data_produce_only_scores_or_one_code() {
    let world = World::with(with_room_for_held_verdicts).await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({}));
    round[0]["daily_limit"] = json!(1000);
    round[0]["programs"]["daily_failures"] = json!(100_000);
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (public_pool, hidden_pool) = (
        pool(&world, frozen(), "public"),
        pool(&world, &directory, "hidden"),
    );
    assert_ne!(public_pool[..N_TOLD_APART], hidden_pool[..N_TOLD_APART]);
    let groups = groups(&public_pool, &hidden_pool);
    let mut sent = Vec::new();
    for (name, programs) in &groups {
        for program in programs {
            sent.push((*name, send(&world, "ada", program.clone()).await));
        }
    }
    world.settle().await;
    for (_, sent) in &sent {
        let output = output(&world, sent).await.unwrap();
        assert!(output.is_hidden_run, "{output:?}");
    }
    let reading = Reading::new(world).await;
    let mut answers: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, sent) in &sent {
        let shown = receipt(&reading.world, sent).await.verdict;
        assert!(shown.reasons.len() <= 1 && shown.cause.is_none(), "{shown:?}");
        assert_eq!(shown.score.is_some(), shown.status == Ending::Scored);
        answers
            .entry(name)
            .or_default()
            .insert(seen(&reading, sent).await);
    }
    for (name, answers) in &answers {
        assert_eq!(answers.len(), 1, "{name}: {answers:#?}");
    }
    let all: BTreeSet<&String> = answers.values().flatten().collect();
    assert_eq!(all.len(), groups.len(), "each group has an answer of its own");
}

/// More than there are codes of rules that an artifact may break.
const MAX_RULES: usize = 100;

/// The numbers of docs/closed-division.md and docs/security.md.
#[test]
fn the_documents_say_how_many_answers_there_are() {
    let scores: BTreeSet<u64> = (0..=1_000_000)
        .map(|n| dataperf::programs::rounded(f64::from(n) / 1e6, 1000).to_bits())
        .collect();
    assert_eq!(scores.len(), 1001);
    let mut codes = BTreeSet::new();
    for folder in ["shared/dataperf/src", "shared/benchmarks"] {
        add_codes(&crate::support::project::root().join(folder), &mut codes);
    }
    assert!((30..MAX_RULES).contains(&codes.len()), "{codes:?}");
    let bits = ((scores.len() + Code::ALL.len() + MAX_RULES) as f64).log2();
    assert!(bits < 10.2, "{bits}");
    // where scores have a wider range there are more of them
    let models: BTreeSet<u64> = (-2_000_000..=1_400_000)
        .map(|n| dataperf::programs::rounded(f64::from(n) / 1e6, 1000).to_bits())
        .collect();
    let of_models = models.len() + Code::ALL.len() + MAX_RULES;
    // the possible times of the verdict: a program chooses its duration, up to all its seconds of
    // processor time
    let seconds = dataperf_closed::Limits::for_artifacts_of(1).run_seconds;
    let runs = (0..seconds * 1_000).step_by(100).map(Duration::from_millis);
    // and how long its artifact takes to be judged, up to half of the time of a function
    let judging = [0, 5, 90, 900, 2_900, 5_756, 60_000, 150_000].map(Duration::from_millis);
    let times = runs.flat_map(|run| judging.map(|judging| shown_after(stored_after(run) + judging)));
    let times: BTreeSet<_> = times.collect();
    assert_eq!(times.len(), 8, "{times:?}");
    let bits = bits + (times.len() as f64).log2();
    assert!(bits < 13.2, "{bits}");
    assert!((of_models as f64).log2() < 11.8 && ((of_models * times.len()) as f64).log2() < 14.8);
    for name in ["closed-division.md", "security.md"] {
        let document =
            std::fs::read_to_string(crate::support::project::root().join("docs").join(name)).unwrap();
        assert!(
            ["10.2 bits", "13.2", "11.8", "14.8"]
                .iter()
                .all(|bits| document.contains(bits)),
            "{name}"
        );
    }
}

/// The codes of reasons in the sources of a folder.
fn add_codes(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_codes(&path, codes);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for after in text.split("Reason::new(").skip(1) {
                let code = after
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|after| after.split('"').next());
                codes.extend(code.map(str::to_owned));
            }
        }
    }
}
