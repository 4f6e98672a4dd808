//! The examples in a kit and in its README. The latter is the beginning of an artifact in the kit,
//! so that its ids exist in the data set.

use std::collections::BTreeMap;

use dataperf::formats::archive::{Bounds, unpack, unpack_folders};
use serde_json::Value;

/// Members of an object or an array, fields of a line, lines of a table, files of an archive that are shown.
const SHOWN: usize = 3;
const FENCE: &str = "```";
/// The archives are the organizer's own.
const BOUNDS: Bounds = Bounds {
    max_entries: 1 << 20,
    max_unpacked_bytes: 1 << 30,
    max_ratio: 1 << 20,
};

/// A valid artifact for a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The board.
    pub leaderboard: String,
    /// The artifact.
    pub artifact: Vec<u8>,
    /// Whether the kit has what it takes to score it.
    pub can_score: bool,
}

impl Example {
    /// Its path in the kit.
    pub fn path(&self) -> String {
        format!("examples/{}.{}", self.leaderboard, self.form())
    }

    /// The ending of its file's name: `json`, `zip` or `csv`.
    fn form(&self) -> &'static str {
        if self.artifact.starts_with(b"PK") {
            "zip"
        } else if self.artifact.starts_with(b"{") {
            "json"
        } else {
            "csv"
        }
    }
}

/// A guide whose first example is the beginning of this one, with where the whole of it is.
pub(crate) fn with_example(guide: &str, example: Option<&Example>) -> String {
    let parts = || {
        let example = example?;
        let (before, rest) = guide.split_once(FENCE)?;
        let (_, after) = rest.split_once(&format!("\n{FENCE}\n"))?;
        let (form, text) = beginning(&example.artifact)?;
        Some(format!(
            "{before}{FENCE}{form}\n{text}\n{FENCE}\n\nThis is the beginning of `{}`, which is whole and valid.\n{after}",
            example.path()
        ))
    };
    parts().unwrap_or_else(|| guide.to_owned())
}

/// The beginning of an artifact, and what a code block calls its form.
fn beginning(artifact: &[u8]) -> Option<(&'static str, String)> {
    if artifact.starts_with(b"PK") {
        let files = unpack(artifact, BOUNDS)
            .or_else(|_| unpack_folders(artifact, BOUNDS))
            .ok()?;
        let names: Vec<String> = files.into_iter().take(SHOWN).map(|file| file.name).collect();
        return Some(("text", names.join("\n")));
    }
    if let Ok(document) = serde_json::from_slice::<Value>(artifact) {
        return Some(("json", shortened(&document).to_string()));
    }
    let text = std::str::from_utf8(artifact).ok()?;
    let line = |line: &str| line.split(',').take(1 + SHOWN).collect::<Vec<_>>().join(",");
    let lines: Vec<String> = text.lines().take(SHOWN).map(line).collect();
    Some(("csv", lines.join("\n")))
}

/// The same document with the first members of each object, by name, and of each array.
fn shortened(document: &Value) -> Value {
    match document {
        Value::Array(members) => members.iter().take(SHOWN).map(shortened).collect(),
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            let first = sorted.into_iter().take(SHOWN);
            first
                .map(|(name, member)| (name.clone(), shortened(member)))
                .collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const GUIDE: &str = "## The artifact\n\nSome ids:\n\n```json\n{\"ids\": [\"d1\"]}\n```\n\nNo more.";

    fn example(artifact: &str) -> Example {
        Example {
            leaderboard: "en-25".to_owned(),
            artifact: artifact.as_bytes().to_vec(),
            can_score: false,
        }
    }

    #[test]
    fn a_guide_example_shortens_the_kits_own() {
        let whole = example(r#"{"t": {"b": ["x", "y", "z", "zz"], "a": []}, "n": [1, 2, 3, 4]}"#);
        let message = with_example(GUIDE, Some(&whole));
        let expected = "## The artifact\n\nSome ids:\n\n```json\n{\"n\":[1,2,3],\"t\":{\"a\":[],\"b\":[\"x\",\"y\",\"z\"]}}\n```\n\n\
            This is the beginning of `examples/en-25.json`, which is whole and valid.\n\nNo more.";
        assert_eq!(message, expected);
        let table = with_example(
            GUIDE,
            Some(&example("label,f0,f1,f2,f3\na,1,2,3,4\nb,1,2,3,4\nc,1,2,3,4\n")),
        );
        assert!(
            table.contains("```csv\nlabel,f0,f1,f2\na,1,2,3\nb,1,2,3\n```"),
            "{table}"
        );
    }

    #[test]
    fn without_an_example_the_guide_stays() {
        assert_eq!(with_example(GUIDE, None), GUIDE);
        assert_eq!(with_example("no block", Some(&example("{}"))), "no block");
    }
}
