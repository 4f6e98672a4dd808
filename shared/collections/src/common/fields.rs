//! One line's members, taken one by one; everything that is wrong with them is noted.

use std::collections::BTreeSet;

use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, offer, other_spellings, pointer, quote};
use serde::{Deserialize, Serialize};

/// One word of a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The word that annotations use: lowercase letters, digits and hyphens.
    pub id: String,
    /// Its meaning.
    pub about: String,
}

/// The members of one line's object, or of an object within it.
pub struct Fields<'a> {
    line: &'a str,
    /// The beginning of the places of all members in reasons.
    place: String,
    members: Vec<(String, Json)>,
}

impl<'a> Fields<'a> {
    /// The members of the object on the line `at`; anything else on it is noted.
    pub fn new(json: Json, at: &'a str, reasons: &mut Reasons) -> Option<Self> {
        if !matches!(json, Json::Object(_)) {
            let message = format!("expected an object here, found {}", json.kind());
            reasons.add(Reason::new("wrong_type", at, message));
            return None;
        }
        let place = format!("{at} ");
        Some(Self {
            line: at,
            members: json.into_members(&place, reasons),
            place,
        })
    }

    /// The members of the object under `key`; `None` where the member is missing or `null`. Anything else is noted.
    pub fn within(&mut self, key: &str, reasons: &mut Reasons) -> Option<Self> {
        let json = match self.take(key)? {
            Json::Null => return None,
            json @ Json::Object(_) => json,
            other => {
                self.wrong_type(key, "an object", &other, reasons);
                return None;
            }
        };
        let place = self.at(key);
        Some(Self {
            line: self.line,
            members: json.into_members(&place, reasons),
            place,
        })
    }

    /// The place of a member.
    pub fn at(&self, key: &str) -> String {
        pointer(&self.place, key)
    }

    /// Whether the member `key` is there, even as `null`, and has not been taken yet.
    pub fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    fn take(&mut self, key: &str) -> Option<Json> {
        let idx = self.members.iter().position(|(name, _)| name == key)?;
        Some(self.members.swap_remove(idx).1)
    }

    fn need(&mut self, key: &str, reasons: &mut Reasons) -> Option<Json> {
        let value = self.take(key);
        if value.is_none() {
            let message = format!("`{key}` is missing: add it");
            reasons.add(Reason::new("missing_key", self.at(key), message));
        }
        value
    }

    fn wrong_type(&self, key: &str, expected: &str, value: &Json, reasons: &mut Reasons) {
        let message = format!("expected {expected} here, found {}", value.kind());
        reasons.add(Reason::new("wrong_type", self.at(key), message));
    }

    /// A required text that is not blank and has at most `max_chars` characters.
    pub fn text(&mut self, key: &str, max_chars: usize, reasons: &mut Reasons) -> Option<String> {
        let value = self.need(key, reasons)?;
        let text = self.bounded_text(key, value, max_chars, reasons)?;
        if text.trim().is_empty() {
            let message = format!("`{key}` is empty: write something");
            reasons.add(Reason::new("empty_text", self.at(key), message));
            return None;
        }
        Some(text)
    }

    /// A text of at most `max_chars` characters that may be missing or empty.
    pub fn optional_text(&mut self, key: &str, max_chars: usize, reasons: &mut Reasons) -> Option<String> {
        match self.take(key) {
            None | Some(Json::Null) => Some(String::new()),
            Some(value) => self.bounded_text(key, value, max_chars, reasons),
        }
    }

    fn bounded_text(
        &self,
        key: &str,
        value: Json,
        max_chars: usize,
        reasons: &mut Reasons,
    ) -> Option<String> {
        let Json::String(text) = value else {
            self.wrong_type(key, "a string", &value, reasons);
            return None;
        };
        let n_chars = text.chars().count();
        if n_chars > max_chars {
            let message = format!("`{key}` has {n_chars} characters, the limit is {max_chars}: shorten it");
            reasons.add(Reason::over(
                "too_long",
                self.at(key),
                max_chars as u64,
                n_chars as u64,
                message,
            ));
            return None;
        }
        Some(text)
    }

    /// A required boolean.
    pub fn boolean(&mut self, key: &str, reasons: &mut Reasons) -> Option<bool> {
        match self.need(key, reasons)? {
            Json::Bool(value) => Some(value),
            other => {
                self.wrong_type(key, "true or false", &other, reasons);
                None
            }
        }
    }

