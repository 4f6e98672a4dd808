//! A leaderboard as its data set describes it to people.

use serde::{Deserialize, Serialize};

use crate::dataset::frozen::Manifest;
use crate::quote;

/// What is below this path of a data set is for participants, everything else is the organizer's.
pub const PUBLIC: &str = "public/";
/// A leaderboard's name is part of keys, of partitions and of addresses.
const MAX_NAME_BYTES: usize = 64;
const MAX_LINE_CHARS: usize = 120;
const MAX_DESCRIPTION_BYTES: usize = 32 << 10;
/// The largest picture in bytes: in base 64 it is within what a function can answer at once.
const MAX_PICTURE_BYTES: u64 = 2 << 20;
/// The most digits after the decimal point: 17 tell an `f64` from its neighbours.
const MAX_DIGITS: u8 = 17;

/// A board of a benchmark, as its data set defines it.
///
/// ```
/// use dataperf::benchmark::Leaderboard;
/// let board = Leaderboard { digits: Some(3), ..Leaderboard::new("en-25", "25 clips") };
/// assert_eq!((board.name.as_str(), board.title), ("en-25", None));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaderboard {
    /// Its name, such as `en-25`: unique among the boards of the benchmark that are in force.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// What people call it, where that is not the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is about, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A picture for it: the path of a PNG or JPEG file of the data set, under [`PUBLIC`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// What a submission is made of, in the plural: `rows`, `recordings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many digits after the decimal point scores are shown with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u8>,
    /// The number that its scores are, such as `macro F1`.
    #[serde(skip)]
    pub metric: Option<String>,
    /// The model that turns a submission into a score, such as `logistic regression (C = 1)`.
    #[serde(skip)]
    pub model: Option<String>,
    /// The evaluation data that it is scored with, by a name for it, where that is not its own. Boards that share it are counted
    /// together: a score on one is an answer about the others.
    #[serde(skip)]
    pub evaluation: Option<String>,
    /// The keys that the object of an artifact in JSON may have; none where any are taken, or no JSON.
    #[serde(skip)]
    pub keys: Vec<String>,
}

/// The form of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureForm {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
}

impl PictureForm {
    /// By the end of the file's name, in small letters.
    pub fn of_path(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1 {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            _ => None,
        }
    }

    /// Whether these bytes begin as such a picture does.
    pub fn is_of(self, bytes: &[u8]) -> bool {
        match self {
            Self::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
        }
    }

    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

impl Leaderboard {
    /// A board with a name and a line about it, and nothing else.
    pub fn new(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            ..Self::default()
        }
    }

    /// The same board, which people call this.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self {
            title: Some(title.into()),
            ..self
        }
    }

    /// The same board, whose artifacts in JSON have these keys.
    #[must_use]
    pub fn with_keys<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Self {
        Self {
            keys: keys.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// The same board, scored with the evaluation data of this name.
    #[must_use]
    pub fn scored_with(self, evaluation: impl Into<String>) -> Self {
        Self {
            evaluation: Some(evaluation.into()),
            ..self
        }
    }

    /// The same board, whose scores are this number.
    #[must_use]
    pub fn with_metric(self, metric: impl Into<String>) -> Self {
        Self {
            metric: Some(metric.into()),
            ..self
        }
    }

    /// The same board, for which this model is trained.
    #[must_use]
    pub fn with_model(self, model: impl Into<String>) -> Self {
        Self {
            model: Some(model.into()),
            ..self
        }
    }

    /// Everything that is wrong with what is said of the board, each with its remedy. `manifest` is that of its data set.
    pub fn problems(&self, manifest: &Manifest) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wrong = |noun: &str, why: String| {
            problems.push(format!("the leaderboard {}: {noun} {why}", quote(&self.name)));
        };
        if !is_name(&self.name) {
            wrong(
                "its name",
                format!(
                    "has to be 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`, the first a letter or a digit"
                ),
            );
        }
        for (noun, line) in [("its title", &self.title), ("its unit", &self.unit)] {
            if line.as_ref().is_some_and(|line| !is_line(line)) {
                wrong(
                    noun,
                    format!("has to be one line of 1 to {MAX_LINE_CHARS} characters"),
                );
            }
        }
        let n_bytes = self.description.as_ref().map_or(0, String::len);
        if n_bytes > MAX_DESCRIPTION_BYTES {
            wrong(
                "its description",
                format!("has {n_bytes} bytes, the limit is {MAX_DESCRIPTION_BYTES}: shorten it"),
            );
        }
        if let Some(digits) = self.digits.filter(|&digits| digits > MAX_DIGITS) {
            wrong(
                "its scores",
                format!("have {MAX_DIGITS} digits at most, not {digits}"),
            );
        }
        if let Some(why) = self
            .picture
            .as_ref()
            .and_then(|path| picture_problem(path, manifest))
        {
            wrong("its picture", why);
        }
        problems
    }
}

