//! Tests the input of submitted programs: the participants' part of a board, in another order and
//! under other ids, and the translation back.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dataperf::benchmark::closed::ClosedTask;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_datasets::{DirectoryBucket, Import, Silent, import};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The demo's data set of a benchmark.
fn demo<B: Import>() -> (TempDir, Dataset<B>) {
    let out = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../demo")
        .join(B::ID);
    import::<B>(&from, &out.path().join("frozen"), &Silent).unwrap();
    let bucket = DirectoryBucket::new(out.path().join("frozen"));
    let dataset = pollster::block_on(Dataset::<B>::open(
        bucket,
        String::new(),
        None,
        Integrity::Digests,
    ));
    (out, dataset.unwrap())
}

/// The input of a program for a board.
fn given<B: Import>(dataset: &Dataset<B>, leaderboard: &str) -> ClosedTask {
    let task = pollster::block_on(dataset.closed_task(leaderboard)).unwrap();
    task.expect("it has closed boards").0
}

fn bytes<'a>(task: &'a ClosedTask, name: &str) -> &'a [u8] {
    let file = task.files.iter().find(|file| file.name == name);
    &file.unwrap_or_else(|| panic!("there is no {name}")).bytes
}

fn text<'a>(task: &'a ClosedTask, name: &str) -> &'a str {
    std::str::from_utf8(bytes(task, name)).unwrap()
}

/// The rows of a `.npy` file, as bytes.
fn rows(npy: &[u8]) -> Vec<&[u8]> {
    assert_eq!(&npy[..8], b"\x93NUMPY\x01\x00");
    let begin = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    assert_eq!(begin % 64, 0);
    let header = std::str::from_utf8(&npy[10..begin]).unwrap();
    let (_, shape) = header.split_once("'shape': (").unwrap();
    let (n_rows, rest) = shape.split_once(", ").unwrap();
    let (n_cols, _) = rest.split_once(')').unwrap();
    let width = if header.contains("'<f4'") { 4 } else { 8 } * n_cols.parse::<usize>().unwrap();
    let rows: Vec<&[u8]> = npy[begin..].chunks_exact(width).collect();
    assert_eq!(rows.len(), n_rows.parse::<usize>().unwrap());
    rows
}

/// The fields of the lines of a `.csv` file, without its header.
fn fields(csv: &str) -> Vec<Vec<&str>> {
    csv.lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect()
}

fn numbers(n: usize) -> Vec<String> {
    (0..n).map(|number| number.to_string()).collect()
}

/// A program's artifact in the data set's ids.
fn translated(task: &ClosedTask, artifact: &Value) -> Value {
    let artifact = task.artifact(&serde_json::to_vec(artifact).unwrap()).unwrap();
    serde_json::from_slice(&artifact).unwrap()
}

fn strings(list: &Value) -> Vec<String> {
    serde_json::from_value(list.clone()).unwrap()
}

/// The data set's ids with their rows, of a frozen table.
fn table<B: Import>(dataset: &Dataset<B>, name: &str) -> BTreeMap<String, (Vec<u8>, Option<String>)> {
    let files = dataset.files();
    let npy = pollster::block_on(files.whole(&format!("{name}.npy"))).unwrap();
    let csv = pollster::block_on(files.whole(&format!("{name}.csv"))).unwrap();
    let csv = std::str::from_utf8(&csv).unwrap();
    let lines = fields(csv).into_iter().zip(rows(&npy));
    let row = |(line, row): (Vec<&str>, &[u8])| {
        let label = line.get(1).map(|label| (*label).to_owned());
        (line[0].to_owned(), (row.to_vec(), label))
    };
    lines.map(row).collect()
}

/// Each number of a program represents one id, with that id's features and label.
fn stands_for(
    task: &ClosedTask,
    name: &str,
    ids: &[String],
    known: &BTreeMap<String, (Vec<u8>, Option<String>)>,
) {
    let lines = fields(text(task, &format!("{name}.csv")));
    let given = rows(bytes(task, &format!("{name}.npy")));
    assert_eq!(ids.len(), known.len());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), known.len());
    assert_ne!(
        ids.iter().collect::<Vec<_>>(),
        known.keys().collect::<Vec<_>>(),
        "nothing is shuffled"
    );
    for (number, id) in ids.iter().enumerate() {
        let (row, label) = &known[id];
        assert_eq!(
            (lines[number][0], given[number]),
            (number.to_string().as_str(), &row[..]),
            "{id}"
        );
        assert_eq!(lines[number].get(1).copied(), label.as_deref(), "{id}");
    }
}

