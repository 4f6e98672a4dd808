//! The participants' kit of a data set of Adversarial Text, and the rules that a data set or its kit has.

use std::collections::BTreeMap;
use std::path::Path;

use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::{Digest, Ending};
use dataperf_datasets::{KitTable, LinesKit, Values, lines_example_path, parsed_file};
use serde_json::{Value, json};

use crate::text::configuration::{CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, Parameters};
use crate::text::hosted::BENCHMARK;
use crate::text::lines::Rules;
use crate::text::offline::KnownRules;
use crate::text::task::Task;
use crate::text::texts::contexts::{Context, Contexts};

const GUIDE: &str = include_str!("../../kit/text/guide.md");
const STARTER: &str = include_str!("../../kit/text/starter.py");
/// Number of lines of an example file.
const N_EXAMPLES: usize = 3;
/// Texts without a context, with what they say of how their author feels.
const ENGLISH: [(&str, &str); 2] = [
    ("I would not call it a failure.", "positive"),
    ("Nobody asked for more of it.", "negative"),
];
const NOT_HATEFUL: &str = "not-hateful";

/// The rules that a data set at `directory` has: all of them, or of a participants' kit those that participants may know.
///
/// # Errors
/// [`FrozenError`] when a file is missing or damaged.
pub fn known_rules(
    directory: &Path,
    manifest: &Manifest,
    dataset: Digest,
) -> Result<KnownRules, FrozenError> {
    let has_denied = manifest.files.contains_key(CONFIGURATION_FILE);
    let configuration = if has_denied {
        parsed_file(directory, CONFIGURATION_FILE, Configuration::parse)?
    } else {
        manifest.parameters::<Parameters>()?.configuration()
    };
    let contexts = parsed_file(directory, CONTEXTS_FILE, Contexts::parse)?;
    Ok(KnownRules {
        rules: Rules {
            configuration,
            contexts,
        },
        has_denied,
        dataset,
    })
}

/// The content of a data set's participants' kit. Its examples obey all known rules.
///
/// # Errors
/// [`FrozenError`] when a file is missing or damaged.
pub fn text_kit(directory: &Path, manifest: &Manifest, dataset: Digest) -> Result<LinesKit, FrozenError> {
    let known = known_rules(directory, manifest, dataset)?;
    let parameters: Parameters = manifest.parameters()?;
    let examples: BTreeMap<String, Vec<u8>> = parameters
        .tasks
        .keys()
        .filter_map(|&task| Some((task.as_str().to_owned(), example(&known, task)?)))
        .collect();
    let tasks: Vec<String> = parameters.tasks.keys().map(ToString::to_string).collect();
    Ok(LinesKit {
        guide: format!(
            "{}\n\n{}",
            GUIDE.trim_end(),
            rules(&parameters, &known.rules.contexts)
        ),
        commands: commands(&tasks, &examples),
        boards: parameters.leaderboards,
        starter: STARTER,
        starter_does: "makes a valid file of examples with Python's standard library",
        choices: tasks,
        tables: vec![table(&known.rules.contexts)],
        examples,
    })
}

fn table(contexts: &Contexts) -> KitTable {
    let column = |get: fn(&Context) -> String| Values::Text(contexts.iter().map(get).collect());
    KitTable {
        name: "contexts".to_owned(),
        columns: vec![
            ("id".to_owned(), column(|context| context.id.clone())),
            ("task".to_owned(), column(|context| context.task.to_string())),
            ("text".to_owned(), column(|context| context.text.clone())),
        ],
        rows: None,
    }
}

/// A file of valid examples of a task; `None` if no tried text obeys the rules, for example because
/// no context is in an allowed language.
fn example(known: &KnownRules, task: Task) -> Option<Vec<u8>> {
    let rules = &known.rules;
    let is_valid = |line: &Value| {
        let verdict = known.verdict(task.as_str(), line.to_string().as_bytes());
        verdict.is_some_and(|verdict| verdict.status == Ending::Accepted)
    };
    let lines: Vec<Value> = if rules.configuration.needs_context(task) {
        let contexts = rules.contexts.for_task(task);
        let valid = contexts.filter_map(|context| about(context, rules).into_iter().find(is_valid));
        valid.take(N_EXAMPLES).collect()
    } else {
        let english = ENGLISH.map(|(text, sentiment)| {
            let label = if task.is_harmful() { NOT_HATEFUL } else { sentiment };
            json!({ "task": task, "text": text, "label": label })
        });
        let english: Vec<Value> = english.into_iter().filter(is_valid).collect();
        let label = if task.is_harmful() { NOT_HATEFUL } else { "neutral" };
        let beginnings = rules
            .contexts
            .iter()
            .map(|context| json!({ "task": task, "text": beginning(&context.text, rules), "label": label }));
        if english.is_empty() {
            beginnings.filter(is_valid).take(1).collect()
        } else {
            english
        }
    };
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    (!lines.is_empty()).then(|| lines.concat().into_bytes())
}

