//! `curation`: the demo's contest, and training sets in Parquet files.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::evaluate::evaluate;
use dataperf_benchmarks::own_data::curation::numerals::write_contest;
use dataperf_benchmarks::own_data::curation::{Curation, Parameters, read_images, read_rows};
use dataperf_datasets::{DirectoryBucket, Import, Silent, export_kit, import};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../datasets/tests/fixtures/parquet/{name}.parquet"));
    fs::read(path).unwrap()
}

#[test]
fn the_demos_numerals_are_a_contest() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("frozen");
    write_contest(folder.path()).unwrap();
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let manifest = fs::read(out.join("manifest.json")).unwrap();
    let manifest = Manifest::parse(&manifest, "curation").unwrap();
    let parameters: Parameters = manifest.parameters().unwrap();
    assert_eq!(parameters.scoring.classes.len(), 10);
    let eval = manifest.any_tensor("eval.npy", "features").unwrap();
    assert_eq!(eval.shape, [520, 32 * 32]);
    let public = manifest.files.keys().filter(|path| path.starts_with("public/"));
    assert_eq!(
        public.collect::<Vec<_>>(),
        ["public/label_book.zip", "public/start.zip"]
    );
}

/// The images of the start set are in the kit as levels of grey, in the order of their names and labels.
#[test]
fn kit_images_become_a_table_of_levels() {
    let folder = tempfile::tempdir().unwrap();
    let [out, kit] = ["frozen", "kit"].map(|name| folder.path().join(name));
    write_contest(folder.path()).unwrap();
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let manifest = Manifest::parse(&fs::read(out.join("manifest.json")).unwrap(), "curation").unwrap();
    let files = export_kit::<Curation>(&out, &manifest, &[], &kit).unwrap().files;
    let data: Vec<&String> = files.iter().filter(|path| path.starts_with("data/")).collect();
    let endings = ["csv", "npy", "parquet"];
    let expected = ["label_book", "start"].map(|name| endings.map(|ending| format!("data/{name}.{ending}")));
    assert_eq!(data, expected.iter().flatten().collect::<Vec<_>>());

    let classes = manifest.parameters::<Parameters>().unwrap().scoring.classes;
    let zip = fs::read(kit.join("public/start.zip")).unwrap();
    let images = read_images(&zip, &classes, 32, 32).unwrap();
    let npy = fs::read(kit.join("data/start.npy")).unwrap();
    let shape = format!(
        "'|u1', 'fortran_order': False, 'shape': ({}, 1024)",
        images.names.len()
    );
    assert!(String::from_utf8_lossy(&npy[..128]).contains(&shape));
    assert_eq!(npy[128..], images.pixels);
    let csv = fs::read_to_string(kit.join("data/start.csv")).unwrap();
    let row = |(name, class): (&String, &usize)| format!("{name},{}", classes[*class]);
    let rows: Vec<String> = images.names.iter().zip(&images.classes).map(row).collect();
    assert_eq!(csv.lines().skip(1).collect::<Vec<_>>(), rows);
}

/// Data that are too hard for a linear support vector classifier in a trial; the start set is not.
#[test]
fn the_hardest_set_obeys_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let task = "schema: 1\ntask: curation\ntitle: Two classes\nunit: rows\nleaderboards: [{name: rows, max_examples: 300}]\n\
        classes: [a, b]\nstart: start.csv\neval: eval.csv\nmodel: {kind: svc, kernel: linear}\nmetric: accuracy\n";
    fs::write(folder.path().join("task.yaml"), task).unwrap();
    fs::write(
        folder.path().join("start.csv"),
        "label,x,y\na,1,2\nb,2,1\na,1,3\nb,3,1\n",
    )
    .unwrap();
    fs::write(folder.path().join("eval.csv"), "label,x,y\na,1,4\nb,4,1\n").unwrap();
    let out = folder.path().join("frozen");
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let dataset = Dataset::<Curation>::open(
        DirectoryBucket::new(&out),
        String::new(),
        None,
        Integrity::Digests,
    );
    let dataset = pollster::block_on(dataset).unwrap();
    let largest = pollster::block_on(Curation::largest_artifact(&dataset, "rows"))
        .unwrap()
        .unwrap();
    let hardest = pollster::block_on(Curation::hardest_artifact(&dataset, "rows"))
        .unwrap()
        .unwrap();
    assert_eq!(read_rows(&hardest, &[]).unwrap().rows.len(), 300);
    let verdict = |artifact: &[u8]| pollster::block_on(evaluate(&dataset, "rows", artifact)).unwrap();
    assert!(verdict(&largest).score.is_some());
    let codes: Vec<String> = verdict(&hardest)
        .reasons
        .into_iter()
        .map(|reason| reason.code)
        .collect();
    assert_eq!(codes, ["not_fitted"]);
}

