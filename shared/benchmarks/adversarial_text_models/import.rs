//! Imports exported rounds of Adversarial Text: the inputs that programs are asked, and the right answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::quote;
use dataperf_collections::text::Gold;
use dataperf_collections::text::compare::{AskedLine, Numbered, Rates, Trial, TrialItem};
use dataperf_collections::text::export::{Row, Split, json_lines};
use dataperf_datasets::labels::labelled::LabelledAt;
use dataperf_datasets::tables::lines::read_text;
use dataperf_datasets::{DatasetWriter, Import, ImportError, KitTable, Planned, Progress, Values};
use serde::Deserialize;
use serde_json::json;

use super::{
    AdversarialTextModels, INPUTS_FILE, ITEM_NUMBERS, ITEMS, MAX_INPUTS, NONE, Parameters, practice_file,
    round_file,
};

/// The name of the document that declares a contest.
const DOCUMENT: &str = "models.yaml";
/// The lowest rates of robustness and of fairness: with them each of the two brings at most as many points as the range of scores
/// allows for.
const LEAST_RATE: f64 = 5.0;
/// The most characters of a title.
const MAX_TITLE_CHARS: usize = 120;
/// The most wrong lines of one file that are listed; further ones are left out.
const MAX_PROBLEMS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    #[serde(default = "test_set")]
    part: Split,
    #[serde(default)]
    rates: Rates,
    /// The rounds by name, each with the directory that `dataperf dynamic export` wrote.
    rounds: BTreeMap<String, PathBuf>,
}

fn test_set() -> Split {
    Split::Test
}

impl Import for AdversarialTextModels {
    const HAS_LABELS: bool = false;
    const LAYOUT: &'static str = "a directory with `models.yaml`: `title`, `rounds`, which has for the name of each round the directory that \
        `dataperf dynamic export` made of it, and if need be `part`, `test` or `dev`, and `rates`, what is worth a point: `fuel`, `memory`, \
        `robustness`, `fairness`";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("kit/starter.py");

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let document = read_document(from)?;
        let mut problems = wrong(&document);
        let (mut items, mut ids) = (Vec::new(), BTreeSet::new());
        progress.begin("rounds", document.rounds.len() as u64);
        let mut read = BTreeMap::new();
        for (round, directory) in &document.rounds {
            if let Some(other) = read.insert(directory, round) {
                problems.push(format!(
                    "the rounds {} and {} name the same directory, and an example may be in only one \
                        round: leave one of them out",
                    quote(other),
                    quote(round)
                ));
                continue;
            }
            let path = from
                .join(directory)
                .join(format!("{}.jsonl", document.part.as_str()));
            let mut file = ExportFile {
                round,
                path: &path,
                part: document.part,
                ids: &mut ids,
                collected_in: None,
            };
            items.extend(file.examples(&mut problems));
            progress.advance(1);
        }
        let trial = Trial::new(items);
        let n_inputs = trial.lines().len();
        if n_inputs > MAX_INPUTS {
            problems.push(format!(
                "the rounds have {n_inputs} inputs together, and the limit is {MAX_INPUTS}: leave rounds out"
            ));
        }
        let rounds: Vec<String> = document.rounds.into_keys().collect();
        let mut tables = Vec::new();
        for round in &rounds {
            let of_round = trial.items().iter().filter(|item| item.round == *round);
            match of_round.map(numbers).collect::<Result<Vec<_>, _>>() {
                Ok(rows) => {
                    if document.part == Split::Dev {
                        tables.push((practice_file(round), rows.clone()));
                    }
                    tables.push((round_file(round), rows));
                }
                Err(why) => problems.push(format!("the round {}: {why}", quote(round))),
            }
        }
        if !problems.is_empty() {
            let from = from.join(DOCUMENT);
            return Err(ImportError::Refused { from, problems });
        }
        let failed = |error: serde_json::Error| ImportError::refused(from, error.to_string());
        let lines: Vec<&AskedLine> = trial.lines().iter().collect();
        writer.bytes(INPUTS_FILE, &json_lines(&lines).map_err(failed)?)?;
        for (path, rows) in tables {
            let planned = Planned {
                name: ITEMS,
                dtype: Dtype::U32,
                shape: vec![rows.len(), ITEM_NUMBERS],
            };
            writer.tensors(&path, &[planned], |file| {
                let mut numbers = rows.iter().flatten();
                numbers.try_for_each(|number| file.write(&number.to_le_bytes()))
            })?;
        }
        let parameters = Parameters {
            title: document.title,
            rounds,
            n_inputs,
            rates: document.rates,
        };
        Ok(json!(parameters))
    }

    /// There are none: the right answers belong to texts, and audits compare numbers.
    fn labelled(_manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        Ok(Vec::new())
    }

    fn tables(directory: &Path, _manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let damaged = |why: String| FrozenError::damaged(INPUTS_FILE, why);
        let text =
            fs::read_to_string(directory.join(INPUTS_FILE)).map_err(|error| damaged(error.to_string()))?;
        let lines = text.lines().map(serde_json::from_str::<AskedLine>);
        let lines: Vec<AskedLine> = lines
            .collect::<Result<_, _>>()
            .map_err(|error| damaged(error.to_string()))?;
        let words = |get: fn(&AskedLine) -> String| Values::Text(lines.iter().map(get).collect());
        let contexts = lines.iter().map(|line| line.input.context.clone());
        Ok(vec![KitTable {
            name: "inputs".to_owned(),
            columns: vec![
                ("id".to_owned(), words(|line| line.id.clone())),
                ("task".to_owned(), words(|line| line.task.to_string())),
                ("context".to_owned(), Values::MaybeText(contexts.collect())),
                ("text".to_owned(), words(|line| line.input.text.clone())),
            ],
            rows: None,
        }])
    }
}

