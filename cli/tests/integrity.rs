//! Audits, corrections and their effect, and agreement across boards, as an organizer calls them.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{json, run};
use serde_json::Value;

fn demo(path: &str) -> String {
    common::demo(path).to_str().unwrap().to_owned()
}

fn done(args: &[&str]) -> Value {
    let output = run(["--format", "json"].iter().chain(args));
    assert_eq!(output.status.code(), Some(0), "{args:?} {output:?}");
    json(&output)
}

fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?} {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A frozen data set of the demo's data.
fn import(benchmark: &str, scratch: &Path) -> String {
    let out = scratch.join(benchmark).to_str().unwrap().to_owned();
    let from = demo(benchmark);
    done(&["dataset", "import", benchmark, "--from", &from, "--out", &out]);
    out
}

fn path(scratch: &Path, name: &str) -> String {
    scratch.join(name).to_str().unwrap().to_owned()
}

/// The arguments that write a corrected data set.
fn correct<'a>(frozen: &'a str, verdicts: &'a str, out: &'a str) -> [&'a str; 7] {
    ["dataset", "correct", frozen, "--verdicts", verdicts, "--out", out]
}

/// The work list with these verdicts: the first lines of it.
fn verdicts(work_list: &str, answer: impl Fn(&csv::StringRecord) -> String, to: &str) {
    let mut reader = csv::Reader::from_path(work_list).unwrap();
    let mut writer = csv::Writer::from_path(to).unwrap();
    writer.write_record(reader.headers().unwrap()).unwrap();
    for line in reader.records() {
        let line = line.unwrap();
        let message = answer(&line);
        writer
            .write_record(line.iter().take(line.len() - 1).chain([message.as_str()]))
            .unwrap();
    }
    writer.flush().unwrap();
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_benchmark_is_audited_and_corrected() {
    let scratch = tempfile::tempdir().unwrap();
    for benchmark in [
        "vision-selection",
        "vision-debugging",
        "data-acquisition",
        "selection",
        "debugging",
        "acquisition",
        "curation",
        "speech-selection",
    ] {
        let frozen = import(benchmark, scratch.path());
        let (list, report) = (
            path(scratch.path(), "list.csv"),
            path(scratch.path(), "report.md"),
        );
        for there in [&list, &report] {
            let _ = fs::remove_file(there);
        }
        let audited = done(&["audit", &frozen, "--work-list", &list, "--report", &report]);
        let sets = audited["sets"].as_array().unwrap();
        assert!(
            !sets.is_empty() && sets.iter().all(|set| set["why_no_doubts"].is_null()),
            "{benchmark}"
        );
        // each set's labels in doubt and a control sample of the others
        let lines_of = |set: &Value| {
            let n_doubts = set["doubts"].as_array().unwrap().len();
            let n_others = set["n_items"].as_u64().unwrap() as usize - n_doubts;
            n_doubts + n_others.min(100)
        };
        let n: usize = sets.iter().map(lines_of).sum();
        for set in sets {
            let whole = |value: &Value| value.as_u64().unwrap();
            let classes = set["classes"].as_array().unwrap();
            let of_classes = |name: &str| classes.iter().map(|class| whole(&class[name])).sum::<u64>();
            for (name, share) in [("n_doubts", "doubtful"), ("n_likely", "likely")] {
                assert_eq!(of_classes(name), whole(&set[name]), "{benchmark}");
                let actual = set[share]["share"].as_f64().unwrap();
                let [low, high] = [0, 1].map(|end| set[share]["interval"][end].as_f64().unwrap());
                assert!(low <= actual && actual <= high && low < high, "{benchmark} {set}");
                assert!((actual * whole(&set["n_items"]) as f64 - whole(&set[name]) as f64).abs() < 1e-6);
            }
        }
        assert_eq!(
            csv::Reader::from_path(&list).unwrap().records().count(),
            n,
            "{benchmark}"
        );
        assert!(
            fs::read_to_string(&report)
                .unwrap()
                .contains("For the organizer only")
        );

        // a label of the first set becomes another class that it has
        let counts = sets[0]["classes"].as_array().unwrap();
        let class = |place: usize| counts[place]["class"].as_str().unwrap();
        let edits = path(scratch.path(), "edits.csv");
        let name = sets[0]["set"].as_str().unwrap();
        fs::write(
            &edits,
            format!("set,row,verdict\n{name},0,{}\n{name},1,{}\n", class(0), class(1)),
        )
        .unwrap();
        let out = path(scratch.path(), &format!("{benchmark}-corrected"));
        let corrected = run(correct(&frozen, &edits, &out));
        let other = format!("set,row,verdict\n{name},0,{}\n{name},1,{}\n", class(1), class(0));
        if corrected.status.code() != Some(0) {
            // both have these classes already
            fs::write(&edits, other).unwrap();
            done(&correct(&frozen, &edits, &out));
        }
        let shown = done(&["dataset", "show", &out]);
        assert_eq!(shown["corrected"]["parent"], audited["dataset"], "{benchmark}");
        assert_ne!(shown["dataset"], audited["dataset"]);
        assert!(done(&["dataset", "verify", &out])["verified"].as_bool().unwrap());
        assert!(shown["corrected"]["n_edits"].as_u64().unwrap() >= 1);
    }
}

#[test]
fn a_correction_creates_a_separate_undisclosed_data_set() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import("selection", scratch.path());
    let before: Vec<(PathBuf, Vec<u8>)> = files_below(Path::new(&frozen))
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    let (list, filled) = (
        path(scratch.path(), "list.csv"),
        path(scratch.path(), "filled.csv"),
    );
    done(&["audit", &frozen, "--set", "eval", "--work-list", &list]);
    assert!(refused(&["audit", &frozen, "--work-list", &list]).contains("exists already"));
    assert!(refused(&["audit", &frozen, "--set", "evil"]).contains("`eval`"));
    verdicts(&list, |line| line.get(3).unwrap().to_owned(), &filled);
    let same = path(scratch.path(), "same");
    let output = refused(&correct(&frozen, &filled, &same));
    assert!(
        output.contains("can't be used") && output.contains("would stay the same"),
        "{output}"
    );
    verdicts(&list, |line| line.get(4).unwrap().to_owned(), &filled);
    let out = path(scratch.path(), "corrected");
    let output = done(&correct(&frozen, &filled, &out));
    assert!(output["n_edits"].as_u64().unwrap() > 0);
    assert_eq!(
        done(&correct(&frozen, &filled, &out))["dataset"],
        output["dataset"],
        "the same again is the same data set"
    );
    let edits = fs::read_to_string(Path::new(&out).join("corrections.csv")).unwrap();
    assert_eq!(
        edits.lines().count() as u64,
        1 + output["n_edits"].as_u64().unwrap()
    );
    for (path, bytes) in &before {
        assert_eq!(&fs::read(path).unwrap(), bytes, "nothing is overwritten");
    }
    assert!(refused(&correct(&frozen, &filled, &frozen)).contains("exists already"));

    // participants get the same files from both: neither the edits nor their places
    let kits = [&frozen, &out].map(|from| {
        let kit = path(
            scratch.path(),
            &format!("{}-kit", Path::new(from).file_name().unwrap().to_str().unwrap()),
        );
        done(&["dataset", "show", from, "--public", &kit]);
        let mut files: Vec<(PathBuf, Vec<u8>)> = files_below(Path::new(&kit))
            .into_iter()
            .map(|file| {
                (
                    file.strip_prefix(&kit).unwrap().to_owned(),
                    fs::read(&file).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    });
    assert_eq!(kits[0], kits[1]);
    assert!(!kits[1].iter().any(|(path, _)| path.ends_with("corrections.csv")));
    let kit = path(scratch.path(), "corrected-kit");
    assert!(done(&["dataset", "show", &kit])["corrected"].is_null());
    // the rest of a participant's test sets is public; a note says if there is none
    assert_eq!(done(&["audit", &kit])["sets"].as_array().unwrap().len(), 1);
    let other = import("vision-debugging", scratch.path());
    let kit = path(scratch.path(), "other-kit");
    done(&["dataset", "show", &other, "--public", &kit]);
    let none = run(["audit", &kit]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
}

/// Frozen, and with many labels made wrong, so that scores change.
fn two_versions(benchmark: &str, scratch: &Path) -> [String; 2] {
    let frozen = import(benchmark, scratch);
    let audited = done(&["audit", &frozen]);
    let class = audited["sets"][0]["classes"][0]["class"].as_str().unwrap();
    let name = audited["sets"][0]["set"].as_str().unwrap();
    let mut lines = "set,row,verdict\n".to_owned();
    for row in (0..100).step_by(7) {
        lines += &[name, ",", &row.to_string(), ",", class, "\n"].concat();
    }
    let (filled, out) = (path(scratch, "filled.csv"), path(scratch, "changed"));
    fs::write(&filled, lines).unwrap();
    done(&correct(&frozen, &filled, &out));
    [frozen, out]
}

fn effect_args<'a>(versions: [&'a str; 2], leaderboard: &'a str, submissions: &'a str) -> [&'a str; 8] {
    let [before, after] = versions;
    [
        "audit",
        "effect",
        before,
        after,
        "-l",
        leaderboard,
        "--submissions",
        submissions,
    ]
}

#[test]
fn the_effect_is_that_of_scoring_with_both() {
    for (benchmark, leaderboard) in [("selection", "digits-50"), ("vision-debugging", "open")] {
        let scratch = tempfile::tempdir().unwrap();
        let versions = two_versions(benchmark, scratch.path());
        let [frozen, out] = versions.each_ref().map(String::as_str);
        let submissions = demo(&format!("{benchmark}/submissions/{leaderboard}"));
        let report = path(scratch.path(), "effect.md");
        let args = effect_args([frozen, out], leaderboard, &submissions);
        let effect = done(&[&args[..], &["--report", &report]].concat());
        let lines = effect["lines"].as_array().unwrap();
        assert!(
            lines.len() >= 2 && effect["n_changed"].as_u64().unwrap() > 0,
            "{effect}"
        );
        let left_out = effect["left_out"][0]["name"].as_str().unwrap();
        assert!(
            left_out.starts_with("hasty"),
            "what breaks a rule is named: {left_out}"
        );
        for line in lines {
            let submitter = line["name"].as_str().unwrap();
            // the file itself, where a submitter has several
            let folder = Path::new(&submissions).join(submitter);
            let file = if folder.is_file() {
                folder
            } else {
                files_below(&folder).remove(0)
            };
            for (dataset, version) in [(frozen, "before"), (out, "after")] {
                let file = file.to_str().unwrap();
                let judged = done(&["score", benchmark, "-l", leaderboard, "-d", dataset, file]);
                assert_eq!(judged["score"], line[version]["score"], "{submitter} {version}");
            }
        }
        let n_changed = &done(&["dataset", "show", out])["corrected"]["n_edits"];
        assert_eq!(
            &effect["errors"].as_array().unwrap().last().unwrap()["n_changed"],
            n_changed
        );
        assert!(
            fs::read_to_string(&report)
                .unwrap()
                .contains("This report changes no")
        );
    }
}

#[test]
fn wrong_effect_calls_explain_the_remedy() {
    let scratch = tempfile::tempdir().unwrap();
    let one = import("selection", scratch.path());
    let other = import("vision-debugging", scratch.path());
    let submissions = demo("selection/submissions/digits-50");
    let empty = path(scratch.path(), "nobody");
    fs::create_dir_all(&empty).unwrap();
    let kit = path(scratch.path(), "kit");
    done(&["dataset", "show", &one, "--public", &kit]);
    let mine = path(scratch.path(), "mine.csv");
    fs::write(&mine, "precious").unwrap();
    let to_mine = [
        &["audit", &one, "--report", &mine][..],
        &["audit", &one, "--work-list", &mine],
    ];
    for args in to_mine {
        assert!(refused(args).contains("exists already"), "{args:?}");
    }
    let twice = path(scratch.path(), "twice");
    let output = refused(&["audit", &one, "--report", &twice, "--work-list", &twice]);
    assert!(output.contains("for two files"), "{output}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "precious");
    assert!(!Path::new(&twice).exists());
    let damaged = path(scratch.path(), "damaged");
    done(&[
        "dataset",
        "import",
        "selection",
        "--from",
        &demo("selection"),
        "--out",
        &damaged,
    ]);
    let labels = Path::new(&damaged).join("eval.csv");
    let text = fs::read_to_string(&labels).unwrap();
    fs::write(&labels, text.replacen(",1", ",2", 1)).unwrap();
    for args in [
        &["audit", &damaged][..],
        &[
            "dataset", "split", &damaged, "--public", &twice, "--final", &empty,
        ],
    ] {
        assert!(refused(args).contains("is damaged"), "{args:?}");
    }
    for (args, expected) in [
        (
            effect_args([&one, &kit], "digits-50", &submissions),
            "is a participants' kit",
        ),
        (
            effect_args([&one, &one], "digits-50", &empty),
            "has no submissions",
        ),
        (
            effect_args([&one, &one], "closed", &submissions),
            "no leaderboard `closed`",
        ),
        (
            effect_args([&one, &other], "digits-50", &submissions),
            "two versions of one",
        ),
        (
            effect_args([&one, &empty], "digits-50", &submissions),
            "has no frozen data set",
        ),
    ] {
        let output = refused(&args);
        assert!(output.contains(expected), "{expected} in {output}");
    }
}

#[test]
fn boards_are_compared_from_a_file() {
    let scratch = tempfile::tempdir().unwrap();
    let (file, report) = (
        path(scratch.path(), "scores.csv"),
        path(scratch.path(), "across.md"),
    );
    let scores = "benchmark,leaderboard,submitter,score,is_baseline\n\
        selection,a,ada,0.9,false\nselection,a,bob,0.8,false\nselection,a,cy,0.1,false\nselection,a,random,0.99,true\n\
        debugging,b,ada,0.5,false\ndebugging,b,bob,0.4,false\ndebugging,b,cy,0.45,false\ndebugging,b,dot,0.1,false\n";
    fs::write(&file, scores).unwrap();
    let across = done(&["leaderboard", "across", "--scores", &file, "--report", &report]);
    // fewer is better in `debugging`: there bob is first, then cy
    assert_eq!(across["n_common"], 3);
    assert!(
        (across["agreements"][0]["tau_b"].as_f64().unwrap() + 1.0 / 3.0).abs() < 1e-12,
        "{across}"
    );
    let why = across["why_no_intervals"].as_str().unwrap();
    assert!(
        why.starts_with("selection/a: scores of a file have no draws"),
        "{why}"
    );
    assert!(across["agreements"][0]["interval"].is_null() && across["kendalls_w_interval"].is_null());
    let by_rank = &across["rankings"][0]["rows"];
    let ranks: Vec<(&str, u64)> = by_rank
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["submitter"].as_str().unwrap(), row["rank"].as_u64().unwrap()))
        .collect();
    assert_eq!(ranks, [("ada", 2), ("bob", 1), ("cy", 3)]);
    assert_eq!(
        across["rankings"][1]["without_board"].as_array().unwrap().len(),
        2
    );
    assert!(fs::read_to_string(&report).unwrap().contains("Kendall's W"));

    fs::write(
        &file,
        "benchmark,leaderboard,submitter,score\nselection,a,ada,NaN\nchess,a,bob,1\nselection,,cy,x\n",
    )
    .unwrap();
    let output = refused(&["leaderboard", "across", "--scores", &file]);
    for expected in [
        "line 2: the score `NaN`",
        "line 3: there is no benchmark `chess`",
        "line 4: it has no leaderboard",
        "the score `x`",
    ] {
        assert!(output.contains(expected), "{expected} in {output}");
    }
    fs::write(&file, "submitter,score\n").unwrap();
    assert!(
        refused(&["leaderboard", "across", "--scores", &file])
            .contains("no column `benchmark`, `leaderboard`")
    );
    fs::write(
        &file,
        "benchmark,leaderboard,submitter,score\nselection,a,ada,1\nselection,b,bob,1\n",
    )
    .unwrap();
    assert!(refused(&["leaderboard", "across", "--scores", &file]).contains("0 submitters are on all"));
    assert!(refused(&["leaderboard", "across", "speech-selection"]).contains("is not a board"));
}

#[test]
fn corrections_in_a_corrected_manifest_are_verified() {
    let scratch = tempfile::tempdir().unwrap();
    let [_, out] = two_versions("selection", scratch.path());
    done(&["dataset", "verify", &out]);
    let manifest = Path::new(&out).join("manifest.json");
    let whole: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    for (key, value, expected) in [
        ("n_edits", Value::from(1), "says 1"),
        ("n_reviewed", Value::from(0), "and reviewed 0"),
        (
            "edits",
            Value::from("gone.csv"),
            "`gone.csv`, which is not a file",
        ),
    ] {
        let mut changed = whole.clone();
        changed["corrected"][key] = value;
        fs::write(&manifest, changed.to_string()).unwrap();
        let output = refused(&["dataset", "verify", &out]);
        assert!(output.contains(expected), "{expected} in {output}");
    }
}

#[test]
fn reviewed_labels_count_the_boards_test_set_only() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import("selection", scratch.path());
    let audited = done(&["audit", &frozen]);
    let class = audited["sets"][0]["classes"][0]["class"].as_str().unwrap();
    let mut lines = "set,row,verdict\n".to_owned();
    for (set, n) in [("eval", 5), ("public/eval", 3)] {
        for row in 0..n {
            lines += &[set, ",", &row.to_string(), ",", class, "\n"].concat();
        }
    }
    let (filled, out) = (
        path(scratch.path(), "filled.csv"),
        path(scratch.path(), "changed"),
    );
    fs::write(&filled, lines).unwrap();
    let corrected = done(&correct(&frozen, &filled, &out));
    assert_eq!(corrected["n_reviewed"], 8, "in both");
    let shown = done(&["dataset", "show", &out]);
    assert_eq!(
        shown["corrected"]["reviewed"],
        serde_json::json!({ "eval": 5, "public/eval": 3 })
    );
    let submissions = demo("selection/submissions/digits-50");
    let effect = done(&effect_args([&frozen, &out], "digits-50", &submissions));
    assert_eq!(effect["n_reviewed"], 5, "{effect}");
}

