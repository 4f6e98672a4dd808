//! What participants are told while a challenge goes on.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Challenge;
use super::fields::{Object, Reader};
use crate::Timestamp;

/// One announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// From when on it is shown.
    pub date: Timestamp,
    /// What is said, plain text or Markdown.
    pub text: String,
    /// The rounds whose participants are told; all when none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<String>,
}

impl Challenge {
    /// The announcements that are shown `at` a time, newest first.
    pub fn announced(&self, at: Timestamp) -> impl Iterator<Item = &Announcement> {
        self.announcements.iter().filter(move |one| one.date <= at)
    }
}

/// Sorts announcements, the newest first.
pub(super) fn sort(announcements: &mut [Announcement]) {
    announcements.sort_by_key(|one| std::cmp::Reverse(one.date));
}

impl Reader {
    pub(super) fn announcements(&mut self, top: &Object) -> Vec<Announcement> {
        let mut found = Vec::new();
        for (idx, value) in self
            .list(top.get("announcements"), "/announcements")
            .iter()
            .enumerate()
        {
            let at = format!("/announcements/{idx}");
            found.extend(self.announcement(value, &at));
        }
        sort(&mut found);
        found
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
