//! Reads a text as people do: as the letters that lookalikes, accents, digits and signs represent.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::confusable_detection::skeleton;

use crate::common::text::is_invisible;

/// The possible readings of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The written word and, if it has digits or signs for letters, the word with these letters;
    /// `1`, `!` and `|` can be an i or an l, all of them the same. [`letters`](Self::letters) has
    /// each separately.
    pub readings: Vec<String>,
    written: Vec<char>,
    /// Whether its digits and signs may represent letters: it needs at least one letter.
    has_letters: bool,
}

/// A character of a word, with what it may be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter {
    written: char,
    may_stand_for_others: bool,
}

impl Letter {
    /// Whether the character is this letter, or may be read as it.
    pub fn may_be(self, letter: char) -> bool {
        self.readings().contains(&letter)
    }

    /// Whether all three may be read as one letter.
    pub fn are_alike(three: [Self; 3]) -> bool {
        let [first, others @ ..] = three;
        let readings = first.readings();
        readings
            .iter()
            .any(|&letter| others.iter().all(|other| other.may_be(letter)))
    }

    /// Its possible readings: itself, and up to two letters.
    fn readings(self) -> [char; 3] {
        if self.may_stand_for_others {
            let with = |one| letter_for(self.written, one);
            [self.written, with('i'), with('l')]
        } else {
            [self.written; 3]
        }
    }
}

/// The words of a text, without accents, in lower case, with Latin letters in place of lookalikes.
pub fn words(text: &str) -> Vec<Word> {
    let letters = plain(text);
    let mut words = Vec::new();
    let mut begin = 0;
    for idx in 0..=letters.len() {
        if idx == letters.len() || !is_of_a_word(&letters, idx) {
            if begin < idx {
                words.push(Word::from_letters(&letters[begin..idx]));
            }
            begin = idx + 1;
        }
    }
    words
}

fn plain(text: &str) -> Vec<char> {
    let decomposed = text.nfkd().filter(|&c| !is_combining_mark(c) && !is_invisible(c));
    let without_apostrophes = decomposed.filter(|c| !matches!(c, '\'' | '’' | 'ʼ'));
    without_apostrophes
        .map(lookalike)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Pairs of a small capital and its letter.
const SMALL_CAPITALS: &str = "ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpꞯqʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz";
/// Pairs of a letter with a stroke, a hook or a tail that no decomposition removes, and the letter without it.
const ALTERED: &str =
    "ĸkđdðdɖdɗdħhɦhłlɫlɭløoɵoŧtʈtƭtıiɨiȷjɉjƀbɓbƃbƈcɠgǥgƙkɲnƞnŋnƥpʠqɍrɽrʂsʉuʋvɏyƴyƶzʐzɇeɛeəeɑaæaœoßs";
/// The first characters of the alphabets of signs that have no decomposition: white letters on black circles and squares, letters of flags.
const SIGNS: [u32; 3] = [0x1f150, 0x1f170, 0x1f1e6];

/// The ASCII letter that looks like `c`, by the tables above or Unicode Technical Standard 39;
/// otherwise `c` itself.
pub fn lookalike(c: char) -> char {
    if c.is_ascii() {
        return c; // the standard takes an m for rn
    }
    if let Some(letter) = listed(SMALL_CAPITALS, c)
        .or_else(|| listed(ALTERED, c))
        .or_else(|| sign(c))
    {
        return letter;
    }
    let mut text = [0; 4];
    let text: &str = c.encode_utf8(&mut text);
    let mut prototype = skeleton(text);
    match (prototype.next(), prototype.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => letter,
        _ => c,
    }
}

fn listed(table: &str, c: char) -> Option<char> {
    let lower = c.to_lowercase().next().unwrap_or(c);
    let mut pairs = table.chars();
    while let (Some(altered), Some(letter)) = (pairs.next(), pairs.next()) {
        if altered == c || altered == lower {
            return Some(letter);
        }
    }
    None
}

fn sign(c: char) -> Option<char> {
    let letter = |first: &u32| {
        let place = u8::try_from(u32::from(c).checked_sub(*first)?).ok()?;
        (place < 26).then(|| char::from(b'a' + place))
    };
    SIGNS.iter().find_map(letter)
}

/// One spelling for all texts that a reader takes for the same words: letters and digits without
/// spaces, accents and lookalikes. Digits and signs that represent letters become these letters (an
/// i also for an l, because `1` is both), and a repeated letter becomes one.
pub fn one_spelling(text: &str) -> String {
    let mut letters: Vec<char> = words(text)
        .into_iter()
        .filter_map(|word| word.readings.into_iter().next())
        .flat_map(|reading| reading.chars().collect::<Vec<_>>())
        .collect();
    letters.dedup_by(|one, other| one == other && one.is_alphabetic());
    let read = letters.into_iter().map(|c| match letter_for(c, 'i') {
        'l' => 'i',
        letter => letter,
    });
    read.collect()
}

/// Whether a character is part of a word: letters, digits, and signs that represent letters (`@`
/// and `$` next to a letter, `!` and `|` between two).
fn is_of_a_word(letters: &[char], idx: usize) -> bool {
    let is_letter = |idx: Option<usize>| {
        idx.and_then(|idx| letters.get(idx))
            .is_some_and(|c| c.is_alphanumeric())
    };
    let (before, after) = (is_letter(idx.checked_sub(1)), is_letter(Some(idx + 1)));
    match letters[idx] {
        '@' | '$' => before || after,
        '!' | '|' => before && after,
        c => c.is_alphanumeric(),
    }
}

impl Word {
    /// The word formed by adjacent letters.
    pub fn from_letters(letters: &[char]) -> Self {
        let text: String = letters.iter().collect();
        let has_letters = letters.iter().any(|c| c.is_alphabetic());
        let is_spelt_out = letters.iter().all(|&c| letter_for(c, 'i') == c);
        let readings = if !has_letters || is_spelt_out {
            vec![text]
        } else {
            let with = |one: char| letters.iter().map(|&c| letter_for(c, one)).collect::<String>();
            let mut readings = vec![text, with('i'), with('l')];
            readings.dedup();
            readings
        };
        Self {
            readings,
            written: letters.to_vec(),
            has_letters,
        }
    }

    /// Its characters, each with its possible readings, independent of the others: in `h1t1er` the
    /// first `1` may be an i and the second an l.
    pub fn letters(&self) -> Vec<Letter> {
        let letter = |&written: &char| Letter {
            written,
            may_stand_for_others: self.has_letters,
        };
        self.written.iter().map(letter).collect()
    }
}

fn letter_for(c: char, one: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' | '|' => one,
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        '8' => 'b',
        '9' => 'g',
        c => c,
    }
}
