//! Checks a file against the rules without a cloud: each line has the outcome that a function would give it, as far as that follows from the file and
//! the rules.

use std::collections::{BTreeMap, BTreeSet};

use dataperf::{Digest, LineOutcome, Rejection, Verdict};
use serde_json::{Value, json};

use crate::common::lines::{LineItem, read};
use crate::common::text::duplicates::{Duplicate, DuplicateKeys, Earlier};

/// The name under which an offline verdict lists what it has not checked, because that is not known offline.
pub const NOT_CHECKED: &str = "not_checked";
/// The name under which an offline verdict lists the numbers of the lines that count on another board than the named one.
pub const OTHER_BOARDS: &str = "lines_of_other_leaderboards";

/// The facts about an accepted line, by name.
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
    /// The facts that are unknown offline, a phrase for each.
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
        let artifact = Digest::compute(file);
        let lines = match read::<T>(file, rules) {
            Ok(lines) => lines,
            Err(rejection) => {
                return Verdict::rejected(self.benchmark, self.kind, None, Some(artifact), &rejection);
            }
        };
        let outcomes = lines.into_iter().map(|line| {
            let judged = line.outcome.and_then(|message| judge(line.number, &message));
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

    /// The earlier line that the text of a line repeats, in a receipt's words; `None` if there is
    /// none. `text` is in the spelling for comparisons. From now on the line counts as an earlier
    /// one.
    pub fn repeated(&mut self, line: usize, keys: DuplicateKeys, text: String) -> Option<Value> {
        // the prefix separates an exact key from those of bands
        let keys: BTreeSet<String> = std::iter::once(format!("exact-{}", keys.exact))
            .chain(keys.bands)
            .collect();
        let earlier = self
            .seen
            .iter()
            .filter(|(earlier_keys, _)| !earlier_keys.is_disjoint(&keys));
        let duplicate = Duplicate::among(&text, earlier.map(|(_, earlier)| earlier), self.from);
        let earlier = Earlier {
            item: line,
            text,
            is_own: true,
        };
        self.seen.push((keys, earlier));
        let how = if duplicate.is_exact { "exact" } else { "near" };
        duplicate
            .of
            .map(|line| json!({ "how": how, "whose": "own", "line": line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_repeats_the_closest_earlier_line() {
        let mut seen = SeenTexts::new(0.7);
        let mut repeated =
            |line, text: &str| seen.repeated(line, DuplicateKeys::from_text(text), text.to_owned());
        assert_eq!(repeated(1, "a horse lying in ketchup"), None);
        assert_eq!(repeated(2, "two puppies"), None);
        let near = repeated(3, "the horse lying in ketchup");
        assert_eq!(near, Some(json!({ "how": "near", "whose": "own", "line": 1 })));
        let exact = repeated(4, "two puppies");
        assert_eq!(exact, Some(json!({ "how": "exact", "whose": "own", "line": 2 })));
    }
}
