//! The document, `task.yaml`: read to its end, with everything that is wrong with it noted.

mod scoring;

use std::collections::BTreeSet;

use crate::own_data::{About, MAX_CLASSES, ScoreMetric, Scoring};
use dataperf::{SubmitterName, offer};

use super::problems::Problems;
use super::source::{Files, Source};
use super::yaml::{At, Key, Node, Value};

/// The document's name.
pub(super) const FILE: &str = "task.yaml";
/// The version of the document's form.
const SCHEMA: f64 = 1.0;
pub(super) const MAX_TITLE_CHARS: usize = 120;
const MAX_DESCRIPTION_CHARS: usize = 20_000;
/// The most decimals with which scores can be shown.
const MAX_DIGITS: f64 = 9.0;
/// The keys that the documents of all tasks may have.
pub(super) const COMMON_KEYS: &[&str] = &[
    "schema",
    "task",
    "title",
    "description",
    "picture",
    "unit",
    "digits",
    "direction",
    "leaderboards",
    "classes",
    "eval",
    "public_eval",
    "model",
    "metric",
    "seeds",
    "allow_duplicates",
];

/// The parts that the document of every task on rows has.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) about: About,
    /// The picture's file as the document names it, and where it does.
    pub(super) picture: Option<(String, At)>,
    pub(super) scoring: Scoring,
    pub(super) eval: Source,
    pub(super) public_eval: Option<Source>,
    pub(super) allow_duplicates: bool,
}

/// The parts that every task's document has, whatever its examples are.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) about: About,
    /// The picture's file as the document names it, and where it does.
    pub(super) picture: Option<(String, At)>,
    pub(super) classes: Vec<String>,
    pub(super) metric: ScoreMetric,
    pub(super) allow_duplicates: bool,
}

/// Reads values from the document and notes what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) problems: &'a mut Problems,
}

/// The members of a mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members<'n> {
    pub(super) at: At,
    list: &'n [(Key, Node)],
}

impl<'n> Members<'n> {
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        let member = self.list.iter().find(|(key, _)| key.name == name);
        member
            .map(|(_, node)| node)
            .filter(|node| node.value != Value::Null)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'n str, &'n Node)> + use<'n> {
        self.list.iter().map(|(key, node)| (key.name.as_str(), node))
    }
}

