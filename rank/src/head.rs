//! What the first rows of a table say about its columns.

use crate::cell::Cell;

/// Rows that are looked at before a table is read.
pub(crate) const HEAD_ROWS: usize = 1_000;
/// From so many rows on, whole numbers that go up by one are the numbers of the rows.
const MIN_COUNTED: usize = 3;

/// The first rows of a table, each with a cell for every column.
#[derive(Debug, Default)]
pub(crate) struct Head(pub(crate) Vec<Vec<Cell<'static>>>);

impl Head {
    fn cells(&self, place: usize) -> impl Iterator<Item = &Cell<'static>> {
        self.0.iter().filter_map(move |row| row.get(place))
    }

    /// Whether a column has texts, which are no values.
    pub(crate) fn has_texts(&self, place: usize) -> bool {
        self.cells(place)
            .any(|cell| cell.name().is_some() && cell.value().is_err())
    }

    /// Whether each row has a text of its own.
    pub(crate) fn has_distinct_texts(&self, place: usize) -> bool {
        let mut names: Vec<_> = self.cells(place).filter_map(Cell::name).collect();
        names.sort();
        self.has_texts(place)
            && names.len() == self.0.len()
            && names.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// The column's numbers, if all are whole and none is below 0.
    fn counts(&self, place: usize) -> Option<Vec<i64>> {
        let counts = self.cells(place).map(Cell::count).collect::<Option<Vec<i64>>>()?;
        Some(counts).filter(|counts| !counts.is_empty())
    }

    /// Whether a column has names of systems: texts, or whole numbers.
    pub(crate) fn may_name(&self, place: usize) -> bool {
        self.0.is_empty() || self.has_texts(place) || self.counts(place).is_some()
    }

    /// Whether a column counts the rows from 0, as pandas' index does.
    pub(crate) fn is_index(&self, place: usize) -> bool {
        self.counts(place)
            .is_some_and(|counts| (0..).zip(&counts).all(|(row, count)| row == *count))
    }

    /// Whether a column has a whole number of its own in each row that can't be the value of a system: the numbers go up by one, or are
    /// above 1 where the `others` are not.
    pub(crate) fn has_number_ids(&self, place: usize, others: &[usize]) -> bool {
        let Some(mut counts) = self.counts(place) else {
            return false;
        };
        let goes_up = counts.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        counts.sort_unstable();
        let is_distinct = counts.windows(2).all(|pair| pair[0] < pair[1]);
        let is_above = counts.last().is_some_and(|last| *last > 1);
        let is_share = |cell: &Cell<'_>| match cell.value() {
            Ok(value) => value.is_none_or(|value| (0.0..=1.0).contains(&value)),
            Err(_) => true, // an error of its own
        };
        let has_shares = |other: &usize| self.cells(*other).all(is_share);
        goes_up && counts.len() >= MIN_COUNTED
            || is_distinct && is_above && !others.is_empty() && others.iter().all(has_shares)
    }
}
