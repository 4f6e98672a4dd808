//! Names that somebody may have meant.

use crate::rejection::quote;

/// At most this many similar names are offered.
const MAX_OFFERED: usize = 3;
/// The maximum number of listed names if none is similar.
pub(crate) const MAX_NAMED: usize = 12;
/// Jaro-Winkler similarity from which a name counts as similar.
const SIMILAR: f64 = 0.75;
/// Jaro-Winkler similarity from which a name counts as misspelt.
const SAME: f64 = 0.9;
/// Characters of a name that are compared: it may be as long as a file.
const MAX_COMPARED_CHARS: usize = 200;

/// The known name that is most similar to a missing one; `None` if none is similar enough.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let similar = known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&wanted, &known.to_lowercase()), known))
        .filter(|(similarity, _)| *similarity >= SAME);
    // of several that are as similar the first
    let nearest = similar.reduce(|best, other| if other.0 > best.0 { other } else { best });
    nearest.map(|(_, known)| known)
}

/// Suggests names for one that does not exist: the most similar ones, or a list of names if none is
/// similar.
///
/// ```
/// assert_eq!(dataperf::offer("en25", ["en-25", "cupcake"]), "did you mean `en-25`?");
/// assert_eq!(dataperf::offer("", ["en-25", "pt-25"]), "choose one of `en-25`, `pt-25`");
/// assert_eq!(dataperf::offer("n", ["entailment", "neutral"]), "did you mean `neutral`?");
/// ```
pub fn offer(name: &str, known: impl IntoIterator<Item: AsRef<str>>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    // one letter, as people shorten names to
    if name.chars().count() == 1 {
        let begins = |known: &&&str| known.to_lowercase().starts_with(&name.to_lowercase());
        let begun: Vec<&&str> = known.iter().filter(begins).collect();
        if let [whole] = begun.as_slice() {
            return format!("did you mean {}?", quote(whole));
        }
    }
    similar(name, &known).unwrap_or_else(|| format!("choose one of {}", list_names(&known)))
}

/// Names in backticks; of many the first twelve and how many more there are.
///
/// ```
/// assert_eq!(dataperf::list_names(["a", "b"]), "`a`, `b`");
/// let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
/// assert!(dataperf::list_names(&many).ends_with(", `11` and 88 more"));
/// ```
pub fn list_names(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names
        .by_ref()
        .take(MAX_NAMED)
        .map(|name| quote(name.as_ref()))
        .collect();
    match names.count() {
        0 => first.join(", "),
        n => format!("{} and {n} more", first.join(", ")),
    }
}

/// The most similar names as a question; none where no name is similar.
pub fn similar(name: &str, known: &[impl AsRef<str>]) -> Option<String> {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let wanted: String = name.chars().take(MAX_COMPARED_CHARS).collect();
    let wanted = wanted.to_lowercase();
    let mut similar: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&wanted, &known.to_lowercase()), *known))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0));
    similar.truncate(MAX_OFFERED);
    let similar: Vec<&str> = similar.into_iter().map(|(_, name)| name).collect();
    (!similar.is_empty()).then(|| format!("did you mean {}?", list_names(&similar)))
}

#[cfg(test)]
mod tests {
    use super::offer;

    #[test]
    fn similar_names_are_offered_first_and_otherwise_all() {
        let known = ["en-25", "en-60", "pt-25"].map(str::to_owned);
        let message = offer("en25", &known);
        assert!(message.starts_with("did you mean `en-25`"), "{message}");
        assert_eq!(offer("", &known), "choose one of `en-25`, `en-60`, `pt-25`");
    }
}
