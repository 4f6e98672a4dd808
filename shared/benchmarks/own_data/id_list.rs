//! A list of examples as a CSV: the column `id` and perhaps `label`, an example a line.

use std::collections::BTreeSet;

use dataperf::formats::delimited::text_of;
use dataperf::{LineNumbers, Reason, Reasons, Rejection, quote};

use super::table::{ID, LABEL};

/// One example of the list.
#[derive(Debug)]
pub(super) struct Row {
    /// Its line in the file, from 1.
    pub(super) line: usize,
    pub(super) id: String,
    /// The text in the column `label`, if there is one.
    pub(super) label: Option<String>,
}

/// A list that was read, with the mistakes in its form.
#[derive(Debug)]
pub(super) struct IdList {
    /// The examples in the order of the file.
    pub(super) rows: Vec<Row>,
    /// The number of examples, including those beyond the limit, which `rows` omits.
    pub(super) n_rows: usize,
    pub(super) has_labels: bool,
    pub(super) reasons: Reasons,
}

/// Whether an artifact is JSON and no CSV: it begins with a brace or bracket, or is empty. A byte order mark before JSON is reported as
/// such.
pub(super) fn is_json(artifact: &[u8]) -> bool {
    // in UTF-16 every other byte of such text is zero
    let marks: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"];
    let text = marks
        .iter()
        .find_map(|mark| artifact.strip_prefix(*mark))
        .unwrap_or(artifact);
    let first = text
        .iter()
        .find(|byte| !byte.is_ascii_whitespace() && **byte != 0);
    matches!(first, None | Some(b'{' | b'['))
}

/// The place of a line in reasons.
pub(super) fn place(line: usize) -> String {
    format!("line {line}")
}

/// Reads a CSV with the column `id` and any other of `columns`. Examples are kept up to `n_kept`, and counted beyond that.
///
/// # Errors
/// A [`Rejection`] when it is no such CSV: `not_utf8`, `not_csv` or `wrong_form`.
pub(super) fn read(artifact: &[u8], columns: &[&str], n_kept: usize) -> Result<IdList, Rejection> {
    let (dialect, text) = text_of(artifact)?;
    let bytes = text.as_bytes();
    let mut reader = dialect.reader(bytes);
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => return Err(Reason::new("not_csv", "line 1", error.to_string()).into()),
    };
    let given: Vec<&str> = header.iter().map(String::as_str).collect();
    let position = |name: &str| given.iter().position(|column| *column == name);
    // pandas writes a column without a name that numbers the rows
    let is_ours = |name: &&str| columns.contains(name) || name.is_empty() || name.starts_with("Unnamed: ");
    let (Some(of_id), of_label, true) = (
        position(ID),
        position(LABEL),
        given.iter().all(is_ours) && is_distinct(&given),
    ) else {
        let (expected, these) = match columns {
            [_] => (format!("`{ID}`"), "this column"),
            _ => (format!("`{ID}` or `{}`", columns.join(",")), "these columns"),
        };
        let message = format!(
            "the first line is {} instead of {expected}: send JSON, or a CSV with {these}",
            quote(&given.join(","))
        );
        return Err(Reason::new("wrong_form", "line 1", message).into());
    };
    let (mut reasons, mut rows, mut n_unread) = (Reasons::default(), Vec::new(), 0);
    let mut lines = LineNumbers::new(bytes);
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                reasons.add(Reason::new("not_csv", "", error.to_string()));
                break;
            }
        };
        if rows.len() >= n_kept {
            n_unread += 1;
            continue;
        }
        let line = lines.number(record.position().map_or(0, csv::Position::byte) as usize);
        if record.len() != given.len() {
            let (limit, actual) = (given.len() as u64, record.len() as u64);
            let message =
                format!("the line has {actual} fields, the first line has {limit}: give one for each column");
            reasons.add(Reason::over(
                "wrong_number_of_fields",
                place(line),
                limit,
                actual,
                message,
            ));
            continue;
        }
        rows.push(Row {
            line,
            id: record[of_id].trim().to_owned(),
            label: of_label.map(|of_label| record[of_label].trim().to_owned()),
        });
    }
    Ok(IdList {
        n_rows: rows.len() + n_unread,
        rows,
        has_labels: of_label.is_some(),
        reasons,
    })
}

/// Whether no name is there twice.
fn is_distinct(names: &[&str]) -> bool {
    let distinct: BTreeSet<&&str> = names.iter().collect();
    distinct.len() == names.len()
}