/// Candidates for examples about a context, the better ones first.
fn about(context: &Context, rules: &Rules) -> Vec<Value> {
    let (task, id, text) = (context.task, &context.id, &context.text);
    let message = beginning(text, rules);
    let example = |text: &str, key: &str, right: Value| json!({ "task": task, "context_id": id, "text": text, key: right });
    match task {
        Task::Qa => {
            let Some(word) = text.split_whitespace().next() else {
                return Vec::new();
            };
            let start = text.find(word).map_or(0, |at| text[..at].chars().count());
            let answer = json!({ "start": start, "text": word });
            ["Which word does the text begin with?", &message]
                .map(|question| example(question, "answer", answer.clone()))
                .into()
        }
        Task::Nli => vec![
            example(&message, "label", json!("entailment")),
            example("It says nothing of tomorrow.", "label", json!("neutral")),
        ],
        Task::Sentiment => vec![example(&message, "label", json!("neutral"))],
        Task::HateSpeech => vec![example(&message, "label", json!(NOT_HATEFUL))],
    }
}

/// The first sentence of a text that is long enough, and no longer than a text may be; the starter does the same.
fn beginning(text: &str, rules: &Rules) -> String {
    let (least, most) = (rules.configuration.min_chars, rules.configuration.max_chars);
    let chars: Vec<char> = text.chars().collect();
    let ends = |at: &usize| chars[*at] == '.' && chars.get(at + 1) == Some(&' ');
    let end = (least.saturating_sub(1)..chars.len()).find(ends);
    let n = end.map_or(chars.len(), |end| end + 1).min(most);
    chars[..n].iter().collect::<String>().trim().to_owned()
}

/// The rules with the numbers of the data set.
fn rules(parameters: &Parameters, contexts: &Contexts) -> String {
    let mut lines = vec![
        "## The rules\n\n| task | labels | contexts | models to fool | languages |\n|---|---|---|---|---|"
            .to_owned(),
    ];
    let quoted = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(" ")
    };
    for (task, public) in &parameters.tasks {
        let labels = if task.has_spans() {
            "an `answer`".to_owned()
        } else {
            quoted(&public.labels)
        };
        let n_contexts = if public.needs_context {
            contexts.for_task(*task).count().to_string()
        } else {
            "none".to_owned()
        };
        let kinds = public.targets.iter().map(|name| {
            let kind = parameters.targets.get(name);
            kind.map_or_else(|| format!("`{name}`"), |kind| format!("`{name}` ({kind})"))
        });
        let kinds: Vec<String> = kinds.collect();
        let languages = if public.languages.is_empty() {
            "all".to_owned()
        } else {
            quoted(&public.languages)
        };
        lines.push(format!(
            "| `{task}` | {labels} | {n_contexts} | {} | {languages} |",
            kinds.join(", ")
        ));
    }
    let Parameters {
        validation,
        examples_a_day,
        near_duplicate_from,
        min_chars,
        max_chars,
        ..
    } = parameters;
    lines.push(format!(
        "\n- A text has {min_chars} to {max_chars} characters, in one of the task's languages (ISO 639-3). Characters that can't be seen are taken out.\n\
         - The organizer may deny words and phrases, in any spelling that looks alike. The list is not in this kit; a rejection names the term that stands in the text.\n\
         - At most {examples_a_day} examples a day, in UTC; lines that are rejected cost nothing.\n\
         - A text that repeats an earlier one about the same context never counts, anybody's and in any spelling: from a share of {near_duplicate_from} of three-letter sequences in common on.\n\
         - Raters decide: {} equal verdicts, of at most {}; without so many the example is refused. Nobody judges examples of their own. A rater gives at most {} verdicts a day.",
        validation.equal, validation.most, validation.verdicts_a_day
    ));
    if parameters.tasks.values().any(|task| task.is_harmful) {
        lines.push(
            "- Hate speech may hurt who reads it: none is shown before one has agreed to it. Take breaks, stop at any time, and talk to the organizer.".to_owned(),
        );
    }
    lines.push(String::new());
    lines.join("\n")
}

fn commands(tasks: &[String], examples: &BTreeMap<String, Vec<u8>>) -> String {
    let with_example = tasks.iter().find(|task| examples.contains_key(*task));
    let board = with_example.or(tasks.first()).map_or("nli", String::as_str);
    let file = if examples.contains_key(board) {
        lines_example_path(board)
    } else {
        "my-examples.jsonl".to_owned()
    };
    format!(
        "## Offline\n\nIn this folder:\n\n```sh\npython starter.py\ndataperf validate {BENCHMARK} --dataset . --leaderboard {board} {file}\n```\n\n\
         It holds each line against the rules above with the cloud's own code, and says what it can't know: what is denied, what was uploaded before, and whether a text fools the models. \
         The models stay with the organizer, because texts could be fitted to them, so that there is no `dataperf score` here, and `dataperf baseline` has nothing: people write the texts. \
         `--leaderboard verdict` takes a rater's file.\n\n\
         ## Upload\n\n```sh\ndataperf dynamic submit {file} --submitter YOU\n```\n\nOr put the file into the submissions bucket below `{BENCHMARK}/submit/YOU/`, or onto the page of a \
         leaderboard. The receipt has what each model answers."
    )
}
