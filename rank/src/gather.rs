//! Gathers values of systems on items, whatever file they come from, and makes a table of them.

use std::collections::HashMap;

use dataperf::{list_names, quote};

use crate::cell::no_json_number;
use crate::options::{Missing, Options};
use crate::problems::{Cause, Problems};
use crate::table::{MAX_CELLS, MAX_SYSTEMS, Table};

/// The mark of a missing value.
const NONE: f64 = f64::NAN;
/// Names of columns that hold what follows from the others.
const SUMMARIES: [&str; 6] = ["mean", "average", "avg", "overall", "rank", "total"];
/// The share of the columns with values up to 1, or up to 100, from which one with larger values is odd.
const USUAL_SHARE: f64 = 0.75;
/// Columns from which on the scale of most of them says something about the others.
const MIN_COLUMNS: usize = 4;

/// Reading ends: a problem that is noted already makes more of it pointless.
#[derive(Debug)]
pub(crate) struct Stop;

/// Names in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: Vec<String>,
    places: HashMap<String, usize>,
    last: usize,
}

impl Names {
    /// The place of a name, if it has one.
    fn known(&mut self, name: &str) -> Option<usize> {
        // long tables have the same name again and again, or all names in turn, which saves a look into the map
        let is = |place: &usize| self.list.get(*place).is_some_and(|listed| listed == name);
        let guessed = [self.last, self.last + 1].into_iter().find(is);
        let place = guessed.or_else(|| self.places.get(name).copied())?;
        self.last = place;
        Some(place)
    }

    /// The place of a new name.
    fn add(&mut self, name: &str) -> usize {
        let place = self.list.len();
        self.list.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        self.last = place;
        place
    }
}

/// The data read so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    items: Names,
    systems: Names,
    /// `(n_systems, n_items)`; rows end where no value follows.
    values: Vec<Vec<f64>>,
    cluster_names: Names,
    clusters: Vec<Option<usize>>,
    weights: Vec<Option<f64>>,
    /// The content of each item, if its file has it.
    contents: Vec<Option<String>>,
    /// Whether a table's columns are tasks, which are checked like systems.
    has_tasks: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) problems: Problems,
}

fn slot<T: Clone>(items: &mut Vec<Option<T>>, place: usize) -> &mut Option<T> {
    if items.len() <= place {
        items.resize(place + 1, None);
    }
    &mut items[place]
}

impl Gathered {
    pub(crate) fn item(&mut self, name: &str) -> Result<usize, Stop> {
        if let Some(place) = self.items.known(name) {
            return Ok(place);
        }
        let place = self.items.add(name);
        self.check_size()?;
        Ok(place)
    }

    pub(crate) fn system(&mut self, name: &str) -> Result<usize, Stop> {
        if let Some(place) = self.systems.known(name) {
            return Ok(place);
        }
        let place = self.systems.add(name);
        self.values.push(Vec::new());
        self.check_size()?;
        Ok(place)
    }

    fn check_size(&mut self) -> Result<(), Stop> {
        let (n_items, n_systems) = (self.items.list.len(), self.systems.list.len());
        if n_items * n_systems <= MAX_CELLS && n_systems <= MAX_SYSTEMS {
            return Ok(());
        }
        let problem = format!(
            "there are more than {MAX_CELLS} values, items times systems, or more than {MAX_SYSTEMS} systems, \
             the most that are ranked at once"
        );
        let remedy = "rank some of the systems, or the means over groups of items; if the column has no ids of items, \
            name the right column with `--item`";
        self.problems.note(Cause::Size, problem, "", remedy);
        Err(Stop)
    }

    pub(crate) fn mark_tasks(&mut self) {
        self.has_tasks = true;
    }

    /// Notes an assumption, however many files it is made for.
    pub(crate) fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes a value; `at` is its place, for the message on a second one.
    pub(crate) fn set(&mut self, system: usize, item: usize, value: f64, at: impl Fn() -> String) {
        let row = &mut self.values[system];
        if row.len() <= item {
            row.resize(item + 1, NONE);
        }
        if row[item].is_nan() {
            row[item] = value;
        } else {
            let id = quote(&self.items.list[item]);
            self.duplicate(format!("{id} of {} {}", quote(&self.systems.list[system]), at()));
        }
    }

