//! scikit-learn 1.2.2's `HashingVectorizer`.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::characters::{is_of_a_word, is_space};
use super::murmur3;
use crate::models::FitError;
use crate::sparse::SparseRows;

/// The parts of a text that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Analyzer {
    /// Words: sequences of at least two characters of `\w`, the default of `token_pattern`.
    Word,
    /// Sequences of characters within each part between white space, with a space added before and after the part.
    CharWb,
}

/// Counts hashed n-grams, with a sign that depends on the hash, and scales each row to length 1: scikit-learn 1.2.2's
/// `HashingVectorizer(n_features, analyzer, ngram_range, lowercase)` with its other settings at their defaults.
///
/// Rows are exactly equal to scikit-learn's for texts with characters of Unicode 14 only.
///
/// # Source
/// scikit-learn 1.2.2, `sklearn/feature_extraction/text.py`, `_hashing_fast.pyx` and `utils/sparsefuncs_fast.pyx`.
///
/// # Examples
/// ```
/// use dataperf_numerics::text::{Analyzer, HashingVectorizer};
/// let words = HashingVectorizer::new(Analyzer::Word, 1..=2, 1 << 10)?;
/// let row = words.row("Nobody sleeps");
/// assert_eq!(row.len(), 3); // two words and both together
/// assert!((row.iter().map(|(_, value)| value * value).sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashingVectorizer {
    analyzer: Analyzer,
    lengths: RangeInclusive<usize>,
    n_features: u32,
    lowercase: bool,
}

/// The most columns: the hash is a signed number of 32 bits.
const MAX_FEATURES: u32 = i32::MAX.cast_unsigned();
/// The most words or characters of an n-gram.
const MAX_LENGTH: usize = 100;

impl HashingVectorizer {
    /// A vectorizer of n-grams of the given lengths, in words or characters, which changes capital letters to small ones first.
    ///
    /// # Errors
    /// [`FitError::Parameter`] if there would be no column or more than the hash can tell apart, or if the lengths do not ascend
    /// within 1 to 100.
    pub fn new(
        analyzer: Analyzer,
        lengths: RangeInclusive<usize>,
        n_features: u32,
    ) -> Result<Self, FitError> {
        let parameter = |name, value, allowed| FitError::Parameter { name, value, allowed };
        if n_features == 0 || n_features > MAX_FEATURES {
            return Err(parameter(
                "n_features",
                n_features.to_string(),
                "from 1 to 2147483647",
            ));
        }
        let (least, most) = (*lengths.start(), *lengths.end());
        if least == 0 || least > most || most > MAX_LENGTH {
            let value = format!("{least}..={most}");
            return Err(parameter("ngram_range", value, "from 1 to 100, ascending"));
        }
        Ok(Self {
            analyzer,
            lengths,
            n_features,
            lowercase: true,
        })
    }

    /// The vectorizer without the change of capital letters to small ones.
    #[must_use]
    pub fn case_sensitive(self) -> Self {
        Self {
            lowercase: false,
            ..self
        }
    }

    /// The number of columns of a row.
    pub fn n_features(&self) -> usize {
        self.n_features as usize
    }

    /// The row of a text: its columns, ascending, with their values. A column whose n-grams cancel each other has the value 0.
    pub fn row(&self, text: &str) -> Vec<(u32, f64)> {
        let lower;
        let text = if self.lowercase {
            lower = text.to_lowercase();
            &lower
        } else {
            text
        };
        let mut counted = Vec::new();
        match self.analyzer {
            Analyzer::Word => self.words(text, |gram| counted.push(self.hashed(gram))),
            Analyzer::CharWb => self.characters(text, |gram| counted.push(self.hashed(gram))),
        }
        counted.sort_unstable_by_key(|&(column, _)| column);
        let mut row: Vec<(u32, f64)> = Vec::with_capacity(counted.len());
        for (column, sign) in counted {
            match row.last_mut() {
                Some((last, sum)) if *last == column => *sum += f64::from(sign),
                _ => row.push((column, sign.into())),
            }
        }
        // the counts are whole numbers, so the sum does not depend on their order
        let squared: f64 = row.iter().map(|(_, value)| value * value).sum();
        if squared > 0.0 {
            let length = squared.sqrt();
            for (_, value) in &mut row {
                *value /= length;
            }
        }
        row
    }

    /// The rows of several texts.
    pub fn rows<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> SparseRows {
        let mut rows = SparseRows::new(self.n_features());
        for text in texts {
            rows.push(self.row(text));
        }
        rows
    }

    fn hashed(&self, gram: &str) -> (u32, i8) {
        let hash = murmur3(gram.as_bytes());
        // the hash without a positive counterpart goes into the column of its magnitude, as in scikit-learn
        let column = hash.unsigned_abs() % self.n_features;
        (column, if hash >= 0 { 1 } else { -1 })
    }

    fn words(&self, text: &str, mut count: impl FnMut(&str)) {
        let words = text.split(|c| !is_of_a_word(c));
        let words: Vec<&str> = words.filter(|word| word.chars().nth(1).is_some()).collect();
        let mut gram = String::new();
        for length in self.lengths.clone() {
            for words in words.windows(length) {
                if let [word] = words {
                    count(word);
                    continue;
                }
                gram.clear();
                for (nth, word) in words.iter().enumerate() {
                    if nth > 0 {
                        gram.push(' ');
                    }
                    gram.push_str(word);
                }
                count(&gram);
            }
        }
    }

    fn characters(&self, text: &str, mut count: impl FnMut(&str)) {
        let mut padded = String::new();
        let mut starts: Vec<usize> = Vec::new();
        for part in text.split(is_space).filter(|part| !part.is_empty()) {
            padded.clear();
            padded.push(' ');
            padded.push_str(part);
            padded.push(' ');
            starts.clear();
            starts.extend(padded.char_indices().map(|(start, _)| start));
            starts.push(padded.len());
            let n_chars = starts.len() - 1;
            for length in self.lengths.clone() {
                if n_chars <= length {
                    // a part that is too short for this length counts once as a whole, and not again for longer n-grams
                    count(&padded);
                    break;
                }
                for (start, end) in starts.iter().zip(&starts[length..]) {
                    count(&padded[*start..*end]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_without_a_counterpart_has_its_column() {
        // scikit-learn: (2147483647 - (n_features - 1)) % n_features
        for n_features in [1_u32, 2, 3, 7, 1000, 1 << 20, MAX_FEATURES] {
            let theirs = (2_147_483_647 - (n_features - 1)) % n_features;
            assert_eq!(i32::MIN.unsigned_abs() % n_features, theirs, "{n_features}");
        }
    }

    #[test]
    fn settings_that_make_no_rows_are_refused() {
        for (least, most, n_features) in [(1, 1, 0), (1, 1, 1 << 31), (0, 1, 8), (3, 2, 8), (1, 101, 8)] {
            let made = HashingVectorizer::new(Analyzer::Word, least..=most, n_features);
            assert!(
                matches!(made, Err(FitError::Parameter { .. })),
                "{least} {most} {n_features}"
            );
        }
    }

    #[test]
    fn texts_without_words_have_empty_rows() {
        let words = HashingVectorizer::new(Analyzer::Word, 1..=2, 8).expect("settings");
        let characters = HashingVectorizer::new(Analyzer::CharWb, 2..=4, 8).expect("settings");
        for text in ["", " ", "\u{200b}", "a", "!? -"] {
            assert!(words.row(text).is_empty(), "{text:?}");
        }
        assert!(characters.row(" \n\u{1c}\t").is_empty());
    }
}
