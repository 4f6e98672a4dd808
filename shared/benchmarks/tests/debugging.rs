//! Debugging for Vision on the demo's real data: every step of every curve, every rule, and what can't be imported.

#![allow(clippy::expect_used, reason = "helpers of tests")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::{Ending, Verdict};
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_datasets::{DirectoryBucket, ImportError, Silent, import};
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const TASKS: [&str; 4] = ["1-7-flipped", "2-3-flipped", "3-8", "4-9"];

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/vision-debugging")
}

fn imported(from: &Path, directory: &Path) -> Dataset<VisionDebugging> {
    import::<VisionDebugging>(from, directory, &Silent).expect("it can be imported");
    open(directory)
}

fn open(directory: &Path) -> Dataset<VisionDebugging> {
    let bucket = DirectoryBucket::new(directory);
    pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Digests)).expect("a data set")
}

/// The demo's data set, imported once.
fn frozen() -> Dataset<VisionDebugging> {
    static IMPORTED: OnceLock<PathBuf> = OnceLock::new();
    let directory = IMPORTED.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debugging-frozen");
        let _ = fs::remove_dir_all(&directory); // perhaps of an earlier state of the demo
        drop(imported(&demo(), &directory));
        directory
    });
    open(directory)
}

fn judge(dataset: &Dataset<VisionDebugging>, artifact: &[u8]) -> Verdict {
    pollster::block_on(evaluate(dataset, "open", artifact)).expect("a verdict")
}

fn submission(name: &str) -> Vec<u8> {
    fs::read(demo().join("submissions").join(name)).expect("a submission")
}

fn expected() -> Value {
    let expected = fs::read(demo().join("expected_scores.json")).expect("expected scores");
    serde_json::from_slice(&expected).expect("json")
}

/// The demo's layout, by links, so that a test can change it.
fn linked(directory: &Path) -> PathBuf {
    let from = directory.join("from");
    for folder in ["embeddings", "data"] {
        fs::create_dir_all(from.join(folder)).expect("a directory");
        for entry in fs::read_dir(demo().join(folder)).expect("a directory") {
            let source = fs::canonicalize(entry.expect("an entry").path()).expect("a path");
            let link = from.join(folder).join(source.file_name().expect("a name"));
            std::os::unix::fs::symlink(source, link).expect("a link");
        }
    }
    from
}

fn codes(verdict: &Verdict) -> Vec<(&str, &str)> {
    let reasons = verdict.reasons.iter();
    reasons
        .map(|reason| (reason.code.as_str(), reason.at.as_str()))
        .collect()
}

#[test]
fn every_step_of_every_curve_is_xgboosts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = frozen();
    let until_target = linked(directory.path());
    fs::write(until_target.join("curves.txt"), "until_target\n").expect("a file");
    let until_target = imported(&until_target, &directory.path().join("until_target"));
    for (name, scored) in expected()["scored"].as_object().expect("scores by file") {
        let artifact = submission(name);
        let verdict = judge(&dataset, &artifact);
        assert_eq!(verdict.status, Ending::Scored, "{name}: {:?}", verdict.reasons);
        assert_eq!(verdict.score, scored["score"].as_f64(), "{name}");
        let shorter = judge(&until_target, &artifact);
        assert_eq!(shorter.score, verdict.score, "{name}, up to the target");
        for task in TASKS {
            let (ours, theirs) = (&verdict.metrics["tasks"][task], &scored["tasks"][task]);
            for number in ["accuracy", "accuracy_before", "fraction_of_fixes"] {
                assert_eq!(ours[number], theirs[number], "{name}, {task}, {number}");
            }
            let mut prefix = ours.clone();
            let n_steps = ours["first_step"].as_u64().expect("a step") as usize + 1;
            prefix["accuracy"]
                .as_array_mut()
                .expect("a curve")
                .truncate(n_steps);
            assert_eq!(shorter.metrics["tasks"][task], prefix, "{name}, {task}");
        }
    }
}

#[test]
fn a_file_of_one_line_gets_no_score() {
    // a target of 95 % of a submission's own last step would be reached at once, by whatever it has
    let dataset = frozen();
    let verdict = judge(&dataset, &submission("open/hasty/bad_one_index.json"));
    assert_eq!((verdict.status, verdict.score), (Ending::Rejected, None));
    let places = TASKS.map(|task| ("missing_images", format!("/{task}")));
    let expected: Vec<_> = places.iter().map(|(code, at)| (*code, at.as_str())).collect();
    assert_eq!(codes(&verdict), expected);
    let reason = &verdict.reasons[0];
    assert_eq!((reason.limit, reason.actual), (Some(200), Some(1)));
    assert!(reason.message.contains("lacks 199 of 200 images"), "{reason:?}");
}

