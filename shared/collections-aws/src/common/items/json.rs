//! Members of the table's items that are JSON.

use dataperf::ports::PortError;
use dataperf_aws::Reader;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a member that is JSON.
///
/// # Errors
/// [`PortError::Malformed`] when it is not there, or has another form.
pub fn parsed<T: DeserializeOwned>(reader: &Reader<'_>, name: &str) -> Result<T, PortError> {
    serde_json::from_str(reader.text(name)?).map_err(|error| reader.malformed(format!("`{name}`: {error}")))
}

/// A value as JSON, for an item that is called `subject`.
///
/// # Errors
/// [`PortError::Malformed`] for a value that is no JSON.
pub fn as_json<T: Serialize>(subject: &str, value: &T) -> Result<String, PortError> {
    serde_json::to_string(value).map_err(|error| PortError::Malformed {
        subject: subject.to_owned(),
        why: error.to_string(),
    })
}