    /// A required whole number from 0 to `max`.
    pub fn level(&mut self, key: &str, max: u8, reasons: &mut Reasons) -> Option<u8> {
        let value = self.need(key, reasons)?;
        let Json::Number(number) = &value else {
            self.wrong_type(key, "a number", &value, reasons);
            return None;
        };
        let level = number
            .as_u64()
            .and_then(|level| u8::try_from(level).ok())
            .filter(|&level| level <= max);
        if level.is_none() {
            let message = format!(
                "`{key}` is {}: choose a whole number from 0 to {max}",
                quote(&number.to_string())
            );
            let reason = Reason::new("out_of_range", self.at(key), message);
            reasons.add(Reason {
                limit: Some(max.into()),
                actual: number.as_u64(),
                ..reason
            });
        }
        level
    }

    /// A required whole number.
    pub fn count(&mut self, key: &str, reasons: &mut Reasons) -> Option<usize> {
        let value = self.need(key, reasons)?;
        let number = match &value {
            Json::Number(number) => number.as_u64(),
            _ => None,
        };
        if number.is_none() {
            self.wrong_type(key, "a whole number, 0 or more", &value, reasons);
        }
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// A required string that `parse` reads, such as an id or a choice.
    pub fn parsed<T>(
        &mut self,
        key: &str,
        code: &str,
        expected: &str,
        known: impl IntoIterator<Item: AsRef<str>>,
        parse: impl Fn(&str) -> Option<T>,
        reasons: &mut Reasons,
    ) -> Option<T> {
        let value = self.need(key, reasons)?;
        let Json::String(text) = value else {
            self.wrong_type(key, "a string", &value, reasons);
            return None;
        };
        let parsed = parse(&text);
        if parsed.is_none() {
            let mut near = other_spellings(&text);
            near.retain(|spelling| parse(spelling).is_some());
            near.extend(known.into_iter().map(|known| known.as_ref().to_owned()));
            reasons.add_unknown(&format!("values of `{key}`"), &text, near, || {
                Reason::new(code, self.at(key), format!("{} is not {expected}", quote(&text)))
            });
        }
        parsed
    }

    /// Words of a vocabulary, each once, in the vocabulary's order; at least one if `is_needed`.
    pub fn words(
        &mut self,
        key: &str,
        terms: &[Term],
        is_needed: bool,
        reasons: &mut Reasons,
    ) -> Option<Vec<String>> {
        let value = match (self.take(key), is_needed) {
            (Some(value), _) => value,
            (None, false) => return Some(Vec::new()),
            (None, true) => return self.need(key, reasons).map(|_| Vec::new()),
        };
        let at = self.at(key);
        let mut noted = Reasons::default();
        let mut chosen = BTreeSet::new();
        for (idx, word) in value.into_strings(&at, &mut noted) {
            let at = format!("{at}/{idx}");
            if !terms.iter().any(|term| term.id == word) {
                let known = terms.iter().map(|term| &term.id);
                noted.add_unknown(&format!("words of `{key}`"), &word, known.clone(), || {
                    let known = offer(&word, known);
                    Reason::new(
                        "unknown_word",
                        at,
                        format!("{} is not a word of `{key}`: {known}", quote(&word)),
                    )
                });
            } else if !chosen.insert(word.clone()) {
                let message = format!("{} appears more than once: keep one", quote(&word));
                noted.add(Reason::new("duplicate_word", at, message));
            }
        }
        if chosen.is_empty() && is_needed && noted.is_empty() {
            noted.add(Reason::new(
                "no_words",
                &at,
                format!("`{key}` is empty: choose at least one"),
            ));
        }
        let is_good = noted.is_empty();
        reasons.append(noted);
        let in_order = terms.iter().filter(|term| chosen.contains(&term.id));
        is_good.then(|| in_order.map(|term| term.id.clone()).collect())
    }

    /// Notes that a key is missing, if it is.
    pub fn require(&self, key: &str, reasons: &mut Reasons) {
        if !self.has(key) {
            let message = format!("`{key}` is missing: add it");
            reasons.add(Reason::new("missing_key", self.at(key), message));
        }
    }

    /// Notes all keys that have not been taken.
    pub fn finish(self, known: &str, reasons: &mut Reasons) {
        for (key, _) in &self.members {
            let message = format!("{} is not a key here: the keys are {known}", quote(key));
            reasons.add(Reason::new("unknown_key", self.at(key), message));
        }
    }
}