/// No file of a program says an id of the data set. Short ones could be there by chance.
fn hides<'a>(task: &ClosedTask, ids: impl IntoIterator<Item = &'a String>) {
    let mut n_looked_for = 0;
    for id in ids.into_iter().filter(|id| id.len() >= 5) {
        n_looked_for += 1;
        for file in &task.files {
            let is_there = file.bytes.windows(id.len()).any(|window| window == id.as_bytes());
            assert!(
                !is_there || file.bytes.starts_with(b"\x93NUMPY"),
                "{} says {id}",
                file.name
            );
        }
    }
    assert!(n_looked_for > 0, "no id could be looked for");
}

#[test]
fn selection_gives_the_pool() {
    let (_scratch, dataset) = demo::<Selection>();
    let task = given(&dataset, "digits-20");
    let document: Value = serde_json::from_str(text(&task, "task.json")).unwrap();
    assert_eq!(document["benchmark"], "selection");
    assert_eq!(document["max_examples"], 20);
    let pool = table(&dataset, "public/pool");
    let ids = strings(&translated(&task, &json!({ "ids": numbers(pool.len()) }))["ids"]);
    stands_for(&task, "pool", &ids, &pool);
    hides(&task, pool.keys());
    let labelled = translated(&task, &json!({ "labels": { "0": "a", "5": "b" } }));
    assert_eq!(labelled["labels"], json!({ &ids[0]: "a", &ids[5]: "b" }));
    // the hidden test set is in no file, and the public one is
    let hidden = table(&dataset, "eval");
    let validation = table(&dataset, "public/eval");
    let given: BTreeSet<&[u8]> = ["pool.npy", "validation.npy"]
        .iter()
        .flat_map(|name| rows(bytes(&task, name)))
        .collect();
    let known: BTreeSet<&[u8]> = pool
        .values()
        .chain(validation.values())
        .map(|(row, _)| &row[..])
        .collect();
    assert_eq!(given, known);
    assert!(hidden.values().any(|(row, _)| !given.contains(&row[..])));
    assert_eq!(task.files.len(), 5);
}

#[test]
fn each_board_keeps_its_own_order() {
    let (_scratch, dataset) = demo::<Selection>();
    let [one, again, other] = ["digits-20", "digits-20", "digits-50"].map(|board| given(&dataset, board));
    assert_eq!(one.files, again.files);
    assert_ne!(bytes(&one, "pool.npy"), bytes(&other, "pool.npy"));
    let seed = |board| pollster::block_on(dataset.closed_task(board)).unwrap().unwrap().1;
    assert_eq!(seed("digits-20"), seed("digits-20"));
    assert_ne!(seed("digits-20"), seed("digits-50"));
}

#[test]
fn debugging_provides_training_data_with_given_labels() {
    let (_scratch, dataset) = demo::<Debugging>();
    let task = given(&dataset, "tissue");
    let train = table(&dataset, "public/train");
    let order = strings(&translated(&task, &json!({ "order": numbers(train.len()) }))["order"]);
    stands_for(&task, "train", &order, &train);
    hides(&task, train.keys());
}

#[test]
fn acquisition_gives_prices_and_summaries() {
    let (_scratch, dataset) = demo::<Acquisition>();
    let task = given(&dataset, "clinics");
    let document: Value = serde_json::from_str(text(&task, "task.json")).unwrap();
    let sellers = fields(text(&task, "sellers.csv"));
    let counts: BTreeMap<String, usize> = numbers(sellers.len()).into_iter().zip(10..).collect();
    let counts = translated(&task, &json!({ "counts": counts }));
    let parameters: Value = serde_json::to_value(&dataset.manifest().parameters).unwrap();
    for seller in parameters["sellers"].as_array().unwrap() {
        let name = seller["name"].as_str().unwrap();
        let number = counts["counts"][name].as_u64().unwrap() as usize - 10;
        assert_eq!(sellers[number][1], seller["n_rows"].to_string(), "{name}");
        assert_eq!(document["sellers"][number]["seller"], number.to_string());
        assert_eq!(document["sellers"][number]["n_rows"], seller["n_rows"]);
        assert!(
            task.files
                .iter()
                .all(|file| !String::from_utf8_lossy(&file.bytes).contains(name))
        );
    }
}

