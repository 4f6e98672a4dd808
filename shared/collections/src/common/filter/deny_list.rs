//! Words and phrases that no text may contain, in any spelling that a reader recognizes.

use crate::common::text::spelling::{Letter, Word, words};

/// The least number of single letters in a row that are read as a word, such as `n u d e`.
const MIN_SPELT_LETTERS: usize = 3;
/// The most pieces of a word that is found although it is split, such as `nu de`; below it the least length of such a word, in letters.
const MAX_PIECES: usize = 4;
const MIN_TORN_LETTERS: usize = 4;
/// Where a term has any ending, how many letters of the term the last piece of a split word begins with, and what may follow: `hitler*` finds `hit lers`,
/// while `gore*` does not find `go reach`, and `massacre*` not `mass acres`, since longer pieces are words of their own.
const LAST_LETTERS: std::ops::RangeInclusive<usize> = 3..=3;
const TORN_ENDINGS: [&str; 7] = ["s", "es", "d", "ed", "er", "ers", "ing"];
/// The minimum letters of the first of two pieces with an ending, so that a single letter forms no
/// word with the next one: `a capital P, ornate`.
const MIN_FIRST_LETTERS: usize = 2;
/// Words that often occur alone. A row of words that contains one is not read as a split word, as
/// in `to be head of a school`.
const SHORT_WORDS: [&str; 32] = [
    "am", "an", "as", "at", "be", "by", "do", "for", "he", "her", "his", "if", "in", "is", "it", "man", "me",
    "my", "no", "of", "on", "or", "our", "so", "the", "to", "up", "us", "was", "we", "you", "not",
];

/// The terms of `list` that `text` contains as whole words. A `*` at a term's end matches any ending.
///
/// A text is compared with a term character by character, each of which may be read as up to three letters. The time for a term is in proportion to
/// the text's length times the term's, however many characters have several readings.
///
/// ```
/// use dataperf_collections::common::filter::denied;
/// let list = ["nude", "self harm", "porn*"].map(String::from);
/// assert_eq!(denied("a N.U.D.E portrait, pоrnographic", &list), ["nude", "porn*"]); // with a Cyrillic о
/// assert!(denied("denuded hills, harm to the self", &list).is_empty());
/// ```
pub fn denied<'a>(text: &str, list: &'a [String]) -> Vec<&'a str> {
    let words = words(text);
    let spelt = spelt_out(&words);
    let words: Vec<Piece> = words.iter().map(Piece::from_word).collect();
    let terms = list.iter().filter(|term| Term::parse(term).is_in(&words, &spelt));
    terms.map(String::as_str).collect()
}

/// A word of the text.
struct Piece {
    letters: Vec<Letter>,
    /// Whether it is one of `SHORT_WORDS`.
    is_short: bool,
}

impl Piece {
    fn from_word(word: &Word) -> Self {
        let mut readings = word.readings.iter();
        Self {
            letters: word.letters(),
            is_short: readings.any(|reading| SHORT_WORDS.contains(&reading.as_str())),
        }
    }
}

struct Term {
    words: Vec<Vec<char>>,
    has_any_ending: bool,
}

impl Term {
    fn parse(text: &str) -> Self {
        let stem = text.trim().strip_suffix('*');
        let words = words(stem.unwrap_or(text));
        Self {
            words: words
                .into_iter()
                .filter_map(|word| word.readings.into_iter().next())
                .map(|word| word.chars().collect())
                .collect(),
            has_any_ending: stem.is_some(),
        }
    }

    fn is_in(&self, words: &[Piece], spelt: &[Vec<Letter>]) -> bool {
        let n = self.words.len();
        if n == 0 {
            return false;
        }
        let joined = self.words.concat();
        let is_spelt = joined.len() >= MIN_SPELT_LETTERS
            && spelt
                .iter()
                .any(|run| run.windows(joined.len()).any(|some| begins_with(some, &joined)));
        is_spelt
            || is_torn(words, &joined, self.has_any_ending)
            || words.windows(n).any(|window| self.matches(window))
    }

    fn matches(&self, window: &[Piece]) -> bool {
        let last = window.len() - 1;
        self.words
            .iter()
            .zip(window)
            .enumerate()
            .all(|(idx, (term, word))| reads_as(&word.letters, term, self.has_any_ending && idx == last))
    }
}

/// Whether two to `MAX_PIECES` words in a row, none of them one of `SHORT_WORDS`, together make `term`.
fn is_torn(words: &[Piece], term: &[char], any_ending: bool) -> bool {
    term.len() >= MIN_TORN_LETTERS
        && (2..=MAX_PIECES).any(|n| words.windows(n).any(|pieces| make(pieces, term, any_ending)))
}

