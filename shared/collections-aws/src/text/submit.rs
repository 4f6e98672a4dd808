//! The function that takes examples. It sends them to the round's models at once, and those that
//! fool the models go to the raters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::common::{
    Case, Collection, Common, Judged, LineFunction, RESERVE, Reservation, Reserving, Standings,
    count_submitted, counted, duplicate, file, index, no_more, publish, read, serve_lines,
};
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::{LineOutcome, Reason, Rejection};
use dataperf_aws::{bundled_programs, now, variable};
use dataperf_collections::common::Disqualified;
use dataperf_collections::text::{
    Answer, BENCHMARK, EXAMPLES, Example, ExampleId, Input, Line, Rules, Target, Task, fooled, is_fooling,
};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::text::examples::{ExampleMore, Examples, FiledExample, ModelAnswer};
use crate::text::refusals;
use crate::text::targets::{Builtin, NotAnswered, Targets};

/// The most time that models have in one run, if the run has that much.
const PATIENCE: Duration = Duration::from_mins(2);
/// The word under which the table counts lines sent to models.
const ASKED: &str = "asked";
/// The maximum lines of one annotator sent to models per day, as a multiple of the day's examples.
const ASKED_A_DAY: u64 = 5;
/// The member of a line of a receipt that has what each model answers.
const ANSWERS: &str = "models";
/// Number of examples that are written to the table at the same time.
const AT_ONCE: usize = 8;

/// Maximum bytes of the models' answers in a receipt, as JSON. The receipt is an attribute of an
/// item of the table, which takes 400 KB. The rest of it has at most 200 lines of less than 300
/// bytes, and 200 reasons for rejected lines, of less than a kilobyte each. Answers alone could
/// exceed the item: 200 lines for each of which 7 models answer a question with their whole
/// context, of 10,000 characters.
const MAX_ANSWERS_BYTES: usize = 140_000;

struct Submit {
    common: Common<Examples>,
    targets: Targets,
    /// The standings of annotators, as far as this process has read them.
    standings: Mutex<Standings<Examples>>,
}

/// Runs the function until the host ends it. `builtin` makes the models that are built in.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run_submit(builtin: Builtin) -> Result<(), lambda_runtime::Error> {
    dataperf_aws::log_as_json();
    let common = Common::from_environment()?;
    let secret = variable("DATAPERF_SECRET")?;
    let programs = bundled_programs("adversarial-text-submit")?;
    serve_lines(Submit {
        common,
        targets: Targets::new(builtin, secret, programs),
        standings: Mutex::default(),
    })
    .await
}

/// The result for a line.
enum Taken {
    /// It is filed.
    Filed(Box<FiledExample>),
    /// It is rejected.
    Rejected(Rejection),
    /// The models have not answered in this run's time.
    Unanswered,
}

impl LineFunction for Submit {
    type Collection = Examples;
    type Line = Example;
    const KIND: &'static str = "submit";

    fn common(&self) -> &Common<Examples> {
        &self.common
    }

    fn held_against(rules: &Rules) -> &Rules {
        rules
    }

    fn refused(&self, disqualified: &Disqualified, name: &str) -> Option<Reason> {
        no_more(disqualified.has_submitter(name), name, "examples")
    }

