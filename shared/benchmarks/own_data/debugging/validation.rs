//! The artifact, `{"order": ["id", ...]}` or a CSV with the column `id`, and its rules: every id of the training set once.

use std::collections::HashMap;

use super::frozen::{Frozen, ORDER};
use crate::own_data::id_list::{self, IdList};
use crate::own_data::table::ID;
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, list_names, pointer, quote};

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The ids; `None` if there is no list.
    order: Option<Order>,
    pub(super) reasons: Reasons,
}

/// The ids in the order to inspect their examples.
#[derive(Debug)]
struct Order {
    /// Each id with its index in JSON, or with its line in a CSV.
    ids: Vec<(usize, String)>,
    is_csv: bool,
}

impl Order {
    /// The place of the list in the artifact.
    fn at(&self) -> &'static str {
        if self.is_csv { "" } else { "/order" }
    }

    /// The place of an id in the artifact. Computed on demand, because an artifact may have a million ids.
    fn place(&self, number: usize) -> String {
        if self.is_csv {
            id_list::place(number)
        } else {
            format!("/order/{number}")
        }
    }
}

impl Artifact {
    /// Reads the artifact's form: JSON when it begins with a brace, else a CSV.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        if id_list::is_json(artifact) {
            Self::of_json(artifact)
        } else {
            Self::of_csv(artifact)
        }
    }

    /// The ids in their order; `None` if there is no list.
    pub(super) fn into_ids(self) -> Option<Vec<String>> {
        let ids = self.order?.ids.into_iter();
        Some(ids.map(|(_, id)| id).collect())
    }

    fn of_json(artifact: &[u8]) -> Result<Self, Rejection> {
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let (mut reasons, mut order) = (Reasons::default(), None);
        for (key, value) in artifact.into_members("", &mut reasons) {
            if key == ORDER {
                order = Some(Order {
                    ids: value.into_strings("/order", &mut reasons),
                    is_csv: false,
                });
            } else {
                let message = format!("{} is not a key here: the only key is `order`", quote(&key));
                reasons.add(Reason::new("unknown_key", pointer("", &key), message));
            }
        }
        if is_object && order.is_none() {
            let message = "`order` is missing: add it, with the ids of all training examples in the order to inspect them";
            reasons.add(Reason::new("missing_key", "", message));
        }
        Ok(Self { order, reasons })
    }

    fn of_csv(artifact: &[u8]) -> Result<Self, Rejection> {
        let IdList { rows, reasons, .. } = id_list::read(artifact, &[ID], usize::MAX)?;
        let ids = rows.into_iter().map(|row| (row.line, row.id)).collect();
        Ok(Self {
            order: Some(Order { ids, is_csv: true }),
            reasons,
        })
    }
}

/// A submission that obeys the rules: the rows of the training set in the order to inspect them, each once.
#[derive(Debug)]
pub struct Checked {
    rows: Vec<usize>,
}

impl Checked {
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact { order, mut reasons } = artifact;
        let Some(order) = order else {
            return reasons.into_verdict(Self { rows: Vec::new() });
        };
        let mut first_seen: HashMap<&str, usize> = HashMap::new();
        let mut is_listed = vec![false; frozen.n_examples()];
        let mut rows = Vec::with_capacity(order.ids.len());
        for (number, id) in &order.ids {
            let at = || order.place(*number);
            if let Some(first) = first_seen.get(id.as_str()) {
                reasons.add_with(|| {
                    let first = order.place(*first);
                    let message = format!("{} is also at `{first}`: remove one of the two", quote(id));
                    Reason::new("duplicate_id", at(), message)
                });
                continue;
            }
            first_seen.insert(id, *number);
            if let Some(row) = frozen.row_of(id) {
                is_listed[row] = true;
                rows.push(row);
            } else {
                reasons.add_unknown("ids", id, [""; 0], || {
                    let message = format!("{} is not in the training set: list only its ids", quote(id));
                    Reason::new("unknown_id", at(), message)
                });
            }
        }
        let known = (0..is_listed.len()).map(|row| frozen.id_of(row));
        reasons.compare_unknown("ids", order.ids.len(), known);
        let missing: Vec<usize> = (0..is_listed.len()).filter(|&row| !is_listed[row]).collect();
        if !missing.is_empty() {
            let message = format!(
                "{} are missing: list every id of the training set once",
                list_names(missing.iter().map(|&row| frozen.id_of(row)))
            );
            let (limit, actual) = (is_listed.len() as u64, (is_listed.len() - missing.len()) as u64);
            reasons.add(Reason::over("missing_ids", order.at(), limit, actual, message));
        }
        reasons.into_verdict(Self { rows })
    }
}
