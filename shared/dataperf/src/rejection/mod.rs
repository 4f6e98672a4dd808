//! Why an artifact is refused: every broken rule at once, in words a submitter can act on.

pub(crate) mod similar;
pub(crate) mod unknown_ids;

use serde::{Deserialize, Serialize};

use crate::rejection::unknown_ids::Unknown;

/// How many reasons are listed in full; the rest are counted.
pub const MAX_LISTED_REASONS: usize = 200;
/// The most bytes that listed reasons take as JSON. The table keeps a receipt in one item of at most 400 KB, which holds these reasons twice where each
/// line of a file is judged, a cause and the log of a public run.
pub const MAX_LISTED_BYTES: usize = 96 << 10;
const MAX_QUOTED_CHARS: usize = 80;
/// The most characters of a message. A longer one keeps both ends.
const MAX_MESSAGE_CHARS: usize = 2_000;
/// The most characters of a place. Of a longer one both ends are kept: the file it begins with, the line it ends with.
const MAX_PLACE_CHARS: usize = 200;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// A stable name for programs, such as `unknown_clip`.
    pub code: String,
    /// The place: a JSON pointer into the artifact, `line 3`, a file of a zip and a line of it, or empty for the artifact as a
    /// whole.
    pub at: String,
    /// A sentence that says what is wrong and what to change.
    pub message: String,
    /// The limit that was broken, where the rule has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The artifact's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

impl Reason {
    /// A broken rule without a number. Long places and messages are shortened, because they may
    /// contain text of the artifact.
    pub fn new(code: &str, at: impl Into<String>, message: impl Into<String>) -> Self {
        let (at, message) = (at.into(), message.into());
        Self {
            code: code.into(),
            at: shortened(at.chars().map(visible), MAX_PLACE_CHARS),
            message: shortened(message.chars(), MAX_MESSAGE_CHARS),
            limit: None,
            actual: None,
        }
    }

    /// A broken limit.
    pub fn over(
        code: &str,
        at: impl Into<String>,
        limit: u64,
        actual: u64,
        message: impl Into<String>,
    ) -> Self {
        Self {
            limit: Some(limit),
            actual: Some(actual),
            ..Self::new(code, at, message)
        }
    }
}

/// The fewest things for which one cause is looked for.
pub(crate) const MANY: usize = 3;

/// A refused artifact: at least one reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    reasons: Vec<Reason>,
    n_reasons: usize,
    cause: Option<Box<Reason>>,
    /// The names that are not known, so that the lines of a file can be explained together.
    unknown: Vec<Unknown>,
}

impl Rejection {
    /// The first reasons in the order they were found, at most [`MAX_LISTED_REASONS`] of [`MAX_LISTED_BYTES`].
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The one mistake that explains many of the reasons, if there is one.
    pub fn cause(&self) -> Option<&Reason> {
        self.cause.as_deref()
    }

    /// How many rules were broken in all, listed or not.
    pub fn n_reasons(&self) -> usize {
        self.n_reasons
    }

    pub(crate) fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }
}

impl From<Reason> for Rejection {
    fn from(reason: Reason) -> Self {
        Self {
            reasons: vec![reason],
            n_reasons: 1,
            cause: None,
            unknown: Vec::new(),
        }
    }
}

/// Collects reasons while an artifact is checked, so that one upload tells a submitter everything.
#[derive(Debug, Clone, Default)]
pub struct Reasons {
    listed: Vec<Reason>,
    /// The size of the listed reasons in bytes.
    n_bytes: usize,
    n: usize,
    cause: Option<Reason>,
    /// Names that are not known, by what they are.
    unknown: Vec<Unknown>,
}

impl From<&Rejection> for Reasons {
    fn from(rejection: &Rejection) -> Self {
        let mut reasons = Self::default();
        rejection
            .reasons
            .iter()
            .cloned()
            .for_each(|reason| reasons.add(reason));
        reasons.n = rejection.n_reasons;
        reasons.unknown.clone_from(&rejection.unknown);
        reasons
    }
}

