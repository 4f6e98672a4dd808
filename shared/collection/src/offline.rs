//! Checks a file against the rules without a cloud: each line has the outcome that a function would give it, as far as that follows from the file and
//! the rules.

use std::collections::{BTreeMap, BTreeSet};

use dataperf::{Digest, LineOutcome, Rejection, Verdict};
use serde_json::{Value, json};

use crate::duplicates::{Duplicate, DuplicateKeys, Earlier};
use crate::lines::{LineItem, read};

/// The name under which an offline verdict lists what it has not checked, because that is not known offline.
pub const NOT_CHECKED: &str = "not_checked";
/// The name under which an offline verdict lists the numbers of the lines that count on another board than the named one.
pub const OTHER_BOARDS: &str = "lines_of_other_leaderboards";

/// What is said of an accepted line, by name.
pub type Details = BTreeMap<String, Value>;

/// The place where a file would be uploaded, and what is not known of it offline.
#[derive(Debug, Clone)]
pub struct Offline<'a> {
    /// The collection's id.
    pub benchmark: &'a str,
    /// The kind of file.
    pub kind: &'a str,
    /// The data set, or kit, that has the rules.
    pub dataset: Digest,
    /// What is not known offline, a phrase for each.
    pub not_checked: Vec<String>,
}

impl Offline<'_> {
    /// The verdict on a file, in the form of a function's, with the outcome of each line. `judge` gets the number and the content of each line that
    /// obeys the rules, one after the other; it returns what else is known of the line, or why it is rejected nevertheless.
    pub fn verdict<T: LineItem>(
        &self,
        file: &[u8],
        rules: &T::Rules,
        mut judge: impl FnMut(usize, &T) -> Result<Details, Rejection>,
    ) -> Verdict {
        let artifact = Digest::of(file);
        let lines = match read::<T>(file, rules) {
            Ok(lines) => lines,
            Err(rejection) => {
                return Verdict::rejected(self.benchmark, self.kind, None, Some(artifact), &rejection);
            }
        };
        let outcomes = lines.into_iter().map(|line| {
            let judged = line.outcome.and_then(|said| judge(line.number, &said));
            match judged {
                Ok(details) => LineOutcome::accepted(line.number, details),
                Err(rejection) => LineOutcome::rejected(line.number, &rejection),
            }
        });
        let notes = BTreeMap::from([(NOT_CHECKED.to_owned(), json!(self.not_checked))]);
        let outcomes = outcomes.collect();
        Verdict::of_lines(self.benchmark, self.kind, self.dataset, artifact, outcomes, notes)
    }
}

/// The texts of a file that were seen so far. Duplicates among them are found as among all uploads: by their keys, and then by their similarity.
#[derive(Debug, Clone)]
pub struct SeenTexts {
    from: f64,
    seen: Vec<(BTreeSet<String>, Earlier<usize>)>,
}

impl SeenTexts {
    /// Without any text yet. Texts with a similarity of at least `from` are duplicates.
    pub fn new(from: f64) -> Self {
        Self {
            from,
            seen: Vec::new(),
        }
    }

    /// Which earlier line the text of a line repeats, in a receipt's words; `None` where it repeats none. `text` is in the spelling in which texts
    /// are compared. The line counts as seen from now on.
    pub fn repeated(&mut self, line: usize, keys: DuplicateKeys, text: String) -> Option<Value> {
        // the prefix keeps an exact key apart from those of bands
        let keys: BTreeSet<String> = std::iter::once(format!("exact-{}", keys.exact))
            .chain(keys.bands)
            .collect();
        let earlier = self.seen.iter().filter(|(of, _)| !of.is_disjoint(&keys));
        let found = Duplicate::among(&text, earlier.map(|(_, earlier)| earlier), self.from);
        let earlier = Earlier {
            item: line,
            text,
            is_own: true,
        };
        self.seen.push((keys, earlier));
        let how = if found.is_exact { "exact" } else { "near" };
        found
            .of
            .map(|line| json!({ "how": how, "whose": "own", "line": line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_repeats_earlier_lines_only_and_the_closest_of_them() {
        let mut seen = SeenTexts::new(0.7);
        let mut repeated = |line, text: &str| seen.repeated(line, DuplicateKeys::of(text), text.to_owned());
        assert_eq!(repeated(1, "a horse lying in ketchup"), None);
        assert_eq!(repeated(2, "two puppies"), None);
        let near = repeated(3, "the horse lying in ketchup");
        assert_eq!(near, Some(json!({ "how": "near", "whose": "own", "line": 1 })));
        let exact = repeated(4, "two puppies");
        assert_eq!(exact, Some(json!({ "how": "exact", "whose": "own", "line": 2 })));
    }
}
