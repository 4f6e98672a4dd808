//! A score is a pure function of evidence, the frozen part and weights: one law for every benchmark, on the
//! demo's real data.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::benchmark::scorecard::MetricValue;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::{MANIFEST, Manifest};
use dataperf::evaluation::evaluate::{Evaluated, evaluate, gather};
use dataperf::evidence::{
    Draws, Evidence, EvidenceError, PLACES, Repeats, UnitEvidence, Weights, shown_area,
};
use dataperf::ladder::Margin;
use dataperf::replicates::Replicates;
use dataperf::{Benchmark, Descriptor, Digest, Ending, Feedback, Scorecard, Verdict};
use dataperf_benchmarks::adversarial_text_models::AdversarialTextModels;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_benchmarks::{data_acquisition, own_data, speech_selection, vision_debugging, vision_selection};
use dataperf_datasets::{DirectoryBucket, Import, Silent, import};
use dataperf_numerics::bootstrap::N_DRAWS;
use dataperf_numerics::metrics::mean;
use serde_json::{Value, json};

fn demo(benchmark: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../demo")
        .join(benchmark)
}

fn open<B: Benchmark>(directory: &Path) -> Dataset<B> {
    let bucket = DirectoryBucket::new(directory);
    pollster::block_on(Dataset::open(bucket, String::new(), None, Integrity::Digests)).expect("a data set")
}

/// The demo's legal submissions: each board with each artifact and the score of the reference.
fn submissions<B: Benchmark>() -> Vec<(String, Vec<u8>, f64)> {
    let expected = fs::read(demo(B::ID).join("expected_scores.json")).expect("expected scores");
    let expected: Value = serde_json::from_slice(&expected).expect("json");
    let scored = expected["scored"].as_object().expect("scores by file").iter();
    let read = |(name, of_file): (&String, &Value)| {
        let (board, _) = name.split_once('/').expect("a board's folder");
        let artifact = fs::read(demo(B::ID).join("submissions").join(name)).expect("a submission");
        // without measures, the file has only the score
        let score = of_file.as_f64().or_else(|| of_file["score"].as_f64());
        (board.to_owned(), artifact, score.expect("a score"))
    };
    scored.map(read).collect()
}

fn gathered<B: Benchmark>(dataset: &Dataset<B>, board: &str, artifact: &[u8]) -> Evaluated<B> {
    pollster::block_on(gather(dataset, board, artifact)).expect("the submission obeys the rules")
}

fn judged<B: Benchmark>(dataset: &Dataset<B>, board: &str, artifact: &[u8]) -> Verdict {
    let verdict = pollster::block_on(evaluate(dataset, board, artifact)).expect("the data set is whole");
    assert_eq!(verdict.status, Ending::Scored, "{:?}", verdict.reasons);
    verdict
}

fn assert_same(card: &Scorecard, verdict: &Verdict, about: &str) {
    assert_eq!(
        Some(card.score.to_bits()),
        verdict.score.map(f64::to_bits),
        "{about}"
    );
    assert_eq!(card.metrics.clone().into_json(), verdict.metrics, "{about}");
}

/// The frozen file of a unit's test set.
fn eval_file<B: Benchmark>(unit: &str) -> String {
    match B::ID {
        "speech-selection" => speech_selection::eval_file(unit),
        "vision-selection" => vision_selection::eval_file(unit),
        "vision-debugging" => vision_debugging::eval_file(unit),
        "data-acquisition" => data_acquisition::eval_file(unit.parse().expect("a market's number")),
        "selection" | "debugging" | "acquisition" | "curation" => own_data::table::features_file(unit),
        other => panic!("where are the test sets of {other}?"),
    }
}

/// Weights from 0 to 3 for each item, by no rule that follows from the items.
fn multiplicities(evidence: &Evidence, seed: u32) -> BTreeMap<String, Vec<u32>> {
    let mut state = seed;
    let mut draw = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 30
    };
    let units = evidence.units().iter();
    units
        .map(|(name, unit)| (name.clone(), (0..unit.n_items()).map(&mut draw).collect()))
        .collect()
}

/// The weights of the rounds' files. The models' one unit has the examples of all rounds, round after round.
fn weights_of_rounds<'a>(manifest: &Manifest, weights: &'a [u32]) -> BTreeMap<String, &'a [u32]> {
    let mut rest = weights;
    let mut of_rounds = BTreeMap::new();
    for (path, entry) in &manifest.files {
        if path.starts_with("rounds/") {
            let n_items = entry.tensors.values().next().expect("a tensor").n_rows();
            let (of_round, after) = rest.split_at(n_items);
            of_rounds.insert(path.clone(), of_round);
            rest = after;
        }
    }
    assert!(rest.is_empty(), "{} weights have no example", rest.len());
    of_rounds
}

