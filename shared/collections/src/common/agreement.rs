//! How far raters agree beyond chance.

use std::collections::BTreeMap;

/// How the difference between two values is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Two values are the same or different.
    Nominal,
    /// Values are ranks: the difference of two depends on how many given values lie between them.
    Ordinal,
}

/// Krippendorff's alpha (Krippendorff 2011, *Computing Krippendorff's Alpha-Reliability*, D) of
/// units with the values of their raters; raters may be missing. 1 is agreement, 0 chance. `None`
/// if nothing can be compared: every unit has fewer than two values, or all values are the same.
///
/// ```
/// use dataperf_collections::common::agreement::{Level, alpha};
/// assert_eq!(alpha(&[vec![0, 0], vec![1, 1]], Level::Nominal), Some(1.0));
/// assert_eq!(alpha(&[vec![1, 1], vec![1]], Level::Nominal), None);
/// ```
pub fn alpha(units: &[Vec<u8>], level: Level) -> Option<f64> {
    let coincidences = coincidences(units);
    let mut totals: BTreeMap<u8, f64> = BTreeMap::new();
    for (&(value, _), n) in &coincidences {
        *totals.entry(value).or_default() += n;
    }
    let n: f64 = totals.values().sum();
    let distance = |one: u8, other: u8| match level {
        Level::Nominal => f64::from(u8::from(one != other)),
        Level::Ordinal => ordinal_distance(&totals, one, other),
    };
    let observed: f64 = coincidences
        .iter()
        .map(|(&(one, other), n)| n * distance(one, other))
        .sum();
    let pairs = totals
        .iter()
        .flat_map(|one| totals.iter().map(move |other| (one, other)));
    let expected: f64 = pairs
        .map(|((&one, n_one), (&other, n_other))| n_one * n_other * distance(one, other))
        .sum();
    (expected > 0.0).then(|| 1.0 - (n - 1.0) * observed / expected)
}

/// How often each pair of values occurs in the same unit. A unit of `n` values weighs `n` in total, because each ordered pair counts `1 / (n - 1)`.
fn coincidences(units: &[Vec<u8>]) -> BTreeMap<(u8, u8), f64> {
    let mut coincidences = BTreeMap::new();
    for values in units.iter().filter(|values| values.len() > 1) {
        let weight = 1.0 / (values.len() as f64 - 1.0);
        for (idx, &one) in values.iter().enumerate() {
            let others = values
                .iter()
                .enumerate()
                .filter(|&(other_idx, _)| other_idx != idx);
            for (_, &other) in others {
                *coincidences.entry((one, other)).or_default() += weight;
            }
        }
    }
    coincidences
}

fn ordinal_distance(totals: &BTreeMap<u8, f64>, one: u8, other: u8) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    let between: f64 = totals.range(low..=high).map(|(_, n)| n).sum();
    let total = |value| totals.get(&value).copied().unwrap_or_default();
    (between - f64::midpoint(total(low), total(high))).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Krippendorff 2011, C: four observers, twelve units, missing data; 0 means no value.
    const PUBLISHED: [[u8; 12]; 4] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ];

    #[test]
    fn the_published_example() {
        let unit = |idx: usize| {
            PUBLISHED
                .iter()
                .map(|row| row[idx])
                .filter(|&value| value > 0)
                .collect()
        };
        let units: Vec<Vec<u8>> = (0..12).map(unit).collect();
        let rounded = |level| alpha(&units, level).map(|alpha| (alpha * 1000.0).round());
        assert_eq!(rounded(Level::Nominal), Some(743.0));
        assert_eq!(rounded(Level::Ordinal), Some(815.0));
    }

    #[test]
    fn two_observers_of_a_dichotomy() {
        // Krippendorff 2011, A: alpha = 0.095
        let meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0];
        let owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0];
        let units: Vec<Vec<u8>> = meg
            .iter()
            .zip(owen)
            .map(|(&one, other)| vec![one, other])
            .collect();
        let alpha = alpha(&units, Level::Nominal).unwrap();
        assert!((alpha - 0.095).abs() < 0.0005, "{alpha}");
    }

    #[test]
    fn nothing_to_compare_is_no_agreement() {
        assert_eq!(alpha(&[], Level::Ordinal), None);
        assert_eq!(alpha(&[vec![1], vec![2]], Level::Nominal), None);
        assert_eq!(alpha(&[vec![3, 3], vec![3, 3]], Level::Ordinal), None);
    }
}