fn read_document(from: &Path) -> Result<Document, ImportError> {
    let path = from.join(DOCUMENT);
    if !path.is_file() {
        let expected = AdversarialTextModels::LAYOUT;
        return Err(ImportError::refused(
            from,
            format!("it has no `{DOCUMENT}`; expected {expected}"),
        ));
    }
    let text = read_text(&path).map_err(|why| ImportError::refused(&path, why))?;
    let refused = |error: serde_saphyr::Error| {
        let why = error.to_string().replace('\n', " ");
        ImportError::refused(&path, format!("it is not a contest document: {why}"))
    };
    serde_saphyr::from_str(&text).map_err(refused)
}

/// The problems of the document itself.
fn wrong(document: &Document) -> Vec<String> {
    let mut problems = Vec::new();
    let is_line = !document.title.trim().is_empty() && !document.title.contains(char::is_control);
    if !is_line || document.title.chars().count() > MAX_TITLE_CHARS {
        problems.push(format!(
            "`title` has to be one line of 1 to {MAX_TITLE_CHARS} characters: it is the board's heading"
        ));
    }
    if document.part == Split::Train {
        problems.push(
            "`part` is `train`, which programs may learn from: use `test`, or `dev` for a public set".into(),
        );
    }
    if let Err(error) = document.rates.check() {
        problems.push(error.to_string());
    }
    for (name, rate) in [
        ("robustness", document.rates.robustness),
        ("fairness", document.rates.fairness),
    ] {
        if rate < LEAST_RATE {
            problems.push(format!(
                "the rate `{name}` is {rate}, the least is {LEAST_RATE}: with less, {name} could bring \
                    more than 20 points. Raise the rate"
            ));
        }
    }
    if document.rounds.is_empty() {
        problems.push("`rounds` is empty: name the directory of a round".into());
    }
    for round in document.rounds.keys().filter(|round| !is_name(round)) {
        let message = "a round's name has 1 to 40 lower-case letters, digits and hyphens, because a file has this name: \
            choose another";
        problems.push(format!("{} is not a valid name: {message}", quote(round)));
    }
    problems
}

fn is_name(round: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=40).contains(&round.len()) && round.chars().all(is_letter)
}

