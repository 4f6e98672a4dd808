//! People's verdicts on labels in doubt: the completed work list of an audit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use dataperf::dataset::frozen::Samples;
use dataperf::formats::delimited::text_of;
use dataperf::{csv_cell, offer, quote};

use crate::labels::labelled::Labelled;

/// The columns of a work list, in order.
pub const WORK_LIST_COLUMNS: [&str; 10] = [
    "set",
    "row",
    "id",
    "given",
    "suggested",
    "margin",
    "flagged_by",
    "likely",
    "sample",
    "verdict",
];
/// The column [`sample`](WORK_LIST_COLUMNS) of a label in doubt.
pub const IN_DOUBT: &str = "doubt";
/// The column [`sample`](WORK_LIST_COLUMNS) of a label that was drawn by chance from those that nobody doubts.
pub const CONTROL: &str = "control";
/// A larger file is no work list: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// A label that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The place of the test set among those of the data set.
    pub set: usize,
    /// The row, from 0.
    pub row: usize,
    /// The class that it has.
    pub given: usize,
    /// The class that it is to have.
    pub right: usize,
}

/// The content of a file of verdicts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// The labels that are to be changed, by set and row.
    pub edits: Vec<Edit>,
    /// Lines with a verdict, those that leave the label as it is included, of each test set by its name.
    pub reviewed: BTreeMap<String, usize>,
    /// The result of the lines for the share of wrong labels, of each test set by its name.
    pub samples: BTreeMap<String, Samples>,
}

/// A line with a verdict, as it was read.
struct Line<'a> {
    number: u64,
    set: usize,
    row: usize,
    verdict: &'a str,
}

impl Verdicts {
    /// Lines with a verdict in all test sets.
    pub fn n_reviewed(&self) -> usize {
        self.reviewed.values().sum()
    }

    /// Reads a file of verdicts on these test sets.
    ///
    /// # Errors
    /// Sentences, all at once: the file can't be read, lacks a column, or a line does not fit the data set.
    pub fn read(path: &Path, sets: &[Labelled]) -> Result<Self, Vec<String>> {
        let about = |why: String| vec![format!("`{}`: {why}", path.display())];
        let mut bytes = Vec::new();
        // not by its size, which a device or a pipe does not have
        let file = File::open(path).map_err(|error| about(error.to_string()))?;
        let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| about(error.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(about(format!(
                "it has more than {MAX_BYTES} bytes, the limit: is it a work list?"
            )));
        }
        Self::parse(&bytes, sets)
    }

    /// [`read`](Self::read) of a file's bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(bytes: &[u8], sets: &[Labelled]) -> Result<Self, Vec<String>> {
        let (dialect, text) = text_of(bytes).map_err(|reason| vec![reason.message])?;
        let mut reader = dialect.reader(text.as_bytes());
        let header = reader.headers().map_err(|error| vec![error.to_string()])?.clone();
        let place = |name: &str| header.iter().position(|column| column.trim() == name);
        let mut problems = header_problems(&header, sets.len() > 1);
        let mut lines: BTreeMap<(usize, usize), (u64, usize)> = BTreeMap::new();
        let mut samples = Sampled(vec![None; sets.len()]);
        let mut numbers = LineNumbers::index(&text);
        for record in reader.records() {
            if !header_is_usable(&header, sets.len() > 1) {
                break;
            }
            let record = record.map_err(|error| [problems.clone(), vec![error.to_string()]].concat())?;
            let number = record.position().map_or(0, |at| numbers.at(at.byte()));
            if record.len() != header.len() {
                problems.push(format!(
                    "line {number} has {} fields and the first line {}: fix it, or put quotation marks around commas",
                    record.len(),
                    header.len()
                ));
                continue;
            }
            let field = |name: &str| place(name).and_then(|place| record.get(place)).map(str::trim);
            let verdict = field("verdict").unwrap_or_default();
            let is_control = match is_control(number, &field) {
                Ok(is_control) => is_control,
                Err(why) => {
                    problems.push(why);
                    continue;
                }
            };
            if verdict.is_empty() {
                samples.undecided(is_control, set_of(&field, sets));
                continue;
            }
            match line(number, &field, verdict, sets) {
                Err(why) => problems.extend(why),
                Ok(line) => {
                    let set = &sets[line.set];
                    let Some(class) = class_of(&set.at.classes, line.verdict) else {
                        let known: Vec<&str> = set.at.classes.iter().map(String::as_str).collect();
                        problems.push(format!(
                            "line {number}: the verdict {} is not a class: {}",
                            quote(line.verdict),
                            offer(line.verdict, &known)
                        ));
                        continue;
                    };
                    samples.decided(is_control, line.set, class != set.labels[line.row]);
                    let before = lines.insert((line.set, line.row), (line.number, class));
                    if let Some((first, other)) = before {
                        let how = if other == class { "the same" } else { "another" };
                        problems.push(format!(
                            "line {number}: line {first} also has {how} verdict on this row: keep one of them"
                        ));
                    }
                }
            }
        }
        if problems.is_empty() && lines.is_empty() {
            problems.push(
                "no line has a verdict: write the name of the right class into the column `verdict`, that of the given class \
                 where the label is right"
                    .to_owned(),
            );
        }
        let edits = lines.iter().map(|(&(set, row), &(_, right))| Edit {
            set,
            row,
            given: sets[set].labels[row],
            right,
        });
        let edits: Vec<Edit> = edits.filter(|edit| edit.given != edit.right).collect();
        problems.extend(emptied(&edits, sets));
        if problems.is_empty() {
            let mut reviewed = BTreeMap::new();
            for (set, _) in lines.keys() {
                *reviewed.entry(sets[*set].at.name.clone()).or_default() += 1;
            }
            Ok(Self {
                edits,
                reviewed,
                samples: samples.by_set(sets),
            })
        } else {
            Err(problems)
        }
    }
}

