//! Reads a method's arrays from a frozen data set, and writes an artifact with what the method chose: one file for each benchmark.

mod acquisition;
mod curation;
mod debugging;
mod own_data;
mod speech;
mod vision;

use dataperf::frozen::FrozenError;

/// The lines of a frozen text file.
fn lines<'a>(path: &str, bytes: &'a [u8]) -> Result<Vec<&'a str>, FrozenError> {
    let text = std::str::from_utf8(bytes).map_err(|_| FrozenError::damaged(path, "it is not UTF-8"))?;
    Ok(text.lines().collect())
}
