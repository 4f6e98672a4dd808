//! Examples: one line for each row of features, with an id, a label, and sometimes a group and a cluster.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::own_data::table::NO_FEATURES;
use dataperf::formats::delimited::{Dialect, described};
use dataperf::{explain_unknown, offer};

use super::features::{Form, MAX_ROWS};
use super::problems::RowProblems;
use dataperf_datasets::tables::lines::{LineAt, begin, csv_reader, dialect};
use dataperf_datasets::tables::table_file::TableFile;

/// The most characters of an id, a group or a class.
pub(super) const MAX_NAME_CHARS: usize = 200;

/// The columns that were read of a file with examples.
#[derive(Debug)]
pub(super) struct Examples {
    /// The file's name in the document.
    pub(super) name: String,
    columns: BTreeMap<String, Vec<String>>,
    pub(super) n_rows: usize,
    /// For a CSV, its path, its dialect and the place of each row's first byte.
    lines: Option<(PathBuf, Dialect, Vec<u64>)>,
}

/// The columns that are read: required ones and optional ones.
pub(super) struct ExpectedColumns {
    pub(super) required: &'static [&'static str],
    pub(super) optional: &'static [&'static str],
}

impl Examples {
    /// Reads the expected columns of a CSV or Parquet file.
    ///
    /// # Errors
    /// Sentences if the file can't be read, a column is missing, a line has another number of fields, or a field is empty or too
    /// long.
    pub(super) fn read(name: &str, path: &Path, expected: &ExpectedColumns) -> Result<Self, Vec<String>> {
        if !path.is_file() {
            return Err(vec![format!("`{name}` is not a file")]);
        }
        let mut examples = if matches!(Form::from_path(path), Some(Form::Table)) {
            Self::of_table_file(name, path, expected)?
        } else {
            Self::of_csv(name, path, expected)?
        };
        let missing = expected
            .required
            .iter()
            .filter(|column| !examples.columns.contains_key(**column));
        let missing: Vec<String> = missing.map(|column| format!("`{column}`")).collect();
        if !missing.is_empty() {
            return Err(vec![format!(
                "`{name}` has no column {}: give it the columns {}",
                missing.join(", "),
                listed(expected)
            )]);
        }
        examples.check_fields()?;
        examples.n_rows = examples.columns.values().next().map_or(0, Vec::len);
        if examples.n_rows == 0 {
            return Err(vec![format!(
                "`{name}` has no examples: give it a line for each row of features"
            )]);
        }
        Ok(examples)
    }

