//! The artifact: a zip of images, `CLASS/name.png`, or a CSV with the column `label` and one column for each number of a row, in any order.

use std::collections::{BTreeMap, BTreeSet};

use super::MAX_EXAMPLES;
use crate::own_data::table::{LABEL, NO_FEATURES, truth};
use dataperf::formats::archive::{Bounds, Entry, unpack_folders};
use dataperf::formats::delimited::{Dialect, described, text_of};
use dataperf::{
    LineNumbers, MAX_LISTED_REASONS, Reason, Reasons, Rejection, explain_every, is_zip, list_names, quote,
};

/// The limits of an archive of images: unpacked it may be as large as the artifact, since PNGs are compressed already.
const BOUNDS: Bounds = Bounds {
    max_entries: MAX_EXAMPLES,
    max_unpacked_bytes: 64 << 20,
    max_ratio: 200,
};

/// A parsed artifact, with the mistakes in its form, to which the rules add theirs.
#[derive(Debug)]
pub struct Artifact {
    pub(super) content: Content,
    /// The number of examples, including those that `content` omits because there are far too many.
    pub(super) n_examples: usize,
    pub(super) reasons: Reasons,
}

/// The examples.
#[derive(Debug)]
pub(super) enum Content {
    Images(Vec<Image>),
    Rows(Rows),
}

