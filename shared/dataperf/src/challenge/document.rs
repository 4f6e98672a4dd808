//! Checks the document an organizer writes, and finds everything that is wrong with it at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{Object, Reader, quoted};
use super::{BoardRules, Challenge, Messages, Ranking, Round, Visibility};
use crate::descriptor::{Descriptor, Fixed};
use crate::feedback::Feedback;
use crate::ports::leaderboard::OPEN_ROUND;
use crate::rejection::{Rejection, pointer, quote};
use crate::{Digest, Timestamp};

const MAX_ID_BYTES: usize = 64;

/// The challenge of each benchmark that a document has, by the benchmark's id. `hosted` are the benchmarks there are.
///
/// # Errors
/// A [`Rejection`] with everything that is wrong, each with its place as a JSON pointer.
///
/// ```
/// let document = serde_json::json!({
///     "schema": 1, "title": "Spring", "benchmarks": { "speech-selection": { "rounds": [
///         { "id": "2026-spring", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z", "daily_limit": 5 },
///     ] } },
/// });
/// let hosted = [dataperf::Descriptor::of::<dataperf::benchmarks::speech_selection::SpeechSelection>()];
/// let challenges = dataperf::challenge::check(&document, &hosted).expect("nothing is wrong with it");
/// assert_eq!(challenges["speech-selection"].rounds[0].daily_limit, Some(5));
/// ```
pub fn check(document: &Value, hosted: &[Descriptor]) -> Result<BTreeMap<String, Challenge>, Rejection> {
    let mut reader = Reader::default();
    let challenges = reader.document(document, hosted);
    reader.reasons.into_verdict(challenges)
}

impl Reader {
    fn document(&mut self, document: &Value, hosted: &[Descriptor]) -> BTreeMap<String, Challenge> {
        let known = ["schema", "title", "about", "feedback", "benchmarks"];
        let Some(top) = self.object(document, "", &known) else {
            return BTreeMap::new();
        };
        if top.get("schema").and_then(Value::as_u64) != Some(Challenge::SCHEMA.into()) {
            let message = format!("the document begins with `schema: {}`", Challenge::SCHEMA);
            self.wrong("wrong_schema", "/schema", message);
        }
        let title = self.text(top, "", "title");
        if title.is_none() && !top.contains_key("title") {
            self.wrong("missing_key", "/title", "a challenge has a `title`");
        }
        let about = self.text(top, "", "about");
        let feedback = self.feedback(top, "").unwrap_or_default();
        let Some(benchmarks) = top.get("benchmarks") else {
            self.wrong(
                "missing_key",
                "/benchmarks",
                "`benchmarks` lists what is competed on",
            );
            return BTreeMap::new();
        };
        let mut challenges = BTreeMap::new();
        let found = self.map(benchmarks, "/benchmarks").cloned().unwrap_or_default();
        for (id, benchmark) in &found {
            let at = pointer("/benchmarks", id);
            let descriptor = hosted.iter().find(|hosted| hosted.id == id);
            if descriptor.is_none() {
                let ids: Vec<&str> = hosted.iter().map(|hosted| hosted.id).collect();
                let message = format!(
                    "there is no benchmark {}: choose one of {}",
                    quote(id),
                    quoted(&ids)
                );
                self.wrong("unknown_benchmark", &at, message);
            }
            let mut challenge = self.benchmark(benchmark, &at, feedback);
            if let Some(fixed) = descriptor.and_then(|descriptor| descriptor.fixed) {
                self.fixed(benchmark, &fixed, &at);
                challenge.ranking = fixed.ranking;
            }
            let (title, about) = (title.clone().unwrap_or_default(), about.clone());
            challenges.insert(
                id.clone(),
                Challenge {
                    title,
                    about,
                    ..challenge
                },
            );
        }
        if found.is_empty() && benchmarks.is_object() {
            self.wrong("empty", "/benchmarks", "a challenge has at least one benchmark");
        }
        challenges
    }

