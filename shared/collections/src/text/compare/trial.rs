//! The inputs for a competing model: the test sets of all rounds, in three forms: unchanged, with
//! typographical errors, and with other people. They come in one order that does not reveal the
//! form.

use std::collections::{BTreeMap, BTreeSet};

use dataperf::formats::json::Json;
use dataperf::{Reasons, Rejection, pointer};
use dataperf_numerics::metrics::ItemWeights;
use dataperf_numerics::text::murmur3;
use serde::{Deserialize, Serialize};

use super::Measured;
use super::outcome::{Judged, Outcome, Share};
use super::perturb::{exchanged_input, misspelt_input, with_others};
use crate::text::export::Row;
use crate::text::task::Task;
use crate::text::texts::answers::{Gold, Input, Span, is_wrong};

/// An example of a round's test set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialItem {
    /// The round.
    pub round: String,
    /// The task.
    pub task: Task,
    /// The part that a model sees.
    pub input: Input,
    /// The right answer.
    pub gold: Gold,
    /// The pseudonym of the annotator who wrote it.
    pub annotator: String,
}

impl TrialItem {
    /// The item of an exported example, in the round that is called `round` here.
    pub fn of_row(round: &str, row: Row) -> Self {
        Self {
            round: round.to_owned(),
            task: row.task,
            input: row.input(),
            gold: row.gold,
            annotator: row.annotator,
        }
    }
}

/// One input for a model, as a line of its file. It reveals neither changes nor the right answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedLine {
    /// Its number among all, from 0.
    pub id: String,
    /// The task.
    pub task: Task,
    /// The context's text, if there is a context, and the text.
    #[serde(flatten)]
    pub input: Input,
}

/// An example with the numbers of its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// The round.
    pub round: String,
    /// The task.
    pub task: Task,
    /// The right answer.
    pub gold: Gold,
    /// The example as it is.
    pub plain: usize,
    /// The input with typographical errors, where a word is long enough for one.
    pub misspelt: Option<usize>,
    /// The input with other people, if there are people.
    pub exchanged: Option<usize>,
    /// The number of the annotator who wrote it, in the order of the pseudonyms of all rounds.
    pub annotator: usize,
}

/// The examples of all rounds and all inputs made from them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    items: Vec<Numbered>,
    requests: Vec<AskedLine>,
}

/// Why a model's answers can't be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// Its output has another form.
    #[error(
        "it is not JSON of the form {{\"answers\": {{ID: {{\"label\": \"...\"}} or {{\"start\": 0, \
            \"text\": \"...\"}}}}}}: {0}"
    )]
    Form(String),
    /// An answer is not possible in its task.
    #[error("the answer to input {id}, of `{task}`, is {actual}: expected {wanted}")]
    Answer {
        /// The input.
        id: String,
        /// Its task.
        task: Task,
        /// The actual value.
        actual: String,
        /// The expected value.
        wanted: String,
    },
    /// There are too few answers.
    #[error("{n_missing} of {n} inputs have no answer, the first is {first}: answer each one")]
    Missing {
        /// Inputs without an answer.
        n_missing: usize,
        /// All inputs.
        n: usize,
        /// The first without one.
        first: String,
    },
    /// There is an answer to an id that no input has.
    #[error("{} is not the id of an input: the ids are \"0\" to \"{last}\"", dataperf::quote(.id))]
    UnknownId {
        /// The id that the answer is for.
        id: String,
        /// The last id that there is.
        last: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Artifact {
    answers: BTreeMap<String, AnswerLine>,
}

/// An answer as a model writes it: `label`, or `start` and `text`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerLine {
    /// One of the task's labels.
    pub label: Option<String>,
    /// Unicode characters of the context before the words that answer a question.
    pub start: Option<usize>,
    /// These words; empty if the context has no answer.
    pub text: Option<String>,
}

/// Refuses two answers to one input, of which a map would keep the last.
fn check_keys(artifact: &[u8]) -> Result<(), TrialError> {
    let mut reasons = Reasons::default();
    if let Ok(Json::Object(members)) = Json::parse(artifact) {
        for (key, value) in members {
            value.into_members(&pointer("", &key), &mut reasons);
        }
    }
    let form = |rejection: Rejection| {
        let first = rejection.reasons().first();
        TrialError::Form(
            first.map_or_else(String::new, |reason| format!("{}: {}", reason.at, reason.message)),
        )
    };
    reasons.into_verdict(()).map_err(form)
}