/// The numbers that pandas has stored, to the bit: as 64-bit floats, in the order of the file, and without the index.
#[test]
fn parquet_equals_a_csv_with_the_same_numbers() {
    let csv = Curation::artifact_of("curated.parquet", fixture("curated")).unwrap();
    assert!(
        csv.starts_with(b"label,x,y,n,u\n"),
        "{}",
        String::from_utf8_lossy(&csv)
    );
    let rows = read_rows(&csv, &[]).unwrap().rows;
    let labels: Vec<&str> = rows.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["b", "a", "b, with a comma"]);
    let numbers: Vec<Vec<f64>> = rows.into_iter().map(|(_, numbers)| numbers).collect();
    let two = |power: i32| 2f64.powi(power);
    assert_eq!(
        numbers,
        [
            vec![f64::from(0.1f32), 0.1, two(53) + 2.0, two(64)],
            vec![-1.5, 1e300, -7.0, 3.0],
            vec![f64::from(3e-8f32), 5e-324, 0.0, two(63)],
        ]
    );
    let same = Curation::artifact_of("set.csv", csv.clone()).unwrap();
    assert_eq!(same, csv, "other files are what they are");
}

#[test]
fn parquet_with_other_columns_is_refused() {
    let message = |name: &str| {
        let refused = Curation::artifact_of(name, fixture(name)).expect_err("refused");
        refused.join("; ")
    };
    for (name, expected) in [
        ("curated_null", "a `y` is null: fill it in"),
        ("curated_alone", "it has no column of numbers beside `label`"),
        (
            "plain",
            "it has no column `label`, only `ImageID`, `embedding`, `Confidence`",
        ),
    ] {
        assert!(message(name).contains(expected), "{}", message(name));
    }
    let text = message("curated_text");
    assert!(text.contains("the column `x` is texts, not numbers"), "{text}");
    let whole = fixture("curated");
    for n in 4..whole.len() {
        assert!(
            Curation::artifact_of("cut", whole[..n].to_vec()).is_err(),
            "{n} bytes"
        );
    }
}

#[test]
fn a_parquet_start_set_is_frozen_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write(
        "task.yaml",
        b"schema: 1\ntask: curation\ntitle: A set\nleaderboards: [{name: board}]\n\
        classes: [a, b, \"b, with a comma\"]\nstart: start.parquet\n\
        eval: {features: eval.csv, examples: eval.csv}\nmodel: nearest_centroid\nmetric: accuracy\n",
    );
    write("start.parquet", &fixture("curated"));
    write(
        "eval.csv",
        b"label,x,y,n,u\na,1,2,3,4\nb,2,3,4,5\n\"b, with a comma\",1,1,1,1\n",
    );
    let out = folder.path().join("frozen");
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let start = fs::read(out.join("public/start.csv")).unwrap();
    assert_eq!(
        start,
        Curation::artifact_of("start.parquet", fixture("curated")).unwrap()
    );
}

/// A contest on rows or on images with a practice set of its own.
fn refused(files: &[(&str, &[u8])]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let out = folder.path().join("frozen");
    let error = import::<Curation>(folder.path(), &out, &Silent).expect_err("refused");
    assert!(!out.exists(), "nothing is written");
    error.to_string()
}