#[test]
fn an_effect_uses_the_control_samples_error_rate() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import("selection", scratch.path());
    let [list, filled, out] = ["list.csv", "filled.csv", "corrected"].map(|name| path(scratch.path(), name));
    done(&["audit", &frozen, "--set", "eval", "--work-list", &list]);
    // every label in doubt is wrong, and none of the control sample
    let verdict = |line: &csv::StringRecord| {
        let column = if line.get(8) == Some("control") { 3 } else { 4 };
        line.get(column).unwrap().to_owned()
    };
    verdicts(&list, verdict, &filled);
    let corrected = done(&correct(&frozen, &filled, &out));
    let submissions = demo("selection/submissions/digits-50");
    let effect = done(&effect_args([&frozen, &out], "digits-50", &submissions));
    let errors = &effect["errors"][0];
    assert_eq!(errors["error_rate"], corrected["error_rates"]["eval"]);
    assert!(
        errors["interval"].is_null(),
        "people have not looked at all: {errors}"
    );
    let [low, high] = [0, 1].map(|end| errors["error_rate"]["interval"][end].as_f64().unwrap());
    let changed = errors["n_changed"].as_f64().unwrap() / errors["n_items"].as_f64().unwrap();
    assert!((low - changed).abs() < 1e-9 && high > low + 0.01, "{errors}");
    let message = run(effect_args([&frozen, &out], "digits-50", &submissions));
    let message = String::from_utf8(message.stdout).unwrap();
    assert!(message.contains("of all labels are wrong"), "{message}");
}