    fn benchmark(&mut self, value: &Value, at: &str, feedback: Feedback) -> Challenge {
        let mut challenge = Challenge {
            schema: Challenge::SCHEMA,
            title: String::new(),
            about: None,
            ranking: Ranking::default(),
            feedback,
            leaderboards: BTreeMap::new(),
            rounds: Vec::new(),
        };
        let Some(object) = self.object(value, at, &["ranking", "feedback", "leaderboards", "rounds"]) else {
            return challenge;
        };
        challenge.ranking = self
            .choice(object, at, "ranking", "`best`, `latest` or `all`")
            .unwrap_or_default();
        challenge.feedback = self.feedback(object, at).unwrap_or(feedback);
        if let Some(boards) = object.get("leaderboards") {
            let at = pointer(at, "leaderboards");
            for (name, rules) in &self.map(boards, &at).cloned().unwrap_or_default() {
                let at = pointer(&at, name);
                self.name(name, &at);
                if let Some(rules) = self.object(rules, &at, &["ranking", "feedback"]) {
                    let rules = BoardRules {
                        ranking: self.choice(rules, &at, "ranking", "`best`, `latest` or `all`"),
                        feedback: self.feedback(rules, &at),
                    };
                    challenge.leaderboards.insert(name.clone(), rules);
                }
            }
        }
        let at = pointer(at, "rounds");
        let mut rounds = Vec::new();
        for (idx, round) in self.list(object.get("rounds"), &at).iter().enumerate() {
            let at = format!("{at}/{idx}");
            rounds.extend(self.round(round, &at).map(|round| (at, round)));
        }
        self.rounds_fit(&rounds);
        challenge.rounds = rounds.into_iter().map(|(_, round)| round).collect();
        challenge
    }

    /// What a challenge can't choose for a benchmark. The document is read as every other first, so that only what is of the
    /// right form comes here.
    fn fixed(&mut self, benchmark: &Value, fixed: &Fixed, at: &str) {
        let one_ranking = |reader: &mut Self, value: &Value, at: &str| {
            if let Some(ranking) = value.get("ranking").and_then(Value::as_str)
                && ranking != fixed.ranking.as_str()
            {
                reader.wrong("fixed_ranking", &pointer(at, "ranking"), fixed.why_ranking);
            }
        };
        one_ranking(self, benchmark, at);
        for (name, rules) in benchmark["leaderboards"].as_object().into_iter().flatten() {
            let at = pointer(&pointer(at, "leaderboards"), name);
            one_ranking(self, rules, &at);
        }
        for (idx, round) in benchmark["rounds"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{at}/rounds/{idx}");
            let named = round["leaderboards"].as_array();
            let has = |named: &[Value], board: &str| named.contains(&board.into());
            if named.is_some_and(|named| !fixed.leaderboards.iter().all(|board| has(named, board))) {
                let message = format!(
                    "a round is of {}, {}: leave it out",
                    fixed.all_leaderboards,
                    quoted(fixed.leaderboards)
                );
                self.wrong("partial_round", &pointer(&at, "leaderboards"), message);
            }
            for (key, remedy) in fixed.without {
                if round.get(key).is_some() {
                    let message = format!("this benchmark has no `{key}`: {remedy}");
                    self.wrong("not_of_this_benchmark", &pointer(&at, key), message);
                }
            }
            if round["artifacts"] == "public" {
                let at = pointer(&at, "artifacts");
                self.wrong("not_of_this_benchmark", &at, fixed.why_private);
            }
        }
    }

    fn round(&mut self, value: &Value, at: &str) -> Option<Round> {
        let known = [
            "id",
            "leaderboards",
            "opens",
            "closes",
            "dataset",
            "daily_limit",
            "total_limit",
            "division",
            "artifacts",
            "feedback",
            "baselines",
            "messages",
        ];
        let object = self.object(value, at, &known)?;
        for key in ["id", "opens"] {
            if !object.contains_key(key) {
                self.wrong("missing_key", &pointer(at, key), format!("a round has `{key}`"));
            }
        }
        let id = self.text(object, at, "id");
        if let Some(id) = &id {
            self.round_id(id, &pointer(at, "id"));
        }
        let (opens, closes): (Option<Timestamp>, _) = (
            self.parsed(object, at, "opens"),
            self.parsed(object, at, "closes"),
        );
        if let (Some(opens), Some(closes)) = (opens, closes)
            && closes <= opens
        {
            let message = format!("it closes at {closes}, which is not after its opening at {opens}");
            self.wrong("closes_before_opening", &pointer(at, "closes"), message);
        }
        let (daily_limit, total_limit) = (
            self.limit(object, at, "daily_limit"),
            self.limit(object, at, "total_limit"),
        );
        if let (Some(daily), Some(total)) = (daily_limit, total_limit)
            && daily > total
        {
            let message = format!("{daily} a day are never reached with {total} in all");
            self.wrong("bad_limit", &pointer(at, "daily_limit"), message);
        }
        let (division, messages) = (
            self.text(object, at, "division"),
            self.messages(object.get("messages"), at),
        );
        let round = Round {
            id: id.unwrap_or_default(),
            leaderboards: self.names(object, at, "leaderboards", Self::name),
            opens: opens.unwrap_or(Timestamp::from_unix_millis(0)),
            closes,
            dataset: self.parsed::<Digest>(object, at, "dataset"),
            daily_limit,
            total_limit,
            division,
            artifacts: self
                .choice::<Visibility>(object, at, "artifacts", "`private` or `public`")
                .unwrap_or_default(),
            feedback: self.feedback(object, at),
            baselines: self.names(object, at, "baselines", Self::submitter),
            messages,
            evaluations: BTreeMap::new(), // the data set's to say
        };
        opens.map(|_| round) // without an opening it can't be held against the others
    }

