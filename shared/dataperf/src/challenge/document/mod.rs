//! Checks the document an organizer writes, and finds everything that is wrong with it at once.

pub(crate) mod announcements;
pub(crate) mod dates;
pub(crate) mod fields;
mod finals;
mod form;
mod merge;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::document::fields::{Reader, quoted};
use super::{BoardRules, Challenge, Messages, Ranking, Round, Visibility};
use crate::benchmark::descriptor::{Descriptor, Fixed};
use crate::board::OPEN_ROUND;
use crate::rejection::{Reasons, Rejection, pointer, quote};
use crate::{Digest, Timestamp, offer};

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
/// let hosted = [dataperf::Descriptor::for_benchmark::<dataperf_benchmarks::speech_selection::SpeechSelection>()];
/// let challenges = dataperf::challenge::check(&document, &hosted).expect("nothing is wrong with it");
/// assert_eq!(challenges["speech-selection"].rounds[0].daily_limit, Some(5));
/// ```
pub fn check(document: &Value, hosted: &[Descriptor]) -> Result<BTreeMap<String, Challenge>, Rejection> {
    let mut reader = Reader::default();
    let challenges = reader.document(document, hosted);
    reader.reasons.into_verdict(challenges)
}

/// The problems of rounds that are `added` to published ones. Places of published rounds have their
/// ids.
pub(super) fn rounds_fit(published: &[&Round], added: &[Round]) -> Reasons {
    let mut reader = Reader::default();
    let of_published = published
        .iter()
        .map(|round| (pointer("/rounds", &round.id), (*round).clone()));
    let of_added = added
        .iter()
        .enumerate()
        .map(|(idx, round)| (format!("/rounds/{idx}"), round.clone()));
    let both: Vec<(String, Round)> = of_published.chain(of_added).collect();
    reader.all_fit(&both);
    reader.reasons
}