    fn of_csv(name: &str, path: &Path, expected: &ExpectedColumns) -> Result<Self, Vec<String>> {
        let about = |why: String| vec![format!("`{name}`: {why}")];
        let dialect = dialect(path).map_err(about)?;
        let mut reader = csv_reader(path, &dialect).map_err(|error| about(error.to_string()))?;
        let header = reader.headers().map_err(|error| about(described(&error)))?;
        let names: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        let mut problems = RowProblems::default();
        let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for known in expected.required.iter().chain(expected.optional) {
            match names.iter().filter(|name| name == known).count() {
                0 => {}
                1 => drop(columns.insert((*known).to_owned(), Vec::new())),
                _ => {
                    problems.add(|| format!("`{name}` line 1: the column `{known}` appears twice: keep one"));
                }
            }
        }
        let mut begins = Vec::new();
        for (n_before, record) in reader.records().enumerate() {
            let record = record.map_err(|error| about(described(&error)))?;
            if n_before == MAX_ROWS {
                return Err(about(format!(
                    "it has more than {MAX_ROWS} lines: use some of them"
                )));
            }
            let line = LineAt {
                path,
                dialect: &dialect,
                byte: begin(&record),
            };
            if record.len() != names.len() {
                problems.add(|| {
                    format!(
                        "`{name}` {line}: it has {} fields, and the first line {}",
                        record.len(),
                        names.len()
                    )
                });
                continue;
            }
            begins.push(begin(&record));
            for (column, field) in names.iter().zip(&record) {
                if let Some(column) = columns.get_mut(column) {
                    // one character more than allowed is kept, so that a longer field is refused later
                    column.push(field.trim().chars().take(MAX_NAME_CHARS + 1).collect());
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems.report(name));
        }
        Ok(Self {
            name: name.to_owned(),
            columns,
            n_rows: 0,
            lines: Some((path.to_owned(), dialect, begins)),
        })
    }

    fn of_table_file(name: &str, path: &Path, expected: &ExpectedColumns) -> Result<Self, Vec<String>> {
        let table = TableFile::open(path, name)?;
        let (mut columns, mut problems) = (BTreeMap::new(), Vec::new());
        let all = table.columns(&NO_FEATURES);
        let known = expected.required.iter().chain(expected.optional);
        for column in known.filter(|known| all.iter().any(|(name, _)| name == *known)) {
            match table.texts(column) {
                // white space around fields is removed, as for a CSV
                Ok(texts) => {
                    let texts = texts.into_iter().map(|text| text.trim().to_owned()).collect();
                    columns.insert((*column).to_owned(), texts);
                }
                Err(errors) => problems.extend(errors),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            name: name.to_owned(),
            columns,
            n_rows: 0,
            lines: None,
        })
    }

    fn check_fields(&self) -> Result<(), Vec<String>> {
        let mut problems = RowProblems::default();
        for (column, fields) in &self.columns {
            for (row, field) in fields.iter().enumerate() {
                let place = || self.place(row);
                if field.is_empty() {
                    problems.add(|| format!("{}, column `{column}`: it is empty", place()));
                } else if field.chars().count() > MAX_NAME_CHARS || field.chars().any(char::is_control) {
                    problems.add(|| {
                        let place = place();
                        format!(
                            "{place}, column `{column}`: use at most {MAX_NAME_CHARS} printable characters"
                        )
                    });
                }
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.report(&self.name))
        }
    }

    /// A row's place, for messages.
    pub(super) fn place(&self, row: usize) -> String {
        let line = self.lines.as_ref().and_then(|(path, dialect, begins)| {
            let byte = *begins.get(row)?;
            Some(LineAt { path, dialect, byte }.to_string())
        });
        let place = line.unwrap_or_else(|| format!("row {}", row + 1));
        format!("`{}` {place}", self.name)
    }

    /// The number in a field, which may have a decimal comma in a CSV.
    pub(super) fn number(&self, field: &str) -> Option<f64> {
        match &self.lines {
            Some((_, dialect, _)) => dialect.number(field),
            None => field.parse().ok(),
        }
    }

    /// A sentence if the numbers that were read have no clear decimal mark.
    pub(super) fn check_numbers(&self) -> Option<String> {
        let (_, dialect, _) = self.lines.as_ref()?;
        let wrong = dialect.check_numbers().err()?;
        Some(format!("`{}`: {wrong}", self.name))
    }

    pub(super) fn column(&self, name: &str) -> Option<&[String]> {
        self.columns.get(name).map(Vec::as_slice)
    }

    /// A column of [`ExpectedColumns::required`].
    pub(super) fn required(&self, name: &str) -> &[String] {
        self.column(name).unwrap_or_default()
    }

    /// Sentences about ids that occur more than once.
    pub(super) fn check_ids(&self) -> Vec<String> {
        let (mut first, mut problems) = (HashMap::new(), RowProblems::default());
        for (row, id) in self.required("id").iter().enumerate() {
            if let Some(first) = first.insert(id, row) {
                problems.add(|| {
                    format!(
                        "{}: the id `{id}` appears twice, also at {}: rename one",
                        self.place(row),
                        self.place(first)
                    )
                });
            }
        }
        problems.report(&self.name)
    }

    /// Sentences about labels that are no class.
    pub(super) fn check_classes(&self, column: &str, classes: &[String]) -> Vec<String> {
        let known: Vec<&str> = classes.iter().map(String::as_str).collect();
        let labels = self.required(column);
        let unknown: Vec<&String> = labels
            .iter()
            .filter(|label| !known.contains(&label.as_str()))
            .collect();
        let cause = explain_unknown("labels", "", &unknown, labels.len(), known.iter().copied());
        let cause = cause.map(|cause| format!("`{}`, column `{column}`: {}", self.name, cause.message));
        let mut problems = RowProblems::default();
        for (row, label) in self.required(column).iter().enumerate() {
            if !known.contains(&label.as_str()) {
                problems.add(|| {
                    format!(
                        "{}, column `{column}`: `{label}` is not a class: {}",
                        self.place(row),
                        offer(label, &known)
                    )
                });
            }
        }
        cause.into_iter().chain(problems.report(&self.name)).collect()
    }

    /// A sentence about classes of which a column has no example.
    pub(super) fn check_every_class(&self, column: &str, classes: &[String]) -> Option<String> {
        let labels = self.required(column);
        let missing = classes.iter().filter(|class| !labels.contains(class));
        let missing: Vec<String> = missing.map(|class| format!("`{class}`")).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "`{}` has no example of {}: add some, or remove the class from `classes`",
                self.name,
                missing.join(", ")
            )
        })
    }

    /// A CSV of the given columns as far as the file has them; each pair is the name in the CSV and the name in the file.
    pub(super) fn to_csv(&self, columns: &[(&str, &str)]) -> Vec<u8> {
        let there: Vec<(&str, &[String])> = columns
            .iter()
            .filter_map(|(to, from)| Some((*to, self.column(from)?)))
            .collect();
        let header: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
        let lines = (0..self.n_rows).map(|row| there.iter().map(move |(_, column)| column[row].as_str()));
        csv_of(&header, lines)
    }
}

/// A CSV of a header and lines of fields.
pub(super) fn csv_of<'a>(
    header: &[&str],
    lines: impl Iterator<Item: IntoIterator<Item = &'a str>>,
) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing into memory does not fail.
    drop(writer.write_record(header));
    for line in lines {
        drop(writer.write_record(line));
    }
    writer.into_inner().unwrap_or_default()
}

fn listed(expected: &ExpectedColumns) -> String {
    let required = expected.required.iter().map(|column| format!("`{column}`"));
    let optional = expected
        .optional
        .iter()
        .map(|column| format!("perhaps `{column}`"));
    required.chain(optional).collect::<Vec<_>>().join(", ")
}
