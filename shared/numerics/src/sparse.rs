//! Matrices in which most numbers are 0.

/// A matrix that keeps only some columns of each row: compressed sparse rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    n_features: usize,
    /// `(n_rows + 1,)`: the place of each row's first entry, and the number of entries.
    begins: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SparseRows {
    /// A matrix without rows, with `n_features` columns.
    pub fn new(n_features: usize) -> Self {
        Self {
            n_features,
            begins: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a row: columns, ascending, with their values.
    ///
    /// # Panics
    /// If a column is not below the number of columns, or the columns do not ascend.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        let begin = self.columns.len();
        for (column, value) in row {
            let follows = self.columns[begin..].last().is_none_or(|&last| last < column);
            assert!(
                (column as usize) < self.n_features && follows,
                "columns ascend below {}",
                self.n_features
            );
            self.columns.push(column);
            self.values.push(value);
        }
        self.begins.push(self.columns.len());
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.begins.len() - 1
    }

    /// The number of columns.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The columns that a row keeps, ascending, and their values.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let entries = self.begins[row]..self.begins[row + 1];
        let columns = self.columns[entries.clone()].iter().copied();
        columns.zip(self.values[entries].iter().copied())
    }

    /// The place of the first entry that is not finite: its row, its column and its value.
    pub(crate) fn first_not_finite(&self) -> Option<(usize, usize, f64)> {
        let at = self.values.iter().position(|value| !value.is_finite())?;
        let row = self.begins.partition_point(|&begin| begin <= at) - 1;
        Some((row, self.columns[at] as usize, self.values[at]))
    }

    /// The columns that at least one row keeps, ascending, and the entries of each: rows, ascending, with their values.
    pub(crate) fn by_column(&self) -> (Vec<u32>, Vec<Vec<(u32, f64)>>) {
        let mut columns = self.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        let mut entries = vec![Vec::new(); columns.len()];
        for row in 0..self.n_rows() {
            for (column, value) in self.row(row) {
                let at = columns.partition_point(|&known| known < column);
                entries[at].push((row as u32, value));
            }
        }
        (columns, entries)
    }
}
