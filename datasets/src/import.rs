//! The interface of importers for all benchmarks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use dataperf::dataset::frozen::Manifest;
pub use dataperf::progress::{Progress, Silent};
use dataperf::{Benchmark, Digest};

use crate::errors::ImportError;
use crate::labels::labelled::LabelledAt;
use crate::tables::KitTable;
use crate::tables::lines::read_text;
use crate::writer::DatasetWriter;

/// The files of a directory whose names have this beginning and ending, by the part between. A
/// missing directory has none.
///
/// # Errors
/// [`ImportError::Io`] when the directory can't be listed.
pub fn named(directory: &Path, prefix: &str, suffix: &str) -> Result<BTreeMap<String, PathBuf>, ImportError> {
    let mut files = BTreeMap::new();
    if !directory.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(directory).map_err(ImportError::io("can't list", directory))? {
        let entry = entry.map_err(ImportError::io("can't list", directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(middle) = name
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(suffix))
        {
            files.insert(middle.to_owned(), entry.path());
        }
    }
    Ok(files)
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
    /// A description of the public layout, for `--help`.
    const LAYOUT: &'static str;

    /// Whether items are rows of numbers with labels, so that they can be audited and corrected.
    const HAS_LABELS: bool = true;

    /// Reads the layout at `from`, writes the frozen files, and gives the manifest's parameters.
    ///
    /// # Errors
    /// [`ImportError`] with everything that is missing, inconsistent or not finite.
    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError>;

    /// The test sets with their labels, for audits and corrections: of a full data set, or of a
    /// participants' kit.
    ///
    /// # Errors
    /// [`FrozenError`](dataperf::dataset::frozen::FrozenError) when the manifest's parameters are not this benchmark's.
    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, dataperf::dataset::frozen::FrozenError>;

    /// The form of an artifact and the rules for participants, in Markdown.
    ///
    /// # Errors
    /// [`FrozenError`](dataperf::dataset::frozen::FrozenError) when the manifest's parameters are not this benchmark's.
    fn guide(manifest: &Manifest) -> Result<String, dataperf::dataset::frozen::FrozenError>;

    /// A program in Python, of the standard library and `NumPy`, that makes a valid artifact of a kit in the directory it is run in. Its
    /// cells begin with `# %%`, and its line `LEADERBOARD = ` names the board.
    const STARTER: &'static str;

    /// The tables that participants may have, of a data set or a kit of it in `directory`.
    ///
    /// # Errors
    /// [`FrozenError`](dataperf::dataset::frozen::FrozenError) when it is not what the manifest says.
    fn tables(
        directory: &Path,
        manifest: &Manifest,
    ) -> Result<Vec<KitTable>, dataperf::dataset::frozen::FrozenError>;

    /// Changes the parameters of a data set so that scoring takes as long as possible, if that
    /// depends on the artifact.
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

    /// The artifact of a participant's file: the file itself, or its form for functions.
    ///
    /// # Errors
    /// Messages about the file called `name`: its form, and whether it is damaged or wrong.
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
