//! A YAML document with the place of every value, so that the message about a problem can name the line.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: At,
    pub(crate) value: Value,
    /// The bytes of the document that the value is written in.
    bytes: Option<Range<usize>>,
}

/// A value. Keys keep their order, and keys that occur twice are kept as well.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    /// A truth value, and the text that it is written as.
    Bool(bool, String),
    /// A number, and the text that it is written as.
    Number(f64, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) at: At,
    pub(crate) name: String,
    bytes: Option<Range<usize>>,
}

impl Node {
    /// Reads a document.
    ///
    /// # Errors
    /// A sentence with the line if the text is not YAML.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        let node: Spanned<Value> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let message = error.to_string().replace('\n', " ");
            let message = message.replace(", set DuplicateKeyPolicy in Options if acceptable", "");
            format!("it is not valid YAML: {message}")
        })?;
        let mut node = Self::from(node);
        node.as_written(text);
        Ok(node)
    }

    /// Gives numbers and truth values the text that the document has for them: a class may be called `007` or `True`.
    fn as_written(&mut self, document: &str) {
        let written = |bytes: &Option<Range<usize>>| {
            let written = document.get(bytes.clone()?)?.trim();
            // with a tag a quoted text can be a number too
            let is_plain = !written.is_empty() && !written.contains(['"', '\'', '\n', '!', '&', '*']);
            is_plain.then_some(written)
        };
        match &mut self.value {
            Value::Bool(_, text) | Value::Number(_, text) => {
                if let Some(written) = written(&self.bytes) {
                    written.clone_into(text);
                }
            }
            Value::List(list) => list.iter_mut().for_each(|item| item.as_written(document)),
            Value::Map(members) => {
                for (key, value) in members {
                    if let Some(written) = written(&key.bytes) {
                        written.clone_into(&mut key.name);
                    }
                    value.as_written(document);
                }
            }
            Value::Null | Value::Text(_) => {}
        }
    }

    /// The kind of the value, in words for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(..) => "true or false",
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
        let span = spanned.defined.span(); // of an alias where its anchor stands
        let bytes = span.byte_offset().zip(span.byte_len());
        Self {
            at,
            value: spanned.value,
            bytes: bytes.map(|(begin, n)| begin as usize..(begin + n) as usize),
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
        Ok(Value::Bool(value, value.to_string()))
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
            // texts may be quoted or escaped in the document, so the text as written is taken only for numbers and truth values
            let (name, bytes) = match key.value {
                Value::Text(name) => (name, None),
                Value::Number(_, name) | Value::Bool(_, name) => (name, key.bytes),
                _ => (String::new(), None),
            };
            map.push((
                Key {
                    at: key.at,
                    name,
                    bytes,
                },
                value.into(),
            ));
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

    fn text(node: &Node) -> String {
        match &node.value {
            Value::Text(text) | Value::Number(_, text) | Value::Bool(_, text) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn yaml_numbers_and_booleans_keep_their_spelling() {
        let document =
            "classes: [007, 1.10, True, 1e3 , 'on', -0, 0x1F]\nköpfe: {010: 2.50}\nsame: &a 3.0\nagain: *a\n";
        let Value::Map(members) = Node::parse(document).expect("YAML").value else {
            panic!("keys")
        };
        let Value::List(classes) = &members[0].1.value else {
            panic!("a list")
        };
        let written: Vec<String> = classes.iter().map(text).collect();
        assert_eq!(written, ["007", "1.10", "True", "1e3", "on", "-0", "0x1F"]);
        let Value::Map(heads) = &members[1].1.value else {
            panic!("keys")
        };
        assert_eq!(
            (heads[0].0.name.as_str(), text(&heads[0].1).as_str()),
            ("010", "2.50")
        );
        assert_eq!(
            (text(&members[2].1), text(&members[3].1)),
            ("3.0".into(), "3.0".into())
        );
    }

    #[test]
    fn yaml_aliases_expand_to_their_values() {
        let document = "all: &c [01, &d 2.0]\neach: *c\none: *d\ntagged: !!int \"7\"\n";
        let Value::Map(members) = Node::parse(document).expect("YAML").value else {
            panic!("keys")
        };
        for (_, list) in &members[..2] {
            let Value::List(list) = &list.value else {
                panic!("a list")
            };
            assert_eq!(list.iter().map(text).collect::<Vec<_>>(), ["01", "2.0"]);
        }
        assert_eq!(
            (text(&members[2].1), text(&members[3].1)),
            ("2.0".into(), "7".into())
        );
    }

    #[test]
    fn no_yaml_is_a_sentence_with_a_line() {
        let why = Node::parse("a: [1,\nb: }").expect_err("no YAML");
        assert!(why.contains("line") && !why.contains('\n'), "{why}");
    }
}
