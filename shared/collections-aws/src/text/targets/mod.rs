//! The round's target models behind one port: built-in ones, services, and programs.

mod answers;
mod breaker;
mod http;
mod program;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{Rules as Kept, Secrets};
use dataperf::Digest;
use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::programs::{ModelRun, Programs};
use dataperf_aws::{Clients, Resources};
use dataperf_collections::text::models::{ModelError, TargetModel};
use dataperf_collections::text::{Answer, BENCHMARK, Input, Rules, Target, Task};
use futures_util::future::join_all;
use tokio::sync::Mutex;

pub use crate::common::external_services::NotAnswered;
pub use answers::{MAX_ANSWER_BYTES, checked, inputs_file, request};
pub use breaker::Breaker;
pub use http::Service;

/// A model, or why its files make none.
pub type Made = Result<Box<dyn TargetModel>, ModelError>;

/// How the built-in models are made of their files. They are handed in by the `main` of the one function that asks them, so that no
/// other has to build them.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// A model of hashed n-grams, or a scorer of spans.
    pub linear: fn(&[u8]) -> Made,
    /// A head for the sentence transformer, and the bytes of [`WEIGHTS`] in their order.
    pub encoder: fn(&[u8], [&[u8]; 3]) -> Made,
}

/// The files of the sentence transformer, stored with an encoder's head in the data set.
pub const WEIGHTS: [&str; 3] = [
    "models/minilm/config.json",
    "models/minilm/tokenizer.json",
    "models/minilm/model.safetensors",
];

/// The maximum texts of a program's run. With the longest contexts and texts they have 1 MB, of 6
/// MB that a function accepts; a program of the usual fuel takes some ten seconds for them, of the
/// two minutes that models have.
const PROGRAM_BATCH: usize = 20;

/// How many texts of a failed run are given to the program alone if it fails on each of them.
const MOST_FAILED_ALONE: usize = 2;

/// One target model, ready for requests.
enum Ready {
    Builtin(Box<dyn TargetModel>),
    Service(Box<Service>),
    Program { file: String, max_fuel: u64 },
}

/// The models of one data set.
struct Loaded {
    dataset: Digest,
    models: BTreeMap<String, Ready>,
}

/// The target models that a function has read, and the state of the services that it asks.
pub struct Targets {
    builtin: Builtin,
    secret: String,
    /// The function that runs programs.
    programs: String,
    loaded: Mutex<Option<Arc<Loaded>>>,
}

/// The models' answers to some examples of a task.
pub struct Answers {
    /// For each example the answers by the models' names, or why one of them has none.
    pub results: Vec<Result<BTreeMap<String, Answer>, NotAnswered>>,
    /// The number of examples sent to a service or a program, answered or not.
    pub n_paid: u64,
}

impl Targets {
    /// `secret` names the secret that has the services' keys, `programs` the function that runs programs.
    pub fn new(builtin: Builtin, secret: String, programs: String) -> Self {
        Self {
            builtin,
            secret,
            programs,
            loaded: Mutex::new(None),
        }
    }

    /// The answers of the round's models to examples of a task, until `deadline`.
    ///
    /// # Errors
    /// [`WorkflowError`] when a model can't be read, which is the organizer's fault.
    pub async fn ask(
        &self,
        rules: &Kept<Rules>,
        resources: &Resources,
        task: Task,
        inputs: &[Input],
        deadline: Instant,
    ) -> Result<Answers, WorkflowError> {
        let loaded = self.loaded(rules, resources.clients().await).await?;
        let names = rules.configuration.configuration.targets_of(task);
        let request = names.iter().map(|name| {
            let model = loaded.models.get(name);
            let asking = Asking {
                resources,
                programs: &self.programs,
                dataset: loaded.dataset,
                task,
                deadline,
            };
            async move {
                let reply = match model {
                    Some(model) => asking.ask(model, inputs).await,
                    None => vec![Err(NotAnswered::Organizer("is not configured".into())); inputs.len()],
                };
                let costs = matches!(model, Some(Ready::Service(_) | Ready::Program { .. }));
                (name, costs, reply)
            }
        });
        let mut answers: Vec<Result<BTreeMap<String, Answer>, NotAnswered>> =
            inputs.iter().map(|_| Ok(BTreeMap::new())).collect();
        let mut is_paid = vec![false; inputs.len()];
        for (name, costs, reply) in join_all(request).await {
            for ((answer, is_paid), reply) in answers.iter_mut().zip(&mut is_paid).zip(reply) {
                *is_paid |= costs && !matches!(reply, Err(NotAnswered::NotAsked(_)));
                match reply {
                    // what is refused stays refused, whatever other models may say later
                    Err(_) if matches!(answer, Err(NotAnswered::Refused(_))) => {}
                    Err(not) => {
                        *answer = Err(not.map(|message| format!("the target model `{name}` {message}")));
                    }
                    Ok(reply) => {
                        if let Ok(known) = answer {
                            known.insert(name.clone(), reply);
                        }
                    }
                }
            }
        }
        Ok(Answers {
            results: answers,
            n_paid: is_paid.iter().filter(|is_paid| **is_paid).count() as u64,
        })
    }