#[test]
fn every_broken_rule_is_reported_at_once() {
    let dataset = frozen();
    for (name, expected) in [
        (
            "bad_duplicate.json",
            vec![
                ("duplicate_index", "/1-7-flipped/1"),
                ("missing_images", "/1-7-flipped"),
            ],
        ),
        ("bad_missing_task.json", vec![("missing_task", "")]),
        ("bad_truncated.zip", vec![("bad_zip", "")]),
    ] {
        let verdict = judge(&dataset, &submission(&format!("open/hasty/{name}")));
        assert_eq!(codes(&verdict), expected, "{name}");
    }
    let verdict = judge(&dataset, &submission("open/hasty/bad_out_of_range.json"));
    assert_eq!(codes(&verdict)[0].0, "index_out_of_range");
    let verdict = judge(&dataset, &submission("open/hasty/bad_several_reasons.json"));
    let expected = [
        ("bad_index", "/2-3-flipped/2"),
        ("duplicate_index", "/1-7-flipped/1"),
        ("index_out_of_range", "/2-3-flipped/0"),
        ("index_out_of_range", "/2-3-flipped/1"),
        ("missing_images", "/2-3-flipped"),
        ("missing_images", "/3-8"),
        ("unknown_task", "/7-8"),
        ("missing_task", ""),
    ];
    assert_eq!(codes(&verdict), expected);

    let whole: Vec<u32> = (0..200).collect();
    let artifact = json!({ "1-7-flipped": "all", "2-3-flipped": whole, "3-8": { "0": 1 }, "4-9": whole });
    let verdict = judge(&dataset, artifact.to_string().as_bytes());
    assert_eq!(
        codes(&verdict),
        [("wrong_type", "/1-7-flipped"), ("wrong_type", "/3-8")]
    );
    let artifact = format!("{{\"4-9\": {whole:?}, \"4-9\": []}}");
    let verdict = judge(&dataset, artifact.as_bytes());
    assert_eq!(verdict.reasons[0].code, "duplicate_key");
}

#[test]
fn text_files_name_their_task_and_their_time() {
    let dataset = frozen();
    let verdict = judge(&dataset, &submission("open/ask-around/neighbours_5.zip"));
    for task in TASKS {
        assert_eq!(verdict.metrics["tasks"][task]["method_seconds"], json!(0.25));
    }
    let mut order: String = (0..200)
        .map(|image| image.to_string())
        .collect::<Vec<_>>()
        .join("\n");
    order.push('\n');
    let crlf = order.replace('\n', "\r\n");
    let files = [
        ("1-7-flipped.txt", order.as_str()),
        ("2-3-flipped_a_b_c.txt", &crlf),
        ("3-8_mine.txt", &order),
        ("3-8_other.txt", &order),
        ("4-9x.txt", &order),
        ("time_1-7-flipped_mine.txt", "soon"),
        ("time_3-8.txt", "-1"),
        ("notes.md", "about it"),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("a name");
        zip.write_all(text.as_bytes()).expect("memory");
    }
    let zip = zip.finish().expect("memory").into_inner();
    let verdict = judge(&dataset, &zip);
    let mut shown = codes(&verdict);
    shown.sort_unstable();
    let expected = [
        ("bad_time", "time_1-7-flipped_mine.txt"),
        ("bad_time", "time_3-8.txt"),
        ("duplicate_task", "3-8_other.txt"),
        ("missing_task", ""),
        ("unknown_file", "notes.md"),
        ("unknown_task", "4-9x.txt"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn an_import_names_every_problem() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let from = linked(directory.path());
    let truth = from.join("data/dataset_3-8_train.csv");
    let text = fs::read_to_string(&truth).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let (seventh, eighth) = (&lines[7][..16], &lines[8][..16]);
    let mislabelled = format!("{seventh},7");
    let changed = [
        &lines[..7],
        &[mislabelled.as_str(), lines[9], lines[9]],
        &lines[10..],
    ]
    .concat();
    fs::remove_file(&truth).expect("removed");
    fs::write(&truth, changed.join("\n")).expect("a file");
    fs::remove_file(from.join("data/dataset_4-9_train.csv")).expect("removed");
    fs::remove_file(from.join("embeddings/1-7-flipped_test_120.parquet")).expect("removed");
    fs::write(from.join("curves.txt"), "half").expect("a file");
    let out = directory.path().join("out");
    let Err(ImportError::Refused { problems, .. }) = import::<VisionDebugging>(&from, &out, &Silent) else {
        panic!("it can't be imported");
    };
    let joined = problems.join("\n");
    for problem in [
        format!("the label of `{seventh}` is `7`"),
        format!("no right label for `{eighth}`"),
        "appears twice".to_owned(),
        "dataset_4-9_train.csv".to_owned(),
        "0 files `1-7-flipped_test_*.parquet`".to_owned(),
        "has `half`".to_owned(),
    ] {
        assert!(joined.contains(&problem), "{problem} is not in {joined}");
    }
    assert!(!out.exists());
}

#[test]
fn a_task_name_leaving_the_directory_is_refused() {
    for name in ["..", ".", "", "a\\b"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let from = linked(directory.path());
        for folder in ["embeddings", "data"] {
            for entry in fs::read_dir(from.join(folder)).expect("a directory") {
                let path = entry.expect("an entry").path();
                let file = path.file_name().expect("a name").to_string_lossy().into_owned();
                fs::rename(&path, path.with_file_name(file.replace("3-8", name))).expect("renamed");
            }
        }
        let out = directory.path().join("out/frozen");
        let error = import::<VisionDebugging>(&from, &out, &Silent).expect_err("refused");
        assert!(
            matches!(error, ImportError::Name(_) | ImportError::Refused { .. }),
            "{name}: {error:?}"
        );
        let left: Vec<_> = fs::read_dir(directory.path().join("out"))
            .expect("a directory")
            .collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}