impl Reasons {
    /// Notes a broken rule.
    pub fn add(&mut self, reason: Reason) {
        self.lists(|| reason);
    }

    /// Notes a broken rule. The reason is made only if it may be listed: an artifact may break a rule a million times.
    pub fn add_with(&mut self, reason: impl FnOnce() -> Reason) {
        self.lists(reason);
    }

    /// Notes a broken rule and returns its reason's place in the list; `None` if it is only counted, as all are after the first that is too much.
    pub(crate) fn lists(&mut self, reason: impl FnOnce() -> Reason) -> Option<usize> {
        let n_listed = self.listed.len();
        let is_full = self.n > n_listed || n_listed == MAX_LISTED_REASONS;
        self.n += 1;
        if is_full {
            return None;
        }
        let reason = reason();
        let n_bytes = self.n_bytes + serde_json::to_vec(&reason).map_or(0, |json| json.len());
        if n_bytes > MAX_LISTED_BYTES {
            return None;
        }
        self.n_bytes = n_bytes;
        self.listed.push(reason);
        Some(n_listed)
    }

    /// Notes an unknown name; `noun` is the plural for such names. The most common mistake in them,
    /// such as capitals or a missing ending, becomes the cause of the rejection. `known` are the
    /// possible names: all of them if they are few, otherwise similar ones.
    /// [`compare_unknown`](Self::compare_unknown) takes many names at once.
    pub fn add_unknown(
        &mut self,
        noun: &str,
        name: &str,
        known: impl IntoIterator<Item: AsRef<str>>,
        reason: impl FnOnce() -> Reason,
    ) {
        if let Some(noted) = self.unknown.iter_mut().find(|noted| noted.noun == noun) {
            noted.add(name, known);
            return self.add_with(reason);
        }
        let reason = reason();
        let mut noted = Unknown::new(noun, &reason.code);
        noted.add(name, known);
        self.unknown.push(noted);
        self.add(reason);
    }

    /// Looks for the one mistake in the names called `noun` that were noted so far, of which the artifact has `n_listed`.
    pub fn compare_unknown<'a>(
        &mut self,
        noun: &str,
        n_listed: usize,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        let Some(at) = self.unknown.iter().position(|noted| noted.noun == noun) else {
            return;
        };
        let noted = self.unknown.swap_remove(at);
        let known: Vec<&str> = known.into_iter().collect();
        self.explain(noted.cause(Some(n_listed), known.iter().copied()));
    }

    pub(crate) fn append_unknown(&mut self, others: impl IntoIterator<Item = Unknown>) {
        for other in others {
            match self.unknown.iter_mut().find(|noted| noted.noun == other.noun) {
                Some(noted) => noted.append(other),
                None => self.unknown.push(other),
            }
        }
    }

    /// Notes the one mistake that explains many of the reasons; the first that is noted stays.
    pub fn explain(&mut self, cause: Option<Reason>) {
        self.cause = self.cause.take().or(cause);
    }

    /// Notes what another check has found, after what is noted already.
    pub fn append(&mut self, others: Self) {
        let n = self.n + others.n;
        self.explain(others.cause);
        self.append_unknown(others.unknown);
        others.listed.into_iter().for_each(|reason| self.add(reason));
        self.n = n;
    }

    /// Whether no rule was broken so far.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The checked thing when nothing was wrong.
    ///
    /// # Errors
    /// The rejection, when anything was.
    pub fn into_verdict<T>(self, checked: T) -> Result<T, Rejection> {
        if self.n == 0 {
            Ok(checked)
        } else {
            let cause = self.cause.or_else(|| {
                let unknown = self.unknown.iter().max_by_key(|noted| noted.n);
                unknown.and_then(|noted| noted.cause(None, []))
            });
            let cause = cause.or_else(|| repeated(&self.listed, self.n));
            Err(Rejection {
                reasons: self.listed,
                n_reasons: self.n,
                cause: cause.map(Box::new),
                unknown: self.unknown,
            })
        }
    }
}

