//! Own data: hidden are the eval set, and of `debugging` the right labels. What scores, curves and participants' kits tell about them.

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

use super::{Draws, LEVELS, Target, read};

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

fn board<B: Import>(target: &Target<B>) -> String {
    let boards = B::Frozen::leaderboards(target.dataset.manifest()).unwrap();
    boards[0].name.clone()
}

/// Who sees the curve: wherever it moves, the label was wrong.
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

/// Who sees the first step at the target: its label was wrong.
fn by_first_step(read: &Value, order: &[String]) -> Option<String> {
    let step = read["metrics"]["first_step"].as_u64()?;
    Some(order[step as usize].clone())
}

#[tokio::test]
async fn steps_of_debugging_tell_wrong_labels_to_those_who_see_curves_alone() {
    let target = Target::<Debugging>::new().await;
    let board = board(&target);
    let [ids, given, truth] = [
        ("public/train.csv", "id"),
        ("public/train.csv", "label"),
        ("truth.csv", "label"),
    ]
    .map(|(file, name)| column(&target, file, name));
    let wrong: BTreeSet<String> = (0..ids.len())
        .filter(|&row| given[row] != truth[row])
        .map(|row| ids[row].clone())
        .collect();
    let (mut draws, mut order) = (Draws(1), ids.clone());
    let mut found: BTreeMap<Feedback, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for _ in 0..3 {
        let verdict = target.score(&board, &json!({ "order": order })).await;
        for level in LEVELS {
            let read = read(&verdict, level);
            let (steps, firsts) = found.entry(level).or_default();
            steps.extend(by_steps(&read, &order));
            firsts.extend(by_first_step(&read, &order));
        }
        draws.shuffle(&mut order);
    }
    for (level, (steps, firsts)) in &found {
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
    assert!(found[&Feedback::Score].0.is_empty() && found[&Feedback::Score].1.is_empty());
    assert!(found[&Feedback::Metrics].0.is_empty() && !found[&Feedback::Metrics].1.is_empty());
    assert!(
        found[&Feedback::Full].0.len() * 3 > wrong.len(),
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

/// A training set of one class makes a model that names no other, so that its accuracy is the share of that class.
#[tokio::test]
async fn sets_of_one_class_tell_how_many_of_each_there_are() {
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
    let out = target.frozen.with_extension("kit");
    let _ = fs::remove_dir_all(&out); // of an earlier run
    let kit = export_kit::<B>(&target.frozen, manifest, &[], &out).unwrap();
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
