//! An artifact's JSON with the order of keys and with repeated keys, so that rules can refer to
//! both.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::formats::file_kind::mistaken_for_text;
use crate::rejection::{Reason, Reasons, Rejection, pointer, quote};

/// One JSON value. Unlike `serde_json::Value` it keeps the order of keys, which is part of a speech submission,
/// and repeated keys, which are refused instead of the last one winning silently.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its text-independent value.
    Number(serde_json::Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object's members in their order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads an artifact: UTF-8, one value, at most 128 levels deep.
    ///
    /// # Errors
    /// One reason: `empty`, `byte_order_mark`, `not_utf8` or `not_json`, with the line and column.
    pub fn parse(artifact: &[u8]) -> Result<Self, Rejection> {
        if artifact.is_empty() {
            return Err(Reason::new(
                "empty",
                "",
                "the file is empty: write the submission's JSON into it",
            )
            .into());
        }
        if artifact.starts_with(b"\xef\xbb\xbf") {
            let message = "the file begins with a byte order mark: save it as UTF-8 without one";
            return Err(Reason::new("byte_order_mark", "line 1 column 1", message).into());
        }
        if let Some(sentence) = mistaken_for_text(artifact) {
            let is_text = std::str::from_utf8(artifact).is_ok();
            let code = if is_text { "not_json" } else { "not_utf8" };
            return Err(Reason::new(code, "byte 0", sentence).into());
        }
        let text = std::str::from_utf8(artifact).map_err(|error| {
            let at = format!("byte {}", error.valid_up_to());
            Reason::new("not_utf8", at, "the file is not UTF-8 text: save it as UTF-8")
        })?;
        serde_json::from_str(text).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            let cause = error.to_string();
            let cause = cause.split(" at line ").next().unwrap_or(&cause);
            let remedy = remedy(text, &error);
            let message = format!("the file is not valid JSON: {cause}: {remedy}");
            Reason::new("not_json", at, message).into()
        })
    }

    /// The value as it is written, without spaces.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default() // keys are strings, and nothing in it can fail
    }

    /// The kind of this value, in a word for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// The members of an object; a repeated key or another kind of value is noted and yields what is usable.
    pub fn into_members(self, at: &str, reasons: &mut Reasons) -> Vec<(String, Json)> {
        let Self::Object(members) = self else {
            reasons.add(wrong_type(at, "an object", &self));
            return Vec::new();
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut unique = Vec::with_capacity(members.len());
        for (key, value) in members {
            if seen.insert(key.clone()) {
                unique.push((key, value));
            } else {
                let message = format!("the key {} appears more than once: keep one", quote(&key));
                reasons.add(Reason::new("duplicate_key", pointer(at, &key), message));
            }
        }
        unique
    }

    /// The strings of an array, each with its index; what is not a string is noted and left out.
    pub fn into_strings(self, at: &str, reasons: &mut Reasons) -> Vec<(usize, String)> {
        let Self::Array(items) = self else {
            reasons.add(wrong_type(at, "an array of strings", &self));
            return Vec::new();
        };
        let mut strings = Vec::with_capacity(items.len());
        for (idx, item) in items.into_iter().enumerate() {
            match item {
                Self::String(text) => strings.push((idx, text)),
                Self::Number(number) => {
                    // pandas makes floats of a column of whole numbers with gaps
                    let whole = number
                        .as_f64()
                        .filter(|value| value.fract() == 0.0 && value.abs() < 1e15);
                    let text = whole.map_or_else(|| number.to_string(), |whole| format!("{whole:.0}"));
                    let message = format!(
                        "expected a string here, found a number: write {}",
                        quote(&format!("\"{text}\""))
                    );
                    reasons.add(Reason::new("wrong_type", format!("{at}/{idx}"), message));
                }
                other => reasons.add(wrong_type(&format!("{at}/{idx}"), "a string", &other)),
            }
        }
        strings
    }
}

/// The remedy for text that is not JSON.
fn remedy(text: &str, error: &serde_json::Error) -> &'static str {
    let line = text
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    // the error is at the place's last byte or behind it
    let begin = line.floor_char_boundary(error.column().saturating_sub(4));
    let end = line.floor_char_boundary(error.column() + 8);
    let place = &line[begin..end];
    let has = |words: &[&str]| words.iter().any(|word| place.contains(word));
    if error.is_eof() {
        "the end is missing: send the whole file"
    } else if has(&[
        "\u{201c}", "\u{201d}", "\u{201e}", "\u{2018}", "\u{2019}", "\u{ab}", "\u{bb}",
    ]) {
        "it has typographic quotation marks: write `\"` instead, in a code editor"
    } else if has(&["NaN", "Inf", "nan", "inf"]) {
        "JSON has no NaN and no infinity: leave such values out"
    } else if has(&["'"]) {
        "JSON has `\"` around texts, and Python's `print` writes `'`: write the file with `json.dump`"
    } else if has(&["True", "False", "None"]) {
        "JSON has `true`, `false` and `null`: write the file with `json.dump`"
    } else if text.trim_start().starts_with(|c: char| c.is_alphanumeric())
        && text.trim().contains([',', '\n'])
        && !text.contains(':')
    {
        "it looks like a CSV: send JSON"
    } else {
        "correct it there, or have a JSON library write the file"
    }
}

fn wrong_type(at: &str, expected: &str, value: &Json) -> Reason {
    Reason::new(
        "wrong_type",
        at,
        format!("expected {expected} here, found {}", value.kind()),
    )
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(artifact: &[u8]) -> String {
        Json::parse(artifact).expect_err("rejected").reasons()[0]
            .code
            .clone()
    }

    #[test]
    fn keeps_order_and_repeated_keys() {
        let members = [
            ("b".to_owned(), Json::Null),
            ("a".into(), Json::Bool(true)),
            ("b".into(), Json::Array(vec![])),
        ];
        assert_eq!(
            Json::parse(br#"{"b":null,"a":true,"b":[]}"#),
            Ok(Json::Object(members.to_vec()))
        );
    }

    #[test]
    fn is_written_as_it_stood() {
        let text = br#"{"b":null,"a":[true,-1,0.1,"\u0001\""],"b":{}}"#;
        assert_eq!(Json::parse(text).expect("JSON").to_bytes(), text);
    }

    #[test]
    fn says_why_a_file_is_no_json() {
        assert_eq!(code(b""), "empty");
        assert_eq!(code(b"\xef\xbb\xbf{}"), "byte_order_mark");
        assert_eq!(
            code(
                "{}".encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect::<Vec<_>>()
                    .as_slice()
            ),
            "not_json"
        );
        assert_eq!(code(b"{\"a\": \"\xe9\"}"), "not_utf8");
        for text in [
            "{",
            "[1,",
            "{\"a\": NaN}",
            "{\"a\": Infinity}",
            "{} {}",
            "nul",
            "[1e999]",
            "\"\\ud800\"",
        ] {
            assert_eq!(code(text.as_bytes()), "not_json", "{text}");
        }
        assert_eq!(code("[".repeat(1_000_000).as_bytes()), "not_json");
    }

    #[test]
    fn says_where() {
        let rejection = Json::parse(b"{\n  \"a\": }").expect_err("rejected");
        assert_eq!(rejection.reasons()[0].at, "line 2 column 8");
    }
}
