//! Examples as collected items: what the table keeps of them beside what every item has, what raters may see, and the scores that
//! follow.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Descriptor;
use dataperf::challenge::Ranking;
use dataperf::dataset::{DatasetError, FrozenFiles};
use dataperf::ports::PortError;
use dataperf::scorecard::{Metrics, Scorecard};
use dataperf_aws::{Item, Key, Partition, Reader, SCHEMA, Table, count, text};
use dataperf_collection_aws::{Collected, Collection, Score, Space, as_json, broken, parsed, queue};
use dataperf_text::{
    Answer, BENCHMARK, CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, Contexts, DESCRIPTOR, Decision,
    Example, ExampleId, Found, RANKING, Rules, Said, Standing, State, Task, Validation, decide, duplicates,
};
use serde::{Deserialize, Serialize};

/// Adversarial Text, which collects examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Examples;

/// An example as it was submitted, and what has become of it.
pub type FiledExample = Collected<Examples>;

/// What is known of an example beside what its line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What each of the round's models answers, by the models' names.
    pub models: BTreeMap<String, ModelSaid>,
    /// Whether it fooled the models: more than half of them.
    pub is_fooling: bool,
    /// The text of its context, where it has one: what the models saw is what raters see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What one model says of an example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSaid {
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
    /// What the rater finds, who has not seen what the author says.
    pub found: Found,
    /// What that means: whether the author is right.
    pub said: Said,
}

/// What a standing keeps of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// What it counts as.
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
    type Said = Example;
    type More = Asked;
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

    /// Removes the reason why a rater has flagged an example: it is for the organizer, beside the example.
    fn without_notes(verdict: &InterpretedVerdict) -> InterpretedVerdict {
        let mut without = verdict.clone();
        if let Found::Flagged(why) = &mut without.found {
            why.clear();
        }
        if let Said::Flagged(why) = &mut without.said {
            why.clear();
        }
        without
    }

    fn text(said: &Example) -> &str {
        &said.text
    }

    fn keys(said: &Example, (): ()) -> Vec<String> {
        let keys = duplicates::keys(said);
        let exact = std::iter::once(format!("exact-{}", keys.exact));
        exact.chain(keys.bands).collect()
    }

    fn comparable(text: &str, (): ()) -> String {
        duplicates::comparable(text)
    }

    fn near_duplicate_from(rules: &Rules) -> f64 {
        rules.configuration.near_duplicate_from
    }

    fn write(more: &Asked, item: &mut Item) -> Result<(), PortError> {
        item.insert("asked".into(), text(as_json("example", more)?));
        Ok(())
    }

    fn read(reader: &Reader<'_>) -> Result<Asked, PortError> {
        parsed(reader, "asked")
    }

    /// An example that is known to repeat an earlier text goes to no rater, and neither do most of those that fooled nobody.
    fn is_judged(example: &FiledExample) -> bool {
        example.n_raters > 0
    }

    /// Shows the task, the context and the text: not what is right, not what models say, and not whether they were fooled.
    fn queued(example: &FiledExample) -> Result<Vec<(&'static str, AttributeValue)>, PortError> {
        let mut shown = vec![
            ("task", text(example.said.task.as_str())),
            ("text", text(&example.said.text)),
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
    fn filed_beside(example: &FiledExample) -> Vec<Item> {
        let mut listed = Key::new(round_partition(&example.round), example.place()).item();
        listed.insert("schema".into(), count(SCHEMA.into()));
        listed.insert("example".into(), text(example.id.as_str()));
        vec![listed]
    }

    fn consensus(example: &FiledExample, verdicts: &[InterpretedVerdict], rules: &Rules) -> Option<Decision> {
        if example.n_raters == 0 {
            return None; // nobody is asked
        }
        let said: Vec<Said> = verdicts.iter().map(|verdict| verdict.said.clone()).collect();
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
        decide(&said, &validation)
    }

    fn state(example: &FiledExample, found: Option<&Decision>) -> Option<Counted> {
        let is_fooling = example.more.is_fooling;
        Some(Counted {
            state: State::of(example.duplicate.is_one(), is_fooling, found),
            is_fooling,
        })
    }

    fn group(example: &FiledExample) -> String {
        format!("{}#{}#{}", example.round, example.said.task, example.submitter)
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
        let standing = Standing::of(states.iter().map(|counted| (counted.state, counted.is_fooling)));
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
                board: example.said.task.as_str().into(),
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
    let items = table.query(&Partition::of(round_partition(round))).await?;
    items
        .iter()
        .map(|item| Reader { item }.parsed("example"))
        .collect()
}

/// An example as raters see it before they judge: nothing of whose it is, of what is right, and of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unjudged {
    /// Its id, which does not reveal whose it is.
    pub example: ExampleId,
    /// The task.
    pub task: Task,
    /// The context, where it has one.
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
