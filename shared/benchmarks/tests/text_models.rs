//! Models that compete on the examples of Adversarial Text: what is refused, what a run takes, and the score of `dataperf dynamic models`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::FrozenPart as _;
use dataperf::benchmark::closed::{ClosedBoards, Measured};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::{evaluate, gather};
use dataperf::replicates::Replicates;
use dataperf::{Benchmark, Ending, Verdict};
use dataperf_benchmarks::adversarial_text_models::AdversarialTextModels;
use dataperf_collections::text::compare::{Rates, Trial, TrialItem, TrialRun, WEIGHTS};
use dataperf_collections::text::export::Row;
use dataperf_datasets::{DirectoryBucket, ImportError, Silent, import};
use serde_json::{Value, json};
use tempfile::TempDir;

type Programs = <AdversarialTextModels as Benchmark>::ClosedBoards;
const BOARD: &str = "models";
const ROUNDS: [&str; 3] = ["round-1", "round-2", "round-3"];

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../demo/adversarial-text-models")
}

fn opened(from: &Path) -> (TempDir, Dataset<AdversarialTextModels>) {
    let out = tempfile::tempdir().unwrap();
    let frozen = out.path().join("frozen");
    import::<AdversarialTextModels>(from, &frozen, &Silent).unwrap();
    let bucket = DirectoryBucket::new(frozen);
    let dataset = pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Digests));
    (out, dataset.unwrap())
}