impl Reader<'_> {
    pub(super) fn wrong(&mut self, at: At, why: impl std::fmt::Display) {
        self.problems.add(format!("`{FILE}` {at}: {why}"));
    }

    fn wrong_kind(&mut self, node: &Node, name: &str, wanted: &str) {
        self.wrong(
            node.at,
            format!("`{name}` has to be {wanted}, and it is {}", node.kind()),
        );
    }

    /// The members of a mapping with any keys.
    pub(super) fn members<'n>(&mut self, node: &'n Node, name: &str) -> Option<Members<'n>> {
        let Value::Map(list) = &node.value else {
            self.wrong_kind(node, name, "keys with values");
            return None;
        };
        let mut seen = BTreeSet::new();
        for (key, _) in list {
            if !seen.insert(&key.name) {
                self.wrong(key.at, format!("`{}` appears twice: keep one", key.name));
            }
        }
        Some(Members { at: node.at, list })
    }

    /// The members of a mapping; keys that are not `known` are noted.
    pub(super) fn object<'n>(&mut self, node: &'n Node, name: &str, known: &[&str]) -> Option<Members<'n>> {
        let members = self.members(node, name)?;
        for (key, _) in members
            .list
            .iter()
            .filter(|(key, _)| !known.contains(&key.name.as_str()))
        {
            self.wrong(
                key.at,
                format!("`{}` is not a key here: {}", key.name, offer(&key.name, known)),
            );
        }
        Some(members)
    }

    pub(super) fn required<'n>(&mut self, members: Members<'n>, name: &str) -> Option<&'n Node> {
        let value = members.get(name);
        if value.is_none() {
            self.wrong(members.at, format!("`{name}` is missing"));
        }
        value
    }

    /// A text; for a number or a truth value, the text that it is written as.
    pub(super) fn text(&mut self, node: &Node, name: &str, max_chars: usize) -> Option<String> {
        let text = match &node.value {
            Value::Text(text) | Value::Number(_, text) | Value::Bool(_, text) => text.clone(),
            _ => {
                self.wrong_kind(node, name, "a text");
                return None;
            }
        };
        let n_chars = text.chars().count();
        if n_chars == 0 || n_chars > max_chars {
            self.wrong(
                node.at,
                format!("`{name}` has {n_chars} characters: give it 1 to {max_chars}"),
            );
            return None;
        }
        let is_long = max_chars == MAX_DESCRIPTION_CHARS;
        if let Some(hidden) = text
            .chars()
            .find(|&c| is_hidden(c) && !(is_long && "\n\t".contains(c)))
        {
            let code = u32::from(hidden);
            let message = format!(
                "`{name}` has the character U+{code:04X}, which makes text look different: remove it"
            );
            self.wrong(node.at, message);
            return None;
        }
        Some(text)
    }

    pub(super) fn number(
        &mut self,
        node: &Node,
        name: &str,
        allowed: &str,
        is_allowed: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let Value::Number(number, text) = &node.value else {
            self.wrong_kind(node, name, &format!("a number, {allowed}"));
            return None;
        };
        if !is_allowed(*number) {
            self.wrong(node.at, format!("`{name}` is {text}, and has to be {allowed}"));
            return None;
        }
        Some(*number)
    }

    /// A whole number within bounds.
    pub(super) fn whole(&mut self, node: &Node, name: &str, least: f64, most: f64) -> Option<f64> {
        let allowed = format!("a whole number from {least} to {most}");
        self.number(node, name, &allowed, |number| {
            number.fract() == 0.0 && (least..=most).contains(&number)
        })
    }

    pub(super) fn bool(&mut self, node: &Node, name: &str) -> Option<bool> {
        if let Value::Bool(bool, _) = node.value {
            return Some(bool);
        }
        self.wrong_kind(node, name, "`true` or `false`");
        None
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, name: &str) -> Option<&'n [Node]> {
        if let Value::List(list) = &node.value {
            return Some(list);
        }
        self.wrong_kind(node, name, "a list");
        None
    }

    /// One of the given words.
    pub(super) fn choice<'c>(&mut self, node: &Node, name: &str, choices: &[&'c str]) -> Option<&'c str> {
        let text = self.text(node, name, MAX_TITLE_CHARS)?;
        let choice = choices.iter().find(|choice| **choice == text).copied();
        if choice.is_none() {
            self.wrong(
                node.at,
                format!("`{text}` is not a `{name}`: {}", offer(&text, choices)),
            );
        }
        choice
    }

    /// `{features: FILE, examples: FILE}`, or one table.
    pub(super) fn source(&mut self, node: &Node, name: &str) -> Option<Source> {
        let files = match &node.value {
            Value::Text(table) => Files::Table(table.clone()),
            Value::Map(_) => {
                let members = self.object(node, name, &["features", "examples"])?;
                let (features, examples) = (
                    self.required(members, "features"),
                    self.required(members, "examples"),
                );
                Files::Pair {
                    features: self.text(features?, "features", MAX_DESCRIPTION_CHARS)?,
                    examples: self.text(examples?, "examples", MAX_DESCRIPTION_CHARS)?,
                }
            }
            _ => {
                self.wrong_kind(
                    node,
                    name,
                    "`{features: FILE, examples: FILE}` or the name of one table",
                );
                return None;
            }
        };
        Some(Source { at: node.at, files })
    }

    /// Reads the parts that every task's document has. `higher_is_better` is the direction of the task's scores.
    pub(super) fn parts(
        &mut self,
        members: Members<'_>,
        task: &str,
        higher_is_better: bool,
    ) -> Option<Parts> {
        self.head(members, task, higher_is_better);
        let about = self.about(members);
        let classes = self
            .required(members, "classes")
            .and_then(|node| self.classes(node));
        let metric = self
            .required(members, "metric")
            .and_then(|node| self.metric(node, classes.as_deref()));
        let allow_duplicates = members
            .get("allow_duplicates")
            .and_then(|node| self.bool(node, "allow_duplicates"));
        let picture = members
            .get("picture")
            .and_then(|node| Some((self.text(node, "picture", MAX_TITLE_CHARS)?, node.at)));
        Some(Parts {
            about: about?,
            picture,
            classes: classes?,
            metric: metric?,
            allow_duplicates: allow_duplicates.unwrap_or(false),
        })
    }

    /// Reads the same parts, and a model and test sets of rows.
    pub(super) fn common(
        &mut self,
        members: Members<'_>,
        task: &str,
        higher_is_better: bool,
    ) -> Option<Common> {
        let parts = self.parts(members, task, higher_is_better);
        let n_classes = parts.as_ref().map(|parts| parts.classes.len());
        let model = self.learner(members, n_classes);
        let seeds = self.seeds(members, model.as_ref());
        let eval = self
            .required(members, "eval")
            .and_then(|node| self.source(node, "eval"));
        let public_eval = members
            .get("public_eval")
            .map(|node| self.source(node, "public_eval"));
        let Parts {
            about,
            picture,
            classes,
            metric,
            allow_duplicates,
        } = parts?;
        Some(Common {
            about,
            picture,
            scoring: Scoring {
                classes,
                model: model?,
                metric,
                seeds: seeds?,
            },
            eval: eval?,
            public_eval: public_eval.flatten(),
            allow_duplicates,
        })
    }

    fn head(&mut self, members: Members<'_>, task: &str, higher_is_better: bool) {
        if let Some(node) = self.required(members, "schema") {
            self.number(
                node,
                "schema",
                "1, the form's version that this program knows",
                |number| number == SCHEMA,
            );
        }
        if let Some(node) = self.required(members, "task") {
            let is_other = |text: &String| text != task;
            if let Some(other) = self.text(node, "task", MAX_TITLE_CHARS).filter(is_other) {
                self.wrong(
                    node.at,
                    format!(
                        "the document is of the task `{other}`, and the command names `{task}`: name one \
                         task in both"
                    ),
                );
            }
        }
        if let Some(node) = members.get("direction") {
            let own = if higher_is_better { "higher" } else { "lower" };
            let chosen = self.choice(node, "direction", &["higher", "lower"]);
            if chosen.is_some_and(|chosen| chosen != own) {
                self.wrong(
                    node.at,
                    format!("in `{task}` the {own} score is better: leave `direction` out"),
                );
            }
        }
    }

    fn about(&mut self, members: Members<'_>) -> Option<About> {
        let title = self
            .required(members, "title")
            .and_then(|node| self.text(node, "title", MAX_TITLE_CHARS));
        let mut optional = |name: &str, max_chars| {
            members
                .get(name)
                .and_then(|node| self.text(node, name, max_chars))
        };
        let description = optional("description", MAX_DESCRIPTION_CHARS);
        let unit = optional("unit", MAX_TITLE_CHARS);
        let digits = members
            .get("digits")
            .and_then(|node| self.whole(node, "digits", 0.0, MAX_DIGITS));
        Some(About {
            title: title?,
            description,
            picture: None,
            unit,
            digits: digits.map(|digits| digits as u8),
            columns: Vec::new(),
        })
    }

    fn classes(&mut self, node: &Node) -> Option<Vec<String>> {
        let list = self.list(node, "classes")?;
        let mut classes = Vec::new();
        for item in list {
            let class = self.text(item, "classes", MAX_TITLE_CHARS)?;
            if classes.contains(&class) {
                self.wrong(item.at, format!("the class `{class}` appears twice: keep one"));
            }
            classes.push(class);
        }
        if !(2..=MAX_CLASSES).contains(&classes.len()) {
            self.wrong(
                node.at,
                format!("there are {} classes: name 2 to {MAX_CLASSES}", classes.len()),
            );
            return None;
        }
        Some(classes)
    }

    /// The name and description of each board, with its other members.
    pub(super) fn boards<'n>(
        &mut self,
        members: Members<'n>,
        keys: &[&str],
    ) -> Vec<(String, Option<String>, Members<'n>)> {
        let list = self.required(members, "leaderboards");
        let Some((node, list)) = list.and_then(|node| Some((node, self.list(node, "leaderboards")?))) else {
            return Vec::new();
        };
        if list.is_empty() {
            self.wrong(node.at, "`leaderboards` is empty: name at least one");
        }
        let mut seen = BTreeSet::new();
        let mut boards = Vec::new();
        for item in list {
            let Some(board) = self.object(item, "leaderboards", keys) else {
                continue;
            };
            let about = board.get("about").and_then(|node| self.text(node, "about", 1000));
            let Some(name) = self
                .required(board, "name")
                .and_then(|node| self.text(node, "name", MAX_TITLE_CHARS))
            else {
                continue;
            };
            // keys of uploads have leaderboards and submitters side by side, so the names of both follow the same rules
            if name.parse::<SubmitterName>().is_err() {
                self.wrong(item.at, format!("`{name}` can't be a leaderboard's name: use at most 64 lower-case letters and digits, with single `-`, `_` or `.` between them"));
            }
            if !seen.insert(name.clone()) {
                self.wrong(
                    item.at,
                    format!("the leaderboard `{name}` appears twice: rename one"),
                );
            }
            boards.push((name, about, board));
        }
        boards
    }
}

/// Whether a terminal obeys a character instead of showing it, or the character changes the direction of text.
fn is_hidden(c: char) -> bool {
    let turns = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    c.is_control() || turns
}