    fn feedback(&mut self, object: &Object, at: &str) -> Option<Feedback> {
        self.choice(object, at, "feedback", "`score`, `metrics` or `full`")
    }

    fn messages(&mut self, value: Option<&Value>, at: &str) -> Messages {
        let at = &pointer(at, "messages");
        let object = value.and_then(|value| self.object(value, at, &["before", "open", "after"]));
        let Some(object) = object else {
            return Messages::default();
        };
        Messages {
            before: self.text(object, at, "before"),
            open: self.text(object, at, "open"),
            after: self.text(object, at, "after"),
        }
    }

    /// Ids are unique, and at any moment a leaderboard has one round at most.
    fn rounds_fit(&mut self, rounds: &[(String, Round)]) {
        let mut seen = BTreeSet::new();
        for (idx, (at, round)) in rounds.iter().enumerate() {
            if !round.id.is_empty() && !seen.insert(&round.id) {
                let message = format!("the id {} is used twice", quote(&round.id));
                self.wrong("duplicate_round", &pointer(at, "id"), message);
            }
            for (_, other) in &rounds[..idx] {
                let shares = round.leaderboards.is_empty()
                    || other.leaderboards.is_empty()
                    || round.leaderboards.iter().any(|name| other.has(name));
                if shares && !round.is_closed(other.opens) && !other.is_closed(round.opens) {
                    let message = format!(
                        "it overlaps with {} on the same leaderboard: the time of an upload must tell its round",
                        quote(&other.id)
                    );
                    self.wrong("overlapping_rounds", &pointer(at, "opens"), message);
                }
            }
        }
    }

