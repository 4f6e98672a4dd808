//! Why an artifact is refused: every broken rule at once, in words a submitter can act on.

use serde::{Deserialize, Serialize};

/// How many reasons are listed in full; the rest are counted.
pub const MAX_LISTED_REASONS: usize = 200;
const MAX_QUOTED_CHARS: usize = 80;
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
    /// What the artifact has instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

impl Reason {
    /// A broken rule without a number. A long place is shortened: it may be made of what the artifact says.
    pub fn new(code: &str, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            at: shortened(&at.into()),
            message: message.into(),
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
}

impl Rejection {
    /// The reasons in the order they were found, at most [`MAX_LISTED_REASONS`] of them.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The one mistake that explains many of the reasons, where there is one.
    pub fn cause(&self) -> Option<&Reason> {
        self.cause.as_deref()
    }

    /// How many rules were broken in all, listed or not.
    pub fn n_reasons(&self) -> usize {
        self.n_reasons
    }
}

impl From<Reason> for Rejection {
    fn from(reason: Reason) -> Self {
        Self {
            reasons: vec![reason],
            n_reasons: 1,
            cause: None,
        }
    }
}

/// Collects reasons while an artifact is checked, so that one upload tells a submitter everything.
#[derive(Debug, Clone, Default)]
pub struct Reasons {
    listed: Vec<Reason>,
    n: usize,
    cause: Option<Reason>,
}

impl Reasons {
    /// Notes a broken rule.
    pub fn add(&mut self, reason: Reason) {
        self.n += 1;
        if self.listed.len() < MAX_LISTED_REASONS {
            self.listed.push(reason);
        }
    }

    /// Notes the one mistake that explains many of the reasons; the first that is noted stays.
    pub fn explain(&mut self, cause: Option<Reason>) {
        self.cause = self.cause.take().or(cause);
    }

    /// Notes what another check has found, after what is noted already.
    pub fn append(&mut self, others: Self) {
        self.n += others.n;
        self.explain(others.cause);
        let n_free = MAX_LISTED_REASONS - self.listed.len();
        self.listed.extend(others.listed.into_iter().take(n_free));
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
            Err(Rejection {
                reasons: self.listed,
                n_reasons: self.n,
                cause: self.cause.map(Box::new),
            })
        }
    }
}

/// The cause of reasons that are about each of `n` things alike; `said` says the cause and what to change. `None` for fewer than three things, which
/// are soon mended.
///
/// ```
/// let cause = |n_wrong| dataperf::explain_every("bad_label", n_wrong, 40, || "no label is 0 or 1".to_owned());
/// assert!(cause(40).is_some() && cause(39).is_none());
/// ```
pub fn explain_every(code: &str, n_wrong: usize, n: usize, said: impl FnOnce() -> String) -> Option<Reason> {
    (n_wrong == n && n >= MANY).then(|| Reason::new(code, "", said()))
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

/// What a terminal would obey is shown as a replacement character.
fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

fn shortened(place: &str) -> String {
    let (chars, n_chars) = (place.chars().map(visible), place.chars().count());
    if n_chars <= MAX_PLACE_CHARS {
        return chars.collect();
    }
    let n_kept = MAX_PLACE_CHARS / 2;
    let begin = chars.clone().take(n_kept);
    let end = chars.skip(n_chars - n_kept + 1);
    begin.chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_place_keeps_its_ends_and_nothing_that_a_terminal_obeys() {
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
}
