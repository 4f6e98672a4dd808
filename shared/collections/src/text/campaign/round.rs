//! One round: annotators write, the model answers, raters decide.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Line, read};

use super::annotators::{Annotator, Written};
use super::chance::Chance;
use super::quality::{Known, Quality, Share};
use super::{CampaignError, RoundOutcome, Settings, other_label};
use crate::text::duplicates::{self, Earlier};
use crate::text::export::{Export, JudgedExample};
use crate::text::ids::{ExampleId, is_validated_by_chance};
use crate::text::judging::decision::{Decision, decide};
use crate::text::judging::standing::{Standing, State};
use crate::text::lines::{Example, Judgement, RaterFinding, Rules};
use crate::text::models::{ModelError, TargetModel};
use crate::text::task::Task;
use crate::text::texts::answers::{Gold, Input, fooled, is_fooling};

/// The simulated data.
pub(super) struct Played {
    pub(super) judged: Vec<JudgedExample>,
    known: Vec<Known>,
    rewrites: BTreeMap<String, usize>,
}

/// Annotators take turns, an example each.
pub(super) fn play(
    settings: &Settings,
    round: &str,
    rules: &Rules,
    target: &str,
    model: &dyn TargetModel,
) -> Result<Played, CampaignError> {
    let mut annotators: Vec<Annotator> = (0..settings.n_annotators)
        .map(|number| Annotator::new(settings, round, number))
        .collect();
    // the word decides what is drawn: with another one the tables of docs/dynamic.md are others
    let mut raters = Chance::new(settings.seed, &format!("{round}:validators"));
    let mut index = Index::default();
    let mut played = Played {
        judged: Vec::new(),
        known: Vec::new(),
        rewrites: BTreeMap::new(),
    };
    for turn in 0..settings.n_examples {
        let written: Vec<Written> = annotators
            .iter_mut()
            .map(|annotator| annotator.write(settings))
            .collect();
        let examples = written
            .iter()
            .map(|written| submitted(settings.task, written, rules));
        let examples: Vec<Example> = examples.collect::<Result<_, _>>()?;
        let inputs: Vec<Input> = examples
            .iter()
            .map(|example| example.input(&rules.contexts))
            .collect();
        let answers = model.answers(settings.task, &inputs)?;
        if answers.len() != inputs.len() {
            let message = format!("{} answers to {} examples", answers.len(), inputs.len());
            return Err(ModelError::NoAnswer(message).into());
        }
        let request = examples.into_iter().zip(inputs).zip(answers);
        let turns = annotators.iter_mut().zip(written).zip(request);
        for ((annotator, written), ((example, input), answer)) in turns {
            let is_fooled = fooled(settings.task, &example.gold, &answer);
            let is_fooling = is_fooling(usize::from(is_fooled), 1);
            annotator.learn(is_fooling);
            if is_fooling {
                *played.rewrites.entry(written.rewrite.to_owned()).or_default() += 1;
            }
            let id = ExampleId::derive(&format!("{round}:{}", annotator.name), turn + 1);
            let is_duplicate = index.is_repeated(&id, &annotator.name, &example, rules);
            let truth = written.made.truth();
            let mut judged = JudgedExample {
                id,
                annotator: annotator.name.clone(),
                example,
                context: input.context,
                is_duplicate,
                is_fooling,
                answers: BTreeMap::from([(target.to_owned(), answer)]),
                fooled: BTreeMap::from([(target.to_owned(), is_fooled)]),
                verdicts: Vec::new(),
                decision: None,
            };
            validate(settings, rules, &truth, &mut judged, &mut raters)?;
            played.known.push(Known::from_judged(&judged, &truth));
            played.judged.push(judged);
        }
    }
    Ok(played)
}

/// The parsed form of an annotator's line.
fn submitted(task: Task, written: &Written, rules: &Rules) -> Result<Example, ModelError> {
    let example = Example {
        task,
        context_id: written.made.context_id(),
        text: written.made.text(),
        gold: written.gold.clone(),
        why: written.rewrite.to_owned(),
    };
    let refused = |why: String| ModelError::NoAnswer(format!("the grammar's own text is refused: {why}"));
    let line = serde_json::to_vec(&example).map_err(|error| refused(error.to_string()))?;
    let lines: Vec<Line<Example>> =
        read(&line, rules).map_err(|rejection| refused(format!("{:?}", rejection.reasons())))?;
    let outcome = lines
        .into_iter()
        .next()
        .map(|line| line.outcome)
        .ok_or_else(|| refused("no line".to_owned()))?;
    outcome.map_err(|rejection| refused(format!("{} {:?}", example.text, rejection.reasons())))
}

