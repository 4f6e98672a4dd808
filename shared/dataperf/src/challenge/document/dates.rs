//! Dates without a time: days in UTC.

use serde_json::Value;

use super::fields::{Object, Reader};
use crate::Timestamp;
use crate::rejection::{Reason, pointer, quote};

/// The first moment of a day that is written as `2026-03-01`.
fn first_moment(text: &str) -> Option<Timestamp> {
    let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_date
        .then(|| format!("{text}T00:00:00Z").parse().ok())
        .flatten()
}

/// The meaning of a time in a document: a date without a time is the beginning of that day in UTC,
/// or its end if something ends then.
fn meant(text: &str, is_end: bool) -> Option<Timestamp> {
    first_moment(text).map(|moment| if is_end { moment.next_day() } else { moment })
}

impl Reader {
    /// A time at which something begins.
    pub(crate) fn beginning(&mut self, object: &Object, at: &str, key: &str) -> Option<Timestamp> {
        self.moment(object, at, key, false)
    }

    /// A time at which something ends: the first moment that is no longer in it.
    pub(crate) fn end(&mut self, object: &Object, at: &str, key: &str) -> Option<Timestamp> {
        self.moment(object, at, key, true)
    }

    fn moment(&mut self, object: &Object, at: &str, key: &str, is_end: bool) -> Option<Timestamp> {
        let text = self.text(object, at, key)?;
        if let Some(moment) = meant(&text, is_end) {
            return Some(moment);
        }
        let parsed = text.parse::<Timestamp>();
        if parsed.is_err() {
            let message = format!(
                "{} is not a time: write a day as `2026-03-01`, which is that of UTC, or a time as `2026-03-01T12:00:00Z` (RFC 3339)",
                quote(&text)
            );
            self.wrong("wrong_type", &pointer(at, key), message);
        }
        parsed.ok()
    }
}

/// The dates without a time in a document, each with its place and with what it was read as.
///
/// ```
/// let document = serde_json::json!({ "benchmarks": { "b": { "rounds": [{ "opens": "2026-03-01", "closes": "2026-03-31" }] } } });
/// let dates = dataperf::challenge::bare_dates(&document);
/// assert!(dates[0].message.contains("2026-03-01T00:00:00.000Z"));
/// assert!(dates[1].message.contains("2026-04-01T00:00:00.000Z"));
/// ```
pub fn bare_dates(document: &Value) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut note = |at: String, value: &Value, is_end: bool| {
        let text = value.as_str().unwrap_or_default();
        if let Some(moment) = meant(text, is_end) {
            let how = if is_end {
                "the end of that day"
            } else {
                "the beginning of that day"
            };
            let message = format!("{} is read as {how} in UTC, {moment}", quote(text));
            reasons.push(Reason::new("bare_date", at, message));
        }
    };
    for (idx, one) in document["announcements"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        note(format!("/announcements/{idx}/date"), &one["date"], false);
    }
    for (id, benchmark) in document["benchmarks"].as_object().into_iter().flatten() {
        let under = pointer("/benchmarks", id);
        for (idx, round) in benchmark["rounds"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{under}/rounds/{idx}");
            note(format!("{at}/opens"), &round["opens"], false);
            note(format!("{at}/closes"), &round["closes"], true);
            note(format!("{at}/retire/at"), &round["retire"]["at"], false);
        }
    }
    reasons
}