    async fn judge(
        &self,
        case: &Case<'_, Examples>,
        lines: Vec<Line<Example>>,
    ) -> Result<Judged, WorkflowError> {
        let submission = case.submission;
        let limit = case.rules.configuration.configuration.examples_a_day.into();
        let reserving = Reserving {
            noun: EXAMPLES,
            submitter: &submission.submitter,
            submission: &submission.id,
            at: submission.received_at,
            limit,
            listed: Examples::SPACE.own_partition(&submission.submitter),
        };
        let reservation = Reservation {
            table: case.table,
            benchmark: BENCHMARK,
        };
        let mut taken = BTreeMap::new();
        let mut good = Vec::with_capacity(lines.len());
        for line in lines {
            match line.outcome {
                Ok(example) => good.push((line.number, example)),
                Err(rejection) => drop(taken.insert(line.number, Taken::Rejected(rejection))),
            }
        }
        let n_good = good.len();
        let unfiled = unfiled(case, good, &mut taken).await?;
        let n_filed_before = (n_good - unfiled.len()) as u64;
        let reserved = reservation.reserve(&reserving, n_good as u64).await?;
        let n_left = reserved.n_granted.saturating_sub(n_filed_before);
        let mut examples = Vec::with_capacity(unfiled.len());
        for (line, example) in unfiled {
            if examples.len() as u64 >= n_left {
                let reason = refusals::used_up(EXAMPLES, line, limit, reserved, submission.received_at);
                taken.insert(line, Taken::Rejected(reason.into()));
            } else {
                examples.push((line, example));
            }
        }
        let examples = askable(case, examples, limit, &mut taken).await?;
        taken.extend(self.take(case, examples, n_filed_before > 0).await?);
        self.count(case, &taken).await?;
        let n_filed = taken
            .values()
            .filter(|taken| matches!(taken, Taken::Filed(_)))
            .count() as u64;
        reservation.keep(&submission.id, n_filed).await?;
        let n_unused = reserved.n_granted.saturating_sub(n_filed);
        let n_taken = reserved.n_taken.saturating_sub(n_unused);
        let mut notes = counted(EXAMPLES, n_taken, limit, submission.received_at);
        let (outcomes, n_without) = outcomes(taken);
        if n_without > 0 {
            notes.insert("answers_left_out".into(), json!(n_without));
        }
        Ok(Judged::Lines(outcomes, notes))
    }
}

impl Submit {
    /// Asks the models about examples, and files them. A file of which no model answers is tried again as a whole, unless `has_filed`.
    async fn take(
        &self,
        case: &Case<'_, Examples>,
        examples: Vec<(usize, Example)>,
        has_filed: bool,
    ) -> Result<Vec<(usize, Taken)>, WorkflowError> {
        let mut taken = Vec::with_capacity(examples.len());
        let mut by_task: BTreeMap<Task, Vec<(usize, Example)>> = BTreeMap::new();
        for (line, example) in examples {
            by_task.entry(example.task).or_default().push((line, example));
        }
        let patience = case.time_left().saturating_sub(RESERVE).min(PATIENCE);
        let deadline = Instant::now() + patience;
        let (mut answered, mut fault, mut n_paid) = (Vec::new(), None, 0);
        for (task, examples) in by_task {
            let contexts = &case.rules.configuration.contexts;
            let inputs: Vec<Input> = examples
                .iter()
                .map(|(_, example)| example.input(contexts))
                .collect();
            let resources = &self.common.resources;
            let answers = self
                .targets
                .ask(&case.rules, resources, task, &inputs, deadline)
                .await?;
            n_paid += answers.n_paid;
            for (((line, example), input), model_answers) in
                examples.into_iter().zip(inputs).zip(answers.results)
            {
                match model_answers {
                    Ok(model_answers) => {
                        answered.push((line, example_of(case, line, example, input, model_answers)));
                    }
                    Err(NotAnswered::Refused(why)) => {
                        tracing::warn!(line, why, "a model refuses a text");
                        let reason = refusals::refused_by_model(line, &why);
                        taken.push((line, Taken::Rejected(reason.into())));
                    }
                    Err(not) => {
                        tracing::error!(line, error = %not, "a model has not answered, the file's other lines may be taken");
                        fault = fault.or(Some(not));
                        taken.push((line, Taken::Unanswered));
                    }
                }
            }
        }
        if n_paid > 0 {
            let reservation = Reservation {
                table: case.table,
                benchmark: BENCHMARK,
            };
            let submitter = &case.submission.submitter;
            reservation.spend(ASKED, submitter, now(), n_paid).await?;
        }
        if let Some(fault) = fault {
            if matches!(fault, NotAnswered::Organizer(_)) {
                self.targets.forget().await;
            }
            if answered.is_empty() && !has_filed {
                return Err(fault.into());
            }
        }
        taken.extend(file_all(case, answered).await?);
        Ok(taken)
    }

