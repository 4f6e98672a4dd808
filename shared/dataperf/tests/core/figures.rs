//! What can be drawn of a verdict.

use dataperf::benchmark::scorecard::Metrics;
use dataperf::receipt::figures::Figures;
use dataperf::{Descriptor, Digest, Feedback, Scorecard, Verdict};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use serde_json::{Value, json};

const ACQUISITION: Descriptor = Descriptor::for_benchmark::<DataAcquisition>();
const DEBUGGING: Descriptor = Descriptor::for_benchmark::<VisionDebugging>();
const SPEECH: Descriptor = Descriptor::for_benchmark::<SpeechSelection>();

fn verdict(hosted: &Descriptor, metrics: Value) -> Verdict {
    let digest = Digest::compute(b"any");
    let card = Scorecard {
        score: 0.5,
        metrics: Metrics::new(),
    };
    Verdict {
        metrics: serde_json::from_value(metrics).expect("an object"),
        ..Verdict::scored(hosted.id, "open", digest, digest, card)
    }
}

#[test]
fn seeds_are_trials_and_spread_the_score() {
    let verdict = verdict(
        &SPEECH,
        json!({ "per_seed": [0.25, 0.75], "seeds": [5, 69], "std": 0.25, "n_clips": 2,
                "f1_per_class": { "a/b": 0.5, "c": 0.25 } }),
    );
    let figures = Figures::from_verdict(&verdict, SPEECH.metrics);
    assert_eq!(figures.trials.len(), 1);
    assert_eq!(
        (
            figures.trials[0].place.as_str(),
            figures.trials[0].labels.join(" ")
        ),
        ("", "5 69".into())
    );
    let spread = figures.spread.as_ref().expect("there are trials");
    assert_eq!(
        (spread.over.as_str(), spread.std, spread.min, spread.max),
        ("seed", 0.25, 0.25, 0.75)
    );
    assert!(figures.curves.is_empty());
    let facts =
        |figures: &Figures| -> Vec<String> { figures.facts.iter().map(|fact| fact.name.clone()).collect() };
    assert_eq!(facts(&figures), ["std", "n_clips"]);
    assert_eq!(figures.tables.len(), 1);
    assert_eq!(figures.tables[0].name, "f1_per_class");
    assert_eq!(figures.tables[0].columns[0].title, "F1 of each class");
    assert_eq!(
        (
            figures.tables[0].lines[0].label.as_str(),
            &figures.tables[0].lines[1].values
        ),
        ("a/b", &vec![Some(0.25)])
    );
    let score_alone = Figures::from_verdict(&verdict.shown(Feedback::Score, &SPEECH), SPEECH.metrics);
    assert_eq!(facts(&score_alone), ["n_clips"]);
    assert_eq!(
        score_alone,
        Figures {
            facts: score_alone.facts.clone(),
            ..Figures::default()
        }
    );
}

#[test]
fn trials_of_parts_are_averaged_part_by_part() {
    let part = |trials: [f64; 2]| json!({ "accuracy": 0.5, "per_trial": trials, "cost": 3 });
    let verdict = verdict(
        &ACQUISITION,
        json!({ "markets": { "0": part([0.25, 0.75]), "1": part([0.5, 0.5]) }, "buyer_model": "knn" }),
    );
    let figures = Figures::from_verdict(&verdict, ACQUISITION.metrics);
    let items: Vec<&str> = figures
        .trials
        .iter()
        .map(|trials| trials.place.as_str())
        .collect();
    assert_eq!(items, ["markets / 0", "markets / 1"]);
    assert_eq!(
        figures.spread.map(|spread| spread.values),
        Some(vec![0.375, 0.625])
    );
    let columns = |figures: &Figures| -> Vec<String> {
        let columns = figures.tables[0].columns.iter();
        columns.map(|column| column.name.clone()).collect()
    };
    assert_eq!(
        columns(&Figures::from_verdict(&verdict, ACQUISITION.metrics)),
        ["accuracy", "cost"]
    );
    let score_alone =
        Figures::from_verdict(&verdict.shown(Feedback::Score, &ACQUISITION), ACQUISITION.metrics);
    assert_eq!(
        (columns(&score_alone), score_alone.spread),
        (vec!["cost".to_owned()], None)
    );
}

#[test]
fn a_curve_knows_its_start_and_target() {
    let verdict = verdict(
        &DEBUGGING,
        json!({ "percent_of_fixes": 50.0, "tasks": {
            "one": { "accuracy": [0.5, 0.75, 0.6], "accuracy_before": 0.5, "target": 0.7, "first_step": 1, "n_images": 3 },
            "two": { "accuracy": [0.5], "n_images": 1 },
        } }),
    );
    let figures = Figures::from_verdict(&verdict, DEBUGGING.metrics);
    let [one, two] = figures.curves.as_slice() else {
        panic!("{figures:?}")
    };
    assert_eq!(
        (one.place.as_str(), one.name.as_str()),
        ("tasks / one", "accuracy")
    );
    assert_eq!(
        (one.before, one.target, one.reached),
        (Some(0.5), Some(0.7), Some(1))
    );
    assert_eq!(
        (two.y.as_slice(), two.before, two.reached),
        (&[0.5][..], None, None)
    );
    assert_eq!(figures.tables[0].lines[1].values, [None, None, None, Some(1.0)]);
    assert!(
        Figures::from_verdict(&verdict.shown(Feedback::Metrics, &DEBUGGING), DEBUGGING.metrics)
            .curves
            .is_empty()
    );
}
