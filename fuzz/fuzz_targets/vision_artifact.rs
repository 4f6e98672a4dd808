//! Arbitrary bytes as an artifact, JSON or zip: parsed, or refused with reasons, never a panic.
#![no_main]

use dataperf_benchmarks::vision_selection::Artifact;
use dataperf::MAX_LISTED_REASONS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|artifact: &[u8]| {
    if let Err(rejection) = Artifact::parse(artifact) {
        assert!((1..=MAX_LISTED_REASONS).contains(&rejection.reasons().len()), "{rejection:?}");
        assert!(rejection.n_reasons() >= rejection.reasons().len());
    }
});
