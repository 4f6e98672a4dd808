//! Announcements to participants during a challenge.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{Object, Reader};
use crate::challenge::Challenge;
use crate::rejection::{Reason, Reasons, quote};
use crate::{Timestamp, offer};

/// One announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// From when on it is shown.
    pub date: Timestamp,
    /// The announcement, in plain text or Markdown.
    pub text: String,
    /// The rounds whose participants see it; empty for all rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<String>,
}

impl Challenge {
    /// The announcements that are shown `at` a time, newest first.
    pub fn announced(&self, at: Timestamp) -> impl Iterator<Item = &Announcement> {
        self.announcements.iter().filter(move |one| one.date <= at)
    }
}

/// Refuses announcements for unknown rounds. The rounds of the document and the published rounds
/// are `known`.
pub fn unknown_rounds(document: &Value, known: &BTreeSet<String>) -> Reasons {
    let mut reasons = Reasons::default();
    let announcements = document["announcements"].as_array();
    for (idx, one) in announcements.into_iter().flatten().enumerate() {
        for (nth, id) in one["rounds"].as_array().into_iter().flatten().enumerate() {
            let Some(id) = id.as_str().filter(|id| !known.contains(*id)) else {
                continue;
            };
            let message = format!("there is no round {}: {}", quote(id), offer(id, known));
            let at = format!("/announcements/{idx}/rounds/{nth}");
            reasons.add(Reason::new("unknown_round", at, message));
        }
    }
    reasons
}

/// Sorts announcements, the newest first.
pub(crate) fn sort(announcements: &mut [Announcement]) {
    announcements.sort_by_key(|one| std::cmp::Reverse(one.date));
}

impl Reader {
    pub(crate) fn announcements(&mut self, top: &Object) -> Vec<Announcement> {
        let mut announcements = Vec::new();
        for (idx, value) in self
            .list(top.get("announcements"), "/announcements")
            .iter()
            .enumerate()
        {
            let at = format!("/announcements/{idx}");
            announcements.extend(self.announcement(value, &at));
        }
        sort(&mut announcements);
        announcements
    }

    fn announcement(&mut self, value: &Value, at: &str) -> Option<Announcement> {
        let object = self.object(value, at, &["date", "text", "rounds"])?;
        for key in ["date", "text"] {
            if !object.contains_key(key) {
                let message = format!("an announcement has `{key}`");
                self.wrong("missing_key", &format!("{at}/{key}"), message);
            }
        }
        let (date, text) = (self.beginning(object, at, "date"), self.text(object, at, "text"));
        Some(Announcement {
            date: date?,
            text: text?,
            rounds: self.names(object, at, "rounds", Self::round_id),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_misspelt_round_of_an_announcement_is_refused() {
        let known = BTreeSet::from(["spring".to_owned(), "summer".to_owned()]);
        let document =
            json!({ "announcements": [{ "rounds": ["spring"] }, {}, { "rounds": ["summer", "sprng"] }] });
        let refused = unknown_rounds(&document, &known)
            .into_verdict(())
            .expect_err("refused");
        let [reason] = refused.reasons() else {
            panic!("{refused:?}")
        };
        assert_eq!(
            (reason.code.as_str(), reason.at.as_str()),
            ("unknown_round", "/announcements/2/rounds/1")
        );
        assert!(reason.message.contains("did you mean `spring`?"), "{reason:?}");
    }
}
