//! The forms of the table's attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An item: its attributes by name.
pub type Item = HashMap<String, AttributeValue>;

/// The version of the items' form.
pub const SCHEMA: u32 = 1;
/// The index that ranks: its partition is `board`, its sort key `rank`.
pub(crate) const RANKING: &str = "ranking";

/// A string.
pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// A whole number.
pub fn count(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// The shortest decimal that reads back as the same number.
pub fn number(value: f64) -> AttributeValue {
    AttributeValue::N(format!("{value}"))
}
