//! Imports own data: reads a folder with `task.yaml`, features and labels, checks all of it and freezes it.

mod document;
mod duplicates;
mod examples;
mod features;
mod init;
mod meaning;
mod parquet_set;
mod problems;
mod source;
mod split;
pub(crate) mod tasks;
mod yaml;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::own_data::table::{FEATURES, ID, LABEL, examples_file, features_file};
use crate::own_data::{EVAL, PUBLIC_EVAL, ScoreMetric, Scoring};

pub use init::{TASKS, init, schema};
pub use meaning::{Finding, Tables, look};
pub use split::{Apart, Half, split};

use self::document::{Common, FILE, Members, Reader};
use self::examples::ExpectedColumns;
use self::source::{Opened, Source};
use crate::own_data::import::problems::{Problems, within};
use crate::own_data::import::yaml::{At, Node};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::evidence::{MAX_EVIDENCE_BYTES, bytes_of_a_model};
use dataperf_datasets::DatasetWriter;
use dataperf_datasets::labels::labelled::{self, IdsAt, LabelledAt, LabelsAt, RowsAt};
use dataperf_datasets::tables::lines::read_text;
use dataperf_datasets::{ImportError, KitTable, PRACTICE, Progress, Values};
use dataperf_numerics::learner::Learner;

/// The columns that the examples of a test set have.
const EVAL_COLUMNS: ExpectedColumns = ExpectedColumns {
    required: &["label"],
    optional: &["id", "group", "cluster"],
};
/// The most groups that the items of a test set may be in.
const MAX_GROUPS: usize = 10_000;
/// The most bytes of a document.
const MAX_DOCUMENT_BYTES: u64 = 1 << 20;
/// The most bytes of a picture.
const MAX_PICTURE_BYTES: u64 = 1 << 20;
/// The first bytes of a picture, by the ending of its name.
const PICTURES: &[(&str, &[u8])] = &[
    ("png", b"\x89PNG\r\n\x1a\n"),
    ("jpg", b"\xff\xd8\xff"),
    ("jpeg", b"\xff\xd8\xff"),
];

/// Reads the document in a folder.
///
/// # Errors
/// [`ImportError::Refused`] if there is no document, or it is not YAML.
fn read(from: &Path) -> Result<Node, ImportError> {
    let path = from.join(FILE);
    let refused = |why: String| ImportError::refused(from, format!("`{FILE}`: {why}"));
    let n_bytes = match path.metadata() {
        Ok(metadata) if !metadata.is_file() => return Err(refused("it is not a file".into())),
        Ok(metadata) => metadata.len(),
        Err(error) => {
            let remedy = "`dataperf dataset init TASK` writes one with explanations";
            return Err(refused(format!("it can't be read: {error}. {remedy}")));
        }
    };
    if n_bytes > MAX_DOCUMENT_BYTES {
        return Err(refused(format!(
            "it has {n_bytes} bytes, the limit is {MAX_DOCUMENT_BYTES}: put numbers into files of their own"
        )));
    }
    let text = read_text(&path).map_err(|why| refused(format!("it can't be read: {why}")))?;
    Node::parse(&text).map_err(refused)
}

