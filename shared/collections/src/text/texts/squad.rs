//! How much of an answer's words is right: the F1 of `SQuAD` 1.1 (Rajpurkar et al. 2016, `evaluate-v1.1.py`).

use std::collections::BTreeMap;

/// The words of an answer that count: in lower case, without punctuation and without `a`, `an` and `the`, parted by single spaces.
///
/// ```
/// assert_eq!(dataperf_collections::text::texts::squad::normalised("The  Bishop's hat."), "bishops hat");
/// ```
pub fn normalised(answer: &str) -> String {
    // Python's `string.punctuation`
    let lower = answer.to_lowercase();
    let plain = lower.chars().filter(|c| !c.is_ascii_punctuation());
    let (mut kept, mut word) = (String::new(), String::new());
    for c in plain.chain([' ']) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        // an article ends at whatever is no letter or digit, such as a dash
        kept.push_str(if matches!(word.as_str(), "a" | "an" | "the") {
            " "
        } else {
            &word
        });
        word.clear();
        kept.push(c);
    }
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let words = kept.split(is_space).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The harmonic mean of the share of the answer's words that are right and the share of the right words that the answer has: 0 where they have no
/// word in common, also where either has no words.
///
/// ```
/// use dataperf_collections::text::texts::squad::token_f1;
/// assert!((token_f1("the green door", "a door") - 2.0 / 3.0).abs() < 1e-12);
/// ```
pub fn token_f1(answer: &str, right: &str) -> f64 {
    let (answer, right) = (normalised(answer), normalised(right));
    let words = |text: &str| text.split(' ').filter(|word| !word.is_empty()).count();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for word in right.split(' ').filter(|word| !word.is_empty()) {
        *left.entry(word).or_default() += 1;
    }
    let mut n_common = 0;
    for word in answer.split(' ') {
        if let Some(n) = left.get_mut(word).filter(|n| **n > 0) {
            *n -= 1;
            n_common += 1;
        }
    }
    if n_common == 0 {
        return 0.0;
    }
    let share = |n: usize| f64::from(n_common) / n as f64;
    let (precision, recall) = (share(words(&answer)), share(words(&right)));
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_as_often_as_they_stand() {
        for (answer, right, f1) in [
            ("Denver Broncos", "Denver Broncos", 1.0),
            ("the Denver Broncos!", "denver broncos", 1.0),
            ("Denver", "Denver Broncos", 2.0 / 3.0),
            ("no no no", "no", 0.5),
            ("Santa Clara, California", "Levi's Stadium in Santa Clara", 0.5),
            ("", "", 0.0), // the script counts common words first, and there are none
            ("the", "a", 0.0),
            ("un-related", "unrelated", 1.0),
            ("the–cat", "–cat", 1.0),
        ] {
            assert!((token_f1(answer, right) - f1).abs() < 1e-12, "{answer} {right}");
        }
    }
}
