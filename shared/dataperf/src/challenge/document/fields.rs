//! Reads the parts of a document, noting everything that is not as it should be.

use serde_json::{Map, Value};

use crate::rejection::{Reason, Reasons, pointer, quote};
use crate::upload::is_usable_name;
use crate::{SubmitterName, similar};

const MAX_TEXT_CHARS: usize = 1000;

pub(crate) type Object = Map<String, Value>;

/// Reads what can be read, and notes what can't.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) reasons: Reasons,
}

impl Reader {
    pub(crate) fn wrong(&mut self, code: &str, at: &str, message: impl Into<String>) {
        self.reasons.add(Reason::new(code, at, message));
    }

    pub(crate) fn name(&mut self, name: &str, at: &str) {
        if !is_usable_name(name) {
            self.wrong(
                "unusable_name",
                at,
                format!("{} can't be part of an upload's key", quote(name)),
            );
        }
    }

    pub(crate) fn submitter(&mut self, name: &str, at: &str) {
        if let Err(error) = name.parse::<SubmitterName>() {
            self.wrong("unusable_name", at, error.to_string());
        }
    }

    /// The names in a list, each of which `check` looks at.
    pub(crate) fn names(
        &mut self,
        object: &Object,
        at: &str,
        key: &str,
        check: fn(&mut Self, &str, &str),
    ) -> Vec<String> {
        let at = pointer(at, key);
        let mut names: Vec<String> = Vec::new();
        for (idx, value) in self.list(object.get(key), &at).iter().enumerate() {
            let at = format!("{at}/{idx}");
            let Some(name) = value.as_str() else {
                self.wrong("wrong_type", &at, "expected a name");
                continue;
            };
            check(self, name, &at);
            if names.iter().any(|other| other == name) {
                self.wrong("duplicate_name", &at, format!("{} is listed twice", quote(name)));
            }
            names.push(name.to_owned());
        }
        names
    }

    pub(crate) fn limit(&mut self, object: &Object, at: &str, key: &str) -> Option<u64> {
        let value = object.get(key)?;
        let limit = value.as_u64().filter(|&limit| limit > 0);
        if limit.is_none() {
            self.wrong(
                "bad_limit",
                &pointer(at, key),
                "a limit is a whole number, 1 or more. Leave it out for the default",
            );
        }
        limit
    }

    pub(crate) fn flag(&mut self, object: &Object, at: &str, key: &str) -> bool {
        let choice = self.choice(object, at, key, "`true` or `false`");
        choice.unwrap_or_default()
    }

    pub(crate) fn choice<T: serde::de::DeserializeOwned>(
        &mut self,
        object: &Object,
        at: &str,
        key: &str,
        choices: &str,
    ) -> Option<T> {
        let value = object.get(key)?;
        // an enum can also be read from an object with one key, which is no word
        let choice = T::deserialize(value).ok().filter(|_| !value.is_object());
        if choice.is_none() {
            self.wrong(
                "unknown_value",
                &pointer(at, key),
                format!("`{key}` is {choices}"),
            );
        }
        choice
    }

    pub(crate) fn parsed<T: std::str::FromStr>(&mut self, object: &Object, at: &str, key: &str) -> Option<T>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.text(object, at, key)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.wrong("wrong_type", &pointer(at, key), error.to_string());
                None
            }
        }
    }

    pub(crate) fn text(&mut self, object: &Object, at: &str, key: &str) -> Option<String> {
        let value = object.get(key)?;
        let text = value
            .as_str()
            .filter(|text| (1..=MAX_TEXT_CHARS).contains(&text.chars().count()));
        if text.is_none() {
            self.wrong(
                "wrong_type",
                &pointer(at, key),
                format!("expected a text of 1 to {MAX_TEXT_CHARS} characters"),
            );
        }
        text.map(str::to_owned)
    }

    pub(crate) fn list<'a>(&mut self, value: Option<&'a Value>, at: &str) -> &'a [Value] {
        match value {
            None => &[],
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.wrong("wrong_type", at, "expected a list");
                &[]
            }
        }
    }

    pub(crate) fn map<'a>(&mut self, value: &'a Value, at: &str) -> Option<&'a Object> {
        let object = value.as_object();
        if object.is_none() {
            let kind = match value {
                Value::Null => "nothing",
                Value::Array(_) => "a list",
                _ => "a single value",
            };
            let message = format!("expected keys with values, as `key: value`; this is {kind}");
            self.wrong("wrong_type", at, message);
        }
        object
    }

    /// An object with no other keys than these.
    pub(crate) fn object<'a>(&mut self, value: &'a Value, at: &str, known: &[&str]) -> Option<&'a Object> {
        let object = self.map(value, at)?;
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let remedy = similar(key, known).unwrap_or_else(|| format!("the keys are {}", quoted(known)));
            let message = format!("{} is not a key here: {remedy}", quote(key));
            self.wrong("unknown_key", &pointer(at, key), message);
        }
        Some(object)
    }
}

/// Names as messages list them.
pub(crate) fn quoted(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}
