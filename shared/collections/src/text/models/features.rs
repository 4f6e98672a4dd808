//! A linear model's features of an input: hashed n-grams of the text and of the context, and which
//! of the text's words the context has.

use std::collections::BTreeSet;

use dataperf_numerics::models::FitError;
use dataperf_numerics::text::{Analyzer, HashingVectorizer};
use serde::{Deserialize, Serialize};

use crate::text::texts::answers::Input;

/// The n-grams of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// The fewest words or characters in a sequence.
    pub least: usize,
    /// The most words or characters in a sequence.
    pub most: usize,
    /// Number of columns into which they are hashed.
    pub n_features: u32,
}

impl Words {
    fn vectorizer(&self, analyzer: Analyzer) -> Result<HashingVectorizer, FitError> {
        HashingVectorizer::new(analyzer, self.least..=self.most, self.n_features)
    }
}

/// The most columns of one block: a file can't ask for more memory.
const MAX_COLUMNS: u32 = 1 << 22;

/// The parts of a row, each of length 1 and in columns of its own: words of the text, its characters, words of the context, and
/// the text's words marked by whether the context has them.
pub(super) struct Features {
    text: HashingVectorizer,
    characters: HashingVectorizer,
    context: HashingVectorizer,
    marked: HashingVectorizer,
}

impl Features {
    /// # Errors
    /// [`FitError`] when there would be too many columns, or n-grams of no length.
    pub(super) fn new(words: &Words, characters: &Words) -> Result<Self, FitError> {
        for kind in [words, characters] {
            if kind.n_features > MAX_COLUMNS {
                return Err(FitError::Parameter {
                    name: "n_features",
                    value: kind.n_features.to_string(),
                    allowed: "at most 4194304",
                });
            }
        }
        Ok(Self {
            text: words.vectorizer(Analyzer::Word)?,
            characters: characters.vectorizer(Analyzer::CharWb)?,
            context: words.vectorizer(Analyzer::Word)?,
            marked: HashingVectorizer::new(Analyzer::Word, 1..=1, words.n_features)?,
        })
    }

    /// Number of columns of all parts.
    pub(super) fn n_columns(&self) -> usize {
        let parts = [&self.text, &self.characters, &self.context, &self.marked];
        parts.iter().map(|part| part.n_features()).sum()
    }

    /// The row of an input: columns, ascending, and their values.
    pub(super) fn row(&self, input: &Input) -> Vec<(u32, f64)> {
        let mut row = Vec::new();
        let mut first = 0;
        let mut add = |part: &HashingVectorizer, text: &str| {
            let entries = part.row(text).into_iter();
            row.extend(entries.map(|(column, value)| (first + column, value)));
            first += part.n_features() as u32;
        };
        add(&self.text, &input.text);
        add(&self.characters, &input.text);
        if let Some(context) = &input.context {
            add(&self.context, context);
            add(&self.marked, &marked(&input.text, context));
        }
        row
    }
}

/// The text's words, each with a mark that says whether the context has it.
fn marked(text: &str, context: &str) -> String {
    let (text, context) = (text.to_lowercase(), context.to_lowercase());
    let known: BTreeSet<&str> = words(&context).collect();
    let mut marked = String::with_capacity(2 * text.len());
    for word in words(&text) {
        marked.push_str(if known.contains(word) { "in_" } else { "new_" });
        marked.push_str(word);
        marked.push(' ');
        marked.push_str(if known.contains(word) {
            "in_any "
        } else {
            "new_any "
        });
    }
    marked
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}
