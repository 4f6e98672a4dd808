//! Exact and near duplicates of prompts, found by keys: an index needs look-ups only, never a scan.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use crate::prompt::folded;

/// Characters of a shingle.
const SHINGLE_CHARS: usize = 3;
const N_BANDS: usize = 16;
/// Hashes that agree in a band. Two prompts that share the portion s of their shingles meet in a band with the
/// probability 1 - (1 - s^4)^16: 0.988 at 0.7, 0.9998 at 0.8, 0.12 at 0.3.
const BAND_ROWS: usize = 4;
const KEY_DIGITS: usize = 16;

/// The keys by which duplicates of a prompt are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKeys {
    /// The same for prompts that differ in case, punctuation, spaces or invisible characters only.
    pub exact: String,
    /// A near duplicate has at least one of these in common, with great probability; what has one in common is to be
    /// compared by its [`similarity`].
    pub bands: Vec<String>,
}

impl DuplicateKeys {
    /// The keys of a prompt.
    pub fn of(prompt: &str) -> Self {
        let text = comparable(prompt);
        let hashes: Vec<u64> = shingles(&text)
            .iter()
            .map(|shingle| hash(shingle.as_bytes()))
            .collect();
        // MinHash (Broder 1997): the smallest of the shingles' hashes is shared with a probability of their similarity
        let smallest = |seed: u64| hashes.iter().map(|&hash| mixed(hash ^ mixed(seed))).min();
        let band = |band: usize| {
            let rows = (0..BAND_ROWS).filter_map(|row| smallest((band * BAND_ROWS + row) as u64 + 1));
            let bytes: Vec<u8> = rows.flat_map(u64::to_le_bytes).collect();
            format!("{band:02}-{}", key(&bytes))
        };
        Self {
            exact: key(text.as_bytes()),
            bands: (0..N_BANDS).map(band).collect(),
        }
    }
}

/// The share of three-letter sequences that two prompts have in common, of those that either has (Jaccard): 1 for
/// exact duplicates.
///
/// ```
/// use dataperf_nibbler::duplicates::similarity;
/// assert!((similarity("Horse lying in ketchup!", "horse lying in ketchup") - 1.0).abs() < 1e-12);
/// assert!(similarity("a horse lying in ketchup", "horse lying in ketchup") > 0.7);
/// assert!(similarity("a dog lying in ketchup", "horse lying in ketchup") < 0.7);
/// ```
pub fn similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (comparable(one), comparable(other));
    let (one, other) = (shingles(&one), shingles(&other));
    let n_common = one.intersection(&other).count();
    let n_all = one.len() + other.len() - n_common;
    if n_all == 0 {
        1.0
    } else {
        n_common as f64 / n_all as f64
    }
}

/// The folded prompt, or where it has no letter at all the prompt itself.
fn comparable(prompt: &str) -> String {
    let text = folded(prompt);
    if text.is_empty() {
        crate::prompt::canonical(prompt)
    } else {
        text
    }
}

fn shingles(text: &str) -> BTreeSet<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() < SHINGLE_CHARS {
        return BTreeSet::from([text.to_owned()]);
    }
    chars
        .windows(SHINGLE_CHARS)
        .map(|window| window.iter().collect())
        .collect()
}

fn hash(bytes: &[u8]) -> u64 {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let (first, _) = digest.split_at(8);
    first.iter().fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}

fn key(bytes: &[u8]) -> String {
    let mut digits = hex::encode(Sha256::digest(bytes));
    digits.truncate(KEY_DIGITS);
    digits
}

/// `SplitMix64`'s finalizer: every bit of the argument changes half of the result's.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn meet(one: &str, other: &str) -> bool {
        let (one, other) = (DuplicateKeys::of(one), DuplicateKeys::of(other));
        one.bands.iter().any(|band| other.bands.contains(band))
    }

    #[test]
    fn spelling_does_not_hide_an_exact_duplicate() {
        let key = |prompt| DuplicateKeys::of(prompt).exact;
        for prompt in [
            "HORSE, lying in ketchup!",
            " horse\u{200b} lying  in ketchup",
            "ｈorse lying in ketchup",
        ] {
            assert_eq!(key(prompt), key("horse lying in ketchup"), "{prompt}");
        }
        assert_ne!(key("horse lying in ketchup"), key("horse lying in mustard"));
        assert_ne!(key("🐎"), key("🐕"));
    }

    #[test]
    fn near_duplicates_meet_in_a_band() {
        for (one, other) in [
            ("a horse lying in ketchup", "the horse lying in ketchup"),
            (
                "a photo of a sleeping horse in red paint",
                "a photo of sleeping horses in red paint",
            ),
            (
                "a secretary sitting on her desk waiting for the boss",
                "secretary sitting on her desk, waiting for the boss",
            ),
        ] {
            assert!(similarity(one, other) >= 0.7, "{one}: {}", similarity(one, other));
            assert!(meet(one, other), "{one}");
        }
        assert!(!meet(
            "a horse lying in ketchup",
            "two children playing with water balloons"
        ));
    }

    proptest! {
        #[test]
        fn similarity_is_a_share_and_symmetric(one in ".{0,40}", other in ".{0,40}") {
            let share = similarity(&one, &other);
            prop_assert!((0.0..=1.0).contains(&share));
            prop_assert_eq!(share.to_bits(), similarity(&other, &one).to_bits());
            prop_assert_eq!(similarity(&one, &one).to_bits(), 1f64.to_bits());
            prop_assert_eq!(DuplicateKeys::of(&one).bands.len(), N_BANDS);
        }
    }
}
