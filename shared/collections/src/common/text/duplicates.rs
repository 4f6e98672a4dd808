//! Exact and near duplicates of texts, found by keys: an index needs look-ups only, never a scan.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Whether an item's text is a duplicate, and of which earlier item.
#[expect(clippy::struct_excessive_bools, reason = "four answers to four questions")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate<I> {
    /// The most similar earlier item (an exact duplicate comes before all near ones); of equally similar items the first.
    pub of: Option<I>,
    /// Whether both texts are the same except for their spelling.
    pub is_exact: bool,
    /// Whether that earlier item belongs to the same submitter.
    pub is_own: bool,
    /// The most similar earlier item of the same submitter, even where another submitter's item is more similar.
    pub of_own: Option<I>,
    /// Whether the text repeats an earlier item of another submitter, even where an own item is more similar.
    pub repeats_another: bool,
    /// Whether the text repeats an earlier item of the same submitter that counts in another round. It is not known of the texts alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted_elsewhere: bool,
}

/// An earlier item that may be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier<I> {
    /// The item.
    pub item: I,
    /// Its text, in the spelling in which texts are compared.
    pub text: String,
    /// Whether it belongs to the submitter of the item that is compared with it.
    pub is_own: bool,
}

impl<I> Default for Duplicate<I> {
    fn default() -> Self {
        Self {
            of: None,
            is_exact: false,
            is_own: false,
            of_own: None,
            repeats_another: false,
            counted_elsewhere: false,
        }
    }
}

impl<I: Clone> Duplicate<I> {
    /// The duplicate that `text` is among earlier items, which are listed oldest first. Texts with a similarity of at least `from` are duplicates.
    pub fn among<'a>(text: &str, earlier: impl IntoIterator<Item = &'a Earlier<I>>, from: f64) -> Self
    where
        I: 'a,
    {
        let (mut duplicate, mut most, mut most_own) = (Self::default(), 0.0, 0.0);
        for before in earlier {
            let similarity = similarity(text, &before.text);
            if similarity < from {
                continue;
            }
            duplicate.repeats_another |= !before.is_own;
            if before.is_own && similarity > most_own {
                most_own = similarity;
                duplicate.of_own = Some(before.item.clone());
            }
            if similarity > most {
                most = similarity;
                duplicate.of = Some(before.item.clone());
                duplicate.is_exact = similarity >= 1.0;
                duplicate.is_own = before.is_own;
            }
        }
        duplicate
    }

    /// Whether the text is a duplicate of an earlier item.
    pub fn is_one(&self) -> bool {
        self.of.is_some()
    }
}

/// Number of characters in a shingle.
const SHINGLE_CHARS: usize = 3;
const N_BANDS: usize = 16;
/// Number of hashes in a band. Two texts that share the portion s of their shingles share a band with the probability 1 - (1 - s^4)^16: 0.988 at 0.7,
/// 0.9998 at 0.8, 0.12 at 0.3.
const BAND_ROWS: usize = 4;
const KEY_DIGITS: usize = 16;

/// The keys by which duplicates of a text are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKeys {
    /// Equal for equal texts.
    pub exact: String,
    /// The keys of the bands. A near duplicate shares at least one of them with high probability; texts that share one are then compared by their
    /// [`similarity`].
    pub bands: Vec<String>,
}

impl DuplicateKeys {
    /// The keys of a text in the spelling in which texts are compared.
    pub fn from_text(text: &str) -> Self {
        let hashes: Vec<u64> = shingles(text)
            .iter()
            .map(|shingle| hash(shingle.as_bytes()))
            .collect();
        // MinHash (Broder 1997): two texts share their smallest hash with a probability equal to the similarity of their shingles
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

/// The number of three-letter sequences in both texts, divided by the number in at least one of
/// them (Jaccard): 1 for equal texts.
///
/// ```
/// use dataperf_collections::common::similarity;
/// assert!((similarity("horse", "horse") - 1.0).abs() < 1e-12);
/// assert!(similarity("a horse lying in ketchup", "horse lying in ketchup") > 0.7);
/// assert!(similarity("a dog lying in ketchup", "horse lying in ketchup") < 0.7);
/// ```
pub fn similarity(one: &str, other: &str) -> f64 {
    let (one, other) = (shingles(one), shingles(other));
    let n_common = one.intersection(&other).count();
    let n_all = one.len() + other.len() - n_common;
    if n_all == 0 {
        1.0
    } else {
        n_common as f64 / n_all as f64
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
