//! Reads results from files and folders.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};

use dataperf::formats::delimited::{Dialect, HEAD_BYTES};
use dataperf::{kind_of_file, quote};

use crate::cell::{Cell, Object};
use crate::gather::{Gathered, Stop, note_no_number};
use crate::head::{HEAD_ROWS, Head};
use crate::layout::Columns;
use crate::logs::{DETAILS, RESULTS, Resolved, SAMPLES, SampleLog, is_sample, take_resolved};
use crate::options::Options;
use crate::parquet_rows::ParquetRows;
use crate::problems::{Cause, Problems};
use crate::table::Table;

/// The most bytes that are read, of all files together.
pub const MAX_BYTES: u64 = 4 << 30;
/// The most bytes of a line of JSON, and of a file that is one JSON document.
const MAX_JSON_BYTES: u64 = 64 << 20;
/// How deep folders are searched for logs.
const MAX_DEPTH: usize = 8;
const FORMS: &str = "a table as `.csv`, `.tsv`, `.parquet` or `.jsonl`, a log of samples (`samples_*.jsonl`), a list of resolved \
                     instances (`results.json`, `per_instance_details.json`), or a folder of such logs or lists";

/// Reads the results in these files and folders.
///
/// # Errors
/// Everything that is wrong with them, at once.
pub fn read(paths: &[PathBuf], options: &Options) -> Result<Table, Problems> {
    let mut gathered = Gathered::default();
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files, &mut gathered.problems);
    }
    let n_bytes: u64 = files
        .iter()
        .filter_map(|file| fs::metadata(file).ok())
        .map(|about| about.len())
        .sum();
    if n_bytes > MAX_BYTES {
        let gib = |n_bytes: u64| n_bytes as f64 / f64::from(1 << 30);
        let problem = format!(
            "there are {:.1} GiB to read, and {:.0} GiB are the most",
            gib(n_bytes),
            gib(MAX_BYTES)
        );
        let remedy = "leave out columns that hold no values, or store the table as Parquet, of which only the columns that \
                      count are read; take the metrics out of logs";
        gathered.problems.note(Cause::Size, problem, "", remedy);
        return Err(gathered.problems);
    }
    // a wrong file or header is noted, and the next file is read all the same
    let (mut resolved, mut has_stopped) = (Vec::new(), false);
    for file in &files {
        has_stopped |= read_file(file, options, &mut resolved, &mut gathered).is_err();
    }
    let all = options
        .items
        .as_ref()
        .and_then(|path| all_items(path, &mut gathered.problems));
    has_stopped |= take_resolved(&resolved, all.as_ref(), &mut gathered).is_err();
    if has_stopped {
        return Err(gathered.problems);
    }
    gathered.table(options)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display, problems: &mut Problems) {
    let problem = format!("can't read {}: {error}", quote(&path.to_string_lossy()));
    problems.note(
        Cause::File,
        problem,
        "",
        "check its name, its rights and its form",
    );
}

fn too_long(path: &Path, problems: &mut Problems) {
    let problem = format!(
        "{} has more than {} MiB of JSON in one line or document, the most that is read",
        quote(&path.to_string_lossy()),
        MAX_JSON_BYTES >> 20
    );
    problems.note(Cause::Size, problem, "", "write one object a line");
}

/// The files to read: a file itself, and of a folder the logs in it and below.
fn collect(path: &Path, files: &mut Vec<PathBuf>, problems: &mut Problems) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    let mut logs = Vec::new();
    search(path, 0, &mut logs, problems);
    if logs.is_empty() {
        let problem = format!("the folder {} has no logs", quote(&path.to_string_lossy()));
        problems.note(Cause::File, problem, "", format!("name {FORMS}"));
    }
    files.append(&mut logs);
}

fn search(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, problems: &mut Problems) {
    let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => return unreadable(folder, &error, problems),
    };
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    // of the two forms of a submission the one that names every instance
    let details = paths
        .iter()
        .find(|path| path.file_name() == Some(OsStr::new(DETAILS)));
    if let Some(details) = details {
        files.push(details.clone());
        return;
    }
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_log = name == RESULTS || (name.starts_with(SAMPLES) && name.ends_with(".jsonl"));
        if path.is_dir() && depth < MAX_DEPTH {
            search(&path, depth + 1, files, problems);
        } else if is_log && path.is_file() {
            files.push(path);
        }
    }
}