    /// Counts the file's examples in their author's standing, and writes the resulting scores.
    async fn count(
        &self,
        case: &Case<'_, Examples>,
        taken: &BTreeMap<usize, Taken>,
    ) -> Result<(), WorkflowError> {
        let filed = || {
            taken.values().filter_map(|taken| match taken {
                Taken::Filed(example) => Some(example.as_ref()),
                _ => None,
            })
        };
        let tasks: BTreeSet<Task> = filed().map(|example| example.content.task).collect();
        let places = self.common.places().await;
        for task in tasks {
            let examples: Vec<FiledExample> = filed()
                .filter(|example| example.content.task == task)
                .cloned()
                .collect();
            let standings = &mut *self.standings.lock().await;
            let submission = &case.submission.id;
            let step = count_submitted(case.table, &examples, submission, &case.rules, standings).await?;
            if let Some(step) = step {
                publish(&places, &step).await?;
            }
        }
        Ok(())
    }
}

/// Whether one of a task's models costs something for each example.
fn costs(case: &Case<'_, Examples>, task: Task) -> bool {
    let configuration = &case.rules.configuration.configuration;
    let targets = configuration.targets_of(task).iter();
    let costs = |target: &Target| matches!(target, Target::Http { .. } | Target::Program { .. });
    targets
        .filter_map(|name| configuration.targets.get(name))
        .any(costs)
}

/// The examples that may still be sent to models today; the others go to `taken`. A line without a
/// model's answer is returned to the day's examples. Without this second limit, models could be
/// called, and paid, without end.
async fn askable(
    case: &Case<'_, Examples>,
    examples: Vec<(usize, Example)>,
    limit: u64,
    taken: &mut BTreeMap<usize, Taken>,
) -> Result<Vec<(usize, Example)>, WorkflowError> {
    let most = limit.saturating_mul(ASKED_A_DAY);
    let (submitter, at) = (&case.submission.submitter, now());
    let n_asked = case.table.n_taken_of_day(BENCHMARK, submitter, ASKED, at).await?;
    let mut n_left = most.saturating_sub(n_asked);
    let mut askable = Vec::with_capacity(examples.len());
    for (line, example) in examples {
        if !costs(case, example.task) {
            askable.push((line, example));
        } else if let Some(n) = n_left.checked_sub(1) {
            n_left = n;
            askable.push((line, example));
        } else {
            let reason = refusals::too_many_requests(line, most, n_asked.max(most), at);
            taken.insert(line, Taken::Rejected(reason.into()));
        }
    }
    Ok(askable)
}

/// The good lines that no earlier run has filed; the filed ones go to `taken`.
async fn unfiled(
    case: &Case<'_, Examples>,
    good: Vec<(usize, Example)>,
    taken: &mut BTreeMap<usize, Taken>,
) -> Result<Vec<(usize, Example)>, WorkflowError> {
    let (table, submission) = (case.table, case.submission.id.as_str());
    let mut unfiled = Vec::with_capacity(good.len());
    for some in chunks(good) {
        let known = some.iter().map(|(line, _)| {
            let id = ExampleId::derive(submission, *line);
            async move { read::<Examples>(table, &id).await }
        });
        for ((line, example), known) in some.iter().zip(try_join_all(known).await?) {
            match known {
                Some(there) => drop(taken.insert(*line, Taken::Filed(Box::new(there)))),
                None => unfiled.push((*line, example.clone())),
            }
        }
    }
    Ok(unfiled)
}

