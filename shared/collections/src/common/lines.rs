//! JSON Lines, each line with its own outcome.

use dataperf::formats::json::Json;
use dataperf::{Reason, Reasons, Rejection, mistaken_for_text};

use serde::Serialize;

use crate::common::fields::Fields;

/// The longest line that is read: 16 KiB.
pub const MAX_LINE_BYTES: usize = 16 << 10;

/// The content of one line of a file.
pub trait LineItem: Sized {
    /// The rules that lines have to obey.
    type Rules;
    /// The most lines that a file may have.
    const MAX_LINES: usize;
    /// The largest file that is read at all, in bytes.
    const MAX_BYTES: u64;

    /// Parses a line, and notes everything wrong with it.
    #[doc(hidden)]
    fn from_fields(fields: Fields<'_>, rules: &Self::Rules, reasons: &mut Reasons) -> Option<Self>;
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line<T> {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its content, or everything wrong with it.
    pub outcome: Result<T, Rejection>,
}

/// Reads a file. Empty lines are left out.
///
/// # Errors
/// A [`Rejection`] of the file as a whole: `too_large`, `empty`, `byte_order_mark`, `not_utf8`, `not_json`, `not_json_lines`,
/// `too_many_lines`.
pub fn read<T: LineItem>(file: &[u8], rules: &T::Rules) -> Result<Vec<Line<T>>, Rejection> {
    let (limit, n_bytes) = (T::MAX_BYTES, file.len() as u64);
    if n_bytes > limit {
        let message = format!("the file has {n_bytes} bytes, the limit is {limit}: split it into several");
        return Err(Reason::over("too_large", "", limit, n_bytes, message).into());
    }
    let lines = split(file)?;
    if lines.len() > T::MAX_LINES {
        let (limit, n) = (T::MAX_LINES, lines.len());
        let message = format!("the file has {n} lines, the limit is {limit}: split it into several");
        return Err(Reason::over("too_many_lines", "", limit as u64, n as u64, message).into());
    }
    let outcomes = lines.into_iter().map(|(number, line)| Line {
        number,
        outcome: read_line(number, line, rules),
    });
    Ok(outcomes.collect())
}

/// Whether a file has a JSON object on at least one line. This check needs no rules, so it works
/// before an upload.
///
/// # Errors
/// A [`Rejection`] of the file as a whole, or of all its lines.
pub fn check_lines(file: &[u8]) -> Result<(), Rejection> {
    let mut rejections = Vec::new();
    for (number, line) in split(file)? {
        match object(number, line) {
            Ok(_) => return Ok(()),
            Err(rejection) => rejections.push(rejection),
        }
    }
    all_rejected(&rejections).map_or(Ok(()), Err)
}

/// The lines of a file that are not empty, with their numbers.
fn split(file: &[u8]) -> Result<Vec<(usize, &[u8])>, Rejection> {
    if file.starts_with(b"\xef\xbb\xbf") {
        let message = "the file begins with a byte order mark: save it as UTF-8 without one";
        return Err(Reason::new("byte_order_mark", "line 1", message).into());
    }
    if let Some(text) = mistaken_for_text(file) {
        let is_text = std::str::from_utf8(file).is_ok();
        let code = if is_text { "not_json" } else { "not_utf8" };
        return Err(Reason::new(code, "byte 0", text).into());
    }
    if let Some(text) = other_layout(file) {
        return Err(Reason::new("not_json_lines", "", text).into());
    }
    let lines = file.split(|&byte| byte == b'\n').enumerate();
    let lines = lines.map(|(idx, line)| (idx + 1, line.trim_ascii()));
    let lines: Vec<_> = lines.filter(|(_, line)| !line.is_empty()).collect();
    if lines.is_empty() {
        return Err(Reason::new(
            "empty",
            "",
            "the file is empty: write one JSON object on each line",
        )
        .into());
    }
    Ok(lines)
}

/// Identifies a file with a table in another layout than an object per line, and says how to
/// convert it.
fn other_layout(file: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(file).ok()?.trim();
    let first = text.lines().next()?.trim();
    if first.starts_with('{')
        && text
            .lines()
            .nth(1)
            .is_some_and(|line| line.trim().starts_with('{'))
    {
        return None; // a file of this layout
    }
    if text.starts_with(['[', '{']) {
        return match serde_json::from_str::<serde_json::Value>(text).ok()? {
            serde_json::Value::Array(items) if items.iter().any(serde_json::Value::is_object) => Some(
                "the file is one JSON array: write each object on its own line, `jq -c '.[]' FILE.json > FILE.jsonl`",
            ),
            serde_json::Value::Object(members) if text.lines().count() > 1 || is_by_columns(&members) => {
                Some(
                    "the file is one JSON object over several lines: put each object on a line of its own, `jq -c . FILE.json > FILE.jsonl`, or of a \
                 table by columns `pandas.read_json(\"FILE.json\").to_json(\"FILE.jsonl\", orient=\"records\", lines=True)`",
                )
            }
            _ => None,
        };
    }
    let is_table = text.lines().count() > 1
        && first.contains([',', ';', '\t'])
        && !text.lines().any(|line| line.trim().starts_with('{'));
    is_table.then_some(
        "the file is a CSV: write an object for each line, `pandas.read_csv(\"FILE.csv\").to_json(\"FILE.jsonl\", orient=\"records\", \
         lines=True)`, with `index_col=0` if the first column numbers the rows",
    )
}

/// Whether an object holds a table by its columns, as pandas writes one: each an object with the same row numbers.
fn is_by_columns(members: &serde_json::Map<String, serde_json::Value>) -> bool {
    let is_column = |value: &serde_json::Value| {
        value
            .as_object()
            .is_some_and(|cells| cells.len() > 1 && cells.keys().all(|row| row.parse::<u64>().is_ok()))
    };
    !members.is_empty() && members.values().all(is_column)
}

/// The members of a line's object.
fn object(number: usize, line: &[u8]) -> Result<Json, Rejection> {
    let at = format!("line {number}");
    if line.len() > MAX_LINE_BYTES {
        let n = line.len();
        let message = format!("the line has {n} bytes, the limit is {MAX_LINE_BYTES}: shorten its texts");
        return Err(Reason::over("line_too_long", at, MAX_LINE_BYTES as u64, n as u64, message).into());
    }
    let json = Json::parse(line).map_err(|rejection| moved(&rejection, &at))?;
    if matches!(json, Json::Object(_)) {
        return Ok(json);
    }
    let message = format!("expected an object here, found {}", json.kind());
    Err(Reason::new("wrong_type", at, message).into())
}

fn read_line<T: LineItem>(number: usize, line: &[u8], rules: &T::Rules) -> Result<T, Rejection> {
    let (json, at) = (object(number, line)?, format!("line {number}"));
    let mut reasons = Reasons::default();
    let fields = Fields::new(json, &at, &mut reasons);
    match fields.and_then(|fields| T::from_fields(fields, rules, &mut reasons)) {
        Some(artifact) => reasons.into_verdict(artifact),
        None => Err(with_a_reason(reasons, &at)),
    }
}

/// Moves a parser's reasons to the place `at`: the parser saw this line alone and calls it `line 1`.
fn moved(rejection: &Rejection, at: &str) -> Rejection {
    let mut reasons = Reasons::default();
    for reason in rejection.reasons() {
        let place = reason.at.strip_prefix("line 1").unwrap_or(&reason.at);
        let at = if place.starts_with(' ') || place.is_empty() {
            format!("{at}{place}")
        } else {
            format!("{at} {place}")
        };
        let message = reason.message.replace("the file", "the line");
        reasons.add(Reason {
            at,
            message,
            ..reason.clone()
        });
    }
    with_a_reason(reasons, at)
}

/// A rejection with what was noted; if nothing was, with a general reason, because a line without an artifact needs one.
fn with_a_reason(mut reasons: Reasons, at: &str) -> Rejection {
    if reasons.is_empty() {
        reasons.add(Reason::new(
            "wrong_type",
            at,
            "the line is not an object of the expected form",
        ));
    }
    match reasons.into_verdict(()) {
        Err(rejection) => rejection,
        Ok(()) => Reason::new("wrong_type", at, "the line is not an object of the expected form").into(),
    }
}

/// The rejection of a file that has no good line: the reasons of all its lines.
pub fn all_rejected<'a>(rejections: impl IntoIterator<Item = &'a Rejection>) -> Option<Rejection> {
    let mut all = Reasons::default();
    for rejection in rejections {
        all.append(Reasons::from(rejection));
    }
    all.into_verdict(()).err()
}

/// A value as JSON that people can read too.
///
/// # Errors
/// When the value can't be JSON, such as a map whose keys are no texts.
pub fn pretty_json<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Rows as JSON Lines.
///
/// # Errors
/// When a row can't be JSON, such as a map whose keys are no texts.
pub fn json_lines<T: Serialize>(rows: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut bytes, row)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}
