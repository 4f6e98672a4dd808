//! The artifact: a zip of images, `CLASS/name.png`, or a CSV with the column `label` and one column for each number of a row.

use std::collections::BTreeMap;

use super::MAX_EXAMPLES;
use dataperf::archive::{Bounds, Entry, is_zip, unpack_folders, without_mark};
use dataperf::{LineNumbers, MAX_LISTED_REASONS, Reason, Reasons, Rejection, explain_every, quote};

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
    /// The number of examples, also of those that are not in `content` because there are far too many.
    pub(super) n_examples: usize,
    pub(super) reasons: Reasons,
}

/// The examples.
#[derive(Debug)]
pub(super) enum Content {
    Images(Vec<Image>),
    Rows(Vec<Row>),
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
    /// Where the row is in the artifact.
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
                .map(Image::of)
                .collect();
            return Ok(Self {
                n_examples: images.len(),
                content: Content::Images(images),
                reasons: Reasons::default(),
            });
        }
        if artifact.starts_with(b"PAR1") {
            let message = "the file is Parquet, which functions don't read: send it by `dataperf submit`, which makes a CSV of it, or save \
                it as a CSV, `frame.to_csv(\"set.csv\", index=False)`";
            return Err(Reason::new("not_csv", "", message).into());
        }
        rows(without_mark(artifact), max_examples)
    }
}

impl Image {
    fn of(entry: Entry) -> Self {
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
    if let Err(error) = std::str::from_utf8(artifact) {
        let message =
            "the file is neither a zip nor a CSV in UTF-8: send one of the two, as the contest asks";
        return Err(Reason::new("not_utf8", format!("byte {}", error.valid_up_to()), message).into());
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(artifact);
    let header = reader
        .headers()
        .map_err(|error| Reason::new("not_csv", "line 1", error.to_string()))?;
    let (n_columns, first) = (header.len(), header.get(0).unwrap_or_default().trim().to_owned());
    if first != "label" || n_columns < 2 {
        let message = format!(
            "the first line begins with {} and has {n_columns} columns: it has to be `label` and then a name for each number",
            quote(&first)
        );
        return Err(Reason::new("wrong_form", "line 1", message).into());
    }
    let (mut reasons, mut rows) = (Reasons::default(), Vec::new());
    let (mut n_lines, mut lengths, mut not_numbers) = (0, BTreeMap::new(), BTreeMap::new());
    let (mut lines, mut n_unread) = (LineNumbers::new(artifact), 0);
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                reasons.add(Reason::new("not_csv", "", error.to_string()));
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
            lines.of(record.position().map_or(0, csv::Position::byte) as usize)
        );
        if record.len() != n_columns {
            *lengths.entry(record.len()).or_insert(0) += 1;
            let (limit, actual) = (n_columns as u64, record.len() as u64);
            reasons.add_with(|| {
                let message =
                    format!("the line has {actual} fields, the first line {limit}: give each column one");
                Reason::over("wrong_number_of_fields", at, limit, actual, message)
            });
            continue;
        }
        let numbers = record.iter().skip(1).map(|field| {
            field
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())
        });
        let numbers: Vec<Option<f64>> = numbers.collect();
        if let Some(column) = numbers.iter().position(Option::is_none) {
            *not_numbers.entry(column).or_insert(0) += 1;
            reasons.add_with(|| {
                let message = format!(
                    "column {}: {} is no finite number",
                    column + 2,
                    quote(&record[column + 1])
                );
                Reason::new("not_a_number", at, message)
            });
            continue;
        }
        rows.push(Row {
            at,
            class: record[0].trim().to_owned(),
            numbers: numbers.into_iter().flatten().collect(),
        });
    }
    for (n_fields, n_wrong) in lengths {
        reasons.explain(explain_every("wrong_number_of_fields", n_wrong, n_lines, || {
            format!("each of the {n_lines} lines has {n_fields} fields, and the first line {n_columns}: give the first line a name for each column")
        }));
    }
    for (column, n_wrong) in not_numbers {
        reasons.explain(explain_every("not_a_number", n_wrong, n_lines, || {
            format!(
                "column {} has no number in any of the {n_lines} lines: leave the column out",
                column + 2
            )
        }));
    }
    Ok(Artifact {
        n_examples: rows.len() + n_unread,
        content: Content::Rows(rows),
        reasons,
    })
}
