//! The file that marks a directory as a local cloud's own.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::StartError;
use crate::ids;

/// The marker's name in the data directory.
pub(super) const MARKER: &str = "dataperf-local.json";
/// A marker that a start which was cut off may leave; it becomes the marker when it is whole.
pub(super) const UNFINISHED_MARKER: &str = "dataperf-local.json.partial";
/// The version of the form that this program reads and writes; a directory of a later version is
/// refused.
const VERSION: u64 = 1;
const ABOUT: &str = "This directory holds the state of one `dataperf local`. Each start removes unfinished files of the start \
    before from `functions` and `objects`. Copy or move the directory only as a whole, and only while no \
    cloud uses it.";

/// The content of the marker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    about: String,
    version: u64,
    /// The directory's id, which the processes that are started for it carry.
    pub(super) id: String,
    /// Whether a start has made all files once: then none of them may be missing.
    pub(super) is_set_up: bool,
}

impl Default for Marker {
    fn default() -> Self {
        Self {
            about: ABOUT.to_owned(),
            version: VERSION,
            id: ids::fresh(),
            is_set_up: false,
        }
    }
}

impl Marker {
    /// The marker in `dir`, if there is one.
    ///
    /// # Errors
    /// [`StartError::Marker`] when it is damaged or of a later version, [`StartError::DataDir`] when it cannot be read.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, StartError> {
        let path = dir.join(MARKER);
        let failed = |source| StartError::DataDir {
            path: path.clone(),
            source,
        };
        let refused = |reason: String| StartError::Marker {
            path: path.clone(),
            reason,
        };
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // a link to a marker says nothing about the directory that contains the link
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let bytes = std::fs::read(&path).map_err(failed)?;
        let damaged = |error: serde_json::Error| refused(format!("it is damaged: {error}"));
        let value: Value = serde_json::from_slice(&bytes).map_err(damaged)?;
        if let Some(version) = value["version"].as_u64().filter(|&version| version > VERSION) {
            return Err(refused(format!(
                "a later program wrote it with version {version}, and this program knows {VERSION}: use a \
                    newer `dataperf`"
            )));
        }
        let marker: Self = serde_json::from_value(value).map_err(damaged)?;
        if !ids::is_one(&marker.id) {
            return Err(refused("it is damaged: `id` is not an id".into()));
        }
        Ok(Some(marker))
    }

    /// Writes the marker into `dir`, whole or not at all, and to the disk.
    pub(super) fn write(&self, dir: &Path) -> io::Result<()> {
        let unfinished = dir.join(UNFINISHED_MARKER);
        let text = serde_json::to_string_pretty(self)?;
        let mut file = File::create(&unfinished)?;
        file.write_all(format!("{text}\n").as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&unfinished, dir.join(MARKER))?;
        File::open(dir)?.sync_all()
    }
}
