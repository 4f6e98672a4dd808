//! Statements about an animal in a place, whose truth follows from the facts of the context.

use super::{Chance, Context};
use crate::text::task::Task;

/// The names of the ways to rewrite a statement.
pub(in super::super) const REWRITES: [&str; 7] = [
    "another statement",
    "another context",
    "negation",
    "denied statement",
    "assurance",
    "rare word",
    "misspelling",
];

const ANIMALS: [(&str, &str); 6] = [
    ("horse", "animal"),
    ("cow", "animal"),
    ("duck", "bird"),
    ("goose", "bird"),
    ("sparrow", "bird"),
    ("goat", "animal"),
];
const COLOURS: [&str; 4] = ["brown", "white", "black", "grey"];
const ACTIONS: [&str; 5] = ["sleeping", "eating", "standing", "resting", "waiting"];
const PLACES: [&str; 5] = ["barn", "garden", "field", "yard", "stable"];
/// Properties about which no context says anything.
const UNKNOWN: [&str; 8] = [
    "old",
    "hungry",
    "tame",
    "for sale",
    "afraid of dogs",
    "owned by a farmer",
    "three years old",
    "alone",
];
const ASSURANCES: [&str; 3] = ["it is true that ", "as far as I can see ", "without any doubt "];
const LABELS: [&str; 3] = ["entailment", "neutral", "contradiction"];

/// The facts of a context, by their places in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts([usize; 4]);

impl Facts {
    fn draw(chance: &mut Chance) -> Self {
        Self([ANIMALS.len(), COLOURS.len(), ACTIONS.len(), PLACES.len()].map(|n| chance.below(n)))
    }

    fn all() -> impl Iterator<Item = Self> {
        let sizes = [ANIMALS.len(), COLOURS.len(), ACTIONS.len(), PLACES.len()];
        (0..sizes.iter().product()).map(move |mut number: usize| {
            Self(sizes.map(|n| {
                let place = number % n;
                number /= n;
                place
            }))
        })
    }

    fn id(self) -> String {
        self.0.map(|place| place.to_string()).join("-")
    }

    fn text(self) -> String {
        let [animal, colour, action, place] = self.0;
        format!(
            "A {} {} is {} in the {}.",
            COLOURS[colour], ANIMALS[animal].0, ACTIONS[action], PLACES[place]
        )
    }
}

/// The contexts: one of each combination of facts.
pub(super) fn contexts() -> Vec<Context> {
    let context = |facts: Facts| Context {
        id: facts.id(),
        task: Task::Nli,
        text: facts.text(),
    };
    Facts::all().map(context).collect()
}

/// The subject of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Colour(usize),
    Action(usize),
    Place(usize),
    Unknown(usize),
}

/// A statement about a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Hypothesis {
    facts: Facts,
    about: About,
    is_negated: bool,
    is_denied: bool,
    assurance: &'static str,
    /// Whether the animal is called by its kind.
    is_general: bool,
    misspelt: Option<String>,
}

impl Hypothesis {
    /// A statement as annotators often write it: what contradicts is negated, what is unknown is not.
    pub(super) fn plain(chance: &mut Chance) -> Self {
        let facts = Facts::draw(chance);
        let [_, colour, action, place] = facts.0;
        let known = [About::Colour(colour), About::Action(action), About::Place(place)];
        let label = chance.below(LABELS.len());
        Self {
            facts,
            about: if label == 1 {
                About::Unknown(chance.below(UNKNOWN.len()))
            } else {
                chance.one(&known)
            },
            is_negated: label == 2,
            is_denied: false,
            assurance: "",
            is_general: chance.happens(0.5),
            misspelt: None,
        }
    }

    pub(super) fn rewritten(&self, rewrite: usize, chance: &mut Chance) -> Self {
        let mut made = self.clone();
        match rewrite {
            0 => {
                made.misspelt = None;
                made.about = match chance.below(4) {
                    0 => About::Colour(chance.below(COLOURS.len())),
                    1 => About::Action(chance.below(ACTIONS.len())),
                    2 => About::Place(chance.below(PLACES.len())),
                    _ => About::Unknown(chance.below(UNKNOWN.len())),
                };
            }
            1 => {
                made.misspelt = None;
                made.facts = Facts::draw(chance);
            }
            2 => made.is_negated = !self.is_negated,
            3 => made.is_denied = !self.is_denied,
            4 => made.assurance = chance.one(&ASSURANCES),
            5 => made.is_general = !self.is_general,
            _ => made.misspelt = Some(chance.misspelt(self.plain_text())),
        }
        made
    }

    /// The animal's activity.
    fn plain_text(&self) -> &'static str {
        match self.about {
            About::Colour(colour) => COLOURS[colour],
            About::Action(action) => ACTIONS[action],
            About::Place(place) => PLACES[place],
            About::Unknown(unknown) => UNKNOWN[unknown],
        }
    }

    pub(super) fn text(&self) -> String {
        let (animal, kind) = ANIMALS[self.facts.0[0]];
        let name = if self.is_general { kind } else { animal };
        let denied = if self.is_denied { "it is wrong that " } else { "" };
        let not = if self.is_negated { "not " } else { "" };
        let place = if matches!(self.about, About::Place(_)) {
            "in the "
        } else {
            ""
        };
        let content = self.misspelt.as_deref().unwrap_or(self.plain_text());
        format!("{}{denied}the {name} is {not}{place}{content}", self.assurance)
    }

    pub(super) fn context_id(&self) -> String {
        self.facts.id()
    }

    pub(super) fn truth(&self) -> &'static str {
        let [_, colour, action, place] = self.facts.0;
        let is_so = match self.about {
            About::Colour(value) => value == colour,
            // an animal that sleeps may rest, and one that waits may stand: only exclusive
            // statements are false
            About::Action(value) => match (ACTIONS[value], ACTIONS[action]) {
                (value, is) if value == is => true,
                ("sleeping" | "resting", "eating") | ("eating", "sleeping" | "resting") => false,
                _ => return LABELS[1],
            },
            About::Place(value) => match (PLACES[value], PLACES[place]) {
                (value, is) if value == is => true,
                // a barn may have a yard, and a stable may be a barn
                ("field", "barn" | "stable") | ("barn" | "stable", "field") => false,
                _ => return LABELS[1],
            },
            About::Unknown(_) => return LABELS[1],
        };
        if is_so == (self.is_negated == self.is_denied) {
            LABELS[0]
        } else {
            LABELS[2]
        }
    }
}
