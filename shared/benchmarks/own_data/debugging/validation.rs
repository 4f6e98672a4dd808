//! The artifact, `{"order": ["id", ...]}`, and its rules: every id of the training set once.

use std::collections::HashMap;

use super::Frozen;
use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, list_names, pointer, quote};

const ORDER: &str = "order";

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The ids, each with its place in the list; `None` if there is no list.
    order: Option<Vec<(usize, String)>>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form.
    ///
    /// # Errors
    /// A [`Rejection`] when it is not JSON at all; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let (mut reasons, mut order) = (Reasons::default(), None);
        for (key, value) in artifact.into_members("", &mut reasons) {
            if key == ORDER {
                order = Some(value.into_strings("/order", &mut reasons));
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
        let mut rows = Vec::with_capacity(order.len());
        for (idx, id) in &order {
            let at = format!("/order/{idx}");
            if let Some(first) = first_seen.get(id.as_str()) {
                reasons.add_with(|| {
                    let message = format!("{} is also at `/order/{first}`: remove one of the two", quote(id));
                    Reason::new("duplicate_id", at, message)
                });
                continue;
            }
            first_seen.insert(id, *idx);
            if let Some(row) = frozen.row_of(id) {
                is_listed[row] = true;
                rows.push(row);
            } else {
                reasons.add_unknown("ids", id, [""; 0], || {
                    let message = format!("{} is not in the training set: list only its ids", quote(id));
                    Reason::new("unknown_id", at, message)
                });
            }
        }
        let known = (0..is_listed.len()).map(|row| frozen.id_of(row));
        reasons.compare_unknown("ids", order.len(), known);
        let missing: Vec<usize> = (0..is_listed.len()).filter(|&row| !is_listed[row]).collect();
        if !missing.is_empty() {
            let message = format!(
                "{} are missing: list every id of the training set once",
                list_names(missing.iter().map(|&row| frozen.id_of(row)))
            );
            let (limit, actual) = (is_listed.len() as u64, (is_listed.len() - missing.len()) as u64);
            reasons.add(Reason::over("missing_ids", "/order", limit, actual, message));
        }
        reasons.into_verdict(Self { rows })
    }
}
