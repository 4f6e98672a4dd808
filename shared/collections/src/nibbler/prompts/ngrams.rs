//! Prompts as hashed sequences of characters: an embedding that needs no weights.

use std::collections::BTreeMap;
use std::io::Cursor;

use crate::nibbler::prompts::embedding::{Embed, EmbedError, Embedding, EmbeddingKind};
use crate::nibbler::prompts::forms::folded;

/// The length of a vector.
pub const WIDTH: usize = EmbeddingKind::CharacterNgrams.width();
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=5;

/// Counts of the sequences of three to five characters within words, each word with a space before and behind it,
/// hashed into [`WIDTH`] numbers with alternating signs (Weinberger et al. 2009). The same numbers as scikit-learn's
/// `HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=512)` on the folded prompt.
#[derive(Debug, Clone, Copy, Default)]
pub struct CharacterNgrams;

impl Embed for CharacterNgrams {
    fn kind(&self) -> EmbeddingKind {
        EmbeddingKind::CharacterNgrams
    }

    fn embed(&self, prompts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        Ok(prompts.iter().map(|prompt| embedding(prompt)).collect())
    }
}

fn embedding(prompt: &str) -> Embedding {
    let mut numbers = vec![0f32; WIDTH];
    for (ngram, n) in ngrams(&folded(prompt)) {
        let hash = hash(&ngram);
        let place = hash.unsigned_abs() as usize % WIDTH;
        numbers[place] += if hash < 0 { -n } else { n };
    }
    Embedding::normalised(numbers)
}

/// A word that is shorter than the sequences counts once.
fn ngrams(text: &str) -> BTreeMap<String, f32> {
    let mut counts = BTreeMap::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let chars: Vec<char> = format!(" {word} ").chars().collect();
        for length in LENGTHS {
            for window in chars.windows(length.min(chars.len())) {
                *counts.entry(window.iter().collect()).or_insert(0.0) += 1.0;
            }
            if chars.len() <= length {
                break;
            }
        }
    }
    counts
}

fn hash(ngram: &str) -> i32 {
    // reading from memory does not fail
    murmur3::murmur3_32(&mut Cursor::new(ngram.as_bytes()), 0)
        .unwrap_or_default()
        .cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_edges_and_short_ones_count_once() {
        let counts = ngrams("a cat");
        let grams: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(grams, [" a ", " ca", " cat", " cat ", "at ", "cat", "cat "]);
    }

    #[test]
    fn alike_prompts_are_near_each_other() {
        let prompts = [
            "horse lying in ketchup",
            "a horse lying in ketchup",
            "two children with balloons",
            "",
        ];
        let vectors = CharacterNgrams.embed(&prompts).unwrap();
        assert!((vectors[0].cosine(&vectors[0]) - 1.0).abs() < 1e-6);
        assert!(vectors[0].cosine(&vectors[1]) > 0.9);
        assert!(vectors[0].cosine(&vectors[2]).abs() < 0.3);
        assert!(vectors[3].as_slice().iter().all(|&x| x == 0.0));
        assert_eq!(
            Embedding::from_bytes(&vectors[0].to_bytes()),
            Some(vectors[0].clone())
        );
    }
}
