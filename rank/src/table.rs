//! Per-item results, whole and checked.

/// The most cells, items times systems, that are read: 400 MB of numbers.
pub const MAX_CELLS: usize = 50_000_000;
/// The most systems that are ranked, as on boards.
pub const MAX_SYSTEMS: usize = dataperf::comparison::MAX_ROWS;

/// The results of some systems on the same items.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// `(n_items,)`: the items' ids, ascending, each once.
    pub items: Vec<String>,
    /// `(n_systems,)`: the systems' names, each once.
    pub systems: Vec<String>,
    /// `(n_systems, n_items)`: finite values.
    pub values: Vec<Vec<f64>>,
    /// `(n_items,)`: cluster numbers, where items depend on each other.
    pub clusters: Option<Vec<usize>>,
    /// `(n_items,)`: how much each item counts, above 0; `None` where all count alike.
    pub weights: Option<Vec<f64>>,
    /// Changes and assumptions made while reading, in sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// The place of a system by its name.
    pub fn place(&self, system: &str) -> Option<usize> {
        self.systems.iter().position(|name| name == system)
    }

    /// Whether all values are 0 or 1.
    pub fn is_right_or_wrong(&self) -> bool {
        #[allow(clippy::float_cmp, reason = "exact values are meant")]
        let is_either = |value: &f64| *value == 0.0 || *value == 1.0;
        self.values.iter().flatten().all(is_either)
    }

    /// Whether all values are between 0 and 1, so that scores are shares.
    pub fn is_of_shares(&self) -> bool {
        self.values
            .iter()
            .flatten()
            .all(|value| (0.0..=1.0).contains(value))
    }
}
