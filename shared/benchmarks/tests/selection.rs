//! The two selection benchmarks on the demo's real data: every score, every rejection, and what is exported.

#![allow(clippy::expect_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::{Ending, Verdict};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_datasets::{DirectoryBucket, Import, ImportError, Silent, export_kit, import};
use serde_json::Value;

fn demo(benchmark: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../demo")
        .join(benchmark)
}

/// The demo's data set, imported.
fn imported<B: Import>(directory: &Path) -> Dataset<B> {
    import::<B>(&demo(B::ID), directory, &Silent).expect("the demo can be imported");
    let bucket = DirectoryBucket::new(directory);
    pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Digests)).expect("a data set")
}

fn judge<B: Import>(dataset: &Dataset<B>, artifact: &[u8]) -> Verdict {
    pollster::block_on(evaluate(dataset, "open", artifact)).expect("a verdict")
}

/// Scores every legal file of the demo as scikit-learn did; gives the codes of the others by file name.
fn demo_is_judged_as_expected<B: Import>(
    is_same: impl Fn(&Value, &BTreeMap<String, Value>) -> bool,
) -> BTreeMap<String, Vec<String>> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = imported::<B>(&directory.path().join("frozen"));
    let expected = fs::read(demo(B::ID).join("expected_scores.json")).expect("expected scores");
    let expected: Value = serde_json::from_slice(&expected).expect("json");
    let submissions = demo(B::ID).join("submissions");
    for (name, scored) in expected["scored"].as_object().expect("scores by file") {
        let verdict = judge(&dataset, &fs::read(submissions.join(name)).expect("a submission"));
        assert_eq!(verdict.status, Ending::Scored, "{name}: {:?}", verdict.reasons);
        let difference = (verdict.score.expect("a score") - scored["score"].as_f64().expect("a score")).abs();
        assert!(difference < 1e-12, "{name} is off by {difference}");
        assert!(is_same(scored, &verdict.metrics), "{name}: {:?}", verdict.metrics);
    }
    let refused = expected["refused"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str);
    let codes = |name: &str| {
        let verdict = judge(&dataset, &fs::read(submissions.join(name)).expect("a submission"));
        assert_eq!(verdict.status, Ending::Rejected, "{name}");
        let file = name.rsplit('/').next().unwrap_or_default().to_owned();
        (
            file,
            verdict.reasons.into_iter().map(|reason| reason.code).collect(),
        )
    };
    refused.map(codes).collect()
}

fn assert_codes(codes: &BTreeMap<String, Vec<String>>, expected: &[(&str, &[&str])]) {
    let actual: Vec<_> = codes
        .iter()
        .map(|(name, codes)| (name.as_str(), codes.iter().map(String::as_str).collect()))
        .collect();
    let expected: Vec<(&str, Vec<&str>)> = expected
        .iter()
        .map(|(name, codes)| (*name, codes.to_vec()))
        .collect();
    assert_eq!(actual, expected);
}

#[test]
fn vision_scores_are_scikit_learns() {
    let codes = demo_is_judged_as_expected::<VisionSelection>(|expected, metrics| {
        let concepts = expected["concepts"].as_object().expect("concepts");
        concepts.iter().all(|(concept, measures)| {
            let measures = measures.as_object().expect("measures");
            measures.iter().all(|(name, value)| {
                let ours = metrics["concepts"][concept][name].as_f64();
                ours.zip(value.as_f64())
                    .is_some_and(|(ours, value)| (ours - value).abs() < 1e-12)
            })
        })
    });
    assert_codes(
        &codes,
        &[
            ("bad_label.json", &["bad_label"]),
            ("bad_missing_concept.json", &["missing_concept"]),
            ("bad_one_label.json", &["one_label"]),
            (
                "bad_several_reasons.json",
                &["bad_label", "unknown_image", "unknown_concept", "missing_concept"],
            ),
            ("bad_truncated.zip", &["bad_zip"]),
            ("bad_unknown_id.json", &["unknown_image"]),
        ],
    );
}