impl Reader {
    fn document(&mut self, document: &Value, hosted: &[Descriptor]) -> BTreeMap<String, Challenge> {
        let known = ["schema", "title", "about", "announcements", "benchmarks"];
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
        let announcements = self.announcements(top);
        let Some(benchmarks) = top.get("benchmarks") else {
            self.wrong(
                "missing_key",
                "/benchmarks",
                "`benchmarks` lists what is competed on",
            );
            return BTreeMap::new();
        };
        let mut challenges = BTreeMap::new();
        let by_id = self.map(benchmarks, "/benchmarks").cloned().unwrap_or_default();
        for (id, benchmark) in &by_id {
            let at = pointer("/benchmarks", id);
            let descriptor = hosted.iter().find(|hosted| hosted.id == id);
            if descriptor.is_none() {
                let known = hosted.iter().map(|hosted| hosted.id);
                let message = format!("there is no benchmark {}: {}", quote(id), offer(id, known));
                self.wrong("unknown_benchmark", &at, message);
            }
            let mut challenge = self.benchmark(benchmark, &at, descriptor);
            self.needs_hidden_data(&challenge, descriptor, &at);
            self.takes_programs(&challenge, descriptor, &at);
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
                    announcements: announcements.clone(),
                    ..challenge
                },
            );
        }
        if by_id.is_empty() && benchmarks.is_object() {
            self.wrong("empty", "/benchmarks", "a challenge has at least one benchmark");
        }
        challenges
    }

    fn benchmark(&mut self, value: &Value, at: &str, hosted: Option<&Descriptor>) -> Challenge {
        let mut challenge = Challenge {
            schema: Challenge::SCHEMA,
            title: String::new(),
            about: None,
            announcements: Vec::new(),
            ranking: Ranking::default(),
            leaderboards: BTreeMap::new(),
            rounds: Vec::new(),
        };
        let Some(object) = self.object(value, at, &["ranking", "leaderboards", "rounds"]) else {
            return challenge;
        };
        challenge.ranking = self
            .choice(object, at, "ranking", "`best` or `latest`")
            .unwrap_or_default();
        if let Some(boards) = object.get("leaderboards") {
            let at = pointer(at, "leaderboards");
            for (name, rules) in &self.map(boards, &at).cloned().unwrap_or_default() {
                let at = pointer(&at, name);
                self.name(name, &at);
                if let Some(rules) = self.object(rules, &at, &["ranking"]) {
                    let rules = BoardRules {
                        ranking: self.choice(rules, &at, "ranking", "`best` or `latest`"),
                    };
                    challenge.leaderboards.insert(name.clone(), rules);
                }
            }
        }
        let at = pointer(at, "rounds");
        let mut rounds = Vec::new();
        for (idx, value) in self.list(object.get("rounds"), &at).iter().enumerate() {
            let at = format!("{at}/{idx}");
            if let Some(round) = self.round(value, &at, hosted) {
                rounds.push((at, round));
            }
        }
        self.presets_fit(&rounds, hosted);
        self.all_fit(&rounds);
        challenge.rounds = rounds.into_iter().map(|(_, round)| round).collect();
        challenge
    }

    /// Refuses settings that a challenge can't choose for this benchmark. Runs after the generic
    /// checks, so that every value has the right form.
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

    fn round(&mut self, value: &Value, at: &str, hosted: Option<&Descriptor>) -> Option<Round> {
        let known = [
            "id",
            "title",
            "about",
            "leaderboards",
            "opens",
            "closes",
            "dataset",
            "final",
            "retire",
            "daily_limit",
            "total_limit",
            "daily_failures",
            "division",
            "contact",
            "terms",
            "programs",
            "artifacts",
            "preset",
            "curves",
            "ladder",
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
        let (title, about) = (self.text(object, at, "title"), self.text(object, at, "about"));
        if about.is_some() && !object.contains_key("title") {
            let message = "a round with an `about` of its own has a `title` of its own";
            self.wrong("missing_key", &pointer(at, "title"), message);
        }
        let (opens, closes) = (
            self.beginning(object, at, "opens"),
            self.end(object, at, "closes"),
        );
        if let (Some(opens), Some(closes)) = (opens, closes)
            && closes <= opens
        {
            let message = format!("it closes at {closes} and opens at {opens}: let it close after it opens");
            self.wrong("closes_before_opening", &pointer(at, "closes"), message);
        }
        let (daily_limit, total_limit) = (
            self.limit(object, at, "daily_limit"),
            self.limit(object, at, "total_limit"),
        );
        if let (Some(daily), Some(total)) = (daily_limit, total_limit)
            && daily > total
        {
            let message = format!(
                "`daily_limit` ({daily}) is higher than `total_limit` ({total}): lower the first or raise the \
                second"
            );
            self.wrong("bad_limit", &pointer(at, "daily_limit"), message);
        }
        let (division, messages) = (
            self.text(object, at, "division"),
            self.messages(object.get("messages"), at),
        );
        let round = Round {
            id: id.unwrap_or_default(),
            title,
            about,
            leaderboards: self.names(object, at, "leaderboards", Self::name),
            opens: opens.unwrap_or(Timestamp::from_unix_millis(0)),
            closes,
            dataset: self.parsed::<Digest>(object, at, "dataset"),
            final_dataset: self.parsed::<Digest>(object, at, "final"),
            retire: self.retire(object, at),
            daily_limit,
            total_limit,
            daily_failures: self.limit(object, at, "daily_failures"),
            division,
            contact: self.text(object, at, "contact"),
            terms: self.text(object, at, "terms"),
            programs: self.programs(object, at),
            artifacts: self
                .choice::<Visibility>(object, at, "artifacts", "`private` or `public`")
                .unwrap_or_default(),
            preset: self.preset(object, at, hosted),
            curves: self.flag(object, at, "curves"),
            ladder: self.flag(object, at, "ladder"),
            baselines: self.names(object, at, "baselines", Self::submitter),
            messages,
            evaluations: BTreeMap::new(), // the data set's to say
        };
        opens.map(|_| round) // without an opening it can't be held against the others
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

    /// Checks that rounds agree with each other.
    fn all_fit(&mut self, rounds: &[(String, Round)]) {
        self.rounds_fit(rounds);
        self.finals_fit(rounds);
        self.retirements_fit(rounds);
        self.programs_fit(rounds);
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
                if round.shares_boards(other)
                    && !round.is_closed(other.opens)
                    && !other.is_closed(round.opens)
                {
                    self.wrong(
                        "overlapping_rounds",
                        &pointer(at, "opens"),
                        explain_overlap(other, round),
                    );
                }
            }
        }
    }

    pub(super) fn round_id(&mut self, id: &str, at: &str) {
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

/// Between which moments two rounds overlap, and what to write instead.
fn explain_overlap(one: &Round, other: &Round) -> String {
    let (first, second) = if one.opens <= other.opens {
        (one, other)
    } else {
        (other, one)
    };
    let (first_id, second_id, opens) = (quote(&first.id), quote(&second.id), second.opens);
    // a round that opens with the other one can't close before it
    let earlier = (first.opens < opens).then(|| format!("`closes: {opens}` in {first_id}"));
    let (ends, later) = match first.closes {
        Some(closes) => (
            format!("closes at {closes}"),
            Some(format!("`opens: {closes}` in {second_id}")),
        ),
        None => ("never closes".to_owned(), None),
    };
    let remedies: Vec<String> = later.into_iter().chain(earlier).collect();
    let remedy = if remedies.is_empty() {
        format!("Write a `closes` in {first_id}, and a later `opens` in {second_id}")
    } else {
        format!("Write {}", remedies.join(", or "))
    };
    format!(
        "two rounds of one leaderboard overlap: {first_id} {ends}, and {second_id} opens at {opens}. {remedy}"
    )
}
