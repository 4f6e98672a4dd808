//! Programs in Python as uploads: on one machine, where the round says so, and refused everywhere else. Where there is no bubblewrap, or the kernel
//! gives it no namespaces, no such program is run, and the test says so; where `CI` is `true` and bubblewrap is there, it fails instead.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use dataperf::programs::rounded;
use dataperf::{Ending, Receipt};
use dataperf_local::Config;
use serde_json::{Value, json};

use super::attacks::has_lines_of;
use super::channels::{N_TOLD_APART, pool};
use super::{CLOSED, closed_round, output, program, stored, tells_little, with_programs};
use crate::challenges::{publish, receipt};
use crate::datasets::finals::staged;
use crate::people::organizer_mistakes::digest;
use crate::support::project::{self, BENCHMARK, frozen};
use crate::support::world::{Sent, World, codes};

const INTERPRETER: &str = "python3";

/// Of each word the first clips, and before that whatever `first` does.
fn selector(first: &str) -> String {
    format!(
        "import csv, json, sys\n\
         pool = open('/data/pool.csv').read()\n\
         {first}\n\
         lists = {{}}\n\
         for row in csv.DictReader(pool.splitlines()):\n    \
             lists.setdefault(row['label'], []).append(row['id'])\n\
         lists = {{word: ids[:3] for word, ids in lists.items()}}\n\
         nontargets = lists.pop('')\n\
         json.dump({{'targets': lists, 'nontargets': nontargets}}, sys.stdout)\n\
         print('of each word three', file=sys.stderr)\n"
    )
}

