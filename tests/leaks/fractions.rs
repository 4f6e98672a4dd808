//! Counting hidden items: F1 of a class is a fraction of small numbers, twice the items found, of all items of the class and all that the model
//! took for it. Its digits tell numerator and denominator, and several submissions how many items the class has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// F1 by class, if it is shown.
pub(super) fn of_classes(read: &Value) -> Option<BTreeMap<String, f64>> {
    let of_each = read["metrics"]["f1_per_class"].as_object()?.iter();
    of_each
        .map(|(class, f1)| Some((class.clone(), f1.as_f64()?)))
        .collect()
}

/// The fraction in lowest terms with a denominator of at most `most` that a number is, to 13 digits.
fn fraction(value: f64, most: u64) -> Option<(u64, u64)> {
    let below = (1..=most).find(|&below| {
        let above = value * below as f64;
        (above - above.round()).abs() < 1e-13 * below as f64
    })?;
    Some(((value * below as f64).round() as u64, below))
}

/// How many items a class can have, `n_items` of all classes, by its F1 in several submissions.
fn possible(f1s: &[f64], n_items: u64) -> BTreeSet<u64> {
    let fractions: Vec<(u64, u64)> = f1s
        .iter()
        .filter(|f1| **f1 > 0.0)
        .filter_map(|f1| fraction(*f1, 2 * n_items))
        .collect();
    let fits = |n: u64, (above, below): (u64, u64)| {
        let found_and_both = (1..=2 * n_items / below).map(|times| (above * times, below * times));
        found_and_both
            .filter(|(twice_found, _)| twice_found % 2 == 0)
            .any(|(twice_found, both)| {
                let hits = twice_found / 2;
                hits <= n && both >= n + hits && both - n <= n_items
            })
    };
    (1..=n_items)
        .filter(|&n| fractions.iter().all(|&of_one| fits(n, of_one)))
        .collect()
}

/// The classes whose number of hidden items is revealed, with that number: `seen` has F1 by class
/// of each submission.
pub(super) fn counted(seen: &[BTreeMap<String, f64>], n_items: u64) -> BTreeMap<String, u64> {
    let Some(first) = seen.first() else {
        return BTreeMap::new();
    };
    let of_class = |class: &String| {
        let f1s: Vec<f64> = seen.iter().map(|f1s| f1s[class]).collect();
        (class.clone(), possible(&f1s, n_items))
    };
    let mut all: BTreeMap<String, BTreeSet<u64>> = first.keys().map(of_class).collect();
    loop {
        // all classes have all items together
        let sum = |get: fn(&BTreeSet<u64>) -> Option<&u64>| {
            let each = all.values().map(|possible| get(possible).copied().unwrap_or(0));
            each.sum::<u64>()
        };
        let (least, most) = (sum(BTreeSet::first), sum(BTreeSet::last));
        let before: usize = all.values().map(BTreeSet::len).sum();
        for possible in all.values_mut() {
            let (first, last) = (
                possible.first().copied().unwrap_or(0),
                possible.last().copied().unwrap_or(0),
            );
            possible.retain(|n| least - first + n <= n_items && most - last + n >= n_items);
        }
        if all.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let shown = all.into_iter().filter(|(_, possible)| possible.len() == 1);
    shown
        .filter_map(|(class, possible)| Some((class, *possible.first()?)))
        .collect()
}

#[test]
fn fractions_are_recovered_from_scores() {
    assert_eq!(fraction(2.0 / 3.0, 10), Some((2, 3)));
    assert_eq!(fraction(14.0 / 21.0, 100), Some((2, 3)));
    assert_eq!(fraction(0.123_456_789, 100), None);
    // of 10 items of a and 6 of b, three models
    let f1 = |hits: u64, both: u64| 2.0 * hits as f64 / both as f64;
    let seen = [
        [("a", f1(9, 19)), ("b", f1(5, 11))],
        [("a", f1(10, 23)), ("b", f1(3, 9))],
        [("a", f1(7, 18)), ("b", f1(1, 7))],
    ]
    .map(|f1s| f1s.map(|(class, f1)| (class.to_owned(), f1)).into());
    assert_eq!(
        counted(&seen, 16),
        [("a".to_owned(), 10), ("b".to_owned(), 6)].into()
    );
}
