//! Exports a round: its examples as train, dev and test sets, without names of people.

mod datasheet;
#[cfg(feature = "import")]
pub(crate) mod files;
mod split;

use std::collections::BTreeMap;

use crate::common::SecretKey;
use serde::{Deserialize, Serialize};

use crate::text::ids::ExampleId;
use crate::text::judging::agreement::{Agreement, agreement};
use crate::text::judging::decision::Decision;
use crate::text::judging::standing::State;
use crate::text::lines::{Example, Judgement};
use crate::text::task::Task;
use crate::text::texts::answers::{Answer, Gold, Input};

pub use crate::common::json_lines;
pub use datasheet::{About, RulesOfExamples, datasheet};
pub use split::{Split, splits};

/// An example as the platform knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedExample {
    /// Its id.
    pub id: ExampleId,
    /// The annotator's pseudonym.
    pub annotator: String,
    /// The submission.
    pub example: Example,
    /// The text of its context as models and raters saw it, if it has one.
    pub context: Option<String>,
    /// Whether it repeated an earlier text when it was submitted.
    pub is_duplicate: bool,
    /// Whether it fooled the round's models when it was submitted.
    pub is_fooling: bool,
    /// Each model's answer.
    pub answers: BTreeMap<String, Answer>,
    /// Which of them were fooled.
    pub fooled: BTreeMap<String, bool>,
    /// The raters' names, each with what the rater says.
    pub verdicts: Vec<(String, Judgement)>,
    /// The decision, if there is one.
    pub decision: Option<Decision>,
}

impl JudgedExample {
    /// Its state in the count.
    pub fn state(&self) -> State {
        State::new(self.is_duplicate, self.is_fooling, self.decision.as_ref())
    }
}

/// One example of a round's data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The example's id.
    pub id: String,
    /// The round.
    pub round: String,
    /// The task.
    pub task: Task,
    /// The id of the context, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The context's text, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text.
    pub text: String,
    /// The right answer: `label` or `answer`.
    #[serde(flatten)]
    pub gold: Gold,
    /// The annotator's explanation; may be empty.
    #[serde(default)]
    pub why: String,
    /// The annotator's pseudonym.
    pub annotator: String,
    /// Whether it fooled the round's models.
    pub is_fooling: bool,
    /// Whether raters decided that the annotator is right; if not, it went to no rater.
    pub is_verified: bool,
    /// Which models were fooled.
    #[serde(default)]
    pub fooled: BTreeMap<String, bool>,
    /// Each model's answer.
    #[serde(default)]
    pub answers: BTreeMap<String, Answer>,
    /// The raters' verdicts, in the order of their pseudonyms.
    #[serde(default)]
    pub verdicts: Vec<VerdictRow>,
    /// The part of the data set that it is in.
    pub split: Split,
}

impl Row {
    /// The part that models see.
    pub fn input(&self) -> Input {
        Input {
            context: self.context.clone(),
            text: self.text.clone(),
        }
    }
}

/// One verdict on an example. Reasons of flags are not published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictRow {
    /// The rater's pseudonym.
    pub validator: String,
    /// `correct`, `incorrect` or `flagged`.
    pub verdict: String,
    /// The rater's answer, if given.
    #[serde(flatten)]
    pub instead: Option<Gold>,
}

/// How many examples of a task a round has, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All examples that were submitted.
    pub n_submitted: usize,
    /// Examples that repeated an earlier text: left out.
    pub n_duplicates: usize,
    /// Examples that fooled the models and wait for raters: left out.
    pub n_pending: usize,
    /// Examples whose authors are not right, or about which raters don't agree: left out.
    pub n_refused: usize,
    /// Texts that are no examples of the task: left out.
    pub n_flagged: usize,
    /// Examples that fooled nobody, of annotators whose examples are in the dev and test sets: left out.
    pub n_easy: usize,
}

/// A round's data set, in the order of the examples' ids, which says nothing about time or people.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    /// The round.
    pub round: String,
    /// The examples.
    pub rows: Vec<Row>,
    /// The results of all examples, by task.
    pub counts: BTreeMap<Task, Counts>,
    /// How far raters agree about all examples, by task.
    pub agreement: BTreeMap<Task, Agreement>,
}

