#![allow(clippy::unwrap_used)] // helpers of tests are tests

use dataperf_numerics::agreement::Stratum;
use ndarray::Array2;

use super::*;
use crate::labels::labelled::{LabelledAt, LabelsAt, RowsAt};

fn set(name: &str, labels: &[usize]) -> Labelled {
    Labelled {
        at: LabelledAt {
            name: name.into(),
            classes: ["cat", "dog", "=cow"].map(str::to_owned).into(),
            rows: RowsAt::new("eval.npy", "features"),
            labels: LabelsAt::Column {
                file: "eval.csv".into(),
                column: "label",
            },
            training: Vec::new(),
        },
        features: Array2::zeros((labels.len(), 1)),
        labels: labels.to_vec(),
        ids: Some((0..labels.len()).map(|row| format!("i{row}")).collect()),
    }
}

fn sets() -> Vec<Labelled> {
    vec![set("eval", &[0, 1, 0, 1, 2, 2])]
}

fn problems(text: &[u8], sets: &[Labelled]) -> String {
    Verdicts::parse(text, sets).unwrap_err().join("\n")
}

#[test]
fn verdicts_become_edits() {
    let text = "\u{feff}set,row,id,given,suggested,margin,flagged_by,likely,verdict\n\
        eval,0,i0,cat,dog,0.9,logistic neighbours,yes, dog \n\
        eval,1,i1,dog,cat,NaN,logistic,no,dog\n\
        eval,2,i2,cat,dog,0.5,logistic,no,\n\
        eval,4,i4,'=cow,dog,0.5,logistic,no,'=cow\n\
        eval,3,i3,dog,cat,0.5,logistic,no,'=cow\n";
    let verdicts = Verdicts::parse(text.as_bytes(), &sets()).unwrap();
    let edit = |row, given, right| Edit {
        set: 0,
        row,
        given,
        right,
    };
    assert_eq!(verdicts.edits, [edit(0, 0, 1), edit(3, 1, 2)]);
    assert_eq!((verdicts.n_reviewed(), verdicts.reviewed["eval"]), (4, 4));
    // with one test set, row and verdict are enough
    let short = Verdicts::parse(b"verdict,row\ncat,5\n", &sets()).unwrap();
    assert_eq!(short.edits, [edit(5, 2, 0)]);
}

#[test]
fn a_control_sample_gives_an_error_rate() {
    let text = "set,row,given,sample,verdict\n\
        eval,0,cat,doubt,dog\n\
        eval,1,dog,doubt,\n\
        eval,2,cat,control,cat\n\
        eval,3,dog,control,\n";
    let verdicts = Verdicts::parse(text.as_bytes(), &sets()).unwrap();
    let samples = verdicts.samples["eval"];
    let stratum = |n_items, n_decided, n_found| Stratum {
        n_items,
        n_decided,
        n_found,
    };
    assert_eq!(
        (samples.doubts, samples.others),
        (stratum(2, 1, 1), stratum(4, 1, 0))
    );
    let (share, (low, high)) = samples.error_rate().unwrap();
    assert!((share - 2.0 / 6.0).abs() < 1e-12 && (low - 1.0 / 6.0).abs() < 1e-12 && high > 0.9);
    let without = Verdicts::parse(b"row,sample,verdict\n0,doubt,dog\n", &sets()).unwrap();
    assert_eq!(
        without.samples["eval"].error_rate(),
        None,
        "nobody looked at the others"
    );
    let other = problems(b"row,sample,verdict\n0,both,dog\n", &sets());
    assert!(other.contains("line 2: `sample` is"), "{other}");
}

