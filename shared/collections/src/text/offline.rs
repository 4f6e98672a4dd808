//! Checks files against the rules without a cloud.

use std::collections::BTreeMap;

use crate::common::offline::{Details, OTHER_BOARDS, Offline, SeenTexts};
use dataperf::{Digest, Verdict as Outcome};
use serde_json::json;

use crate::text::configuration::Parameters;
use crate::text::duplicates;
use crate::text::hosted::{BENCHMARK, Kind};
use crate::text::lines::{Example, Rules, Verdict};
use crate::text::task::Task;

/// The rules that are known where a file is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownRules {
    /// The rules.
    pub rules: Rules,
    /// Whether the words that are denied are among them: participants don't have the list.
    pub has_denied: bool,
    /// The data set, or the participants' kit, that has them.
    pub dataset: Digest,
}

impl Parameters {
    /// A configuration with the rules that participants may know: it has no models, and denies nothing.
    pub fn configuration(&self) -> crate::text::Configuration {
        let tasks = self.tasks.iter();
        let tasks = tasks.map(|(task, public)| {
            let rules = crate::text::TaskRules {
                targets: public.targets.clone(),
                needs_context: Some(public.needs_context),
                languages: Some(public.languages.clone()),
                deny: None,
            };
            (*task, rules)
        });
        crate::text::Configuration {
            tasks: tasks.collect(),
            targets: BTreeMap::new(),
            validation: self.validation.clone(),
            examples_a_day: self.examples_a_day,
            near_duplicate_from: self.near_duplicate_from,
            min_chars: self.min_chars,
            max_chars: self.max_chars,
            languages: Vec::new(),
            deny: Vec::new(),
        }
    }
}

impl KnownRules {
    /// The names under which a file can be checked: a board, for a file of examples, or a kind of
    /// file.
    pub fn names(&self) -> Vec<String> {
        let tasks = self.rules.configuration.tasks.keys().map(|task| task.as_str());
        let kinds = Kind::ALL.map(Kind::as_str);
        tasks.chain(kinds).map(str::to_owned).collect()
    }

    /// The verdict on a file for the board or of the kind `of`, in a receipt's form; `None` if
    /// neither has this name. A file for a board may have examples of other tasks, which count on
    /// their own boards: their lines are listed.
    pub fn verdict(&self, id_name: &str, file: &[u8]) -> Option<Outcome> {
        if !self.names().iter().any(|name| name == id_name) {
            return None;
        }
        Some(match id_name.parse::<Kind>() {
            Ok(Kind::Verdict) => {
                self.offline(Kind::Verdict, VERDICTS_UNKNOWN)
                    .verdict::<Verdict>(file, &self.rules, |_, _| Ok(Details::new()))
            }
            Ok(Kind::Submit) => self.examples(None, file),
            Err(_) => self.examples(id_name.parse().ok(), file),
        })
    }

    fn examples(&self, board: Option<Task>, file: &[u8]) -> Outcome {
        let mut offline = self.offline(Kind::Submit, EXAMPLES_UNKNOWN);
        if !self.has_denied {
            let denied =
                "whether a text has a word that the organizer denies: participants don't have the list";
            offline.not_checked.insert(0, denied.to_owned());
        }
        let mut seen: BTreeMap<(Task, Option<String>), SeenTexts> = BTreeMap::new();
        let from = self.rules.configuration.near_duplicate_from;
        let mut of_other_tasks = Vec::new();
        let mut verdict = offline.verdict::<Example>(file, &self.rules, |line, example| {
            if board.is_some_and(|board| board != example.task) {
                of_other_tasks.push(line);
            }
            let place = (example.task, example.context_id.clone());
            let of_place = seen.entry(place).or_insert_with(|| SeenTexts::new(from));
            let text = duplicates::comparable(&example.text);
            let duplicate = of_place.repeated(line, duplicates::keys(example), text);
            let mut details = Details::from([("task".to_owned(), json!(example.task))]);
            details.extend(duplicate.map(|duplicate| ("duplicate".to_owned(), duplicate)));
            Ok(details)
        });
        if !of_other_tasks.is_empty() {
            verdict
                .metrics
                .insert(OTHER_BOARDS.to_owned(), json!(of_other_tasks));
        }
        verdict
    }

    fn offline(&self, kind: Kind, unknown: [&str; 3]) -> Offline<'static> {
        Offline {
            benchmark: BENCHMARK,
            kind: kind.as_str(),
            dataset: self.dataset,
            not_checked: unknown.map(str::to_owned).into(),
        }
    }
}