/// Asks one rater after another what is right, until it is decided.
fn validate(
    settings: &Settings,
    rules: &Rules,
    truth: &Gold,
    judged: &mut JudgedExample,
    chance: &mut Chance,
) -> Result<(), CampaignError> {
    let validation = &rules.configuration.validation;
    if !judged.is_fooling && !is_validated_by_chance(&judged.id, validation.share_of_others) {
        return Ok(());
    }
    let mut request = BTreeSet::new();
    let context = judged.context.clone();
    while judged.decision.is_none() {
        let rater = chance.below(settings.n_raters);
        if !request.insert(rater) {
            continue;
        }
        let answer = if chance.happens(settings.rater_error) {
            other_label(settings.task, truth, chance)
        } else {
            truth.clone()
        };
        let message = RaterFinding::Right(Some(answer))
            .about(&judged.example, context.as_deref(), "line 1")
            .map_err(|rejection| ModelError::NoAnswer(format!("{:?}", rejection.reasons())))?;
        judged.verdicts.push((format!("rater-{rater:02}"), message));
        let all: Vec<Judgement> = judged
            .verdicts
            .iter()
            .map(|(_, message)| message.clone())
            .collect();
        judged.decision = decide(&all, validation);
    }
    Ok(())
}

/// The texts so far, by the keys of their duplicates.
#[derive(Default)]
struct Index {
    texts: Vec<(Earlier, String)>,
    by_key: BTreeMap<String, Vec<usize>>,
}

impl Index {
    /// Whether an example repeats an earlier one; later examples are compared with this one, too.
    fn is_repeated(&mut self, id: &ExampleId, annotator: &str, example: &Example, rules: &Rules) -> bool {
        let keys = duplicates::keys(example);
        let all: Vec<String> = keys.bands.into_iter().chain([keys.exact]).collect();
        let places: BTreeSet<usize> = all
            .iter()
            .filter_map(|key| self.by_key.get(key))
            .flatten()
            .copied()
            .collect();
        let earlier = places.iter().map(|&place| {
            let (earlier, author) = &self.texts[place];
            Earlier {
                is_own: author == annotator,
                ..earlier.clone()
            }
        });
        let earlier: Vec<Earlier> = earlier.collect();
        let duplicate = duplicates::repeated(example, &earlier, rules.configuration.near_duplicate_from);
        let place = self.texts.len();
        let own = Earlier {
            item: id.clone(),
            text: duplicates::comparable(&example.text),
            is_own: true,
        };
        self.texts.push((own, annotator.to_owned()));
        for key in all {
            self.by_key.entry(key).or_default().push(place);
        }
        duplicate.is_one()
    }
}

impl Played {
    /// The outcome of the round.
    pub(super) fn outcome(&self, task: Task, round: &str, target: &str, export: &Export) -> RoundOutcome {
        let states = self
            .judged
            .iter()
            .map(|judged| (judged.state(), judged.is_fooling));
        let standing = Standing::compute(states);
        let share = |is_so: fn(&JudgedExample) -> bool| {
            let submitted = self.judged.iter().filter(|judged| !judged.is_duplicate);
            Share::count(submitted.map(|judged| (&judged.annotator, is_so(judged))))
        };
        RoundOutcome {
            round: round.to_owned(),
            target: target.to_owned(),
            fooling: share(|judged| judged.is_fooling),
            validated: share(|judged| judged.state() == State::Validated),
            standing,
            rewrites: self.rewrites.clone(),
            quality: Quality::compute(&self.known),
            alpha: export.agreement.get(&task).and_then(|agreement| agreement.alpha),
        }
    }
}

impl Known {
    fn from_judged(judged: &JudgedExample, truth: &Gold) -> Self {
        Self {
            annotator: judged.annotator.clone(),
            is_right: judged.example.gold.says_the_same(truth),
            is_duplicate: judged.is_duplicate,
            is_fooling: judged.is_fooling,
            first: judged
                .verdicts
                .first()
                .map(|(_, message)| *message == Judgement::Correct),
            is_correct: judged
                .decision
                .as_ref()
                .map(|decision| *decision == Decision::Correct),
        }
    }
}