/// Whether words together make `term`, to which each of them gives a letter at least.
fn make(pieces: &[Piece], term: &[char], any_ending: bool) -> bool {
    let Some((last, first)) = pieces.split_last() else {
        return false;
    };
    if pieces.iter().any(|piece| piece.is_short) {
        return false;
    }
    let mut rest = term;
    for piece in first {
        if piece.letters.len() >= rest.len() {
            return false;
        }
        let (begin, end) = rest.split_at(piece.letters.len());
        if !begins_with(&piece.letters, begin) {
            return false;
        }
        rest = end;
    }
    if last.letters.len() <= rest.len() || !any_ending {
        return last.letters.len() == rest.len() && begins_with(&last.letters, rest);
    }
    let (end, ending) = last.letters.split_at(rest.len());
    let is_first_long = first.len() > 1 || first.iter().all(|piece| piece.letters.len() >= MIN_FIRST_LETTERS);
    let is_ending = |known: &str| {
        let known: Vec<char> = known.chars().collect();
        known.len() == ending.len() && begins_with(ending, &known)
    };
    LAST_LETTERS.contains(&rest.len())
        && is_first_long
        && begins_with(end, rest)
        && TORN_ENDINGS.into_iter().any(is_ending)
}

/// Whether the first letters of a word may be read as `term`.
fn begins_with(word: &[Letter], term: &[char]) -> bool {
    word.len() >= term.len()
        && word
            .iter()
            .zip(term)
            .all(|(letter, &of_term)| letter.may_be(of_term))
}

/// Whether a word may be read as the term, also where letters are repeated for effect: `nuuuude`.
fn reads_as(word: &[Letter], term: &[char], any_ending: bool) -> bool {
    let is_plain = begins_with(word, term) && (any_ending || word.len() == term.len());
    is_plain || (has_long_run(word) && is_stretched(word, term, any_ending))
}

fn has_long_run(word: &[Letter]) -> bool {
    word.windows(3)
        .any(|three| Letter::are_alike([three[0], three[1], three[2]]))
}

/// Whether a word may be read as the term where a letter that is repeated, in the word or in the term, counts as one.
fn is_stretched(word: &[Letter], term: &[char], any_ending: bool) -> bool {
    let mut squeezed = term.to_vec();
    squeezed.dedup();
    // of each letter of the term whether the characters so far may end with it, all letters before it having had their turn
    let mut reached = vec![false; squeezed.len()];
    for (idx, letter) in word.iter().enumerate() {
        for at in (0..squeezed.len()).rev() {
            let comes_next = if at == 0 { idx == 0 } else { reached[at - 1] };
            reached[at] = (reached[at] || comes_next) && letter.may_be(squeezed[at]);
        }
        if any_ending && reached.last() == Some(&true) {
            return true;
        }
    }
    reached.last() == Some(&true)
}

/// The characters of each row of single letters.
fn spelt_out(words: &[Word]) -> Vec<Vec<Letter>> {
    let is_single = |word: &Word| word.readings.iter().all(|reading| reading.chars().count() == 1);
    let runs = words.chunk_by(|one, other| is_single(one) == is_single(other));
    let runs = runs.filter(|run| run.len() >= MIN_SPELT_LETTERS && is_single(&run[0]));
    runs.map(|run| {
        let text: Vec<char> = run
            .iter()
            .filter_map(|word| word.readings.first()?.chars().next())
            .collect();
        Word::from_letters(&text).letters()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn contains(text: &str, term: &str) -> bool {
        !denied(text, &[term.to_owned()]).is_empty()
    }

    #[test]
    fn each_character_is_read_by_itself() {
        for text in [
            "h1t1er",
            "H!t|er",
            "h 1 t 1 e r",
            "h1t 1er",
            "h1t1eeeer",
            "hhh1tt1er",
            "h1 t1 er",
        ] {
            assert!(contains(text, "hitler"), "{text}");
        }
        for (text, term) in [
            ("gen1ta1s", "genital*"),
            ("se1f m1nd", "self mind"),
            ("111egal", "illegal"),
        ] {
            assert!(contains(text, term), "{text}");
        }
        // without a letter it is a number, and digits are not read as letters
        for (text, term) in [
            ("111", "ill"),
            ("it is 1 11", "ill"),
            ("ill", "111"),
            ("hit1", "hitler"),
            ("h1ter", "hitler"),
        ] {
            assert!(!contains(text, term), "{text}");
        }
        assert!(contains("room 101", "101") && contains("mp3", "mp3"));
    }

    #[test]
    fn a_split_word_may_match_a_wildcard_term() {
        for (text, term) in [
            ("the hit lers", "hitler*"),
            ("tort ured", "torture*"),
            ("t ort ured", "torture*"),
            ("mur de1ed", "murdel*"),
            ("nu de", "nude*"),
        ] {
            assert!(contains(text, term), "{text}");
        }
        for (text, term) in [
            ("por nada", "porn*"),
            ("a next-gen Italian sports car", "genital*"),
            ("an illuminated capital P, ornate and golden", "porn*"),
            ("mass acres of farmland", "massacre*"),
            ("dis members of the club", "dismember*"),
            ("Model S tablet", "stab*"),
            ("a man who reads", "whore*"),
            ("go reach for it", "gore*"),
            ("a rap epic", "rape*"),
            ("ana lyst", "anal*"),
            ("hit lers", "hitler"),
            ("hit lerdorfer", "hitler*"),
            ("be headed for home", "behead*"),
            ("a cor pse", "corps"),
        ] {
            assert!(!contains(text, term), "{text}");
        }
    }

    #[test]
    fn many_readings_take_no_more_time() {
        let text = "1".repeat(1_999) + "x";
        let list: Vec<String> = (1..=300).map(|n| "il".repeat(n % 20 + 1) + "z").collect();
        let began = Instant::now();
        assert!(denied(&text, &list).is_empty());
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
}
