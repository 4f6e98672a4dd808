//! Selection for Vision and for Speech: hidden are the labels of the test images and test clips, which no submission names. What
//! leaks are counts, and what of two submissions to combine.

use std::collections::BTreeMap;
use std::fs;

use dataperf::{Feedback, Verdict};
use dataperf_benchmarks::speech_selection::{self, CLASSES, SpeechSelection};
use dataperf_benchmarks::vision_selection::{LABELS, VisionSelection, eval_file};
use dataperf_datasets::Import;
use serde_json::{Map, Value, json};

use super::fractions::{counted, of_classes};
use super::{LEVELS, Target, best, of_each, seen};
use crate::support::project::root;

/// The number of positive test images of each concept, from what one submission says.
fn positives(read: &Value) -> Option<BTreeMap<String, u64>> {
    let [recall, precision, accuracy, n_test] =
        ["recall", "precision", "accuracy", "n_test"].map(|name| of_each(read, "concepts", name));
    let (recall, precision, accuracy, n_test) = (recall?, precision?, accuracy?, n_test?);
    let of_concept = |(concept, r): (String, f64)| {
        // errors = false positives + missed: (1 - a) N = n r (1 / p - 1) + n (1 - r)
        let (p, a, n) = (precision[&concept], accuracy[&concept], n_test[&concept]);
        let n_positive = (1.0 - a) * n / (r / p - 2.0 * r + 1.0);
        (concept, n_positive.round() as u64)
    };
    Some(recall.into_iter().map(of_concept).collect())
}

/// Of each part the choice of the submission that does best there.
pub(super) fn recombined(parts: &str, name: &str, seen: &[(Value, Value)]) -> Option<Value> {
    let mut best: BTreeMap<String, (f64, Value)> = BTreeMap::new();
    for (artifact, read) in seen {
        for (part, number) in of_each(read, parts, name)? {
            let choice = artifact[&part].clone();
            let known = best.entry(part).or_insert((f64::NEG_INFINITY, Value::Null));
            if number > known.0 {
                *known = (number, choice);
            }
        }
    }
    let chosen: Map<String, Value> = best
        .into_iter()
        .map(|(part, (_, choice))| (part, choice))
        .collect();
    Some(chosen.into())
}

pub(super) fn submission(benchmark: &str, path: &str) -> Value {
    let path = root().join("demo").join(benchmark).join("submissions").join(path);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Files of the demo to a board, each with its verdict.
async fn scored<B: Import>(target: &Target<B>, board: &str, paths: &[&str]) -> Vec<(Value, Verdict)> {
    let mut verdicts = Vec::new();
    for path in paths {
        let artifact = submission(B::ID, &format!("{board}/{path}"));
        let verdict = target.score(board, &artifact).await;
        verdicts.push((artifact, verdict));
    }
    verdicts
}

#[tokio::test]
async fn concept_counts_combine_to_reveal_positive_counts() {
    let target = Target::<VisionSelection>::new().await;
    let paths = [
        "coin-flip/random_20.json",
        "near-enough/nearest_60.json",
        "second-look/hard_negatives_60.json",
    ];
    let verdicts = scored(&target, "open", &paths).await;
    let best = best(&verdicts);
    for level in LEVELS {
        let seen = seen(&verdicts, level);
        let counts = positives(&seen[0].1);
        let combined = recombined("concepts", "f1", &seen);
        if level == Feedback::Score {
            assert_eq!((counts, combined), (None, None), "the score alone says neither");
            continue;
        }
        let counts = counts.unwrap();
        for (concept, n_positive) in &counts {
            let labels = target.bytes(&eval_file(concept), LABELS);
            let truly = labels.iter().map(|&label| u64::from(label)).sum::<u64>();
            assert_eq!(*n_positive, truly, "{concept}");
        }
        let combined = target.score("open", &combined.unwrap()).await.score.unwrap();
        println!(
            "vision-selection at `{}`: {} test sets' positives counted; best of three {best:.4}, recombined {combined:.4}",
            level.as_str(),
            counts.len()
        );
        assert!(combined > best, "{combined} {best}");
    }
}

/// F1 of each word is a mean over seeds. The F1 of one model would be a fraction that counts hidden
/// clips.
#[tokio::test]
async fn numbers_of_words_count_no_hidden_clips() {
    let target = Target::<SpeechSelection>::new().await;
    let paths = [
        "coin-flip/random.json",
        "coin-flip/random_again.json",
        "harbour-speech/farthest_point.json",
        "plain-and-simple/most_typical.json",
    ];
    let verdicts = scored(&target, "en-25", &paths).await;
    let n_items = target.bytes(&speech_selection::eval_file("en"), CLASSES).len() as u64;
    for level in LEVELS {
        let seen = seen(&verdicts, level);
        let f1s: Vec<BTreeMap<String, f64>> = seen.iter().filter_map(|(_, read)| of_classes(read)).collect();
        if level == Feedback::Score {
            assert!(f1s.is_empty(), "the score alone says nothing of a word");
            continue;
        }
        let shown = counted(&f1s, n_items);
        println!(
            "speech-selection at `{}`, 4 submissions: hidden clips of {} of {} words counted",
            level.as_str(),
            shown.len(),
            f1s[0].len()
        );
        assert!(
            shown.is_empty(),
            "F1 is a mean over seeds, and so no fraction of small numbers: {shown:?}"
        );
    }
}

/// The clips of each word from the submission under which its F1 is best.
fn recombined_words(seen: &[(Value, Value)]) -> Option<Value> {
    let mut best: BTreeMap<String, (f64, Value)> = BTreeMap::new();
    for (artifact, read) in seen {
        for (word, f1) in read["metrics"]["f1_per_class"].as_object()? {
            let chosen = if word == "nontarget" {
                &artifact["nontargets"]
            } else {
                &artifact["targets"][word]
            };
            let f1 = f1.as_f64()?;
            let known = best
                .entry(word.clone())
                .or_insert((f64::NEG_INFINITY, Value::Null));
            if f1 > known.0 {
                *known = (f1, chosen.clone());
            }
        }
    }
    let nontargets = best.remove("nontarget")?.1;
    let targets: Map<String, Value> = best.into_iter().map(|(word, (_, clips))| (word, clips)).collect();
    Some(json!({ "targets": targets, "nontargets": nontargets }))
}

#[tokio::test]
async fn numbers_of_words_recombine() {
    let target = Target::<SpeechSelection>::new().await;
    let boards = ["en-25", "en-60", "id-25", "id-60", "pt-25", "pt-60"];
    let mut n_gained = 0;
    for board in boards {
        let paths = ["coin-flip/random.json", "coin-flip/random_again.json"];
        let verdicts = scored(&target, board, &paths).await;
        let best = best(&verdicts);
        for level in LEVELS {
            let combined = recombined_words(&seen(&verdicts, level));
            if level == Feedback::Score {
                assert_eq!(combined, None, "the score alone says nothing of a word");
                continue;
            }
            let combined = target.score(board, &combined.unwrap()).await.score.unwrap();
            println!(
                "speech-selection {board} at `{}`: best of two draws {best:.4}, recombined {combined:.4}",
                level.as_str()
            );
            n_gained += usize::from(level == Feedback::Metrics && combined > best);
        }
    }
    // A single recombined draw may be unlucky: pt-60 scores .4924, the better of the two draws
    // .4932.
    assert!(n_gained + 1 >= boards.len(), "{n_gained} of {}", boards.len());
}