/// The data set in which each item of the test sets is repeated by its weight.
fn repeated<B: Benchmark>(from: &Path, to: &Path, weights: &BTreeMap<String, Vec<u32>>) {
    let mut manifest =
        Manifest::parse(&fs::read(from.join(MANIFEST)).expect("a manifest"), B::ID).expect("a manifest");
    let weight_of: BTreeMap<String, &[u32]> = if B::ID == AdversarialTextModels::ID {
        weights_of_rounds(&manifest, &weights["examples"])
    } else {
        let units = weights.iter();
        units
            .map(|(unit, weights)| (eval_file::<B>(unit), &weights[..]))
            .collect()
    };
    for (path, entry) in &mut manifest.files {
        let mut bytes = fs::read(from.join(path)).expect("a frozen file");
        if let Some(weights) = weight_of.get(path) {
            let mut repeated = Vec::new();
            for tensor in entry.tensors.values_mut() {
                assert_eq!(tensor.n_rows(), weights.len(), "{path}");
                repeated.resize(repeated.len().next_multiple_of(64), 0);
                let begin = repeated.len() as u64;
                for (row, &weight) in weights.iter().enumerate() {
                    let range = tensor.row_range(row).expect("a row");
                    for _ in 0..weight {
                        repeated.extend(&bytes[range.start as usize..range.end as usize]);
                    }
                }
                tensor.begin = begin;
                tensor.shape[0] = weights.iter().sum::<u32>() as usize;
            }
            bytes = repeated;
            (entry.n_bytes, entry.digest) = (bytes.len() as u64, Digest::compute(&bytes));
        }
        // own data has a line for each item next to the features
        let features = path.strip_suffix(".csv").map(own_data::table::features_file);
        if let Some(weights) = features.and_then(|features| weight_of.get(&features)) {
            let text = String::from_utf8(bytes).expect("a CSV");
            let (header, lines) = text.split_once('\n').expect("a header");
            let lines = lines.lines().zip(weights.iter());
            let repeated = lines.flat_map(|(line, &weight)| std::iter::repeat_n(line, weight as usize));
            bytes = format!("{header}\n{}\n", repeated.collect::<Vec<_>>().join("\n")).into_bytes();
            (entry.n_bytes, entry.digest) = (bytes.len() as u64, Digest::compute(&bytes));
        }
        let path = to.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    fs::write(to.join(MANIFEST), manifest.to_bytes().expect("a manifest")).expect("a file");
}

/// A draw's score is the score with the draw's weights, to the last bit. Trials are drawn too:
/// there it is the mean over the trials that a draw takes, market by market.
fn replicates_are_the_scores_of_their_weights<B: Import>(evaluated: &Evaluated<B>, about: &str) {
    let Evaluated { frozen, evidence, .. } = evaluated;
    let draws = Draws::new(frozen.eval_items().expect("hidden items"));
    let replicates = B::replicates(frozen, evidence, &draws).expect("whole evidence");
    assert_eq!(replicates.len(), N_DRAWS);
    for draw in [0, 1, 31, 32, 500, N_DRAWS - 1] {
        let card = B::score(frozen, evidence, &draws.weights(draw)).expect("a score");
        let units = evidence.units().iter();
        let of_trials: Vec<f64> = units
            .filter(|(_, unit)| matches!(unit.repeats(), Repeats::Trials(_)))
            .map(|(name, unit)| {
                let of_unit = match card.metrics.get("markets") {
                    Some(MetricValue::Table(markets)) => markets[name].get("per_trial"),
                    _ => card.metrics.get("per_trial"),
                };
                let Some(MetricValue::Trials(values)) = of_unit else {
                    panic!("{name} has no trials: {card:?}");
                };
                let trials = draws.trials(name, unit.repeats().len()).expect("a unit");
                trials.mean(draw, values)
            })
            .collect();
        let expected = if of_trials.is_empty() {
            card.score
        } else {
            mean(&of_trials)
        };
        assert_eq!(
            replicates[draw].to_bits(),
            expected.to_bits(),
            "{about}, draw {draw}"
        );
    }
    let spread = replicates.iter().fold(f64::MIN, |a, &b| a.max(b))
        - replicates.iter().fold(f64::MAX, |a, &b| a.min(b));
    assert!(spread > 0.0, "{about}: the draws change nothing");
}

/// With unit weights in any form, and after any round trip of the evidence, the score is the
/// receipt's.
fn unit_weights_give_the_receipts_score<B: Import>(evaluated: &Evaluated<B>, verdict: &Verdict, about: &str) {
    let Evaluated {
        frozen,
        evidence,
        provenance,
    } = evaluated;
    assert_eq!(Some(provenance.artifact), verdict.artifact);
    let bytes = evidence.to_bytes(provenance).expect("evidence of this size");
    let (provenance_one, read) = Evidence::from_bytes(&bytes).expect("what was written");
    assert_eq!((&provenance_one, &read), (provenance, evidence), "{about}");
    let of_units = evidence.units().iter();
    let ones = of_units
        .map(|(name, unit)| (name.clone(), vec![1; unit.n_items()]))
        .collect();
    for (kind, weights) in [
        ("implied", Weights::ones()),
        ("spelled out", Weights::of_units(ones)),
    ] {
        let card = B::score(frozen, &read, &weights).expect("a score");
        assert_eq!(card.metrics.undescribed(B::METRICS), [""; 0], "{about}");
        assert_same(&card, verdict, &format!("{about}, ones {kind}"));
    }
}

/// A weight has the same effect as repeating or removing the item in the test set.
fn weights_are_multiplicities<B: Import>(
    evaluated: &Evaluated<B>,
    of_ones: &Verdict,
    directory: &Path,
    (idx, board, artifact): (usize, &str, &[u8]),
) {
    let Evaluated { frozen, evidence, .. } = evaluated;
    let weights = multiplicities(evidence, idx as u32);
    let to = directory.join(format!("repeated-{idx}"));
    repeated::<B>(&directory.join("frozen"), &to, &weights);
    let verdict = judged(&open::<B>(&to), board, artifact);
    let card = B::score(frozen, evidence, &Weights::of_units(weights)).expect("a score");
    assert_same(&card, &verdict, &format!("{}, {board}, submission {idx}", B::ID));
    assert_ne!(
        card.metrics.into_json(),
        of_ones.metrics,
        "the weights changed nothing"
    );
    // the metrics next to a score follow from the artifact and from public data: they do not depend
    // on the score
    let others = |verdict: &Verdict| {
        verdict
            .shown(Feedback::Score, &Descriptor::for_benchmark::<B>())
            .metrics
    };
    assert_eq!(others(&verdict), others(of_ones), "{}, {board}", B::ID);
}

fn law<B: Import>() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    import::<B>(&demo(B::ID), &directory.path().join("frozen"), &Silent).expect("the demo can be imported");
    let dataset = open::<B>(&directory.path().join("frozen"));
    // every third: the demo's test holds the scores of all against the reference
    for (idx, (board, artifact, expected)) in submissions::<B>().iter().enumerate().step_by(3) {
        let about = format!("{}, {board}", B::ID);
        let verdict = judged(&dataset, board, artifact);
        let score = verdict.score.expect("a score");
        assert!(
            (score - expected).abs() < 1e-12,
            "{about}: {score} and {expected}"
        );
        let evaluated = gathered(&dataset, board, artifact);
        unit_weights_give_the_receipts_score(&evaluated, &verdict, &about);
        replicates_are_the_scores_of_their_weights(&evaluated, &about);
        if idx % 2 == 0 {
            weights_are_multiplicities(&evaluated, &verdict, directory.path(), (idx, board, artifact));
        }
    }
}

