//! Measures how much the rankings on two data sets differ.

/// The mean distance between the two ranks of an entry, as a share of the number of entries: 0 if both rankings are the same, and
/// about a third if the second is random. `None` for fewer than two entries.
///
/// # Shapes and units
/// `one`, `other`: `(n,)` ranks of the same entries, from 1.
///
/// # Panics
/// If the lengths differ.
///
/// # Source
/// The "shake-up" of contests with a public and a private board, as Kaggle's participants compute it.
///
/// ```
/// use dataperf_numerics::ranks::shake_up;
/// assert_eq!(shake_up(&[1, 2, 3, 4], &[2, 1, 3, 4]), Some(0.125));
/// ```
pub fn shake_up(one: &[usize], other: &[usize]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "two ranks of each entry");
    let n = one.len();
    let distances = one.iter().zip(other).map(|(one, other)| one.abs_diff(*other));
    let total: usize = distances.sum();
    (n > 1).then(|| total as f64 / (n * n) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversing_a_ranking_gives_a_shake_up_half() {
        assert_eq!(shake_up(&[1, 2], &[2, 1]), Some(0.5));
        let forth: Vec<usize> = (1..=1_000).collect();
        let back: Vec<usize> = (1..=1_000).rev().collect();
        assert_eq!(shake_up(&forth, &back), Some(0.5));
        assert_eq!(shake_up(&forth, &forth), Some(0.0));
        assert_eq!(shake_up(&[1], &[1]), None);
    }
}