fn read_file(
    path: &Path,
    options: &Options,
    resolved: &mut Vec<Resolved>,
    gathered: &mut Gathered,
) -> Result<(), Stop> {
    let ending = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let (file, head) = match begun(path) {
        Ok(begun) => begun,
        Err(error) => {
            unreadable(path, &error, &mut gathered.problems);
            return Ok(());
        }
    };
    if let Some(kind) = kind_of_file(&head).filter(|_| ending != "parquet" || !head.starts_with(b"PAR1")) {
        let problem = format!("{} is {}", quote(&path.to_string_lossy()), kind.name);
        gathered.problems.note(Cause::File, problem, "", kind.remedy);
        return Ok(());
    }
    match ending.as_str() {
        "csv" => {
            let separator = Dialect::detect(&head).map_or(b',', |dialect| dialect.separator());
            read_csv(path, file, separator, options, gathered)
        }
        "tsv" => read_csv(path, file, b'\t', options, gathered),
        "parquet" => read_parquet(path, file, options, gathered),
        "jsonl" | "ndjson" => read_lines(path, file, options, gathered),
        "json" => {
            let mut bytes = Vec::new();
            match file.take(MAX_JSON_BYTES + 1).read_to_end(&mut bytes) {
                Ok(_) if bytes.len() as u64 > MAX_JSON_BYTES => too_long(path, &mut gathered.problems),
                Ok(_) => match serde_json::from_slice(&bytes).map(|json| Resolved::read(path, &json)) {
                    Ok(Some(outcomes)) => resolved.push(outcomes),
                    Ok(None) => {
                        let why = "it is not a list of resolved instances";
                        unreadable(path, &why, &mut gathered.problems);
                    }
                    Err(error) => unreadable(path, &error, &mut gathered.problems),
                },
                Err(error) => unreadable(path, &error, &mut gathered.problems),
            }
            Ok(())
        }
        _ => {
            let problem = format!("the form of {} is not known", quote(&path.to_string_lossy()));
            gathered
                .problems
                .note(Cause::File, problem, "", format!("name {FORMS}"));
            Ok(())
        }
    }
}

/// A file, to be read from its beginning, and its first bytes.
fn begun(path: &Path) -> io::Result<(File, Vec<u8>)> {
    let (mut file, mut head) = (File::open(path)?, Vec::new());
    file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok((file, head))
}

fn at(path: &Path, line: u64) -> String {
    format!("in line {line} of {}", quote(&path.to_string_lossy()))
}

fn read_csv(
    path: &Path,
    file: File,
    delimiter: u8,
    options: &Options,
    gathered: &mut Gathered,
) -> Result<(), Stop> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .buffer_capacity(1 << 20)
        .from_reader(file);
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header
            .iter()
            .map(|name| name.trim_start_matches('\u{feff}').to_owned())
            .collect(),
        Err(error) => {
            unreadable(path, &error, &mut gathered.problems);
            return Ok(());
        }
    };
    let head = match head_of_csv(&mut reader, header.len()) {
        Ok(head) => head,
        Err(error) => {
            unreadable(path, &error, &mut gathered.problems);
            return Ok(());
        }
    };
    let mut columns = Columns::new(&header, &head, options, gathered)?;
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => {
                unreadable(path, &error, &mut gathered.problems);
                return Ok(());
            }
        }
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() == header.len() {
            let cells: Vec<Cell<'_>> = record.iter().map(|text| Cell::Text(text.into())).collect();
            columns.row(&cells, &|| at(path, line), gathered)?;
        } else {
            let problem = format!("lines have not the {} cells of the header", header.len());
            let example = format!("{} {}", record.len(), at(path, line));
            gathered.problems.note(
                Cause::File,
                problem,
                example,
                "quote cells that hold the separator",
            );
        }
    }
}

/// The first rows that have as many cells as the header. The reader is left where it was.
fn head_of_csv(reader: &mut csv::Reader<File>, n_columns: usize) -> csv::Result<Head> {
    let begin = reader.position().clone();
    // a line that can't be read is an error when its turn comes
    let records = reader.records().take(HEAD_ROWS).map_while(Result::ok);
    let cells = |record: csv::StringRecord| -> Vec<Cell<'static>> {
        let texts = record.iter().map(|text| Cell::Text(text.to_owned().into()));
        texts.collect()
    };
    let rows = records.filter(|record| record.len() == n_columns).map(cells);
    let head = Head(rows.collect());
    reader.seek(begin)?;
    Ok(head)
}