/// An archive of the selector, whose beginning is a file of its own.
fn archive() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [
        ("main.py", selector("import helper")),
        ("helper.py", String::new()),
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// All functions as `dataperf local` has them: with an interpreter for programs, and where bubblewrap is found.
fn with_python(config: &mut Config) {
    with_programs(config);
    let functions = config.functions.iter_mut();
    let own = [
        ("DATAPERF_PYTHON", INTERPRETER.to_owned()),
        ("PATH", std::env::var("PATH").unwrap()),
    ];
    for function in functions.filter(|function| function.name == CLOSED) {
        let own = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        function.environment.extend(own);
    }
}

/// Whether programs in Python can be run here.
fn is_held() -> bool {
    let made = Command::new("bwrap")
        .args(["--unshare-all", "--ro-bind", "/", "/", "true"])
        .output();
    let why = match made {
        Ok(made) if made.status.success() => return true,
        Ok(made) => {
            let why = String::from_utf8_lossy(&made.stderr).into_owned();
            let is_ci = std::env::var_os("CI").is_some_and(|is_ci| is_ci == "true");
            assert!(!is_ci, "bubblewrap is here and can't be used: {why}");
            why
        }
        Err(why) => why.to_string(),
    };
    // not captured by the test harness
    let _ = writeln!(std::io::stderr(), "programs in Python were NOT tried: {why}");
    false
}

async fn upload(world: &World, board: &str, name: &str, bytes: impl Into<Vec<u8>>) -> (Sent, Receipt) {
    let sent = world.put(&format!("{BENCHMARK}/{board}/ada/{name}"), bytes).await;
    world.settle().await;
    let receipt = receipt(world, &sent).await;
    (sent, receipt)
}

/// The output of `dataperf closed run` for a Python program on a data set.
fn offline(world: &World, source: &str, dataset: &Path) -> Value {
    let path = world.scratch().join("selector.py");
    std::fs::write(&path, source).unwrap();
    let (path, dataset) = (path.to_str().unwrap(), dataset.to_str().unwrap());
    let words = [
        "--format",
        "json",
        "closed",
        "run",
        path,
        "--python",
        INTERPRETER,
        "-l",
        "en-25",
        "-d",
        dataset,
    ];
    let ran = project::ran(words);
    ran.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_machine_board_scores_python_programs() {
    if !is_held() {
        return;
    }
    let world = World::with(with_python).await;
    let (directory, hidden) = staged(&world);
    let mut round = closed_round(digest(frozen()), hidden, &json!({ "python": true }));
    round[0]["daily_limit"] = json!(100);
    round[0]["programs"]["daily_failures"] = json!(100_000);
    let ran = publish(&world, &round);
    assert_eq!(ran.code, 0, "{ran:?}");

    let alone = offline(&world, &selector(""), &directory);
    let score = rounded(alone["score"].as_f64().unwrap(), 312);
    for (name, bytes) in [
        ("selector.py", selector("").into_bytes()),
        ("selector.zip", archive()),
    ] {
        let (sent, receipt) = upload(&world, "en-25", name, bytes).await;
        assert_eq!(receipt.verdict.status, Ending::Scored, "{name}: {receipt:?}");
        assert_eq!(receipt.verdict.score, Some(score), "{name}: {alone}");
        let shown = receipt.verdict.program.as_ref().unwrap();
        assert_eq!(json!(shown.engine), alone["run"]["engine"], "{name}");
        assert!(shown.engine.starts_with("Python 3."), "{shown:?}");
        let shown = receipt.verdict.public_run.as_ref().unwrap();
        assert_eq!((shown.fuel, shown.log.as_str()), (None, "of each word three\n"));
        tells_little(&receipt, &stored(&world, &receipt).await);
        let kept = output(&world, &sent).await.unwrap();
        assert!(kept.is_hidden_run, "{kept:?}");
        assert_eq!(json!(kept.output), alone["run"]["output"], "{name}");
    }
    // the same board takes modules
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let (_, receipt) = upload(&world, "en-25", "selector.wasm", module).await;
    assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
    is_told_as_modules_are(&world, &directory).await;
}

/// Everything of a program that fails on public data, and one code of one that fails on hidden data.
async fn is_told_as_modules_are(world: &World, hidden: &Path) {
    let fails = "sys.exit('it is the second line that is wrong')";
    let (_, receipt) = upload(world, "en-25", "fails.py", selector(fails)).await;
    assert_eq!(codes(&receipt), ["exit_status"], "{receipt:?}");
    assert_eq!(receipt.verdict.reasons[0].actual, Some(1));
    let log = &receipt.verdict.public_run.as_ref().unwrap().log;
    assert!(log.contains("it is the second line that is wrong"), "{log}");

    let public = pool(world, frozen(), "public");
    let beginning = json!(public[..N_TOLD_APART]);
    let secret = pool(world, hidden, "hidden");
    for (name, does, code) in [
        ("prints.py", "print(pool); sys.exit()", "not_json"),
        ("exits.py", "sys.exit(pool)", "exit_status"),
        ("starts.py", "import os; os.fork()", "exit_status"),
        (
            "opens.py",
            "import socket; socket.create_connection(('127.0.0.1', 1))",
            "exit_status",
        ),
    ] {
        let source = selector(&format!(
            "if not pool.startswith({beginning}):\n    print(pool, file=sys.stderr); {does}"
        ));
        let (sent, receipt) = upload(world, "en-25", name, source).await;
        assert_eq!(codes(&receipt), [code], "{name}: {receipt:?}");
        let stored = stored(world, &receipt).await;
        tells_little(&receipt, &stored);
        assert!(!has_lines_of(&stored.to_string(), &secret), "{name}: {stored}");
        assert!(output(world, &sent).await.unwrap().is_hidden_run, "{name}");
    }
}

/// A round without Python does not run a Python program. The submitter gets a reason and nothing is
/// counted: a module still has its place after more such uploads than the limit.
async fn refuses(world: &World, board: &str, why: &str) {
    for n in 0..2 {
        for (name, bytes) in [
            ("selector.py", selector("").into_bytes()),
            ("selector.ZIP", archive()),
        ] {
            let (sent, receipt) = upload(world, board, &format!("{n}-{name}"), bytes).await;
            assert_eq!(codes(&receipt), ["python_not_taken"], "{receipt:?}");
            assert_eq!(receipt.verdict.status, Ending::Rejected);
            let message = &receipt.verdict.reasons[0].message;
            assert!(
                message.contains(why) && message.ends_with("upload a WebAssembly module"),
                "{message}"
            );
            let verdict = &receipt.verdict;
            assert!(
                verdict.program.is_none() && verdict.public_run.is_none(),
                "{receipt:?}"
            );
            let kept = output(world, &sent).await.unwrap();
            assert!(
                !kept.is_hidden_run && kept.public_run.is_none() && kept.artifact.is_none(),
                "{kept:?}"
            );
        }
    }
    let module = std::fs::read(program("speech_selection-c")).unwrap();
    let (_, receipt) = upload(world, board, "selector.wasm", module).await;
    assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_rounds_allowing_python_take_python_programs() {
    // of two rounds at once, on a machine that has an interpreter, one says so
    let world = World::with(with_python).await;
    let (_, hidden) = staged(&world);
    let mut rounds = closed_round(digest(frozen()), hidden, &json!({}));
    rounds[0]["leaderboards"] = json!(["en-25"]);
    let mut others = rounds[0].clone();
    others["id"] = json!("in-python");
    others["leaderboards"] = json!(["en-60"]);
    others["programs"]["python"] = json!(true);
    rounds.as_array_mut().unwrap().push(others);
    let ran = publish(&world, &rounds);
    assert_eq!(ran.code, 0, "{ran:?}");
    refuses(&world, "en-25", "this round takes no programs in Python").await;
    if is_held() {
        let (_, receipt) = upload(&world, "en-60", "selector.py", selector("")).await;
        assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_interpreter_rounds_refuse_python_programs() {
    let world = World::with(with_programs).await;
    let (_, hidden) = staged(&world);
    let ran = publish(
        &world,
        &closed_round(digest(frozen()), hidden, &json!({ "python": true })),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    refuses(&world, "en-25", "this round is on AWS").await;
}