#[test]
fn an_effect_beyond_labels_is_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let [frozen, out] = two_versions("selection", scratch.path());
    let submissions = demo("selection/submissions/digits-50");
    let args = effect_args([&frozen, &out], "digits-50", &submissions);
    assert_eq!(done(&args)["other_differences"], Value::Array(Vec::new()));
    let manifest = Path::new(&out).join("manifest.json");
    let mut changed: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    changed["parameters"]["scoring"]["metric"] = serde_json::json!({ "kind": "accuracy" });
    fs::write(&manifest, changed.to_string()).unwrap();
    assert_eq!(
        done(&args)["other_differences"],
        serde_json::json!(["the parameter `/scoring/metric/kind`"])
    );
    let message = run(args);
    let message = String::from_utf8(message.stdout).unwrap();
    assert!(
        message.contains("not only the effect of corrected labels"),
        "{message}"
    );
}

#[test]
fn flags_that_are_no_booleans_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let file = path(scratch.path(), "scores.csv");
    let scores = "benchmark,leaderboard,submitter,score,is_baseline\n\
        selection,a,ada,0.9,perhaps\nselection,a,bob,0.8,FALSE\nselection,b,ada,0.1,\nselection,b,bob,x,1\n";
    fs::write(&file, scores).unwrap();
    let output = refused(&["leaderboard", "across", "--scores", &file]);
    for expected in [
        "line 2: `is_baseline` is `perhaps`",
        "line 5: `is_baseline` is `1`",
        "line 5: the score `x`",
    ] {
        assert!(output.contains(expected), "{expected} in {output}");
    }
    assert!(
        !output.contains("line 3") && !output.contains("line 4"),
        "{output}"
    );
    fs::write(&file, "benchmark,leaderboard,submitter,score\n").unwrap();
    let output = refused(&["leaderboard", "across", "--scores", &file]);
    assert!(output.contains("no board has a score"), "{output}");
}

