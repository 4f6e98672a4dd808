//! One cell of a table or of a log's line.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Words for a missing value.
const MISSING: [&str; 7] = ["", "na", "n/a", "nan", "null", "none", "-"];
/// Words for right and wrong.
const RIGHT: [&str; 6] = ["true", "right", "correct", "pass", "passed", "resolved"];
const WRONG: [&str; 6] = ["false", "wrong", "incorrect", "fail", "failed", "unresolved"];

/// A cell as its file has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Number(f64),
    Whole(i64),
    Text(Cow<'a, str>),
    /// A list, an object or bytes.
    Nested,
}

impl Cell<'_> {
    /// The cell as a name; `None` if it is missing, empty or nested.
    pub(crate) fn name(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.trim())
                .filter(|text| !text.is_empty())
                .map(Cow::Borrowed),
            Self::Whole(number) => Some(Cow::Owned(number.to_string())),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            Self::Missing | Self::Nested => None,
        }
    }

    /// The cell as a whole number that is not below 0.
    pub(crate) fn count(&self) -> Option<i64> {
        let number = match self {
            Self::Whole(number) => *number,
            Self::Text(text) => text.trim().parse().ok()?,
            #[allow(clippy::float_cmp, reason = "a whole number is meant")]
            Self::Number(number) if (*number as i64) as f64 == *number => *number as i64,
            Self::Number(_) | Self::Missing | Self::Nested => return None,
        };
        Some(number).filter(|number| (0..i64::MAX).contains(number))
    }

    /// The cell without what it borrows.
    pub(crate) fn owned(&self) -> Cell<'static> {
        match self {
            Self::Missing => Cell::Missing,
            Self::Number(number) => Cell::Number(*number),
            Self::Whole(number) => Cell::Whole(*number),
            Self::Text(text) => Cell::Text(Cow::Owned(text.clone().into_owned())),
            Self::Nested => Cell::Nested,
        }
    }

    /// The cell as a value: 1 for right and 0 for wrong; `None` where the value is missing.
    ///
    /// # Errors
    /// The cell as text, if it is not a finite number.
    pub(crate) fn value(&self) -> Result<Option<f64>, String> {
        match self {
            Self::Missing => Ok(None),
            Self::Number(number) if number.is_nan() => Ok(None),
            Self::Number(number) if number.is_finite() => Ok(Some(*number)),
            Self::Whole(number) => Ok(Some(*number as f64)),
            Self::Text(text) => value_of(text),
            Self::Number(number) => Err(number.to_string()),
            Self::Nested => Err("a list or an object".to_owned()),
        }
    }
}

fn value_of(text: &str) -> Result<Option<f64>, String> {
    let text = text.trim();
    if let [digit @ b'0'..=b'9'] = text.as_bytes() {
        return Ok(Some(f64::from(digit - b'0')));
    }
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ if is_one_of(&MISSING) => Ok(None),
        _ if is_one_of(&RIGHT) => Ok(Some(1.0)),
        _ if is_one_of(&WRONG) => Ok(Some(0.0)),
        _ => Err(text.to_owned()),
    }
}

impl<'de> Deserialize<'de> for Cell<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

/// Reads single values, and passes over lists and objects without keeping them.
struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Cell::Whole(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Cell::Whole(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(value).map_or(Cell::Number(value as f64), Cell::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Cell::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Cell::Text(Cow::Owned(value)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cell::Missing)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Cell::Missing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cell::Nested)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cell::Nested)
    }
}

/// A JSON object, key by key in the order of the file.
#[derive(Debug)]
pub(crate) struct Object(pub(crate) Vec<(String, Cell<'static>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Object, A::Error> {
                let mut cells = Vec::with_capacity(object.size_hint().unwrap_or(8));
                while let Some(entry) = object.next_entry()? {
                    cells.push(entry);
                }
                Ok(Object(cells))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// The first number of a line that JSON does not have, as Python writes it, and its key.
pub(crate) fn no_json_number(line: &[u8]) -> Option<(String, &'static str)> {
    let (mut key, mut begin, mut is_escaped) = (0..0, None, false);
    let mut last = 0..0;
    for (at, &byte) in line.iter().enumerate() {
        if let Some(first) = begin {
            if !is_escaped && byte == b'"' {
                (last, begin) = (first..at, None);
            }
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => begin = Some(at + 1),
            b':' => key = last.clone(),
            _ => {
                let rest = &line[at..];
                if let Some(word) = ["NaN", "-Infinity", "Infinity"]
                    .into_iter()
                    .find(|word| rest.starts_with(word.as_bytes()))
                {
                    return Some((String::from_utf8_lossy(&line[key]).into_owned(), word));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_become_values() {
        let value = |text: &str| Cell::Text(text.into()).value();
        for (text, expected) in [
            ("1", 1.0),
            (" 0.25 ", 0.25),
            ("True", 1.0),
            ("wrong", 0.0),
            ("-2e1", -20.0),
        ] {
            assert_eq!(value(text), Ok(Some(expected)), "{text}");
        }
        for text in ["", "NaN", "n/a", "None"] {
            assert_eq!(value(text), Ok(None), "{text}");
        }
        for text in ["easy", "inf", "1,5"] {
            assert_eq!(value(text), Err(text.to_owned()));
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_found() {
        let found = |line: &str| no_json_number(line.as_bytes());
        assert_eq!(
            found(r#"{"a": 1, "b\"": [0, -Infinity]}"#),
            Some((r#"b\""#.into(), "-Infinity"))
        );
        assert_eq!(found(r#"{"a": "x, NaN", "NaN": 1"#), None);
    }

    #[test]
    fn objects_keep_single_values_only() {
        let read: Object = serde_json::from_str(
            r#"{"id": 18446744073709551615, "ok": true, "doc": {"a": [1]}, "x": null, "s": "t"}"#,
        )
        .expect("an object");
        let cells: Vec<Cell<'_>> = read.0.into_iter().map(|(_, cell)| cell).collect();
        let big = Cell::Number(18_446_744_073_709_551_615.0);
        assert_eq!(
            cells,
            [
                big,
                Cell::Whole(1),
                Cell::Nested,
                Cell::Missing,
                Cell::Text("t".into())
            ]
        );
    }
}