/// The facts about examples that only the cloud knows.
const EXAMPLES_UNKNOWN: [&str; 3] = [
    "whether a text repeats one that was uploaded before, anybody's",
    "whether it fools the round's models, which stay with the organizer",
    "what is left of the day's examples, and whether the round is open",
];
/// The facts about verdicts that only the cloud knows.
const VERDICTS_UNKNOWN: [&str; 3] = [
    "whether there is such an example for you to judge, and whether its task has that label or answer",
    "whether the example's context contains the answer",
    "what is left of the day's verdicts, and whether you are a rater",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::text::configuration::Configuration;
    use crate::text::texts::contexts::Contexts;

    const CONTEXTS: &str = r#"{"id": "c1", "task": "nli", "text": "The door of the house is green."}
{"id": "c2", "task": "qa", "text": "The mill is by the river."}"#;

    fn known(has_denied: bool) -> KnownRules {
        let configuration = Configuration::parse(
            br#"{"tasks": {"nli": {"targets": ["a"]}, "qa": {"targets": ["a"]}, "sentiment": {"targets": ["a"], "languages": ["deu", "eng"]}},
                "targets": {"a": {"kind": "http", "url": "https://a.example"}}, "deny": ["kitten"], "min_chars": 5}"#,
        )
        .unwrap();
        let configuration = if has_denied {
            configuration
        } else {
            Parameters::from_settings(&configuration).configuration()
        };
        KnownRules {
            rules: Rules {
                configuration,
                contexts: Contexts::parse(CONTEXTS.as_bytes()).unwrap(),
            },
            has_denied,
            dataset: Digest::compute(b"kit"),
        }
    }

    const LINES: &str = r#"{"task": "nli", "context_id": "c1", "text": "The door is not red.", "label": "entailment"}
{"task": "nli", "context_id": "c1", "text": "the door is NOT red", "label": "entailment"}
{"task": "qa", "context_id": "c2", "text": "Where is the mill?", "answer": {"start": 3, "text": "river"}}
{"task": "sentiment", "text": "no", "label": "bad"}
{"task": "sentiment", "text": "A kitten of an answer, I like it.", "label": "positive"}"#;

    #[test]
    fn lines_have_the_outcomes_of_the_rules() {
        let verdict = known(false).verdict("nli", LINES.as_bytes()).unwrap();
        assert_eq!((verdict.leaderboard.as_str(), verdict.lines.len()), ("submit", 5));
        let codes = |line: usize| {
            let reasons = verdict.lines[line].reasons.iter();
            reasons.map(|reason| reason.code.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(codes(0), [""; 0]);
        assert_eq!(
            verdict.lines[1].details["duplicate"],
            json!({ "how": "exact", "whose": "own", "line": 1 })
        );
        assert_eq!(codes(2), ["not_in_context"]);
        assert_eq!(codes(3), ["unknown_label", "text_too_short"]);
        assert_eq!(codes(4), [""; 0], "participants don't have the list");
        assert_eq!(verdict.metrics[OTHER_BOARDS], json!([5]));
        assert!(
            verdict.metrics["not_checked"][0]
                .as_str()
                .unwrap()
                .contains("denies")
        );
    }

    #[test]
    fn the_whole_data_set_reveals_denied_terms() {
        let verdict = known(true).verdict("submit", LINES.as_bytes()).unwrap();
        assert_eq!(verdict.lines[4].reasons[0].code, "denied_term");
        assert!(!verdict.metrics["not_checked"].to_string().contains("denies"));
        assert!(!verdict.metrics.contains_key(OTHER_BOARDS));
    }

    #[test]
    fn the_public_rules_are_those_of_the_configuration() {
        let whole = known(true).rules.configuration;
        let public = Parameters::from_settings(&whole).configuration();
        assert_eq!(
            Parameters::from_settings(&public).tasks,
            Parameters::from_settings(&whole).tasks
        );
        assert_eq!(
            public.languages(Task::Sentiment),
            whole.languages(Task::Sentiment)
        );
    }

    #[test]
    fn only_the_verdict_form_accepts_verdicts() {
        let line = br#"{"example": "0123456789abcdef0123456789abcdef", "label": "neutral"}"#;
        let known = known(false);
        let verdict = known.verdict("verdict", line).unwrap();
        assert_eq!(verdict.status, dataperf::Ending::Accepted);
        assert_eq!(
            known.verdict("submit", line).unwrap().status,
            dataperf::Ending::Rejected
        );
        assert_eq!(known.verdict("hate-speech", line), None, "it is not offered");
        assert_eq!(known.names(), ["nli", "qa", "sentiment", "submit", "verdict"]);
    }
}
