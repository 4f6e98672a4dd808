//! The command line as programs see it: exit codes, one JSON document, and help that says what there is.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::path::{Path, PathBuf};
use std::process::Output;

use common::{json, run, text, words};

fn demo() -> PathBuf {
    common::demo("speech-selection")
}

/// The demo's data set in a directory of its own.
fn import(scratch: &Path) -> String {
    let out = scratch.join("frozen").to_str().unwrap().to_owned();
    let output = run(words!(
        "--format json dataset import speech-selection --from {} --out {out}",
        demo().display()
    ));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = json(&output);
    assert_eq!(shown["benchmark"], "speech-selection");
    assert_eq!(shown["leaderboards"].as_array().unwrap().len(), 6);
    assert!(shown["dataset"].as_str().unwrap().starts_with("sha256:"));
    out
}

#[test]
fn exit_codes_distinguish_scored_rejected_and_usage_errors() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import(scratch.path());
    let submission = |name: &str| demo().join("submissions").join(name).to_str().unwrap().to_owned();
    let judge = |command: &str, file: &str, format: &str| {
        run(words!(
            "--format {format} {command} speech-selection -l en-25 -d {frozen} {}",
            &submission(file)
        ))
    };
    let good = "en-25/coin-flip/random.json";
    let bad = "en-25/hasty/bad_unknown_id.json";

    let scored = judge("score", good, "json");
    assert_eq!(scored.status.code(), Some(0));
    let verdict = json(&scored);
    assert_eq!(verdict["status"], "scored");
    for field in [
        "benchmark",
        "leaderboard",
        "score",
        "metrics",
        "dataset",
        "artifact",
        "evaluator",
    ] {
        assert!(!verdict[field].is_null(), "`{field}` is missing: {verdict}");
    }
    let valid = judge("validate", good, "json");
    assert_eq!(
        (valid.status.code(), json(&valid)["status"].as_str()),
        (Some(0), Some("valid"))
    );

    let rejected = judge("score", bad, "json");
    assert_eq!(rejected.status.code(), Some(2));
    assert_eq!(json(&rejected)["reasons"][0]["code"], "unknown_clip");
    assert_eq!(json(&judge("validate", bad, "json")), json(&rejected));
    let shown = judge("score", bad, "text");
    assert_eq!(shown.status.code(), Some(2));
    assert!(
        text(&shown.stdout).contains("rejected, 1 problem to fix")
            && text(&shown.stdout).contains("unknown_clip"),
        "{shown:?}"
    );

    let missing = judge("score", "nowhere.json", "text");
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        text(&missing.stderr).starts_with("error: ") && text(&missing.stderr).contains("nowhere.json"),
        "{missing:?}"
    );
    let no_dataset = run(words!(
        "score speech-selection -l en-25 -d nowhere {}",
        &submission(good)
    ));
    assert_eq!(no_dataset.status.code(), Some(1));
    assert!(
        text(&no_dataset.stderr).contains("dataperf dataset import"),
        "the remedy is named: {no_dataset:?}"
    );
}

#[test]
fn a_data_set_is_shown_and_verified() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import(scratch.path());
    let shown = json(&run(["--format", "json", "dataset", "show", &frozen]));
    let verified = run(["--format", "json", "dataset", "verify", &frozen]);
    assert_eq!(verified.status.code(), Some(0));
    assert_eq!(json(&verified)["dataset"], shown["dataset"]);
    let path = Path::new(&frozen).join("pt/eval.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = run(["--format", "json", "dataset", "verify", &frozen]);
    assert_eq!(damaged.status.code(), Some(1));
    assert_eq!(json(&damaged)["verified"], false);
    assert!(
        text(&damaged.stderr).contains("pt/eval.safetensors"),
        "{damaged:?}"
    );
}

