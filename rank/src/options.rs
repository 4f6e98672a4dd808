//! How results are read.

use std::path::PathBuf;

/// How a table is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A row for each item, a column for each system.
    Wide,
    /// A row for each item and system.
    Long,
    /// A row for each system, a column for each task.
    Systems,
}

/// The handling of a missing value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse the results.
    #[default]
    Refuse,
    /// Leave out the items.
    DropItems,
    /// Leave out the systems.
    DropSystems,
    /// Count it as 0.
    Zero,
}

/// How results are read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The layout of tables; detected from the columns' names by default.
    pub layout: Option<Layout>,
    /// The column of items' ids.
    pub item: Option<String>,
    /// The column of systems' names.
    pub system: Option<String>,
    /// The column of values, of long tables.
    pub value: Option<String>,
    /// The column of clusters.
    pub cluster: Option<String>,
    /// The column of weights.
    pub weight: Option<String>,
    /// Columns that are left out.
    pub ignored: Vec<String>,
    /// The metric of logs of samples.
    pub metric: Option<String>,
    /// The filter of logs of samples.
    pub filter: Option<String>,
    /// A file with the ids of all instances, one a line, for lists of resolved ones.
    pub items: Option<PathBuf>,
    /// The handling of missing values.
    pub missing: Missing,
    /// Keep columns that are likely no systems or tasks.
    pub keeps_odd: bool,
}
