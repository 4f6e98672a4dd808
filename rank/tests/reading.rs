//! Results in every form, and what is wrong with them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't be set up fails"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataperf_rank::{Layout, Missing, Options, Problems, Table, read};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

fn try_read(files: &[(&str, &str)], options: &Options) -> Result<Table, Problems> {
    let folder = folder(files);
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
    read(&paths, options)
}

fn problems(files: &[(&str, &str)], options: &Options) -> String {
    try_read(files, options).expect_err("it is refused").to_string()
}

fn named(item: &str, system: &str, value: &str) -> Options {
    Options {
        item: Some(item.into()),
        system: Some(system.into()),
        value: Some(value.into()),
        ..Options::default()
    }
}

const WIDE: &str = "id,a,b\nq2,1,0.5\nq1,0,1\n";

fn expected() -> Table {
    Table {
        items: vec!["q1".into(), "q2".into()],
        systems: vec!["a".into(), "b".into()],
        values: vec![vec![0.0, 1.0], vec![1.0, 0.5]],
        clusters: None,
        weights: None,
        notes: Vec::new(),
    }
}

#[test]
fn every_form_gives_the_same_table() {
    let plain = Options::default();
    let table = |name: &str, text: &str| {
        try_read(&[(name, text)], &plain).unwrap_or_else(|why| panic!("{name}: {why}"))
    };
    assert_eq!(table("wide.csv", WIDE), expected());
    assert_eq!(table("wide.tsv", &WIDE.replace(',', "\t")), expected());
    assert_eq!(table("bom.csv", &format!("\u{feff}{WIDE}")), expected());
    let long = "item,system,score,day\nq1,a,false,1\nq1,b,true,1\nq2,a,Right,2\nq2,b,0.5,2\n";
    assert_eq!(table("long.csv", long), expected());
    assert_eq!(table("systems.csv", "model,q1,q2\na,0,1\nb,1,0.5\n"), expected());
    let lines = "{\"id\": \"q2\", \"a\": true, \"b\": 0.5}\n\n{\"b\": 1, \"id\": \"q1\", \"a\": 0}\n";
    assert_eq!(table("wide.jsonl", lines), expected());
    let other = "question,model,right\nq1,a,0\nq1,b,1\nq2,a,1\nq2,b,0.5\n";
    let read = try_read(&[("other.csv", other)], &named("question", "model", "right"));
    assert_eq!(read.expect("the columns are named"), expected());
    // two files, each with one system
    let halves = [("a.csv", "id,a\nq1,0\nq2,1\n"), ("b.csv", "id,b\nq2,0.5\nq1,1\n")];
    assert_eq!(try_read(&halves, &plain).expect("two files"), expected());
}

/// A long table in Parquet; a value that is not there is null.
fn write_parquet(path: &Path, rows: &[(&str, &str, Option<f64>)]) {
    let schema = "message rows { required binary item (UTF8); optional binary system (UTF8); optional double value; \
                  optional group nested (LIST) { repeated group list { optional int32 element; } } }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let file = fs::File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).expect("a writer");
    for rows in rows.chunks(3) {
        let mut group = writer.next_row_group().expect("a group");
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let mut column = group.next_column().expect("valid").expect("a column");
        let items: Vec<ByteArray> = rows.iter().map(|row| text(row.0)).collect();
        column
            .typed::<ByteArrayType>()
            .write_batch(&items, None, None)
            .expect("items");
        column.close().expect("closed");
        let mut column = group.next_column().expect("valid").expect("a column");
        let systems: Vec<ByteArray> = rows.iter().map(|row| text(row.1)).collect();
        column
            .typed::<ByteArrayType>()
            .write_batch(&systems, Some(&vec![1; rows.len()]), None)
            .expect("systems");
        column.close().expect("closed");
        let mut column = group.next_column().expect("valid").expect("a column");
        let values: Vec<f64> = rows.iter().filter_map(|row| row.2).collect();
        let levels: Vec<i16> = rows.iter().map(|row| row.2.is_some().into()).collect();
        column
            .typed::<DoubleType>()
            .write_batch(&values, Some(&levels), None)
            .expect("values");
        column.close().expect("closed");
        let mut column = group.next_column().expect("valid").expect("a column");
        let none = vec![0; rows.len()];
        column
            .typed::<parquet::data_type::Int32Type>()
            .write_batch(&[], Some(&none), Some(&none))
            .expect("lists");
        column.close().expect("closed");
        group.close().expect("closed");
    }
    writer.close().expect("closed");
}

