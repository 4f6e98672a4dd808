//! Prompts as vectors, for the spread of their meanings.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};

/// How prompts become vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EmbeddingKind {
    /// Sequences of characters, hashed: needs no weights.
    #[default]
    #[serde(rename = "character-n-grams")]
    CharacterNgrams,
    /// The sentence transformer all-MiniLM-L6-v2, whose weights are in the data set.
    #[serde(rename = "all-MiniLM-L6-v2")]
    MiniLm,
}

impl EmbeddingKind {
    /// The kind whose vectors have this many numbers: by it one tells how a vector was made.
    pub fn of_width(width: usize) -> Option<Self> {
        [Self::CharacterNgrams, Self::MiniLm]
            .into_iter()
            .find(|kind| kind.width() == width)
    }

    /// The length of a vector.
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::CharacterNgrams => 512,
            Self::MiniLm => 384,
        }
    }

    /// The name in receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CharacterNgrams => "character-n-grams",
            Self::MiniLm => "all-MiniLM-L6-v2",
        }
    }
}

/// A prompt's vector, of length 1: the product of two is their cosine.
///
/// As JSON it is the base64 of its [bytes](Self::to_bytes): half as long as the numbers' decimals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Embedding(Vec<f32>);

/// Prompts could not be embedded, which the organizer has to fix.
#[derive(Debug, thiserror::Error)]
#[error("prompts can't be embedded: {0}")]
pub struct EmbedError(pub String);

/// Something that embeds prompts.
pub trait Embed {
    /// Its kind: receipts name it, because scores by different kinds can't be compared.
    fn kind(&self) -> EmbeddingKind;

    /// The vectors of `prompts`, in their order, each of length 1.
    ///
    /// # Errors
    /// [`EmbedError`].
    fn embed(&self, prompts: &[&str]) -> Result<Vec<Embedding>, EmbedError>;
}

/// A text that is no embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an embedding: expected the base64 of finite 32-bit numbers")]
pub struct InvalidEmbedding;

impl From<Embedding> for String {
    fn from(embedding: Embedding) -> Self {
        BASE64_STANDARD.encode(embedding.to_bytes())
    }
}

impl TryFrom<String> for Embedding {
    type Error = InvalidEmbedding;

    fn try_from(text: String) -> Result<Self, InvalidEmbedding> {
        let bytes = BASE64_STANDARD.decode(text).map_err(|_| InvalidEmbedding)?;
        Self::from_bytes(&bytes).ok_or(InvalidEmbedding)
    }
}

impl Embedding {
    /// `numbers` scaled to length 1; zeros alone stay zeros.
    pub fn normalised(mut numbers: Vec<f32>) -> Self {
        let length = numbers
            .iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum::<f64>()
            .sqrt();
        if length > 0.0 {
            for x in &mut numbers {
                *x = (f64::from(*x) / length) as f32;
            }
        }
        Self(numbers)
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The cosine of the angle to `other`, which is of the same kind.
    pub fn cosine(&self, other: &Self) -> f64 {
        self.0
            .iter()
            .zip(&other.0)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    }

    /// The numbers in 32 bits, little-endian: how tables keep them.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    /// The vector of these [bytes](Self::to_bytes); `None` when they are not whole finite numbers.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        let numbers: Vec<f32> = numbers.iter().map(|&four| f32::from_le_bytes(four)).collect();
        (rest.is_empty() && numbers.iter().all(|x| x.is_finite())).then_some(Self(numbers))
    }
}
