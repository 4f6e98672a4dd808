//! A challenge as the document that an organizer writes.

use serde_json::{Map, Value, json};

use crate::Timestamp;
use crate::benchmark::descriptor::Descriptor;
use crate::challenge::{Challenge, Round, Visibility};

fn put<T: serde::Serialize>(object: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        object.insert(key.into(), json!(value));
    }
}

/// A time as a document has it.
fn time(at: Timestamp) -> String {
    let text = at.to_string();
    text.strip_suffix(".000Z")
        .map_or(text.clone(), |whole| format!("{whole}Z"))
}

fn listed(names: &[String]) -> Option<&[String]> {
    (!names.is_empty()).then_some(names)
}

impl Challenge {
    /// The document that publishes this challenge of one benchmark. [`check`](crate::challenge::check) turns
    /// it back into the same challenge, except for [`Round::evaluations`], which publishing fills
    /// in.
    pub fn document(&self, benchmark: &Descriptor) -> Value {
        let mut of_benchmark = Map::new();
        // some benchmarks say themselves how their boards rank
        let has_ranking = benchmark.fixed.is_none();
        put(&mut of_benchmark, "ranking", has_ranking.then_some(self.ranking));
        let has_rules = !self.leaderboards.is_empty();
        put(
            &mut of_benchmark,
            "leaderboards",
            has_rules.then_some(&self.leaderboards),
        );
        let rounds: Vec<_> = self.rounds.iter().map(Round::document).collect();
        put(
            &mut of_benchmark,
            "rounds",
            (!rounds.is_empty()).then_some(rounds),
        );
        let mut top = Map::new();
        put(&mut top, "schema", Some(self.schema));
        put(&mut top, "title", Some(&self.title));
        put(&mut top, "about", self.about.as_ref());
        let announcements: Vec<Value> = self
            .announcements
            .iter()
            .map(|one| {
                let mut announcements = Map::new();
                put(&mut announcements, "date", Some(time(one.date)));
                put(&mut announcements, "text", Some(&one.text));
                put(&mut announcements, "rounds", listed(&one.rounds));
                Value::Object(announcements)
            })
            .collect();
        put(
            &mut top,
            "announcements",
            (!announcements.is_empty()).then_some(announcements),
        );
        put(
            &mut top,
            "benchmarks",
            Some(json!({ benchmark.id: of_benchmark })),
        );
        Value::Object(top)
    }
}

impl Round {
    fn document(&self) -> Map<String, Value> {
        let mut object = Map::new();
        put(&mut object, "id", Some(&self.id));
        put(&mut object, "title", self.title.as_ref());
        put(&mut object, "about", self.about.as_ref());
        put(&mut object, "leaderboards", listed(&self.leaderboards));
        put(&mut object, "opens", Some(time(self.opens)));
        put(&mut object, "closes", self.closes.map(time));
        put(&mut object, "dataset", self.dataset);
        put(&mut object, "final", self.final_dataset);
        let retire = self.retire.map(|retire| {
            let mut object = Map::new();
            put(&mut object, "at", Some(time(retire.at)));
            put(&mut object, "dataset", Some(retire.dataset));
            object
        });
        put(&mut object, "retire", retire);
        put(&mut object, "daily_limit", self.daily_limit);
        put(&mut object, "total_limit", self.total_limit);
        put(&mut object, "daily_failures", self.daily_failures);
        put(&mut object, "division", self.division.as_ref());
        put(&mut object, "contact", self.contact.as_ref());
        put(&mut object, "terms", self.terms.as_ref());
        put(&mut object, "programs", self.programs.as_ref());
        let is_public = self.artifacts == Visibility::Public;
        put(&mut object, "artifacts", is_public.then_some(self.artifacts));
        put(&mut object, "preset", Some(self.preset));
        put(&mut object, "curves", self.curves.then_some(true));
        put(&mut object, "ladder", self.ladder.then_some(true));
        put(&mut object, "baselines", listed(&self.baselines));
        let messages = json!(self.messages);
        let has_messages = messages.as_object().is_some_and(|messages| !messages.is_empty());
        put(&mut object, "messages", has_messages.then_some(messages));
        object
    }
}