/// The filed form of an example.
fn example_of(
    case: &Case<'_, Examples>,
    line: usize,
    example: Example,
    input: Input,
    answers: BTreeMap<String, Answer>,
) -> FiledExample {
    let submission = case.submission;
    let models: BTreeMap<String, ModelAnswer> = answers
        .into_iter()
        .map(|(name, answer)| {
            let fooled = fooled(example.task, &example.gold, &answer);
            (name, ModelAnswer { answer, fooled })
        })
        .collect();
    let n_fooled = models.values().filter(|answers| answers.fooled).count();
    let is_fooling = is_fooling(n_fooled, models.len());
    FiledExample {
        id: ExampleId::derive(submission.id.as_str(), line),
        submitter: submission.submitter.clone(),
        submission: submission.id.clone(),
        line: line as u64,
        received_at: submission.received_at,
        round: case.round.clone(),
        dataset: case.rules.dataset,
        content: example,
        duplicate: dataperf_collections::text::Duplicate::default(),
        n_raters: 0, // until it is known whether it repeats another
        more: ExampleMore {
            models,
            is_fooling,
            context: input.context,
        },
        decision: None,
    }
}

/// Files examples: first the keys of all of them, so that each finds the others that it may repeat.
async fn file_all(
    case: &Case<'_, Examples>,
    answered: Vec<(usize, FiledExample)>,
) -> Result<Vec<(usize, Taken)>, WorkflowError> {
    let table = case.table;
    for some in answered.chunks(AT_ONCE) {
        try_join_all(some.iter().map(|(_, example)| index(table, example, ()))).await?;
    }
    let configuration = &case.rules.configuration.configuration;
    let mut taken = Vec::with_capacity(answered.len());
    for some in chunks(answered) {
        let filed = some.into_iter().map(|(line, mut example)| async move {
            // a preliminary result: deciding repeats this check
            example.duplicate = duplicate(table, &example, configuration.near_duplicate_from, ()).await?;
            let (is_duplicate, is_fooling) = (example.duplicate.is_one(), example.more.is_fooling);
            let validation = &configuration.validation;
            example.n_raters = validation.n_raters(&example.id, is_duplicate, is_fooling) as u64;
            file(table, &example).await?;
            Ok::<_, WorkflowError>((line, Taken::Filed(Box::new(example))))
        });
        taken.extend(try_join_all(filed).await?);
    }
    Ok(taken)
}

fn chunks<T>(all: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let mut all = all.into_iter();
    std::iter::from_fn(move || {
        let some: Vec<T> = all.by_ref().take(AT_ONCE).collect();
        (!some.is_empty()).then_some(some)
    })
}

/// A receipt's entries for each line, with the models' answers of as many lines as fit, and the
/// number of lines without them. The examples themselves have all answers.
fn outcomes(taken: BTreeMap<usize, Taken>) -> (Vec<LineOutcome>, usize) {
    let (mut left, mut n_without) = (MAX_ANSWERS_BYTES, 0);
    let outcomes = taken.into_iter().map(|(line, taken)| {
        let mut outcome = outcome(line, taken);
        let Some(answers) = outcome.details.get(ANSWERS) else {
            return outcome;
        };
        if let Some(rest) = left.checked_sub(answers.to_string().len()) {
            left = rest;
        } else {
            let n_models = answers.as_object().map_or(0, serde_json::Map::len);
            outcome.details.remove(ANSWERS);
            outcome.details.insert("models_left_out".into(), json!(n_models));
            n_without += 1;
        }
        outcome
    });
    (outcomes.collect(), n_without)
}

fn outcome(line: usize, taken: Taken) -> LineOutcome {
    match taken {
        Taken::Filed(example) => LineOutcome::accepted(line, details(&example)),
        Taken::Rejected(rejection) => LineOutcome::rejected(line, &rejection),
        Taken::Unanswered => {
            let message = "the round's models did not answer. This is not your fault, and the example does not count. \
                Upload this line again later";
            let reason = Reason::new("no_answer", format!("line {line}"), message);
            LineOutcome::rejected(line, &reason.into())
        }
    }
}

