//! Tests folders of own data: imports, and refusals that list all problems at once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use dataperf::Benchmark as _;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::evaluate::{check, evaluate};
use dataperf::{Descriptor, Digest};
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{DirectoryBucket, Import, Silent, export_kit, import};
use tempfile::TempDir;

const DOCUMENT: &str = "schema: 1\n\
    task: selection\n\
    title: Two kinds\n\
    leaderboards:\n\
    \x20 - {name: few, max_examples: 4}\n\
    classes: [a, b]\n\
    pool: {features: pool.csv, examples: pool-labels.csv}\n\
    eval: {features: eval.csv, examples: eval-labels.csv}\n\
    model: {kind: nearest_centroid}\n\
    metric: accuracy\n";

/// A small contest of `selection`.
fn contest() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder, "task.yaml", DOCUMENT);
    write(&folder, "pool.csv", "x,y\n0,0\n0.5,0\n5,5\n5.5,5\n6,5\n");
    write(
        &folder,
        "pool-labels.csv",
        "id,label\np1,a\np2,a\np3,b\np4,b\np5,b\n",
    );
    write(&folder, "eval.csv", "x,y\n0.1,0.1\n5.1,5.1\n4.9,5.2\n");
    write(&folder, "eval-labels.csv", "label\na\nb\nb\n");
    folder
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).unwrap();
}