fn submission(name: &str) -> Value {
    let bytes = fs::read(demo().join("submissions/models").join(name)).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn judged(dataset: &Dataset<AdversarialTextModels>, artifact: &Value) -> Verdict {
    pollster::block_on(evaluate(dataset, BOARD, artifact.to_string().as_bytes())).unwrap()
}

fn codes(verdict: &Verdict) -> Vec<(&str, &str)> {
    let reasons = verdict.reasons.iter();
    reasons
        .map(|reason| (reason.code.as_str(), reason.at.as_str()))
        .collect()
}

/// The examples of the demo's rounds, as the command that compares programs offline reads them.
fn trial() -> Trial {
    let items = ROUNDS.iter().flat_map(|round| {
        let text = fs::read_to_string(demo().join(round).join("test.jsonl")).unwrap();
        let rows: Vec<Row> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        rows.into_iter().map(|row| TrialItem::of_row(round, row))
    });
    Trial::new(items.collect())
}

#[test]
fn a_score_is_a_hundredth_of_offline_points() {
    let (_scratch, dataset) = opened(&demo());
    let trial = trial();
    for name in ["ada/overlap.json", "bo/constant.json"] {
        let mut artifact = submission(name);
        let verdict = judged(&dataset, &artifact);
        assert_eq!(verdict.status, Ending::Scored, "{verdict:?}");
        let measured: Measured = serde_json::from_value(artifact["measured"].take()).unwrap();
        artifact.as_object_mut().unwrap().remove("measured");
        let answers = trial.answers(artifact.to_string().as_bytes()).unwrap();
        let run = TrialRun {
            name: name.to_owned(),
            measured,
            judged: trial.judged(&answers),
        };
        let compared = trial.report(&[run], Rates::default(), WEIGHTS).models.remove(0);
        let score = verdict.score.unwrap();
        assert!(
            (100.0 * score - compared.score).abs() < 1e-9,
            "{score} {compared:?}"
        );
        assert_eq!(
            verdict.metrics["performance"],
            json!(compared.figures.performance)
        );
        assert_eq!(verdict.metrics["fuel"], json!(compared.figures.fuel));
        let least = AdversarialTextModels::SCORE_RANGE;
        assert!(least.contains(&score));
    }
}

/// Annotators are drawn with all their texts, over all rounds at once.
#[test]
fn draws_take_whole_annotators() {
    let (_scratch, dataset) = opened(&demo());
    let artifact = submission("ada/overlap.json").to_string();
    let evaluated = pollster::block_on(gather(&dataset, BOARD, artifact.as_bytes())).unwrap();
    let header = Replicates::draw(&evaluated, 0.5).unwrap().header;
    assert_eq!((header.missing, header.is_clustered), (None, true));
    assert_eq!(header.smallest, 24, "the annotators of a round of the demo");
    assert_eq!(header.n_items, trial().items().len());
    let (_, items) = evaluated.frozen.eval_items().unwrap().remove(0);
    let annotators = items.clusters.unwrap();
    let of_trial: Vec<usize> = trial().items().iter().map(|item| item.annotator).collect();
    assert_eq!(annotators, of_trial);
}

/// The cost of a run follows from the rates, and is at most a hundred points each.
#[test]
fn fuel_and_memory_cost_up_to_a_bound() {
    let (_scratch, dataset) = opened(&demo());
    let mut artifact = submission("ada/overlap.json");
    let n_inputs = trial().lines().len() as u64;
    let mut score = |fuel: u64, memory_bytes: u64| {
        artifact["measured"] = json!({ "fuel": fuel, "memory_bytes": memory_bytes });
        judged(&dataset, &artifact).score.unwrap()
    };
    let free = score(0, 0);
    let per_input = 10_000_000 * n_inputs; // a point
    assert!((free - score(per_input, 0) - 0.01).abs() < 1e-9);
    assert!((free - score(0, 64 << 20) - 0.01).abs() < 1e-9);
    assert!((free - score(u64::MAX / 4, u64::MAX / 4) - 2.0).abs() < 1e-9);
}

#[test]
fn every_broken_rule_has_its_code() {
    let (_scratch, dataset) = opened(&demo());
    let good = submission("bo/constant.json");
    let trial = trial();
    let frozen_with = |has_spans: bool| {
        let line = trial
            .lines()
            .iter()
            .find(|line| line.task.has_spans() == has_spans);
        line.unwrap().id.clone()
    };
    let (labelled, question) = (frozen_with(false), frozen_with(true));
    let changed = |id: &str, answer: Value| {
        let mut artifact = good.clone();
        artifact["answers"][id] = answer;
        artifact
    };
    let at = |id: &str| format!("/answers/{id}");
    for (artifact, id) in [
        (changed(&labelled, json!({ "label": "fine" })), &labelled),
        (changed(&labelled, json!({ "start": 0, "text": "" })), &labelled),
        (changed(&question, json!({ "label": "neutral" })), &question),
        (
            changed(&question, json!({ "start": 0, "text": "not in any context" })),
            &question,
        ),
    ] {
        assert_eq!(
            codes(&judged(&dataset, &artifact)),
            [("bad_answer", at(id).as_str())]
        );
    }
    let verdict = judged(&dataset, &changed(&labelled, json!("neutral")));
    assert_eq!(codes(&verdict), [("wrong_form", at(&labelled).as_str())]);
    for id in ["x", "00", "-1", "100000"] {
        let verdict = judged(&dataset, &changed(id, json!({ "label": "neutral" })));
        assert_eq!(codes(&verdict), [("unknown_id", at(id).as_str())]);
    }
    let mut missing = good.clone();
    missing["answers"].as_object_mut().unwrap().remove(&labelled);
    assert_eq!(
        codes(&judged(&dataset, &missing)),
        [("missing_answers", "/answers")]
    );
    let twice = good.to_string().replacen(
        "{\"answers\":{",
        "{\"answers\":{\"0\":{\"label\":\"neutral\"},",
        1,
    );
    let verdict = pollster::block_on(evaluate(&dataset, BOARD, twice.as_bytes())).unwrap();
    assert!(
        codes(&verdict).contains(&("duplicate_key", "/answers/0")),
        "{verdict:?}"
    );
    let mut more = good.clone();
    more["why"] = json!("because");
    assert_eq!(codes(&judged(&dataset, &more)), [("unknown_key", "/why")]);
    let mut unmeasured = good.clone();
    unmeasured.as_object_mut().unwrap().remove("measured");
    assert_eq!(codes(&judged(&dataset, &unmeasured)), [("not_measured", "")]);
    let mut negative = good.clone();
    negative["measured"]["fuel"] = json!(-1);
    assert_eq!(codes(&judged(&dataset, &negative)), [("wrong_form", "/measured")]);
    assert_eq!(
        codes(&judged(&dataset, &json!({ "measured": good["measured"] })))[0].0,
        "wrong_form"
    );
    assert!(!codes(&judged(&dataset, &json!([]))).is_empty());
}

#[test]
fn programs_receive_inputs_and_their_runs_are_measured() {
    let (_scratch, dataset) = opened(&demo());
    let (task, _) = pollster::block_on(dataset.closed_task(BOARD)).unwrap().unwrap();
    let names: Vec<&str> = task.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["task.json", "inputs.jsonl"]);
    let document: Value = serde_json::from_slice(&task.files[0].bytes).unwrap();
    assert_eq!(document["benchmark"], "adversarial-text-models");
    assert_eq!(
        document["labels"]["hate-speech"],
        json!(["hateful", "not-hateful"])
    );
    let lines = std::str::from_utf8(&task.files[1].bytes).unwrap().lines();
    let inputs: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        json!(inputs),
        json!(trial().lines()),
        "as offline, and nothing of rounds and right answers"
    );

    let written = br#"{"answers": {}}"#;
    let took = Measured {
        fuel: 7,
        memory_bytes: 65_536,
    };
    let artifact = Programs::with_measured(task.artifact(written).unwrap(), Some(took)).unwrap();
    let artifact: Value = serde_json::from_slice(&artifact).unwrap();
    assert_eq!(
        artifact,
        json!({ "answers": {}, "measured": { "fuel": 7, "memory_bytes": 65_536 } })
    );
    let uncounted = Programs::with_measured(written.to_vec(), None).unwrap_err();
    assert_eq!(uncounted.reasons()[0].code, "not_measured");
    let own = task.artifact(br#"{"answers": {}, "measured": {"fuel": 0, "memory_bytes": 0}}"#);
    assert_eq!(own.unwrap_err().reasons()[0].at, "/measured");
}

