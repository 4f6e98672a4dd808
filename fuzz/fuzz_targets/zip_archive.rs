//! Arbitrary bytes as a zip archive: within every bound, or refused with reasons.
#![no_main]

use std::collections::BTreeSet;

use dataperf::formats::archive::{Bounds, unpack};
use libfuzzer_sys::fuzz_target;

const BOUNDS: Bounds = Bounds {
    max_entries: 5,
    max_unpacked_bytes: 100_000,
    max_ratio: 20,
};

fuzz_target!(|artifact: &[u8]| {
    match unpack(artifact, BOUNDS) {
        Ok(entries) => {
            let unpacked: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
            let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            assert!((1..=BOUNDS.max_entries).contains(&entries.len()));
            assert!(unpacked as u64 <= BOUNDS.max_unpacked_bytes);
            assert_eq!(names.len(), entries.len(), "a name twice");
            assert!(names.iter().all(|name| !name.is_empty() && !name.contains(['/', '\\'])), "{names:?}");
        }
        Err(rejection) => assert!(!rejection.reasons().is_empty()),
    }
});