#[test]
fn evidence_and_weights_determine_every_score() {
    macro_rules! all {
        ($($benchmark:ty,)*) => { $(law::<$benchmark>();)* };
    }
    dataperf_benchmarks::for_each_benchmark!(all);
}

/// The places that a score may truly have: they hold the score, and their ends do not tell where a curve is. The area is the one that the receipt has,
/// and under each draw the one of the draw's weights.
fn place_of<B: Benchmark>(evaluated: &Evaluated<B>, about: &str) -> Option<(f64, f64)> {
    let Evaluated { frozen, evidence, .. } = evaluated;
    let draws = Draws::new(frozen.eval_items().expect("a test set"));
    let card = B::scorecard(frozen, evidence).expect("a score");
    let curves = B::on_curves(frozen, evidence, &draws).expect("whole evidence");
    let shown = |card: &Scorecard| card.metrics.get("area_under_curve").cloned();
    let Some(curves) = curves else {
        assert_eq!(shown(&card), None, "{about}: a curve that is cut has no area");
        return None;
    };
    let n_items: usize = evidence.units().values().map(UnitEvidence::n_items).sum();
    let of_area = |area| Some(MetricValue::from(shown_area(area, n_items as u64)));
    assert_eq!(shown(&card), of_area(curves.area), "{about}");
    assert_eq!(curves.areas.len(), N_DRAWS);
    for draw in [0, 500, N_DRAWS - 1] {
        let of_draw = B::score(frozen, evidence, &draws.weights(draw)).expect("a score");
        assert_eq!(
            shown(&of_draw),
            of_area(curves.areas[draw]),
            "{about}, draw {draw}"
        );
    }
    let (score, (low, high)) = (card.score, curves.place);
    assert!(
        0.0 <= low && low <= score && score <= high && high <= 1.0,
        "{about}: {score}, {low} to {high}"
    );
    for end in [low, high] {
        assert!(
            (end * PLACES - (end * PLACES).round()).abs() < 1e-9,
            "{about}: {end}"
        );
    }
    let n_steps = B::n_steps(frozen).expect("fixes are counted") as f64;
    let replicates = Replicates::draw(evaluated, score).expect("replicates");
    for shown in [score, Margin::rounding(&replicates).rounded(score, [0.0, 1.0])] {
        assert!(
            (shown * n_steps - (shown * n_steps).round()).abs() < 1e-9,
            "{about}: no order has {shown}"
        );
        assert!(
            (shown - score).abs() < 0.5 / n_items as f64 + 0.5 / n_steps,
            "{about}: {shown}"
        );
    }
    println!(
        "{about}: {score:.3}, {low:.2} to {high:.2}, area {:.3}",
        curves.area
    );
    Some(curves.place)
}