/// A model's run on a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRun {
    /// The model's name.
    pub name: String,
    /// The engine's counts.
    pub measured: Measured,
    /// Its answers, judged by [`Trial::judged`].
    pub judged: Vec<Judged>,
}

impl Trial {
    /// The trial of these examples. The texts decide the order of the inputs.
    pub fn new(items: Vec<TrialItem>) -> Self {
        let names: BTreeSet<&str> = items.iter().map(|item| item.annotator.as_str()).collect();
        let numbers = names
            .iter()
            .zip(0..)
            .map(|(name, number)| ((*name).to_owned(), number));
        let annotators: BTreeMap<String, usize> = numbers.collect();
        let mut inputs: Vec<(Task, Input)> = Vec::new();
        let mut add = |task, input: Option<Input>| {
            input.map(|input| {
                inputs.push((task, input));
                inputs.len() - 1
            })
        };
        let mut numbered = Vec::with_capacity(items.len());
        for item in items {
            let misspelt = add(item.task, misspelt_input(&item.input));
            let exchanged = add(item.task, exchanged_input(&item.input));
            if let Some(plain) = add(item.task, Some(item.input)) {
                numbered.push(Numbered {
                    round: item.round,
                    task: item.task,
                    gold: item.gold,
                    plain,
                    misspelt,
                    exchanged,
                    annotator: annotators.get(&item.annotator).copied().unwrap_or_default(),
                });
            }
        }
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        let hash = |&nth: &usize| {
            let (task, input) = &inputs[nth];
            let context = input.context.as_deref().unwrap_or_default();
            (
                murmur3(format!("{task}\n{context}\n{}", input.text).as_bytes()),
                nth,
            )
        };
        order.sort_by_key(hash);
        let mut number_of = vec![0; inputs.len()];
        for (number, &nth) in order.iter().enumerate() {
            number_of[nth] = number;
        }
        for item in &mut numbered {
            item.plain = number_of[item.plain];
            item.misspelt = item.misspelt.map(|nth| number_of[nth]);
            item.exchanged = item.exchanged.map(|nth| number_of[nth]);
        }
        let request = order.iter().enumerate().map(|(number, &nth)| AskedLine {
            id: number.to_string(),
            task: inputs[nth].0,
            input: inputs[nth].1.clone(),
        });
        Self {
            requests: request.collect(),
            items: numbered,
        }
    }

    /// The trial of examples whose inputs have numbers already, and of the inputs under these
    /// numbers.
    ///
    /// # Errors
    /// A message about the first example that lacks inputs, or whose inputs belong to different
    /// tasks.
    pub fn of_numbered(items: Vec<Numbered>, request: Vec<AskedLine>) -> Result<Self, String> {
        for (nth, item) in items.iter().enumerate() {
            let numbers = [Some(item.plain), item.misspelt, item.exchanged];
            let is_asked = |number: usize| request.get(number).is_some_and(|line| line.task == item.task);
            if let Some(number) = numbers.into_iter().flatten().find(|&number| !is_asked(number)) {
                let (round, task) = (&item.round, item.task);
                return Err(format!(
                    "the example {nth} of all, of the round `{round}`, refers to the input {number}, which is none of `{task}`"
                ));
            }
        }
        Ok(Self {
            items,
            requests: request,
        })
    }

    /// The examples, in the order in which they are judged.
    pub fn items(&self) -> &[Numbered] {
        &self.items
    }

    /// The inputs, by number.
    pub fn lines(&self) -> &[AskedLine] {
        &self.requests
    }

