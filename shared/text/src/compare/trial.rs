//! What a model that competes is asked: the test sets of all rounds, once as they are, once with typographical errors and once with other
//! people, in one order that says nothing about which is which.

use std::collections::BTreeMap;

use dataperf_numerics::text::murmur3;
use serde::{Deserialize, Serialize};

use super::Figures;
use super::perturb::{exchanged_input, misspelt_input, with_others};
use crate::answers::{Gold, Input, Span, is_wrong};
use crate::task::Task;

/// An example of a round's test set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialItem {
    /// The round.
    pub round: String,
    /// The task.
    pub task: Task,
    /// What a model sees.
    pub input: Input,
    /// What is right.
    pub gold: Gold,
}

/// One input that a model is asked, as a line of its file: nothing says whether it was changed, or what is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedLine {
    /// Its number among all, from 0.
    pub id: String,
    /// The task.
    pub task: Task,
    /// The context's text, where there is a context, and the text.
    #[serde(flatten)]
    pub input: Input,
}

/// An example with the numbers of its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbered {
    round: String,
    task: Task,
    gold: Gold,
    plain: usize,
    misspelt: Option<usize>,
    exchanged: Option<usize>,
}

/// The examples of all rounds and everything that is asked about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    items: Vec<Numbered>,
    asked: Vec<AskedLine>,
}

/// What the engine has counted of a program's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Units of fuel of the whole run.
    pub fuel: u64,
    /// Bytes of the program's memory at the end of the run, which never shrinks.
    pub memory_bytes: u64,
}

/// A share of examples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Those of which it is so.
    pub n: usize,
    /// All of them.
    pub of: usize,
}

impl Share {
    fn count(&mut self, is_so: bool) {
        self.n += usize::from(is_so);
        self.of += 1;
    }

    /// In points, 0 to 100; 100 where there are none.
    pub fn points(self) -> f64 {
        if self.of == 0 {
            100.0
        } else {
            100.0 * self.n as f64 / self.of as f64
        }
    }
}

/// How a model did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Right answers of each round.
    pub rounds: BTreeMap<String, Share>,
    /// Right answers of each task.
    pub tasks: BTreeMap<Task, Share>,
    /// Answers that stay when the text has typographical errors.
    pub robust: Share,
    /// Answers that stay when other people are in the text.
    pub fair: Share,
}

