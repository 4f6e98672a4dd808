//! The artifact: `{"ids": ["a", "b"]}`, `{"labels": {"a": "normal"}}`, or a CSV with the columns `id` and perhaps `label`.

use dataperf::formats::json::Json;
use dataperf::{MAX_LISTED_REASONS, Reason, Reasons, Rejection, pointer, quote};

use crate::own_data::id_list::{self, IdList};
use crate::own_data::table::{ID, LABEL};

pub(super) const IDS: &str = "ids";
pub(super) const LABELS: &str = "labels";

/// One selected example as the artifact has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    /// The place of the example in the artifact.
    pub(super) at: String,
    pub(super) id: String,
    /// The label that the submitter gives it.
    pub(super) label: Option<String>,
}

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    /// The selected examples in the artifact's order, which is also the order of the training rows.
    pub(super) selected: Vec<Selected>,
    /// The number of selected examples, including those that `selected` omits because there are far
    /// too many.
    pub(super) n_selected: usize,
    /// Whether the artifact gives labels; `None` if its form does not tell.
    pub(super) has_labels: Option<bool>,
    pub(super) reasons: Reasons,
}

impl Artifact {
    /// Reads the artifact's form: JSON when it begins with a brace, else a CSV. Examples are kept up to a list of reasons more than `max_examples`, and
    /// counted beyond that.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8], max_examples: usize) -> Result<Self, Rejection> {
        let n_kept = max_examples.saturating_add(MAX_LISTED_REASONS);
        if id_list::is_json(artifact) {
            Self::of_json(artifact, n_kept)
        } else {
            Self::of_csv(artifact, n_kept)
        }
    }

    /// The selected ids with their labels, sorted.
    pub(crate) fn into_sorted(self) -> Vec<(String, Option<String>)> {
        let selected = self
            .selected
            .into_iter()
            .map(|example| (example.id, example.label));
        let mut selected: Vec<_> = selected.collect();
        selected.sort();
        selected
    }

    fn of_json(artifact: &[u8], n_kept: usize) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        let mut selected = Vec::new();
        let artifact = Json::parse(artifact)?;
        let is_object = matches!(artifact, Json::Object(_));
        let members = artifact.into_members("", &mut reasons);
        let has = |name: &str| members.iter().any(|(key, _)| key == name);
        let (has_ids, has_labels) = (has(IDS), has(LABELS));
        if is_object && has_ids == has_labels {
            let problem = if has_ids {
                "`ids` and `labels` are both here"
            } else {
                "`ids` and `labels` are both missing"
            };
            let message = format!(
                "{problem}: give either `ids`, a list of ids, or `labels`, a label for each id, as the contest asks"
            );
            reasons.add(Reason::new("wrong_form", "", message));
        }
        for (key, value) in members {
            match key.as_str() {
                IDS => {
                    let ids = value.into_strings("/ids", &mut reasons).into_iter();
                    selected.extend(ids.map(|(idx, id)| Selected {
                        at: format!("/ids/{idx}"),
                        id,
                        label: None,
                    }));
                }
                LABELS => selected.extend(labelled(value, &mut reasons)),
                _ => {
                    let message = format!("{} is not a key here: use `ids` or `labels`", quote(&key));
                    reasons.add(Reason::new("unknown_key", pointer("", &key), message));
                }
            }
        }
        let n_selected = selected.len();
        selected.truncate(n_kept);
        Ok(Self {
            selected,
            n_selected,
            has_labels: (has_ids != has_labels).then_some(has_labels),
            reasons,
        })
    }

    fn of_csv(artifact: &[u8], n_kept: usize) -> Result<Self, Rejection> {
        let IdList {
            rows,
            n_rows,
            has_labels,
            reasons,
        } = id_list::read(artifact, &[ID, LABEL], n_kept)?;
        let selected = rows.into_iter().map(|row| Selected {
            at: id_list::place(row.line),
            id: row.id,
            label: row.label,
        });
        Ok(Self {
            selected: selected.collect(),
            n_selected: n_rows,
            has_labels: Some(has_labels),
            reasons,
        })
    }
}

/// The members of `labels`; a class may be a text or a number.
fn labelled(value: Json, reasons: &mut Reasons) -> Vec<Selected> {
    let mut selected = Vec::new();
    for (id, value) in value.into_members("/labels", reasons) {
        let at = pointer("/labels", &id);
        let label = match value {
            Json::String(label) => label,
            Json::Number(number) => number.to_string(),
            Json::Bool(bool) => bool.to_string(),
            other => {
                let message = format!("expected the name of a class here, found {}", other.kind());
                reasons.add(Reason::new("wrong_type", at, message));
                continue;
            }
        };
        selected.push(Selected {
            at,
            id,
            label: Some(label),
        });
    }
    selected
}
