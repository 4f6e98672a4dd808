//! The export of a round, and its use by models.

use std::collections::{BTreeMap, BTreeSet};

use dataperf_collections::text::export::{
    About, Export, JudgedExample, Row, RulesOfExamples, Split, datasheet, json_lines,
};
use dataperf_collections::text::matrix::Matrix;
use dataperf_collections::text::models::{ModelError, TargetModel};
use dataperf_collections::text::{
    Answer, Decision, Example, ExampleId, Gold, Input, Judgement, Task, Validation, duplicates,
};

use crate::key;

fn label(label: &str) -> Gold {
    Gold::Label(label.into())
}

/// The `n`-th example of somebody.
fn judged(annotator: &str, n: usize, is_fooling: bool, decision: Option<Decision>) -> JudgedExample {
    let verdicts = decision.iter().flat_map(|_| {
        ["vera", "vito", "viola"].map(|name| (name.to_owned(), Judgement::Flagged("seen by vera".into())))
    });
    let answer = Answer {
        gold: label("neutral"),
        probabilities: BTreeMap::from([("neutral".to_owned(), 0.75)]),
    };
    JudgedExample {
        id: ExampleId::derive(annotator, n),
        annotator: annotator.into(),
        example: Example {
            task: Task::Nli,
            context_id: Some("barn".into()),
            text: format!("There are {n} animals in it"),
            gold: label("entailment"),
            why: String::new(),
        },
        context: Some("A horse stands in the red barn.".into()),
        is_duplicate: false,
        is_fooling,
        answers: BTreeMap::from([("one".to_owned(), answer)]),
        fooled: BTreeMap::from([("one".to_owned(), is_fooling)]),
        verdicts: verdicts.collect(),
        decision,
    }
}

/// Ten annotators, each with four validated examples and one of each other kind.
fn round() -> Vec<JudgedExample> {
    let names = [
        "ada", "bob", "cleo", "dan", "eve", "finn", "gus", "hal", "ida", "jo",
    ];
    let collect = |name: &&str| {
        let mut examples: Vec<JudgedExample> = (0..4)
            .map(|n| judged(name, n, true, Some(Decision::Correct)))
            .collect();
        examples.push(judged(name, 4, false, None));
        examples.push(judged(name, 5, false, Some(Decision::Correct)));
        examples.push(judged(
            name,
            6,
            true,
            Some(Decision::Incorrect(Some(label("neutral")))),
        ));
        examples.push(judged(name, 7, true, None));
        examples.push(judged(name, 8, true, Some(Decision::Flagged)));
        examples.push(judged(name, 9, false, Some(Decision::NoAgreement)));
        examples.push(JudgedExample {
            is_duplicate: true,
            ..judged(name, 10, true, Some(Decision::Correct))
        });
        examples
    };
    names.iter().flat_map(collect).collect()
}

fn export() -> Export {
    Export::build(round(), "spring", &key(), &BTreeMap::new())
}

fn about() -> About {
    About {
        title: "Text".into(),
        exported_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        rules: vec![rules("sha256:0", 3)],
        licence: "CC0".into(),
        simulated: None,
    }
}

fn rules(dataset: &str, equal: usize) -> RulesOfExamples {
    RulesOfExamples {
        dataset: dataset.into(),
        n_examples: 10,
        targets: BTreeMap::from([("one".to_owned(), "linear".to_owned())]),
        validation: Validation {
            equal,
            ..Validation::default()
        },
    }
}

#[test]
fn a_datasheet_lists_the_rules_of_its_examples() {
    let of_one = datasheet(&export(), &about());
    for message in [
        "the round's models (`one`: linear) answered",
        "3 equal verdicts of at most 5 decide. They got all fooling texts and 10 % of the others. Krippendorff's",
        "The data set with the rules, contexts and models of the round: `sha256:0`.\n",
    ] {
        assert!(of_one.contains(message), "{message}: {of_one}");
    }
    let of_two = About {
        rules: vec![rules("sha256:0", 3), rules("sha256:1", 4)],
        ..about()
    };
    let of_two = datasheet(&export(), &of_two);
    for message in [
        "the round's models answered",
        "\n| `sha256:0` | 10 | 3 | 5 | 10 % | `one`: linear |\n",
        "\n| `sha256:1` | 10 | 4 | 5 | 10 % | `one`: linear |\n\nKrippendorff's",
        "The data sets with the rules, contexts and models of the round: `sha256:0`, `sha256:1`.\n",
    ] {
        assert!(of_two.contains(message), "{message}: {of_two}");
    }
}

#[test]
fn each_annotator_is_in_exactly_one_part() {
    let export = export();
    let annotators =
        |split| -> BTreeSet<&str> { export.part(split).map(|row| row.annotator.as_str()).collect() };
    let (train, dev, test) = (
        annotators(Split::Train),
        annotators(Split::Dev),
        annotators(Split::Test),
    );
    assert_eq!((train.len(), dev.len(), test.len()), (8, 1, 1));
    assert!(train.is_disjoint(&dev) && train.is_disjoint(&test) && dev.is_disjoint(&test));
    assert_eq!(
        (
            export.part(Split::Train).count(),
            export.part(Split::Test).count()
        ),
        (48, 4)
    );
    assert!(
        export
            .part(Split::Test)
            .all(|row| row.is_fooling && row.is_verified)
    );
    let n = export.counts[&Task::Nli];
    assert_eq!(
        (n.n_submitted, n.n_duplicates, n.n_pending, n.n_flagged),
        (110, 10, 10, 10)
    );
    assert_eq!((n.n_refused, n.n_easy), (20, 4));
    let n_left_out = n.n_duplicates + n.n_pending + n.n_flagged + n.n_refused + n.n_easy;
    assert_eq!(export.rows.len() + n_left_out, n.n_submitted);
    // who was in the test set stays there
    let parts: BTreeMap<String, Split> = export
        .rows
        .iter()
        .map(|row| (row.annotator.clone(), row.split))
        .collect();
    let again = Export::build(round(), "summer", &key(), &parts);
    assert!(again.rows.iter().all(|row| parts[&row.annotator] == row.split));
}