#[test]
fn parquet_is_read_with_its_nulls() {
    let folder = folder(&[]);
    let path = folder.path().join("long.parquet");
    let rows = [
        ("q1", "a", Some(0.0)),
        ("q1", "b", Some(1.0)),
        ("q2", "a", Some(1.0)),
        ("q2", "b", Some(0.5)),
    ];
    write_parquet(&path, &rows);
    assert_eq!(
        read(std::slice::from_ref(&path), &Options::default()).expect("a table"),
        expected()
    );
    let gaps = [rows[0], rows[1], ("q2", "a", None), rows[3]];
    write_parquet(&path, &gaps);
    let refused = read(&[path], &Options::default())
        .expect_err("a value is missing")
        .to_string();
    assert!(refused.contains("`a` lacks 1 of 2: `q2`"), "{refused}");
}

#[test]
fn clusters_and_weights_come_with_items() {
    let text = "id,cluster,a,weight,b\nq1,y,0,2,1\nq2,x,1,0.5,0.5\nq3,y,1,1,1\n";
    let table = try_read(
        &[("t.csv", text)],
        &Options {
            keeps_odd: true,
            ..Options::default()
        },
    )
    .expect("a table");
    assert_eq!(
        (table.clusters, table.weights),
        (Some(vec![0, 1, 0]), Some(vec![2.0, 0.5, 1.0]))
    );
    let text = "id,cluster,a,weight,b\nq1,y,0,0,1\nq2,,1,x,0.5\n";
    let refused = problems(&[("t.csv", text)], &Options::default());
    for part in [
        "weights are not above 0 (`q1`: 0)",
        "weights are not numbers (`x` in line 3",
        "some items have a cluster",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn samples_of_lm_evaluation_harness_are_read() {
    let line = |id: u32, filter: &str, value: f64, hash: &str| {
        format!(
            "{{\"doc_id\": {id}, \"doc\": {{\"question\": \"?\"}}, \"resps\": [[\"4\"]], \"filtered_resps\": [\"4\"], \"filter\": \"{filter}\", \
             \"metrics\": [\"exact_match\"], \"doc_hash\": \"{hash}\", \"exact_match\": {value}}}\n"
        )
    };
    let log = |values: [f64; 2], hash: &str| {
        line(0, "strict", values[0], "h0")
            + &line(0, "flexible", 1.0, "h0")
            + &line(1, "strict", values[1], hash)
    };
    let (first, second) = (log([0.0, 1.0], "h1"), log([1.0, 0.5], "h1"));
    let name = |model: &str| format!("out/{model}/samples_gsm8k_2026-01-02T03-04-05.67.jsonl");
    let (a, b) = (name("a"), name("b"));
    let files = [(&*a, &*first), (&*b, &*second), ("out/a/results_2026.json", "{}")];
    let folder = folder(&files);
    let out = [folder.path().join("out")];
    let strict = Options {
        filter: Some("strict".into()),
        ..Options::default()
    };
    let table = read(&out, &strict).expect("two logs");
    assert_eq!(table.items, ["gsm8k/0", "gsm8k/1"]);
    assert_eq!(
        (table.systems, table.values),
        (expected().systems, expected().values)
    );
    let refused = read(&out, &Options::default())
        .expect_err("two filters")
        .to_string();
    assert!(
        refused.contains("several filters (`strict`, `flexible`): choose one with `--filter`"),
        "{refused}"
    );
    let metric = Options {
        metric: Some("acc".into()),
        ..strict.clone()
    };
    let refused = read(&out, &metric).expect_err("no such metric").to_string();
    assert!(
        refused.contains("no number of the metric `acc`") && refused.contains("`exact_match`"),
        "{refused}"
    );
    let changed = log([1.0, 0.5], "other");
    let refused = problems(&[(&a, &first), (&b, &changed)], &strict);
    assert!(
        refused.contains("different content under the same id") && refused.contains("`gsm8k/1`"),
        "{refused}"
    );
}

#[test]
fn resolved_instances_of_swe_bench_are_read() {
    let listed = r#"{"no_generation": ["q3"], "no_logs": [], "resolved": ["q2"]}"#;
    let details =
        r#"{"q1": {"cost": 1, "resolved": true}, "q2": {"resolved": false}, "q3": {"resolved": false}}"#;
    let files = [
        ("verified/a/results/results.json", listed),
        ("verified/a/results/resolved_by_repo.json", "{}"),
        ("verified/b/per_instance_details.json", details),
        ("verified/b/results.json", r#"{"resolved": ["q1", "q2", "q3"]}"#),
        ("ids.txt", "q1\nq2\nq3\nq4\n"),
    ];
    let folder = folder(&files);
    let verified = [folder.path().join("verified")];
    let table = read(&verified, &Options::default()).expect("two submissions");
    assert_eq!(
        (&table.items[..], &table.systems),
        (&["q1", "q2", "q3"].map(String::from)[..], &expected().systems)
    );
    assert_eq!(table.values, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]);
    assert!(
        table.notes[0].contains("the items are the 3 instances"),
        "{:?}",
        table.notes
    );
    let all = Options {
        items: Some(folder.path().join("ids.txt")),
        ..Options::default()
    };
    let table = read(&verified, &all).expect("all instances");
    assert_eq!((table.items.len(), table.notes.len()), (4, 0));
}

#[test]
fn all_errors_are_reported_together() {
    let text = "id,level,a,b\nq1,easy,1,0\nq1,hard,0,1\nq2,hard,x,\nq3,easy,1,1,1\n";
    let refused = problems(&[("t.csv", text), ("none.csv", "")], &Options::default());
    let lines: Vec<&str> = refused.lines().collect();
    let expected = [
        "lines have not the 4 cells of the header (5 in line 5",
        "column `a` has values that are not numbers (`x` in line 4",
        "column `level` has values that are not numbers (`easy` in line 2",
        "ids are there more than once (`q1` in line 3",
    ];
    for part in expected {
        assert!(
            lines.iter().any(|line| line.starts_with(part)),
            "{part}: {refused}"
        );
    }
    let missing = problems(
        &[("t.csv", "id,a,b,c\nq1,1,0,1\nq2,0,,1\nq3,1,1,0\n")],
        &Options::default(),
    );
    assert_eq!(
        missing,
        "systems lack values of some items (`b` lacks 1 of 3: `q2`): complete the results; or `--missing drop-items` ranks by \
         the 2 items that all systems have, `--missing drop-systems` ranks the 2 systems that have all items, and `--missing \
         zero` counts what is missing as 0"
    );
    let other = problems(
        &[("a.csv", "id,a\nq1,1\n"), ("b.csv", "id,b\nQ1,1\n")],
        &Options::default(),
    );
    assert!(
        other.starts_with("no item has a value of every system") && other.contains("`Q1` of `b`"),
        "{other}"
    );
}

#[test]
fn missing_values_are_dropped_only_on_request() {
    let text = "id,a,b,c\nq1,1,0,1\nq2,0,,0\nq3,0,1,0\n";
    let read_with = |missing| {
        try_read(
            &[("t.csv", text)],
            &Options {
                missing,
                ..Options::default()
            },
        )
        .expect("a table")
    };
    let (items, systems, zero) = (
        read_with(Missing::DropItems),
        read_with(Missing::DropSystems),
        read_with(Missing::Zero),
    );
    assert_eq!((items.items.len(), items.systems.len()), (2, 3));
    assert_eq!((systems.items.len(), systems.systems.len()), (3, 2));
    assert_eq!(zero.values[1], [0.0, 0.0, 1.0]);
    for table in [items, systems, zero] {
        assert_eq!(table.notes.len(), 1, "what was done is said");
    }
}

#[test]
fn columns_that_are_no_systems_are_refused() {
    let text = "model,t1,t2,t3,t4,Max Tokens,Mean (Task),same\na,0.1,0.2,0.3,0.4,512,0.25,1\nb,0.2,0.3,0.4,0.3,8192,0.3,1\n";
    let refused = problems(&[("t.csv", text)], &Options::default());
    for part in [
        "`Max Tokens`: up to 8192",
        "summary of the others (`Mean (Task)`)",
        "values are all the same (`same`: 1)",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let ignored = ["Max Tokens", "Mean (Task)", "same"].map(String::from).to_vec();
    let options = Options {
        ignored,
        ..Options::default()
    };
    assert_eq!(
        try_read(&[("t.csv", text)], &options)
            .expect("a table")
            .items
            .len(),
        4
    );
    let kept = Options {
        keeps_odd: true,
        ..Options::default()
    };
    assert_eq!(
        try_read(&[("t.csv", text)], &kept).expect("a table").items.len(),
        7
    );
}

#[test]
fn wrong_files_and_columns_are_explained() {
    let refused = problems(&[("t.csv", WIDE)], &named("item", "a", "b"));
    assert!(
        refused.contains("`--item` names the column `item`, which does not exist: "),
        "{refused}"
    );
    let long = Options {
        layout: Some(Layout::Long),
        ..Options::default()
    };
    let refused = problems(&[("t.csv", WIDE)], &long);
    assert!(
        refused.contains("no column is known to hold the system"),
        "{refused}"
    );
    let refused = problems(
        &[
            ("t.xlsx", ""),
            ("t.json", "[]"),
            ("t.parquet", "PAR1"),
            ("t.jsonl", "[1]\n"),
        ],
        &long,
    );
    for part in [
        "`.csv`, `.tsv`, `.parquet`",
        "not a list of resolved instances",
        "t.parquet",
        "lines are not JSON objects",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let one = problems(&[("t.csv", "id,a\nq1,1\nq2,0\n")], &Options::default());
    assert!(one.contains("nothing to compare: 2 items of 1 systems"), "{one}");
    let nowhere = read(&["/no/such.csv".into()], &Options::default())
        .expect_err("it is missing")
        .to_string();
    assert!(nowhere.contains("can't read `/no/such.csv`"), "{nowhere}");
}

#[test]
fn large_results_are_refused_with_the_limit() {
    let folder = folder(&[]);
    let path = folder.path().join("big.csv");
    let file = fs::File::create(&path).expect("a file");
    file.set_len(10 << 30).expect("a file with a hole");
    let refused = read(&[path], &Options::default())
        .expect_err("it is too large")
        .to_string();
    assert!(
        refused.starts_with("there are 10.0 GiB to read, and 4 GiB are the most"),
        "{refused}"
    );
    let header: Vec<String> = (0..10_001).map(|n| format!("s{n}")).collect();
    let wide = format!("id,{}\n", header.join(","));
    let refused = problems(&[("wide.csv", &wide)], &Options::default());
    assert!(refused.contains("more than 10000 systems"), "{refused}");
}

#[test]
fn the_index_of_pandas_is_left_out() {
    let plain = Options::default();
    let first = "the first column, which has no name, counts the rows";
    for (text, note) in [
        (",id,a,b\n0,q2,1,0.5\n1,q1,0,1\n", first),
        (",model,q1,q2\n0,a,0,1\n1,b,1,0.5\n", first),
        (
            "Unnamed: 0,id,a,b\n0,q2,1,0.5\n1,q1,0,1\n",
            "the column `Unnamed: 0` counts",
        ),
    ] {
        let table = try_read(&[("t.csv", text)], &plain).expect("an index is no system");
        assert_eq!(
            Table {
                notes: Vec::new(),
                ..table.clone()
            },
            expected()
        );
        assert!(
            table.notes.len() == 1 && table.notes[0].starts_with(note),
            "{:?}",
            table.notes
        );
    }
    // ids without a name are ids
    assert_eq!(
        try_read(&[("t.csv", ",a,b\nq2,1,0.5\nq1,0,1\n")], &plain).expect("ids"),
        expected()
    );
    for (text, place) in [
        (",id,a,b\n3,q2,1,0.5\n1,q1,0,1\n", "column 1"),
        ("id,a,b,,\nq2,1,0.5,,\nq1,0,1,,\n", "column 4, column 5"),
        ("a,b,\n1,0.5,2\n0,1,1041\n", "column 3"),
    ] {
        let refused = problems(&[("t.csv", text)], &plain);
        let whole = format!(
            "columns have no name ({place}): give each a name in the first line, or remove it from the file"
        );
        assert_eq!(refused, whole);
    }
}

#[test]
fn a_system_is_not_taken_for_ids() {
    let plain = Options::default();
    let table =
        |text: &str| try_read(&[("t.csv", text)], &plain).unwrap_or_else(|why| panic!("{text}: {why}"));
    for text in [
        "a,b\n0.5,0.25\n0.75,1\n",
        "a,b\ntrue,1\nfalse,0\n",
        ",a,b\n0,0.5,1\n1,0.25,0\n",
    ] {
        let read = table(text);
        assert_eq!(
            (&read.items[..], &read.systems),
            (&["1", "2"].map(String::from)[..], &expected().systems)
        );
        let note = read.notes.last().expect("a note");
        assert!(note.contains("each row is an item by its number"), "{note}");
    }
    for text in ["a,b,qid\n1,0.5,2\n0,1,1041\n", "a,b,question\n1,0.5,x\n0,1,y\n"] {
        let read = table(text);
        assert_eq!(read.systems, expected().systems);
        assert!(
            read.notes[0].contains("the items' ids are taken from"),
            "{:?}",
            read.notes
        );
    }
    for text in ["q,a,b\n7,1,0.5\n3,0,1\n", "q,a,b\n1,50,7\n2,30,8\n3,40,9\n"] {
        let read = table(text);
        assert_eq!((&read.systems, read.notes.len()), (&expected().systems, 0));
    }
    // a system that is called as columns of names are
    for name in ["agent", "model", "method"] {
        let read = table(&format!("item,{name},b\nq1,0.5,1\nq2,1,0\n"));
        assert_eq!(read.systems, [name, "b"]);
        assert_eq!(read.values, [[0.5, 1.0], [1.0, 0.0]]);
    }
    let numbered = "item,model,score\nq1,1,0\nq1,2,1\nq2,1,1\nq2,2,0.5\n";
    assert_eq!(table(numbered).systems, ["1", "2"]);
}

#[test]
fn samples_without_a_number_say_why() {
    let line =
        |metric: &str| format!("{{\"doc_id\": 0, \"resps\": [[\"4\"]], \"target\": \"4\", {metric}}}\n");
    let refused = |metric: &str| {
        let log = line("\"acc\": 1") + &line(metric).replace("\"doc_id\": 0", "\"doc_id\": 1");
        problems(&[("m/samples_t.jsonl", &log)], &Options::default())
    };
    let null = refused("\"acc\": null");
    assert!(
        null.starts_with("samples have no number, so they have no metric (`acc` is `null` in line 2 of"),
        "{null}"
    );
    let list = refused("\"acc\": [1, 2]");
    assert!(list.contains("lists, or write one number a sample"), "{list}");
    let nan = refused("\"acc\": NaN");
    assert!(
        nan.starts_with("lines have numbers that JSON does not have (`acc`: `NaN` in line 2 of"),
        "{nan}"
    );
    let rows = problems(
        &[("t.jsonl", "{\"id\": \"q1\", \"a\": NaN}\n")],
        &Options::default(),
    );
    assert!(rows.contains("(`a`: `NaN` in line 1 of"), "{rows}");
}