#[test]
fn a_wrong_call_ends_with_1() {
    let calls: [&[&str]; 6] = [
        &["scor"],
        &["score"],
        &["score", "no-such-benchmark", "-l", "x", "-d", "x", "x"],
        &["score", "speech-selection", "--leaderbord", "en-25"],
        &["--format", "yaml", "demo"],
        &["status", "speech-selection", "not-an-id"],
    ];
    for call in calls {
        let output = run(call);
        assert_eq!(output.status.code(), Some(1), "{call:?}: {output:?}");
        assert!(
            !output.stderr.is_empty() && output.stdout.is_empty(),
            "{call:?}: {output:?}"
        );
    }
}

#[test]
fn misspelt_names_are_answered_with_the_nearest() {
    let scratch = tempfile::tempdir().unwrap();
    let frozen = import(scratch.path());
    let good = demo().join("submissions/en-25/coin-flip/random.json");
    let out = scratch.path().join("made.json");
    let (good, out) = (good.to_str().unwrap(), out.to_str().unwrap());
    for (line, nearest) in [
        (
            format!("validate speech-selection -l en25 -d {frozen} {good}"),
            "`en-25`",
        ),
        (
            format!("score speech-selection -l EN-60 -d {frozen} {good}"),
            "`en-60`",
        ),
        (
            format!("baseline cleanlabs -l en-25 -d {frozen} --out {out}"),
            "`cleanlab`",
        ),
        (format!("audit {frozen} --set EN"), "`en`"),
    ] {
        let ran = run(line.split(' '));
        let nearest = &format!("did you mean {nearest}");
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        assert!(text(&ran.stderr).contains(nearest), "{ran:?}");
    }
}

