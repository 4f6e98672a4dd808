//! Features and their examples, in two files or in one table, as the document names them.

use std::path::Path;

use crate::own_data::curation::is_by_position;

use super::examples::{Examples, ExpectedColumns};
use super::features::{FeatureFile, Scanned};
use super::problems::{Problems, within};
use super::yaml::At;

/// A source as the document names it.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) at: At,
    pub(super) files: Files,
}

/// The files of a source: two, or one table.
#[derive(Debug, Clone)]
pub(super) enum Files {
    Pair { features: String, examples: String },
    Table(String),
}

/// A source that has been read once.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) features: FeatureFile,
    /// The names of the columns with numbers, in the order in which they are read; `None` where they have no names.
    pub(super) columns: Option<Vec<String>>,
    /// Whether the columns have names of their own, by which those of other sources can be matched.
    pub(super) has_names: bool,
    /// A sentence about how the columns were matched, if not all of them by name.
    pub(super) note: Option<String>,
    pub(super) scanned: Scanned,
    pub(super) examples: Examples,
}

impl Source {
    /// Reads the source once, and notes everything that is wrong with it. Its columns are matched with those of `other`, where that is there.
    pub(super) fn open(
        &self,
        from: &Path,
        expected: &ExpectedColumns,
        other: Option<&Opened>,
        problems: &mut Problems,
    ) -> Option<Opened> {
        let (features, examples) = match &self.files {
            Files::Pair { features, examples } => (features, examples),
            Files::Table(table) => (table, table),
        };
        let mut path = |name: &str| match within(from, name) {
            Ok(path) => Some(path),
            Err(why) => {
                problems.add(format!("`task.yaml` {}: {why}", self.at));
                None
            }
        };
        let (features_path, examples_path) = (path(features), path(examples));
        let read = examples_path.map(|path| Examples::read(examples, &path, expected));
        let examples = read.and_then(|read| read.map_err(|errors| problems.extend(errors)).ok());
        let file = features_path.map(|path| FeatureFile::new(features, path));
        let mut file = file.and_then(|file| file.map_err(|why| problems.add(why)).ok())?;
        if matches!(self.files, Files::Table(_)) && !file.is_table() {
            problems.add(format!(
                "`task.yaml` {}: `{features}` has features only: name a Parquet file, a Feather file or CSV with the labels in it, or `{{features: \
                 {features}, examples: FILE.csv}}`",
                self.at
            ));
            return None;
        }
        let mut note = match file.order_counted() {
            Ok(note) => note,
            Err(errors) => {
                problems.extend(errors);
                return None;
            }
        };
        if let Some(other) = other {
            match file.choose(&other.features.name, other.columns.as_deref()) {
                Ok(matched) => note = note.or(matched),
                Err(errors) => {
                    problems.extend(errors);
                    return None;
                }
            }
        }
        let columns = file.columns().map_err(|errors| problems.extend(errors)).ok()?;
        let scanned = file.scan().map_err(|errors| problems.extend(errors)).ok();
        let (scanned, examples) = (scanned?, examples?);
        if scanned.n_rows != examples.n_rows {
            problems.add(format!(
                "`{features}` has {} rows, and `{}` has {} examples: they need one each",
                scanned.n_rows, examples.name, examples.n_rows
            ));
            return None;
        }
        Some(Opened {
            has_names: columns.as_ref().is_some_and(|names| !is_by_position(names)),
            features: file,
            columns,
            note,
            scanned,
            examples,
        })
    }
}
