//! A file of lines held against the rules without a cloud: each line has the outcome that a function would give it, as far as that
//! follows from the file and the rules.

use std::collections::{BTreeMap, BTreeSet};

use dataperf::{Digest, LineOutcome, Rejection, Verdict};
use serde_json::{Value, json};

use crate::duplicates::{Duplicate, DuplicateKeys, Earlier};
use crate::lines::{LineItem, read};

/// What a verdict that was given offline lists below this name: what it does not know.
pub const NOT_CHECKED: &str = "not_checked";
/// And below this one: the numbers of lines that count on another board than the one that was named.
pub const OTHER_BOARDS: &str = "lines_of_other_leaderboards";

/// What came of a line, by name.
pub type Details = BTreeMap<String, Value>;

/// Where a file would be uploaded, and what can't be known of it here.
#[derive(Debug, Clone)]
pub struct Offline<'a> {
    /// The benchmark's id.
    pub benchmark: &'a str,
    /// The kind of file.
    pub kind: &'a str,
    /// The data set, or kit, that has the rules.
    pub dataset: Digest,
    /// What is not known here, a phrase for each.
    pub not_checked: Vec<String>,
}

impl Offline<'_> {
    /// The verdict on a file, in the form of a function's: of each line the outcome. `judge` says what else is known of a line that
    /// obeys the rules, or why it is rejected nevertheless; it is asked for one line after the other.
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

/// The texts of a file so far, among which duplicates are found as among all that were uploaded: by their keys, and then by their
/// similarity.
#[derive(Debug, Clone)]
pub struct SeenTexts {
    from: f64,
    seen: Vec<(BTreeSet<String>, Earlier<usize>)>,
}

impl SeenTexts {
    /// From the similarity `from` on texts are duplicates.
    pub fn new(from: f64) -> Self {
        Self {
            from,
            seen: Vec::new(),
        }
    }

    /// What the text of a line repeats of the lines before it, in a receipt's words; `text` is in the spelling in which texts are
    /// compared. The line is seen from now on.
    pub fn repeated(&mut self, line: usize, keys: DuplicateKeys, text: String) -> Option<Value> {
        // an exact key never meets one of a band
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
