//! Defines the valid names of submitters, for keys, tokens, boards and commands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rejection::quote;

/// Begins the name of a submitter whose submissions are baselines, in a challenge or outside of any.
pub const BASELINE_PREFIX: &str = "baseline-";

/// A submitter's or rater's name: 1 to 64 of the letters `a` to `z`, digits, and `.`, `_` and `-`, each of these three alone and
/// between two others.
///
/// Limits are counted by name, and boards are read by people, so two names that look the same must be the same. With letters
/// of other alphabets, capitals, accents, spaces and invisible characters there would be many of each; without them there is
/// one, and comparing bytes is enough.
///
/// ```
/// use dataperf::SubmitterName;
/// assert!("team-7.example_lab".parse::<SubmitterName>().is_ok());
/// let refused = "Cid ".parse::<SubmitterName>().expect_err("a capital and a space");
/// assert!(refused.to_string().ends_with("such as `cid`"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubmitterName(String);

/// A text that can't be a submitter's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} can't be a submitter's name: use 1 to {} lower-case letters a to z and digits, with single `.`, `_` or `-` \
     between them{}",
    quote(.0), SubmitterName::MAX_CHARS, remedy(.0)
)]
pub struct InvalidSubmitterName(String);

impl SubmitterName {
    /// The most characters of a name; each is one byte.
    pub const MAX_CHARS: usize = 64;

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether people may confuse it with another name. Such names differ only in their separators,
    /// or in letters and digits that look alike in many typefaces (`l` and `1`, `o` and `0`, `s`
    /// and `5`, `z` and `2`, `m` and `rn`, `w` and `vv`, `d` and `cl`). The second of two such
    /// names is refused.
    ///
    /// ```
    /// use dataperf::SubmitterName;
    /// let looks_like = |one: &str, other: &str| one.parse::<SubmitterName>().unwrap().looks_like(&other.parse().unwrap());
    /// assert!(looks_like("ada-1", "ada_1") && looks_like("l0", "lo") && looks_like("corn", "com") && looks_like("vvv", "vw"));
    /// assert!(looks_like("zoe5", "2oes") && looks_like("ada", "ac1a"));
    /// assert!(!looks_like("ada", "ada") && !looks_like("ada-1", "ada-2") && !looks_like("team-1-1", "team-11"));
    /// assert!(!looks_like("ian", "lan"), "the letter `i` has a dot");
    /// ```
    pub fn looks_like(&self, other: &Self) -> bool {
        self != other && self.looks() == other.looks()
    }

    /// The name with one spelling for characters that look alike: it is the same for names that [look alike](Self::looks_like).
    pub fn looks(&self) -> String {
        let same = |character| match character {
            '1' => "l".to_owned(),
            '0' => "o".to_owned(),
            '2' => "z".to_owned(),
            '5' => "s".to_owned(),
            '.' | '_' => "-".to_owned(),
            'm' => "rn".to_owned(),
            'w' => "vv".to_owned(),
            other => other.to_string(),
        };
        self.0.chars().map(same).collect::<String>().replace("cl", "d")
    }

    /// Whether people may mistake it for a baseline's name.
    ///
    /// ```
    /// let name = |text: &str| text.parse::<dataperf::SubmitterName>().unwrap();
    /// assert!(name("baseline_random").looks_like_baseline() && name("base1ine-random").looks_like_baseline());
    /// assert!(!name("baseline-random").looks_like_baseline() && !name("baselines").looks_like_baseline());
    /// ```
    pub fn looks_like_baseline(&self) -> bool {
        !self.is_baseline() && self.looks().starts_with(BASELINE_PREFIX)
    }

    /// Whether it is a baseline's name, which only the organizer may use.
    pub fn is_baseline(&self) -> bool {
        self.0.starts_with(BASELINE_PREFIX)
    }
}

fn is_name(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= SubmitterName::MAX_CHARS && text.split(['.', '_', '-']).all(is_word)
}

/// A valid name like `text`, if there is one.
pub(crate) fn similar_name(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(SubmitterName::MAX_CHARS); // it is ASCII
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The end of a refusal.
fn remedy(text: &str) -> String {
    similar_name(text).map_or_else(String::new, |name| format!(", such as `{name}`"))
}

impl FromStr for SubmitterName {
    type Err = InvalidSubmitterName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            // no more than a message shows
            Err(InvalidSubmitterName(text.chars().take(200).collect()))
        }
    }
}

impl TryFrom<String> for SubmitterName {
    type Error = InvalidSubmitterName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SubmitterName> for String {
    fn from(name: SubmitterName) -> Self {
        name.0
    }
}

impl fmt::Display for SubmitterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_refused_but_one() {
        let cid = [
            "Cid",
            "CID",
            "cid ",
            " cid",
            "c id",
            "ci\u{301}d",
            "cíd",
            "сid",
            "ci\u{200b}d",
            "\u{202e}dic",
            "cid\u{feff}",
            "cıd",
            "ｃｉｄ",
            "𝐜𝐢𝐝",
            "cid\u{ad}",
            "cid.",
            "cid-",
            "_cid",
            "-cid",
            ".cid",
            "ci--d",
            "ci._d",
            "cid\0",
        ];
        for name in cid {
            assert!(name.parse::<SubmitterName>().is_err(), "{name:?}");
        }
        assert_eq!("cid".parse::<SubmitterName>().map(String::from), Ok("cid".into()));
    }

    #[test]
    fn names_leading_outside_are_refused() {
        for name in [
            "",
            "_",
            ".",
            "..",
            "a/b",
            "a#b",
            "a\\b",
            "ada@example.org",
            "=1",
            "a,b",
            &"a".repeat(65),
        ] {
            assert!(name.parse::<SubmitterName>().is_err(), "{name:?}");
        }
        for name in [
            "a",
            "7",
            "baseline-price_per_gain",
            "ada.example.org",
            &"a".repeat(64),
        ] {
            assert!(name.parse::<SubmitterName>().is_ok(), "{name:?}");
        }
    }

    #[test]
    fn the_remedy_is_a_name() {
        for (text, remedy) in [
            ("Cid", Some("cid")),
            ("Zoë Lab", Some("zo-lab")),
            ("ada@example.org", Some("ada-example-org")),
            ("日本語", None),
            ("_", None),
        ] {
            let refused = text.parse::<SubmitterName>().expect_err(text).to_string();
            let suggested = refused
                .split("such as `")
                .nth(1)
                .map(|rest| rest.trim_end_matches('`'));
            assert_eq!(suggested, remedy, "{refused}");
            assert!(remedy.is_none_or(|name| name.parse::<SubmitterName>().is_ok()));
        }
        let long = format!("{}-X", "a".repeat(63));
        let refused = long.parse::<SubmitterName>().expect_err("a capital").to_string();
        assert!(
            refused.ends_with(&format!("such as `{}`", "a".repeat(63))),
            "{refused}"
        );
    }
}
