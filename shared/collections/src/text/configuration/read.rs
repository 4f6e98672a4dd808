//! A configuration is read part by part, so that one document tells everything that is wrong with it.

use std::collections::BTreeMap;

use dataperf::{Reason, Reasons, Rejection, offer, pointer, quote};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Configuration;
use crate::text::task::Task;

const KEYS: [&str; 9] = [
    "tasks",
    "targets",
    "validation",
    "examples_a_day",
    "near_duplicate_from",
    "min_chars",
    "max_chars",
    "languages",
    "deny",
];

impl Configuration {
    /// Reads a configuration and holds it against everything that is needed to run with it.
    ///
    /// # Errors
    /// A [`Rejection`] with everything that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejection> {
        let document: Value = serde_json::from_slice(bytes)
            .map_err(|error| bad("", format!("the configuration can't be read: {error}")))?;
        let Value::Object(mut members) = document else {
            return Err(bad(
                "",
                "the configuration is not an object of `tasks` and `targets`".to_owned(),
            )
            .into());
        };
        let (mut reasons, plain) = (Reasons::default(), Self::default());
        for key in members.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let message = format!(
                "{} is not a key of a configuration: {}",
                quote(key),
                offer(key, KEYS)
            );
            reasons.add(Reason::new("unknown_key", pointer("", key), message));
        }
        let read = &mut reasons;
        let parsed = Self {
            tasks: tasks(members.remove("tasks"), read),
            targets: each(members.remove("targets"), "/targets", read),
            validation: member(&mut members, "validation", plain.validation, read),
            examples_a_day: member(&mut members, "examples_a_day", plain.examples_a_day, read),
            near_duplicate_from: member(
                &mut members,
                "near_duplicate_from",
                plain.near_duplicate_from,
                read,
            ),
            min_chars: member(&mut members, "min_chars", plain.min_chars, read),
            max_chars: member(&mut members, "max_chars", plain.max_chars, read),
            languages: member(&mut members, "languages", plain.languages, read),
            deny: member(&mut members, "deny", plain.deny, read),
        };
        // unreadable parts are not checked by the rules, because the messages would be misleading
        if reasons.is_empty() {
            parsed.check(&mut reasons);
        }
        reasons.into_verdict(parsed)
    }
}

fn bad(at: impl Into<String>, message: String) -> Reason {
    Reason::new("bad_configuration", at, message)
}

fn member<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    key: &str,
    left_out: T,
    reasons: &mut Reasons,
) -> T {
    let Some(value) = members.remove(key) else {
        return left_out;
    };
    serde_json::from_value(value).unwrap_or_else(|error| {
        reasons.add(bad(pointer("", key), format!("`{key}` can't be read: {error}")));
        left_out
    })
}

/// The members of an object, each read by itself.
fn each<T: DeserializeOwned>(value: Option<Value>, at: &str, reasons: &mut Reasons) -> BTreeMap<String, T> {
    let name = at.trim_start_matches('/');
    let members = match value {
        Some(Value::Object(members)) => members,
        Some(_) => {
            reasons.add(bad(
                at,
                format!("`{name}` is not an object: write each below its own name"),
            ));
            return BTreeMap::new();
        }
        None => {
            reasons.add(Reason::new(
                "missing_key",
                at,
                format!("`{name}` is missing: add it"),
            ));
            return BTreeMap::new();
        }
    };
    let mut read = BTreeMap::new();
    for (key, value) in members {
        match serde_json::from_value(value) {
            Ok(value) => drop(read.insert(key, value)),
            Err(error) => reasons.add(bad(
                pointer(at, &key),
                format!("{} can't be read: {error}", quote(&key)),
            )),
        }
    }
    read
}

fn tasks(value: Option<Value>, reasons: &mut Reasons) -> BTreeMap<Task, super::TaskRules> {
    let mut tasks = BTreeMap::new();
    for (word, rules) in each(value, "/tasks", reasons) {
        match word.parse::<Task>() {
            Ok(task) => drop(tasks.insert(task, rules)),
            Err(error) => reasons.add(Reason::new(
                "unknown_task",
                pointer("/tasks", &word),
                error.to_string(),
            )),
        }
    }
    tasks
}