#[test]
fn acquisition_scores_are_scikit_learns_in_every_trial() {
    let codes = demo_is_judged_as_expected::<DataAcquisition>(|expected, metrics| {
        let markets = expected["markets"].as_object().expect("markets");
        markets.iter().all(|(market, of_market)| {
            let ours = &metrics["markets"][market];
            let costs = ours["cost"].as_f64().zip(of_market["cost"].as_f64());
            ours["per_trial"] == of_market["per_trial"]
                && costs.is_some_and(|(ours, cost)| (ours - cost).abs() < 1e-9)
        })
    });
    assert_codes(
        &codes,
        &[
            ("bad_more_than_seller_has.json", &["more_than_seller_has"]),
            ("bad_nothing.json", &["nothing_bought"]),
            ("bad_over_budget.json", &["over_budget"; 5]),
            (
                "bad_several_reasons.json",
                &[
                    "bad_count",
                    "over_budget",
                    "wrong_number_of_sellers",
                    "unknown_market",
                    "missing_market",
                ],
            ),
        ],
    );
}

#[test]
fn the_budget_error_appears_with_other_errors() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = imported::<DataAcquisition>(&directory.path().join("frozen"));
    let all = 10_000;
    let artifact = serde_json::json!({
        "0": [all, all, all, all, all, all, all, all],
        "1": [0.5, 40, 40, 40, 40, 40, 40, 40],
        "2": [40, 40, 40, 40, 40, 40, 40],
        "3": [0.5, 1, 1, 1, 1, 1, 1, 1],
        "4": {},
    });
    let verdict = judge(&dataset, artifact.to_string().as_bytes());
    let shown: Vec<(&str, &str)> = verdict
        .reasons
        .iter()
        .map(|reason| (reason.at.as_str(), reason.code.as_str()))
        .filter(|(at, _)| at.matches('/').count() == 1)
        .collect();
    let expected = [
        ("/4", "wrong_type"),
        ("/0", "over_budget"),
        ("/1", "over_budget"),
        ("/2", "wrong_number_of_sellers"),
        ("/2", "over_budget"),
    ];
    assert_eq!(shown, expected);
    let of_first = verdict.reasons.iter().find(|reason| reason.code == "over_budget");
    let of_first = of_first.expect("one");
    assert_eq!((of_first.limit, of_first.actual), (Some(150), Some(860)));
    let message = &of_first.message;
    assert!(
        message.contains("cost at least 860.000000, the budget is 150: spend 710.000000 less"),
        "{message}"
    );
}

#[test]
fn a_header_that_is_missing_is_one_reason() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = imported::<VisionSelection>(&directory.path().join("frozen"));
    let verdict = judge(&dataset, br#"{"3": 5, "5": {}, "8": []}"#);
    let codes: Vec<(&str, &str)> = verdict
        .reasons
        .iter()
        .map(|reason| (reason.at.as_str(), reason.code.as_str()))
        .collect();
    assert_eq!(
        codes,
        [("/3", "wrong_type"), ("/8", "wrong_type"), ("/5", "no_examples")]
    );
}

/// A copy of the demo's layout of Selection for Vision, to be changed.
fn vision_layout(to: &Path) {
    for folder in ["embeddings", "examples", "test_sets"] {
        fs::create_dir_all(to.join(folder)).expect("a directory");
        for entry in fs::read_dir(demo("vision-selection").join(folder)).expect("a directory") {
            let entry = entry.expect("an entry");
            fs::copy(entry.path(), to.join(folder).join(entry.file_name())).expect("copied");
        }
    }
    fs::create_dir_all(to.join("train_sets")).expect("a directory");
}

#[test]
fn training_sets_in_the_csv_form_become_artifacts() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (from, frozen) = (directory.path().join("from"), directory.path().join("frozen"));
    vision_layout(&from);
    let artifact = fs::read(demo("vision-selection").join("submissions/open/coin-flip/random_20.json"));
    let artifact: Value = serde_json::from_slice(&artifact.expect("a submission")).expect("json");
    for (concept, labels) in artifact.as_object().expect("concepts") {
        let lines = labels
            .as_object()
            .expect("labels")
            .iter()
            .map(|(id, label)| format!("{id},{label}\n"));
        let csv: String = std::iter::once("ImageID,Confidence\n".to_owned())
            .chain(lines)
            .collect();
        fs::write(from.join(format!("train_sets/{concept}_a_few.csv")), &csv).expect("a file");
        fs::write(from.join("train_sets/shared.csv"), csv).expect("a file");
    }
    import::<VisionSelection>(&from, &frozen, &Silent).expect("imported");
    let bucket = DirectoryBucket::new(&frozen);
    let dataset = pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Digests));
    let dataset: Dataset<VisionSelection> = dataset.expect("a data set");
    let exported = fs::read(frozen.join("public/train_sets/a_few.json")).expect("an artifact");
    assert_eq!(
        serde_json::from_slice::<Value>(&exported).expect("json"),
        artifact
    );
    for name in ["a_few", "shared"] {
        let exported = fs::read(frozen.join(format!("public/train_sets/{name}.json")));
        let verdict = judge(&dataset, &exported.expect("an artifact"));
        assert_eq!(verdict.status, Ending::Scored, "{name}: {:?}", verdict.reasons);
    }
}