impl Export {
    /// Makes a data set from a round's examples. `key` makes the pseudonyms. An annotator's
    /// examples are all in one part of the data set: in that of `earlier`, if an earlier round's
    /// data set has the pseudonym. The dev and test sets have verified examples that fooled the
    /// models. The train set also has examples that fooled nobody, if they went to no rater or are
    /// verified.
    pub fn build(
        mut judged: Vec<JudgedExample>,
        round: &str,
        key: &SecretKey,
        earlier: &BTreeMap<String, Split>,
    ) -> Self {
        judged.sort_by(|one, other| one.id.cmp(&other.id));
        let mut n_test: BTreeMap<String, usize> = BTreeMap::new();
        for example in &judged {
            let is_validated = example.state() == State::Validated;
            *n_test.entry(pseudonym(key, &example.annotator)).or_default() += usize::from(is_validated);
        }
        let split_of = splits(&n_test, earlier);
        let mut counts: BTreeMap<Task, Counts> = BTreeMap::new();
        let mut verdicts: BTreeMap<Task, Vec<Vec<Judgement>>> = BTreeMap::new();
        let mut rows = Vec::new();
        for example in &judged {
            let task = example.example.task;
            let message = example
                .verdicts
                .iter()
                .map(|(_, message)| message.clone())
                .collect();
            verdicts.entry(task).or_default().push(message);
            let annotator = pseudonym(key, &example.annotator);
            let split = split_of.get(&annotator).copied().unwrap_or(Split::Train);
            if counted(example, split, counts.entry(task).or_default()) {
                rows.push(row(example, round, annotator, split, key));
            }
        }
        Self {
            round: round.to_owned(),
            rows,
            counts,
            agreement: verdicts
                .into_iter()
                .map(|(task, message)| (task, agreement(&message)))
                .collect(),
        }
    }

    /// The rows of one part.
    pub fn part(&self, split: Split) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.split == split)
    }
}

fn pseudonym(key: &SecretKey, name: &str) -> String {
    key.pseudonym("annotator", name)
}

/// Counts an example, and returns whether it is part of the data set.
fn counted(example: &JudgedExample, split: Split, counts: &mut Counts) -> bool {
    counts.n_submitted += 1;
    let left_out = match (example.state(), &example.decision) {
        (State::Duplicate, _) => &mut counts.n_duplicates,
        (State::Pending, _) => &mut counts.n_pending,
        (State::Flagged, _) => &mut counts.n_flagged,
        (State::Refused, _) | (_, Some(Decision::Incorrect(_) | Decision::NoAgreement)) => {
            &mut counts.n_refused
        }
        (State::Validated, _) => return true,
        (State::NotFooling, _) if split == Split::Train => return true,
        (State::NotFooling, _) => &mut counts.n_easy,
    };
    *left_out += 1;
    false
}

fn row(judged: &JudgedExample, round: &str, annotator: String, split: Split, key: &SecretKey) -> Row {
    let example = &judged.example;
    let verdict = |(name, message): &(String, Judgement)| VerdictRow {
        validator: key.pseudonym("validator", name),
        verdict: message.word().to_owned(),
        instead: match message {
            Judgement::Incorrect(instead) => instead.clone(),
            _ => None,
        },
    };
    let mut verdicts: Vec<VerdictRow> = judged.verdicts.iter().map(verdict).collect();
    verdicts.sort_by(|one, other| one.validator.cmp(&other.validator));
    Row {
        id: judged.id.to_string(),
        round: round.to_owned(),
        task: example.task,
        context_id: example.context_id.clone(),
        context: judged.context.clone(),
        text: example.text.clone(),
        gold: example.gold.clone(),
        why: example.why.clone(),
        annotator,
        is_fooling: judged.is_fooling,
        is_verified: judged.decision == Some(Decision::Correct),
        fooled: judged.fooled.clone(),
        answers: judged.answers.clone(),
        verdicts,
        split,
    }
}
