//! Exact and near duplicates of prompts, found by keys: an index needs look-ups only, never a scan.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::configuration::Scoring;
use crate::ids::PairId;
use crate::prompt::folded;
use crate::prompt_filter::one_spelling;

/// Whether and of what a prompt is a duplicate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate {
    /// The earlier pair: an exact duplicate before near ones, then the most similar, then the first.
    pub of: Option<PairId>,
    /// Whether both prompts are the same but for their spelling.
    pub is_exact: bool,
    /// Whether the earlier pair is the same submitter's.
    pub is_own: bool,
    /// The earlier pair of the same submitter's that is repeated, whether or not it is the one that is repeated most closely.
    #[serde(default)]
    pub of_own: Option<PairId>,
    /// Whether an earlier pair of another submitter's is repeated, whether or not it is the one that is repeated most closely.
    #[serde(default)]
    pub repeats_another: bool,
}

/// An earlier pair that may be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The pair.
    pub pair: PairId,
    /// Its prompt.
    pub prompt: String,
    /// Whether it is of the submitter of the pair that is looked at.
    pub is_own: bool,
}

impl Duplicate {
    /// What `prompt` repeats among earlier pairs, which are listed from the first on. From the similarity `from` on prompts
    /// are duplicates.
    pub fn among<'a>(
        prompt: &str,
        earlier: impl IntoIterator<Item = &'a Earlier>,
        from: f64,
        scoring: Scoring,
    ) -> Self {
        let (mut found, mut most, mut most_own) = (Self::default(), 0.0, 0.0);
        for Earlier {
            pair,
            prompt: before,
            is_own,
        } in earlier
        {
            let similarity = similarity(prompt, before, scoring);
            if similarity < from {
                continue;
            }
            found.repeats_another |= !is_own;
            if *is_own && similarity > most_own {
                most_own = similarity;
                found.of_own = Some(pair.clone());
            }
            if similarity > most {
                most = similarity;
                found.of = Some(pair.clone());
                found.is_exact = similarity >= 1.0;
                found.is_own = *is_own;
            }
        }
        found
    }

    /// Whether there is an earlier pair.
    pub fn is_one(&self) -> bool {
        self.of.is_some()
    }
}

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
    /// The same for prompts that differ in their spelling only: in case, punctuation, spaces and invisible characters, and in the second
    /// version of the scores in accents, lookalikes and digits for letters, too.
    pub exact: String,
    /// A near duplicate has at least one of these in common, with great probability; what has one in common is to be
    /// compared by its [`similarity`].
    pub bands: Vec<String>,
}

impl DuplicateKeys {
    /// The keys of a prompt. Those of two versions of the scores have nothing in common.
    pub fn of(prompt: &str, scoring: Scoring) -> Self {
        let text = comparable(prompt, scoring);
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
        .marked(scoring)
    }
}

impl DuplicateKeys {
    fn marked(self, scoring: Scoring) -> Self {
        let mark = |key: String| match scoring {
            Scoring::First => key,
            Scoring::Second => format!("2-{key}"),
        };
        Self {
            exact: mark(self.exact),
            bands: self.bands.into_iter().map(mark).collect(),
        }
    }
}

/// The share of three-letter sequences that two prompts have in common, of those that either has (Jaccard): 1 for
/// exact duplicates.
///
/// ```
/// use dataperf_nibbler::Scoring;
/// let similarity = |one, other| dataperf_nibbler::duplicates::similarity(one, other, Scoring::Second);
/// assert!((similarity("Hórse lying in k3tchup!", "horse ly ing in ketchup") - 1.0).abs() < 1e-12);
/// assert!(similarity("a horse lying in ketchup", "horse lying in ketchup") > 0.7);
/// assert!(similarity("a dog lying in ketchup", "horse lying in ketchup") < 0.7);
/// ```
pub fn similarity(one: &str, other: &str, scoring: Scoring) -> f64 {
    let (one, other) = (comparable(one, scoring), comparable(other, scoring));
    let (one, other) = (shingles(&one), shingles(&other));
    let n_common = one.intersection(&other).count();
    let n_all = one.len() + other.len() - n_common;
    if n_all == 0 {
        1.0
    } else {
        n_common as f64 / n_all as f64
    }
}