#[test]
fn a_wrong_document_is_refused_with_all_errors() {
    let from = tempfile::tempdir().unwrap();
    let out = from.path().join("frozen");
    let refused = |document: &str| {
        fs::write(from.path().join("models.yaml"), document).unwrap();
        match import::<AdversarialTextModels>(from.path(), &out, &Silent) {
            Err(ImportError::Refused { problems, .. }) => problems,
            other => panic!("{other:?}"),
        }
    };
    fs::create_dir(from.path().join("r")).unwrap();
    fs::write(from.path().join("r/test.jsonl"), "{}\n").unwrap();
    fs::write(from.path().join("r/train.jsonl"), "").unwrap();
    let problems =
        refused("title: t\npart: train\nrates: {fuel: 0, fairness: 1}\nrounds: {Round 1: nowhere, r: r}\n");
    for message in [
        "`part` is `train`",
        "the rate `fuel` is 0",
        "the rate `fairness` is 1",
        "Round 1",
        "dataperf dynamic export",
        "has no examples",
    ] {
        assert!(
            problems.iter().any(|problem| problem.contains(message)),
            "{message}: {problems:?}"
        );
    }
    let problems = refused("title: t\nrounds: {r: r}\n");
    assert!(problems[0].contains("line 1"), "{problems:?}");
    assert!(refused("title: t\nrounds: {}\n")[0].contains("is empty"));
    assert!(refused("rounds: {r: r}\n")[0].contains("title"));
    assert!(refused("title: ' '\nrounds: {r: r}\n")[0].contains("`title` has to be one line"));

    // of an example: another part, no text, an answer that its task has not, the same one in two rounds, and in the last line of another round,
    // found right by nobody, and about nothing
    let row = |id: &str, text: &str, label: &str, split: &str| {
        json!({ "id": id, "round": "r", "task": "nli", "context": "It rains.", "text": text, "label": label, "annotator": "a",
                "is_fooling": true, "is_verified": true, "split": split })
    };
    let mut other = row("five", "It pours.", "neutral", "test");
    other["round"] = json!("s");
    other["is_verified"] = json!(false);
    other.as_object_mut().unwrap().remove("context");
    let rows = [
        row("one", "It is wet.", "entailment", "test"),
        row("two", "It is dry.", "contradiction", "train"),
        row("three", " ", "neutral", "test"),
        row("four", "It pours.", "wet", "test"),
        other,
    ];
    let lines = rows.map(|row| row.to_string()).join("\n");
    fs::write(from.path().join("r/test.jsonl"), lines + "\n\n").unwrap();
    fs::create_dir(from.path().join("copy")).unwrap();
    fs::copy(
        from.path().join("r/test.jsonl"),
        from.path().join("copy/test.jsonl"),
    )
    .unwrap();
    let problems = refused("title: t\nrounds: {r: r, copy: copy, same: r}\n");
    for message in [
        "line 2: it is of the part `train`",
        "line 3: it has no text",
        "line 4: `wet` is not an answer",
        "the example `one` appears twice, here or in another round",
        "line 5: it is of the round `s`, and the first example of `r`",
        "the rounds `r` and `same` name the same directory",
    ] {
        assert!(
            problems.iter().any(|problem| problem.contains(message)),
            "{message}: {problems:?}"
        );
    }
    let all = problems
        .iter()
        .find(|problem| problem.contains("line 5"))
        .unwrap();
    assert!(
        all.contains("`is_verified` is false") && all.contains("`nli` needs one"),
        "all at once: {all}"
    );
    assert!(!out.exists());
}