#[test]
fn speech_gives_the_clips_with_their_words() {
    let (_scratch, dataset) = demo::<SpeechSelection>();
    let task = given(&dataset, "en-25");
    let document: Value = serde_json::from_str(text(&task, "task.json")).unwrap();
    let files = dataset.files();
    let ids = pollster::block_on(files.whole("en/train_ids.txt")).unwrap();
    let ids: Vec<&str> = std::str::from_utf8(&ids).unwrap().lines().collect();
    let matrix = pollster::block_on(files.tensor("en/train.safetensors", "embeddings")).unwrap();
    let width = matrix.len() / ids.len();
    let lines = fields(text(&task, "pool.csv"));
    let given = rows(bytes(&task, "pool.npy"));
    let artifact = json!({ "targets": { "job": numbers(ids.len()) }, "nontargets": ["3"] });
    let translated = translated(&task, &artifact);
    let named = strings(&translated["targets"]["job"]);
    assert_eq!(translated["nontargets"], json!([named[3]]));
    assert_eq!(
        named.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        ids.iter().copied().collect()
    );
    for (number, id) in named.iter().enumerate() {
        let row = ids.iter().position(|known| known == id).unwrap();
        assert_eq!(given[number], &matrix[row * width..][..width]);
        // an id begins with its word, which is a label if the word is a target
        let word = id.split('/').next().unwrap();
        let is_target = document["words"]
            .as_array()
            .unwrap()
            .iter()
            .any(|target| target == word);
        assert_eq!(
            lines[number],
            [number.to_string().as_str(), if is_target { word } else { "" }],
            "{id}"
        );
    }
    hides(&task, &named);
}

#[test]
fn vision_selection_provides_pool_and_search_images() {
    let (_scratch, dataset) = demo::<VisionSelection>();
    let task = given(&dataset, "open");
    let document: Value = serde_json::from_str(text(&task, "task.json")).unwrap();
    let concept = document["concepts"][0].as_str().unwrap();
    let n = rows(bytes(&task, "pool.npy")).len();
    assert_eq!(fields(text(&task, "pool.csv")).len(), n);
    let labels: BTreeMap<String, u8> = numbers(n).into_iter().map(|number| (number, 1)).collect();
    let records = pollster::block_on(dataset.files().tensor("public/pool.safetensors", "records")).unwrap();
    let parameters = &dataset.manifest().parameters;
    let id_bytes = parameters["id_bytes"].as_u64().unwrap() as usize;
    let row_of: BTreeMap<String, &[u8]> = records
        .chunks_exact(records.len() / n)
        .map(|record| {
            let id = std::str::from_utf8(&record[..id_bytes])
                .unwrap()
                .trim_end_matches('\0');
            (id.to_owned(), &record[id_bytes..])
        })
        .collect();
    let given = rows(bytes(&task, "pool.npy"));
    let mut ids = BTreeMap::new();
    for number in numbers(n) {
        let one = translated(&task, &json!({ concept: { &number: 1 } }));
        let id = one[concept].as_object().unwrap().keys().next().unwrap().clone();
        assert_eq!(given[number.parse::<usize>().unwrap()], row_of[&id], "{id}");
        ids.insert(number, id);
    }
    let all = translated(&task, &json!({ concept: labels }));
    assert_eq!(all[concept].as_object().unwrap().len(), n);
    let examples =
        pollster::block_on(dataset.files().whole(&format!("public/examples/{concept}.txt"))).unwrap();
    let examples: BTreeSet<&str> = std::str::from_utf8(&examples).unwrap().lines().collect();
    let lines = fields(text(&task, "examples.csv"));
    let of_concept = lines
        .iter()
        .filter(|line| line[0] == concept)
        .map(|line| ids[line[1]].as_str());
    assert_eq!(of_concept.collect::<BTreeSet<_>>(), examples);
    hides(&task, ids.values());
}

#[test]
fn vision_debugging_provides_images_with_given_labels() {
    let (_scratch, dataset) = demo::<VisionDebugging>();
    let task = given(&dataset, "open");
    let document: Value = serde_json::from_str(text(&task, "task.json")).unwrap();
    for name in document["tasks"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        let path = format!("public/{name}/train.safetensors");
        let files = dataset.files();
        let matrix = pollster::block_on(files.tensor(&path, "embeddings")).unwrap();
        let labels = pollster::block_on(files.tensor(&path, "labels")).unwrap();
        let given = rows(bytes(&task, &format!("train-{name}.npy")));
        let lines = fields(text(&task, &format!("train-{name}.csv")));
        let order: Vec<usize> = (0..labels.len()).collect();
        let order = translated(&task, &json!({ name: order }));
        let order: Vec<usize> = serde_json::from_value(order[name].clone()).unwrap();
        assert!(!order.is_sorted());
        let width = matrix.len() / labels.len();
        for (number, &row) in order.iter().enumerate() {
            assert_eq!(given[number], &matrix[row * width..][..width]);
            assert_eq!(lines[number], [number.to_string(), labels[row].to_string()]);
        }
        let beyond = task.artifact(&serde_json::to_vec(&json!({ name: [0, labels.len()] })).unwrap());
        assert_eq!(beyond.unwrap_err().reasons()[0].code, "index_out_of_range");
    }
}

