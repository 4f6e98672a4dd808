//! What importing is, whatever the benchmark.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::dataset::{Dataset, DatasetError};
use dataperf::frozen::Manifest;
pub use dataperf::progress::{Progress, Silent};
use dataperf::{Benchmark, Digest};

use crate::errors::ImportError;
use crate::labelled::LabelledAt;
use crate::lines::read_text;
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
    if !path.try_exists().is_ok_and(|is_there| !is_there) {
        let text = read_text(path);
        return text
            .map(Some)
            .map_err(|why| format!("`{}` can't be read: {why}", path.display()));
    }
    Ok(None)
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
