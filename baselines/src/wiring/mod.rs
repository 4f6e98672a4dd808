//! From a frozen data set to a method's arrays, and from what it chose to an artifact: a file a benchmark.

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