const ROWS: &str = "schema: 1\ntask: curation\ntitle: A set\nleaderboards: [{name: board}]\nclasses: [a, b]\nstart: start.csv\n\
    eval: {features: eval.csv, examples: eval.csv}\npublic_eval: {features: public.csv, examples: public.csv}\n\
    model: nearest_centroid\nmetric: accuracy\n";

#[test]
fn a_contest_on_tables_has_an_eval_set() {
    let without = ROWS.replace("eval: {features: eval.csv, examples: eval.csv}\n", "");
    let output = refused(&[
        ("task.yaml", without.as_bytes()),
        ("start.csv", b"label,x\na,1\nb,9\n"),
        ("public.csv", b"label,x\na,2\nb,8\n"),
    ]);
    assert!(output.contains("`eval` is missing"), "{output}");
}

#[test]
fn submitters_must_fix_numbers_too_large_for_trees() {
    let folder = tempfile::tempdir().unwrap();
    let document = ROWS
        .replace("public_eval: {features: public.csv, examples: public.csv}\n", "")
        .replace("nearest_centroid", "{kind: gradient_boosting}");
    for (name, text) in [
        ("task.yaml", document.as_str()),
        ("start.csv", "label,x\na,1\nb,9\n"),
        ("eval.csv", "label,x\na,2\nb,8\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let out = folder.path().join("frozen");
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let dataset = Dataset::<Curation>::open(
        DirectoryBucket::new(&out),
        String::new(),
        None,
        Integrity::Digests,
    );
    let dataset = pollster::block_on(dataset).unwrap();
    let artifact = b"label,x\na,1e39\na,0\nb,1\nb,2\n";
    let verdict = pollster::block_on(evaluate(&dataset, "board", artifact)).unwrap();
    let codes: Vec<(&str, &str)> = verdict
        .reasons
        .iter()
        .map(|reason| (reason.code.as_str(), reason.at.as_str()))
        .collect();
    assert_eq!(codes, [("number_too_large", "line 2")]);
}

#[test]
fn models_too_small_for_a_board_are_refused() {
    let document = ROWS
        .replace("public_eval: {features: public.csv, examples: public.csv}\n", "")
        .replace("nearest_centroid", "{kind: soft_voting}\nseeds: [1]");
    let rows: &[(&str, &[u8])] = &[
        ("start.csv", b"label,x\na,1\nb,9\n"),
        ("eval.csv", b"label,x\na,2\nb,8\n"),
    ];
    let refuse = |document: &str| refused(&[rows, &[("task.yaml", document.as_bytes())]].concat());
    let more = document.replace("{name: board}", "{name: board, max_examples: 8193}");
    let message = refuse(&more);
    assert!(
        message.contains("`board` allows 8193 examples, and the model can't be trained on as many"),
        "{message}"
    );
    // as many as it can be trained on by default, and where as many don't fit into the bytes
    for message in [
        "",
        ", max_examples: 8192",
        ", max_examples: 9000, max_bytes: 1000",
    ] {
        let board = format!("{{name: board{message}, abut: x}}");
        let message = refuse(&document.replace("{name: board}", &board));
        assert!(
            message.contains("`abut`") && !message.contains("can't be trained"),
            "{message}"
        );
    }
}

#[test]
fn classes_may_differ_in_letter_case_alone() {
    let png = |level: u8| {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(png::ColorType::Grayscale);
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&[level])
            .unwrap();
        bytes
    };
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, level) in [("a/1.png", 1), ("A/1.png", 2), ("a/I.png", 3), ("a/i.png", 4)] {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        std::io::Write::write_all(&mut zip, &png(level)).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    let images = read_images(&zip, &["a".into(), "A".into()], 1, 1).unwrap();
    assert_eq!(images.pixels.len(), 4);
    assert_eq!(images.classes.iter().filter(|&&class| class == 1).count(), 1);
}

#[test]
fn practice_sets_containing_hidden_items_are_refused() {
    let (start, eval) = (b"label,x\na,1\nb,9\n", b"label,x\na,2\nb,8\n");
    let rows_in = |public: &[u8]| {
        refused(&[
            ("task.yaml", ROWS.as_bytes()),
            ("start.csv", start),
            ("eval.csv", eval),
            ("public.csv", public),
        ])
    };
    let same = rows_in(b"label,x\nb,8\na,3\n");
    assert!(
        same.contains("`eval.csv`") && same.contains("allow_duplicates"),
        "{same}"
    );
    let wider = rows_in(b"label,x,y\na,3,1\nb,7,1\n");
    assert!(wider.contains("`eval.csv` has no `y`"), "{wider}");

    let folder = tempfile::tempdir().unwrap();
    write_contest(folder.path()).unwrap();
    let eval = fs::read(folder.path().join("eval.zip")).unwrap();
    fs::write(folder.path().join("public.zip"), &eval).unwrap();
    let path = folder.path().join("task.yaml");
    let document = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{document}\npublic_eval: public.zip\n")).unwrap();
    let error =
        import::<Curation>(folder.path(), &folder.path().join("frozen"), &Silent).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("of `public.zip` are also in `eval.zip`"),
        "{error}"
    );
}