#[test]
fn training_sets_of_another_form_are_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let from = directory.path().join("from");
    vision_layout(&from);
    for (name, csv) in [
        ("3_lonely", "ImageID,Confidence\na,1\n"),
        ("shared", "ImageID,Confidence\na,2\na\nb,0\nb,1\n"),
        ("headless", "a,1\n"),
    ] {
        fs::write(from.join(format!("train_sets/{name}.csv")), csv).expect("a file");
    }
    fs::write(from.join("train_sets/3_shared.csv"), "ImageID,Confidence\n").expect("a file");
    let problems = match import::<VisionSelection>(&from, &directory.path().join("out"), &Silent) {
        Err(ImportError::Refused { problems, .. }) => problems.join("\n"),
        other => panic!("{other:?}"),
    };
    for problem in [
        "`shared` in `train_sets` is there as `shared.csv` and as files of concepts",
        "the training set `lonely` in `train_sets` lacks `5_lonely.csv`, `8_lonely.csv`",
        "shared.csv line 2`: the label is",
        "shared.csv line 3`: the line is not",
        "headless.csv line 1`: the first line",
    ] {
        assert!(problems.contains(problem), "{problem} is not in {problems}");
    }
}

#[test]
fn participants_get_summaries_and_nothing_hidden() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (frozen, public) = (directory.path().join("frozen"), directory.path().join("public"));
    let dataset = imported::<DataAcquisition>(&frozen);
    let exported = export_kit::<DataAcquisition>(&frozen, dataset.manifest(), &[], &public)
        .expect("exported")
        .files;
    let is_summary = |path: &&String| {
        Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "json")
    };
    assert_eq!(exported.iter().filter(is_summary).count(), 5 * (8 + 1));
    let others: Vec<&String> = exported.iter().filter(|path| !is_summary(path)).collect();
    let expected = [
        "README.md",
        "data/sellers.csv",
        "data/sellers.npy",
        "data/sellers.parquet",
        "notebook.ipynb",
        "starter.py",
    ];
    assert_eq!(others, expected);
    let summary = fs::read(public.join("public/0/3.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("json");
    assert_eq!(summary["n_columns"], 65);
    assert_eq!(
        summary["features"]["histogram"].as_array().map(Vec::len),
        Some(64)
    );
    assert_eq!(summary["samples"].as_array().map(Vec::len), Some(5));
    let other = imported::<VisionSelection>(&directory.path().join("other"));
    assert!(matches!(
        export_kit::<VisionSelection>(&directory.path().join("other"), other.manifest(), &[], &public),
        Err(ImportError::Occupied(_))
    ));
    // what somebody has changed stays, and what is missing comes back
    fs::write(public.join("starter.py"), "mine").expect("written");
    fs::remove_file(public.join("README.md")).expect("removed");
    export_kit::<DataAcquisition>(&frozen, dataset.manifest(), &[], &public).expect("again");
    assert_eq!(fs::read(public.join("starter.py")).expect("there"), b"mine");
    assert!(public.join("README.md").exists());
}

/// Records distinguish two ids with one fingerprint; this test searches for an id that hits a
/// fingerprint of the pool without being in it.
#[test]
fn an_id_sharing_only_a_fingerprint_is_unknown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = imported::<VisionSelection>(&directory.path().join("frozen"));
    let frozen = pollster::block_on(dataset.frozen("open")).expect("the frozen part");
    // 1587 of 4 billion fingerprints: an impostor comes after some millions of tries
    let impostor = (0..u64::from(u32::MAX))
        .map(|k| format!("{k:x}"))
        .find(|id| !frozen.pool().candidates(id).is_empty())
        .expect("one");
    let artifact = format!(r#"{{"3": {{"{impostor}": 1}}, "5": {{"{impostor}": 1}}, "8": {{}}}}"#);
    let verdict = judge(&dataset, artifact.as_bytes());
    let unknown = verdict
        .reasons
        .iter()
        .filter(|reason| reason.code == "unknown_image");
    assert_eq!(
        unknown.map(|reason| reason.at.as_str()).collect::<Vec<_>>(),
        [format!("/3/{impostor}"), format!("/5/{impostor}")]
    );
}

#[test]
fn two_equivalent_files_are_ambiguous() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let from = directory.path().join("from");
    let out = directory.path().join("out");
    vision_layout(&from);
    let tests = from.join("test_sets");
    let test = fs::read_dir(&tests)
        .expect("a directory")
        .next()
        .expect("one")
        .expect("an entry");
    let name = test.file_name().to_string_lossy().into_owned();
    let (concept, _) = name.rsplit_once('_').expect("a width");
    fs::copy(test.path(), tests.join(format!("{concept}_1.parquet"))).expect("copied");
    let error = import::<VisionSelection>(&from, &out, &Silent).expect_err("refused");
    assert!(
        format!("{error:?}").contains("has more than one file of"),
        "{error:?}"
    );
    let features = from.join("features/0");
    fs::create_dir_all(&features).expect("a directory");
    for name in ["0.csv", "00.csv"] {
        fs::write(features.join(name), "0.5,1\n").expect("a file");
    }
    let error = import::<DataAcquisition>(&from, &out, &Silent).expect_err("refused");
    assert!(
        format!("{error:?}").contains("`0.csv` and `00.csv` are both number 0"),
        "{error:?}"
    );
    assert!(!out.exists());
}

