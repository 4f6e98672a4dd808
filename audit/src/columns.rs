//! Classes and columns: what is there too little of, and what says nothing.

use ndarray::ArrayView2;
use serde::Serialize;

/// A class is called small if it has less than this share of the largest class's items.
const IMBALANCED: f64 = 0.1;
/// The largest magnitude of a usable number: the square of a larger one nearly exceeds what 64 bits hold.
const LARGEST: f64 = 1e150;
/// The most columns of each kind that are named.
const MAX_NAMED: usize = 20;

/// How many items a class has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// The class.
    pub class: String,
    /// Its items.
    pub n_items: usize,
}

/// Columns that say nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Columns {
    /// How many columns there are.
    pub n_columns: usize,
    /// How many have the same number in every row.
    pub n_constant: usize,
    /// The first of these, from 0.
    pub constant: Vec<usize>,
    /// How many have a number that is not finite.
    pub n_not_finite: usize,
    /// The first of these, from 0.
    pub not_finite: Vec<usize>,
    /// How many have numbers that learners can't compute with: larger than 1e150 in magnitude, or so small that they have lost digits.
    pub n_extreme: usize,
    /// The first of these, from 0.
    pub extreme: Vec<usize>,
}

impl Columns {
    /// Looks through the columns of `(n_items, n_features)`.
    pub(crate) fn from_rows(rows: ArrayView2<f64>) -> Self {
        #[allow(
            clippy::float_cmp,
            reason = "a constant column has the very same number everywhere"
        )]
        let is_constant = |column: usize| {
            rows.nrows() > 1
                && rows
                    .column(column)
                    .iter()
                    .all(|number| *number == rows[[0, column]])
        };
        let is_not_finite = |column: usize| rows.column(column).iter().any(|number| !number.is_finite());
        let is_extreme =
            |number: &f64| number.is_subnormal() || (number.is_finite() && number.abs() > LARGEST);
        let extreme: Vec<usize> = (0..rows.ncols())
            .filter(|&column| rows.column(column).iter().any(is_extreme))
            .collect();
        let constant: Vec<usize> = (0..rows.ncols()).filter(|&column| is_constant(column)).collect();
        let not_finite: Vec<usize> = (0..rows.ncols())
            .filter(|&column| is_not_finite(column))
            .collect();
        let named = |columns: &[usize]| columns.iter().take(MAX_NAMED).copied().collect();
        Self {
            n_columns: rows.ncols(),
            n_constant: constant.len(),
            constant: named(&constant),
            n_not_finite: not_finite.len(),
            not_finite: named(&not_finite),
            n_extreme: extreme.len(),
            extreme: named(&extreme),
        }
    }
}

impl ClassCount {
    /// The items of each class.
    pub(crate) fn count(labels: &[usize], classes: &[String]) -> Vec<Self> {
        let count = |class: usize| labels.iter().filter(|&&label| label == class).count();
        let of_class = |(class, name): (usize, &String)| Self {
            class: name.clone(),
            n_items: count(class),
        };
        classes.iter().enumerate().map(of_class).collect()
    }

    /// The classes with less than a tenth of the largest one's items.
    pub fn small(counts: &[Self]) -> Vec<&Self> {
        let largest = counts.iter().map(|class| class.n_items).max().unwrap_or(0) as f64;
        counts
            .iter()
            .filter(|class| (class.n_items as f64) < IMBALANCED * largest)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_that_say_nothing_are_named() {
        let columns = Columns::from_rows(array![[1.0, 2.0, f64::NAN], [1.0, 3.0, 0.0]].view());
        assert_eq!((columns.constant, columns.not_finite), (vec![0], vec![2]));
        assert_eq!(Columns::from_rows(array![[1.0]].view()).n_constant, 0);
    }

    #[test]
    fn extreme_number_columns_are_reported() {
        let columns = Columns::from_rows(array![[1.0, 1e300, 0.0, 1e-310], [2.0, 3.0, -1e149, 0.5]].view());
        assert_eq!((columns.n_extreme, columns.extreme), (2, vec![1, 3]));
        assert_eq!(columns.n_not_finite, 0);
    }

    #[test]
    fn classes_of_few_items_are_small() {
        let classes = ["a", "b", "c"].map(str::to_owned);
        let labels: Vec<usize> = [vec![0; 50], vec![1; 5], vec![2; 4]].concat();
        let counts = ClassCount::count(&labels, &classes);
        let small: Vec<&str> = ClassCount::small(&counts)
            .iter()
            .map(|class| class.class.as_str())
            .collect();
        assert_eq!(small, ["c"]);
    }
}
