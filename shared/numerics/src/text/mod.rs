//! Texts as numbers: hashed n-grams as scikit-learn 1.2.2 makes them.

mod characters;
mod hashing;
mod murmur3;

pub use hashing::{Analyzer, HashingVectorizer};
pub use murmur3::murmur3;