#[test]
fn scores_on_whole_curves_have_intervals() {
    fn each<B: Import>() -> Vec<(f64, f64)> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let whole = directory.path().join("frozen");
        import::<B>(&demo(B::ID), &whole, &Silent).expect("the demo can be imported");
        let dataset = open::<B>(&whole);
        let place = |(board, artifact, _): (String, Vec<u8>, f64)| {
            place_of(
                &gathered(&dataset, &board, &artifact),
                &format!("{} {board}", B::ID),
            )
        };
        submissions::<B>().into_iter().filter_map(place).collect()
    }
    for places in [
        each::<VisionDebugging>(),
        each::<own_data::debugging::Debugging>(),
    ] {
        assert!(!places.is_empty());
        assert!(places.iter().any(|(low, high)| high - low < 0.8), "{places:?}");
    }
}

/// A curve that was computed up to the target tells the score of weights that reach it as soon, and no other's.
#[test]
fn a_cut_curve_scores_only_known_weights() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (whole, cut) = (directory.path().join("frozen"), directory.path().join("cut"));
    import::<VisionDebugging>(&demo(VisionDebugging::ID), &whole, &Silent).expect("the demo can be imported");
    repeated::<VisionDebugging>(&whole, &cut, &BTreeMap::new());
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(cut.join(MANIFEST)).expect("a manifest")).expect("json");
    manifest["parameters"]["curves"] = json!("until_target");
    fs::write(cut.join(MANIFEST), manifest.to_string()).expect("a manifest");
    let (whole, cut) = (open::<VisionDebugging>(&whole), open::<VisionDebugging>(&cut));
    let (mut n_known, mut n_unknown) = (0, 0);
    // two will do: one that finds wrong labels and one that does not look for any
    for (board, artifact, _) in submissions::<VisionDebugging>().into_iter().step_by(3) {
        let whole = gathered(&whole, &board, &artifact);
        let cut = gathered(&cut, &board, &artifact);
        let n_models = |evidence: &Evidence| -> usize {
            evidence.units().values().map(|unit| unit.repeats().len()).sum()
        };
        assert!(n_models(&cut.evidence) <= n_models(&whole.evidence));
        assert_eq!(place_of(&cut, "a cut curve"), None);
        for seed in 0..40 {
            let weights = Weights::of_units(multiplicities(&whole.evidence, seed));
            let expected = VisionDebugging::score(&whole.frozen, &whole.evidence, &weights).expect("a score");
            let is_known = cut.evidence.units().iter().all(|(task, unit)| {
                let first = expected.metrics.clone().into_json()["tasks"][task]["first_step"]
                    .as_u64()
                    .expect("a step");
                let fixes = unit.repeats().fixes().expect("fixes");
                // from the last model on every label is right, and that model is always there
                first < u64::from(fixes.n_known) || fixes.n_known + 1 >= fixes.models[fixes.models.len() - 1]
            });
            match VisionDebugging::score(&cut.frozen, &cut.evidence, &weights) {
                Ok(card) => {
                    assert!(is_known);
                    assert_eq!(card.score.to_bits(), expected.score.to_bits());
                    n_known += 1;
                }
                Err(error) => {
                    assert!(matches!(error, EvidenceError::CutOff { .. }), "{error}");
                    assert!(!is_known, "{error}");
                    n_unknown += 1;
                }
            }
        }
    }
    assert!(
        n_known > 0 && n_unknown > 0,
        "{n_known} known, {n_unknown} unknown"
    );
}
