//! Own data: hidden are the test set, and of `debugging` the right labels. What scores, curves and participants' kits tell about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use dataperf::Feedback;
use dataperf::benchmark::FrozenPart;
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{Import, export_kit};
use serde_json::{Value, json};

use super::fractions::{counted, of_classes};
use super::{Draws, LEVELS, Target, best, read, seen};
use crate::support::project::root;

/// Examples that are put last, one an upload.
const N_PUT_LAST: usize = 60;

/// A column of a frozen CSV whose fields have no commas.
fn column<B: Import>(target: &Target<B>, file: &str, name: &str) -> Vec<String> {
    let text = fs::read_to_string(target.frozen.join(file)).unwrap();
    let mut lines = text.lines();
    let at = lines
        .next()
        .unwrap()
        .split(',')
        .position(|column| column == name)
        .unwrap();
    lines
        .map(|line| line.split(',').nth(at).unwrap().to_owned())
        .collect()
}

/// The ids of the training set of `debugging`, their labels, and the right ones.
pub(super) fn ids_and_labels<B: Import>(target: &Target<B>) -> [Vec<String>; 3] {
    [
        ("public/train.csv", "id"),
        ("public/train.csv", "label"),
        ("truth.csv", "label"),
    ]
    .map(|(file, name)| column(target, file, name))
}

pub(super) fn board<B: Import>(target: &Target<B>) -> String {
    let boards = B::Frozen::leaderboards(target.dataset.manifest()).unwrap();
    boards[0].name.clone()
}

/// An attacker who sees the curve: wherever it moves, the label was wrong.
fn by_steps(read: &Value, order: &[String]) -> BTreeSet<String> {
    let (Some(curve), Some(mut last)) = (
        read["metrics"]["curve"].as_array(),
        read["metrics"]["before"].as_f64(),
    ) else {
        return BTreeSet::new();
    };
    let mut wrong = BTreeSet::new();
    for (id, value) in order.iter().zip(curve) {
        let value = value.as_f64().unwrap();
        if value.to_bits() != last.to_bits() {
            wrong.insert(id.clone());
        }
        last = value;
    }
    wrong
}

/// An attacker who sees the first step at the target: its label was wrong.
fn by_first_step(read: &Value, order: &[String]) -> Option<String> {
    let step = read["metrics"]["first_step"].as_u64()?;
    Some(order[step as usize].clone())
}

#[tokio::test]
async fn debugging_curve_steps_reveal_wrong_labels() {
    let target = Target::<Debugging>::new().await;
    let board = board(&target);
    let [ids, given, truth] = ids_and_labels(&target);
    let wrong: BTreeSet<String> = (0..ids.len())
        .filter(|&row| given[row] != truth[row])
        .map(|row| ids[row].clone())
        .collect();
    let (mut draws, mut order) = (Draws(1), ids.clone());
    let mut by_level: BTreeMap<Feedback, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for _ in 0..3 {
        let verdict = target.score(&board, &json!({ "order": order })).await;
        for level in LEVELS {
            let read = read(&verdict, level);
            let (steps, firsts) = by_level.entry(level).or_default();
            steps.extend(by_steps(&read, &order));
            firsts.extend(by_first_step(&read, &order));
        }
        draws.shuffle(&mut order);
    }
    for (level, (steps, firsts)) in &by_level {
        println!(
            "own debugging at `{}`, 3 submissions: {} of {} wrong labels by steps, {} by first steps",
            level.as_str(),
            steps.len(),
            wrong.len(),
            firsts.len()
        );
        assert!(
            steps.is_subset(&wrong) && firsts.is_subset(&wrong),
            "none falsely"
        );
    }
    assert!(by_level[&Feedback::Score].0.is_empty() && by_level[&Feedback::Score].1.is_empty());
    assert!(by_level[&Feedback::Metrics].0.is_empty() && !by_level[&Feedback::Metrics].1.is_empty());
    assert!(
        by_level[&Feedback::Full].0.len() * 3 > wrong.len(),
        "the attack works where it can: few fixes move five nearest neighbours"
    );

    // scores alone: one example is put last; where the number of fixes does not become one less, its label was wrong
    let n_fixes = async |order: &[String]| {
        let verdict = target.score(&board, &json!({ "order": order })).await;
        (read(&verdict, Feedback::Score)["score"].as_f64().unwrap() * ids.len() as f64).round() as i64
    };
    let before = n_fixes(&ids).await;
    let (mut n_wrong, mut n_missed) = (0, 0);
    for (place, id) in ids.iter().take(N_PUT_LAST).enumerate() {
        let mut moved = ids.clone();
        moved.remove(place);
        moved.push(id.clone());
        let is_told = n_fixes(&moved).await - before != -1;
        assert!(!is_told || wrong.contains(id), "none falsely");
        n_wrong += usize::from(is_told);
        n_missed += usize::from(!is_told && wrong.contains(id));
    }
    println!(
        "own debugging by the scores of {} submissions: {n_wrong} labels are told to be wrong, {n_missed} wrong ones are missed",
        N_PUT_LAST + 1
    );
    assert!(n_wrong > 0, "what the score itself says");
}