fn read_parquet(path: &Path, file: File, options: &Options, gathered: &mut Gathered) -> Result<(), Stop> {
    let rows = match ParquetRows::open(file) {
        Ok(rows) => rows,
        Err(error) => {
            unreadable(path, &error, &mut gathered.problems);
            return Ok(());
        }
    };
    let mut head = Head::default();
    let looked = rows.each_row(&|_| true, |_, cells| {
        head.0.push(cells.iter().map(Cell::owned).collect());
        head.0.len() < HEAD_ROWS
    });
    if let Err(error) = looked {
        unreadable(path, &error, &mut gathered.problems);
        return Ok(());
    }
    let columns = RefCell::new(Columns::new(&rows.header, &head, options, gathered)?);
    let wanted: Vec<bool> = (0..rows.header.len())
        .map(|place| columns.borrow().reads(place))
        .collect();
    let mut taken = Ok(());
    let at = |row: usize| format!("in row {row} of {}", quote(&path.to_string_lossy()));
    let read = rows.each_row(&|place| wanted[place], |row, cells| {
        taken = columns.borrow_mut().row(cells, &|| at(row), gathered);
        taken.is_ok()
    });
    if let Err(error) = read {
        unreadable(path, &error, &mut gathered.problems);
    }
    taken
}

/// The kind of lines in a file of JSON Lines.
enum Lines {
    Samples(SampleLog),
    Rows { header: Vec<String>, columns: Columns },
}

fn read_lines(path: &Path, file: File, options: &Options, gathered: &mut Gathered) -> Result<(), Stop> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut lines, mut line, mut number) = (None, Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        match reader
            .by_ref()
            .take(MAX_JSON_BYTES + 1)
            .read_until(b'\n', &mut line)
        {
            Ok(0) => return Ok(()),
            Ok(_) if line.len() as u64 > MAX_JSON_BYTES => {
                too_long(path, &mut gathered.problems);
                return Ok(());
            }
            Ok(_) => {}
            Err(error) => {
                unreadable(path, &error, &mut gathered.problems);
                return Ok(());
            }
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let at = || at(path, number);
        if lines.is_none() && is_sample(&line) {
            lines = Some(Lines::Samples(SampleLog::new(path, options, gathered)?));
        }
        if let Some(Lines::Samples(log)) = &mut lines {
            log.line(&line, &at, options, gathered)?;
            continue;
        }
        let Object(row) = match serde_json::from_slice(&line) {
            Ok(object) => object,
            Err(error) => {
                let example = format!("{error} {}", at());
                let remedy = "write one JSON object a line";
                if !note_no_number(&line, &at, gathered) {
                    gathered
                        .problems
                        .note(Cause::File, "lines are not JSON objects", example, remedy);
                }
                continue;
            }
        };
        if lines.is_none() {
            let header: Vec<String> = row.iter().map(|(name, _)| name.clone()).collect();
            let head = head_of_lines(path, &header);
            let columns = Columns::new(&header, &head, options, gathered)?;
            lines = Some(Lines::Rows { header, columns });
        }
        if let Some(Lines::Rows { header, columns }) = &mut lines {
            columns.row(&in_order(row, header, &at, gathered), &at, gathered)?;
        }
    }
}

/// The first rows. What can't be read is an error when its turn comes.
fn head_of_lines(path: &Path, header: &[String]) -> Head {
    let file = File::open(path).map(|file| BufReader::new(file.take(MAX_JSON_BYTES)));
    let lines = file.into_iter().map(serde_json::Deserializer::from_reader);
    let objects = lines.flat_map(serde_json::Deserializer::into_iter::<Object>);
    let cells = |Object(row): Object| -> Vec<Cell<'static>> {
        let of = |column: &String| row.iter().find(|(name, _)| name == column);
        let cell = |column| of(column).map_or(Cell::Missing, |(_, cell)| cell.clone());
        header.iter().map(cell).collect()
    };
    Head(objects.take(HEAD_ROWS).map_while(Result::ok).map(cells).collect())
}

/// The cells of an object in the order of the header.
fn in_order(
    row: Vec<(String, Cell<'static>)>,
    header: &[String],
    at: &dyn Fn() -> String,
    gathered: &mut Gathered,
) -> Vec<Cell<'static>> {
    if row.len() == header.len() && row.iter().zip(header).all(|((name, _), column)| name == column) {
        return row.into_iter().map(|(_, cell)| cell).collect();
    }
    let mut cells = vec![Cell::Missing; header.len()];
    for (name, cell) in row {
        if let Some(place) = header.iter().position(|column| *column == name) {
            cells[place] = cell;
        } else {
            let example = format!("{} {}", quote(&name), at());
            let problem = "lines have keys that the first line has not";
            let remedy = "write all keys in the first line, with `null` where there is no value";
            gathered.problems.note(Cause::Column, problem, example, remedy);
        }
    }
    cells
}

/// The ids in a file, one a line.
fn all_items(path: &Path, problems: &mut Problems) -> Option<BTreeSet<String>> {
    match fs::read_to_string(path) {
        Ok(text) => {
            let ids = text.lines().map(str::trim).filter(|id| !id.is_empty());
            Some(ids.map(str::to_owned).collect())
        }
        Err(error) => {
            unreadable(path, &error, problems);
            None
        }
    }
}
