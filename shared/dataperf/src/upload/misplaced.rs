//! Files that were stored where no submission belongs, and where they should have gone.
//!
//! Such a key names no board and no submitter, so that the file is nobody's submission. What is left for it is a note in the
//! results bucket, at a place that follows from the key.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::rejection::similar::nearest;
use crate::upload::UNNAMED;
use crate::upload::submitter::similar_name;
use crate::{Digest, SubmitterName, Timestamp, Upload, quote};

/// The longest key that S3 takes, in bytes.
const MAX_KEY_BYTES: usize = 1024;
/// How many bytes of a key are kept in its note's key, where the whole would be too long; the digest of the whole key follows.
const KEPT_BYTES: usize = 900;

/// A benchmark with its active leaderboards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The benchmark's id.
    pub benchmark: String,
    /// The benchmark's leaderboards, none where they are not known; or the kinds of its artifacts.
    pub leaderboards: Vec<String>,
    /// Whether keys have a kind of artifact where others have the leaderboard.
    pub has_kinds: bool,
}

/// The note on one misplaced file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The version of this document's form.
    pub schema: u32,
    /// The place of the file.
    pub key: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When it was stored.
    pub received_at: Timestamp,
    /// Always `misplaced_upload`.
    pub code: String,
    /// The right place of the file. Parts that the key does not reveal are in capitals:
    /// `BENCHMARK`, `LEADERBOARD` or `KIND`, `SUBMITTER`, `FILE`.
    pub nearest: String,
    /// The problem and the right place of the file, in a sentence for people.
    pub message: String,
}

impl Note {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The note on an upload, with the nearest key that could have been meant.
    pub fn new(upload: &Upload, places: &[Place]) -> Self {
        let nearest = nearest_key(&upload.key, places);
        let message = format!(
            "{} is the wrong place, so nothing scores it: upload the file as {}",
            quote(&upload.key),
            quote(&nearest)
        );
        Self {
            schema: Self::SCHEMA,
            key: upload.key.clone(),
            version: upload.version.clone(),
            received_at: upload.received_at,
            code: "misplaced_upload".into(),
            nearest,
            message,
        }
    }

    /// The prefix of every note's key in the results bucket.
    pub fn prefix() -> String {
        format!("{UNNAMED}/misplaced/")
    }

    /// The key of the note on a file in the results bucket: `_/misplaced/KEY`. If the key is too
    /// long for that, or has characters that S3's XML answers can't have, the note's key has the
    /// usable part, `~`, and the SHA-256 of the whole key.
    ///
    /// ```
    /// assert_eq!(dataperf::upload::misplaced::Note::place("en-25/ada/my.json"), "_/misplaced/en-25/ada/my.json");
    /// ```
    pub fn place(key: &str) -> String {
        let prefix = Self::prefix();
        let is_told = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
        if key.chars().all(is_told) && prefix.len() + key.len() <= MAX_KEY_BYTES {
            return format!("{prefix}{key}");
        }
        let kept: String = key.chars().filter(|c| is_told(*c)).collect();
        let kept = &kept[..kept.floor_char_boundary(KEPT_BYTES)];
        format!("{prefix}{kept}~{}", Digest::compute(key.as_bytes()).hex())
    }

    /// Whether this note is about that version of its key, or about a later one.
    pub fn answers(&self, upload: &Upload) -> bool {
        self.key == upload.key && (self.version == upload.version || self.received_at > upload.received_at)
    }

    /// The object's bytes.
    pub fn to_json(&self) -> Bytes {
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json.into()
    }
}

/// The benchmark under whose prefix a key is.
fn hosting<'a>(key: &str, benchmarks: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (first, _) = key.split_once('/')?;
    benchmarks.into_iter().find(|benchmark| *benchmark == first)
}

/// Whether no receipt can tell anybody about an upload: its key is below no benchmark, or has too
/// few parts to name a submitter. The key of a folder is not a file.
///
/// ```
/// use dataperf::upload::misplaced::is_misplaced;
/// assert!(is_misplaced("my.json", ["vision"]) && is_misplaced("vision/open/my.json", ["vision"]));
/// assert!(!is_misplaced("vision/open/ada/my.json", ["vision"]) && !is_misplaced("visoin/", ["vision"]));
/// ```
pub fn is_misplaced<'a>(key: &str, benchmarks: impl IntoIterator<Item = &'a str>) -> bool {
    !key.ends_with('/') && (hosting(key, benchmarks).is_none() || key.split('/').count() < 4)
}

