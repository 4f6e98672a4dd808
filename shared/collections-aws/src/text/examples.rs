//! Examples as collected items: the table's attributes for them, the part that raters see, and the
//! resulting scores.

use std::collections::BTreeMap;

use crate::common::{Collected, Collection, Score, Space, as_json, broken, parsed, queue};
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Descriptor;
use dataperf::benchmark::scorecard::{Metrics, Scorecard};
use dataperf::challenge::Ranking;
use dataperf::dataset::{DatasetError, FrozenFiles};
use dataperf::ports::PortError;
use dataperf_aws::{Item, Key, Partition, Reader, SCHEMA, Table, count, text};
use dataperf_collections::text::{
    Answer, BENCHMARK, CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, Contexts, DESCRIPTOR, Decision,
    Example, ExampleId, Judgement, RANKING, RaterFinding, Rules, Standing, State, Task, Validation, decide,
    duplicates,
};
use serde::{Deserialize, Serialize};

/// Adversarial Text, which collects examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Examples;

/// An example as it was submitted, and what has become of it.
pub type FiledExample = Collected<Examples>;

/// The facts about an example besides its line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExampleMore {
    /// The answers of the round's models, by their names.
    pub models: BTreeMap<String, ModelAnswer>,
    /// Whether it fooled the models: more than half of them.
    pub is_fooling: bool,
    /// The text of its context, if it has one: raters see the text that the models saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// One model's answer to an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// Its answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// Whether that is wrong where the example's author is right.
    pub fooled: bool,
}

/// A rater's verdict, and what it means for the example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterpretedVerdict {
    /// The example.
    pub example: ExampleId,
    /// The rater's finding, made without seeing the author's label.
    pub found: RaterFinding,
    /// Its meaning: whether the author is right.
    pub said: Judgement,
}

/// The part of an example that a standing stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Its state in the count.
    pub state: State,
    /// Whether it fooled the models.
    pub is_fooling: bool,
}

impl Collection for Examples {
    const SPACE: Space = Space {
        benchmark: BENCHMARK,
        item: "example",
        text: "text",
        state: "state",
    };
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    const RANKING: Ranking = RANKING;
    const BOARD: &'static str = Task::Nli.as_str();
    const COUNTS_UNDECIDED: bool = true;
    const WELL_BEING: &'static str = "docs/dynamic.md#well-being";
    const PSEUDONYMS: &'static str = "pseudonyms";

    type Id = ExampleId;
    type Content = Example;
    type More = ExampleMore;
    type Verdict = InterpretedVerdict;
    type Consensus = Decision;
    type State = Counted;
    type Configuration = Rules;
    type Version = ();

    async fn configuration(files: &FrozenFiles) -> Result<Rules, DatasetError> {
        let configuration = Configuration::parse(&files.file(CONFIGURATION_FILE).await?)
            .map_err(|rejection| broken(CONFIGURATION_FILE, &rejection))?;
        let contexts = Contexts::parse(&files.file(CONTEXTS_FILE).await?)
            .map_err(|rejection| broken(CONTEXTS_FILE, &rejection))?;
        Ok(Rules {
            configuration,
            contexts,
        })
    }

    fn judged(verdict: &InterpretedVerdict) -> &ExampleId {
        &verdict.example
    }

    /// Removes a rater's reason for flagging an example: only the organizer may see it.
    fn without_notes(verdict: &InterpretedVerdict) -> InterpretedVerdict {
        let mut without = verdict.clone();
        if let RaterFinding::Flagged(why) = &mut without.found {
            why.clear();
        }
        if let Judgement::Flagged(why) = &mut without.said {
            why.clear();
        }
        without
    }

    fn text(content: &Example) -> &str {
        &content.text
    }

    fn keys(content: &Example, (): ()) -> Vec<String> {
        let keys = duplicates::keys(content);
        let exact = std::iter::once(format!("exact-{}", keys.exact));
        exact.chain(keys.bands).collect()
    }

    fn comparable(text: &str, (): ()) -> String {
        duplicates::comparable(text)
    }

    fn near_duplicate_from(rules: &Rules) -> f64 {
        rules.configuration.near_duplicate_from
    }

    fn write(more: &ExampleMore, item: &mut Item) -> Result<(), PortError> {
        item.insert("asked".into(), text(as_json("example", more)?));
        Ok(())
    }

    fn read(reader: &Reader<'_>) -> Result<ExampleMore, PortError> {
        parsed(reader, "asked")
    }