/// The keys of a task's document: the common ones and the task's own.
fn keys(own: &[&'static str]) -> Vec<&'static str> {
    document::COMMON_KEYS.iter().chain(own).copied().collect()
}

/// The test sets, after a first reading, to be compared with each other and with the training rows.
struct Evals {
    hidden: Option<Opened>,
    public: Option<Opened>,
}

impl Evals {
    /// Opens the test sets, and notes the names of their columns; `None` without `common`.
    fn open(from: &Path, common: Option<&mut Common>, problems: &mut Problems) -> Option<Self> {
        let common = common?;
        let Scoring { classes, metric, .. } = &common.scoring;
        let sources = (&common.eval, common.public_eval.as_ref());
        let evals = Self::read(sources, from, (classes, metric), problems);
        common.about.columns = evals.columns();
        Some(evals)
    }

    /// Opens the hidden and the public test set, the second of which participants get.
    fn read(
        (eval, public): (&Source, Option<&Source>),
        from: &Path,
        (classes, metric): (&[String], &ScoreMetric),
        problems: &mut Problems,
    ) -> Self {
        let needs_groups = *metric == ScoreMetric::WorstGroupAccuracy;
        let mut open = |source: &Source, eval: Option<&Opened>| {
            let opened = source.open(from, &EVAL_COLUMNS, eval, problems)?;
            if opened.examples.column("id").is_some() {
                problems.extend(opened.examples.check_ids());
            }
            problems.extend(opened.examples.check_classes("label", classes));
            problems.extend(opened.examples.check_every_class("label", classes));
            let groups = opened.examples.column("group");
            if needs_groups && groups.is_none() {
                problems.add(format!(
                    "`{}` has no column `group`: `worst_group_accuracy` needs one, or choose another metric",
                    opened.examples.name
                ));
            }
            let n_groups = groups.map_or(0, |groups| groups.iter().collect::<BTreeSet<_>>().len());
            if needs_groups && n_groups > MAX_GROUPS {
                problems.add(format!(
                    "`{}` has {n_groups} groups, and the limit of `worst_group_accuracy` is {MAX_GROUPS}: \
                        merge groups",
                    opened.examples.name
                ));
            }
            Some(opened)
        };
        let hidden = open(eval, None);
        let public = public.and_then(|public| open(public, hidden.as_ref()));
        Self { hidden, public }
    }

    /// The test set that the columns of other files are matched with: the hidden one, unless only the public one has names.
    fn named(&self) -> Option<&Opened> {
        let mut both = self.hidden.iter().chain(&self.public);
        both.find(|eval| eval.has_names).or(self.hidden.as_ref())
    }

    /// The names of the columns; none where they have no names.
    fn columns(&self) -> Vec<String> {
        let named = self.named().filter(|eval| eval.has_names);
        named.and_then(|eval| eval.columns.clone()).unwrap_or_default()
    }

    /// Notes a hidden test set with too many groups for a receipt that has the accuracy of each.
    fn check_groups(&self, problems: &mut Problems) {
        let examples = self.hidden.as_ref().map(|opened| &opened.examples);
        let Some((examples, groups)) =
            examples.and_then(|examples| Some((examples, examples.column("group")?)))
        else {
            return;
        };
        let groups: BTreeSet<&String> = groups.iter().collect();
        let (n, n_bytes) = (groups.len(), bytes_of_groups(&groups));
        if n_bytes > MAX_BYTES_OF_GROUPS {
            problems.add(format!(
                "`{}` has {n} groups, which take {n_bytes} bytes of a receipt, and the limit is \
                    {MAX_BYTES_OF_GROUPS}: merge groups, or shorten their names",
                examples.name
            ));
        }
    }

    /// Tells the notes, and how the numbers of the test sets and of `training` were read.
    fn tell(&self, training: &[&Opened], notes: &[String], progress: &dyn Progress) {
        let opened = training.iter().copied().chain(&self.hidden).chain(&self.public);
        for note in notes.iter().chain(&casts(opened)) {
            progress.note(note);
        }
    }

    /// Notes numbers that the model can't compute with, in the test sets and in `training`.
    fn check_numbers(&self, training: &[&Opened], model: &Learner, problems: &mut Problems) {
        if *model != (Learner::GradientBoosting {}) {
            return; // the others compute with 64 bits
        }
        for opened in self
            .hidden
            .iter()
            .chain(&self.public)
            .chain(training.iter().copied())
        {
            if let Some(place) = &opened.scanned.too_large {
                problems.add(format!(
                    "`{}` {place}: a number is too large for `gradient_boosting` in 32 bits: the limit is {:e}",
                    opened.features.name,
                    f32::MAX
                ));
            }
        }
    }

    /// Notes rows whose width differs from that of other sets, and rows that two sets share.
    fn check(
        &self,
        training: &[&Opened],
        allow_duplicates: bool,
        problems: &mut Problems,
        notes: &mut Vec<String>,
    ) {
        let sets = self.hidden.iter().chain(&self.public);
        let mut pairs: Vec<(&Opened, &Opened)> = sets
            .flat_map(|eval| training.iter().map(move |train| (eval, *train)))
            .collect();
        if let (Some(hidden), Some(public)) = (&self.hidden, &self.public) {
            pairs.push((hidden, public));
        }
        for (eval, other) in &pairs {
            if eval.scanned.n_features != other.scanned.n_features {
                problems.add(format!(
                    "the rows of `{}` have {} numbers, and those of `{}` {}: they need the same",
                    eval.features.name,
                    eval.scanned.n_features,
                    other.features.name,
                    other.scanned.n_features
                ));
            }
        }
        if !problems.is_empty() {
            return;
        }
        for (eval, other) in pairs {
            let duplicates = duplicates::between(eval, other);
            match duplicates.exact {
                Some(sentence) if allow_duplicates => notes.push(sentence),
                Some(sentence) => problems.add(format!(
                    "{sentence}: remove them from one of the two, or write `allow_duplicates: true`"
                )),
                None => {}
            }
            notes.extend(duplicates.near);
        }
    }

    fn freeze(&self, writer: &mut DatasetWriter) -> Result<(), ImportError> {
        let columns = [
            ("id", "id"),
            ("label", "label"),
            ("group", "group"),
            ("cluster", "cluster"),
        ];
        for (table, opened) in [(EVAL, &self.hidden), (PUBLIC_EVAL, &self.public)] {
            if let Some(opened) = opened {
                opened.features.freeze(table, &opened.scanned, writer)?;
                writer.bytes(&examples_file(table), &opened.examples.to_csv(&columns))?;
            }
        }
        Ok(())
    }
}

/// The most bytes that the accuracies of groups take in a receipt, of which the table takes 400 KB.
const MAX_BYTES_OF_GROUPS: usize = 200_000;
/// The bytes of an accuracy in a receipt, with what is around it.
const BYTES_OF_AN_ACCURACY: usize = 25;

/// About how many bytes the accuracies of groups take in a receipt.
fn bytes_of_groups(names: &BTreeSet<&String>) -> usize {
    let written = |name: &&&String| serde_json::Value::from(name.as_str()).to_string().len();
    names
        .iter()
        .map(|name| written(&name) + BYTES_OF_AN_ACCURACY)
        .sum()
}

/// Bytes of evidence beside its predictions, at most: at which of its fixes each model begins.
const HEADER_BYTES: usize = 8 << 20;

/// A sentence if the predictions of `n_models` models take more bytes than are kept of a submission.
fn too_much_evidence(n_models: usize, n_items: usize, n_classes: usize) -> Option<String> {
    let n_bytes = n_models.saturating_mul(bytes_of_a_model(n_items, n_classes));
    let most = MAX_EVIDENCE_BYTES - HEADER_BYTES;
    (n_bytes > most).then(|| {
        format!(
            "the predictions of {n_models} models for {n_items} test items of {n_classes} classes take \
                {n_bytes} bytes, and the limit is {most}: make the test set smaller, or use fewer models"
        )
    })
}

/// Freezes the picture and returns its path in the data set.
fn freeze_picture(
    from: &Path,
    picture: Option<&(String, At)>,
    problems: &mut Problems,
    writer: &mut DatasetWriter,
) -> Result<Option<String>, ImportError> {
    let Some((name, at)) = picture else {
        return Ok(None);
    };
    let path = match within(from, name) {
        Ok(path) => path,
        Err(why) => {
            problems.add(format!("`{FILE}` {at}: {why}"));
            return Ok(None);
        }
    };
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
        .to_lowercase();
    let form = PICTURES.iter().find(|(known, _)| *known == extension);
    let n_bytes = path.metadata().map_or(0, |metadata| metadata.len());
    let begins = |magic: &[u8]| fs::read(&path).is_ok_and(|bytes| bytes.starts_with(magic));
    if !path.is_file() || n_bytes > MAX_PICTURE_BYTES || !form.is_some_and(|(_, magic)| begins(magic)) {
        problems.add(format!(
            "`{FILE}` {at}: `{name}` has {n_bytes} bytes, and a picture is a PNG or JPEG file of at most {MAX_PICTURE_BYTES} bytes"
        ));
        return Ok(None);
    }
    let frozen = format!("public/picture.{extension}");
    let bytes = fs::read(&path).map_err(ImportError::io("can't read", &path))?;
    writer.bytes(&frozen, &bytes)?;
    Ok(Some(frozen))
}

/// The tables that participants have: the given ones, each with its name for people, and the public test set, if there is one.
fn participants_tables(
    directory: &Path,
    manifest: &Manifest,
    tables: &[(&str, &str)],
) -> Result<Vec<KitTable>, FrozenError> {
    let all = tables.iter().chain([&(PUBLIC_EVAL, PRACTICE)]);
    let there = all.filter(|(table, _)| manifest.files.contains_key(&features_file(table)));
    there
        .map(|&(table, name)| {
            let mut named = labelled::columns(directory, &examples_file(table))?;
            let first = [ID, LABEL].map(|column| Some((column.to_owned(), named.remove(column)?)));
            let columns = first.into_iter().flatten().chain(named);
            Ok(KitTable {
                name: name.to_owned(),
                columns: columns
                    .map(|(column, values)| (column, Values::Text(values)))
                    .collect(),
                rows: Some(RowsAt::new(features_file(table), FEATURES).into()),
            })
        })
        .collect()
}

/// The hidden and the public test set, if they are there, with the tables that models are trained on.
fn labelled_sets(manifest: &Manifest, classes: &[String], training: &[&str]) -> Vec<LabelledAt> {
    let rows = |table: &str| {
        RowsAt::new(features_file(table), FEATURES).with_ids(IdsAt::Column(examples_file(table), ID))
    };
    let is_there = |table: &&&str| manifest.files.contains_key(&features_file(table));
    let set = |table: &&str| LabelledAt {
        name: (*table).to_owned(),
        classes: classes.to_vec(),
        rows: rows(table),
        labels: LabelsAt::Column {
            file: examples_file(table),
            column: LABEL,
        },
        // participants may train on the public test set as well, since they have its labels
        training: training
            .iter()
            .chain((*table == EVAL).then_some(&PUBLIC_EVAL))
            .filter(is_there)
            .map(|table| rows(table))
            .collect(),
    };
    [EVAL, PUBLIC_EVAL]
        .iter()
        .filter(|table| is_there(table))
        .map(set)
        .collect()
}

/// The parameters in the form that the manifest has them in.
fn to_json(from: &Path, parameters: &impl serde::Serialize) -> Result<serde_json::Value, ImportError> {
    serde_json::to_value(parameters).map_err(|error| ImportError::refused(from, error.to_string()))
}

/// The error that refuses a folder, with everything that is wrong with it.
fn refused(from: &Path, problems: Problems) -> ImportError {
    ImportError::Refused {
        from: from.to_owned(),
        problems: problems.into_list(),
    }
}

/// The sentences about changes in the types of numbers, and about columns that are not matched by name.
fn casts<'a>(opened: impl IntoIterator<Item = &'a Opened>) -> Vec<String> {
    opened
        .into_iter()
        .flat_map(|opened| [opened.note.clone(), opened.scanned.note.clone()])
        .flatten()
        .collect()
}

/// The members of the document; keys that the task does not know are noted.
///
/// # Errors
/// [`ImportError::Refused`] if it is no mapping.
fn members<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    own: &[&'static str],
    from: &Path,
) -> Result<Members<'n>, ImportError> {
    let members = reader.object(node, FILE, &keys(own));
    members.ok_or_else(|| refused(from, std::mem::take(reader.problems)))
}

