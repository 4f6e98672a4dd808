//! On files that pyarrow and pandas wrote, `tests/fixtures/make.py` says how.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::*;

const COLUMNS: Columns = Columns {
    id: "ImageID",
    vector: "embedding",
};

/// The contents of the files, and the defects of some.
#[derive(Deserialize)]
struct Expected {
    ids: Vec<String>,
    /// As bits.
    vectors: Vec<Vec<u32>>,
    labels: Vec<u8>,
    good: Vec<String>,
    bad: Value,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn expected() -> Expected {
    serde_json::from_slice(&std::fs::read(fixtures().join("parquet.json")).unwrap()).unwrap()
}

fn file(name: &str) -> PathBuf {
    fixtures().join(format!("parquet/{name}.parquet"))
}

#[test]
fn pyarrow_and_pandas_files_read_bit_exactly() {
    let expected = expected();
    assert!(expected.good.len() > 15);
    for name in &expected.good {
        let path = file(name);
        let (mut ids, mut vectors) = (Vec::new(), Vec::new());
        let done = read(&path, COLUMNS, |id, vector| {
            ids.push(id.to_owned());
            vectors.push(vector.iter().map(|number| number.to_bits()).collect::<Vec<_>>());
            Ok(())
        });
        done.unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        assert_eq!((&ids, &vectors), (&expected.ids, &expected.vectors), "{name}");
        assert_eq!(
            read_labels(&path, "Confidence").as_ref(),
            Ok(&expected.labels),
            "{name}"
        );
        let mut ids = Vec::new();
        read_ids(&path, "ImageID", |id| ids.push(id.to_owned())).unwrap();
        assert_eq!(ids, expected.ids, "{name}");
    }
}

#[test]
fn a_wrong_file_explains_its_errors() {
    for (name, problem) in expected().bad.as_object().unwrap() {
        let path = file(name);
        let read = read(&path, COLUMNS, |_, _| Ok(()));
        let problems: Vec<String> = [read.err(), read_labels(&path, "Confidence").err()]
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        assert_eq!(problems.len(), 1, "{name}: {problems:?}");
        assert!(
            problems[0].contains(problem.as_str().unwrap()),
            "{name}: {problems:?}"
        );
        assert!(problems[0].contains(&*path.to_string_lossy()), "{problems:?}");
    }
}

#[test]
fn problems_of_single_rows_are_collected() {
    let problems = read(&file("plain"), COLUMNS, |id, _| Err(format!("no {id}"))).unwrap_err();
    assert_eq!(problems.len(), expected().ids.len());
}

#[test]
fn a_damaged_file_returns_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.parquet");
    let whole = std::fs::read(file("pages")).unwrap();
    for at in (0..whole.len()).step_by(3) {
        for byte in [1, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            std::fs::write(&path, &bytes).unwrap();
            let _ = read(&path, COLUMNS, |_, _| Ok(()));
            let _ = read_labels(&path, "Confidence");
        }
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(read(&path, COLUMNS, |_, _| Ok(())).is_err(), "cut off at {at}");
    }
}