#[test]
fn a_document_with_repeated_keys_lists_other_errors() {
    let scratch = tempfile::tempdir().unwrap();
    let file = path(scratch.path(), "challenge.yaml");
    let document = "schema: 1\ntitle: t\nbenchmarks:\n  speech-selection:\n    rounds:\n      - {id: Bad!, opens: 2026-03-01T00:00:00Z, \
        daily_limit: 1, daily_limit: 2, ladder: .nan}\n";
    fs::write(&file, document).unwrap();
    let checked = run(["--format", "json", "challenge", "check", &file]);
    assert_eq!(checked.status.code(), Some(2), "{checked:?}");
    let value: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let codes: Vec<&str> = value["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["code"].as_str().unwrap())
        .collect();
    assert_eq!(
        codes,
        ["unreadable_yaml", "bad_round_id", "unknown_value"],
        "{value}"
    );
    assert!(
        value["reasons"][0]["message"]
            .as_str()
            .unwrap()
            .contains("daily_limit"),
        "{value}"
    );
}

#[test]
fn a_correction_that_is_interrupted_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import("selection", scratch.path());
    // something that takes a while to copy
    let big = vec![0_u8; 64 << 20];
    let manifest = Path::new(&frozen).join("manifest.json");
    let mut changed: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    changed["files"]["zeros.bin"] =
        serde_json::json!({ "n_bytes": big.len(), "digest": dataperf::Digest::compute(&big) });
    fs::write(&manifest, changed.to_string()).unwrap();
    fs::write(Path::new(&frozen).join("zeros.bin"), &big).unwrap();
    let audited = done(&["audit", &frozen, "--set", "eval"]);
    let class = audited["sets"][0]["classes"][0]["class"].as_str().unwrap();
    let filled = path(scratch.path(), "filled.csv");
    let lines: Vec<String> = (0..20).map(|row| format!("eval,{row},{class}")).collect();
    fs::write(&filled, format!("set,row,verdict\n{}\n", lines.join("\n"))).unwrap();
    let hidden = || {
        let entries = fs::read_dir(scratch.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with('.')).collect::<Vec<_>>()
    };
    let mut interrupted = false;
    for attempt in 0..20 {
        let out = path(scratch.path(), &format!("out{attempt}"));
        let mut running = common::command(correct(&frozen, &filled, &out)).spawn().unwrap();
        while hidden().is_empty() && running.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let pid = running.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        let ended = running.wait().unwrap();
        assert_eq!(hidden(), [""; 0], "{ended}");
        if ended.code() == Some(130) {
            assert!(!Path::new(&out).exists());
            interrupted = true;
            break;
        }
    }
    assert!(interrupted, "none of the attempts was interrupted");
}