/// A file of exported examples.
struct ExportFile<'a> {
    round: &'a str,
    path: &'a Path,
    part: Split,
    /// The ids of the examples read so far, from this file and from others.
    ids: &'a mut BTreeSet<String>,
    /// The round that the first of the file's examples names: that of the collection, which the document may call otherwise.
    collected_in: Option<String>,
}

impl ExportFile<'_> {
    /// The examples of the file; problems are noted.
    fn examples(&mut self, problems: &mut Vec<String>) -> Vec<TrialItem> {
        let Self { round, path, .. } = *self;
        let shown = path.display();
        let text = match read_text(path) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!(
                "the round {} has no readable `{shown}`: {error}. Export it with `dataperf dynamic export`",
                quote(round)
            ));
                return Vec::new();
            }
        };
        let (mut items, mut n_wrong) = (Vec::new(), 0);
        let lines = text.lines().enumerate();
        for (nth, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Row>(line)
                .map_err(|error| error.to_string())
                .and_then(|row| self.usable(row))
            {
                Ok(row) => items.push(TrialItem::of_row(round, row)),
                Err(why) if n_wrong < MAX_PROBLEMS => {
                    n_wrong += 1;
                    problems.push(format!("`{shown}`, line {}: {why}", nth + 1));
                }
                Err(_) => break,
            }
        }
        if items.is_empty() && n_wrong == 0 {
            problems.push(format!(
                "`{shown}` has no examples: leave the round {} out",
                quote(round)
            ));
        }
        items
    }

    /// Checks a row: it is of this file's part and round, was found right by people, has a text, the context that its task needs, an answer that is
    /// possible in its task, and an id that no other row has.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn usable(&mut self, row: Row) -> Result<Row, String> {
        let mut wrong = Vec::new();
        let context = row.context.as_deref().unwrap_or_default();
        if row.split != self.part {
            wrong.push(format!(
                "it is of the part `{}`: this file is of `{}`",
                row.split.as_str(),
                self.part.as_str()
            ));
        }
        let collected_in = self.collected_in.get_or_insert_with(|| row.round.clone());
        if row.round != *collected_in {
            wrong.push(format!(
                "it is of the round {}, and the first example of {}: export each round into a directory of its own",
                quote(&row.round),
                quote(collected_in)
            ));
        }
        if !row.is_verified {
            wrong.push(
                "no rater confirmed its answer (`is_verified` is false): leave the example out".to_owned(),
            );
        }
        if row.text.trim().is_empty() {
            wrong.push("it has no text".to_owned());
        }
        if row.task.always_needs_context() && context.trim().is_empty() {
            wrong.push(format!("it has no context, and `{}` needs one", row.task));
        }
        let is_answer = match &row.gold {
            Gold::Label(label) => row.task.labels().contains(&label.as_str()),
            Gold::Span(span) => row.task.has_spans() && span.is_in(context),
        };
        if !is_answer {
            wrong.push(format!(
                "{} is not an answer to a text of `{}`",
                quote(row.gold.as_str()),
                row.task
            ));
        }
        if !self.ids.insert(row.id.clone()) {
            wrong.push(format!(
                "the example {} appears twice, here or in another round: keep one",
                quote(&row.id)
            ));
        }
        if wrong.is_empty() {
            Ok(row)
        } else {
            Err(wrong.join("; "))
        }
    }
}

/// The numbers of an example as [`ITEMS`] stores them.
fn numbers(item: &Numbered) -> Result<[u32; ITEM_NUMBERS], String> {
    let number = |n: usize| u32::try_from(n).map_err(|_| format!("{n} is too large a number"));
    let some = |n: Option<usize>| n.map_or(Ok(NONE), number);
    let (label, start, n_chars) = match &item.gold {
        Gold::Label(label) => {
            let place = item.task.labels().iter().position(|known| known == label);
            (place.map_or(Ok(NONE), number)?, NONE, NONE)
        }
        Gold::Span(span) => (NONE, number(span.start)?, number(span.text.chars().count())?),
    };
    Ok([
        number(item.plain)?,
        some(item.misspelt)?,
        some(item.exchanged)?,
        label,
        start,
        n_chars,
        number(item.annotator)?,
    ])
}
