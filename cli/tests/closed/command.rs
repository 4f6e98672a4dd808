//! `dataperf closed` on the demo's data: the examples of examples/closed/, and programs that break the rules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use dataperf::Digest;

use crate::common::{json, root, run, text, words};
use crate::program;

/// The demo's data set of a benchmark, imported once.
pub(crate) fn frozen(benchmark: &str) -> String {
    static FROZEN: OnceLock<tempfile::TempDir> = OnceLock::new();
    static IMPORTING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = IMPORTING.lock();
    let scratch = FROZEN.get_or_init(|| tempfile::tempdir().unwrap());
    let out = scratch.path().join(benchmark);
    let shown = out.to_str().unwrap();
    if !out.exists() {
        let demo = root().join("demo").join(benchmark);
        let from = demo.to_str().unwrap();
        let imported = run(["dataset", "import", benchmark, "--from", from, "--out", shown]);
        assert!(imported.status.success(), "{imported:?}");
    }
    shown.to_owned()
}

pub(crate) fn example(name: &str) -> String {
    root()
        .join("examples/closed")
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

/// `dataperf closed run` on the demo's data set, with more arguments.
pub(crate) fn closed(program: &str, benchmark: &str, leaderboard: &str, more: &[&str]) -> Output {
    let dataset = frozen(benchmark);
    let mut words = words!("--format json closed run {program} {benchmark} -l {leaderboard} -d {dataset}");
    words.extend(more.iter().map(ToString::to_string));
    run(words)
}

fn written(scratch: &Path, text: &str) -> String {
    let path = scratch.join("program.wasm");
    fs::write(&path, wat::parse_str(text).unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Each example, with the baseline that goes by chance and how often it is drawn: orders by chance differ much, and of three sellers
/// one is the best.
const EXAMPLES: [(&str, &str, &str, &str, u32); 6] = [
    ("selection", "digits-50", "selection", "random", 5),
    ("selection", "digits-20", "selection", "random", 5),
    ("speech-selection", "en-25", "speech_selection", "random", 5),
    ("speech-selection", "en-60", "speech_selection", "random", 5),
    ("debugging", "tissue", "debugging", "random", 10),
    ("acquisition", "clinics", "acquisition", "random-seller", 10),
];

#[test]
fn the_examples_beat_the_random_baseline_and_agree() {
    let scratch = tempfile::tempdir().unwrap();
    for (benchmark, board, stem, chance, n_drawn) in EXAMPLES {
        let dataset = frozen(benchmark);
        let path = |name: &str| {
            let path: PathBuf = scratch.path().join(format!("{board}-{name}.json"));
            path.to_str().unwrap().to_owned()
        };
        let score = |artifact: &str| {
            json(&run([
                "--format", "json", "score", benchmark, "-l", board, "-d", &dataset, artifact,
            ]))
        };
        let drawn = |seed: u32| {
            let (out, seed) = (path(&format!("{seed}")), seed.to_string());
            let made = run(words!(
                "baseline {chance} --dataset {dataset} -l {board} --seed {seed} --out {out}"
            ));
            assert!(made.status.success(), "{made:?}");
            score(&out)["score"].as_f64().unwrap()
        };
        let by_chance = (1..=n_drawn).map(drawn).sum::<f64>() / f64::from(n_drawn);
        let of_rust = path("rust");
        let rust = closed(
            &example(&format!("{stem}-rust.wasm")),
            benchmark,
            board,
            &["--out", &of_rust],
        );
        assert_eq!(rust.status.code(), Some(0), "{rust:?}");
        let rust = json(&rust);
        assert_eq!(rust["status"], "scored");
        let own = rust["score"].as_f64().unwrap();
        let is_better = if benchmark == "debugging" {
            own < by_chance // less is to be inspected
        } else {
            own > by_chance
        };
        assert!(is_better, "{board}: {own}, by chance {by_chance}");
        // the artifact is the ordinary one: it has the same verdict without the program
        let mut verdict = rust.clone();
        let about = verdict.as_object_mut().unwrap().remove("run").unwrap();
        assert_eq!(verdict, score(&of_rust));
        let module = fs::read(example(&format!("{stem}-rust.wasm"))).unwrap();
        assert_eq!(about["module"], Digest::compute(&module).to_string());
        // in C the same is chosen, with other fuel
        let c = json(&closed(
            &example(&format!("{stem}-c.wasm")),
            benchmark,
            board,
            &[],
        ));
        assert_eq!(c["artifact"], rust["artifact"], "{board}");
        assert_ne!(c["run"]["fuel"], about["fuel"]);
    }
}

#[test]
fn a_program_repeats_its_result_on_real_data() {
    let module = example("selection-rust.wasm");
    let first = closed(&module, "selection", "digits-20", &["--log"]);
    assert!(json(&first)["run"]["fuel"].as_u64() > Some(1_000_000));
    for _ in 0..crate::n_runs(5) {
        assert_eq!(closed(&module, "selection", "digits-20", &["--log"]), first);
    }
}

#[test]
fn the_log_appears_on_request() {
    let module = example("selection-c.wasm");
    let message = "chose 20 of 700 examples in 10 classes\n";
    let quiet = json(&closed(&module, "selection", "digits-20", &[]));
    assert_eq!(quiet["run"].get("log"), None);
    let loud = json(&closed(&module, "selection", "digits-20", &["--log"]));
    assert_eq!(loud["run"]["log"], message);
    let dataset = frozen("selection");
    let shown = run(words!("closed run {module} -l digits-20 -d {dataset} --log"));
    assert_eq!(text(&shown.stderr), message);
    assert!(
        text(&shown.stdout).contains("selection digits-20: scored 0.8"),
        "{shown:?}"
    );
}

#[test]
fn terminal_control_characters_are_not_printed() {
    let scratch = tempfile::tempdir().unwrap();
    let body = "(call $say (i32.const 2) (i32.const 17)) unreachable";
    let module = written(scratch.path(), &program("\\1b[2J one\\0a\\c2\\9b two\\0d", body));
    let dataset = frozen("selection");
    let shown = run(words!("closed run {module} -l digits-20 -d {dataset} --log"));
    let log = text(&shown.stderr);
    assert!(
        log.starts_with("\u{fffd}[2J one\n\u{fffd} two\u{fffd}"),
        "{log:?}"
    );
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
}

#[test]
fn a_changed_data_set_runs_no_program() {
    let scratch = tempfile::tempdir().unwrap();
    let changed = scratch.path().join("changed");
    let changed = changed.to_str().unwrap();
    let copied = Command::new("cp")
        .args(["-r", &frozen("selection"), changed])
        .status();
    assert!(copied.unwrap().success());
    let pool = Path::new(changed).join("public/pool.npy");
    let mut bytes = fs::read(&pool).unwrap();
    bytes[5000] ^= 1; // of the same size, so that only the digest tells
    fs::remove_file(&pool).unwrap();
    fs::write(&pool, bytes).unwrap();
    let module = example("selection-rust.wasm");
    let ran = run(["closed", "run", &module, "-l", "digits-20", "-d", changed]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let output = text(&ran.stderr);
    assert!(output.contains("`public/pool.npy` is damaged"), "{output}");
}

/// `dataperf closed run` in a shell that lends it less.
fn limited(limit: &str) -> (Option<i32>, String) {
    let dataset = frozen("selection");
    let command = format!(
        "ulimit {limit} && exec '{}' closed run '{}' -l digits-20 -d '{dataset}'",
        env!("CARGO_BIN_EXE_dataperf"),
        example("selection-rust.wasm"),
    );
    let ran = Command::new("bash").args(["-c", &command]).output().unwrap();
    (ran.status.code(), text(&ran.stderr))
}

#[test]
fn a_machine_short_of_resources_blames_no_program() {
    for (limit, lacks) in [
        ("-v 2000000", "bytes of address space"),
        ("-s 900", "bytes of stack"),
        ("-s 200", "bytes of stack"),
        ("-t 60", "seconds of processor time"),
    ] {
        let (code, message) = limited(limit);
        assert_eq!(code, Some(1), "{limit}: {message}");
        assert!(
            message.contains(lacks) && message.contains("raise that limit"),
            "{limit}: {message}"
        );
        assert_eq!(message.lines().count(), 1, "{limit}: {message}");
    }
    // too few descriptors to begin with, or to start a process with three pipes
    for limit in ["-n 5", "-n 8", "-n 12"] {
        let (code, message) = limited(limit);
        assert_eq!(code, Some(1), "{limit}: {message}");
        assert!(
            !message.contains("panicked") && !message.contains("overflow"),
            "{limit}: {message}"
        );
    }
    assert!(
        limited("-n 8")
            .1
            .contains("raise the limits of open files (`ulimit -n`)")
    );
}

#[test]
fn a_failing_program_is_rejected_with_its_code() {
    let scratch = tempfile::tempdir().unwrap();
    for (body, code) in [
        ("unreachable", "trap"),
        ("(call $exit (i32.const 1))", "exit_status"),
        ("", "no_output"),
        // what it says is no artifact, or one that names what it was not given
        ("(call $say (i32.const 1) (i32.const 4))", "not_json"),
    ] {
        let module = written(scratch.path(), &program("pool", body));
        let ran = closed(&module, "selection", "digits-20", &[]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let verdict = json(&ran);
        assert_eq!(verdict["status"], "rejected");
        assert_eq!(verdict["reasons"][0]["code"], code);
    }
}

#[test]
fn a_too_large_module_is_rejected_with_sizes() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("large.wasm");
    // the second has more bytes than any machine has memory, none of which take place on the disk
    for n_bytes in [(4_u64 << 20) + 1, 4 << 40] {
        fs::File::create(&path).unwrap().set_len(n_bytes).unwrap();
        let ran = closed(path.to_str().unwrap(), "selection", "digits-20", &[]);
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
        let verdict = json(&ran);
        let reason = &verdict["reasons"][0];
        assert_eq!(reason["code"], "module_too_large");
        assert_eq!(
            (&reason["limit"], &reason["actual"]),
            (&(4 << 20).into(), &n_bytes.into())
        );
        assert!(verdict["run"]["module"].is_null(), "{verdict}");
    }
}

#[test]
fn an_organizers_limits_are_held() {
    let module = example("selection-c.wasm");
    let code = |more: &[&str]| {
        let ran = closed(&module, "selection", "digits-20", more);
        json(&ran)["reasons"][0].clone()
    };
    let fuel = code(&["--max-fuel", "1000000"]);
    assert_eq!(
        (&fuel["code"], &fuel["limit"]),
        (&"out_of_fuel".into(), &1_000_000.into())
    );
    // its stack alone is larger
    let memory = code(&["--max-memory", "1"]);
    assert_eq!(
        (&memory["code"], &memory["limit"]),
        (&"out_of_memory".into(), &(1 << 20).into())
    );
    let loud = crate::program("x", "(call $say (i32.const 1) (i32.const 2000))");
    let scratch = tempfile::tempdir().unwrap();
    let loud = written(scratch.path(), &loud);
    let ran = json(&closed(&loud, "selection", "digits-20", &["--max-output", "1"]));
    let output = &ran["reasons"][0];
    assert_eq!(
        (&output["code"], &output["limit"]),
        (&"output_too_large".into(), &1024.into())
    );
    let size = code(&["--max-module", "64"]);
    assert_eq!(
        (&size["code"], &size["limit"]),
        (&"module_too_large".into(), &(64 << 10).into())
    );
    for (option, limit) in [("--max-memory", "8192"), ("--max-module", "4097")] {
        let wrong = closed(&module, "selection", "digits-20", &[option, limit]);
        assert_eq!(wrong.status.code(), Some(1), "{wrong:?}");
    }
}

#[test]
fn a_program_may_only_return_given_ids() {
    let scratch = tempfile::tempdir().unwrap();
    let dataset = frozen("selection");
    let pool = fs::read_to_string(Path::new(&dataset).join("public/pool.csv")).unwrap();
    let own = pool.lines().nth(1).unwrap().split(',').next().unwrap();
    for id in [own, "700", "-1", "007", "1e1", ""] {
        let artifact = format!("{{\\22ids\\22: [\\22{id}\\22, \\22700\\22]}}");
        let n_bytes = format!("{{'ids': ['{id}', '700']}}").len();
        let body = format!("(call $say (i32.const 1) (i32.const {n_bytes}))");
        let module = written(scratch.path(), &program(&artifact, &body));
        let verdict = json(&closed(&module, "selection", "digits-20", &[]));
        let reasons = verdict["reasons"].as_array().unwrap();
        let message: Vec<&str> = reasons
            .iter()
            .map(|reason| reason["code"].as_str().unwrap())
            .collect();
        assert_eq!(message, ["unknown_id", "unknown_id"], "{id}: {verdict}");
    }
}

#[test]
fn a_program_that_prints_the_pool_is_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    // reads pool.npy, which is larger than this page, and says what it has read
    let text = r#"(module
        (import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 20)
        (data (i32.const 1024) "pool.csv")
        (func (export "_start")
            (drop (call $open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 8) (i32.const 0) (i64.const 2) (i64.const 0)
                (i32.const 0) (i32.const 600)))
            (i32.store (i32.const 0) (i32.const 65536))
            (i32.store (i32.const 4) (i32.const 1000000))
            (drop (call $read (i32.load (i32.const 600)) (i32.const 0) (i32.const 1) (i32.const 4)))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;
    let module = written(scratch.path(), text);
    let ran = closed(&module, "selection", "digits-20", &[]);
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    let verdict = json(&ran);
    assert_eq!(verdict["reasons"][0]["code"], "not_json");
    // the reasons quote a few characters of it at most
    assert!(verdict["reasons"].to_string().len() < 1000, "{verdict}");
}

#[test]
fn artifacts_without_an_eval_set_are_rule_checked() {
    let scratch = tempfile::tempdir().unwrap();
    let kit = scratch.path().join("kit");
    let kit = kit.to_str().unwrap();
    let shown = run(["dataset", "show", &frozen("debugging"), "--public", kit]);
    assert!(shown.status.success(), "{shown:?}");
    let data = scratch.path().join("data");
    let made = run(words!(
        "--format json closed data -d {kit} --out {}",
        data.display()
    ));
    assert!(made.status.success(), "{made:?}");
    let names: Vec<String> = json(&made)["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "task.json",
            "train.npy",
            "train.csv",
            "validation.npy",
            "validation.csv"
        ]
    );
    for name in &names {
        assert!(data.join(name).is_file());
    }
    let n = fs::read_to_string(data.join("train.csv"))
        .unwrap()
        .lines()
        .count()
        - 1;
    let ids: Vec<String> = (0..n).map(|number| format!("\\22{number}\\22")).collect();
    let artifact = format!("{{\\22order\\22: [{}]}}", ids.join(","));
    let n_bytes = artifact.replace("\\22", "'").len();
    let module = written(
        scratch.path(),
        &program(
            &artifact,
            &format!("(call $say (i32.const 1) (i32.const {n_bytes}))"),
        ),
    );
    let valid = run(["--format", "json", "closed", "run", &module, "-d", kit]);
    assert_eq!(valid.status.code(), Some(0), "{valid:?}");
    let valid = json(&valid);
    assert_eq!(valid["benchmark"], "debugging");
    assert!(
        valid["status"] == "valid" || valid["metrics"]["eval_set"] == "public",
        "{valid}"
    );
}

#[test]
fn an_unrunnable_file_is_a_usage_error() {
    let scratch = tempfile::tempdir().unwrap();
    let module = example("selection-c.wasm");
    let dataset = frozen("selection");
    let curation = frozen("curation");
    let taken = scratch.path().join("taken.json");
    fs::write(&taken, "").unwrap();
    for (arguments, message) in [
        (
            vec!["closed", "run", &module, "-d", &curation, "-l", "digits-set"],
            "`curation` takes no programs",
        ),
        (
            vec!["closed", "run", &module, "-d", &dataset],
            "choose one with `--leaderboard`: `digits-50`, `digits-20`",
        ),
        (
            vec![
                "closed",
                "run",
                "/nowhere.wasm",
                "-d",
                &dataset,
                "-l",
                "digits-20",
            ],
            "can't use the program",
        ),
        (
            vec!["closed", "run", "/dev/zero", "-d", &dataset, "-l", "digits-20"],
            "not a regular file",
        ),
        (
            vec!["closed", "run", &module, "-d", "/nowhere", "-l", "digits-20"],
            "has no frozen data set",
        ),
        (
            vec![
                "closed",
                "run",
                &module,
                "-d",
                &dataset,
                "-l",
                "digits-20",
                "--out",
                taken.to_str().unwrap(),
            ],
            "exists already",
        ),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        assert!(text(&ran.stderr).contains(message), "{}", text(&ran.stderr));
    }
}
