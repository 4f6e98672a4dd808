//! Everything that is wrong with what was read, at once.

use std::collections::BTreeMap;
use std::fmt;

/// How many cases of one problem are shown.
const MAX_EXAMPLES: usize = 3;

/// What is behind a problem, likely causes of others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Size,
    File,
    Column,
    Value,
    Duplicate,
    OtherItems,
    Missing,
    Odd,
    Few,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cases {
    n: usize,
    examples: Vec<String>,
    remedy: String,
}

/// All problems of some results, each once with how often it is there; `Display` writes a line for each, likely causes of others
/// first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems(BTreeMap<(Cause, String), Cases>);

impl Problems {
    /// Notes one case of a problem. `example` may be empty; what has the same cause and words is one problem.
    pub(crate) fn note(
        &mut self,
        cause: Cause,
        problem: impl Into<String>,
        example: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let cases = self.0.entry((cause, problem.into())).or_insert_with(|| Cases {
            n: 0,
            examples: Vec::new(),
            remedy: remedy.into(),
        });
        cases.n += 1;
        let example = example.into();
        if cases.examples.len() < MAX_EXAMPLES && !example.is_empty() {
            cases.examples.push(example);
        }
    }

    /// The number of cases of all problems.
    pub(crate) fn n(&self) -> usize {
        self.0.values().map(|cases| cases.n).sum()
    }

    /// Whether some file, column or value could not be read, so that what is missing follows from it.
    pub(crate) fn is_unread(&self) -> bool {
        self.0.keys().any(|(cause, _)| *cause <= Cause::Value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, ((_, problem), cases)) in self.0.iter().enumerate() {
            let line = if place > 0 { "\n" } else { "" };
            write!(f, "{line}{problem}")?;
            if !cases.examples.is_empty() {
                write!(f, " ({}", cases.examples.join(", "))?;
                match cases.n - cases.examples.len() {
                    0 => write!(f, ")")?,
                    more => write!(f, " and {more} more)")?,
                }
            }
            write!(f, ": {}", cases.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_before_their_consequences() {
        let mut problems = Problems::default();
        for n in 0..5 {
            problems.note(Cause::Missing, "no value", format!("`{n}`"), "add one");
        }
        problems.note(Cause::File, "no file", "", "name one");
        assert_eq!(
            problems.to_string(),
            "no file: name one\nno value (`0`, `1`, `2` and 2 more): add one"
        );
    }
}