/// Why a model's answers can't be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// What it has written is of another form.
    #[error(
        "it is no JSON of the form {{\"answers\": {{ID: {{\"label\": \"...\"}} or {{\"start\": 0, \"text\": \"...\"}}}}}}: {0}"
    )]
    Form(String),
    /// An answer is none that the task has.
    #[error("the answer to input {id}, of `{task}`, is {found} and has to be {wanted}")]
    Answer {
        /// The input.
        id: String,
        /// Its task.
        task: Task,
        /// What is there instead.
        found: String,
        /// What there has to be.
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
    /// There is an answer to nothing.
    #[error("{} is no id of an input: the ids are \"0\" to \"{last}\"", dataperf::quote(.id))]
    UnknownId {
        /// What it is called.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine {
    label: Option<String>,
    start: Option<usize>,
    text: Option<String>,
}

impl Trial {
    /// Of these examples. The order of what is asked follows from the texts.
    pub fn new(items: Vec<TrialItem>) -> Self {
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
        let asked = order.iter().enumerate().map(|(number, &nth)| AskedLine {
            id: number.to_string(),
            task: inputs[nth].0,
            input: inputs[nth].1.clone(),
        });
        Self {
            asked: asked.collect(),
            items: numbered,
        }
    }

    /// What is asked, by number.
    pub fn asked(&self) -> &[AskedLine] {
        &self.asked
    }

    /// Reads a model's answers, one for each input, in their order.
    ///
    /// # Errors
    /// [`TrialError`] of the first thing that is wrong.
    pub fn answers(&self, artifact: &[u8]) -> Result<Vec<Gold>, TrialError> {
        let artifact: Artifact =
            serde_json::from_slice(artifact).map_err(|error| TrialError::Form(error.to_string()))?;
        let n = self.asked.len();
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
            answers[nth] = Some(self.asked[nth].gold(line)?);
        }
        let missing = || answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
        if let Some((first, _)) = missing().next() {
            let (n_missing, first) = (missing().count(), first.to_string());
            return Err(TrialError::Missing { n_missing, n, first });
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// How a model did that gave these answers, one for each input.
    ///
    /// # Panics
    /// If there is not one answer for each input.
    pub fn outcome(&self, answers: &[Gold]) -> Outcome {
        assert_eq!(answers.len(), self.asked.len(), "one answer for each input");
        let mut outcome = Outcome {
            rounds: BTreeMap::new(),
            tasks: BTreeMap::new(),
            robust: Share::default(),
            fair: Share::default(),
        };
        for item in &self.items {
            let said = &answers[item.plain];
            let is_right = !is_wrong(item.task, &item.gold, said);
            outcome
                .rounds
                .entry(item.round.clone())
                .or_default()
                .count(is_right);
            outcome.tasks.entry(item.task).or_default().count(is_right);
            if let Some(nth) = item.misspelt {
                outcome.robust.count(said.says_the_same(&answers[nth]));
            }
            if let Some(nth) = item.exchanged {
                let expected = match said {
                    Gold::Label(_) => said.clone(),
                    Gold::Span(span) => Gold::Span(Span {
                        start: span.start,
                        text: with_others(&span.text),
                    }),
                };
                outcome.fair.count(expected.says_the_same(&answers[nth]));
            }
        }
        outcome
    }
}

impl AskedLine {
    fn gold(&self, line: AnswerLine) -> Result<Gold, TrialError> {
        let refused = |found: String, wanted: String| TrialError::Answer {
            id: self.id.clone(),
            task: self.task,
            found,
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
                Err(refused(dataperf::quote(&label), self.task.labels().join(", ")))
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
                let found = "a text that the context does not have there".to_owned();
                Err(refused(
                    found,
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

impl Outcome {
    /// The figures of a model: the mean of the rounds' shares of right answers, and what its run took for each input.
    pub fn figures(&self, measured: Measured, n_inputs: usize) -> Figures {
        let shares: Vec<f64> = self.rounds.values().map(|share| share.points()).collect();
        Figures {
            performance: dataperf_numerics::metrics::mean(&shares),
            fuel: measured.fuel as f64 / 1e6 / n_inputs.max(1) as f64,
            memory: measured.memory_bytes as f64 / f64::from(1 << 20),
            robustness: self.robust.points(),
            fairness: self.fair.points(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp, reason = "helpers of tests")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn items() -> Vec<TrialItem> {
        let item = |round: &str, task, context: Option<&str>, text: &str, gold| TrialItem {
            round: round.into(),
            task,
            input: Input {
                context: context.map(str::to_owned),
                text: text.into(),
            },
            gold,
        };
        let label = |label: &str| Gold::Label(label.into());
        let context = "Yesterday John met Mary in Lima.";
        vec![
            item(
                "r1",
                Task::Nli,
                Some(context),
                "John met somebody.",
                label("entailment"),
            ),
            item("r1", Task::Sentiment, None, "So so, ok.", label("neutral")),
            item(
                "r2",
                Task::Qa,
                Some(context),
                "Who was met in Lima?",
                Gold::Span(Span::find(context, "Mary").unwrap()),
            ),
            item(
                "r2",
                Task::HateSpeech,
                None,
                "All women are stupid.",
                label("hateful"),
            ),
        ]
    }

    /// The answers of a model, by what it says of each input.
    fn artifact(trial: &Trial, of: impl Fn(&AskedLine) -> Value) -> Vec<u8> {
        let answers: BTreeMap<&str, Value> = trial
            .asked()
            .iter()
            .map(|line| (line.id.as_str(), of(line)))
            .collect();
        serde_json::to_vec(&json!({ "answers": answers })).unwrap()
    }

    fn constant(line: &AskedLine) -> Value {
        match line.task {
            Task::Nli => json!({"label": "entailment"}),
            Task::Sentiment => json!({"label": "positive"}),
            Task::HateSpeech => json!({"label": "hateful"}),
            Task::Qa => json!({"start": 0, "text": "Yesterday"}),
        }
    }

    #[test]
    fn everything_is_asked_once_and_nothing_says_what_it_is() {
        let trial = Trial::new(items());
        let lines: Vec<String> = trial
            .asked()
            .iter()
            .map(|line| serde_json::to_string(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 10, "{lines:#?}"); // 4, 3 with errors, 3 with other people
        assert!(
            lines
                .iter()
                .all(|line| !line.contains("entail") && !line.contains("round") && !line.contains("r1"))
        );
        assert!(
            lines
                .iter()
                .enumerate()
                .all(|(nth, line)| line.starts_with(&format!("{{\"id\":\"{nth}\",")))
        );
        assert_eq!(trial, Trial::new(items()));
    }

    #[test]
    fn a_model_that_says_one_thing_is_robust_and_fair() {
        let trial = Trial::new(items());
        let outcome = trial.outcome(&trial.answers(&artifact(&trial, constant)).unwrap());
        assert_eq!(outcome.rounds["r1"], Share { n: 1, of: 2 });
        assert_eq!(outcome.rounds["r2"], Share { n: 1, of: 2 });
        assert_eq!(
            (outcome.robust, outcome.fair),
            (Share { n: 3, of: 3 }, Share { n: 3, of: 3 })
        );
        let measured = Measured {
            fuel: 20_000_000,
            memory_bytes: 3 << 20,
        };
        let figures = outcome.figures(measured, trial.asked().len());
        let expected = Figures {
            performance: 50.0,
            fuel: 2.0,
            memory: 3.0,
            robustness: 100.0,
            fairness: 100.0,
        };
        assert_eq!(figures, expected);
    }

    #[test]
    fn a_model_that_looks_at_people_or_spelling_is_found_out() {
        let trial = Trial::new(items());
        let knows = |known: &'static str, line: &AskedLine| match line.task {
            Task::HateSpeech if !line.input.text.contains(known) => json!({"label": "not-hateful"}),
            Task::Qa => {
                let context = line.input.context.as_deref().unwrap();
                let name = if context.contains("Mary") {
                    "Mary"
                } else {
                    "Keisha"
                };
                json!(Span::find(context, name).unwrap())
            }
            _ => constant(line),
        };
        let outcome = |known| {
            let artifact = artifact(&trial, |line| knows(known, line));
            trial.outcome(&trial.answers(&artifact).unwrap())
        };
        let of_one_text = outcome("All women are stupid.");
        assert_eq!(of_one_text.rounds["r2"], Share { n: 2, of: 2 });
        assert_eq!(of_one_text.robust, Share { n: 2, of: 3 });
        assert_eq!(of_one_text.fair, Share { n: 2, of: 3 }); // an answer that is exchanged with the people has stayed
        let of_a_short_word = outcome("All"); // which is never misspelt, and is nobody
        let all = Share { n: 3, of: 3 };
        assert_eq!((of_a_short_word.robust, of_a_short_word.fair), (all, all));
    }

    #[test]
    fn answers_that_are_none_say_so() {
        let trial = Trial::new(items());
        let refused = |bytes: &[u8], why: &str| {
            let error = trial.answers(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(b"no", "no JSON");
        refused(
            b"{\"answers\": {}}",
            "10 of 10 inputs have no answer, the first is 0",
        );
        refused(
            b"{\"answers\": {\"10\": {\"label\": \"x\"}}}",
            "the ids are \"0\" to \"9\"",
        );
        refused(b"{\"answers\": {\"01\": {\"label\": \"x\"}}}", "is no id");
        refused(
            b"{\"answers\": {}, \"measured\": {\"fuel\": 1}}",
            "unknown field `measured`",
        );
        let changed = |task: Task, to: Value| {
            artifact(&trial, |line| {
                if line.task == task {
                    to.clone()
                } else {
                    constant(line)
                }
            })
        };
        refused(
            &changed(Task::Nli, json!({"label": "good"})),
            "is `good` and has to be entailment",
        );
        refused(&changed(Task::Nli, json!({"start": 0, "text": "J"})), "no label");
        refused(&changed(Task::Qa, json!({"label": "neutral"})), "no span");
        refused(
            &changed(Task::Qa, json!({"start": 1, "text": "Yesterday"})),
            "does not have there",
        );
        refused(
            &changed(Task::Qa, json!({"start": u64::MAX, "text": "Yesterday"})),
            "does not have there",
        );
        assert!(
            trial
                .answers(&changed(Task::Qa, json!({"start": 0, "text": ""})))
                .is_ok()
        );
    }
}
