//! Debugging for Vision: hidden are the right labels of the training images. A model is trained again only after a fix that
//! changes a label, so that a step of a curve tells which label was wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dataperf::{Benchmark as _, Feedback};
use dataperf_benchmarks::vision_debugging::{LABELS, VisionDebugging, train_file, truth_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Draws, LEVELS, Target, of_each, read};
use crate::support::project::root;

type Orders = BTreeMap<String, Vec<usize>>;
type Wrong = BTreeSet<(String, usize)>;

/// An attacker who sees curves: wherever one moves, the label was wrong.
fn by_steps(read: &Value, orders: &Orders) -> Wrong {
    let mut wrong = Wrong::new();
    for (task, order) in orders {
        let of_task = &read["metrics"]["tasks"][task];
        let (Some(curve), Some(mut last)) = (
            of_task["accuracy"].as_array(),
            of_task["accuracy_before"].as_f64(),
        ) else {
            continue;
        };
        for (step, accuracy) in curve.iter().enumerate() {
            let accuracy = accuracy.as_f64().unwrap();
            if accuracy.to_bits() != last.to_bits() {
                wrong.insert((task.clone(), order[step]));
            }
            last = accuracy;
        }
    }
    wrong
}

/// An attacker who sees each task's first step at the target: the fix of that step has changed the
/// model.
fn by_first_steps(read: &Value, orders: &Orders) -> Wrong {
    let firsts = of_each(read, "tasks", "first_step").unwrap_or_default();
    let reached = firsts.into_iter().filter(|(_, step)| *step > 0.0);
    reached
        .map(|(task, step)| {
            let image = orders[&task][step as usize];
            (task, image)
        })
        .collect()
}

/// Who sees scores only: the images are put to the end one at a time. Where the sum of the first steps is one less then, the
/// image was right; where it moves otherwise, its label mattered.
async fn by_scores(target: &Target<VisionDebugging>, orders: &Orders, n_tried: usize) -> (Wrong, Wrong) {
    let (task, order) = orders.iter().next().unwrap();
    let n_steps = (orders.len() * order.len()) as f64;
    let sum = async |order: &[usize]| {
        let mut changed = orders.clone();
        changed.insert(task.clone(), order.to_vec());
        let score = read(&target.score("open", &json!(changed)).await, Feedback::Score)["score"].clone();
        (score.as_f64().unwrap() * n_steps).round() as i64
    };
    let before = sum(order).await;
    let (mut right, mut wrong) = (Wrong::new(), Wrong::new());
    for place in 0..n_tried {
        let mut moved = order.clone();
        let image = moved.remove(place);
        moved.push(image);
        match sum(&moved).await - before {
            -1 => right.insert((task.clone(), image)),
            0 => false, // the target was reached before
            _ => wrong.insert((task.clone(), image)),
        };
    }
    (right, wrong)
}

/// The demo's folder with some of its tasks.
fn only(tasks: &[&str]) -> TempDir {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for folder in ["data", "embeddings"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
        for entry in fs::read_dir(root().join("demo").join(VisionDebugging::ID).join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            let of_task = name.to_str().unwrap().trim_start_matches("dataset_");
            if tasks.iter().any(|task| of_task.starts_with(&format!("{task}_"))) {
                fs::copy(&path, dir.path().join(folder).join(name)).unwrap();
            }
        }
    }
    dir
}

#[tokio::test]
async fn curve_steps_reveal_wrong_labels() {
    let target = Target::<VisionDebugging>::import(only(&["1-7-flipped", "3-8"]).path()).await;
    let tasks: Vec<String> = {
        let shown = target.dataset.manifest().parameters["tasks"].clone();
        serde_json::from_value(shown).unwrap()
    };
    let mut truly = Wrong::new();
    let mut orders = Orders::new();
    for task in &tasks {
        let labels = target.bytes(&train_file(task), LABELS);
        let truth = target.bytes(&truth_file(task), LABELS);
        let wrong = (0..labels.len()).filter(|&image| labels[image] != truth[image]);
        truly.extend(wrong.map(|image| (task.clone(), image)));
        orders.insert(task.clone(), (0..labels.len()).collect());
    }
    let mut draws = Draws(1);
    let mut by_level: BTreeMap<Feedback, (Wrong, Wrong)> = BTreeMap::new();
    let n_submissions = 3;
    for n in 0..n_submissions {
        let verdict = target.score("open", &json!(orders)).await;
        for level in LEVELS {
            let read = read(&verdict, level);
            let (steps, firsts) = by_level.entry(level).or_default();
            steps.extend(by_steps(&read, &orders));
            firsts.extend(by_first_steps(&read, &orders));
        }
        if n == 0 {
            println!(
                "debugging, `consecutive` alone: {} of {} wrong labels by steps",
                by_level[&Feedback::Full].0.len(),
                truly.len()
            );
        }
        for order in orders.values_mut() {
            draws.shuffle(order);
        }
    }
    for (level, (steps, firsts)) in &by_level {
        println!(
            "debugging at `{}`, {n_submissions} submissions: {} of {} by steps, {} by first steps",
            level.as_str(),
            steps.len(),
            truly.len(),
            firsts.len()
        );
        assert!(
            steps.is_subset(&truly) && firsts.is_subset(&truly),
            "none falsely"
        );
    }
    let (score, metrics, full) = (
        &by_level[&Feedback::Score],
        &by_level[&Feedback::Metrics],
        &by_level[&Feedback::Full],
    );
    assert!(
        score.0.is_empty() && score.1.is_empty(),
        "the score alone has no steps"
    );
    assert!(metrics.0.is_empty(), "and curves are not shown");
    assert!(
        metrics.1.len() <= n_submissions * tasks.len(),
        "one of a task and submission"
    );
    assert!(
        full.0.len() * 10 > truly.len() * 9,
        "the attack works where it can"
    );

    // of one task alone, whose steps are a mean of one
    let (task, order) = orders.pop_first().unwrap();
    let target = Target::<VisionDebugging>::import(only(&[&task]).path()).await;
    let n_tried = 6;
    let (right, wrong) = by_scores(&target, &[(task, order)].into(), n_tried).await;
    let n_told = right.len() + wrong.len();
    let n_true = right.difference(&truly).count() + wrong.intersection(&truly).count();
    println!("debugging by the scores of {n_tried} submissions: {n_true} of {n_told} labels told are so");
    assert_eq!(
        (n_told, n_true),
        (n_tried, n_tried),
        "what the score itself says: a label an upload"
    );
}
