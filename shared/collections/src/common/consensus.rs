//! The majority of an item's raters.

use std::collections::BTreeMap;

/// Whether `n` is more than half of `of`.
pub fn is_majority(n: usize, n_all: usize) -> bool {
    2 * n > n_all
}

/// Whether `says` holds for more than half of the verdicts.
pub fn most_say<V>(verdicts: &[V], says: impl Fn(&V) -> bool) -> bool {
    is_majority(
        verdicts.iter().filter(|verdict| says(verdict)).count(),
        verdicts.len(),
    )
}

/// The words that more than half of the verdicts name, sorted. A verdict names a word once.
pub fn named_by_most<V>(verdicts: &[V], words: impl Fn(&V) -> &[String]) -> Vec<String> {
    let mut n_naming = BTreeMap::new();
    for word in verdicts.iter().flat_map(words) {
        *n_naming.entry(word).or_insert(0) += 1;
    }
    let most = n_naming
        .into_iter()
        .filter(|&(_, n)| is_majority(n, verdicts.len()));
    most.map(|(word, _)| word.clone()).collect()
}

/// The median of the verdicts' values; of an even number of verdicts the upper of the two middle values. `None` without verdicts.
pub fn median<V, T: Ord + Copy>(verdicts: &[V], value: impl Fn(&V) -> T) -> Option<T> {
    let mut values: Vec<T> = verdicts.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_is_no_majority() {
        assert!(!most_say(&[1, 2], |&n| n > 1) && most_say(&[1, 2, 3], |&n| n > 1));
        let named = [
            vec!["b".to_owned(), "a".into()],
            vec!["a".into()],
            vec!["c".into()],
        ];
        assert_eq!(named_by_most(&named, |words| words), ["a"]);
        assert_eq!(
            (median(&[3, 1, 2], |&n| n), median(&[0; 0], |&n| n)),
            (Some(2), None)
        );
    }
}
