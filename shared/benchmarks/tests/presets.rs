//! Contests of the paper as documents of own data: where a document can say the same, scores and curves are the same to the last bit.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::Manifest;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::{Benchmark, Verdict};
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::speech_selection::{self, SpeechSelection};
use dataperf_benchmarks::vision_debugging::{self, VisionDebugging};
use dataperf_datasets::{DirectoryBucket, Import, Silent, import};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use tempfile::TempDir;

fn demo(benchmark: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../demo")
        .join(benchmark)
}

fn open<B: Benchmark>(frozen: &Path) -> Dataset<B> {
    let bucket = DirectoryBucket::new(frozen);
    pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Sizes)).unwrap()
}

fn judge<B: Benchmark>(dataset: &Dataset<B>, board: &str, artifact: &Value) -> Verdict {
    pollster::block_on(evaluate(dataset, board, artifact.to_string().as_bytes())).unwrap()
}

/// Imports the demo's data; gives the folder of the frozen files.
fn frozen<B: Import>() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("frozen");
    import::<B>(&demo(B::ID), &out, &Silent).unwrap();
    (scratch, out)
}

fn manifest<B: Benchmark>(frozen: &Path) -> Manifest {
    Manifest::parse(&fs::read(frozen.join("manifest.json")).unwrap(), B::ID).unwrap()
}

/// A tensor's shape and bytes.
fn tensor(frozen: &Path, file: &str, name: &str) -> (Vec<usize>, Vec<u8>) {
    let bytes = fs::read(frozen.join(file)).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = tensors.tensor(name).unwrap();
    (tensor.shape().to_vec(), tensor.data().to_vec())
}

/// 32-bit floats as `numpy.save` writes them.
fn npy((shape, numbers): &(Vec<usize>, Vec<u8>)) -> Vec<u8> {
    let text = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}\n",
        shape[0], shape[1]
    );
    let length = u16::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), numbers].concat()
}

/// An organizer's folder.
struct Folder(TempDir);

impl Folder {
    fn new(document: &Value) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("task.yaml", document.to_string().as_bytes()); // JSON is YAML
        folder
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }

    fn table(&self, name: &str, header: &str, lines: impl Iterator<Item = String>) {
        let lines: Vec<String> = lines.collect();
        self.write(name, format!("{header}\n{}\n", lines.join("\n")).as_bytes());
    }

    fn imported<B: Import>(&self) -> Dataset<B> {
        let out = self.0.path().join("frozen");
        import::<B>(self.0.path(), &out, &Silent).unwrap();
        open(&out)
    }
}

/// The ids of a submission's clips in the order in which its model is fitted: words as it lists them, a word's clips in the order of the
/// training set, then nontargets grouped by word as they come.
fn in_order(submission: &str, row_of: &BTreeMap<&str, usize>) -> Vec<String> {
    let submission: serde_json::Map<String, Value> = serde_json::from_str(submission).unwrap();
    let ids = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap() };
    let mut ordered = Vec::new();
    for clips in submission["targets"].as_object().unwrap().values() {
        let mut clips = ids(clips);
        clips.sort_by_key(|id| row_of[id.as_str()]);
        ordered.extend(clips);
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for id in ids(&submission["nontargets"]) {
        let word = id.split('/').next().unwrap().to_owned();
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, clips)) => clips.push(id),
            None => groups.push((word, vec![id])),
        }
    }
    ordered.extend(groups.into_iter().flat_map(|(_, clips)| clips));
    ordered
}