/// Whether a key below a benchmark with kinds of artifacts names no kind in its second part. No
/// function receives such an upload.
///
/// ```
/// use dataperf::upload::misplaced::is_of_no_kind;
/// assert!(is_of_no_kind("text/sumbit/ada/my.jsonl", &["submit"]) && is_of_no_kind("text/my.jsonl", &["submit"]));
/// assert!(!is_of_no_kind("text/submit/ada/my.jsonl", &["submit"]) && !is_of_no_kind("vision/open/ada/my.json", &[]));
/// ```
pub fn is_of_no_kind(key: &str, kinds: &[&str]) -> bool {
    let second = key.split('/').nth(1).unwrap_or_default();
    // below `_` is the platform's own
    !kinds.is_empty() && !key.ends_with('/') && second != UNNAMED && !kinds.contains(&second)
}

/// The key of the usual form that is nearest to `key`.
///
/// ```
/// use dataperf::upload::misplaced::{Place, nearest_key};
/// let leaderboards = vec!["en-25".into(), "pt-25".into()];
/// let place = Place { benchmark: "speech-selection".into(), leaderboards, has_kinds: false };
/// let nearest = |key| nearest_key(key, std::slice::from_ref(&place));
/// assert_eq!(nearest("my.json"), "BENCHMARK/LEADERBOARD/SUBMITTER/my.json");
/// assert_eq!(nearest("en-25/ada/my.json"), "speech-selection/en-25/ada/my.json");
/// assert_eq!(nearest("speech-selecton/en25/Ada/my.json"), "speech-selection/en-25/ada/my.json");
/// ```
pub fn nearest_key(key: &str, places: &[Place]) -> String {
    let (names, file) = key
        .rsplit_once('/')
        .map_or(("", key), |(names, file)| (names, file));
    let names: Vec<&str> = names
        .split('/')
        .filter(|name| !["", ".", "..", UNNAMED].contains(name))
        .collect();
    let (place, names) = benchmark_of(&names, places);
    let known: Vec<&str> = places
        .iter()
        .filter(|other| place.is_none_or(|place| place == *other))
        .flat_map(|place| place.leaderboards.iter().map(String::as_str))
        .collect();
    let unnamed = if place.is_some_and(|place| place.has_kinds) {
        "KIND"
    } else {
        "LEADERBOARD"
    };
    let (leaderboard, names) = leaderboard_of(names, &known, unnamed);
    let (submitter, names) = match names {
        [] => ("SUBMITTER".to_owned(), names),
        [name, rest @ ..] if name.parse::<SubmitterName>().is_ok() => ((*name).to_owned(), rest),
        [name, rest @ ..] => (similar_name(name).unwrap_or_else(|| "SUBMITTER".into()), rest),
    };
    let benchmark = place.map_or("BENCHMARK", |place| place.benchmark.as_str());
    let file = if file.is_empty() { "FILE" } else { file };
    let file: Vec<&str> = names.iter().copied().chain([file]).collect();
    let key = format!("{benchmark}/{leaderboard}/{submitter}/{}", file.join("/"));
    if key.len() <= MAX_KEY_BYTES {
        return key;
    }
    format!("{benchmark}/{leaderboard}/{submitter}/FILE")
}

/// The benchmark that is meant, and the names that follow it.
fn benchmark_of<'a, 'n>(names: &'n [&'n str], places: &'a [Place]) -> (Option<&'a Place>, &'n [&'n str]) {
    let Some((first, rest)) = names.split_first() else {
        return (None, names);
    };
    let ids = || places.iter().map(|place| place.benchmark.as_str());
    let of_board = |name: &str| {
        only(
            places
                .iter()
                .filter(|place| place.leaderboards.iter().any(|board| board == name)),
        )
    };
    if let Some(place) = places.iter().find(|place| place.benchmark == *first) {
        return (Some(place), rest);
    }
    // the benchmark was left out
    if let Some(place) = of_board(first) {
        return (Some(place), names);
    }
    if let Some(id) = nearest(first, ids()) {
        return (places.iter().find(|place| place.benchmark == id), rest);
    }
    let boards = || {
        places
            .iter()
            .flat_map(|place| place.leaderboards.iter().map(String::as_str))
    };
    if let Some(place) = nearest(first, boards()).and_then(of_board) {
        return (Some(place), names);
    }
    match rest.first().map(|second| of_board(second)) {
        Some(Some(place)) => (Some(place), rest), // something else stands for the benchmark
        _ if names.len() > 2 => (None, rest),
        _ => (None, names),
    }
}

