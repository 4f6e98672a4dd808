//! Bad artifacts through the command line: exit code 2, and every reason at once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::project::{binary, codes, dataperf, good, judge, score};

type Codes = &'static [(&'static str, usize)];

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// The good submission with a change.
fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut submission: Value = serde_json::from_slice(&good(0)).unwrap();
    change(&mut submission);
    submission.to_string().into_bytes()
}

/// An allowed nontarget clip that `submission` has not chosen.
fn another_nontarget(submission: &Value) -> Value {
    let chosen = submission["nontargets"].as_array().unwrap();
    let other: Value = serde_json::from_slice(&good(1)).unwrap();
    let others = other["nontargets"].as_array().unwrap();
    others.iter().find(|id| !chosen.contains(id)).unwrap().clone()
}

fn no_json() -> Vec<(&'static str, Vec<u8>, Codes)> {
    let good = String::from_utf8(good(0)).unwrap();
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("an empty file", vec![], &[("empty", 1)]),
        ("white space", text(" \n\t"), &[("not_json", 1)]),
        ("no JSON", text("the best clips I have"), &[("not_json", 1)]),
        ("cut off", text(&good[..good.len() / 2]), &[("not_json", 1)]),
        (
            "one byte short",
            text(good.trim_end().strip_suffix('}').unwrap()),
            &[("not_json", 1)],
        ),
        (
            "something after the end",
            text(&format!("{good} {good}")),
            &[("not_json", 1)],
        ),
        ("single quotes", text(&good.replace('"', "'")), &[("not_json", 1)]),
        (
            "a comma too many",
            text(r#"{"targets": {}, "nontargets": [],}"#),
            &[("not_json", 1)],
        ),
        (
            "NaN",
            text(r#"{"targets": {"job": [NaN]}, "nontargets": []}"#),
            &[("not_json", 1)],
        ),
        (
            "Infinity",
            text(r#"{"targets": {"job": [-Infinity]}, "nontargets": []}"#),
            &[("not_json", 1)],
        ),
        (
            "a number beyond floats",
            text(r#"{"targets": {"job": [1e999]}, "nontargets": []}"#),
            &[("not_json", 1)],
        ),
        (
            "half a surrogate pair",
            text(r#"{"targets": {"job": ["\ud800"]}, "nontargets": []}"#),
            &[("not_json", 1)],
        ),
        (
            "a line break in a string",
            text("{\"targets\": {\"job\": [\"a\nb\"]}, \"nontargets\": []}"),
            &[("not_json", 1)],
        ),
        (
            "deep nesting",
            format!("{}{}", "[".repeat(1_000), "]".repeat(1_000)).into_bytes(),
            &[("not_json", 1)],
        ),
        (
            "deep objects",
            format!("{}1{}", r#"{"a":"#.repeat(1_000), "}".repeat(1_000)).into_bytes(),
            &[("not_json", 1)],
        ),
        (
            "as many brackets as are read",
            vec![b'['; 1 << 20],
            &[("not_json", 1)],
        ),
        (
            "UTF-16 with a mark",
            [b"\xff\xfe".to_vec(), utf16.clone()].concat(),
            &[("not_utf8", 1)],
        ),
        ("UTF-16 without a mark", utf16, &[("not_json", 1)]),
        (
            "UTF-8 with a mark",
            [b"\xef\xbb\xbf", good.as_bytes()].concat(),
            &[("byte_order_mark", 1)],
        ),
        (
            "Latin-1",
            b"{\"targets\": {\"caf\xe9\": []}, \"nontargets\": []}".to_vec(),
            &[("not_utf8", 1)],
        ),
        ("zeros", vec![0; 1_000], &[("not_json", 1)]),
        (
            "a compressed file",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03".to_vec(),
            &[("not_utf8", 1)],
        ),
    ]
}

fn of_another_form() -> Vec<(&'static str, Vec<u8>, Codes)> {
    vec![
        ("null", text("null"), &[("wrong_type", 1)]),
        ("a number", text("3"), &[("wrong_type", 1)]),
        ("a string", text(r#""targets""#), &[("wrong_type", 1)]),
        ("a boolean", text("true"), &[("wrong_type", 1)]),
        ("an array", text("[]"), &[("wrong_type", 1)]),
        ("nothing in it", text("{}"), &[("missing_key", 2)]),
        (
            "no nontargets",
            changed(|s| drop(s.as_object_mut().unwrap().remove("nontargets"))),
            &[("missing_key", 1)],
        ),
        (
            "no targets",
            changed(|s| drop(s.as_object_mut().unwrap().remove("targets"))),
            &[("missing_key", 1)],
        ),
        (
            "a key too many",
            changed(|s| s["seed"] = json!(1)),
            &[("unknown_key", 1)],
        ),
        (
            "targets are a list",
            changed(|s| s["targets"] = json!([])),
            &[("wrong_type", 1)],
        ),
        (
            "targets are null",
            changed(|s| s["targets"] = json!(null)),
            &[("wrong_type", 1)],
        ),
        (
            "nontargets are an object",
            changed(|s| s["nontargets"] = json!({})),
            &[("wrong_type", 1)],
        ),
        (
            "nontargets are a string",
            changed(|s| s["nontargets"] = json!("about")),
            &[("wrong_type", 1)],
        ),
        (
            "a word's clips are a string",
            changed(|s| s["targets"]["job"] = json!("job/1.wav")),
            &[("wrong_type", 1)],
        ),
        (
            "a word's clips are null",
            changed(|s| s["targets"]["job"] = json!(null)),
            &[("wrong_type", 1)],
        ),
        (
            "clips of five other types",
            changed(|s| s["targets"]["job"] = json!([1, null, true, [], {}, 1.5])),
            &[("wrong_type", 6)],
        ),
        (
            "nontargets of other types",
            changed(|s| s["nontargets"] = json!([["about/1.wav"], {"a": 1}])),
            &[("no_nontargets", 1), ("wrong_type", 2)],
        ),
        (
            "a number of 300 digits",
            text(&format!(
                r#"{{"targets": {{"job": [{}]}}, "nontargets": [1]}}"#,
                "9".repeat(300)
            )),
            &[("no_nontargets", 1), ("too_few_classes", 1), ("wrong_type", 2)],
        ),
        (
            "nested as deep as can be",
            format!("{}{}", "[".repeat(127), "]".repeat(127)).into_bytes(),
            &[("wrong_type", 1)],
        ),
        (
            "keys twice",
            text(r#"{"targets": {"job": [], "job": []}, "targets": {}, "nontargets": [], "nontargets": []}"#),
            &[("duplicate_key", 3), ("no_nontargets", 1), ("too_few_classes", 1)],
        ),
    ]
}

fn against_the_rules() -> Vec<(&'static str, Vec<u8>, Codes)> {
    vec![
        (
            "nothing chosen",
            text(r#"{"targets": {}, "nontargets": []}"#),
            &[("no_nontargets", 1), ("too_few_classes", 1)],
        ),
        (
            "empty lists",
            changed(|s| s["targets"] = json!({"job": [], "fifty": []})),
            &[("too_few_classes", 1)],
        ),
        (
            "an unknown clip",
            changed(|s| s["nontargets"][0] = json!("about/nowhere.wav")),
            &[("unknown_clip", 1)],
        ),
        (
            "empty and odd ids",
            changed(|s| s["nontargets"] = json!(["", "../../etc/passwd", "/", "\u{0}", "a\nb", "ünïcödé"])),
            &[("too_many_clips", 1), ("unknown_clip", 6)],
        ),
        (
            "a clip twice",
            changed(|s| s["nontargets"][1] = s["nontargets"][0].clone()),
            &[("duplicate_clip", 1)],
        ),
        (
            "a clip under another word",
            changed(|s| s["targets"]["job"][0] = s["targets"]["fifty"][0].take()),
            &[("wrong_type", 1), ("wrong_word", 1)],
        ),
        (
            "a target's clip as nontarget",
            changed(|s| {
                let id = s["targets"]["job"].as_array_mut().unwrap().remove(0);
                s["nontargets"][0] = id;
            }),
            &[("wrong_word", 1)],
        ),
        (
            "a nontarget as target",
            changed(|s| {
                let id = s["nontargets"].as_array_mut().unwrap().remove(0);
                s["targets"]["job"][0] = id;
            }),
            &[("wrong_word", 1)],
        ),
        (
            "an unknown word",
            changed(|s| {
                let clips = s["targets"]["job"].take();
                s["targets"].as_object_mut().unwrap().remove("job");
                s["targets"]["jobs"] = clips;
            }),
            &[("unknown_word", 1)],
        ),
        (
            "a clip too many",
            changed(|s| {
                let more = another_nontarget(s);
                s["nontargets"].as_array_mut().unwrap().push(more);
            }),
            &[("too_many_clips", 1)],
        ),
        (
            "an id of half a megabyte",
            changed(|s| s["nontargets"][0] = json!("x".repeat(500_000))),
            &[("unknown_clip", 1)],
        ),
    ]
}

fn reasons(verdict: &Value) -> Vec<(String, usize)> {
    codes(verdict).into_iter().collect()
}

fn write(directory: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = directory.join("artifact.json");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn every_reason_at_once_and_exit_code_2() {
    let scratch = tempfile::tempdir().unwrap();
    let mut texts = String::new();
    for (about, artifact, expected) in [no_json(), of_another_form(), against_the_rules()].concat() {
        let path = write(scratch.path(), &artifact);
        let ran = score("en-25", &path);
        assert_eq!(ran.code, 2, "{about}: {ran:?}");
        let verdict = ran.json();
        let expected: Vec<_> = expected.iter().map(|&(code, n)| (code.to_owned(), n)).collect();
        assert_eq!(reasons(&verdict), expected, "{about}: {verdict:#}");
        assert_eq!(verdict["status"], "rejected");
        assert!(
            verdict.get("score").is_none()
                && verdict["artifact"].is_string()
                && verdict["dataset"].is_string(),
            "{about}"
        );
        let validated = judge("validate", "en-25", &path);
        assert_eq!(
            (validated.code, validated.json()),
            (2, verdict.clone()),
            "{about}: `validate` says the same"
        );
        writeln!(texts, "{about}").unwrap();
        for reason in verdict["reasons"].as_array().unwrap() {
            let [code, at, message] = ["code", "at", "message"].map(|name| reason[name].as_str().unwrap());
            writeln!(texts, "    {code} at {at:?}: {message}").unwrap();
        }
    }
    insta::assert_snapshot!("rejections", texts);
}

#[test]
fn unusual_but_valid_artifacts_are_scored() {
    let scratch = tempfile::tempdir().unwrap();
    let reference = score("en-25", &write(scratch.path(), &good(0))).json();
    let pretty = format!(
        "\r\n\t {:#} \r\n",
        serde_json::from_slice::<Value>(&good(0)).unwrap()
    );
    let escaped = String::from_utf8(good(0))
        .unwrap()
        .replace("job", "\\u006aob")
        .replace('/', "\\/");
    for artifact in [pretty, escaped] {
        let ran = score("en-25", &write(scratch.path(), artifact.as_bytes()));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json()["score"], reference["score"]);
        assert_ne!(ran.json()["artifact"], reference["artifact"]);
    }
    for change in [
        |s: &mut Value| s["targets"]["job"] = json!([]),
        |s: &mut Value| drop(s["targets"].as_object_mut().unwrap().remove("job")),
    ] {
        let ran = score("en-25", &write(scratch.path(), &changed(change)));
        assert_eq!(
            (ran.code, &ran.json()["metrics"]["f1_per_class"]["job"]),
            (0, &json!(0.0)),
            "a word left out is never predicted"
        );
    }
}

#[test]
fn too_large_artifacts_are_refused_by_size() {
    let scratch = tempfile::tempdir().unwrap();
    let brackets = scratch.path().join("brackets.json");
    fs::write(&brackets, vec![b'['; 100_000_000]).unwrap();
    let ids = scratch.path().join("ids.json");
    let million: Vec<String> = (0..1_000_000)
        .map(|n| format!("about/espeak_en_{n:07}.wav"))
        .collect();
    fs::write(&ids, json!({ "targets": {}, "nontargets": million }).to_string()).unwrap();
    for (path, n_bytes) in [
        (brackets, 100_000_000),
        (ids.clone(), fs::metadata(&ids).unwrap().len()),
    ] {
        let ran = score("en-25", &path);
        let verdict = ran.json();
        assert_eq!(
            (ran.code, reasons(&verdict)),
            (2, vec![("too_large".to_owned(), 1)])
        );
        assert_eq!(
            (&verdict["reasons"][0]["limit"], &verdict["reasons"][0]["actual"]),
            (&json!(1 << 20), &json!(n_bytes))
        );
    }
    let endless = score("en-25", Path::new("/dev/zero"));
    assert_eq!(
        (endless.code, reasons(&endless.json())),
        (2, vec![("too_large".to_owned(), 1)]),
        "a file without a size or an end"
    );
}

#[test]
fn many_unknown_ids_are_counted_and_partly_listed() {
    let scratch = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..130_000).map(|n| format!("{n:x}")).collect();
    let artifact = json!({ "targets": {}, "nontargets": ids }).to_string();
    assert!(artifact.len() < 1 << 20);
    let ran = score("en-25", &write(scratch.path(), artifact.as_bytes()));
    let verdict = ran.json();
    assert_eq!(ran.code, 2);
    assert_eq!(
        verdict["n_reasons"], 130_002,
        "each unknown clip, too few classes, too many clips"
    );
    assert_eq!(verdict["reasons"].as_array().unwrap().len(), 200);
}

#[test]
fn a_wrong_call_is_not_a_rejection() {
    let scratch = tempfile::tempdir().unwrap();
    let artifact = write(scratch.path(), &good(0));
    let cases: BTreeMap<&str, (crate::support::project::Ran, &str)> = BTreeMap::from([
        ("a directory", (score("en-25", scratch.path()), "is a directory")),
        (
            "a missing file",
            (
                score("en-25", &scratch.path().join("nowhere.json")),
                "nowhere.json",
            ),
        ),
        ("an unknown leaderboard", (score("en-99", &artifact), "`en-60`")),
    ]);
    for (about, (ran, message)) in cases {
        assert_eq!(ran.code, 1, "{about}: {ran:?}");
        assert!(ran.stderr.contains(message), "{about}: {ran:?}");
        assert_eq!(ran.stdout, "", "{about}");
    }
}

#[test]
fn names_that_would_be_others_are_not_uploaded() {
    let scratch = tempfile::tempdir().unwrap();
    let artifact = write(scratch.path(), &good(0));
    for (leaderboard, submitter, message) in [
        ("en-25", "ada/bo", "can't be a submitter's name"),
        ("en-25", "Ada", "such as `ada`"),
        ("en-25", "ada\u{200b}", "such as `ada`"),
        ("en-25/carl", "ada", "must be a name without `/`"),
    ] {
        let words = [
            "submit",
            "speech-selection",
            "--local",
            "-l",
            leaderboard,
            "-s",
            submitter,
        ];
        let ran = dataperf(words.into_iter().chain(artifact.to_str()));
        ran.assert_refused(message);
    }
}

/// It is the end of the program, and no defect of it.
#[test]
fn nobody_may_be_listening() {
    let run = |stdout: Stdio| {
        let mut command = Command::new(binary("dataperf"));
        command
            .args(["completions", "bash"])
            .stdout(stdout)
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = run(full.into()).wait_with_output().unwrap();
    let output = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{output}");
    assert!(
        output.starts_with("error: can't write to standard output"),
        "{output}"
    );
    let mut gone = run(Stdio::piped());
    drop(gone.stdout.take());
    let ended = gone.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}
