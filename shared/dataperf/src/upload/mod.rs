//! The key of an uploaded object, and its owner.

pub mod misplaced;
pub(crate) mod submitter;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rejection::{Reason, Reasons, Rejection, quote};
use crate::{Digest, SubmitterName, Timestamp};

const MAX_NAME_BYTES: usize = 128;
/// Stands for a leaderboard or a submitter that a key does not name, so that even such an upload has a receipt. It is nobody's name.
pub const UNNAMED: &str = "_";

/// A submission's identity: the same bucket, key and version always give the same id, so the second delivery of
/// an event finds the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubmissionId(String);

impl SubmissionId {
    /// The id of one version of an object: 32 hexadecimal digits.
    pub fn derive(bucket: &str, key: &str, version: &str) -> Self {
        // Lengths in front keep ("a", "bc") and ("ab", "c") apart.
        let name = format!(
            "{}:{bucket}{}:{key}{}:{version}",
            bucket.len(),
            key.len(),
            version.len()
        );
        Self(Digest::compute(name.as_bytes()).hex()[..32].to_owned())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that is not 32 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a submission id: expected 32 hexadecimal digits")]
pub struct InvalidSubmissionId(String);

impl FromStr for SubmissionId {
    type Err = InvalidSubmissionId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = text.len() == 32
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSubmissionId(text.chars().take(80).collect()))
        }
    }
}

impl TryFrom<String> for SubmissionId {
    type Error = InvalidSubmissionId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SubmissionId> for String {
    fn from(id: SubmissionId) -> Self {
        id.0
    }
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One version of one object in the submissions bucket, as an event announces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The bucket's name.
    pub bucket: String,
    /// The decoded key.
    pub key: String,
    /// The version. An unversioned bucket has none; `e_tag` distinguishes its events.
    pub version: Option<String>,
    /// The entity tag, if the event has one.
    pub e_tag: Option<String>,
    /// When the object was stored.
    pub received_at: Timestamp,
}

impl Upload {
    /// The submission's id.
    pub fn id(&self) -> SubmissionId {
        let version = self
            .version
            .as_deref()
            .or(self.e_tag.as_deref())
            .unwrap_or_default();
        SubmissionId::derive(&self.bucket, &self.key, version)
    }

    /// Whether this is the empty object that consoles store to show a folder, which is nobody's submission.
    pub fn is_folder_marker(&self) -> bool {
        self.key.ends_with('/')
    }
}

/// The parts of a key `BENCHMARK/LEADERBOARD/SUBMITTER/anything`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadKey {
    /// The board the submission is for, not yet known to exist.
    pub leaderboard: String,
    /// The submitter.
    pub submitter: SubmitterName,
}

impl UploadKey {
    /// Takes `key` apart.
    ///
    /// # Errors
    /// A rejection with `misplaced_upload` or `unusable_name`. Its place is the part of the key that can't be used, and it shows the form that a key
    /// must have.
    ///
    /// ```
    /// let key = dataperf::UploadKey::parse("speech-selection", "speech-selection/en-25/ada/first try.json");
    /// assert_eq!(key.map(|k| (k.leaderboard, k.submitter.to_string())), Ok(("en-25".into(), "ada".into())));
    /// ```
    pub fn parse(benchmark: &str, key: &str) -> Result<Self, Rejection> {
        let mut parts = key.splitn(4, '/');
        let segments = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(first), Some(leaderboard), Some(submitter), Some(_)) = segments else {
            return Err(misplaced(benchmark, key));
        };
        if first != benchmark {
            return Err(misplaced(benchmark, key));
        }
        let mut reasons = Reasons::default();
        if !is_usable_name(leaderboard) {
            let message = format!(
                "{} can't be a leaderboard's name: use 1 to {MAX_NAME_BYTES} bytes without control characters and `#`, and not `{UNNAMED}`, `.` or `..`",
                quote(leaderboard)
            );
            reasons.add(Reason::new("unusable_name", "key, part 2", message));
        }
        let submitter = submitter.parse::<SubmitterName>();
        if let Err(error) = &submitter {
            let message = format!("{error}. Upload the file as `{benchmark}/LEADERBOARD/SUBMITTER/FILE`");
            reasons.add(Reason::new("unusable_name", "key, part 3", message));
        }
        match submitter {
            Ok(submitter) if reasons.is_empty() => Ok(Self {
                leaderboard: leaderboard.into(),
                submitter,
            }),
            _ => Err(reasons
                .into_verdict(())
                .err()
                .unwrap_or_else(|| misplaced(benchmark, key))),
        }
    }
}

