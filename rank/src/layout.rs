//! Which columns of a table hold what.

use std::collections::HashSet;

use dataperf::{offer, quote};

use crate::cell::Cell;
use crate::gather::{Gathered, Stop};
use crate::head::Head;
use crate::options::{Layout, Options};
use crate::problems::{Cause, Problems};

/// Usual names of columns, in small letters, the likelier first.
const ITEM: [&str; 12] = [
    "item",
    "item_id",
    "instance_id",
    "question_id",
    "example_id",
    "sample_id",
    "doc_id",
    "task_id",
    "id",
    "task",
    "task_name",
    "dataset",
];
const SYSTEM: [&str; 7] = [
    "system",
    "model",
    "model_name",
    "submission",
    "submitter",
    "agent",
    "method",
];
const VALUE: [&str; 10] = [
    "value",
    "score",
    "correct",
    "is_correct",
    "resolved",
    "passed",
    "result",
    "accuracy",
    "main_score",
    "pass@1",
];
const CLUSTER: &str = "cluster";
const WEIGHT: &str = "weight";
/// The beginnings of names that pandas gives to an index without a name, in CSV and in Parquet.
const INDEXES: [&str; 2] = ["Unnamed: 0", "__index_level_"];

/// The columns of one table, by their places.
#[derive(Debug)]
pub(crate) struct Columns {
    layout: Layout,
    /// `None` where items are the rows in their order.
    item: Option<usize>,
    system: usize,
    /// Of a long table the value; of others the systems, or the tasks, with their names.
    values: Vec<(usize, String)>,
    cluster: Option<usize>,
    weight: Option<usize>,
    /// The ids of the rows so far, where a row has an id of its own.
    seen: HashSet<String>,
    /// The index of the gathered systems or tasks.
    places: Vec<usize>,
    n_rows: usize,
}

/// The place of the column that an option names, or else of the first with one of the usual names.
fn find(
    header: &[String],
    option: Option<(&str, &String)>,
    usual: &[&str],
    problems: &mut Problems,
) -> Option<usize> {
    if let Some((flag, name)) = option {
        let position = header.iter().position(|column| column == name);
        if position.is_none() {
            let problem = format!("`{flag}` names the column {}, which does not exist", quote(name));
            problems.note(Cause::Column, problem, "", offer(name, header));
        }
        return position;
    }
    let is = |column: &String, name: &str| column.trim().to_lowercase() == name;
    usual
        .iter()
        .find_map(|name| header.iter().position(|column| is(column, name)))
}

/// Leaves out the column that pandas writes for an index without a name.
fn leave_out_index(header: &[String], head: &Head, values: &mut Vec<usize>, gathered: &mut Gathered) {
    let is_index = |place: usize| {
        let name = header[place].trim();
        let is_named_so = INDEXES.iter().any(|index| name.starts_with(index));
        (is_named_so || place == 0 && name.is_empty()) && head.is_index(place)
    };
    values.retain(|&place| {
        if is_index(place) {
            let column = match header[place].trim() {
                "" => "the first column, which has no name,".to_owned(),
                name => format!("the column {}", quote(name)),
            };
            gathered.note_once(format!(
                "{column} counts the rows as the index of pandas does, and is left out"
            ));
        }
        !is_index(place)
    });
}

/// The column of items' ids in a wide table where none has a usual name: the first column, unless it may be a system's values, or else
/// another whose cells can only be ids. `None` where the rows are the items.
fn find_ids(header: &[String], head: &Head, values: &[usize], gathered: &mut Gathered) -> Option<usize> {
    let first = *values.first()?;
    if head.0.is_empty() || head.has_texts(first) {
        return Some(first);
    }
    let has_ids = |place: &usize| {
        let others: Vec<usize> = values.iter().copied().filter(|other| other != place).collect();
        head.has_distinct_texts(*place) || head.has_number_ids(*place, &others)
    };
    // only a first column may have ids and no name
    let may_have_ids = |place: &usize| *place == first || !header[*place].trim().is_empty();
    let found = values.iter().copied().filter(may_have_ids).find(has_ids);
    let note = match found {
        Some(place) if place == first => return found,
        Some(place) => format!(
            "the items' ids are taken from the column {}; `--item` names another",
            quote(&header[place])
        ),
        None => {
            "no column has items' ids, so each row is an item by its number; `--item` names a column of ids"
                .to_owned()
        }
    };
    gathered.note_once(note);
    found
}

