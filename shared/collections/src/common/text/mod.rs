//! The forms in which texts are compared.

pub(crate) mod duplicates;
pub mod spelling;

use unicode_normalization::UnicodeNormalization as _;

/// The form in which two texts are the same request: composed characters (NFC), no control or invisible
/// formatting characters, single spaces.
///
/// ```
/// assert_eq!(dataperf_collections::common::text::canonical("  a\t horse\n"), "a horse");
/// ```
pub fn canonical(text: &str) -> String {
    // invisible characters go first: they keep others from being composed
    let visible = text.chars().filter(|&c| !is_invisible(c));
    let composed: String = visible
        .map(|c| if c.is_control() { ' ' } else { c })
        .nfc()
        .collect();
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The form in which near duplicates are looked for: compatibility characters (NFKC) in lower case, words of letters
/// and digits with single spaces between them.
///
/// ```
/// assert_eq!(dataperf_collections::common::text::folded("A Horse, lying!"), "a horse lying");
/// ```
pub fn folded(text: &str) -> String {
    let visible = text.chars().filter(|&c| !is_invisible(c));
    let lower: String = visible.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    let words = lower
        .split(|c: char| !is_of_a_word(c))
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Letters, digits and the marks on them.
fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

/// Invisible characters: zero-width ones, soft hyphens, variation selectors, directions, tags.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}