/// The lines on which records begin. The reader's own count is one too low behind a line that ends in CR LF, as spreadsheets write.
struct LineNumbers<'a> {
    text: &'a str,
    counted: usize,
    number: u64,
}

impl<'a> LineNumbers<'a> {
    fn index(text: &'a str) -> Self {
        Self {
            text,
            counted: 0,
            number: 1,
        }
    }

    /// The line on which a record begins. `byte` is where the record begins, or where the line ends before it do. Records come in order.
    fn at(&mut self, byte: u64) -> u64 {
        let byte = usize::try_from(byte).unwrap_or(self.text.len());
        let rest = self.text.get(byte..).unwrap_or_default();
        let begin = self.text.len() - rest.trim_start_matches(['\r', '\n']).len();
        let passed = self.text.get(self.counted..begin).unwrap_or_default();
        self.number += passed.matches('\n').count() as u64;
        self.counted = self.counted.max(begin);
        self.number
    }
}

/// Whether lines can be read under this header.
fn header_is_usable(header: &csv::StringRecord, needs_set: bool) -> bool {
    header_problems(header, needs_set).is_empty()
}

fn header_problems(header: &csv::StringRecord, needs_set: bool) -> Vec<String> {
    let count = |name: &str| header.iter().filter(|column| column.trim() == name).count();
    let needed = [Some("row"), Some("verdict"), needs_set.then_some("set")];
    let mut problems: Vec<String> = needed
        .into_iter()
        .flatten()
        .filter(|name| count(name) == 0)
        .map(|name| {
            format!(
                "it has no column `{name}`: fill in the work list that `dataperf audit --work-list` writes"
            )
        })
        .collect();
    if !problems.is_empty() && header.len() == 1 && header.iter().any(|only| only.contains(';')) {
        problems.push("its fields are separated by semicolons: save it with commas".to_owned());
    }
    let twice = WORK_LIST_COLUMNS.iter().filter(|name| count(name) > 1);
    problems.extend(twice.map(|name| format!("it has the column `{name}` twice: keep one")));
    problems
}

/// The result of the lines so far for each test set; `None` if no line says whether it is in doubt
/// or in a control sample.
struct Sampled(Vec<Option<Samples>>);

impl Sampled {
    /// Counts a line without a verdict.
    fn undecided(&mut self, is_control: Option<bool>, set: Option<usize>) {
        if let (Some(false), Some(set)) = (is_control, set) {
            self.0[set].get_or_insert_default().doubts.n_items += 1;
        }
    }

    /// Counts a line with a verdict.
    fn decided(&mut self, is_control: Option<bool>, set: usize, is_wrong: bool) {
        let Some(is_control) = is_control else { return };
        let samples = self.0[set].get_or_insert_default();
        samples.doubts.n_items += usize::from(!is_control);
        let stratum = if is_control {
            &mut samples.others
        } else {
            &mut samples.doubts
        };
        stratum.n_decided += 1;
        stratum.n_found += usize::from(is_wrong);
    }