/// Notes ignored columns that do not exist, and names that appear twice.
fn check_header(header: &[String], options: &Options, problems: &mut Problems) {
    for name in options.ignored.iter().filter(|name| !header.contains(name)) {
        let problem = format!(
            "`--ignore` names the column {}, which does not exist",
            quote(name)
        );
        problems.note(Cause::Column, problem, "", offer(name, header));
    }
    for (place, name) in header.iter().enumerate() {
        if !name.trim().is_empty() && header[..place].contains(name) {
            let remedy = "rename or leave out one of them";
            problems.note(Cause::Column, "columns have the same name", quote(name), remedy);
        }
    }
}

fn check_names(header: &[String], values: &[usize], problems: &mut Problems) -> Result<(), Stop> {
    let nameless: Vec<usize> = values
        .iter()
        .copied()
        .filter(|place| header[*place].trim().is_empty())
        .collect();
    for place in &nameless {
        let example = format!("column {}", place + 1);
        let remedy = "give each a name in the first line, or remove it from the file";
        problems.note(Cause::Column, "columns have no name", example, remedy);
    }
    if nameless.is_empty() { Ok(()) } else { Err(Stop) }
}

impl Columns {
    /// Finds the columns of a table by its header and its first rows.
    ///
    /// # Errors
    /// [`Stop`] after noting what is wrong with the header.
    pub(crate) fn new(
        header: &[String],
        head: &Head,
        options: &Options,
        gathered: &mut Gathered,
    ) -> Result<Self, Stop> {
        let problems = &mut gathered.problems;
        let n_before = problems.n();
        let flagged = |flag, name: &'_ Option<String>| name.clone().map(|name| (flag, name));
        let mut place = |flag: &'static str, name: &Option<String>, usual: &[&str]| {
            let option = flagged(flag, name);
            find(
                header,
                option.as_ref().map(|(flag, name)| (*flag, name)),
                usual,
                problems,
            )
        };
        let item = place("--item", &options.item, &ITEM);
        let system = place("--system", &options.system, &SYSTEM);
        let value = place("--value", &options.value, &VALUE);
        let cluster = place("--cluster", &options.cluster, &[CLUSTER]);
        let weight = place("--weight", &options.weight, &[WEIGHT]);
        check_header(header, options, problems);
        // a column `model` is a system of that name where it has values
        let has_value = value.is_some();
        let names_systems = |place: &usize| {
            options.system.is_some()
                || head.0.is_empty()
                || head.has_texts(*place)
                || (has_value || item.is_none()) && head.may_name(*place)
        };
        let system = system.filter(names_systems);
        let is_long = options.value.is_some() || (item.is_some() && system.is_some() && has_value);
        let guessed = match (is_long, system) {
            (true, _) => Layout::Long,
            (false, Some(_)) => Layout::Systems,
            (false, None) => Layout::Wide,
        };
        let layout = options.layout.unwrap_or(guessed);
        let needed: &[(&str, &str, Option<usize>)] = match layout {
            Layout::Long => &[
                ("item", "--item", item),
                ("system", "--system", system),
                ("value", "--value", value),
            ],
            Layout::Systems => &[("system", "--system", system)],
            Layout::Wide => &[],
        };
        for (word, flag, _) in needed.iter().filter(|(.., place)| place.is_none()) {
            let problem = format!("no column is known to hold the {word}");
            let names: Vec<String> = header.iter().map(|name| quote(name)).collect();
            let remedy = format!("name it with `{flag}`, or choose another `--layout`");
            problems.note(Cause::Column, problem, names.join(", "), remedy);
        }
        if problems.n() > n_before {
            return Err(Stop);
        }
        let id = if layout == Layout::Systems { system } else { item };
        let mut values: Vec<usize> = match layout {
            Layout::Long => value.into_iter().collect(),
            Layout::Wide | Layout::Systems => (0..header.len())
                .filter(|place| ![id, cluster, weight].contains(&Some(*place)))
                .filter(|place| !options.ignored.contains(&header[*place]))
                .collect(),
        };
        let mut item = item;
        if layout != Layout::Long {
            leave_out_index(header, head, &mut values, gathered);
            if layout == Layout::Wide && item.is_none() {
                item = find_ids(header, head, &values, gathered);
                values.retain(|place| Some(*place) != item);
            }
            check_names(header, &values, &mut gathered.problems)?;
        }
        let system = system.unwrap_or(0);
        let values = values
            .into_iter()
            .map(|place| (place, header[place].trim().to_owned()))
            .collect();
        let mut columns = Self {
            layout,
            item,
            system,
            values,
            cluster: cluster.filter(|_| layout != Layout::Systems),
            weight: weight.filter(|_| layout != Layout::Systems),
            seen: HashSet::new(),
            places: Vec::new(),
            n_rows: 0,
        };
        for (_, name) in &columns.values {
            match layout {
                Layout::Wide => columns.places.push(gathered.system(name)?),
                Layout::Systems => columns.places.push(gathered.item(name)?),
                Layout::Long => {}
            }
        }
        if layout == Layout::Systems {
            gathered.mark_tasks();
        }
        Ok(columns)
    }

    /// Whether a column is read.
    pub(crate) fn reads(&self, place: usize) -> bool {
        let is_id = match self.layout {
            Layout::Wide => Some(place) == self.item,
            Layout::Systems => place == self.system,
            Layout::Long => Some(place) == self.item || place == self.system,
        };
        let is_other = self.cluster == Some(place) || self.weight == Some(place);
        is_id || is_other || self.values.iter().any(|(value, _)| *value == place)
    }

    /// Takes one row; `at` is its place.
    pub(crate) fn row(
        &mut self,
        cells: &[Cell<'_>],
        at: &dyn Fn() -> String,
        gathered: &mut Gathered,
    ) -> Result<(), Stop> {
        self.n_rows += 1;
        let name = |place: usize| cells[place].name();
        let of_item = || match self.item {
            Some(place) => name(place),
            None => Some(self.n_rows.to_string().into()),
        };
        let ids = match self.layout {
            Layout::Wide => [of_item(), None],
            Layout::Systems => [name(self.system), None],
            Layout::Long => [of_item(), name(self.system)],
        };
        let [Some(id), of_system] = &ids else {
            Self::no_id(at, gathered);
            return Ok(());
        };
        if self.layout != Layout::Long && !self.seen.insert(id.to_string()) {
            gathered.duplicate(format!("{} {}", quote(id), at()));
            return Ok(());
        }
        let (item, system) = match (self.layout, of_system) {
            (Layout::Wide, _) => (Some(gathered.item(id)?), None),
            (Layout::Systems, _) => (None, Some(gathered.system(id)?)),
            (Layout::Long, Some(of_system)) => (Some(gathered.item(id)?), Some(gathered.system(of_system)?)),
            (Layout::Long, None) => {
                Self::no_id(at, gathered);
                return Ok(());
            }
        };
        if let Some(item) = item {
            self.describe(item, cells, at, gathered);
        }
        for (number, (place, column)) in self.values.iter().enumerate() {
            match cells[*place].value() {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let item = item.unwrap_or_else(|| self.places[number]);
                    let system = system.unwrap_or_else(|| self.places[number]);
                    gathered.set(system, item, value, at);
                }
                Err(text) => {
                    let problem = format!("column {} has values that are not numbers", quote(column));
                    let remedy = format!(
                        "leave it out with `--ignore {column}`, or write numbers, or `true` and `false`"
                    );
                    gathered.problems.note(
                        Cause::Value,
                        problem,
                        format!("{} {}", quote(&text), at()),
                        remedy,
                    );
                }
            }
        }
        Ok(())
    }

    fn no_id(at: &dyn Fn() -> String, gathered: &mut Gathered) {
        let remedy = "give every row an id, or name the column that has them with `--item` or `--system`";
        gathered
            .problems
            .note(Cause::Value, "rows have no id", at(), remedy);
    }

    /// Takes an item's cluster and weight.
    fn describe(&self, item: usize, cells: &[Cell<'_>], at: &dyn Fn() -> String, gathered: &mut Gathered) {
        if let Some(name) = self.cluster.and_then(|place| cells[place].name()) {
            gathered.cluster(item, &name);
        }
        match self.weight.map(|place| cells[place].value()) {
            Some(Ok(Some(weight))) => gathered.weight(item, weight),
            Some(Err(text)) => {
                let problem = "weights are not numbers";
                let example = format!("{} {}", quote(&text), at());
                gathered
                    .problems
                    .note(Cause::Value, problem, example, "write numbers above 0");
            }
            Some(Ok(None)) | None => {}
        }
    }
}