#[test]
fn a_start_set_in_another_form_is_refused() {
    let document = ROWS
        .replace(
            "start: start.csv",
            "start: {features: start.csv, examples: start.csv}",
        )
        .replace("public_eval: {features: public.csv, examples: public.csv}\n", "");
    let rows = b"label,x\na,1\nb,9\n";
    let output = refused(&[
        ("task.yaml", document.as_bytes()),
        ("start.csv", rows),
        ("eval.csv", b"label,x\na,2\nb,8\n"),
    ]);
    assert!(output.contains("`start`"), "{output}");
}

/// The verdict of a board on rows with these limits.
fn judged(limits: &str, artifact: &str) -> dataperf::Verdict {
    let folder = tempfile::tempdir().unwrap();
    let document = ROWS
        .replace("public_eval: {features: public.csv, examples: public.csv}\n", "")
        .replace("{name: board}", &format!("{{name: board, {limits}}}"));
    for (name, text) in [
        ("task.yaml", document.as_str()),
        ("start.csv", "label,x\na,1\nb,9\n"),
        ("eval.csv", "label,x\na,2\nb,8\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let out = folder.path().join("frozen");
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let bucket = DirectoryBucket::new(&out);
    let dataset = Dataset::<Curation>::open(bucket, String::new(), None, Integrity::Digests);
    let dataset = pollster::block_on(dataset).unwrap();
    pollster::block_on(evaluate(&dataset, "board", artifact.as_bytes())).unwrap()
}

#[test]
fn a_too_large_file_is_not_parsed() {
    let verdict = judged("max_bytes: 100", &format!("label,x\n{}", "c,?\n".repeat(100)));
    let [reason] = &verdict.reasons[..] else {
        panic!("{verdict:?}")
    };
    assert_eq!(
        (reason.code.as_str(), reason.limit, reason.actual),
        ("too_large", Some(100), Some(408))
    );
}

#[test]
fn rows_far_beyond_a_limit_are_counted_alone() {
    let verdict = judged("max_examples: 5", &format!("label,x\n{}", "c,1\n".repeat(1_000)));
    let first = &verdict.reasons[0];
    assert_eq!(
        (first.code.as_str(), first.actual),
        ("too_many_examples", Some(1_000))
    );
    assert_eq!(verdict.n_reasons, Some(1 + 5 + 200));
}

/// A contest on rows with these tables, its frozen start set, and a judge of artifacts.
fn contest_on_rows(start: &str, eval: &str) -> (String, impl Fn(&str) -> dataperf::Verdict + use<>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "task.yaml",
        "schema: 1\ntask: curation\ntitle: A set\nleaderboards: [{name: board}]\nclasses: [a, b]\nstart: start.csv\n\
         eval: eval.csv\nmodel: nearest_centroid\nmetric: accuracy\n",
    );
    write("start.csv", start);
    write("eval.csv", eval);
    let out = folder.path().join("frozen");
    import::<Curation>(folder.path(), &out, &Silent).unwrap();
    let start = fs::read_to_string(out.join("public/start.csv")).unwrap();
    let bucket = DirectoryBucket::new(&out);
    let dataset = Dataset::<Curation>::open(bucket, String::new(), None, Integrity::Digests);
    let dataset = pollster::block_on(dataset).unwrap();
    let judge = move |artifact: &str| {
        assert!(folder.path().exists(), "the data set's files");
        pollster::block_on(evaluate(&dataset, "board", artifact.as_bytes())).unwrap()
    };
    (start, judge)
}

/// The codes of a rejection.
fn codes(verdict: dataperf::Verdict) -> Vec<String> {
    verdict.reasons.into_iter().map(|reason| reason.code).collect()
}

#[test]
fn columns_of_artifacts_are_matched_by_name() {
    let (start, verdict) = contest_on_rows(
        "weight,label,age\n9,a,0\n1,b,5\n",
        "label,age,weight\na,0.5,9\nb,5.5,1\na,0.25,9.5\n",
    );
    assert_eq!(start, "label,age,weight\na,0,9\nb,5,1\n");
    for artifact in [
        "label,age,weight\na,0,9\nb,5,1\n",
        "weight,age,label\n9,0,a\n1,5,b\n",
        "label;age;weight\na;0;9\nb;5;1\n",
        "label,f0,f1\na,0,9\nb,5,1\n",
        "label,f1,f0\na,9,0\nb,1,5\n",
        "id,label,age,weight\nx,a,0,9\ny,b,5,1\n",
    ] {
        assert_eq!(verdict(artifact).score, Some(1.0), "{artifact}");
    }
    for (artifact, code) in [
        ("label,age,height\na,0,9\nb,5,1\n", "missing_column"),
        ("label,age,weight,height\na,0,9,1\nb,5,1,1\n", "unknown_column"),
        ("label,age,weight,age\na,0,9,1\nb,5,1,1\n", "duplicate_column"),
        ("label,age,weight,label\na,0,9,b\nb,5,1,a\n", "duplicate_column"),
    ] {
        let codes = codes(verdict(artifact));
        assert!(codes.contains(&code.to_owned()), "{artifact}: {codes:?}");
    }
}

#[test]
fn counted_columns_have_an_order_of_their_own() {
    let eval = "label,f0,f1\na,0.5,9\nb,5.5,1\na,0.25,9.5\n";
    let (start, verdict) = contest_on_rows("label,f1,f0\na,9,0\nb,1,5\n", eval);
    assert_eq!(start, "label,f0,f1\na,0,9\nb,5,1\n");
    for artifact in [
        "label,f0,f1\na,0,9\nb,5,1\n",
        "f1,label,f0\n9,a,0\n1,b,5\n",
        "label,1,0\na,9,0\nb,1,5\n",
    ] {
        assert_eq!(verdict(artifact).score, Some(1.0), "{artifact}");
    }
}

#[test]
fn columns_are_matched_with_the_start_sets_where_the_test_set_has_no_names() {
    let eval = "label,0,1\na,0.5,9\nb,5.5,1\na,0.25,9.5\n";
    let (_, verdict) = contest_on_rows("label,age,weight\na,0,9\nb,5,1\n", eval);
    for artifact in [
        "label,age,weight\na,0,9\nb,5,1\n",
        "weight,age,label\n9,0,a\n1,5,b\n",
        "label,f0,f1\na,0,9\nb,5,1\n",
    ] {
        assert_eq!(verdict(artifact).score, Some(1.0), "{artifact}");
    }
    let unknown = codes(verdict("label,age,height\na,0,9\nb,5,1\n"));
    assert_eq!(unknown, ["missing_column", "unknown_column"]);
}

#[test]
fn columns_may_have_truth_values() {
    let eval = "label,tall,x\na,False,0\nb,True,1\n";
    let (_, verdict) = contest_on_rows("label,tall,x\na,false,0.5\nb,true,2\n", eval);
    assert_eq!(verdict("label,tall,x\na,FALSE,0\nb,True,1\n").score, Some(1.0));
}
