//! What importing is, whatever the benchmark.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dataperf::dataset::{Dataset, DatasetError};
use dataperf::frozen::Manifest;
pub use dataperf::progress::{Progress, Silent};
use dataperf::{Benchmark, Digest};

use crate::errors::ImportError;
use crate::labelled::LabelledAt;
use crate::tables::KitTable;
use crate::writer::DatasetWriter;

/// The files of a directory whose names begin and end so, by what stands between. A missing directory has none.
///
/// # Errors
/// [`ImportError::Io`] when the directory can't be listed.
pub fn named(directory: &Path, prefix: &str, suffix: &str) -> Result<BTreeMap<String, PathBuf>, ImportError> {
    let mut found = BTreeMap::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(directory).map_err(ImportError::io("can't list", directory))? {
        let entry = entry.map_err(ImportError::io("can't list", directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(middle) = name
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(suffix))
        {
            found.insert(middle.to_owned(), entry.path());
        }
    }
    Ok(found)
}

/// An optional file of the layout; `None` when it is not there.
///
/// # Errors
/// In words, when the file is there and can't be read.
pub fn text_if_there(path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("`{}` can't be read: {error}", path.display())),
    }
}

/// Sorts the lists of texts in a value.
fn sort_names(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Array(items) => {
            items.iter_mut().for_each(sort_names);
            if items.iter().all(serde_json::Value::is_string) {
                items.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
        }
        serde_json::Value::Object(members) => members.values_mut().for_each(sort_names),
        _ => {}
    }
}

/// A benchmark whose public layout can be imported.
pub trait Import: Benchmark {
    /// What the public layout looks like, for `--help`.
    const LAYOUT: &'static str;

    /// Reads the layout at `from`, writes the frozen files, and gives the manifest's parameters.
    ///
    /// # Errors
    /// [`ImportError`] with everything that is missing, inconsistent or not finite.
    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError>;

    /// The eval sets with their labels, for audits and corrections: those of a data set, or of what participants have of it.
    ///
    /// # Errors
    /// [`FrozenError`](dataperf::frozen::FrozenError) when the manifest's parameters are not this benchmark's.
    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, dataperf::frozen::FrozenError>;

    /// What participants are told: the artifact's form and the rules, in Markdown.
    const GUIDE: &'static str;

    /// A program in Python, of the standard library and `NumPy`, that makes a valid artifact of a kit in the directory it is run in. Its
    /// cells begin with `# %%`, and its line `LEADERBOARD = ` names the board.
    const STARTER: &'static str;

    /// The tables that participants may have, of a data set or a kit of it in `directory`.
    ///
    /// # Errors
    /// [`FrozenError`](dataperf::frozen::FrozenError) when it is not what the manifest says.
    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, dataperf::frozen::FrozenError>;

    /// Whether artifacts with the same names in another order are different.
    const ORDER_COUNTS: bool = false;

    /// What an artifact says, in one form: artifacts that say the same have the same bytes, whatever form and order they are written in. `None` for
    /// one that can't be read.
    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        let mut json: serde_json::Value = serde_json::from_slice(artifact).ok()?;
        if !Self::ORDER_COUNTS {
            sort_names(&mut json);
        }
        // keys are sorted
        serde_json::to_vec(&json).ok()
    }

    /// Changes the parameters of a data set so that scoring takes as long as it can, where that depends on the artifact.
    fn prolong(_parameters: &mut serde_json::Value) {}

    /// The largest artifact that a board's rules allow, where the benchmark can make one: so that a data set is tried before it is published.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set can't be read.
    fn largest_artifact(
        _dataset: &Dataset<Self>,
        _leaderboard: &str,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, DatasetError>> {
        std::future::ready(Ok(None))
    }

    /// An artifact in a valid form on which the board's model takes as long as on any, where participants choose the numbers or the labels that it is
    /// fitted to: it need not be possible to fit the model.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set can't be read.
    fn hardest_artifact(
        _dataset: &Dataset<Self>,
        _leaderboard: &str,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, DatasetError>> {
        std::future::ready(Ok(None))
    }

    /// The artifact that a participant's file stands for: the file itself, or what functions read instead of a form that they don't.
    ///
    /// # Errors
    /// Sentences about the file called `name`: it is in such a form, and damaged or not what it has to be.
    fn artifact_of(_name: &str, file: Vec<u8>) -> Result<Vec<u8>, Vec<String>> {
        Ok(file)
    }
}

/// Imports the public layout at `from` into a new frozen data set at `out`, all or nothing. The same source gives
/// the same bytes, and so the same digest.
///
/// # Errors
/// [`ImportError`].
pub fn import<B: Import>(from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest, ImportError> {
    let is_dir = from
        .metadata()
        .map_err(ImportError::io("can't open", from))?
        .is_dir();
    if !is_dir {
        return Err(ImportError::refused(
            from,
            format!("it is not a directory; expected {}", B::LAYOUT),
        ));
    }
    let mut writer = DatasetWriter::create(out)?;
    let parameters = B::import(from, &mut writer, progress)?;
    writer.finish(B::ID, parameters)
}
