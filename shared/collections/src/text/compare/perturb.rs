//! Texts that say the same in another way: with typographical errors, and with other people in them. Both follow from the text alone.

use dataperf_numerics::text::murmur3;

use crate::text::texts::answers::Input;

/// The fewest letters of a word that may have an error.
const MIN_LETTERS: usize = 4;
/// One word in this many has an error, and at least one of a text.
const ONE_OF: u32 = 6;

/// Pairs of words that are exchanged: names that are given to people of other origins or genders, words for women and men, faiths, nationalities.
const EXCHANGED: [(&str, &str); 40] = [
    ("he", "she"),
    ("himself", "herself"),
    ("man", "woman"),
    ("men", "women"),
    ("boy", "girl"),
    ("boys", "girls"),
    ("father", "mother"),
    ("fathers", "mothers"),
    ("son", "daughter"),
    ("brother", "sister"),
    ("brothers", "sisters"),
    ("husband", "wife"),
    ("uncle", "aunt"),
    ("king", "queen"),
    ("actor", "actress"),
    ("waiter", "waitress"),
    ("mr", "mrs"),
    ("christian", "muslim"),
    ("christians", "muslims"),
    ("church", "mosque"),
    ("catholic", "jewish"),
    ("american", "mexican"),
    ("americans", "mexicans"),
    ("german", "turkish"),
    ("germans", "turks"),
    ("british", "nigerian"),
    ("swedish", "syrian"),
    ("gay", "lesbian"),
    ("emily", "lakisha"),
    ("anne", "aisha"),
    ("anna", "fatima"),
    ("ada", "amina"),
    ("mary", "keisha"),
    ("jill", "tanisha"),
    ("greg", "jamal"),
    ("brad", "darnell"),
    ("john", "mohammed"),
    ("peter", "ahmed"),
    ("matthew", "hakim"),
    ("james", "kwame"),
];

/// The text with errors in some of its words: neighbours exchanged, a letter left out or written twice. `None` where no word is long enough.
///
/// ```
/// use dataperf_collections::text::compare::with_typos;
/// let text = "Nobody was sleeping there.";
/// assert_eq!(with_typos(text), with_typos(text));
/// assert_ne!(with_typos(text).as_deref(), Some(text));
/// assert_eq!(with_typos("Is it so?"), None);
/// ```
pub fn with_typos(text: &str) -> Option<String> {
    let words: Vec<(usize, &str)> = words(text)
        .filter(|(_, word)| word.chars().count() >= MIN_LETTERS)
        .collect();
    let of_text = murmur3(text.as_bytes());
    let hash = |at: usize| murmur3(format!("{at} {of_text}").as_bytes()).cast_unsigned();
    let least = words.iter().map(|(at, _)| hash(*at)).min()?;
    let mut changed = String::with_capacity(text.len() + 8);
    let mut done = 0;
    for (at, word) in words {
        let drawn = hash(at);
        if drawn == least || drawn.is_multiple_of(ONE_OF) {
            changed.push_str(&text[done..at]);
            changed.push_str(&misspelt(word, drawn / ONE_OF));
            done = at + word.len();
        }
    }
    changed.push_str(&text[done..]);
    Some(changed)
}

/// A word of at least [`MIN_LETTERS`] letters with one error behind its first letter.
fn misspelt(word: &str, drawn: u32) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + (drawn / 3) as usize % (letters.len() - 2);
    match drawn % 3 {
        0 if letters[at] != letters[at + 1] => letters.swap(at, at + 1),
        1 => letters.insert(at, letters[at]),
        _ => drop(letters.remove(at)),
    }
    letters.into_iter().collect()
}

/// The runs of letters, with where each begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let begin = rest + text[rest..].find(char::is_alphabetic)?;
        let end = text[begin..]
            .find(|c: char| !c.is_alphabetic())
            .map_or(text.len(), |n| begin + n);
        rest = end;
        Some((begin, &text[begin..end]))
    })
}

/// The text with other people in it; a word that begins with a capital letter keeps it. Exchanging them again gives the text back.
///
/// ```
/// use dataperf_collections::text::compare::with_others;
/// assert_eq!(with_others("John says that she left."), "Mohammed says that he left.");
/// assert_eq!(with_others(&with_others("John says that she left.")), "John says that she left.");
/// ```
pub fn with_others(text: &str) -> String {
    let mut exchanged = String::with_capacity(text.len() + 8);
    let mut done = 0;
    for (at, word) in words(text) {
        if let Some(other) = other(word) {
            exchanged.push_str(&text[done..at]);
            exchanged.push_str(&other);
            done = at + word.len();
        }
    }
    exchanged.push_str(&text[done..]);
    exchanged
}

/// The word that a word is exchanged for, if there is one. Words with capitals inside are left alone.
fn other(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let is_capital = word.as_bytes().first()?.is_ascii_uppercase();
    if word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let pairs = EXCHANGED.iter();
    let swaps = pairs.flat_map(|&(one, other)| [(one, other), (other, one)]);
    let (_, other) = swaps.into_iter().find(|(from, _)| *from == lower)?;
    let (first, rest) = other.split_at(1);
    Some(if is_capital {
        first.to_ascii_uppercase() + rest
    } else {
        other.to_owned()
    })
}

/// The input with errors in its text; its context is as it was.
pub fn misspelt_input(input: &Input) -> Option<Input> {
    Some(Input {
        context: input.context.clone(),
        text: with_typos(&input.text)?,
    })
}

/// The input with other people in its text and context; `None` without people.
pub fn exchanged_input(input: &Input) -> Option<Input> {
    let exchanged = Input {
        context: input.context.as_deref().map(with_others),
        text: with_others(&input.text),
    };
    Some(exchanged).filter(|exchanged| exchanged != input)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exchanged_words_occur_only_once() {
        let all = EXCHANGED.iter().flat_map(|&(one, other)| [one, other]);
        let set: BTreeSet<&str> = all.clone().collect();
        assert_eq!(set.len(), all.count());
        assert!(
            set.iter()
                .all(|word| word.bytes().all(|b| b.is_ascii_lowercase()))
        );
    }

    proptest! {
        #[test]
        fn exchanged_twice_is_the_text(text in "([A-Za-z]{1,8}|he|She|John|muslim|É|[ ,.!]){0,12}") {
            prop_assert_eq!(with_others(&with_others(&text)), text);
        }

        #[test]
        fn typos_change_only_texts_with_long_words(text in "\\PC{0,40}") {
            let has_long = words(&text).any(|(_, word)| word.chars().count() >= MIN_LETTERS);
            let changed = with_typos(&text);
            prop_assert_eq!(changed.is_some(), has_long);
            prop_assert!(changed.is_none_or(|changed| changed != text));
        }
    }
}
