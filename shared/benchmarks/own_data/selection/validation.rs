//! The rules of `selection`.

use std::collections::HashMap;

use super::artifact::Selected;
use super::{Artifact, Frozen, LabelSource};
use dataperf::{Reason, Reasons, Rejection, list_names, offer, quote};

/// A submission that obeys the rules: the rows to train on and the class of each, in the artifact's order.
#[derive(Debug)]
pub struct Checked {
    rows: Vec<usize>,
    classes: Vec<usize>,
}

impl Checked {
    /// Rows of the pool.
    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The class of each row.
    pub(super) fn classes(&self) -> &[usize] {
        &self.classes
    }

    pub(super) fn new(artifact: Artifact, frozen: &Frozen) -> Result<Self, Rejection> {
        let Artifact {
            selected,
            n_selected: n,
            has_labels,
            mut reasons,
        } = artifact;
        if let Some(reason) = has_labels.and_then(|has_labels| wrong_form(has_labels, frozen)) {
            reasons.add(reason);
        }
        let limit = frozen.max_examples();
        if n > limit {
            let message = format!(
                "the submission selects {n} examples, this leaderboard allows {limit}: remove {} of them",
                n - limit
            );
            reasons.add(Reason::over(
                "too_many_examples",
                "",
                limit as u64,
                n as u64,
                message,
            ));
        }
        let mut first_seen: HashMap<&str, &str> = HashMap::new();
        let (mut rows, mut classes) = (Vec::new(), Vec::new());
        for example in &selected {
            if let Some(first) = first_seen.insert(&example.id, &example.at) {
                let message = format!(
                    "{} is also at `{first}`: remove one of the two",
                    quote(&example.id)
                );
                reasons.add(Reason::new("duplicate_id", &example.at, message));
                continue;
            }
            let row = frozen.row_of(&example.id);
            if row.is_none() {
                reasons.add_unknown("ids", &example.id, [""; 0], || {
                    let message = format!("{} is not in the pool: choose from the pool", quote(&example.id));
                    Reason::new("unknown_id", &example.at, message)
                });
            }
            let class = class_of(example, row, frozen, &mut reasons);
            if let (Some(row), Some(class)) = (row, class) {
                rows.push(row);
                classes.push(class);
            }
        }
        // of a list that is read in part only nobody knows how many of its ids are wrong
        if n == selected.len() {
            reasons.compare_unknown("ids", n, frozen.ids());
            let known = frozen.scoring().classes.iter().map(String::as_str);
            reasons.compare_unknown("labels", n, known);
        }
        // if an example is unknown, so is its class, and missing classes can't be detected
        if reasons.is_empty() {
            add_missing_classes(&classes, frozen, &mut reasons);
        }
        if reasons.is_empty()
            && let Err(error) =
                frozen
                    .scoring()
                    .model
                    .check(rows.len(), frozen.n_features(), frozen.scoring().classes.len())
        {
            let message = format!("the model can't be trained on {} examples: {error}", rows.len());
            reasons.add(Reason::new("unusable_size", "", message));
        }
        reasons.into_verdict(Self { rows, classes })
    }
}

fn wrong_form(has_labels: bool, frozen: &Frozen) -> Option<Reason> {
    let message = match (frozen.labels(), has_labels) {
        (LabelSource::Pool, true) => {
            "the submission has labels, and this contest uses the pool's: send `{\"ids\": [...]}`, or a \
                CSV with only the column `id`"
        }
        (LabelSource::Submission, false) => {
            "the submission has no labels, and in this contest you label your selection: send \
                `{\"labels\": {\"ID\": \"CLASS\", ...}}`, or a CSV with the columns `id,label`"
        }
        _ => return None,
    };
    Some(Reason::new("wrong_form", "", message))
}

/// The class that an example has in training: the submitter's label or the pool's, as the contest says.
fn class_of(example: &Selected, row: Option<usize>, frozen: &Frozen, reasons: &mut Reasons) -> Option<usize> {
    let Some(label) = example
        .label
        .as_ref()
        .filter(|_| frozen.labels() == LabelSource::Submission)
    else {
        return row.and_then(|row| frozen.pool_class(row));
    };
    let class = frozen.scoring().class_of(label);
    if class.is_none() {
        reasons.add_unknown("labels", label, [""; 0], || {
            let message = format!(
                "{} is not a class: {}",
                quote(label),
                offer(label, &frozen.scoring().classes)
            );
            Reason::new("unknown_class", &example.at, message)
        });
    }
    class
}

fn add_missing_classes(classes: &[usize], frozen: &Frozen, reasons: &mut Reasons) {
    let missing: Vec<&String> = frozen
        .scoring()
        .classes
        .iter()
        .enumerate()
        .filter(|(class, _)| !classes.contains(class))
        .map(|(_, name)| name)
        .collect();
    if !missing.is_empty() {
        let (limit, actual) = (
            frozen.scoring().classes.len(),
            frozen.scoring().classes.len() - missing.len(),
        );
        let message = format!(
            "the submission selects no example of {}: select at least one of each class",
            list_names(&missing)
        );
        reasons.add(Reason::over(
            "missing_class",
            "",
            limit as u64,
            actual as u64,
            message,
        ));
    }
}