    fn by_set(self, sets: &[Labelled]) -> BTreeMap<String, Samples> {
        let with_rest = |(set, samples): (&Labelled, Option<Samples>)| {
            let mut samples = samples?;
            samples.others.n_items = set.labels.len().saturating_sub(samples.doubts.n_items);
            Some((set.at.name.clone(), samples))
        };
        sets.iter().zip(self.0).filter_map(with_rest).collect()
    }
}

/// Whether a line belongs to the control sample, or to a label in doubt; `None` if it does not say.
fn is_control<'a>(number: u64, field: &dyn Fn(&str) -> Option<&'a str>) -> Result<Option<bool>, String> {
    match field("sample").unwrap_or_default() {
        CONTROL => Ok(Some(true)),
        IN_DOUBT => Ok(Some(false)),
        "" => Ok(None),
        other => Err(format!(
            "line {number}: `sample` is {}, and has to be `{IN_DOUBT}` or `{CONTROL}`, as the audit wrote it",
            quote(other)
        )),
    }
}

/// The test set that a line is of.
fn set_of<'a>(field: &dyn Fn(&str) -> Option<&'a str>, sets: &[Labelled]) -> Option<usize> {
    let name = field("set").unwrap_or_default();
    let only = (sets.len() == 1 && name.is_empty()).then_some(0);
    only.or_else(|| {
        sets.iter()
            .position(|set| set.at.name == name || csv_cell(&set.at.name) == name)
    })
}

/// A line's set and row, if everything that the line says of them is true.
fn line<'a>(
    number: u64,
    field: &dyn Fn(&str) -> Option<&'a str>,
    verdict: &'a str,
    sets: &[Labelled],
) -> Result<Line<'a>, Vec<String>> {
    let Some(set) = set_of(field, sets) else {
        let name = field("set").unwrap_or_default();
        let known: Vec<&str> = sets.iter().map(|set| set.at.name.as_str()).collect();
        return Err(vec![format!(
            "line {number}: {} is not a test set: {}",
            quote(name),
            offer(name, &known)
        )]);
    };
    let of_set = &sets[set];
    let (text, n) = (field("row").unwrap_or_default(), of_set.labels.len());
    let row = text.parse::<usize>().ok().filter(|&row| row < n);
    let Some(row) = row else {
        return Err(vec![format!(
            "line {number}: the row {} is not a number from 0 to {} of the test set {}",
            quote(text),
            n.saturating_sub(1),
            quote(&of_set.at.name)
        )]);
    };
    let mut problems = Vec::new();
    let given = &of_set.at.classes[of_set.labels[row]];
    let id = of_set.ids.as_ref().map_or("", |ids| &ids[row]);
    for (column, own) in [("given", given.as_str()), ("id", id)] {
        if let Some(shown) =
            field(column).filter(|shown| *shown != own.trim() && *shown != csv_cell(own).trim())
        {
            problems.push(format!(
                "line {number}: the {column} of row {row} is {}, but the file has {}: it is the work list \
                    of another data set",
                quote(own),
                quote(shown)
            ));
        }
    }
    if problems.is_empty() {
        Ok(Line {
            number,
            set,
            row,
            verdict,
        })
    } else {
        Err(problems)
    }
}

fn class_of(classes: &[String], name: &str) -> Option<usize> {
    let exact = classes.iter().position(|class| class == name);
    let nearly = || {
        classes
            .iter()
            .position(|class| class.trim() == name || csv_cell(class) == name)
    };
    exact.or_else(nearly).or_else(|| {
        // pandas makes `3.0` of a class `3` in a column where some lines are empty
        let whole = name.strip_suffix(".0")?;
        classes.iter().position(|class| class == whole)
    })
}

/// Problems with classes that would lose their last item: what is computed for each class would have another meaning.
fn emptied(edits: &[Edit], sets: &[Labelled]) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        let mut labels = set.labels.clone();
        edits
            .iter()
            .filter(|edit| edit.set == number)
            .for_each(|edit| labels[edit.row] = edit.right);
        let (before, after) = (
            set.labels.iter().collect::<BTreeSet<_>>(),
            labels.iter().collect::<BTreeSet<_>>(),
        );
        for class in before.difference(&after) {
            problems.push(format!(
                "no item of the test set {} would be left in the class {}: keep one, or import a data set without the class",
                quote(&set.at.name),
                quote(&set.at.classes[**class])
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests;