fn details(example: &FiledExample) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("example".to_owned(), json!(example.id)),
        ("task".to_owned(), json!(example.content.task)),
        (ANSWERS.to_owned(), json!(example.more.models)),
        ("fooled".to_owned(), json!(example.more.is_fooling)),
    ])
    .into_iter()
    .chain(example.duplicate_detail())
    .collect()
}

#[cfg(test)]
mod tests {
    use crate::common::Notes;
    use dataperf::{Digest, Timestamp, Verdict};
    use dataperf_collections::text::{Gold, MAX_CONTEXT_CHARS, Span};

    use super::*;

    /// The largest number of models of a task, as the configuration allows it, and of lines of a file.
    const MOST: (usize, usize) = (7, 200);

    fn example(line: usize, answer: &str) -> FiledExample {
        let gold = Gold::Span(Span {
            start: 0,
            text: answer.into(),
        });
        let model_answers = ModelAnswer {
            answer: Answer {
                gold: gold.clone(),
                probabilities: [("confidence".into(), 0.123_456_789_012_345_68)].into(),
            },
            fooled: true,
        };
        let name = |n: usize| (format!("{n}{}", "m".repeat(63)), model_answers.clone());
        FiledExample {
            id: ExampleId::derive("a", line),
            submitter: "ada".into(),
            submission: "0".repeat(32).parse().unwrap(),
            line: line as u64,
            received_at: Timestamp::from_unix_millis(0),
            round: "open".into(),
            dataset: Digest::compute(b"any"),
            content: Example {
                task: Task::Qa,
                context_id: None,
                text: "a text".into(),
                gold,
                why: String::new(),
            },
            duplicate: dataperf_collections::text::Duplicate {
                of: Some(ExampleId::derive("a", line)),
                is_own: true,
                ..dataperf_collections::text::Duplicate::default()
            },
            n_raters: 0,
            more: ExampleMore {
                models: (0..MOST.0).map(name).collect(),
                is_fooling: true,
                context: None,
            },
            decision: None,
        }
    }

    fn judged(answer: &str) -> (Vec<LineOutcome>, usize) {
        let taken = (1..=MOST.1).map(|line| (line, Taken::Filed(Box::new(example(line, answer)))));
        outcomes(taken.collect())
    }

    #[test]
    fn large_answers_fit_the_table_by_dropping_some() {
        let whole_context = "\u{1f40e}".repeat(MAX_CONTEXT_CHARS / 10);
        let (lines, n_without) = judged(&whole_context);
        let with = lines
            .iter()
            .filter(|line| line.details.contains_key(ANSWERS))
            .count();
        assert!(with > 0 && with + n_without == MOST.1, "{with} {n_without}");
        let without = &lines[MOST.1 - 1].details;
        assert_eq!(
            (&without["models_left_out"], &without["fooled"]),
            (&json!(MOST.0), &json!(true))
        );
        let digest = Digest::compute(b"");
        let verdict = Verdict::of_lines(BENCHMARK, "submit", digest, digest, lines, Notes::new());
        let n_bytes = serde_json::to_string(&verdict).unwrap().len();
        assert!(
            n_bytes < 205_000,
            "with 200 reasons of a kilobyte it is still below 400 KB: {n_bytes}"
        );

        let taken = (1..=MOST.1).map(|line| {
            let mut example = example(line, "green");
            example
                .more
                .models
                .retain(|name, _| name.starts_with(['0', '1', '2']));
            (line, Taken::Filed(Box::new(example)))
        });
        let (lines, n_without) = outcomes(taken.collect());
        assert!(n_without == 0 && lines.iter().all(|line| line.details.contains_key(ANSWERS)));
    }
}