fn picture_problem(path: &str, manifest: &Manifest) -> Option<String> {
    let place = quote(path);
    if !path.starts_with(PUBLIC) {
        return Some(format!("{place} is not public: put it below `{PUBLIC}`"));
    }
    if PictureForm::of_path(path).is_none() {
        return Some(format!("{place} has to end in `.png`, `.jpg` or `.jpeg`"));
    }
    let Some(file) = manifest.files.get(path) else {
        return Some(format!("{place} is not a file of the data set"));
    };
    (file.n_bytes > MAX_PICTURE_BYTES).then(|| {
        format!(
            "{place} has {} bytes, the limit is {MAX_PICTURE_BYTES}: make it smaller",
            file.n_bytes
        )
    })
}

/// Whether boards can be called so.
fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(fits)
        && name.as_bytes()[0].is_ascii_alphanumeric()
}

fn is_line(text: &str) -> bool {
    (1..=MAX_LINE_CHARS).contains(&text.chars().count())
        && !text.chars().any(char::is_control)
        && !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Digest;
    use crate::dataset::frozen::{FORMAT, FileEntry};

    fn manifest() -> Manifest {
        let file = |n_bytes| FileEntry {
            n_bytes,
            digest: Digest::compute(b""),
            tensors: BTreeMap::new(),
        };
        let files = [
            ("public/board.png", file(9)),
            ("public/large.jpg", file(MAX_PICTURE_BYTES + 1)),
            ("hidden.png", file(9)),
        ];
        Manifest {
            format: FORMAT.into(),
            benchmark: "b".into(),
            parameters: serde_json::json!({}),
            files: files.map(|(path, file)| (path.to_owned(), file)).into(),
            corrected: None,
        }
    }

    #[test]
    fn all_errors_are_reported_together() {
        let board = Leaderboard {
            title: Some("two\nlines".into()),
            description: Some("x".repeat(MAX_DESCRIPTION_BYTES + 1)),
            picture: Some("hidden.png".into()),
            unit: Some(" ".into()),
            digits: Some(MAX_DIGITS + 1),
            ..Leaderboard::new("a/b", "")
        };
        let problems = board.problems(&manifest());
        assert_eq!(problems.len(), 6, "{problems:#?}");
        assert!(
            problems.iter().all(|problem| problem.contains("`a/b`")),
            "{problems:#?}"
        );
        let fine = Leaderboard {
            title: Some("English, 25 clips".into()),
            picture: Some("public/board.png".into()),
            digits: Some(0),
            ..Leaderboard::new("en-25", "")
        };
        assert_eq!(fine.problems(&manifest()), [""; 0]);
    }

    #[test]
    fn a_picture_must_be_public_and_displayable() {
        for (path, message) in [
            ("hidden.png", "not public"),
            ("public/none.png", "is not a file of"),
            ("public/board.svg", "has to end"),
            ("public/large.jpg", "the limit"),
        ] {
            let board = Leaderboard {
                picture: Some(path.into()),
                ..Leaderboard::new("b", "")
            };
            let problems = board.problems(&manifest());
            assert!(
                problems.len() == 1 && problems[0].contains(message),
                "{path}: {problems:?}"
            );
        }
        assert!(PictureForm::Png.is_of(b"\x89PNG\r\n\x1a\n..."));
        assert!(!PictureForm::Png.is_of(b"<svg>") && !PictureForm::Jpeg.is_of(b"<html>"));
    }
}