    /// Whether raters judge the example. They get none that repeats an earlier text, and few that
    /// fooled no model.
    fn is_judged(example: &FiledExample) -> bool {
        example.n_raters > 0
    }

    /// Shows the task, the context and the text: not what is right, not what models say, and not whether they were fooled.
    fn queued(example: &FiledExample) -> Result<Vec<(&'static str, AttributeValue)>, PortError> {
        let mut shown = vec![
            ("task", text(example.content.task.as_str())),
            ("text", text(&example.content.text)),
            ("round", text(&example.round)),
        ];
        shown.extend(
            example
                .more
                .context
                .as_ref()
                .map(|context| ("context", text(context))),
        );
        Ok(shown)
    }

    /// The list of the round's examples, of which its data set is made.
    fn other_keys(example: &FiledExample) -> Vec<Item> {
        let mut listed = Key::new(round_partition(&example.round), example.place()).item();
        listed.insert("schema".into(), count(SCHEMA.into()));
        listed.insert("example".into(), text(example.id.as_str()));
        vec![listed]
    }

    fn consensus(example: &FiledExample, verdicts: &[InterpretedVerdict], rules: &Rules) -> Option<Decision> {
        if example.n_raters == 0 {
            return None; // nobody is asked
        }
        let verdicts_one: Vec<Judgement> = verdicts.iter().map(|verdict| verdict.said.clone()).collect();
        let validation = &rules.configuration.validation;
        // no more verdicts are taken than were wanted when it was filed
        let most = validation
            .most
            .min(usize::try_from(example.n_raters).unwrap_or(usize::MAX));
        let validation = Validation {
            most,
            equal: validation.equal.min(most),
            ..validation.clone()
        };
        decide(&verdicts_one, &validation)
    }

    fn state(example: &FiledExample, decision: Option<&Decision>) -> Option<Counted> {
        let is_fooling = example.more.is_fooling;
        Some(Counted {
            state: State::new(example.duplicate.is_one(), is_fooling, decision),
            is_fooling,
        })
    }

    fn group(example: &FiledExample) -> String {
        format!("{}#{}#{}", example.round, example.content.task, example.submitter)
    }

    async fn version(_table: &Table, _round: &str, _rules: &Rules) -> Result<(), PortError> {
        Ok(())
    }

    fn scores(
        example: &FiledExample,
        states: &[&Counted],
        had_one: bool,
        _rules: &Rules,
        (): (),
    ) -> Result<Vec<Score>, String> {
        let standing = Standing::compute(states.iter().map(|counted| (counted.state, counted.is_fooling)));
        let card = standing.scorecard();
        // an annotator who had a score and has no example any more gets the score of no examples
        let nothing = || {
            had_one.then(|| Scorecard {
                score: 0.0,
                metrics: Metrics::new().with("n_submitted", 0_u64),
            })
        };
        let card = card.or_else(nothing);
        Ok(card
            .into_iter()
            .map(|card| Score {
                board: example.content.task.as_str().into(),
                score: card.score,
                metrics: card.metrics.into_json(),
            })
            .collect())
    }
}

fn round_partition(round: &str) -> String {
    format!("{BENCHMARK}#round#{round}")
}

/// The ids of all examples of a round, in the order in which they were uploaded.
///
/// # Errors
/// [`PortError`].
pub async fn examples_in(table: &Table, round: &str) -> Result<Vec<ExampleId>, PortError> {
    let items = table.query(&Partition::new(round_partition(round))).await?;
    items
        .iter()
        .map(|item| Reader { item }.parsed("example"))
        .collect()
}

/// An example as raters see it before they judge: without its author, the right answer, and the
/// models' answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Its id, which does not reveal whose it is.
    pub example: ExampleId,
    /// The task.
    pub task: Task,
    /// The context, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text.
    pub text: String,
    /// The round that it counts in.
    pub round: String,
}

/// The raters' queue, oldest first.
///
/// # Errors
/// [`PortError`].
pub async fn unjudged(table: &Table) -> Result<Vec<Unjudged>, PortError> {
    let items = queue::<Examples>(table).await?;
    items.iter().map(of_queue).collect()
}

/// An example as its place in the queue shows it.
///
/// # Errors
/// [`PortError`].
pub fn of_queue(item: &Item) -> Result<Unjudged, PortError> {
    let reader = Reader { item };
    let context = item.get("context").and_then(|value| value.as_s().ok());
    Ok(Unjudged {
        example: reader.parsed("example")?,
        task: reader.parsed("task")?,
        context: context.cloned(),
        text: reader.text("text")?.into(),
        round: reader.text("round")?.into(),
    })
}