#[test]
fn speech_selection_equals_selection_on_own_data() {
    let (_scratch, speech) = frozen::<SpeechSelection>();
    let parameters: speech_selection::Parameters = manifest::<SpeechSelection>(&speech).parameters().unwrap();
    let reference = open::<SpeechSelection>(&speech);
    let mut n_compared = 0;
    for (code, language) in &parameters.languages {
        let words = language.targets.keys().map(String::as_str);
        let classes: Vec<&str> = std::iter::once("nontarget").chain(words).collect();
        let folder = Folder::new(&json!({
            "schema": 1, "task": "selection", "title": code, "classes": classes,
            "leaderboards": [{ "name": format!("{code}-25"), "max_examples": 25 }, { "name": format!("{code}-60"), "max_examples": 60 }],
            "pool": { "features": "pool.npy", "examples": "pool.csv" },
            "eval": { "features": "eval.npy", "examples": "eval.csv" },
            "model": "soft_voting", "metric": "macro_f1", "seeds": parameters.seeds,
        }));
        let ids = fs::read_to_string(speech.join(speech_selection::train_ids_file(code))).unwrap();
        let row_of: BTreeMap<&str, usize> = ids.lines().zip(0..).collect();
        let label = |row: usize| {
            let word = language.targets.iter().find(|(_, rows)| rows.contains(row));
            word.map_or("nontarget", |(word, _)| word.as_str())
        };
        let pool = tensor(&speech, &speech_selection::train_file(code), "embeddings");
        folder.write("pool.npy", &npy(&pool));
        folder.table(
            "pool.csv",
            "id,label",
            ids.lines()
                .zip(0..)
                .map(|(id, row)| format!("{id},{}", label(row))),
        );
        let eval = speech_selection::eval_file(code);
        folder.write("eval.npy", &npy(&tensor(&speech, &eval, "embeddings")));
        let (_, truth) = tensor(&speech, &eval, "classes");
        folder.table(
            "eval.csv",
            "label",
            truth.iter().map(|class| classes[usize::from(*class)].to_owned()),
        );
        let own = folder.imported::<Selection>();
        for n in [25, 60] {
            let board = format!("{code}-{n}");
            for submitter in fs::read_dir(demo("speech-selection/submissions").join(&board)).unwrap() {
                for file in fs::read_dir(submitter.unwrap().path()).unwrap() {
                    let path = file.unwrap().path();
                    if path.file_name().unwrap().to_str().unwrap().starts_with("bad_") {
                        continue;
                    }
                    let text = fs::read_to_string(&path).unwrap();
                    let theirs = pollster::block_on(evaluate(&reference, &board, text.as_bytes())).unwrap();
                    let ours = judge(&own, &board, &json!({ "ids": in_order(&text, &row_of) }));
                    let bits = |verdict: &Verdict| verdict.score.unwrap().to_bits();
                    assert_eq!(bits(&ours), bits(&theirs), "{}", path.display());
                    for metric in ["per_seed", "std"] {
                        assert_eq!(ours.metrics[metric], theirs.metrics[metric], "{}", path.display());
                    }
                    n_compared += 1;
                }
            }
        }
    }
    println!("{n_compared} submissions to Selection for Speech have the same scores as own data");
    assert_eq!(n_compared, 36);
}

/// The curves are the same. The score is not: the reference rounds accuracies to two decimals and
/// counts steps from 0.
#[test]
fn vision_debugging_curves_equal_those_of_own_data() {
    let (_scratch, vision) = frozen::<VisionDebugging>();
    let parameters: vision_debugging::Parameters = manifest::<VisionDebugging>(&vision).parameters().unwrap();
    let reference = open::<VisionDebugging>(&vision);
    let orders = fs::read(demo("vision-debugging/submissions/open/coin-flip/random.json")).unwrap();
    let theirs = pollster::block_on(evaluate(&reference, "open", &orders)).unwrap();
    let orders: BTreeMap<String, Vec<usize>> = serde_json::from_slice(&orders).unwrap();
    let labels = |file: &str| tensor(&vision, file, vision_debugging::LABELS).1;
    for task in &parameters.tasks {
        let folder = Folder::new(&json!({
            "schema": 1, "task": "debugging", "title": task, "classes": ["no", "yes"], "leaderboards": [{ "name": "board" }],
            "train": { "features": "train.npy", "examples": "train.csv" },
            "eval": { "features": "eval.npy", "examples": "eval.csv" },
            "model": "gradient_boosting", "metric": "accuracy", "allow_duplicates": true,
        }));
        let class = |label: &u8| ["no", "yes"][usize::from(*label)];
        let (train, test) = (
            vision_debugging::train_file(task),
            vision_debugging::eval_file(task),
        );
        folder.write(
            "train.npy",
            &npy(&tensor(&vision, &train, vision_debugging::EMBEDDINGS)),
        );
        folder.write(
            "eval.npy",
            &npy(&tensor(&vision, &test, vision_debugging::EMBEDDINGS)),
        );
        let (given, truth) = (labels(&train), labels(&vision_debugging::truth_file(task)));
        let both = given.iter().zip(&truth).enumerate();
        folder.table(
            "train.csv",
            "id,given,truth",
            both.map(|(row, (given, truth))| format!("{row},{},{}", class(given), class(truth))),
        );
        folder.table(
            "eval.csv",
            "label",
            labels(&test).iter().map(|label| class(label).to_owned()),
        );
        let own = folder.imported::<Debugging>();
        let ids: Vec<String> = orders[task].iter().map(ToString::to_string).collect();
        let ours = judge(&own, "board", &json!({ "order": ids }));
        let of_task = &theirs.metrics["tasks"][task];
        for (own, reference) in [
            ("curve", "accuracy"),
            ("before", "accuracy_before"),
            ("after", "accuracy_after"),
        ] {
            assert_eq!(ours.metrics[own], of_task[reference], "{task}: {reference}");
        }
    }
}