    /// A key that was refused may have been replaced: the next try reads it again.
    pub async fn forget(&self) {
        *self.loaded.lock().await = None;
    }

    async fn loaded(&self, rules: &Kept<Rules>, clients: &Clients) -> Result<Arc<Loaded>, WorkflowError> {
        let mut kept = self.loaded.lock().await;
        if let Some(loaded) = kept.as_ref().filter(|loaded| loaded.dataset == rules.dataset) {
            return Ok(loaded.clone());
        }
        *kept = None; // two of them may not fit
        let mut models = BTreeMap::new();
        let mut secrets = None;
        for (name, target) in &rules.configuration.configuration.targets {
            let ready = match target {
                Target::Linear { file } => {
                    let bytes = rules.files.file(file).await?;
                    Ready::Builtin((self.builtin.linear)(&bytes).map_err(|error| unusable(name, &error))?)
                }
                Target::Encoder { file } => Ready::Builtin(self.encoder(rules, name, file).await?),
                Target::Program { file, max_fuel } => Ready::Program {
                    file: file.clone(),
                    max_fuel: *max_fuel,
                },
                Target::Http {
                    url,
                    secret,
                    timeout_seconds,
                    batch,
                } => {
                    if secret.is_some() && secrets.is_none() {
                        secrets = Some(Secrets::read(clients, None, &self.secret).await?);
                    }
                    let key = match (secret, &secrets) {
                        (Some(member), Some(secrets)) => Some(secrets.member(member)?.to_owned()),
                        _ => None,
                    };
                    let timeout = Duration::from_secs(*timeout_seconds);
                    let service = Service::new(url.clone(), key, timeout, *batch);
                    let service = service.map_err(|error| {
                        WorkflowError::judge(FaultKind::Transient, format!("no connections: {error}"))
                    })?;
                    Ready::Service(Box::new(service))
                }
            };
            models.insert(name.clone(), ready);
        }
        let loaded = Loaded {
            dataset: rules.dataset,
            models,
        };
        Ok(kept.insert(Arc::new(loaded)).clone())
    }

    async fn encoder(
        &self,
        rules: &Kept<Rules>,
        name: &str,
        file: &str,
    ) -> Result<Box<dyn TargetModel>, WorkflowError> {
        let head = rules.files.file(file).await?;
        let mut weights = Vec::with_capacity(WEIGHTS.len());
        for path in WEIGHTS {
            weights.push(rules.files.file(path).await?);
        }
        let weights: [&[u8]; 3] = std::array::from_fn(|idx| &*weights[idx]);
        (self.builtin.encoder)(&head, weights).map_err(|error| unusable(name, &error))
    }
}

fn unusable(name: &str, error: &ModelError) -> WorkflowError {
    WorkflowError::judge(
        FaultKind::Organizer,
        format!("the target model `{name}`: {error}"),
    )
}

/// The resources for calling one model.
struct Asking<'a> {
    resources: &'a Resources,
    programs: &'a str,
    dataset: Digest,
    task: Task,
    deadline: Instant,
}

