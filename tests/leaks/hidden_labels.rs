//! Contests of own data: everything shown during a round, besides the score, is independent of the
//! hidden labels. So nobody learns anything about them from it, with any number of requests.

use std::fs;
use std::path::Path;

use dataperf::Feedback;
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::Import;
use serde_json::Value;

use super::{Target, read};
use crate::support::project::root;

/// A copy of a contest's folder in which the test set's labels have changed places.
fn with_other_labels(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let text = fs::read_to_string(from.join("eval.csv")).unwrap();
    let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = lines[0].iter().position(|name| *name == "label").unwrap();
    let labels: Vec<&str> = lines[1..].iter().map(|line| line[column]).collect();
    for (n, line) in lines[1..].iter_mut().enumerate() {
        line[column] = labels[(n + labels.len() / 2) % labels.len()];
    }
    let lines: Vec<String> = lines.iter().map(|line| line.join(",")).collect();
    fs::write(to.join("eval.csv"), lines.join("\n") + "\n").unwrap();
}

/// A submitter's view of a verdict, without the score and the digest of the data set.
fn beside_the_score(mut read: Value) -> Value {
    for name in ["score", "dataset"] {
        read.as_object_mut().unwrap().remove(name);
    }
    read
}

async fn tells_the_score_alone<B: Import>(board: &str, artifact: &str) {
    let demo = root().join("demo").join(B::ID);
    let artifact = fs::read(demo.join("submissions").join(board).join(artifact)).unwrap();
    let other = tempfile::tempdir().unwrap();
    with_other_labels(&demo, other.path());
    let (target, other) = (Target::<B>::new().await, Target::<B>::import(other.path()).await);
    let (one, two) = (
        target.judge(board, &artifact).await,
        other.judge(board, &artifact).await,
    );
    assert_ne!(one.score, two.score, "{}: the labels matter", B::ID);
    let shown = |level| {
        let [one, two] = [&one, &two].map(|verdict| beside_the_score(read(verdict, level)));
        (one, two)
    };
    let (first, second) = shown(Feedback::Score);
    assert_eq!(first, second, "{}", B::ID);
    let (first, second) = shown(Feedback::Full);
    assert_ne!(
        first["metrics"],
        second["metrics"],
        "{}: all of it tells more",
        B::ID
    );
}

#[tokio::test]
async fn other_feedback_does_not_depend_on_hidden_labels() {
    tells_the_score_alone::<Selection>("digits-20", "ada/central.json").await;
    tells_the_score_alone::<Debugging>("tissue", "ada/neighbours.json").await;
    tells_the_score_alone::<Acquisition>("clinics", "ada/north-first.json").await;
    tells_the_score_alone::<Curation>("digits-set", "ada/cleaned.csv").await;
}