/// Numbers that look random and are always the same (Knuth's 64-bit linear congruential generator), for artifacts that are hard for a model.
struct Draws(u64);

impl Draws {
    /// The class of a row: each class once, because a model needs every class, then any.
    fn class_of(&mut self, row: usize, n_classes: usize) -> usize {
        if row < n_classes {
            row
        } else {
            self.below(n_classes)
        }
    }

    /// One of the whole numbers below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 = (self.0.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// The first of each group, then the second of each that has one, and so on.
fn in_turn<T>(groups: Vec<Vec<T>>) -> Vec<T> {
    let mut left: Vec<_> = groups.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    while !left.is_empty() {
        left.retain_mut(|group| {
            let next = group.next();
            let is_left = next.is_some();
            all.extend(next);
            is_left
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_kept_per_submission_is_bounded() {
        // a bit an item for two classes, three for eight, five for twenty
        for (n_models, n_items, n_classes, fits) in [
            (100, 4_000_000, 2, true),
            (100, 5_000_000, 2, false),
            (5_501, 20_000, 8, true),
            (5_501, 20_000, 20, false),
            (usize::MAX, usize::MAX, 2, false),
        ] {
            let message = too_much_evidence(n_models, n_items, n_classes);
            assert_eq!(
                message.is_none(),
                fits,
                "{n_models} x {n_items} of {n_classes}: {message:?}"
            );
        }
    }
}