/// The leaderboard that is meant, and the names that follow it.
fn leaderboard_of<'n>(names: &'n [&'n str], known: &[&str], unnamed: &str) -> (String, &'n [&'n str]) {
    let unnamed = || unnamed.to_owned();
    let Some((first, rest)) = names.split_first() else {
        return (unnamed(), names);
    };
    if known.iter().any(|board| board == first) {
        return ((*first).to_owned(), rest);
    }
    match nearest(first, known.iter().copied()) {
        Some(board) => (board.to_owned(), rest),
        // a single name is rather a submitter's
        None if rest.is_empty() && !known.is_empty() => (unnamed(), names),
        None if known.is_empty() => ((*first).to_owned(), rest),
        None => (unnamed(), rest),
    }
}

/// The only item of an iterator; `None` if it has none or several.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Vec<Place> {
        let place = |benchmark: &str, leaderboards: &[&str]| Place {
            benchmark: benchmark.into(),
            leaderboards: leaderboards.iter().map(ToString::to_string).collect(),
            has_kinds: leaderboards.contains(&"submit"),
        };
        vec![
            place("speech-selection", &["en-25", "en-60", "pt-25"]),
            place("vision-selection", &["open"]),
            place("vision-debugging", &["open"]),
            place("curation", &[]),
            place("adversarial-text", &["submit", "verdict"]),
        ]
    }

    #[test]
    fn the_nearest_key_keeps_known_parts() {
        for (key, expected) in [
            ("my.json", "BENCHMARK/LEADERBOARD/SUBMITTER/my.json"),
            ("", "BENCHMARK/LEADERBOARD/SUBMITTER/FILE"),
            (
                "speech-selection",
                "BENCHMARK/LEADERBOARD/SUBMITTER/speech-selection",
            ),
            ("en-25/ada/my.json", "speech-selection/en-25/ada/my.json"),
            ("/en-25/ada/my.json", "speech-selection/en-25/ada/my.json"),
            ("en25/ada/my.json", "speech-selection/en-25/ada/my.json"),
            (
                "speech-selecton/en-25/ada/my.json",
                "speech-selection/en-25/ada/my.json",
            ),
            (
                "Speech-Selection/EN-25/Ada/a/b.json",
                "speech-selection/en-25/ada/a/b.json",
            ),
            (
                "speech-selection/en-25/my.json",
                "speech-selection/en-25/SUBMITTER/my.json",
            ),
            (
                "speech-selection/ada/my.json",
                "speech-selection/LEADERBOARD/ada/my.json",
            ),
            (
                "speech-selection/my.json",
                "speech-selection/LEADERBOARD/SUBMITTER/my.json",
            ),
            ("uploads/en-25/ada/my.json", "speech-selection/en-25/ada/my.json"),
            ("open/ada/my.zip", "BENCHMARK/open/ada/my.zip"),
            ("curation/mine/ada/my.zip", "curation/mine/ada/my.zip"),
            (
                "adversarial-text/sumbit/ada/x.jsonl",
                "adversarial-text/submit/ada/x.jsonl",
            ),
            (
                "adversarial-text/ada/x.jsonl",
                "adversarial-text/KIND/ada/x.jsonl",
            ),
            (
                "adversarial-text/submit/x.jsonl",
                "adversarial-text/submit/SUBMITTER/x.jsonl",
            ),
            (
                "adversarial-text/x.jsonl",
                "adversarial-text/KIND/SUBMITTER/x.jsonl",
            ),
            ("en-25/\u{202e}ada/my.json", "speech-selection/en-25/ada/my.json"),
            ("en-25/ада/my.json", "speech-selection/en-25/SUBMITTER/my.json"),
            ("../../my.json", "BENCHMARK/LEADERBOARD/SUBMITTER/my.json"),
            ("_/my.json", "BENCHMARK/LEADERBOARD/SUBMITTER/my.json"),
        ] {
            assert_eq!(nearest_key(key, &places()), expected, "`{key}`");
        }
        let long = format!("en-25/ada/{}", "x".repeat(MAX_KEY_BYTES - 10));
        assert_eq!(nearest_key(&long, &places()), "speech-selection/en-25/ada/FILE");
    }

    #[test]
    fn a_note_has_a_place_for_every_key() {
        let longest = "🦜".repeat(MAX_KEY_BYTES / 4);
        let place = Note::place(&longest);
        assert!(place.len() <= MAX_KEY_BYTES, "{}", place.len());
        assert!(place.starts_with("_/misplaced/🦜"));
        let other = format!("{}x", "🦜".repeat(MAX_KEY_BYTES / 4 - 1));
        assert_ne!(place, Note::place(&other));
        let fits = "x".repeat(MAX_KEY_BYTES - Note::prefix().len());
        assert_eq!(Note::place(&fits).len(), MAX_KEY_BYTES);
        let hostile = Note::place("a\u{1}\n\u{ffff}b");
        assert!(hostile.starts_with("_/misplaced/ab~"), "{hostile}");
    }

    #[test]
    fn an_own_or_later_note_answers_a_version() {
        let upload = |version: &str, millis| Upload {
            bucket: "b".into(),
            key: "my.json".into(),
            version: Some(version.into()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(millis),
        };
        let note = Note::new(&upload("two", 20), &places());
        assert!(note.answers(&upload("two", 20)) && note.answers(&upload("one", 10)));
        assert!(!note.answers(&upload("three", 30)));
    }
}