#[test]
fn all_errors_are_reported_together() {
    let text = "set,row,id,given,verdict\n\
        other,0,i0,cat,dog\n\
        eval,6,i6,cat,dog\n\
        eval,-1,,cat,dog\n\
        eval,1.0,i1,dog,cat\n\
        eval,0,i9,dog,dog\n\
        eval,1,i1,dog,Dogg\n\
        eval,2,i2,cat,dog\n\
        eval,2,i2,cat,dog\n\
        eval,3,i3,dog,cat\n\
        eval,3,i3,dog,=cow\n\
        eval,3\n";
    let listed = problems(text.as_bytes(), &sets());
    for expected in [
        "line 2: `other` is not a test set",
        "line 3: the row `6` is not a number from 0 to 5",
        "line 4: the row `-1`",
        "line 5: the row `1.0`",
        "line 6: the given of row 0 is `cat`, but the file has `dog`",
        "line 6: the id of row 0 is `i0`, but the file has `i9`",
        "line 7: the verdict `Dogg` is not a class",
        "line 9: line 8 also has the same verdict on this row",
        "line 11: line 10 also has another verdict on this row",
        "line 12 has 2 fields",
    ] {
        assert!(listed.contains(expected), "{expected} in\n{listed}");
    }
}

#[test]
fn lines_are_numbered_as_editors_do() {
    let rows = ["set,row,verdict", "eval,9,dog", "", "eval,0,dog", "eval,1,Dogg"];
    for (end, expected) in [("\n", [2, 5]), ("\r\n", [2, 5])] {
        let listed = problems(rows.join(end).as_bytes(), &sets());
        for line in expected {
            assert!(listed.contains(&format!("line {line}:")), "{end:?} {listed}");
        }
        assert_eq!(listed.matches("line ").count(), 2, "{listed}");
    }
    let quoted = "row,id,verdict\r\n0,\"i0\r\n\",dog\r\n9,,dog\r\n";
    assert!(problems(quoted.as_bytes(), &sets()).contains("line 4: the row `9`"));
}

#[test]
fn numeric_classes_may_return_as_pandas_floats() {
    let mut digits = set("eval", &[0, 1, 1, 0]);
    digits.at.classes = ["3", "4"].map(str::to_owned).into();
    let verdicts = Verdicts::parse(b"row,given,verdict\n0,3,4.0\n1,4,3\n", &[digits.clone()]).unwrap();
    assert_eq!(verdicts.edits.len(), 2);
    assert!(problems(b"row,verdict\n0,4.5\n", &[digits]).contains("`4.5` is not a class"));
}

#[test]
fn files_that_are_no_work_list_are_refused() {
    let sets = sets();
    assert!(problems(b"", &sets).contains("it has no column `row`"));
    let columns = problems(b"id,given\ni0,cat\n", &sets);
    assert!(columns.contains("no column `row`") && columns.contains("no column `verdict`"));
    let semicolons = Verdicts::parse(b"set;row;verdict\neval;0;dog\n", &sets).unwrap();
    assert_eq!(semicolons.n_reviewed(), 1);
    assert!(problems(b"row,verdict,verdict\n0,dog,cat\n", &sets).contains("`verdict` twice"));
    assert!(problems(b"row,verdict\n0,d\xffg\n", &sets).contains("it is not UTF-8"));
    for nothing in [&b"row,verdict\n"[..], b"row,verdict\n0,\n1,  \n"] {
        assert!(problems(nothing, &sets).contains("no line has a verdict"));
    }
    let two = [sets, vec![set("public/eval", &[0, 1])]].concat();
    assert!(problems(b"row,verdict\n0,dog\n", &two).contains("no column `set`"));
    assert!(problems(b"set,row,verdict\n,0,dog\n", &two).contains("is not a test set"));
    let of_two = b"set,row,verdict\neval,0,dog\neval,1,dog\npublic/eval,0,cat\n";
    let verdicts = Verdicts::parse(of_two, &two).unwrap();
    let counts = [("eval".to_owned(), 2), ("public/eval".to_owned(), 1)];
    assert_eq!((verdicts.n_reviewed(), verdicts.reviewed), (3, counts.into()));
}

#[test]
fn no_class_loses_its_last_item() {
    let listed = problems(b"row,verdict\n4,cat\n5,dog\n", &sets());
    assert!(
        listed.contains("no item of the test set `eval` would be left in the class `=cow`"),
        "{listed}"
    );
    assert!(Verdicts::parse(b"row,verdict\n4,cat\n", &sets()).is_ok());
    let one_row = [set("eval", &[0])];
    assert!(problems(b"row,verdict\n0,dog\n", &one_row).contains("would be left in the class `cat`"));
}