#[test]
fn data_acquisition_gives_prices_and_summaries() {
    let (_scratch, dataset) = demo::<DataAcquisition>();
    let task = given(&dataset, "open");
    let lines = fields(text(&task, "sellers.csv"));
    let parameters = &dataset.manifest().parameters;
    let mut n_moved = 0;
    for (market, about) in parameters["markets"].as_object().unwrap() {
        let sellers = about["sellers"].as_array().unwrap();
        let counts: Vec<usize> = (0..sellers.len()).collect();
        let counts = translated(&task, &json!({ market: counts }));
        let document: Value = serde_json::from_str(text(&task, &format!("market-{market}.json"))).unwrap();
        assert_eq!(document["budget"], about["budget"]);
        for (seller, number) in sellers.iter().zip(counts[market].as_array().unwrap()) {
            let is_its_line =
                |line: &&Vec<&str>| line[0] == market && line[1].parse().ok() == number.as_u64();
            let line = lines.iter().find(is_its_line).unwrap();
            assert_eq!(line[2], seller["n_rows"].to_string());
            assert_eq!(
                document["sellers"][number.as_u64().unwrap() as usize]["n_rows"],
                seller["n_rows"]
            );
        }
        n_moved += usize::from(!counts[market].as_array().unwrap().is_sorted_by_key(Value::as_u64));
        // too few counts are refused by the ordinary rules
        assert_eq!(translated(&task, &json!({ market: [1] })), json!({ market: [1] }));
    }
    assert!(n_moved > 0, "no market's sellers are in another order");
}

#[test]
fn curation_has_no_closed_boards() {
    let (_scratch, dataset) = demo::<Curation>();
    assert!(
        pollster::block_on(dataset.closed_task("digits-set"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn malformed_artifacts_stay_for_the_ordinary_rules() {
    let (_scratch, dataset) = demo::<Selection>();
    let task = given(&dataset, "digits-20");
    for artifact in [
        json!([]),
        json!({ "ids": 3 }),
        json!({ "ids": [3, null] }),
        json!({ "other": ["0"] }),
    ] {
        assert_eq!(translated(&task, &artifact), artifact);
    }
    let rejection = task
        .artifact(br#"{"ids": ["0", "700", "00", 1, "x"]}"#)
        .unwrap_err();
    let places: Vec<&str> = rejection
        .reasons()
        .iter()
        .map(|reason| reason.at.as_str())
        .collect();
    assert_eq!(places, ["/ids/1", "/ids/2", "/ids/4"]);
    assert!(task.artifact(b"").is_err());
}

/// No file that a program is given has a row of a test set that is hidden from participants.
fn has_no_hidden_row<B: Import>(leaderboard: &str) {
    let (_scratch, dataset) = demo::<B>();
    let task = given(&dataset, leaderboard);
    let sets = B::labelled(dataset.manifest()).unwrap();
    let hidden: BTreeSet<(String, &str)> = sets
        .into_iter()
        .filter(|set| !set.rows.file.starts_with("public/"))
        .map(|set| (set.rows.file, set.rows.tensor))
        .collect();
    let folder = |file: &str| {
        file.split_once('/')
            .map_or(String::new(), |(folder, _)| folder.to_owned())
    };
    let folders: BTreeSet<String> = hidden.iter().map(|(file, _)| folder(file)).collect();
    let mut n_searched = 0;
    for (file, tensor) in hidden {
        let bytes = if tensor.is_empty() {
            pollster::block_on(dataset.files().whole(&file)).unwrap()
        } else {
            pollster::block_on(dataset.files().tensor(&file, tensor)).unwrap()
        };
        let known = &dataset.manifest().files[&file];
        let all: Vec<&[u8]> = match known.tensors.get(tensor) {
            Some(tensor) => bytes.chunks_exact(tensor.row_bytes().unwrap() as usize).collect(),
            None => rows(&bytes),
        };
        for row in all.iter().step_by(all.len().div_ceil(16)) {
            n_searched += 1;
            // the demo's debugging tasks share images: one's test image may be another's validation image
            let is_of_other = |name: &str| {
                folders
                    .iter()
                    .any(|other| *other != folder(&file) && name.contains(&format!("-{other}.")))
            };
            for given in task.files.iter().filter(|given| !is_of_other(&given.name)) {
                let is_there = given.bytes.windows(row.len()).any(|window| window == *row);
                assert!(!is_there, "{}: {} has a row of {file}", B::ID, given.name);
            }
        }
    }
    assert!(n_searched >= 12, "{}: {n_searched} rows were looked for", B::ID);
}

#[test]
fn no_program_is_given_a_hidden_row() {
    has_no_hidden_row::<SpeechSelection>("en-25");
    has_no_hidden_row::<VisionSelection>("open");
    has_no_hidden_row::<VisionDebugging>("open");
    has_no_hidden_row::<DataAcquisition>("open");
    has_no_hidden_row::<Selection>("digits-20");
    has_no_hidden_row::<Debugging>("tissue");
    has_no_hidden_row::<Acquisition>("clinics");
}