    pub(crate) fn duplicate(&mut self, example: String) {
        let remedy = "keep one of each: of repeated runs take the mean first, of two logs of one task the newer; if the \
            column has no ids of items, name the right one with `--item`";
        let problem = "ids are there more than once";
        self.problems.note(Cause::Duplicate, problem, example, remedy);
    }

    pub(crate) fn cluster(&mut self, item: usize, name: &str) {
        let place = self
            .cluster_names
            .known(name)
            .unwrap_or_else(|| self.cluster_names.add(name));
        let old = slot(&mut self.clusters, item).replace(place);
        if old.is_some_and(|old| old != place) {
            let (id, problem) = (quote(&self.items.list[item]), "items are in two clusters");
            self.problems
                .note(Cause::Value, problem, id, "give every item one cluster");
        }
    }

    pub(crate) fn weight(&mut self, item: usize, weight: f64) {
        let old = slot(&mut self.weights, item).replace(weight);
        let id = quote(&self.items.list[item]);
        if weight <= 0.0 {
            let example = format!("{id}: {weight}");
            self.problems.note(
                Cause::Value,
                "weights are not above 0",
                example,
                "leave these items out",
            );
        }
        #[allow(clippy::float_cmp, reason = "the same number is meant")]
        if old.is_some_and(|old| old != weight) {
            self.problems.note(
                Cause::Value,
                "items have two weights",
                id,
                "give every item one weight",
            );
        }
    }

    /// Notes what an item is made of: two systems that have different things under one id did not solve the same items.
    pub(crate) fn content(&mut self, item: usize, content: &str) {
        let known = slot(&mut self.contents, item);
        if known.as_deref().is_none_or(|known| known == content) {
            *known = Some(content.to_owned());
            return;
        }
        let problem =
            "logs have different content under the same id, so systems were tried on different items";
        let remedy = "take logs of one version of the task";
        let id = quote(&self.items.list[item]);
        self.problems.note(Cause::OtherItems, problem, id, remedy);
    }