/// The rows of a table.
#[derive(Debug)]
pub(super) struct Rows {
    /// The names of the numbers.
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// One image, not yet decoded.
#[derive(Debug)]
pub(super) struct Image {
    /// The name of the image in the archive.
    pub(super) at: String,
    pub(super) class: String,
    pub(super) png: Vec<u8>,
}

/// One row of a table.
#[derive(Debug)]
pub(super) struct Row {
    /// The place of the row in the artifact.
    pub(super) at: String,
    pub(super) class: String,
    pub(super) numbers: Vec<f64>,
}

impl Artifact {
    /// Reads the artifact's form: a zip of images, or else a CSV. The rows of a CSV are read up to a list of reasons more than `max_examples`, and
    /// counted beyond that.
    ///
    /// # Errors
    /// A [`Rejection`] when it is neither; a wrong form is reported together with broken rules.
    pub fn parse(artifact: &[u8], max_examples: usize) -> Result<Self, Rejection> {
        if is_zip(artifact) {
            let images: Vec<Image> = unpack_folders(artifact, BOUNDS)?
                .into_iter()
                .map(Image::from_entry)
                .collect();
            return Ok(Self {
                n_examples: images.len(),
                content: Content::Images(images),
                reasons: Reasons::default(),
            });
        }
        if artifact.starts_with(b"PAR1") {
            let message = "the file is Parquet, which the platform can't read: upload it with `dataperf submit`, which \
                converts it, or save a CSV, `frame.to_csv(\"set.csv\", index=False)`";
            return Err(Reason::new("not_csv", "", message).into());
        }
        rows(artifact, max_examples)
    }
}

impl Artifact {
    /// The examples in one form, whatever order they and their columns come in; `None` if some can't be read.
    pub(crate) fn into_content(self) -> Option<Vec<u8>> {
        if !self.reasons.is_empty() {
            return None;
        }
        match self.content {
            Content::Images(images) => {
                let digests = images
                    .iter()
                    .map(|image| (image.class.as_str(), dataperf::Digest::compute(&image.png)));
                let mut digests: Vec<String> = digests
                    .map(|(class, digest)| format!("{digest} {class}"))
                    .collect();
                digests.sort();
                serde_json::to_vec(&digests).ok()
            }
            Content::Rows(Rows { names, rows }) => {
                let mut order: Vec<usize> = (0..names.len()).collect();
                order.sort_by(|one, other| names[*one].cmp(&names[*other]));
                let of_row = |row: &Row| -> (String, Vec<u64>) {
                    let bits = order.iter().map(|&place| row.numbers[place].to_bits());
                    (row.class.clone(), bits.collect())
                };
                let mut rows: Vec<_> = rows.iter().map(of_row).collect();
                rows.sort();
                let names: Vec<&String> = order.iter().map(|&place| &names[place]).collect();
                serde_json::to_vec(&(names, rows)).ok()
            }
        }
    }
}

impl Image {
    fn from_entry(entry: Entry) -> Self {
        let class = entry.name.split('/').next().unwrap_or_default().to_owned();
        Self {
            class,
            at: entry.name,
            png: entry.bytes,
        }
    }
}

fn rows(artifact: &[u8], max_examples: usize) -> Result<Artifact, Rejection> {
    if artifact.is_empty() {
        let message = "the file is empty: send a zip of images or a CSV, as the contest asks";
        return Err(Reason::new("empty", "", message).into());
    }
    let (dialect, text) = text_of(artifact)?;
    let mut reader = dialect.reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| Reason::new("not_csv", "line 1", described(&error)))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let n_columns = header.len();
    let mut reasons = Reasons::default();
    let columns = columns(&header)?;
    let (mut rows, mut n_lines) = (Vec::new(), 0);
    let (mut lengths, mut not_numbers) = (BTreeMap::new(), BTreeMap::new());
    let (mut lines, mut n_unread) = (LineNumbers::new(text.as_bytes()), 0);
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                reasons.add(Reason::new("not_csv", "", described(&error)));
                break;
            }
        };
        if rows.len() >= max_examples.saturating_add(MAX_LISTED_REASONS) {
            n_unread += 1;
            continue;
        }
        n_lines += 1;
        let at = format!(
            "line {}",
            lines.number(record.position().map_or(0, csv::Position::byte) as usize)
        );
        if record.len() != n_columns {
            *lengths.entry(record.len()).or_insert(0) += 1;
            let (limit, actual) = (n_columns as u64, record.len() as u64);
            reasons.add_with(|| {
                let message = format!(
                    "the line has {actual} fields, the first line has {limit}: give one for each column"
                );
                Reason::over("wrong_number_of_fields", at, limit, actual, message)
            });
            continue;
        }
        let fields = columns.numbers.iter().map(|&place| &record[place]);
        let numbers: Vec<Option<f64>> = fields.map(|field| finite(&dialect, field)).collect();
        if let Some(wrong) = numbers.iter().position(Option::is_none) {
            let place = columns.numbers[wrong];
            *not_numbers.entry(place).or_insert(0) += 1;
            reasons.add_with(|| {
                let message = format!(
                    "column {}: {} is not a finite number",
                    place + 1,
                    quote(&record[place])
                );
                Reason::new("not_a_number", at, message)
            });
            continue;
        }
        rows.push(Row {
            at,
            class: record[columns.label].trim().to_owned(),
            numbers: numbers.into_iter().flatten().collect(),
        });
    }
    if let Err(why) = dialect.check_numbers() {
        reasons.add(Reason::new("not_a_number", "", why));
    }
    for (n_fields, n_wrong) in lengths {
        reasons.explain(explain_every("wrong_number_of_fields", n_wrong, n_lines, || {
            format!("all {n_lines} lines have {n_fields} fields, the first line has {n_columns}: name each column \
                in the first line")
        }));
    }
    for (place, n_wrong) in not_numbers {
        reasons.explain(explain_every("not_a_number", n_wrong, n_lines, || {
            format!(
                "column {}, {}, has no number in any of the {n_lines} lines: leave the column out",
                place + 1,
                quote(&header[place])
            )
        }));
    }
    Ok(Artifact {
        n_examples: rows.len() + n_unread,
        content: Content::Rows(Rows {
            names: columns
                .numbers
                .iter()
                .map(|&place| header[place].clone())
                .collect(),
            rows,
        }),
        reasons,
    })
}

/// The finite number in a field, perhaps a truth value.
fn finite(dialect: &Dialect, field: &str) -> Option<f64> {
    let number = dialect.number(field).or_else(|| truth(field));
    number.filter(|number| number.is_finite())
}

