//! Which columns of a table hold what.

use std::collections::HashSet;

use dataperf::{offer, quote};

use crate::cell::Cell;
use crate::gather::{Gathered, Stop};
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

/// The columns of one table, by their places.
#[derive(Debug)]
pub(crate) struct Columns {
    layout: Layout,
    item: usize,
    system: usize,
    /// Of a long table the value; of others the systems, or the tasks, with their names.
    values: Vec<(usize, String)>,
    cluster: Option<usize>,
    weight: Option<usize>,
    /// The ids of the rows so far, where a row has an id of its own.
    seen: HashSet<String>,
    /// The index of the gathered systems or tasks.
    places: Vec<usize>,
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

impl Columns {
    /// Finds the columns of a table by its header.
    ///
    /// # Errors
    /// [`Stop`] after noting what is wrong with the header.
    pub(crate) fn new(header: &[String], options: &Options, gathered: &mut Gathered) -> Result<Self, Stop> {
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
        for name in options.ignored.iter().filter(|name| !header.contains(name)) {
            let problem = format!(
                "`--ignore` names the column {}, which does not exist",
                quote(name)
            );
            problems.note(Cause::Column, problem, "", offer(name, header));
        }
        for (place, name) in header.iter().enumerate() {
            if header[..place].contains(name) {
                let problem = "columns have the same name";
                problems.note(
                    Cause::Column,
                    problem,
                    quote(name),
                    "rename or leave out one of them",
                );
            }
        }
        let is_long = options.value.is_some() || (item.is_some() && system.is_some() && value.is_some());
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
        let (item, system) = (item.unwrap_or(0), system.unwrap_or(0));
        let id = if layout == Layout::Systems { system } else { item };
        let named = header.iter().enumerate().filter(|(place, name)| match layout {
            Layout::Long => Some(*place) == value,
            Layout::Wide | Layout::Systems => {
                *place != id
                    && Some(*place) != cluster
                    && Some(*place) != weight
                    && !options.ignored.contains(name)
            }
        });
        let values = named
            .map(|(place, name)| (place, name.trim().to_owned()))
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
            Layout::Wide => place == self.item,
            Layout::Systems => place == self.system,
            Layout::Long => place == self.item || place == self.system,
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
        let name = |place: usize| cells[place].name();
        let ids = match self.layout {
            Layout::Wide => [name(self.item), None],
            Layout::Systems => [name(self.system), None],
            Layout::Long => [name(self.item), name(self.system)],
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
