//! Words and phrases that no text may contain, in any spelling that a reader recognizes.

use crate::spelling::{Word, words};

/// The least number of single letters in a row that are read as a word, such as `n u d e`.
const MIN_SPELT_LETTERS: usize = 3;
/// The most pieces of a word that is found although it is split, such as `nu de`; below it the least length of such a word, in letters.
const MAX_PIECES: usize = 4;
const MIN_TORN_LETTERS: usize = 4;
/// Words that often stand by themselves: a row of words that has one of them is not read as a split word, as in `to be head of a school`.
const SHORT_WORDS: [&str; 32] = [
    "am", "an", "as", "at", "be", "by", "do", "for", "he", "her", "his", "if", "in", "is", "it", "man", "me",
    "my", "no", "of", "on", "or", "our", "so", "the", "to", "up", "us", "was", "we", "you", "not",
];

/// The terms of `list` that `text` contains as whole words. A `*` at a term's end matches any ending.
///
/// ```
/// use dataperf_collection::filter::denied;
/// let list = ["nude", "self harm", "porn*"].map(String::from);
/// assert_eq!(denied("a N.U.D.E portrait, pоrnographic", &list), ["nude", "porn*"]); // with a Cyrillic о
/// assert!(denied("denuded hills, harm to the self", &list).is_empty());
/// ```
pub fn denied<'a>(text: &str, list: &'a [String]) -> Vec<&'a str> {
    let words = words(text);
    let spelt = spelt_out(&words);
    let found = list.iter().filter(|term| Term::of(term).is_in(&words, &spelt));
    found.map(String::as_str).collect()
}

struct Term {
    words: Vec<String>,
    has_any_ending: bool,
}

impl Term {
    fn of(text: &str) -> Self {
        let stem = text.trim().strip_suffix('*');
        let found = words(stem.unwrap_or(text));
        Self {
            words: found
                .into_iter()
                .filter_map(|word| word.readings.into_iter().next())
                .collect(),
            has_any_ending: stem.is_some(),
        }
    }

    fn is_in(&self, words: &[Word], spelt: &[String]) -> bool {
        let n = self.words.len();
        if n == 0 {
            return false;
        }
        let joined = self.words.concat();
        let is_spelt =
            joined.chars().count() >= MIN_SPELT_LETTERS && spelt.iter().any(|run| run.contains(&joined));
        is_spelt || is_torn(words, &joined) || words.windows(n).any(|window| self.matches(window))
    }

    fn matches(&self, window: &[Word]) -> bool {
        let last = window.len() - 1;
        self.words
            .iter()
            .zip(window)
            .enumerate()
            .all(|(idx, (term, word))| {
                let any_ending = self.has_any_ending && idx == last;
                word.readings
                    .iter()
                    .any(|reading| reads_as(reading, term, any_ending))
            })
    }
}

/// Whether two to `MAX_PIECES` words in a row, none of them one of `SHORT_WORDS`, together make `term`.
fn is_torn(words: &[Word], term: &str) -> bool {
    if term.chars().count() < MIN_TORN_LETTERS {
        return false;
    }
    let is_short = |word: &Word| {
        word.readings
            .iter()
            .any(|reading| SHORT_WORDS.contains(&reading.as_str()))
    };
    let makes_it = |pieces: &[Word]| {
        let rest = pieces.iter().try_fold(vec![term], |rests, piece| {
            let left = |rest: &&str| {
                piece
                    .readings
                    .iter()
                    .find_map(|reading| rest.strip_prefix(reading.as_str()).map(str::len))
            };
            let rests: Vec<&str> = rests
                .iter()
                .filter_map(|rest| left(rest).map(|n| &term[term.len() - n..]))
                .collect();
            (!rests.is_empty()).then_some(rests)
        });
        rest.is_some_and(|rests| rests.contains(&"")) && !pieces.iter().any(is_short)
    };
    (2..=MAX_PIECES).any(|n| words.windows(n).any(makes_it))
}

/// Whether a reading is the term, also where letters are repeated for effect: `nuuuude`.
fn reads_as(reading: &str, term: &str, any_ending: bool) -> bool {
    let same = |reading: &str, term: &str| {
        if any_ending {
            reading.starts_with(term)
        } else {
            reading == term
        }
    };
    same(reading, term) || (has_long_run(reading) && same(&squeezed(reading), &squeezed(term)))
}

fn has_long_run(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    chars
        .windows(3)
        .any(|three| three[0] == three[1] && three[1] == three[2])
}

fn squeezed(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    chars.dedup();
    chars.into_iter().collect()
}

/// What each row of single letters spells, in all its readings.
fn spelt_out(words: &[Word]) -> Vec<String> {
    let is_single = |word: &Word| word.readings.iter().all(|reading| reading.chars().count() == 1);
    let runs = words.chunk_by(|one, other| is_single(one) == is_single(other));
    let runs = runs.filter(|run| run.len() >= MIN_SPELT_LETTERS && is_single(&run[0]));
    runs.flat_map(|run| {
        let text: Vec<char> = run
            .iter()
            .filter_map(|word| word.readings.first()?.chars().next())
            .collect();
        Word::of(&text).readings
    })
    .collect()
}