impl Asking<'_> {
    /// Asks a model, with one outcome for each input.
    async fn ask(&self, model: &Ready, inputs: &[Input]) -> Vec<Result<Answer, NotAnswered>> {
        match model {
            Ready::Builtin(model) => {
                let answer = model.answers(self.task, inputs);
                let answer = answer.map_err(|error| NotAnswered::Organizer(error.to_string()));
                spread(answer, inputs.len())
            }
            Ready::Service(service) => service.ask(self.task, inputs, self.deadline).await,
            Ready::Program { file, max_fuel } => self.ask_program(file, *max_fuel, inputs).await,
        }
    }

    /// Asks a program, a few texts per run. Its output for some texts then does not depend on the
    /// others, and requests stay below the function's size limit.
    async fn ask_program(
        &self,
        file: &str,
        max_fuel: u64,
        inputs: &[Input],
    ) -> Vec<Result<Answer, NotAnswered>> {
        let mut outcomes = Vec::with_capacity(inputs.len());
        for inputs in inputs.chunks(texts_of_a_run(max_fuel)) {
            let answer = self.run_program(file, max_fuel, inputs).await;
            if inputs.len() == 1 || !matches!(answer, Err(NotAnswered::Organizer(_))) {
                outcomes.extend(spread(answer, inputs.len()));
                continue;
            }
            // a text that the program rejects does not affect the others; a program that rejects
            // all is abandoned soon
            let (mut n_asked, mut n_failed) = (0, 0);
            for input in inputs {
                if n_asked == MOST_FAILED_ALONE && n_failed == n_asked {
                    outcomes.extend(spread(answer.clone(), 1));
                    continue;
                }
                let alone = self
                    .run_program(file, max_fuel, std::slice::from_ref(input))
                    .await;
                (n_asked, n_failed) = (n_asked + 1, n_failed + usize::from(alone.is_err()));
                outcomes.extend(spread(alone, 1));
            }
        }
        outcomes
    }

    async fn run_program(
        &self,
        file: &str,
        max_fuel: u64,
        inputs: &[Input],
    ) -> Result<Vec<Answer>, NotAnswered> {
        let run = model_run(self.dataset, self.task, file, max_fuel, inputs);
        let written = program::run(self.resources, self.programs, &run, self.deadline).await?;
        checked(written.lines().map(str::as_bytes), self.task, inputs)
            .map_err(|why| NotAnswered::Organizer(format!("writes no answers: {why}")))
    }
}

/// How many texts a program gets per run: as many as its fuel and a function's time allow, but at
/// least one.
fn texts_of_a_run(max_fuel: u64) -> usize {
    let n = Programs::MOST_FUEL / max_fuel.max(1);
    usize::try_from(n)
        .unwrap_or(PROGRAM_BATCH)
        .clamp(1, PROGRAM_BATCH)
}

/// A program's run on some texts. It has `max_fuel` for each of them, so that it never runs out where each text alone would not.
fn model_run(dataset: Digest, task: Task, file: &str, max_fuel: u64, inputs: &[Input]) -> ModelRun {
    ModelRun {
        benchmark: BENCHMARK.into(),
        dataset,
        file: file.to_owned(),
        max_fuel: max_fuel.saturating_mul(inputs.len() as u64),
        inputs: inputs_file(task, inputs),
    }
}

/// One outcome for all inputs, turned into one for each.
fn spread(answer: Result<Vec<Answer>, NotAnswered>, n: usize) -> Vec<Result<Answer, NotAnswered>> {
    match answer {
        Ok(answers) if answers.len() == n => answers.into_iter().map(Ok).collect(),
        Ok(answers) => {
            let message = format!("gave {} answers to {n} texts", answers.len());
            vec![Err(NotAnswered::Organizer(message)); n]
        }
        Err(not) => vec![Err(not); n],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_fuel_for_each_text() {
        let input = Input {
            context: Some("\u{1f40e}".repeat(dataperf_collections::text::MAX_CONTEXT_CHARS)),
            text: "\u{1f40e}".repeat(2_000),
        };
        let inputs = vec![input; PROGRAM_BATCH];
        let run = |max_fuel, n| {
            model_run(
                Digest::compute(b""),
                Task::Nli,
                "models/a.wasm",
                max_fuel,
                &inputs[..n],
            )
        };
        for n in [1, 7, PROGRAM_BATCH] {
            assert_eq!(run(1_000, n).max_fuel, 1_000 * n as u64);
        }
        assert_eq!(run(u64::MAX, 2).max_fuel, u64::MAX);
        let of_a_run = [1, 2_000_000_000, 20_000_000_000, u64::MAX].map(texts_of_a_run);
        assert_eq!(of_a_run, [PROGRAM_BATCH, PROGRAM_BATCH, 5, 1]);
        let event = serde_json::json!({ (ModelRun::EVENT): run(1, PROGRAM_BATCH) });
        assert!(event.to_string().len() < 2 << 20);
    }
}
