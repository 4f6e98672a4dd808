//! Every command whose result is a table prints it as CSV: one header, rows as wide as it, and no documents in cells.

use std::fs;

use dataperf::ports::bucket::{Bucket, Got};

use crate::support::project::{BENCHMARK, Ran, dataperf, frozen, good, root, text as path_str};
use crate::support::words;
use crate::support::world::{World, key};

/// A command's CSV output: the header, and the rows by its columns.
pub(crate) struct Printed {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Printed {
    /// The cells of a column.
    pub(crate) fn column(&self, name: &str) -> Vec<&str> {
        let place = self.header.iter().position(|column| column == name);
        let place = place.unwrap_or_else(|| panic!("there is no `{name}` in {:?}", self.header));
        self.rows.iter().map(|row| row[place].as_str()).collect()
    }
}

/// A command's output with `--format csv`.
pub(crate) fn csv(world: &World, args: &[&str]) -> Printed {
    read(args, &world.command([args, &["--format", "csv"]].concat()), 0)
}

/// The same of a command that asks no cloud.
pub(crate) fn offline(args: &[&str], code: i32) -> Printed {
    read(args, &dataperf([args, &["--format", "csv"]].concat()), code)
}

fn read(args: &[&str], ran: &Ran, code: i32) -> Printed {
    assert_eq!(ran.code, code, "{args:?}: {ran:?}");
    let mut reader = csv::Reader::from_reader(ran.stdout.as_bytes()); // refuses rows of another width than the header
    let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = texts(reader.headers().unwrap());
    let rows: Vec<Vec<String>> = reader.records().map(|row| texts(&row.unwrap())).collect();
    assert!(header.len() > 1 && !rows.is_empty(), "{args:?}: {ran:?}");
    for cell in rows.iter().flatten() {
        assert!(!cell.starts_with('{'), "{args:?}: a document in a cell: {cell}");
    }
    Printed { header, rows }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_of_a_cloud_is_csv() {
    let world = World::new().await;
    let mut sent = Vec::new();
    for (n, submitter) in ["ada", "bo"].into_iter().enumerate() {
        sent.push(world.put(&key(submitter, n), good(n)).await);
    }
    let rejected = world.put(&key("cy", 2), "{}").await;
    world.settle().await;

    let boards = csv(&world, &["dataset", "list"]);
    assert_eq!(boards.rows.len(), 6, "one row a board: {:?}", boards.rows);
    assert!(boards.column("leaderboard").contains(&"en-25"));
    assert!(
        boards
            .column("dataset")
            .iter()
            .all(|digest| digest.starts_with("sha256:"))
    );

    let id = sent[0].id().to_string();
    let one = csv(&world, &["status", BENCHMARK, &id]);
    assert_eq!(one.column("metric")[0], "score");
    assert!(one.column("value")[0].parse::<f64>().unwrap() > 0.0);
    assert!(one.column("metric").contains(&"f1_per_class/*"));
    let ran = world.command(["status", BENCHMARK, &rejected.id().to_string(), "--format", "csv"]);
    assert!(ran.code == 2 && ran.stdout.contains("missing"), "{ran:?}");
    assert_eq!(
        csv(&world, &["status", BENCHMARK, "--submitter", "ada"]).column("submission"),
        [id.as_str()]
    );

    world.command(["keys", "publish"]);
    assert_eq!(csv(&world, &["keys", "show"]).column("valid_until"), [""]);
    assert_eq!(csv(&world, &["keys", "publish"]).rows.len(), 1);
    let receipt = world.scratch().join("receipt.json");
    let stored = format!("{BENCHMARK}/en-25/ada/{id}.json");
    let Got::Object(stored) = world.bucket("results").get(&stored, None, 1 << 20).await.unwrap() else {
        panic!("`{stored}` is there")
    };
    fs::write(&receipt, &stored.bytes).unwrap();
    let keys = world.scratch().join("keys.json");
    fs::write(&keys, world.command(["keys", "show"]).stdout).unwrap();
    let verified = offline(&["verify", path_str(&receipt), "--keys", path_str(&keys)], 0);
    assert!(verified.column("state").iter().all(|state| *state == "checked"));

    let first = csv(&world, &["leaderboard", BENCHMARK, "en-25"]);
    assert_eq!(first.column("rank"), ["1", "2"]);
    let again = csv(&world, &["rescore", BENCHMARK, "en-25"]);
    assert_eq!(again.column("rank_before"), again.column("rank"));
    assert_eq!(again.column("submitter"), first.column("submitter"));

    let artifact = world.scratch().join("three.json");
    fs::write(&artifact, good(2)).unwrap();
    let submit = [
        "submit",
        BENCHMARK,
        "--leaderboard",
        "en-25",
        "--submitter",
        "dan",
        path_str(&artifact),
    ];
    assert_eq!(csv(&world, &submit).column("status")[0], "scored");
    assert_eq!(
        csv(&world, &[&submit[..], &["--no-wait"]].concat())
            .column("key")
            .len(),
        1
    );
    world.settle().await;
    assert_eq!(csv(&world, &["submitter", "list", BENCHMARK]).rows.len(), 4);
    assert_eq!(csv(&world, &["redrive", &id]).column("became"), ["left as it is"]);

    world.command(["token", "create", "--organizer"]);
    assert_eq!(csv(&world, &["token", "list"]).column("role"), ["organizer"]);
    let wrong = world.command(["token", "revoke", "no-such-id"]);
    let tokens = csv(&world, &["token", "list"]);
    wrong.assert_refused(tokens.column("id")[0]);

    let document = world.scratch().join("challenge.yaml");
    let text = format!(
        "schema: 1\ntitle: Spring\nbenchmarks:\n  {BENCHMARK}:\n    rounds:\n      - {{id: spring, opens: 2026-01-01}}\n"
    );
    fs::write(&document, &text).unwrap();
    let check = ["challenge", "check", path_str(&document)];
    for rounds in [
        offline(&check, 0),
        csv(&world, &["challenge", "publish", path_str(&document)]),
    ] {
        assert_eq!(
            [rounds.column("benchmark"), rounds.column("id")],
            [[BENCHMARK], ["spring"]]
        );
    }
    assert_eq!(
        csv(&world, &["challenge", "show", BENCHMARK]).column("id"),
        ["spring"]
    );
    assert!(!csv(&world, &["challenge", "history", BENCHMARK]).rows.is_empty());
    fs::write(&document, text.replace("spring,", "spring, shut: 1,")).unwrap();
    let wrong = offline(&check, 2);
    assert!(
        wrong.column("at")[0].ends_with("/rounds/0/shut"),
        "{:?}",
        wrong.rows
    );
}

#[test]
fn every_table_of_files_is_csv() {
    let (scratch, ask) = (tempfile::tempdir().unwrap(), offline);
    let shown = ask(&["dataset", "show", path_str(frozen())], 0);
    assert_eq!(
        shown
            .column("part")
            .iter()
            .filter(|part| **part == "leaderboard")
            .count(),
        6
    );
    assert!(shown.column("name").contains(&"en/eval.safetensors"));

    let path = |name: &str| scratch.path().join(name);
    fs::write(path("good.json"), good(0)).unwrap();
    fs::write(path("bad.json"), "{}").unwrap();
    let judge = |command: &'static str, name: &str, code: i32| {
        let artifact = path(name);
        let words = [
            command,
            BENCHMARK,
            "--leaderboard",
            "en-25",
            "--dataset",
            path_str(frozen()),
            path_str(&artifact),
        ];
        offline(&words, code)
    };
    let scored = judge("score", "good.json", 0);
    assert_eq!(
        (scored.column("metric")[0], scored.column("status")[0]),
        ("score", "scored")
    );
    assert_eq!(judge("validate", "good.json", 0).column("status"), ["valid"]);
    for command in ["score", "validate"] {
        let rejected = judge(command, "bad.json", 2);
        assert!(
            rejected
                .column("message")
                .iter()
                .all(|message| !message.is_empty())
        );
    }
    assert!(!ask(&["baseline", "list"], 0).rows.is_empty());

    // and what is no table says so, before anything is done
    let out = path("kit");
    let ran = dataperf(words!(
        "--format csv dataset show {} --public {}",
        path_str(frozen()),
        path_str(&out)
    ));
    assert!(
        ran.code == 1 && ran.stderr.contains("is not a table") && !out.exists(),
        "{ran:?}"
    );
}

#[test]
fn tables_of_own_data_and_boards_are_csv() {
    let (scratch, ask) = (tempfile::tempdir().unwrap(), offline);
    let path = |name: &str| scratch.path().join(name);
    let selection = root().join("demo/selection");
    let trials = ask(
        &["dataset", "check", "selection", "--from", path_str(&selection)],
        0,
    );
    assert_eq!(trials.column("leaderboard"), ["digits-50", "digits-20"]);
    let whole = path("whole");
    let imported = [
        "dataset",
        "import",
        "selection",
        "--from",
        path_str(&selection),
        "--out",
        path_str(&whole),
    ];
    assert_eq!(ask(&imported, 0).column("part")[0], "leaderboard");
    let [public, last] = ["public", "final"].map(path);
    let split = [
        "dataset",
        "split",
        path_str(&whole),
        "--public",
        path_str(&public),
        "--final",
        path_str(&last),
    ];
    assert_eq!(ask(&split, 0).column("class").len(), 10);

    let doubts = ask(&["audit", path_str(&whole)], 0);
    assert!(doubts.column("is_likely").contains(&"true"));
    let (verdicts, corrected) = (path("verdicts.csv"), path("corrected"));
    let [row, suggested] = ["row", "suggested"].map(|name| doubts.column(name)[0]);
    fs::write(&verdicts, format!("set,row,verdict\neval,{row},{suggested}\n")).unwrap();
    let correct = [
        "dataset",
        "correct",
        path_str(&whole),
        "--verdicts",
        path_str(&verdicts),
        "--out",
        path_str(&corrected),
    ];
    assert_eq!(dataperf(correct).code, 0);
    let submissions = selection.join("submissions/digits-20");
    let effect = [
        "audit",
        "effect",
        path_str(&whole),
        path_str(&corrected),
        "-l",
        "digits-20",
        "--submissions",
        path_str(&submissions),
    ];
    assert_eq!(ask(&effect, 0).column("rank_before").len(), 2);

    let scores = path("scores.csv");
    let board = |board: &str, [ada, bo]: [f64; 2]| {
        format!("{BENCHMARK},{board},ada,{ada}\n{BENCHMARK},{board},bo,{bo}\n")
    };
    let text = board("en-25", [0.5, 0.6]) + &board("pt-25", [0.7, 0.6]);
    fs::write(&scores, format!("benchmark,leaderboard,submitter,score\n{text}")).unwrap();
    let across = ask(&["leaderboard", "across", "--scores", path_str(&scores)], 0);
    assert_eq!(across.column(&format!("rank on {BENCHMARK}/pt-25")).len(), 2);
}