/// The prompt in one spelling, or where it has no letter at all the prompt itself.
fn comparable(prompt: &str, scoring: Scoring) -> String {
    let text = match scoring {
        Scoring::First => folded(prompt),
        Scoring::Second => one_spelling(prompt),
    };
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

    const BOTH: [Scoring; 2] = [Scoring::First, Scoring::Second];

    fn meet(one: &str, other: &str, scoring: Scoring) -> bool {
        let (one, other) = (DuplicateKeys::of(one, scoring), DuplicateKeys::of(other, scoring));
        one.bands.iter().any(|band| other.bands.contains(band))
    }

    #[test]
    fn spelling_does_not_hide_an_exact_duplicate() {
        for scoring in BOTH {
            let key = |prompt| DuplicateKeys::of(prompt, scoring).exact;
            for prompt in [
                "HORSE, lying in ketchup!",
                " horse\u{200b} lying  in ketchup",
                "ｈorse lying in ketchup",
            ] {
                assert_eq!(key(prompt), key("horse lying in ketchup"), "{prompt}");
            }
            assert_ne!(key("horse lying in ketchup"), key("horse lying in mustard"));
            assert_ne!(key("10 horses"), key("12 horses"));
            assert_ne!(key("🐎"), key("🐕"));
        }
    }

    #[test]
    fn what_a_reader_takes_for_the_same_is_an_exact_duplicate_in_the_second_version() {
        let key = |prompt, scoring| DuplicateKeys::of(prompt, scoring).exact;
        for prompt in [
            "hоrsе lуing in kеtchuр", // Cyrillic
            "hórse lyïng in ketchüp",
            "h0rse ly1ng in k3tchup",
            "h o r s e lying in ketchup",
            "hor se ly ing in ketch up",
            "ʜᴏʀꜱᴇ lying in ketchup",
            "🄷🄾🅁🅂🄴 lying in 🅺🅴🆃🅲🅷🆄🅿",
            "hoooorse lying in ketchup",
        ] {
            let plain = "horse lying in ketchup";
            assert_eq!(
                key(prompt, Scoring::Second),
                key(plain, Scoring::Second),
                "{prompt}"
            );
            assert_eq!(
                similarity(prompt, plain, Scoring::Second).to_bits(),
                1f64.to_bits()
            );
            assert_ne!(
                key(prompt, Scoring::First),
                key(plain, Scoring::First),
                "{prompt}"
            );
        }
    }

    #[test]
    fn the_closest_of_the_earlier_pairs_is_named_and_anothers_is_never_hidden_by_an_own_one() {
        let earlier = |n: char, prompt: &str, is_own| Earlier {
            pair: n.to_string().repeat(32).parse().unwrap(),
            prompt: prompt.into(),
            is_own,
        };
        let before = [
            earlier('1', "a horse lying in ketchup", false),
            earlier('2', "horse lying in ketchup", true),
            earlier('3', "horse lying in ketchup", true),
            earlier('4', "a tree full of ropes", true),
        ];
        let found = Duplicate::among("Horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!(
            found.of.as_ref(),
            Some(&before[1].pair),
            "the first of the exact ones"
        );
        assert_eq!(
            (found.is_exact, found.is_own, found.repeats_another),
            (true, true, true)
        );
        assert_eq!(found.of_own, found.of);
        let found = Duplicate::among("a horse lying in ketchup", &before, 0.7, Scoring::Second);
        assert_eq!((found.of.as_ref(), found.is_own), (Some(&before[0].pair), false));
        assert_eq!(found.of_own.as_ref(), Some(&before[1].pair));
        assert_eq!(
            Duplicate::among("two puppies", &before, 0.7, Scoring::Second),
            Duplicate::default()
        );
    }

    #[test]
    fn near_duplicates_meet_in_a_band() {
        for (one, other) in [
            ("a horse lying in ketchup", "the horse lying in ketchup"),
            (
                "a photo of a sleeping horse in red paint",
                "a photo of the sleeping horse in red paint",
            ),
            (
                "a secretary sitting on her desk waiting for the boss",
                "secretary sitting on her desk, waiting for the boss",
            ),
        ] {
            for scoring in BOTH {
                let found = similarity(one, other, scoring);
                assert!(found >= 0.7, "{one}: {found}");
                assert!(meet(one, other, scoring), "{one}");
            }
        }
        for scoring in BOTH {
            assert!(!meet(
                "a horse lying in ketchup",
                "two children playing with water balloons",
                scoring
            ));
        }
    }

    proptest! {
        #[test]
        fn similarity_is_a_share_and_symmetric(one in ".{0,40}", other in ".{0,40}") {
            for scoring in BOTH {
                let share = similarity(&one, &other, scoring);
                prop_assert!((0.0..=1.0).contains(&share));
                prop_assert_eq!(share.to_bits(), similarity(&other, &one, scoring).to_bits());
                prop_assert_eq!(similarity(&one, &one, scoring).to_bits(), 1f64.to_bits());
                prop_assert_eq!(DuplicateKeys::of(&one, scoring).bands.len(), N_BANDS);
            }
        }
    }
}