/// Changes the document.
fn with(folder: &TempDir, from: &str, to: &str) {
    let path = folder.path().join("task.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn frozen<B: Import>(folder: &Path) -> (TempDir, Digest) {
    let out = tempfile::tempdir().unwrap();
    let digest = import::<B>(folder, &out.path().join("frozen"), &Silent).unwrap();
    (out, digest)
}

/// The refusal, after checking that nothing is written.
fn refused<B: Import>(folder: &TempDir) -> String {
    let out = tempfile::tempdir().unwrap();
    let error = import::<B>(folder.path(), &out.path().join("frozen"), &Silent).expect_err("refused");
    assert_eq!(
        fs::read_dir(out.path()).unwrap().count(),
        0,
        "something was written"
    );
    error.to_string()
}

fn verdict<B: Import>(folder: &Path, board: &str, artifact: &str) -> dataperf::Verdict {
    let (out, _) = frozen::<B>(folder);
    let bucket = DirectoryBucket::new(out.path().join("frozen"));
    let dataset = Dataset::<B>::open(bucket, String::new(), None, Integrity::Digests);
    let dataset = pollster::block_on(dataset).unwrap();
    pollster::block_on(evaluate(&dataset, board, artifact.as_bytes())).unwrap()
}

fn codes(verdict: &dataperf::Verdict) -> Vec<(&str, &str)> {
    verdict
        .reasons
        .iter()
        .map(|reason| (reason.code.as_str(), reason.at.as_str()))
        .collect()
}

#[test]
fn a_contest_is_scored() {
    let folder = contest();
    let scored = verdict::<Selection>(folder.path(), "few", r#"{"ids": ["p1", "p3"]}"#);
    assert_eq!(scored.score, Some(1.0), "{scored:?}");
    assert_eq!(
        scored.metrics["n_per_class"],
        serde_json::json!({ "a": 1, "b": 1 })
    );
    let csv = verdict::<Selection>(folder.path(), "few", "id\np1\np3\n");
    assert_eq!((csv.score, csv.metrics), (scored.score, scored.metrics));
}

#[test]
fn every_broken_selection_rule_is_reported() {
    let folder = contest();
    let ids = r#"{"ids": ["p1", "p9", "p1", "p2", "p3"], "more": 1}"#;
    let rejected = verdict::<Selection>(folder.path(), "few", ids);
    assert_eq!(
        codes(&rejected),
        [
            ("unknown_key", "/more"),
            ("too_many_examples", ""),
            ("unknown_id", "/ids/1"),
            ("duplicate_id", "/ids/2")
        ]
    );
    let judge = |artifact: &str| verdict::<Selection>(folder.path(), "few", artifact);
    assert_eq!(codes(&judge(r#"{"ids": ["p1", "p2"]}"#)), [("missing_class", "")]);
    assert_eq!(codes(&judge(r#"{"ids": []}"#)), [("missing_class", "")]);
    assert_eq!(
        codes(&judge(r#"{"labels": {"p1": "a", "p3": "b"}}"#)),
        [("wrong_form", "")]
    );
    assert_eq!(codes(&judge("id,label\np1,a\n")), [("wrong_form", ""),]);
    assert_eq!(
        codes(&judge("id\np1,a\np3\n")),
        [("wrong_number_of_fields", "line 2")]
    );
    assert_eq!(codes(&judge("name\np1\n")), [("wrong_form", "line 1")]);
    assert_eq!(codes(&judge("{}")), [("wrong_form", "")]);
}

#[test]
fn submitters_must_fix_a_non_converging_model() {
    let folder = contest();
    with(
        &folder,
        "{kind: nearest_centroid}",
        "{kind: svc, kernel: linear, C: 1e12, tol: 1e-300}",
    );
    write(
        &folder,
        "pool.csv",
        "x,y\n0.1,1000003.7\n999.3,7.1\n0.3,1000001.9\n13.7,0.7\n6,5\n",
    );
    let rejected = verdict::<Selection>(folder.path(), "few", r#"{"ids": ["p1", "p2", "p3", "p4"]}"#);
    assert_eq!(codes(&rejected), [("not_fitted", "")]);
    assert!(
        rejected.is_counted(&Descriptor::for_benchmark::<Selection>()),
        "it takes the time of a score"
    );
    let scored = verdict::<Selection>(folder.path(), "few", r#"{"ids": ["p1", "p3"]}"#);
    assert!(scored.score.is_some(), "{scored:?}");
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let folder = contest();
    let judge = |artifact: &str| verdict::<Selection>(folder.path(), "few", artifact);
    for artifact in ["id\r\np1\r\nnobody\r\np3\r\n", "id\n\nnobody\np1\np3\n"] {
        assert_eq!(
            codes(&judge(artifact)),
            [("unknown_id", "line 3")],
            "{artifact:?}"
        );
    }
    // also of an organizer's files, past a blank line and a field with an end of a line in it
    write(
        &folder,
        "pool-labels.csv",
        "id,notes,label\r\np1,\"two\r\nlines\",a\r\n\r\np2,,a\r\np3,,c\r\np4,,b\r\np5,,b\r\n",
    );
    let message = refused::<Selection>(&folder);
    assert!(message.contains("`pool-labels.csv` line 6"), "{message}");
    write(
        &folder,
        "pool.csv",
        "x,y\r\n0,0\r\n0.5,?\r\n5,5\r\n5.5,5\r\n6,5\r\n",
    );
    let message = refused::<Selection>(&folder);
    assert!(message.contains("`pool.csv` line 3, column 2: `?`"), "{message}");
}

#[test]
fn a_pandas_table_with_numeric_names_has_headers() {
    let folder = contest();
    write(&folder, "pool.csv", "0,1\n0,0\n0.5,0\n5,5\n5.5,5\n6,5\n");
    write(&folder, "eval.csv", "0,1\n0.1,0.1\n5.1,5.1\n4.9,5.2\n");
    frozen::<Selection>(folder.path());
    write(&folder, "pool.csv", "0.1,0\n0,0\n0.5,0\n5,5\n5.5,5\n6,5\n");
    let message = refused::<Selection>(&folder);
    assert!(message.contains("its first line has numbers"), "{message}");
}

#[test]
fn submission_labels_count_if_the_document_allows() {
    let folder = contest();
    with(
        &folder,
        "metric: accuracy",
        "metric: accuracy\nlabels: submission",
    );
    write(&folder, "pool-labels.csv", "id\np1\np2\np3\np4\np5\n");
    let judge = |artifact: &str| verdict::<Selection>(folder.path(), "few", artifact);
    assert_eq!(judge(r#"{"labels": {"p1": "a", "p3": "b"}}"#).score, Some(1.0));
    assert_eq!(
        judge(r#"{"labels": {"p1": "b", "p3": "a"}}"#).score,
        Some(0.0),
        "the submitter's labels count"
    );
    assert_eq!(
        codes(&judge(r#"{"labels": {"p1": "a", "p3": "c"}}"#)),
        [("unknown_class", "/labels/p3")]
    );
    assert_eq!(codes(&judge(r#"{"ids": ["p1", "p3"]}"#))[0], ("wrong_form", ""));
}

#[test]
fn every_folder_problem_is_reported_at_once() {
    let folder = contest();
    with(&folder, "schema: 1", "schema: 2\nmetrik: accuracy");
    with(&folder, "max_examples: 4", "max_examples: four, abut: x");
    with(&folder, "classes: [a, b]", "classes: [a, a]");
    write(&folder, "pool.csv", "x,y\n0,NaN\n0.5,0\n5\n5.5,5\n6,5\n");
    write(&folder, "pool-labels.csv", "id,label\np1,a\np1,a\np3,\n");
    let message = refused::<Selection>(&folder);
    for part in [
        "line 1, column 9: `schema` is 2",
        "line 2, column 1: `metrik` is not a key here: did you mean `metric`",
        "`abut`",
        "`max_examples` has to be a number",
        "the class `a` appears twice",
        "`pool.csv` line 2, column 2: NaN is not a finite number",
        "`pool.csv` line 4: it has 1 fields, and the first line 2",
        "`pool-labels.csv` line 4, column `label`: it is empty",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn contradictory_files_are_refused() {
    let cases: [(&str, &str, &str); 9] = [
        (
            "pool-labels.csv",
            "id,label\np1,a\np2,a\np3,b\np4,c\np5,b\n",
            "line 5, column `label`: `c` is not a class",
        ),
        (
            "pool-labels.csv",
            "id,label\np1,a\np2,a\np3,a\np4,a\np5,a\n",
            "no example of `b`",
        ),
        (
            "pool-labels.csv",
            "id,label\np1,a\np2,a\np3,b\n",
            "has 5 rows, and `pool-labels.csv` has 3 examples",
        ),
        (
            "pool-labels.csv",
            "id,label\np1,a\np2,a\np1,b\np4,b\np5,b\n",
            "line 4: the id `p1` appears twice",
        ),
        ("pool-labels.csv", "name,label\np1,a\n", "has no column `id`"),
        (
            "eval.csv",
            "x\n0.1\n5.1\n4.9\n",
            "the rows of `eval.csv` have 1 numbers, and those of `pool.csv` 2",
        ),
        (
            "eval.csv",
            "x,y\n0,0\n5.1,5.1\n4.9,5.2\n",
            "1 rows of `eval.csv` are also in `pool.csv`",
        ),
        ("eval.csv", "1,2\n0,0\n5.1,5.1\n", "its first line has numbers"),
        ("eval.csv", "x,y\n0,abc\n", "`abc` is not a number"),
    ];
    for (file, text, part) in cases {
        let folder = contest();
        write(&folder, file, text);
        let message = refused::<Selection>(&folder);
        assert!(message.contains(part), "{part} is not in {message}");
    }
    let folder = contest();
    write(&folder, "eval.csv", "x,y\n0,0\n5.1,5.1\n4.9,5.2\n");
    with(
        &folder,
        "metric: accuracy",
        "metric: accuracy\nallow_duplicates: true",
    );
    frozen::<Selection>(folder.path());
}

/// The bytes of a `.npy` file of 32-bit floats.
fn npy(rows: &[[f32; 2]]) -> Vec<u8> {
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 2), }}",
        rows.len()
    );
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[test]
fn a_row_with_fewer_digits_is_the_same() {
    let folder = contest();
    with(&folder, "features: eval.csv", "features: eval.npy");
    // as pandas writes a table of 32-bit floats
    write(&folder, "pool.csv", "x,y\n0.1,0.3\n0.5,0\n5,5\n5.5,5\n6,5\n");
    let eval = |row| npy(&[row, [5.1, 5.1], [4.9, 5.2]]);
    fs::write(folder.path().join("eval.npy"), eval([0.1, 0.3])).unwrap();
    let message = refused::<Selection>(&folder);
    assert!(
        message.contains("1 rows of `eval.npy` are also in `pool.csv`"),
        "{message}"
    );
    fs::write(folder.path().join("eval.npy"), eval([0.1, 0.300_000_1])).unwrap();
    frozen::<Selection>(folder.path());
}

#[test]
fn an_array_is_read_whatever_its_ending_says() {
    let folder = contest();
    with(&folder, "features: eval.csv", "features: eval.npy");
    let array = npy(&[[0.1, 0.4], [5.1, 5.1], [4.9, 5.2]]);
    fs::write(folder.path().join("eval.npy"), &array).unwrap();
    let eval = |folder: &TempDir| {
        let (out, _) = frozen::<Selection>(folder.path());
        fs::read(out.path().join("frozen/eval.npy")).unwrap()
    };
    let expected = eval(&folder);
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("arr_0.npy", options).unwrap();
    std::io::Write::write_all(&mut archive, &array).unwrap();
    let archive = archive.finish().unwrap().into_inner();
    fs::write(folder.path().join("eval.npy"), &archive).unwrap();
    assert_eq!(eval(&folder), expected);
    with(&folder, "features: eval.npy", "features: eval.npz");
    for bytes in [&archive, &array] {
        fs::write(folder.path().join("eval.npz"), bytes).unwrap();
        assert_eq!(eval(&folder), expected);
    }
}

#[test]
fn numbers_too_large_for_trees_are_refused() {
    for (file, text) in [
        ("pool.csv", "x,y\n0,0\n0.5,1e39\n5,5\n5.5,5\n6,5\n"),
        ("eval.csv", "x,y\n0.1,0.1\n5.1,-4e38\n4.9,5.2\n"),
    ] {
        let folder = contest();
        write(&folder, file, text);
        frozen::<Selection>(folder.path());
        with(&folder, "nearest_centroid", "gradient_boosting");
        let message = refused::<Selection>(&folder);
        let expected = format!("`{file}` line 3, column 2: a number is too large for `gradient_boosting`");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn test_sets_with_too_many_groups_are_refused() {
    let folder = contest();
    let (mut features, mut labels) = ("x,y\n".to_owned(), "label,group\n".to_owned());
    for row in 0..10_001 {
        writeln!(features, "{row}.25,{}", row % 7).unwrap();
        writeln!(labels, "{},g{row}", ["a", "b"][row % 2]).unwrap();
    }
    write(&folder, "eval.csv", &features);
    write(&folder, "eval-labels.csv", &labels);
    let message = refused::<Selection>(&folder);
    // `"g0"` to `"g10000"`, each with 25 bytes for its accuracy
    assert!(
        message.contains("`eval-labels.csv` has 10001 groups, which take 318923 bytes"),
        "{message}"
    );
    with(&folder, "metric: accuracy", "metric: worst_group_accuracy");
    let message = refused::<Selection>(&folder);
    assert!(
        message.contains("the limit of `worst_group_accuracy` is 10000"),
        "{message}"
    );
    // a receipt of `debugging` has no accuracies of groups
    write(&folder, "task.yaml", DEBUGGING);
    write(
        &folder,
        "train.csv",
        "id,given,truth\np1,a,a\np2,b,a\np3,a,b\np4,b,b\np5,b,b\n",
    );
    frozen::<Debugging>(folder.path());
}

#[test]
fn dialects_of_csv_give_the_same_numbers() {
    let folder = contest();
    let expected = pool_of(&folder);
    let semicolons = "x;y\n0;0\n0,5;0\n5;5\n5,5;5\n6;5\n";
    let utf_16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    for text in [
        semicolons.as_bytes().to_vec(),
        semicolons.replace(';', "\t").into_bytes(),
        format!("sep=;\r\n{semicolons}").into_bytes(),
        format!("\u{feff}{}", semicolons.replace('\n', "\r\n")).into_bytes(),
        utf_16(semicolons),
    ] {
        fs::write(folder.path().join("pool.csv"), &text).unwrap();
        assert_eq!(pool_of(&folder), expected, "{}", String::from_utf8_lossy(&text));
    }
    for (text, remedy) in [
        (&b"x;y\n0,5;1.5\n0,5;0\n5;5\n5,5;5\n6;5\n"[..], "decimal commas"),
        (b"x;y\n1,234;0\n0;0\n5;5\n5;5\n6;5\n", "between thousands"),
        (b"x;\xf6\n0;0\n0;0\n5;5\n5;5\n6;5\n", "it is not UTF-8"),
        (b"PK\x03\x04\x14\0\0\0", "it is a zip archive"),
        (b"<html><body>sign in</body></html>", "it is a web page"),
    ] {
        fs::write(folder.path().join("pool.csv"), text).unwrap();
        let message = refused::<Selection>(&folder);
        assert!(message.contains(remedy), "{remedy}: {message}");
    }
}

#[test]
fn tables_with_shifted_or_unnamed_columns_are_refused() {
    let folder = contest();
    write(
        &folder,
        "pool.csv",
        ",x,y\n0,0,0\n1,0.5,0\n2,5,5\n3,5.5,5\n4,6,5\n",
    );
    write(&folder, "eval.csv", "x,y\n1,0.1,0.1\n5.1,5.1\n4.9,5.2\n");
    let message = refused::<Selection>(&folder);
    for expected in [
        "`pool.csv`: column 1 has no name: leave it out if it numbers the rows",
        "`eval.csv` line 2: it has 3 fields, and the first line 2",
    ] {
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// The digest of the frozen pool's features.
fn pool_of(folder: &TempDir) -> Vec<u8> {
    let (out, _) = frozen::<Selection>(folder.path());
    fs::read(out.path().join("frozen/public/pool.npy")).unwrap()
}

#[test]
fn columns_are_matched_by_name_in_any_order() {
    let folder = contest();
    let expected = pool_of(&folder);
    write(&folder, "pool.csv", "y,x\n0,0\n0,0.5\n5,5\n5,5.5\n5,6\n");
    assert_eq!(pool_of(&folder), expected);
    // a column that the test set does not have is named
    write(
        &folder,
        "pool.csv",
        "y,note,x\n0,a,0\n0,b,0.5\n5,c,5\n5,d,5.5\n5,e,6\n",
    );
    let message = refused::<Selection>(&folder);
    assert!(
        message.contains("`eval.csv` has no `note`. Leave it out"),
        "{message}"
    );
    write(&folder, "pool.csv", "f0,f1\n0,0\n0.5,0\n5,5\n5.5,5\n6,5\n");
    assert_eq!(pool_of(&folder), expected, "such names are places");
    write(&folder, "pool.csv", "f1,f0\n0,0\n0,0.5\n5,5\n5,5.5\n5,6\n");
    assert_eq!(pool_of(&folder), expected, "in any order");
    write(&folder, "eval.csv", "1,0\n0.1,0.1\n5.1,5.1\n5.2,4.9\n");
    assert_eq!(pool_of(&folder), expected, "on both sides");
    write(&folder, "eval.csv", "x,y\n0.1,0.1\n5.1,5.1\n4.9,5.2\n");
    write(
        &folder,
        "pool.csv",
        ",x,y\n0,0,0\n1,0.5,0\n2,5,5\n3,5.5,5\n4,6,5\n",
    );
    let message = refused::<Selection>(&folder);
    assert!(
        message.contains("`pool.csv`: a column has no name: leave it out if it numbers the rows"),
        "{message}"
    );
    write(&folder, "pool.csv", "y,z\n0,0\n0,0.5\n5,5\n5,5.5\n5,6\n");
    let message = refused::<Selection>(&folder);
    assert!(
        message.contains("`pool.csv` has no column `x`, which `eval.csv` has, and has `z` instead"),
        "{message}"
    );
    write(&folder, "pool.csv", "x,y\n0,0\n0.5,0\n5,5\n5.5,5\n6,5\n");
    write(&folder, "eval.csv", "x,x\n0.1,0.1\n5.1,5.1\n4.9,5.2\n");
    let message = refused::<Selection>(&folder);
    assert!(message.contains("two columns have the name `x`"), "{message}");
}

#[test]
fn a_quotation_mark_inside_a_field_is_literal() {
    let folder = contest();
    let more = (2..600_000).map(|n| format!("p{n},b\n")); // more than a line may have
    let lines = format!("id,label\np1\" x,a\n{}", more.collect::<String>());
    write(&folder, "pool-labels.csv", &lines);
    let message = refused::<Selection>(&folder);
    assert!(!message.contains("quotation mark"), "{message}");
}

#[test]
fn paths_stay_within_the_folder() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("pool.csv"), "x,y\n0,0\n").unwrap();
    for path in ["../pool.csv", "/etc/passwd", "a/../../pool.csv"] {
        let folder = contest();
        with(&folder, "features: pool.csv", &format!("features: {path}"));
        let message = refused::<Selection>(&folder);
        assert!(message.contains("not a path below the folder"), "{message}");
    }
    let folder = contest();
    fs::remove_file(folder.path().join("pool.csv")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("pool.csv"), folder.path().join("pool.csv")).unwrap();
    assert!(refused::<Selection>(&folder).contains("symbolic link"));
}

#[test]
fn a_folder_without_a_usable_document_is_refused() {
    let folder = contest();
    fs::remove_file(folder.path().join("task.yaml")).unwrap();
    assert!(refused::<Selection>(&folder).contains("dataperf dataset init"));
    for (text, part) in [
        ("- a\n", "keys with values"),
        ("a: [", "not valid YAML"),
        ("", "keys with values"),
        ("task: debugging\n", "`schema` is missing"),
    ] {
        write(&folder, "task.yaml", text);
        let message = refused::<Selection>(&folder);
        assert!(message.contains(part), "{text:?}: {message}");
    }
    write(
        &folder,
        "task.yaml",
        &DOCUMENT.replace("task: selection", "task: debugging"),
    );
    assert!(
        refused::<Selection>(&folder).contains("of the task `debugging`, and the command names `selection`")
    );
    let other_model = DOCUMENT.replace("nearest_centroid", "gradient_bosting");
    write(&folder, "task.yaml", &other_model);
    assert!(refused::<Selection>(&folder).contains("did you mean `gradient_boosting`"));
    let seeds = DOCUMENT.replace("metric: accuracy", "metric: accuracy\nseeds: [1, 2]");
    write(&folder, "task.yaml", &seeds);
    assert!(refused::<Selection>(&folder).contains("only `soft_voting` uses"));
    let k = DOCUMENT.replace("{kind: nearest_centroid}", "{kind: k_nearest, k: 5}");
    write(&folder, "task.yaml", &k);
    assert!(refused::<Selection>(&folder).contains("the model can't be trained on 4 examples"));
}

#[test]
fn the_kit_validates_and_holds_nothing_hidden() {
    let folder = contest();
    let (out, _) = frozen::<Selection>(folder.path());
    let from = out.path().join("frozen");
    let manifest = Manifest::parse(&fs::read(from.join("manifest.json")).unwrap(), "selection").unwrap();
    let kit = out.path().join("kit");
    let files = export_kit::<Selection>(&from, &manifest, &[], &kit)
        .unwrap()
        .files;
    let expected = [
        "README.md",
        "data/pool.parquet",
        "notebook.ipynb",
        "public/pool.csv",
        "public/pool.npy",
        "public/pool.npy.row_digests.safetensors",
        "starter.py",
    ];
    assert_eq!(files, expected);
    let bucket = DirectoryBucket::new(&kit);
    let dataset = pollster::block_on(Dataset::<Selection>::open(
        bucket,
        String::new(),
        None,
        Integrity::Digests,
    ))
    .unwrap();
    let valid = pollster::block_on(check(&dataset, "few", br#"{"ids": ["p1", "p3"]}"#));
    assert!(valid.is_ok());
    let scored = pollster::block_on(evaluate(&dataset, "few", br#"{"ids": ["p1", "p3"]}"#));
    assert!(scored.is_err_and(|error| error.to_string().contains("no test set")));
}

#[test]
fn the_kit_scores_on_a_public_eval_set() {
    let folder = contest();
    write(&folder, "practice.csv", "x,y\n0.3,0.1\n5.3,5.1\n");
    write(&folder, "practice-labels.csv", "label\na\nb\n");
    with(
        &folder,
        "metric: accuracy",
        "metric: accuracy\npublic_eval: {features: practice.csv, examples: practice-labels.csv}",
    );
    let (out, _) = frozen::<Selection>(folder.path());
    let from = out.path().join("frozen");
    let manifest = Manifest::parse(&fs::read(from.join("manifest.json")).unwrap(), "selection").unwrap();
    let kit = out.path().join("kit");
    export_kit::<Selection>(&from, &manifest, &[], &kit).unwrap();
    let bucket = DirectoryBucket::new(&kit);
    let dataset = pollster::block_on(Dataset::<Selection>::open(
        bucket,
        String::new(),
        None,
        Integrity::Digests,
    ))
    .unwrap();
    let scored = pollster::block_on(evaluate(&dataset, "few", br#"{"ids": ["p1", "p3"]}"#)).unwrap();
    assert_eq!(
        (scored.score, &scored.metrics["eval_set"]),
        (Some(1.0), &serde_json::json!("public"))
    );
}

const DEBUGGING: &str = "schema: 1\n\
    task: debugging\n\
    title: Two kinds\n\
    leaderboards: [{name: labels}]\n\
    classes: [a, b]\n\
    train: {features: pool.csv, examples: train.csv}\n\
    eval: {features: eval.csv, examples: eval-labels.csv}\n\
    model: {kind: k_nearest, k: 1}\n\
    target_share: 1.0\n\
    metric: accuracy\n";

#[test]
fn the_first_step_at_target_scores_an_order() {
    let folder = contest();
    write(&folder, "task.yaml", DEBUGGING);
    write(
        &folder,
        "train.csv",
        "id,given,truth\np1,a,a\np2,b,a\np3,a,b\np4,b,b\np5,b,b\n",
    );
    let judge = |artifact: &str| verdict::<Debugging>(folder.path(), "labels", artifact);
    // only p3 is the nearest to an item and wrong: with it first one step is enough, with it last all five are needed
    assert_eq!(
        judge(r#"{"order": ["p3", "p1", "p2", "p4", "p5"]}"#).score,
        Some(0.2)
    );
    let last = judge(r#"{"order": ["p1", "p2", "p4", "p5", "p3"]}"#);
    assert_eq!(
        (last.score, &last.metrics["n_wrong"]),
        (Some(1.0), &serde_json::json!(2))
    );
    assert_eq!(last.metrics["curve"].as_array().map(Vec::len), Some(5));
    for csv in [
        "id\np1\np2\np4\np5\np3\n",
        "\u{feff},id\r\n0,p1\r\n1,p2\r\n3,p4\r\n4,p5\r\n2,p3\r\n",
    ] {
        let of_csv = judge(csv);
        assert_eq!(
            (of_csv.score, &of_csv.metrics),
            (last.score, &last.metrics),
            "{csv}"
        );
        let of_json = Debugging::content_of(br#"{"order": ["p1", "p2", "p4", "p5", "p3"]}"#);
        assert_eq!(Debugging::content_of(csv.as_bytes()), of_json);
    }
    let rejected = judge(r#"{"order": ["p3", "p3", "p9"]}"#);
    assert_eq!(
        codes(&rejected),
        [
            ("duplicate_id", "/order/1"),
            ("unknown_id", "/order/2"),
            ("missing_ids", "/order")
        ]
    );
    assert_eq!(
        codes(&judge("id\np3\np3\np9\n")),
        [
            ("duplicate_id", "line 3"),
            ("unknown_id", "line 4"),
            ("missing_ids", "")
        ]
    );
    assert_eq!(
        codes(&judge("id\np1\np2,a\np3\np4\np5\n")),
        [("wrong_number_of_fields", "line 3"), ("missing_ids", "")]
    );
    assert_eq!(codes(&judge("id,label\np1,a\n")), [("wrong_form", "line 1")]);
    with(
        &folder,
        "metric: accuracy",
        "metric: accuracy\ncurve: until_target",
    );
    let cut = judge(r#"{"order": ["p1", "p3", "p2", "p4", "p5"]}"#);
    assert_eq!(
        (cut.score, cut.metrics["curve"].as_array().map(Vec::len)),
        (Some(0.4), Some(2))
    );
    // a trial before publishing fits all models, whatever the order that it tries
    let (out, _) = frozen::<Debugging>(folder.path());
    let bucket = DirectoryBucket::new(out.path().join("frozen"));
    let dataset = Dataset::<Debugging>::open(bucket, String::new(), None, Integrity::Digests);
    let dataset = pollster::block_on(dataset)
        .unwrap()
        .with_parameters(Debugging::prolong);
    let order = br#"{"order": ["p1", "p3", "p2", "p4", "p5"]}"#;
    let whole = pollster::block_on(evaluate(&dataset, "labels", order)).unwrap();
    assert_eq!(
        (whole.score, whole.metrics["curve"].as_array().map(Vec::len)),
        (Some(0.4), Some(5))
    );
    write(
        &folder,
        "train.csv",
        "id,given,truth\np1,a,a\np2,a,a\np3,b,b\np4,b,b\np5,b,b\n",
    );
    assert!(refused::<Debugging>(&folder).contains("there is nothing to find"));
}

#[test]
fn reaching_the_target_before_any_fix_scores_zero() {
    let folder = contest();
    write(&folder, "task.yaml", DEBUGGING);
    write(
        &folder,
        "train.csv",
        "id,given,truth\np1,a,a\np2,b,a\np3,b,b\np4,b,b\np5,b,b\n",
    );
    let verdict = verdict::<Debugging>(
        folder.path(),
        "labels",
        r#"{"order": ["p1", "p2", "p4", "p5", "p3"]}"#,
    );
    assert_eq!(
        (verdict.score, verdict.metrics.get("first_step")),
        (Some(0.0), None)
    );
}

const ACQUISITION: &str = "schema: 1\n\
    task: acquisition\n\
    title: Two kinds\n\
    leaderboards: [{name: market}]\n\
    classes: [a, b]\n\
    sellers:\n\
    \x20 zoe: {features: pool.csv, examples: pool-labels.csv}\n\
    \x20 abe: {features: eval.csv, examples: eval-labels.csv}\n\
    prices: {zoe: 10, abe: 0.3}\n\
    budget: 4.1\n\
    eval: {features: eval2.csv, examples: eval-labels.csv}\n\
    model: {kind: nearest_centroid}\n\
    metric: accuracy\n";

#[test]
fn counts_are_scored_within_the_budget() {
    let folder = contest();
    write(&folder, "task.yaml", ACQUISITION);
    write(&folder, "eval2.csv", "x,y\n0.2,0.1\n5.3,5.1\n4.8,5.2\n");
    let judge = |artifact: &str| verdict::<Acquisition>(folder.path(), "market", artifact);
    let scored = judge(r#"{"counts": {"zoe": 2, "abe": 1}}"#);
    assert_eq!(scored.metrics["n_bought"], serde_json::json!(3), "{scored:?}");
    assert!(scored.score.is_some());
    let rejected = judge(r#"{"counts": {"zoe": 6, "bob": 1, "abe": 1.5}}"#);
    assert_eq!(
        codes(&rejected),
        [
            ("wrong_type", "/counts/abe"),
            ("more_than_seller_has", "/counts/zoe"),
            ("unknown_seller", "/counts/bob"),
            ("over_budget", "/counts")
        ]
    );
    assert_eq!(
        codes(&judge(r#"{"counts": {}}"#)),
        [("nothing_bought", "/counts")]
    );
    assert_eq!(
        codes(&judge(r#"{"counts": {"zoe": 2, "abe": 2}}"#)),
        [("over_budget", "/counts")]
    );
    // one class in every trial: the model predicts it
    let one_class = judge(r#"{"counts": {"abe": 1}}"#);
    assert!(one_class.score.is_some(), "{one_class:?}");
    with(&folder, "budget: 4.1", "budget: 0.01");
    assert!(refused::<Acquisition>(&folder).contains("buys nothing"));
    with(
        &folder,
        "prices: {zoe: 10, abe: 0.3}",
        "prices: {zoe: 10, ab: 0.3}",
    );
    let message = refused::<Acquisition>(&folder);
    assert!(
        message.contains("`prices` has `ab`, which is not a seller: did you mean `abe`?")
            && message.contains("`abe` has no price"),
        "{message}"
    );
}

#[test]
fn a_sellers_folder_is_located_by_its_name() {
    let folder = contest();
    let document = ACQUISITION.replace(
        "sellers:\n  zoe: {features: pool.csv, examples: pool-labels.csv}\n  abe: {features: eval.csv, examples: eval-labels.csv}\n",
        "sellers: clinics\n",
    );
    write(&folder, "task.yaml", &document);
    write(&folder, "eval2.csv", "x,y\n0.2,0.1\n5.3,5.1\n4.8,5.2\n");
    fs::create_dir(folder.path().join("clinics")).unwrap();
    write(&folder, "clinics/zoe.CSV", "x,y,label\n0,0,a\n5,5,b\n");
    write(&folder, "clinics/abe.tsv", "label\tx\ty\nb\t5\t6\n");
    write(&folder, "clinics/README.txt", "two sellers\n");
    let verdict = verdict::<Acquisition>(folder.path(), "market", r#"{"counts": {"abe": 1}}"#);
    assert!(verdict.score.is_some(), "{verdict:?}");
}

/// Two sellers with these files, and a test set without names of columns.
fn two_sellers(zoe: &str, abe: &str) -> TempDir {
    let folder = contest();
    let document = ACQUISITION
        .replace("{features: pool.csv, examples: pool-labels.csv}", "zoe.csv")
        .replace(
            "{features: eval.csv, examples: eval-labels.csv}\nprices",
            "abe.csv\nprices",
        )
        .replace("eval2.csv", "eval2.npy");
    write(&folder, "task.yaml", &document);
    write(&folder, "zoe.csv", zoe);
    write(&folder, "abe.csv", abe);
    let rows = npy(&[[0.2, 0.1], [5.3, 0.2], [5.1, 0.3]]);
    fs::write(folder.path().join("eval2.npy"), rows).unwrap();
    folder
}

#[test]
fn sellers_columns_are_matched_where_the_test_set_has_no_names() {
    let zoe = "x,y,label\n0,0,a\n5,1,b\n";
    let rows = |abe: &str| {
        let (out, _) = frozen::<Acquisition>(two_sellers(zoe, abe).path());
        fs::read(out.path().join("frozen/sellers.npy")).unwrap()
    };
    let expected = rows("x,y,label\n5,2,b\n6,3,b\n");
    assert_eq!(rows("label,y,x\nb,2,5\nb,3,6\n"), expected);
    assert_eq!(rows("label,f1,f0\nb,2,5\nb,3,6\n"), expected);
    let message = refused::<Acquisition>(&two_sellers(zoe, "x,z,label\n5,2,b\n6,3,b\n"));
    assert!(
        message.contains("`abe.csv` has no column `y`, which `zoe.csv` has"),
        "{message}"
    );
}

#[test]
fn prices_may_have_decimal_commas_and_stay_finite() {
    let rows = "x,y,label\n0,0,a\n5,1,b\n";
    let folder = two_sellers(rows, rows);
    with(&folder, "prices: {zoe: 10, abe: 0.3}", "prices: prices.csv");
    write(&folder, "prices.csv", "seller;price\nzoe;1,5\nabe;2,25\n");
    with(&folder, "budget: 4.1", "budget: 1.875");
    let verdict = verdict::<Acquisition>(folder.path(), "market", r#"{"counts": {"zoe": 1, "abe": 1}}"#);
    assert_eq!(verdict.metrics["cost"], serde_json::json!(1.875), "{verdict:?}");
    write(&folder, "prices.csv", "seller;price\nzoe;1.5\nabe;1e308\n");
    let message = refused::<Acquisition>(&folder);
    assert!(
        message.contains("`1e308` is not a price") && !message.contains("has no price"),
        "{message}"
    );
    with(&folder, "budget: 1.875", "budget: 1e308");
    assert!(refused::<Acquisition>(&folder).contains("`budget` is 1e308"));
}

#[test]
fn a_budget_may_buy_one_row() {
    let rows = "x,y,label\n0,0,a\n5,1,b\n";
    let folder = two_sellers(rows, rows);
    with(&folder, "budget: 4.1", "budget: 0.15");
    let (out, _) = frozen::<Acquisition>(folder.path());
    let bucket = DirectoryBucket::new(out.path().join("frozen"));
    let dataset = Dataset::<Acquisition>::open(bucket, String::new(), None, Integrity::Digests);
    let dataset = pollster::block_on(dataset).unwrap();
    let artifact = pollster::block_on(Acquisition::largest_artifact(&dataset, "market")).unwrap();
    let verdict = pollster::block_on(evaluate(&dataset, "market", &artifact.unwrap())).unwrap();
    assert_eq!(verdict.metrics["n_bought"], serde_json::json!(1), "{verdict:?}");
}

/// As many classes as there may be, with names of which no two are alike.
fn many_classes() -> Vec<String> {
    (0..100).map(|n| format!("{n:03}{}", "c".repeat(100))).collect()
}

/// A rejection for unknown names lists reasons that fit into a receipt, each with few names.
fn is_bounded(verdict: &dataperf::Verdict, code: &str) {
    assert!(verdict.reasons.len() > 20, "{verdict:?}");
    for reason in &verdict.reasons {
        assert_eq!(reason.code, code);
        assert!(
            reason.message.matches('`').count() <= 2 * 13,
            "{}",
            reason.message
        );
    }
    let json = serde_json::to_vec(verdict).unwrap();
    assert!(json.len() < 120_000, "{} bytes", json.len());
}

#[test]
fn many_unknown_class_labels_fit_into_a_receipt() {
    let classes = many_classes();
    let folder = contest();
    with(
        &folder,
        "classes: [a, b]",
        &format!("classes: [{}]", classes.join(", ")),
    );
    with(&folder, "max_examples: 4", "max_examples: 300");
    with(
        &folder,
        "metric: accuracy",
        "metric: accuracy\nlabels: submission",
    );
    let lines = |line: &dyn Fn(usize) -> String, n: usize| (0..n).map(line).collect::<String>();
    write(
        &folder,
        "pool.csv",
        &format!("x,y\n{}", lines(&|n| format!("{n},0\n"), 250)),
    );
    write(
        &folder,
        "pool-labels.csv",
        &format!("id\n{}", lines(&|n| format!("p{n}\n"), 250)),
    );
    write(
        &folder,
        "eval.csv",
        &format!("x,y\n{}", lines(&|n| format!("{n}.5,0\n"), 100)),
    );
    let labels = lines(&|n| format!("{}\n", classes[n]), 100);
    write(&folder, "eval-labels.csv", &format!("label\n{labels}"));
    let judge = |label: &dyn Fn(usize) -> String| {
        let labels = lines(&|n| format!("p{n},{}\n", label(n)), 250);
        verdict::<Selection>(folder.path(), "few", &format!("id,label\n{labels}"))
    };
    let unknown = judge(&|n| format!("wrong {n}"));
    is_bounded(&unknown, "unknown_class");
    assert_eq!(unknown.n_reasons, Some(250));
    let misspelt = judge(&|n| format!("{}c", classes[n % 100]));
    is_bounded(&misspelt, "unknown_class");
    assert!(
        misspelt.reasons[0].message.contains("did you mean `000"),
        "{:?}",
        misspelt.reasons[0]
    );
    let equal = judge(&|_| "Wrong".to_owned());
    is_bounded(&equal, "unknown_class");
    let cause = equal.cause.unwrap();
    assert!(
        cause.message.contains("places: `Wrong` is not a class"),
        "{cause:?}"
    );
}

#[test]
fn unknown_sellers_among_many_fit_into_a_receipt() {
    let folder = contest();
    let document = ACQUISITION.replace(
        "sellers:\n  zoe: {features: pool.csv, examples: pool-labels.csv}\n  abe: {features: eval.csv, examples: eval-labels.csv}\n",
        "sellers: clinics\n",
    );
    let document = document.replace("prices: {zoe: 10, abe: 0.3}", "prices: {}");
    fs::create_dir(folder.path().join("clinics")).unwrap();
    let mut prices = String::new();
    for n in 0..200 {
        let name = format!("{n:03}{}", "s".repeat(60));
        write(
            &folder,
            &format!("clinics/{name}.csv"),
            "x,y,label\n0,0,a\n5,5,b\n",
        );
        write!(prices, "{name}: 1, ").unwrap();
    }
    let document = document.replace("prices: {}", &format!("prices: {{{prices}}}"));
    write(&folder, "task.yaml", &document);
    write(&folder, "eval2.csv", "x,y\n0.2,0.1\n5.3,5.1\n4.8,5.2\n");
    let counts: Vec<String> = (0..250).map(|n| format!("\"nobody {n}\": 1")).collect();
    let artifact = format!("{{\"counts\": {{{}}}}}", counts.join(", "));
    let verdict = verdict::<Acquisition>(folder.path(), "market", &artifact);
    assert!(verdict.n_reasons >= Some(250), "{verdict:?}");
    is_bounded(&verdict, "unknown_seller");
}

#[test]
fn rows_far_beyond_a_limit_are_counted_alone() {
    let folder = contest();
    let ids: Vec<String> = (0..1_000).map(|n| format!("x{n}")).collect();
    let rejected = verdict::<Selection>(folder.path(), "few", &format!("id\n{}\n", ids.join("\n")));
    let first = &rejected.reasons[0];
    assert_eq!(
        (first.code.as_str(), first.actual),
        ("too_many_examples", Some(1_000))
    );
    assert_eq!(rejected.n_reasons, Some(1 + 4 + 200));
}

#[test]
fn equivalent_artifacts_have_the_same_content() {
    let one = Selection::content_of(b"{\"ids\": [\"b\", \"a\"]}").unwrap();
    for other in ["{\"ids\":[\"a\",\"b\"]}", "id\na\nb\n", "id\r\nb\r\na\r\n"] {
        assert_eq!(
            Selection::content_of(other.as_bytes()).as_ref(),
            Some(&one),
            "{other}"
        );
    }
    assert_ne!(
        Selection::content_of(b"{\"ids\": [\"b\", \"c\"]}").as_ref(),
        Some(&one)
    );
    let order = |artifact: &[u8]| Debugging::content_of(artifact).unwrap();
    assert_eq!(
        order(b"{\"order\": [\"b\", \"a\"]}"),
        order(b"{ \"order\":[\"b\",\"a\"] }")
    );
    assert_ne!(
        order(b"{\"order\": [\"b\", \"a\"]}"),
        order(b"{\"order\": [\"a\", \"b\"]}")
    );
    let counts = |artifact: &[u8]| Acquisition::content_of(artifact).unwrap();
    assert_eq!(
        counts(b"{\"counts\": {\"x\": 1, \"y\": 2}}"),
        counts(b"{\"counts\": {\"y\": 2, \"x\": 1}}")
    );
    assert_eq!(Selection::content_of(b"\x93NUMPY"), None);
}
