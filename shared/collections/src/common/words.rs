//! Enums of a few words, such as those in keys.

/// A text that is none of an enum's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not {what}: expected {expected}", dataperf::quote(.word))]
pub struct UnknownWord {
    pub(crate) word: String,
    pub(crate) what: &'static str,
    pub(crate) expected: &'static str,
}

/// Writes and reads an enum by its words: it has `ALL` and `as_str`.
macro_rules! words {
    ($name:ident is $what:literal, $expected:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::common::UnknownWord;

            fn from_str(word: &str) -> Result<Self, crate::common::UnknownWord> {
                let named = Self::ALL.into_iter().find(|named| named.as_str() == word);
                named.ok_or_else(|| crate::common::UnknownWord {
                    word: word.to_owned(),
                    what: $what,
                    expected: $expected,
                })
            }
        }
    };
}
pub(crate) use words;