#[test]
fn nothing_that_is_exported_names_anybody() {
    let export = export();
    let lines = String::from_utf8(json_lines(&export.rows).unwrap()).unwrap();
    let text = format!("{lines}\n{}", datasheet(&export, &about()));
    let names = ["ada", "bob", "cleo", "gus", "vera", "vito", "viola", "seen by"];
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    for name in names {
        assert!(!words.contains(name), "{name}");
    }
    let first: Row = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first, export.rows[0]);
    assert!(
        first.annotator.starts_with("annotator-")
            && first.verdicts.iter().all(|one| one.verdict == "flagged")
    );
    assert_eq!(first.context.as_deref(), Some("A horse stands in the red barn."));
    // the order says nothing about time or people, and the same examples give the same bytes
    let mut turned = round();
    turned.reverse();
    let again = Export::build(turned, "spring", &key(), &BTreeMap::new());
    assert_eq!(again, export);
}

/// Says the same label to everything.
struct Says(&'static str);

impl TargetModel for Says {
    fn answers(&self, task: Task, inputs: &[Input]) -> Result<Vec<Answer>, ModelError> {
        if task != Task::Nli {
            return Err(ModelError::OtherTask(task));
        }
        let answer = Answer {
            gold: label(self.0),
            probabilities: BTreeMap::new(),
        };
        Ok(vec![answer; inputs.len()])
    }
}

#[test]
fn the_matrix_covers_each_model_and_round() {
    let export = export();
    let (right, wrong) = (Says("entailment"), Says("neutral"));
    let models: [(String, &dyn TargetModel); 2] =
        [("right".to_owned(), &right), ("wrong".to_owned(), &wrong)];
    let rounds = [
        ("spring".to_owned(), &export.rows[..]),
        ("empty".to_owned(), &[][..]),
    ];
    let matrix = Matrix::compute(&models, &rounds).unwrap();
    assert_eq!(matrix.cells.len(), 2, "{matrix:?}");
    let cell = matrix.cell(Task::Nli, "wrong", "spring").unwrap();
    assert_eq!((cell.n, cell.n_wrong), (4, 4));
    assert_eq!(matrix.cell(Task::Nli, "right", "spring").unwrap().n_wrong, 0);
    assert_eq!(
        matrix.to_markdown(),
        "| nli | spring (4) | empty (0) |\n|---|---|---|\n\
        | right | 0.0 | – |\n| wrong | 100.0 | – |\n"
    );
    assert!(matrix.to_csv().ends_with("\nnli,wrong,spring,4,4,1,1,,\n"));
    assert_eq!(
        (cell.n_annotators, cell.interval),
        (1, None),
        "one annotator has no spread"
    );
    // two annotators count as two texts, not as four
    let mut rows = export.rows.clone();
    rows.iter_mut()
        .step_by(2)
        .for_each(|row| row.annotator = "another".into());
    let matrix = Matrix::compute(&models, &[("spring".to_owned(), &rows[..])]).unwrap();
    let (from, to) = matrix
        .cell(Task::Nli, "wrong", "spring")
        .unwrap()
        .interval
        .unwrap();
    assert!(from < 0.2 && to >= 1.0, "{from} {to}");
}

#[test]
fn equal_text_and_context_in_any_spelling_duplicate() {
    let example = |text: &str, context: &str| Example {
        text: text.into(),
        context_id: Some(context.into()),
        ..judged("ada", 0, true, None).example
    };
    let one = example("There is a horse indoors.", "barn");
    let same = example("Thеre is a h0rse ind oors", "barn"); // with a Cyrillic е
    assert_eq!(duplicates::keys(&one).exact, duplicates::keys(&same).exact);
    let elsewhere = example("There is a horse indoors.", "mill");
    assert_ne!(duplicates::keys(&one).exact, duplicates::keys(&elsewhere).exact);
    let earlier = [duplicates::Earlier {
        item: ExampleId::derive("b", 1),
        text: duplicates::comparable(&one.text),
        is_own: false,
    }];
    assert!(duplicates::repeated(&same, &earlier, 0.9).is_exact);
    let near = example("There is a horse indoors now", "barn");
    assert!(!duplicates::repeated(&near, &earlier, 0.95).is_one());
    assert!(duplicates::repeated(&near, &earlier, 0.7).is_one());
}

#[test]
fn a_row_is_written_as_the_documents_say() {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/wire-formats.md"));
    let (_, rest) = document.split_once("A row of an exported round").unwrap();
    let block = rest.split("```").nth(1).unwrap().trim_start_matches("json");
    let shown: serde_json::Value = serde_json::from_str(block).unwrap();
    let row: Row = serde_json::from_value(shown.clone()).unwrap();
    assert_eq!(serde_json::to_value(&row).unwrap(), shown);
}