    fn round_id(&mut self, id: &str, at: &str) {
        let fits = (1..=MAX_ID_BYTES).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if !fits || id == OPEN_ROUND {
            let message = format!(
                "{} can't be a round's id: 1 to {MAX_ID_BYTES} lower-case letters, digits, `-` and `_`, and not `{OPEN_ROUND}`",
                quote(id)
            );
            self.wrong("bad_round_id", at, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::benchmarks::speech_selection::SpeechSelection;
    use crate::benchmarks::vision_selection::VisionSelection;
    use crate::rejection::Reason;

    fn check(document: &Value) -> Result<BTreeMap<String, Challenge>, Rejection> {
        let hosted = [
            Descriptor::of::<SpeechSelection>(),
            Descriptor::of::<VisionSelection>(),
        ];
        super::check(document, &hosted)
    }

    fn with_rounds(rounds: &Value) -> Value {
        json!({ "schema": 1, "title": "t", "benchmarks": { "speech-selection": { "rounds": rounds } } })
    }

    fn codes(document: &Value) -> Vec<(String, String)> {
        let rejection = check(document).expect_err("something is wrong");
        let code = |reason: &Reason| (reason.code.clone(), reason.at.clone());
        rejection.reasons().iter().map(code).collect()
    }

    #[test]
    fn finds_everything_at_once() {
        let found = codes(&json!({
            "schema": 2, "colour": "red", "feedback": "all", "benchmarks": {
                "speech-selecton": { "ranking": "worst" },
                "vision-selection": { "feedback": true, "leaderboards": { "a#b": {}, "open": { "rank": 1, "feedback": "none" } }, "rounds": [
                    { "id": "Open!", "opens": "today", "daily_limit": 0, "total_limit": "many", "artifacts": 7, "feedback": 1 },
                    { "id": "open", "opens": "2026-03-02T00:00:00Z", "closes": "2026-03-01T00:00:00Z",
                      "dataset": "sha256:12", "daily_limit": 6, "total_limit": 5, "baselines": ["x", "x", 3],
                      "messages": { "during": "now" } },
                    {}, [],
                ] },
            },
        }));
        let round = |idx: usize, key: &str| format!("/benchmarks/vision-selection/rounds/{idx}/{key}");
        for (code, at) in [
            ("wrong_schema", "/schema".to_owned()),
            ("unknown_key", "/colour".into()),
            ("unknown_value", "/feedback".into()),
            ("unknown_value", "/benchmarks/vision-selection/feedback".into()),
            (
                "unknown_value",
                "/benchmarks/vision-selection/leaderboards/open/feedback".into(),
            ),
            ("unknown_value", round(0, "feedback")),
            ("missing_key", "/title".into()),
            ("unknown_benchmark", "/benchmarks/speech-selecton".into()),
            ("unknown_value", "/benchmarks/speech-selecton/ranking".into()),
            (
                "unusable_name",
                "/benchmarks/vision-selection/leaderboards/a#b".into(),
            ),
            (
                "unknown_key",
                "/benchmarks/vision-selection/leaderboards/open/rank".into(),
            ),
            ("bad_round_id", round(0, "id")),
            ("wrong_type", round(0, "opens")),
            ("bad_limit", round(0, "daily_limit")),
            ("bad_limit", round(0, "total_limit")),
            ("unknown_value", round(0, "artifacts")),
            ("bad_round_id", round(1, "id")),
            ("closes_before_opening", round(1, "closes")),
            ("wrong_type", round(1, "dataset")),
            ("bad_limit", round(1, "daily_limit")),
            ("duplicate_name", round(1, "baselines/1")),
            ("wrong_type", round(1, "baselines/2")),
            ("unknown_key", round(1, "messages/during")),
            ("missing_key", round(2, "id")),
            ("missing_key", round(2, "opens")),
            ("wrong_type", "/benchmarks/vision-selection/rounds/3".into()),
        ] {
            assert!(
                found.contains(&(code.to_owned(), at.clone())),
                "{code} {at}: {found:#?}"
            );
        }
    }

    #[test]
    fn at_any_moment_a_leaderboard_has_one_round() {
        let round = |id: &str, leaderboards: &[&str], opens: u8, closes: u8| {
            json!({ "id": id, "leaderboards": leaderboards, "opens": format!("2026-03-{opens:02}T00:00:00Z"),
                    "closes": format!("2026-03-{closes:02}T00:00:00Z") })
        };
        let fits = json!([
            round("a", &["x"], 1, 5),
            round("b", &["x"], 5, 9),
            round("c", &["y"], 1, 9)
        ]);
        assert!(check(&with_rounds(&fits)).is_ok());
        let overlaps = json!([
            round("a", &["x"], 1, 5),
            round("b", &["x", "y"], 4, 9),
            round("b", &[], 9, 12)
        ]);
        let at = |idx: usize, key: &str| format!("/benchmarks/speech-selection/rounds/{idx}/{key}");
        assert_eq!(
            codes(&with_rounds(&overlaps)),
            [
                ("overlapping_rounds".into(), at(1, "opens")),
                ("duplicate_round".into(), at(2, "id"))
            ]
        );
        let unending = json!([{ "id": "a", "opens": "2026-03-01T00:00:00Z" }, { "id": "b", "opens": "2026-04-01T00:00:00Z" }]);
        assert_eq!(codes(&with_rounds(&unending)).len(), 1);
    }

    #[test]
    fn what_is_published_reads_back() {
        let round = json!({ "id": "a", "opens": "2026-03-01T00:00:00Z", "division": "closed", "artifacts": "public",
                            "feedback": "metrics", "messages": { "open": "Welcome" } });
        let challenges = check(&with_rounds(&json!([round]))).expect("nothing is wrong");
        let challenge = &challenges["speech-selection"];
        let json = challenge.to_json().expect("JSON");
        assert_eq!(
            serde_json::from_slice::<Challenge>(&json).expect("a challenge"),
            *challenge
        );
    }

    #[test]
    fn what_is_said_of_all_benchmarks_holds_for_those_that_say_nothing() {
        let document = json!({ "schema": 1, "title": "t", "feedback": "full", "benchmarks": {
            "speech-selection": {}, "vision-selection": { "feedback": "metrics", "leaderboards": { "open": { "feedback": "score" } } },
        } });
        let challenges = check(&document).expect("nothing is wrong");
        assert_eq!(challenges["speech-selection"].feedback, Feedback::Full);
        let vision = &challenges["vision-selection"];
        assert_eq!(vision.feedback, Feedback::Metrics);
        assert_eq!(vision.leaderboards["open"].feedback, Some(Feedback::Score));
        let silent = json!({ "schema": 1, "title": "t", "benchmarks": { "speech-selection": {} } });
        let silent = check(&silent).expect("nothing is wrong");
        assert_eq!(silent["speech-selection"].feedback, Feedback::Score);
    }

    #[test]
    fn any_json_is_an_answer() {
        for document in [
            json!(null),
            json!([]),
            json!("x"),
            json!({}),
            json!({ "benchmarks": [] }),
            with_rounds(&json!({})),
        ] {
            assert!(check(&document).is_err(), "{document}");
        }
    }
}