/// Selections for the contest of digits with `n_of_class` examples of each class, drawn from its public pool.
pub(super) fn drawn_selections(n: usize, n_of_class: usize, seed: u64) -> Vec<Value> {
    let pool = fs::read_to_string(root().join("demo/selection/pool.csv")).unwrap();
    let mut of_class: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in pool.lines().skip(1) {
        let (id, class) = line.split_once(',').unwrap();
        of_class.entry(class).or_default().push(id);
    }
    let mut draws = Draws(seed);
    let draw = |_| {
        let mut ids = Vec::new();
        for of_one in of_class.values_mut() {
            draws.shuffle(of_one);
            ids.extend(of_one.iter().take(n_of_class).copied());
        }
        json!({ "ids": ids })
    };
    (0..n).map(draw).collect()
}

/// The information in F1 of each class: how many hidden items it has, and, of two selections, which
/// examples to combine.
#[tokio::test]
async fn numbers_of_classes_count_hidden_items_and_recombine() {
    let target = Target::<Selection>::new().await;
    let truth = column(&target, "eval.csv", "label");
    let artifacts = drawn_selections(8, 2, 1);
    let mut verdicts = Vec::new();
    for artifact in artifacts {
        let verdict = target.score("digits-20", &artifact).await;
        verdicts.push((artifact, verdict));
    }
    let best_of = best(&verdicts);
    for level in LEVELS {
        let f1s: Vec<BTreeMap<String, f64>> = seen(&verdicts, level)
            .iter()
            .filter_map(|(_, read)| of_classes(read))
            .collect();
        if level == Feedback::Score {
            assert!(f1s.is_empty(), "the score alone says nothing of a class");
            continue;
        }
        let shown = counted(&f1s, truth.len() as u64);
        let n_right = shown
            .iter()
            .filter(|(class, n)| truth.iter().filter(|label| label == class).count() as u64 == **n)
            .count();
        // of each class the examples of the selection under which its F1 is best; drawn selections have two of each, class by class
        let classes: Vec<&String> = f1s[0].keys().collect();
        let mut ids = Vec::new();
        for (place, class) in classes.iter().enumerate() {
            let best = (0..f1s.len()).max_by(|a, b| f1s[*a][*class].total_cmp(&f1s[*b][*class]));
            let chosen = verdicts[best.unwrap()].0["ids"].as_array().unwrap();
            ids.extend(chosen[2 * place..2 * place + 2].iter().cloned());
        }
        let recombined = target
            .score("digits-20", &json!({ "ids": ids }))
            .await
            .score
            .unwrap();
        println!(
            "own selection at `{}`, 8 submissions: hidden items of {} of {} classes counted, {n_right} rightly; best {best_of:.4}, recombined {recombined:.4}",
            level.as_str(),
            shown.len(),
            classes.len(),
        );
        assert_eq!(n_right, shown.len(), "none falsely");
        assert!(recombined > best_of, "{recombined} {best_of}");
    }
}

/// One example that is bought makes a model that names one class: accuracy and F1, means over the trials, tell how many hidden items each of two
/// classes has.
#[tokio::test]
async fn one_example_that_is_bought_counts_hidden_items() {
    let target = Target::<Acquisition>::new().await;
    let truth = column(&target, "eval.csv", "label");
    let (n_items, n_trials) = (truth.len() as u64, 10_u64);
    let verdict = target
        .score("clinics", &json!({ "counts": { "north": 1 } }))
        .await;
    for level in LEVELS {
        let read = read(&verdict, level);
        let numbers = read["metrics"]["accuracy"].as_f64().zip(of_classes(&read));
        let Some((accuracy, f1s)) = numbers else {
            assert_eq!(level, Feedback::Score);
            continue;
        };
        let (class, f1) = f1s.first_key_value().unwrap();
        let mut possible = BTreeSet::new();
        for n_named in 0..=n_trials {
            for n in 0..=n_items {
                let (named, other) = (n_named as f64, (n_trials - n_named) as f64);
                let of_trials =
                    (named * n as f64 + other * (n_items - n) as f64) / (n_trials * n_items) as f64;
                let of_class = named / n_trials as f64 * (2 * n) as f64 / (n + n_items) as f64;
                if (of_trials - accuracy).abs() < 1e-9 && (of_class - f1).abs() < 1e-9 {
                    possible.insert(n);
                }
            }
        }
        let truly = truth.iter().filter(|label| *label == class).count() as u64;
        println!(
            "own acquisition at `{}`, one example bought: {possible:?} hidden items of `{class}`, {truly} in truth",
            level.as_str()
        );
        assert!(possible.contains(&truly), "{possible:?}");
    }
    // at `score` the mean of both classes' shares is a half, whatever they are
    assert!((verdict.score.unwrap() - 0.5).abs() < 1e-12);
}