    /// The table, if there is nothing wrong with it.
    pub(crate) fn table(mut self, options: &Options) -> Result<Table, Problems> {
        let n_items = self.items.list.len();
        for row in &mut self.values {
            row.resize(n_items, NONE);
        }
        self.clusters.resize(n_items, None);
        self.weights.resize(n_items, None);
        if !self.problems.is_unread() {
            self.settle_missing(options.missing);
            if !options.keeps_odd {
                self.check_odd();
            }
        }
        let mut order: Vec<usize> = (0..n_items).collect();
        order.sort_by(|&one, &other| self.items.list[one].cmp(&self.items.list[other]));
        let has_value = |item: &usize| self.values.first().is_some_and(|row| !row[*item].is_nan());
        if self.problems.is_empty() {
            order.retain(has_value); // what `settle_missing` left out has no value of any system
        }
        let clusters = complete(&self.clusters, &order).map(|clusters| renumbered(&clusters));
        let weights = complete(&self.weights, &order);
        for (has_some, is_complete, word) in [
            (
                self.clusters.iter().any(Option::is_some),
                clusters.is_some(),
                "cluster",
            ),
            (
                self.weights.iter().any(Option::is_some),
                weights.is_some(),
                "weight",
            ),
        ] {
            if has_some && !is_complete {
                let problem = format!("some items have a {word} and others none");
                let remedy = format!("fill in the column of each {word}, or leave it out with `--ignore`");
                self.problems.note(Cause::Value, problem, "", remedy);
            }
        }
        let has_too_few = self.systems.list.len() < 2 || order.is_empty();
        if has_too_few && self.problems.is_empty() {
            let problem = format!(
                "there is nothing to compare: {} items of {} systems",
                order.len(),
                self.systems.list.len()
            );
            let remedy =
                "give the results of at least two systems; `dataperf rank --help` says in which forms";
            self.problems.note(Cause::Few, problem, "", remedy);
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let pick = |row: Vec<f64>| order.iter().map(|&item| row[item]).collect();
        Ok(Table {
            items: order.iter().map(|&item| self.items.list[item].clone()).collect(),
            systems: self.systems.list,
            values: self.values.into_iter().map(pick).collect(),
            clusters,
            weights,
            notes: self.notes,
        })
    }

    /// Does with missing values what the options say.
    fn settle_missing(&mut self, missing: Missing) {
        let n_items = self.items.list.len();
        let is_whole_item = |item: &usize| self.values.iter().all(|row| !row[*item].is_nan());
        let whole: Vec<bool> = (0..n_items).map(|item| is_whole_item(&item)).collect();
        let n_whole = whole.iter().filter(|&&is_whole| is_whole).count();
        if n_whole == n_items {
            return;
        }
        let lacks = |row: &[f64]| row.iter().filter(|value| value.is_nan()).count();
        let n_whole_systems = self.values.iter().filter(|row| lacks(row) == 0).count();
        match missing {
            Missing::Refuse => self.refuse_missing(n_whole, n_whole_systems),
            Missing::DropItems => {
                let left = (0..n_items).filter(|&item| !whole[item]);
                let names = list_names(left.map(|item| &self.items.list[item]));
                self.notes.push(format!(
                    "left out {} of {n_items} items that lack a value of some system: {names}",
                    n_items - n_whole
                ));
                for row in &mut self.values {
                    let of_whole = row.iter_mut().zip(&whole).filter(|(_, is_whole)| !**is_whole);
                    of_whole.for_each(|(value, _)| *value = NONE);
                }
            }
            Missing::DropSystems => {
                let (mut names, mut values, mut left) = (Vec::new(), Vec::new(), Vec::new());
                for (name, row) in self.systems.list.drain(..).zip(self.values.drain(..)) {
                    if lacks(&row) == 0 {
                        names.push(name);
                        values.push(row);
                    } else {
                        left.push(name);
                    }
                }
                (self.systems.list, self.values) = (names, values);
                self.notes.push(format!(
                    "left out {} of {} systems that lack a value of some item: {}",
                    left.len(),
                    left.len() + self.systems.list.len(),
                    list_names(&left)
                ));
            }
            Missing::Zero => {
                let gaps = self.values.iter_mut().flatten().filter(|value| value.is_nan());
                let n = gaps.map(|value| *value = 0.0).count();
                self.notes.push(format!("{n} missing values count as 0"));
            }
        }
    }

    fn refuse_missing(&mut self, n_whole: usize, n_whole_systems: usize) {
        let n_items = self.items.list.len();
        let lacking =
            |row: &[f64]| -> Vec<usize> { (0..n_items).filter(|&item| row[item].is_nan()).collect() };
        if n_whole == 0 && n_whole_systems == 0 {
            let example = |place: usize| {
                let first = self.values[place].iter().position(|value| !value.is_nan());
                let id = first.map_or("nothing".to_owned(), |item| quote(&self.items.list[item]));
                format!("{id} of {}", quote(&self.systems.list[place]))
            };
            let problem = "no item has a value of every system, and no system one of every item: systems have different items";
            let remedy = "take results on the same items, with ids written the same way";
            for place in 0..self.systems.list.len() {
                let example = example(place);
                self.problems.note(Cause::OtherItems, problem, example, remedy);
            }
        }
        for place in 0..self.systems.list.len() {
            let lacking = lacking(&self.values[place]);
            if lacking.is_empty() {
                continue;
            }
            let first: Vec<String> = lacking
                .iter()
                .take(2)
                .map(|&item| quote(&self.items.list[item]))
                .collect();
            let more = if lacking.len() > first.len() { ", …" } else { "" };
            let example = format!(
                "{} lacks {} of {n_items}: {}{more}",
                quote(&self.systems.list[place]),
                lacking.len(),
                first.join(", ")
            );
            let remedy = format!(
                "complete the results; or `--missing drop-items` ranks by the {n_whole} items that all systems have, \
                 `--missing drop-systems` ranks the {n_whole_systems} systems that have all items, and `--missing zero` \
                 counts what is missing as 0"
            );
            let problem = "systems lack values of some items";
            self.problems.note(Cause::Missing, problem, example, remedy);
        }
    }

    /// Looks for columns that are likely neither systems nor tasks.
    fn check_odd(&mut self) {
        let has_value = |item: &usize| self.values.iter().any(|row| !row[*item].is_nan());
        let items: Vec<usize> = (0..self.items.list.len()).filter(has_value).collect();
        let there = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values.filter(|value| !value.is_nan()).collect()
        };
        let of_system = |(name, row): (&String, &Vec<f64>)| (name.clone(), there(&mut row.iter().copied()));
        let of_task = |&item: &usize| {
            let column = there(&mut self.values.iter().map(|row| row[item]));
            (self.items.list[item].clone(), column)
        };
        let of_systems: Vec<(String, Vec<f64>)> = self
            .systems
            .list
            .iter()
            .zip(&self.values)
            .map(of_system)
            .collect();
        let of_tasks: Vec<(String, Vec<f64>)> =
            items.iter().filter(|_| self.has_tasks).map(of_task).collect();
        let remedy = |noun: &str| {
            format!(
                "leave out names that are not a {noun} with `--ignore NAME`, or keep all with `--keep-odd`"
            )
        };
        #[allow(clippy::float_cmp, reason = "the same value is meant")]
        let is_same = |pair: &[f64]| pair[0] == pair[1];
        for (noun, columns) in [("system", of_systems), ("task", of_tasks)] {
            let largest: Vec<f64> = columns.iter().map(|(_, values)| largest(values)).collect();
            let limit = [1.0, 100.0].into_iter().find(|limit| {
                let n_within = largest.iter().filter(|value| *value <= limit).count();
                n_within as f64 >= USUAL_SHARE * columns.len() as f64
            });
            let limit = limit
                .filter(|_| columns.len() >= MIN_COLUMNS)
                .unwrap_or(f64::INFINITY);
            for ((name, values), largest) in columns.iter().zip(&largest) {
                let (is_constant, name_of) = (values.windows(2).all(is_same), quote(name));
                if is_summary(name) {
                    let sentence = format!("a {noun}'s name is that of a summary of the others");
                    self.problems.note(Cause::Odd, sentence, name_of, remedy(noun));
                } else if *largest > limit {
                    let sentence = format!(
                        "a {noun}'s values are on another scale than those of most {noun}s, up to {limit}"
                    );
                    let example = format!("{name_of}: up to {largest}");
                    self.problems.note(Cause::Odd, sentence, example, remedy(noun));
                } else if is_constant && values.len() > 1 {
                    let sentence = format!("a {noun}'s values are all the same");
                    let example = format!("{name_of}: {}", values[0]);
                    self.problems.note(Cause::Odd, sentence, example, remedy(noun));
                }
            }
        }
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| value.abs().max(largest))
}

fn is_summary(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let rest = SUMMARIES.iter().find_map(|word| name.strip_prefix(word));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(', '_']))
}

/// One value for each item, in this order; `None` unless each has one.
fn complete<T: Copy>(values: &[Option<T>], order: &[usize]) -> Option<Vec<T>> {
    order
        .iter()
        .map(|&item| values[item])
        .collect::<Option<Vec<T>>>()
        .filter(|values| !values.is_empty())
}

/// The clusters numbered in the order of the items, whatever the order of the rows was.
fn renumbered(clusters: &[usize]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let mut number = |cluster: &usize| {
        let next = numbers.len();
        *numbers.entry(*cluster).or_insert(next)
    };
    clusters.iter().map(&mut number).collect()
}

/// Notes that a line has a number which JSON does not have, if it has.
pub(crate) fn note_no_number(line: &[u8], at: &dyn Fn() -> String, gathered: &mut Gathered) -> bool {
    let found = no_json_number(line);
    if let Some((key, word)) = &found {
        let example = format!("{}: `{word}` {}", quote(key), at());
        let problem = "lines have numbers that JSON does not have";
        let remedy = "write a finite number instead, or leave the item out";
        gathered.problems.note(Cause::File, problem, example, remedy);
    }
    found.is_some()
}