/// The columns of a table: the places of the label and of the numbers.
struct Columns {
    label: usize,
    numbers: Vec<usize>,
}

fn columns(header: &[String]) -> Result<Columns, Rejection> {
    let label = header.iter().position(|name| name == LABEL);
    let is_number = |name: &String| !NO_FEATURES.contains(&name.as_str());
    let places = header.iter().enumerate().filter(|(_, name)| is_number(name));
    let numbers: Vec<usize> = places.map(|(place, _)| place).collect();
    if header.iter().filter(|name| *name == LABEL).count() > 1 {
        let message = "the column `label` appears more than once: keep one";
        return Err(Reason::new("duplicate_column", "line 1", message).into());
    }
    let Some(label) = label.filter(|_| !numbers.is_empty()) else {
        let message = format!(
            "the first line is {} and has {} columns: it needs a column `label` and a column for each number",
            quote(&header.join(",")),
            header.len()
        );
        return Err(Reason::new("wrong_form", "line 1", message).into());
    };
    Ok(Columns { label, numbers })
}

/// The order of columns that have numbers in place of names, in any order: `f0`, `f1` and so on, or `0`, `1` as pandas numbers columns without
/// names. `None` for other columns.
pub fn counted_order(names: &[String]) -> Option<Vec<String>> {
    let sorted: BTreeSet<&String> = names.iter().collect();
    let orders = ["f", ""].map(|before| (0..names.len()).map(move |place| format!("{before}{place}")));
    let mut orders = orders.into_iter().map(Iterator::collect::<Vec<String>>);
    orders.find(|order| order.iter().collect::<BTreeSet<_>>() == sorted)
}

/// Whether columns have numbers in place of names, in their order. Such columns are matched by their places.
pub fn is_by_position(names: &[String]) -> bool {
    counted_order(names).is_some_and(|order| order == names)
}

impl Rows {
    /// Puts the numbers into the order of `columns`, the contest's columns. Numbers in place of names are sorted; if either has no names,
    /// places count. Missing names and names of no column are noted. Returns whether the order has changed.
    pub(super) fn arrange(&mut self, columns: &[String], reasons: &mut Reasons) -> bool {
        let is_same_set = || columns.iter().collect::<BTreeSet<_>>() == self.names.iter().collect();
        let counted = counted_order(&self.names).filter(|_| columns.is_empty() || !is_same_set());
        let columns = match &counted {
            Some(order) => order,
            None if columns.is_empty() || is_by_position(columns) => return false,
            None => columns,
        };
        if columns == self.names {
            return false;
        }
        let mut seen = BTreeSet::new();
        for name in &self.names {
            if !seen.insert(name) {
                let message = format!("the column {} appears more than once: keep one", quote(name));
                reasons.add(Reason::new("duplicate_column", "line 1", message));
            }
        }
        let place = |column: &String| self.names.iter().position(|name| name == column);
        let places: Vec<Option<usize>> = columns.iter().map(place).collect();
        let missing = columns.iter().zip(&places).filter(|(_, place)| place.is_none());
        let missing: Vec<&String> = missing.map(|(column, _)| column).collect();
        let extra: Vec<&String> = self.names.iter().filter(|name| !columns.contains(name)).collect();
        if !missing.is_empty() {
            let message = format!(
                "the column {} is missing: the columns are matched by name. Name them {}, or `f0`, `f1` and so on to match by \
                 position",
                list_names(&missing),
                list_names(columns)
            );
            reasons.add(Reason::new("missing_column", "line 1", message));
        }
        if !extra.is_empty() {
            let message = format!("the contest has no column {}: leave it out", list_names(&extra));
            reasons.add(Reason::new("unknown_column", "line 1", message));
        }
        let is_match = missing.is_empty() && extra.is_empty();
        if is_match {
            let places: Vec<usize> = places.into_iter().flatten().collect();
            for row in &mut self.rows {
                row.numbers = places.iter().map(|&place| row.numbers[place]).collect();
            }
            self.names = columns.to_vec();
        }
        is_match
    }
}