#[test]
fn another_import_repairs_damaged_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let frozen = directory.path().join("frozen");
    let dataset = imported::<VisionSelection>(&frozen);
    let files: Vec<&String> = dataset.manifest().files.keys().collect();
    let before: Vec<Vec<u8>> = files
        .iter()
        .map(|path| fs::read(frozen.join(path)).expect("a file"))
        .collect();
    let mut damaged = before[0].clone();
    damaged[0] ^= 1;
    fs::write(frozen.join(files[0]), damaged).expect("a file");
    fs::remove_file(frozen.join(files[1])).expect("a file");
    let kit = directory.path().join("public");
    assert!(export_kit::<VisionSelection>(&frozen, dataset.manifest(), &[], &kit).is_err());
    assert!(!directory.path().join("public").exists(), "all or nothing");
    import::<VisionSelection>(&demo("vision-selection"), &frozen, &Silent).expect("imported again");
    for (path, before) in files.iter().zip(before) {
        assert!(fs::read(frozen.join(path)).expect("a file") == before, "{path}");
    }
}

/// A bit of a page's header for which the library that reads parquet panics.
#[test]
fn a_damaged_pool_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let from = directory.path().join("from");
    vision_layout(&from);
    let pool = from.join("embeddings/train_emb_64_dataperf.parquet");
    let mut bytes = fs::read(&pool).expect("the demo's pool");
    bytes[58_439] = 1;
    fs::write(&pool, bytes).expect("a file");
    let error =
        import::<VisionSelection>(&from, &directory.path().join("out"), &Silent).expect_err("refused");
    assert!(
        error.to_string().contains("train_emb_64_dataperf.parquet"),
        "{error}"
    );
}

#[test]
fn an_import_names_every_problem() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let from = directory.path().join("from");
    for (path, text) in [
        ("features/0/0.csv", "0.5,1.5,1\n0.5,oops,0\n0.5,1.5,2\n0.5,1\n"),
        ("features/0/1.csv", "0.5,nan,1\n"),
        ("marketinfo/0/price/price.txt", "Lin,100\nLog,5\n"),
        ("marketinfo/0/price/budget.txt", "150\n"),
        ("marketinfo/0/data_buyer/2.csv", "0.5,1.5,1\n"),
    ] {
        let path = from.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let problems = |from: &Path| match import::<DataAcquisition>(from, &directory.path().join("out"), &Silent)
    {
        Err(ImportError::Refused { problems, .. }) => problems.join("\n"),
        other => panic!("{other:?}"),
    };
    assert!(problems(&from).contains("price 2 is `Log,5`: it must be like `Lin,100`"));
    fs::write(from.join("marketinfo/0/price/price.txt"), "Lin,100\nLin,5\n").expect("a file");
    let text = problems(&from);
    for problem in [
        "row 2: column 2 is `oops`",
        "row 3: column 3 is `2`",
        "row 4: it has 2 columns",
        "1.csv`: row 1: column 2 is `nan`",
    ] {
        assert!(text.contains(problem), "{problem} is not in {text}");
    }
    assert!(!directory.path().join("out").exists());
}
