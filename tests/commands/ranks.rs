//! `dataperf rank` as scripts call it.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::commands::tables::offline;
use crate::support::project::{self, dataperf};
use crate::support::words;

/// A table of three systems on 60 items, of which the first is clearly the best.
fn results() -> String {
    let mut text = "item,a,b,c\n".to_owned();
    for item in 0..60 {
        let right = |n_right: usize| u8::from((item * 7) % 60 < n_right);
        writeln!(text, "q{item},{},{},{}", right(55), right(30), right(27)).unwrap();
    }
    text
}

#[test]
fn ranks_are_printed_with_their_intervals() {
    let folder = TempDir::new().unwrap();
    let (path, plot) = (folder.path().join("results.csv"), folder.path().join("ranks.svg"));
    fs::write(&path, results()).unwrap();
    let (path, plot) = (path.to_str().unwrap(), plot.to_str().unwrap());
    let ran = project::ran(words!("rank {path} --format json --compare a b --plot {plot}"));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let keys = [
        "rank",
        "rank_high",
        "rank_low",
        "score",
        "score_high",
        "score_low",
        "system",
    ];
    let mut actual: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    actual.sort();
    assert_eq!(actual, keys);
    let ranks = |row: &Value| ["rank", "rank_low", "rank_high"].map(|key| row[key].as_u64().unwrap());
    assert_eq!(
        [0, 1, 2].map(|place| ranks(&rows[place])),
        [[1, 1, 1], [2, 2, 3], [3, 2, 3]]
    );
    assert!(
        document["resolution"]
            .as_f64()
            .is_some_and(|resolution| resolution > 0.0),
        "{document}"
    );
    assert_eq!(document["comparison"]["clearly_better"], 1);
    let picture = fs::read_to_string(plot).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("rank, with 95 %"));
    assert_eq!(offline(&["rank", path], 0).column("system"), ["a", "b", "c"]);
    let text = dataperf(["rank", path, "--compare", "b", "c"]).stdout;
    for part in [
        "the best is a",
        "1 of 2 pairs of neighbours can be separated",
        "no interval: the two differ on too few items",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn wrong_results_are_refused_with_all_problems() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.csv");
    fs::write(&path, results().replace("q7,1,", "q7,,") + "q59,1,1,1\n").unwrap();
    let ran = dataperf(["rank", path.to_str().unwrap()]);
    assert_eq!((ran.code, &*ran.stdout), (1, ""), "{ran:?}");
    for part in [
        "ids are there more than once (`q59` in line 62",
        "`a` lacks 1 of 60: `q7`",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    let unknown = dataperf(words!("rank {} --missing zero --compare a d", path.display()));
    assert_eq!(unknown.code, 1, "{unknown:?}");
}