/// The share of the reasons that one cause has to explain.
const MOST: f64 = 0.8;

/// The cause of three or more reasons that differ in their places and in what they quote alone, and are most of all.
fn repeated(listed: &[Reason], n: usize) -> Option<Reason> {
    let mut groups: Vec<((&str, String), Vec<&Reason>)> = Vec::new();
    for reason in listed {
        let kind = (reason.code.as_str(), without_quotes(&reason.message));
        match groups.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, group)) => group.push(reason),
            None => groups.push((kind, vec![reason])),
        }
    }
    let (_, group) = groups.into_iter().max_by_key(|(_, group)| group.len())?;
    let (first, n_same, n_listed) = (*group.first()?, group.len(), listed.len());
    let places = match (n_same == n_listed, n_listed < n) {
        (true, true) => format!("{n_listed} and more places"),
        (true, false) => format!("{n} places"),
        (false, _) => format!("{n_same} of the first {n_listed} places"),
    };
    (n_same >= MANY && n_same as f64 >= MOST * n_listed as f64).then(|| {
        let is_same = group.iter().all(|reason| reason.message == first.message);
        let such_as = if is_same { "" } else { ", such as" };
        let message = format!("the same mistake in {places}{such_as}: {}", first.message);
        Reason::new(&first.code, "", message)
    })
}

/// A message without what it quotes in backticks and without its numbers, if anything is left then.
fn without_quotes(message: &str) -> String {
    let parts = message.split('`').step_by(2);
    let parts: Vec<String> = parts
        .map(|part| part.replace(|c: char| c.is_ascii_digit(), ""))
        .collect();
    let words = parts.join("`");
    if words.chars().any(char::is_alphabetic) {
        words
    } else {
        message.to_owned()
    }
}

/// One reason in place of the same reason for each of `n` things. `message` gives the cause and what to change. `None` for fewer than three
/// things: the submitter fixes these one by one.
///
/// ```
/// let cause = |n_wrong| dataperf::explain_every("bad_label", n_wrong, 40, || "no label is 0 or 1".to_owned());
/// assert!(cause(40).is_some() && cause(39).is_none());
/// ```
pub fn explain_every(
    code: &str,
    n_wrong: usize,
    n: usize,
    message: impl FnOnce() -> String,
) -> Option<Reason> {
    (n_wrong == n && n >= MANY).then(|| Reason::new(code, "", message()))
}

