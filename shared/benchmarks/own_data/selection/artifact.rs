//! The artifact: `{"ids": ["a", "b"]}`, `{"labels": {"a": "normal"}}`, or a CSV with the columns `id` and perhaps `label`.

use std::collections::BTreeSet;

use dataperf::formats::delimited::text_of;
use dataperf::formats::json::Json;
use dataperf::{LineNumbers, MAX_LISTED_REASONS, Reason, Reasons, Rejection, pointer, quote};

use crate::own_data::table::{ID, LABEL};

const IDS: &str = "ids";
const LABELS: &str = "labels";

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
        // a byte order mark before JSON is reported as such
        let text = artifact.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(artifact);
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        let looks_like_json = matches!(first, None | Some(b'{' | b'['));
        if looks_like_json {
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
            let present = if has_ids { "both are" } else { "neither is" };
            let message = format!(
                "{present}: give either `ids`, a list of ids, or `labels`, a label for each id, as the contest asks"
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
        let (dialect, text) = text_of(artifact)?;
        let bytes = text.as_bytes();
        let mut reader = dialect.reader(bytes);
        let header: Vec<String> = match reader.headers() {
            Ok(header) => header.iter().map(|name| name.trim().to_owned()).collect(),
            Err(error) => return Err(Reason::new("not_csv", "line 1", error.to_string()).into()),
        };
        let columns: Vec<&str> = header.iter().map(String::as_str).collect();
        let place = |name: &str| columns.iter().position(|column| *column == name);
        // pandas writes a column without a name that numbers the rows
        let is_ours = |name: &&str| [ID, LABEL, ""].contains(name) || name.starts_with("Unnamed: ");
        let (Some(of_id), of_label, true) = (
            place(ID),
            place(LABEL),
            columns.iter().all(is_ours) && is_distinct(&columns),
        ) else {
            let message = format!(
                "the first line is {} instead of `id` or `id,label`: send JSON, or a CSV with these columns",
                quote(&columns.join(","))
            );
            return Err(Reason::new("wrong_form", "line 1", message).into());
        };
        let has_labels = of_label.is_some();
        let (mut reasons, mut selected) = (Reasons::default(), Vec::new());
        let (mut lines, mut n_unread) = (LineNumbers::new(bytes), 0);
        for record in reader.records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    reasons.add(Reason::new("not_csv", "", error.to_string()));
                    break;
                }
            };
            if selected.len() >= n_kept {
                n_unread += 1;
                continue;
            }
            let at = format!(
                "line {}",
                lines.number(record.position().map_or(0, csv::Position::byte) as usize)
            );
            if record.len() != columns.len() {
                let (limit, actual) = (columns.len() as u64, record.len() as u64);
                let message = format!(
                    "the line has {actual} fields, the first line has {limit}: give one for each column"
                );
                reasons.add(Reason::over("wrong_number_of_fields", at, limit, actual, message));
                continue;
            }
            selected.push(Selected {
                at,
                id: record[of_id].trim().to_owned(),
                label: of_label.map(|of_label| record[of_label].trim().to_owned()),
            });
        }
        Ok(Self {
            n_selected: selected.len() + n_unread,
            selected,
            has_labels: Some(has_labels),
            reasons,
        })
    }
}

/// Whether no name is there twice.
fn is_distinct(names: &[&str]) -> bool {
    let distinct: BTreeSet<&&str> = names.iter().collect();
    distinct.len() == names.len()
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
