//! A YAML document with the place of every value, so that a problem names its line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) value: Value,
}

/// What is there. The order of keys is kept, and keys that stand there twice.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// The number, and how it is written.
    Number(f64, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) at: At,
    pub(super) name: String,
}

impl Node {
    /// Reads a document.
    ///
    /// # Errors
    /// A sentence with the line, when the text is no YAML.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let node: Spanned<Value> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let said = error.to_string().replace('\n', " ");
            let said = said.replace(", set DuplicateKeyPolicy in Options if acceptable", "");
            format!("it is no YAML: {said}")
        })?;
        Ok(node.into())
    }

    /// What kind of value it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(..) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "keys with values",
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        let at = At {
            line: spanned.referenced.line(),
            column: spanned.referenced.column(),
        };
        Self {
            at,
            value: spanned.value,
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64, value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64, value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value, value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(item.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = members.next_entry::<Spanned<Value>, Spanned<Value>>()? {
            let key = Node::from(key);
            let name = match key.value {
                Value::Text(name) | Value::Number(_, name) => name,
                Value::Bool(bool) => bool.to_string(),
                _ => String::new(),
            };
            map.push((Key { at: key.at, name }, value.into()));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_key_knows_its_line() {
        let node =
            Node::parse("title: A\nmodel: {kind: svc, C: 2}\nclasses:\n  - 0\n  - yes\n").expect("YAML");
        let Value::Map(members) = node.value else {
            panic!("keys")
        };
        let names: Vec<&str> = members.iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["title", "model", "classes"]);
        assert_eq!((members[1].0.at.line, members[1].1.at.line), (2, 2));
        let Value::Map(model) = &members[1].1.value else {
            panic!("keys")
        };
        assert_eq!(model[1].1.value, Value::Number(2.0, "2".into()));
        let Value::List(classes) = &members[2].1.value else {
            panic!("a list")
        };
        assert_eq!((classes[0].at.line, classes[1].at.line), (4, 5));
        assert_eq!(classes[1].value, Value::Text("yes".into()));
    }

    #[test]
    fn no_yaml_is_a_sentence_with_a_line() {
        let why = Node::parse("a: [1,\nb: }").expect_err("no YAML");
        assert!(why.contains("line") && !why.contains('\n'), "{why}");
    }
}
