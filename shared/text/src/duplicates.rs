//! Duplicates of texts, which are looked for among those of the same task and context.

use dataperf_collection::spelling::one_spelling;
use dataperf_collection::{DuplicateKeys, text};

use crate::ids::ExampleId;
use crate::lines::Example;

/// Whether an example is a duplicate, and of which earlier example.
pub type Duplicate = dataperf_collection::Duplicate<ExampleId>;
/// An earlier example, with its text as it is compared.
pub type Earlier = dataperf_collection::Earlier<ExampleId>;

/// The keys by which duplicates of an example are found. Those of two tasks have nothing in common, nor those of two contexts: the same
/// question about another context is another example.
pub fn keys(example: &Example) -> DuplicateKeys {
    let keys = DuplicateKeys::of(&comparable(&example.text));
    let about = example.context_id.as_deref().unwrap_or_default();
    let mark = |key: String| format!("{}-{about}-{key}", example.task);
    DuplicateKeys {
        exact: mark(keys.exact),
        bands: keys.bands.into_iter().map(mark).collect(),
    }
}

/// What an example repeats among earlier ones, which are listed oldest first. Texts with a similarity of at least `from` are duplicates.
pub fn repeated(example: &Example, earlier: &[Earlier], from: f64) -> Duplicate {
    Duplicate::among(&comparable(&example.text), earlier, from)
}

/// The text in one spelling; the text itself where it has no letter at all.
pub fn comparable(written: &str) -> String {
    let spelt = one_spelling(written);
    if spelt.is_empty() {
        text::canonical(written)
    } else {
        spelt
    }
}
