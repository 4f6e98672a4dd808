//! Opinions on things, whose sentiment follows from their parts.

use super::Chance;

/// The names of the ways to rewrite an opinion.
pub(in super::super) const REWRITES: [&str; 8] = [
    "another subject",
    "rare word",
    "negation",
    "denied opinion",
    "contrast",
    "another's opinion",
    "misspelling",
    "circumstances",
];

const SUBJECTS: [&str; 24] = [
    "film", "book", "meal", "hotel", "concert", "lecture", "garden", "novel", "soup", "train", "museum",
    "play", "song", "phone", "chair", "bakery", "beach", "course", "game", "story", "coffee", "jacket",
    "bridge", "show",
];
const COMMON: [[&str; 6]; 3] = [
    ["good", "great", "lovely", "wonderful", "excellent", "nice"],
    ["ordinary", "average", "usual", "standard", "normal", "typical"],
    ["bad", "awful", "terrible", "horrible", "poor", "boring"],
];
const RARE: [[&str; 6]; 3] = [
    [
        "superb",
        "splendid",
        "delightful",
        "exquisite",
        "marvellous",
        "charming",
    ],
    [
        "middling",
        "unremarkable",
        "passable",
        "commonplace",
        "tolerable",
        "mundane",
    ],
    ["dreadful", "abysmal", "dismal", "atrocious", "tedious", "shoddy"],
];
const DEGREES: [&str; 6] = ["", "really ", "very ", "quite ", "so ", "truly "];
const TIMES: [&str; 8] = [
    "",
    " today",
    " last week",
    " in the spring",
    " on Sunday",
    " with my family",
    " at noon",
    " this year",
];
const CIRCUMSTANCES: [[&str; 3]; 2] = [
    [
        " on a lovely sunny morning",
        " after a wonderful holiday",
        " with excellent weather outside",
    ],
    [
        " on a horrible rainy evening",
        " after a terrible day at work",
        " with awful weather outside",
    ],
];
const OTHERS: [&str; 4] = ["my neighbour", "the critic", "my sister", "everybody else"];
const LABELS: [&str; 3] = ["positive", "neutral", "negative"];
const NEUTRAL: usize = 1;

/// An opinion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Review {
    subject: &'static str,
    /// The place of the sentiment's word in [`LABELS`], before it is negated.
    polarity: usize,
    word: String,
    degree: &'static str,
    time: &'static str,
    is_negated: bool,
    is_denied: bool,
    before: String,
}

impl Review {
    /// `the film was really good today`
    pub(super) fn plain(chance: &mut Chance) -> Self {
        let polarity = chance.below(LABELS.len());
        Self {
            subject: chance.one(&SUBJECTS),
            polarity,
            word: chance.one(&COMMON[polarity]).to_owned(),
            degree: chance.one(&DEGREES),
            time: chance.one(&TIMES),
            is_negated: false,
            is_denied: false,
            before: String::new(),
        }
    }

    pub(super) fn rewritten(&self, rewrite: usize, chance: &mut Chance) -> Self {
        let mut made = self.clone();
        // a word with the opposite or a neutral meaning
        let against = match self.sentiment() {
            NEUTRAL => 2 * chance.below(2),
            other => LABELS.len() - 1 - other,
        };
        match rewrite {
            0 => {
                made.subject = chance.another(&SUBJECTS, self.subject);
                made.time = chance.one(&TIMES);
            }
            1 => made.word = String::from(chance.one(&RARE[self.polarity])),
            // only good or bad words are negated: what is not ordinary may be anything
            2 if self.polarity != NEUTRAL => made.is_negated = !self.is_negated,
            3 if self.polarity != NEUTRAL => made.is_denied = !self.is_denied,
            4 => {
                let (other, word) = (
                    chance.another(&SUBJECTS, self.subject),
                    chance.one(&COMMON[against]),
                );
                made.before = format!("although the {other} was {word}, ");
            }
            5 => {
                let (other, word) = (chance.one(&OTHERS), chance.one(&COMMON[against]));
                made.before = format!("{other} found it {word}, but to me ");
            }
            6 => made.word = chance.misspelt(&self.word),
            _ => made.time = chance.one(&CIRCUMSTANCES[usize::from(against == 2)]),
        }
        made
    }

    pub(super) fn text(&self) -> String {
        let denied = if self.is_denied {
            "I would never say that "
        } else {
            ""
        };
        let not = if self.is_negated { "not " } else { "" };
        format!(
            "{}{denied}the {} was {not}{}{}{}",
            self.before, self.subject, self.degree, self.word, self.time
        )
    }

    /// The place of the sentiment in [`LABELS`]: two negations cancel each other.
    fn sentiment(&self) -> usize {
        if self.is_negated == self.is_denied {
            self.polarity
        } else {
            LABELS.len() - 1 - self.polarity
        }
    }

    pub(super) fn truth(&self) -> &'static str {
        LABELS[self.sentiment()]
    }
}