#[test]
fn help_lists_every_command() {
    let help = run(["--help"]);
    assert_eq!(help.status.code(), Some(0));
    let output = text(&help.stdout);
    for word in [
        "demo",
        "score",
        "validate",
        "verify",
        "dataset",
        "submit",
        "status",
        "leaderboard",
        "local",
        "completions",
        "Exit codes",
        "--format",
    ] {
        assert!(output.contains(word), "`{word}` is not in the help");
    }
    for command in [
        "demo",
        "score",
        "verify",
        "submit",
        "local",
        "leaderboard",
        "status",
    ] {
        let help = run([command, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{command}");
    }
    let examples = text(&run(["score", "--help"]).stdout);
    assert!(examples.contains("Examples:\n  dataperf score"), "{examples}");
    assert_eq!(
        text(&run(["--version"]).stdout).trim(),
        format!("dataperf {}", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(["completions", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(text(&output.stdout).contains("leaderboard"), "{shell}");
    }
}

#[test]
fn curves_draw_in_terminal_and_as_figure() {
    let scratch = tempfile::tempdir().unwrap();
    let demo = demo().with_file_name("vision-debugging");
    let (frozen, figure) = (scratch.path().join("frozen"), scratch.path().join("curves.svg"));
    let (frozen, figure) = (frozen.to_str().unwrap(), figure.to_str().unwrap());
    let imported = run(words!(
        "dataset import vision-debugging --from {} --out {frozen}",
        demo.display()
    ));
    assert_eq!(imported.status.code(), Some(0));
    let artifact = demo.join("submissions/open/hindsight/perfect.json");
    let ran = run(words!(
        "score vision-debugging -l open -d {frozen} --plot {figure} {}",
        artifact.display()
    ));
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let shown = text(&ran.stdout);
    let svg = std::fs::read_to_string(figure).unwrap();
    for task in ["1-7-flipped", "2-3-flipped", "3-8", "4-9"] {
        assert!(
            shown.contains(&format!("{task}: ")) && svg.contains(&format!("{task}: ")),
            "{shown}"
        );
    }
    let n_dots = shown
        .chars()
        .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c))
        .count();
    assert!(n_dots > 200, "{shown}");
    // a panel has its curve of 201 points, two dashed lines, a dot and a legend
    let points = svg
        .lines()
        .filter(|line| line.contains("<polyline"))
        .map(|line| line.matches(',').count());
    assert_eq!(points.filter(|&n| n == 201).count(), 4);
    assert_eq!(svg.matches("before cleaning").count(), 4);
    assert_eq!(svg.matches("<circle").count(), 4);

    let other = demo.with_file_name("speech-selection");
    let frozen = import(tempfile::tempdir_in(&scratch).unwrap().keep().as_path());
    let artifact = other.join("submissions/en-25/coin-flip/random.json");
    let ran = run(words!(
        "score speech-selection -l en-25 -d {frozen} --plot {figure} {}",
        artifact.display()
    ));
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        text(&ran.stderr).contains("speech-selection has no curves to plot"),
        "{ran:?}"
    );
}

/// A folder with a contest of `selection` whose pool and test set have `row` in each row.
fn contest(folder: &Path, row: impl Fn(usize) -> String, header: &str) {
    let table = |from: usize, n: usize| {
        let rows = (from..from + n).map(|k| format!("{k:04},{},{}\n", ["no", "yes"][k % 2], row(k)));
        format!("id,label,{header}\n{}", rows.collect::<String>())
    };
    std::fs::write(folder.join("pool.csv"), table(0, 80)).unwrap();
    std::fs::write(folder.join("eval.csv"), table(80, 40)).unwrap();
    let document = "schema: 1\ntask: selection\ntitle: T\nleaderboards: [{name: t, about: t, max_examples: 12}]\nclasses: ['no', 'yes']\n\
                    pool: pool.csv\neval: eval.csv\nmodel: nearest_centroid\nmetric: accuracy\nallow_duplicates: true\n";
    std::fs::write(folder.join("task.yaml"), document).unwrap();
}

/// A number in [0, 1) that looks random.
fn draw(k: usize) -> f64 {
    ((k as f64 * 12.9898).sin() * 43_758.545_3).fract().abs()
}

#[test]
fn a_contest_that_ranks_nothing_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let check = |row: &dyn Fn(usize) -> String, header: &str| {
        contest(scratch.path(), row, header);
        let from = scratch.path().to_str().unwrap();
        run(words!("--format json dataset check selection --from {from}"))
    };
    let codes = |output: &Output| -> Vec<String> {
        let findings = json(output)["findings"].as_array().unwrap().clone();
        findings
            .iter()
            .map(|finding| finding["code"].as_str().unwrap().to_owned())
            .collect()
    };
    let constant = check(&|_| "0,0".to_owned(), "a,b");
    assert_eq!(constant.status.code(), Some(2), "{constant:?}");
    assert!(
        codes(&constant).contains(&"constant_features".to_owned()),
        "{constant:?}"
    );
    let label = check(&|k| format!("{},{}", draw(k), k % 2), "a,target");
    assert!(codes(&label).contains(&"telling_column".to_owned()), "{label:?}");
    assert!(text(&label.stdout).contains("`target`"), "{label:?}");
    let numbered = check(&|k| format!("{},{}", draw(k) + (k % 2) as f64 / 2.0, k), "a,row");
    // a centroid ignores everything else next to so large a number
    assert_eq!(
        codes(&numbered),
        ["row_number", "equal_scores", "chance"],
        "{numbered:?}"
    );
    let noise = check(&|k| format!("{},{}", draw(k), draw(k + 1000)), "a,b");
    assert_eq!(codes(&noise), ["chance"], "{noise:?}");
    let fine = check(
        &|k| format!("{},{}", draw(k) + (k % 2) as f64 / 2.0, draw(k + 1000)),
        "a,b",
    );
    assert_eq!(codes(&fine), [""; 0], "{fine:?}");
    let summary = json(&fine)["summary"]["lines"].clone();
    assert_eq!(summary.as_object().unwrap().len(), 10, "{summary}");
    assert_eq!(summary["features"], "2, matched by name: `a`, `b`");
}
