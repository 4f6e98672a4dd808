//! Detects duplicates of texts among those of the same task and context.

use crate::common::text::spelling::one_spelling;
use crate::common::{DuplicateKeys, text};

use crate::text::ids::ExampleId;
use crate::text::lines::Example;

/// Whether an example is a duplicate, and of which earlier example.
pub type Duplicate = crate::common::Duplicate<ExampleId>;
/// An earlier example, with its text as it is compared.
pub type Earlier = crate::common::Earlier<ExampleId>;

/// The keys that detect duplicates of an example. Different tasks, and different contexts, have
/// different keys: the same question about another context is another example.
pub fn keys(example: &Example) -> DuplicateKeys {
    let keys = DuplicateKeys::from_text(&comparable(&example.text));
    let about = example.context_id.as_deref().unwrap_or_default();
    let mark = |key: String| format!("{}-{about}-{key}", example.task);
    DuplicateKeys {
        exact: mark(keys.exact),
        bands: keys.bands.into_iter().map(mark).collect(),
    }
}

/// The earlier example that an example repeats; earlier ones are listed oldest first. Texts with a
/// similarity of at least `from` are duplicates.
pub fn repeated(example: &Example, earlier: &[Earlier], from: f64) -> Duplicate {
    Duplicate::among(&comparable(&example.text), earlier, from)
}

/// The text in one spelling; the text itself if it has no letters.
pub fn comparable(written: &str) -> String {
    let spelt = one_spelling(written);
    if spelt.is_empty() {
        text::canonical(written)
    } else {
        spelt
    }
}