/// The leaderboard and the submitter of an upload: those in its key. If the key can't be used, its
/// usable parts, and [`UNNAMED`] for the rest.
pub fn names_of(benchmark: &str, key: &str) -> (String, String) {
    if let Ok(key) = UploadKey::parse(benchmark, key) {
        return (key.leaderboard, key.submitter.into());
    }
    let mut parts = key
        .strip_prefix(benchmark)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or("")
        .split('/');
    let mut next = |is_usable: fn(&str) -> bool| match parts.next() {
        Some(name) if is_usable(name) && parts.clone().next().is_some() => name.to_owned(),
        _ => UNNAMED.to_owned(),
    };
    (
        next(is_usable_name),
        next(|name| name.parse::<SubmitterName>().is_ok()),
    )
}

fn misplaced(benchmark: &str, key: &str) -> Rejection {
    let message = format!(
        "{} is the wrong place for a submission: upload it as `{benchmark}/LEADERBOARD/SUBMITTER/FILE`",
        quote(key)
    );
    Reason::new("misplaced_upload", "", message).into()
}

pub(crate) fn is_usable_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && ![UNNAMED, ".", ".."].contains(&name)
        && !name.chars().any(|c| c.is_control() || c == '#')
}

/// The key of a submission's receipt in the results bucket.
pub fn receipt_key(benchmark: &str, leaderboard: &str, submitter: &str, id: &SubmissionId) -> String {
    format!("{benchmark}/{leaderboard}/{submitter}/{id}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_the_division_into_parts() {
        let ids = [
            ("a", "bc", "d"),
            ("ab", "c", "d"),
            ("a", "b", "cd"),
            ("a", "bc", "e"),
        ]
        .map(|(bucket, key, version)| SubmissionId::derive(bucket, key, version));
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(ids[0].to_string().parse(), Ok(ids[0].clone()));
    }

    #[test]
    fn says_where_a_misplaced_file_belongs() {
        for key in [
            "speech-selection/en-25/file.json",
            "speech-selection",
            "vision/en-25/ada/x.json",
            "",
        ] {
            let rejection = UploadKey::parse("speech-selection", key).expect_err(key);
            assert_eq!(rejection.reasons()[0].code, "misplaced_upload", "{key}");
        }
        let rejection = UploadKey::parse("b", "b/#/_/x").expect_err("two bad names");
        let places: Vec<&str> = rejection
            .reasons()
            .iter()
            .map(|reason| reason.at.as_str())
            .collect();
        assert_eq!(places, ["key, part 2", "key, part 3"]);
    }

    #[test]
    fn valid_names_of_an_invalid_key_are_kept() {
        let salvage = |key| {
            let (leaderboard, submitter) = names_of("b", key);
            format!("{leaderboard} {submitter}")
        };
        assert_eq!(salvage("b/en-25/ada/file.json"), "en-25 ada");
        assert_eq!(salvage("b/en-25/file.json"), "en-25 _");
        assert_eq!(salvage("b/en-25/#/file.json"), "en-25 _");
        assert_eq!(
            salvage("b/en-25/Cid/file.json"),
            "en-25 _",
            "not under a name that looks like another"
        );
        assert_eq!(salvage("b/file.json"), "_ _");
        assert_eq!(salvage("elsewhere"), "_ _");
    }
}
