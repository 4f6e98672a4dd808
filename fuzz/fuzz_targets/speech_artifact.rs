//! Arbitrary bytes as a speech submission: a verdict each time, never a panic, and one that can be stored.
#![no_main]

use std::sync::OnceLock;

use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf::benchmark::dataset::Dataset;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::{Ending, MAX_LISTED_REASONS};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // the core's tests use more of it
#[path = "../../shared/dataperf/tests/core/tiny.rs"]
mod tiny;

/// An item of the table may have 400 KB; what stands beside the verdict needs less than the rest.
const MAX_VERDICT_BYTES: usize = 380_000;

fuzz_target!(|artifact: &[u8]| {
    static DATASET: OnceLock<Dataset<SpeechSelection>> = OnceLock::new();
    let dataset = DATASET.get_or_init(tiny::dataset);
    let verdict = pollster::block_on(evaluate(dataset, "en-6", artifact)).expect("the data set is whole");
    match verdict.status {
        Ending::Scored => assert!(verdict.score.is_some_and(|score| (0.0..=1.0).contains(&score)), "{verdict:?}"),
        Ending::Rejected => assert!((1..=MAX_LISTED_REASONS).contains(&verdict.reasons.len()), "{verdict:?}"),
        Ending::Accepted => panic!("speech has no file of many lines: {verdict:?}"),
        Ending::Failed => panic!("an artifact can't make the platform fail: {verdict:?}"),
    }
    let json = serde_json::to_vec(&verdict).expect("a verdict is JSON");
    assert!(json.len() < MAX_VERDICT_BYTES, "a verdict of {} bytes", json.len());
    assert_eq!(serde_json::from_slice::<dataperf::Verdict>(&json).expect("and back"), verdict);
});