    /// Reads a model's answers, one for each input, in their order.
    ///
    /// # Errors
    /// [`TrialError`] of the first thing that is wrong.
    pub fn answers(&self, artifact: &[u8]) -> Result<Vec<Gold>, TrialError> {
        check_keys(artifact)?;
        let artifact: Artifact =
            serde_json::from_slice(artifact).map_err(|error| TrialError::Form(error.to_string()))?;
        let n = self.requests.len();
        let number = |id: &String| {
            id.parse::<usize>()
                .ok()
                .filter(|nth| nth.to_string() == *id && *nth < n)
        };
        let mut answers = vec![None; n];
        for (id, line) in artifact.answers {
            let nth = number(&id).ok_or_else(|| TrialError::UnknownId {
                id: id.chars().take(40).collect(),
                last: n.saturating_sub(1),
            })?;
            answers[nth] = Some(self.requests[nth].answer(line)?);
        }
        let missing = || answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
        if let Some((first, _)) = missing().next() {
            let (n_missing, first) = (missing().count(), first.to_string());
            return Err(TrialError::Missing { n_missing, n, first });
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Judges a model's answers, one for each input: one judgement for each example, with everything that scores follow from.
    ///
    /// # Panics
    /// If there is not one answer for each input.
    pub fn judged(&self, answers: &[Gold]) -> Vec<Judged> {
        assert_eq!(answers.len(), self.requests.len(), "one answer for each input");
        let of_item = |item: &Numbered| {
            let verdicts = &answers[item.plain];
            let of_others = match verdicts {
                Gold::Label(_) => verdicts.clone(),
                Gold::Span(span) => Gold::Span(Span {
                    start: span.start,
                    text: with_others(&span.text),
                }),
            };
            Judged {
                is_right: !is_wrong(item.task, &item.gold, verdicts),
                is_robust: item.misspelt.map(|nth| verdicts.says_the_same(&answers[nth])),
                is_fair: item.exchanged.map(|nth| of_others.says_the_same(&answers[nth])),
            }
        };
        self.items.iter().map(of_item).collect()
    }

    /// How a model did whose answers were judged like this.
    ///
    /// # Panics
    /// If there is not one judgement for each example.
    pub fn outcome(&self, judged: &[Judged]) -> Outcome {
        self.outcome_of(judged, ItemWeights::Ones)
    }

    /// As [`outcome`](Self::outcome), with each example repeated by its weight.
    ///
    /// # Panics
    /// If there is not one judgement and one weight for each example.
    pub fn outcome_of(&self, judged: &[Judged], weights: ItemWeights<'_>) -> Outcome {
        assert_eq!(judged.len(), self.items.len(), "one judgement for each example");
        let mut outcome = Outcome::default();
        for (nth, (item, judged)) in self.items.iter().zip(judged).enumerate() {
            let n = weights.at(nth) as usize;
            let count = |share: &mut Share| share.count(judged.is_right, n);
            match outcome.rounds.get_mut(&item.round) {
                Some(round) => count(round),
                None => count(outcome.rounds.entry(item.round.clone()).or_default()),
            }
            outcome
                .tasks
                .entry(item.task)
                .or_default()
                .count(judged.is_right, n);
            for (share, stays) in [
                (&mut outcome.robust, judged.is_robust),
                (&mut outcome.fair, judged.is_fair),
            ] {
                if let Some(stays) = stays {
                    share.count(stays, n);
                }
            }
        }
        outcome
    }
}

impl AskedLine {
    /// Reads what a model's answer to this input says.
    ///
    /// # Errors
    /// [`TrialError::Answer`] when the task has no such answer.
    pub fn answer(&self, line: AnswerLine) -> Result<Gold, TrialError> {
        let refused = |actual: String, wanted: String| TrialError::Answer {
            id: self.id.clone(),
            task: self.task,
            actual,
            wanted,
        };
        match (line, self.task.has_spans()) {
            (
                AnswerLine {
                    label: Some(label),
                    start: None,
                    text: None,
                },
                false,
            ) => {
                if self.task.labels().contains(&label.as_str()) {
                    return Ok(Gold::Label(label));
                }
                let label: String = label.chars().take(40).collect();
                let known = self.task.labels().join("`, `");
                Err(refused(dataperf::quote(&label), format!("one of `{known}`")))
            }
            (
                AnswerLine {
                    label: None,
                    start: Some(start),
                    text: Some(text),
                },
                true,
            ) => {
                let span = Span { start, text };
                let context = self.input.context.as_deref().unwrap_or_default();
                if span.text.is_empty() || span.is_in(context) {
                    return Ok(Gold::Span(span));
                }
                let actual = "a text that does not match the context at `start`".to_owned();
                Err(refused(
                    actual,
                    "words of the context, with the number of characters before them".into(),
                ))
            }
            (_, true) => Err(refused(
                "no span".into(),
                "{\"start\": 0, \"text\": \"...\"}".into(),
            )),
            (_, false) => Err(refused("no label".into(), "{\"label\": \"...\"}".into())),
        }
    }
}

#[cfg(test)]
mod tests;