/// `text` in backticks, shortened when it is long: artifacts are hostile, and messages are for people.
///
/// ```
/// assert_eq!(dataperf::quote("job"), "`job`");
/// assert!(dataperf::quote(&"x".repeat(1_000)).chars().count() < 130);
/// ```
pub fn quote(text: &str) -> String {
    let shown: String = text.chars().take(MAX_QUOTED_CHARS).map(visible).collect();
    let cut = if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{shown}{cut}`")
}

/// `at` extended by one step of a JSON pointer (RFC 6901), with the step shortened when it is long.
///
/// ```
/// assert_eq!(dataperf::pointer("/targets", "a/b~"), "/targets/a~1b~0");
/// ```
pub fn pointer(at: &str, step: &str) -> String {
    let shown: String = step.chars().take(MAX_QUOTED_CHARS).map(visible).collect();
    format!("{at}/{}", shown.replace('~', "~0").replace('/', "~1"))
}

/// Replaces terminal control characters by a replacement character.
fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

/// The text if it has at most `n_most` characters, else its ends.
fn shortened(text: impl Iterator<Item = char> + Clone, n_most: usize) -> String {
    let n_chars = text.clone().count();
    if n_chars <= n_most {
        return text.collect();
    }
    let n_kept = n_most / 2;
    let begin = text.clone().take(n_kept);
    let end = text.skip(n_chars - n_kept + 1);
    begin.chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_location_is_shortened_and_sanitized() {
        let at = |at: &str| Reason::new("code", at, "").at;
        assert_eq!(at("Cupcake.csv line 3"), "Cupcake.csv line 3");
        let long = at(&format!("a\u{1b}[2J{}.csv line 300", "ü".repeat(60_000)));
        assert_eq!(long.chars().count(), MAX_PLACE_CHARS);
        assert!(
            long.starts_with("a\u{fffd}[2Jü") && long.ends_with("ü.csv line 300"),
            "{long}"
        );
        assert_eq!(pointer("", "\u{1b}]0;x\u{7}"), "/\u{fffd}]0;x\u{fffd}");
    }

    #[test]
    fn listed_reasons_stop_at_their_bytes() {
        let mut reasons = Reasons::default();
        for place in 0..300 {
            reasons.add(Reason::new(
                "code",
                format!("line {place}"),
                "\u{1F600}".repeat(10_000),
            ));
        }
        reasons.add(Reason::new("code", "line 300", "short"));
        let rejection = reasons.into_verdict(()).expect_err("reasons");
        let json = serde_json::to_vec(rejection.reasons()).expect("JSON");
        assert!(
            json.len() <= MAX_LISTED_BYTES + MAX_LISTED_REASONS + 1,
            "{}",
            json.len()
        );
        let places = rejection.reasons().iter().map(|reason| reason.at.as_str());
        assert!(places.eq((0..rejection.reasons().len()).map(|place| format!("line {place}"))));
        assert_eq!((rejection.reasons().len(), rejection.n_reasons()), (12, 301));
    }

    #[test]
    fn appended_reasons_are_counted_and_follow() {
        let reasons_at = |places: std::ops::Range<usize>| {
            let mut reasons = Reasons::default();
            places.for_each(|place| reasons.add(Reason::new("code", place.to_string(), place.to_string())));
            reasons
        };
        let mut reasons = reasons_at(0..150);
        reasons.append(reasons_at(150..450));
        reasons.add(Reason::new("code", "450", ""));
        let rejection = reasons.into_verdict(()).expect_err("reasons");
        assert_eq!(
            (rejection.reasons().len(), rejection.n_reasons()),
            (MAX_LISTED_REASONS, 451)
        );
        assert_eq!(rejection.reasons()[199].at, "199");
        assert_eq!(rejection.cause(), None);
    }

    #[test]
    fn equal_mistakes_have_one_cause() {
        let cause = |messages: &[&str]| {
            let mut reasons = Reasons::default();
            for (place, message) in messages.iter().enumerate() {
                reasons.add(Reason::new("code", format!("line {place}"), *message));
            }
            let rejection = reasons.into_verdict(()).expect_err("reasons");
            rejection.cause().map(|cause| cause.message.clone())
        };
        assert_eq!(
            cause(&["a", "a", "a"]),
            Some("the same mistake in 3 places: a".to_owned())
        );
        assert_eq!(
            cause(&["a"; 300]),
            Some("the same mistake in 200 and more places: a".to_owned())
        );
        assert_eq!(
            cause(&["`x` is no id", "`y` is no id", "`z` is no id"]),
            Some("the same mistake in 3 places, such as: `x` is no id".to_owned())
        );
        assert_eq!(
            cause(&["12 wide", "130 wide", "7 wide"]),
            Some("the same mistake in 3 places, such as: 12 wide".to_owned())
        );
        assert_eq!(
            cause(&["a", "a", "a", "a", "b"]),
            Some("the same mistake in 4 of the first 5 places: a".to_owned())
        );
        assert_eq!(cause(&["a", "a", "a", "b"]), None);
        assert_eq!(cause(&["a", "a"]), None);
    }
}