/// A training set of one class makes a model that names no other, so that its accuracy is the share of that class.
#[tokio::test]
async fn single_class_training_sets_reveal_class_counts() {
    let target = Target::<Curation>::new().await;
    let board = board(&target);
    let truth = column(&target, "eval.csv", "label");
    let classes: BTreeSet<&String> = truth.iter().collect();
    let start = fs::read_to_string(target.frozen.join("public/start.csv")).unwrap();
    let mut n_right = 0;
    for class in &classes {
        let of_class = format!("{class},");
        let lines = start.lines().enumerate();
        let chosen = lines
            .filter(|(at, line)| *at == 0 || line.starts_with(&of_class))
            .take(3);
        let chosen: Vec<&str> = chosen.map(|(_, line)| line).collect();
        let artifact = chosen.join("\n");
        let verdict = target.judge(&board, artifact.as_bytes()).await;
        let score = read(&verdict, Feedback::Score)["score"].as_f64().unwrap();
        let n = (score * truth.len() as f64).round() as usize; // how many items there are is public
        n_right += usize::from(n == truth.iter().filter(|label| label == class).count());
    }
    println!(
        "own curation by {} scores: {n_right} of {} classes' items counted exactly",
        classes.len(),
        classes.len()
    );
    assert_eq!(n_right, classes.len(), "what the score itself says");
}

/// The rows of a frozen matrix, as bytes.
fn rows(path: &Path, n_features: usize) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let begin = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let is_wide = bytes[..begin].windows(3).any(|window| window == b"<f8");
    let width = n_features * if is_wide { 8 } else { 4 };
    bytes[begin..].chunks_exact(width).map(<[u8]>::to_vec).collect()
}

/// How many hidden rows were looked for, in vain.
async fn hidden_rows_outside_of_the_kit<B: Import>(hidden: &[&str]) -> usize {
    let target = Target::<B>::new().await;
    let manifest = target.dataset.manifest();
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("kit");
    let kit = export_kit::<B>(&target.frozen, manifest, &[], &out)
        .unwrap()
        .files;
    for file in hidden {
        assert!(manifest.files.contains_key(*file), "{} has no {file}", B::ID);
        assert!(
            !out.join(file).exists() && !kit.iter().any(|path| path == file),
            "{file}"
        );
    }
    let mut all = Vec::new();
    for file in &kit {
        all.extend(fs::read(out.join(file)).unwrap());
    }
    all.extend(fs::read(out.join("manifest.json")).unwrap());
    // no hidden row is anywhere in it, unless the organizer's own public rows have it
    let shape = &manifest.any_tensor("eval.npy", "features").unwrap().shape;
    let public: BTreeSet<Vec<u8>> = ["public/pool.npy", "public/train.npy", "public/eval.npy"]
        .iter()
        .filter(|file| manifest.files.contains_key(**file))
        .flat_map(|file| rows(&target.frozen.join(file), shape[1]))
        .collect();
    let mut n_searched = 0;
    for row in rows(&target.frozen.join("eval.npy"), shape[1]) {
        if !public.contains(&row) {
            n_searched += 1;
            assert!(memchr::memmem::find(&all, &row).is_none(), "{}", B::ID);
        }
    }
    n_searched
}

#[tokio::test]
async fn kits_have_nothing_hidden() {
    let eval = ["eval.npy", "eval.csv"];
    let n_searched = [
        hidden_rows_outside_of_the_kit::<Selection>(&eval).await,
        hidden_rows_outside_of_the_kit::<Debugging>(&["eval.npy", "eval.csv", "truth.csv"]).await,
        hidden_rows_outside_of_the_kit::<Acquisition>(&eval).await,
        hidden_rows_outside_of_the_kit::<Curation>(&eval).await,
    ];
    println!("own data's kits: hidden rows that are not in them: {n_searched:?}");
    assert!(n_searched.iter().all(|&n| n > 20));
}
