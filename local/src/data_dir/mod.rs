//! The directory that holds all state: a local cloud's own, and used by one at a time.
//!
//! A start removes leftovers of a killed cloud. It must never do so in a foreign directory. So it
//! takes a directory only if it is new or empty, or belongs to a local cloud, as its marker shows.

mod marker;
pub(crate) mod private_files;

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::host;

use self::marker::{MARKER, Marker, UNFINISHED_MARKER};

const LOCK: &str = "lock";
/// How many entries of a directory that is refused its message names.
const N_NAMED: usize = 3;

/// A data directory that nobody else uses until it is unlocked or dropped.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    marker: Marker,
    lock: File,
}

impl DataDir {
    /// Takes `path`, which is made if it is missing, and clears away what a killed host left in it.
    ///
    /// # Errors
    /// When the directory is something else's, in use, or cannot be used. Nothing in it has changed then.
    pub(crate) fn take(path: &Path) -> Result<Self, StartError> {
        let path = make(path)?;
        examine(&path)?;
        let functions = path.join("functions");
        if functions.is_symlink() {
            return Err(StartError::Link { path: functions });
        }
        let lock = lock(&path)?;
        // again, now that no other start can be writing the marker
        let marker = if let Some(marker) = examine(&path)? {
            marker
        } else {
            let marker = Marker::default();
            marker.write(&path).map_err(cannot_use(&path.join(MARKER)))?;
            marker
        };
        host::clear_leftovers(&functions, &marker.id);
        Ok(Self { path, marker, lock })
    }

    /// Its absolute path, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The id that processes started for this directory carry.
    pub(crate) fn id(&self) -> &str {
        &self.marker.id
    }

    /// Whether a start has made all files once: then none of them may be missing.
    pub(crate) fn is_set_up(&self) -> bool {
        self.marker.is_set_up
    }

    /// Notes that all files are made.
    pub(crate) fn set_up(&mut self) -> Result<(), StartError> {
        if !self.marker.is_set_up {
            self.marker.is_set_up = true;
            let written = self.marker.write(&self.path);
            written.map_err(cannot_use(&self.path.join(MARKER)))?;
        }
        Ok(())
    }

    /// Lets others use the directory. Dropping the file would not be enough: a process that is being started has a copy
    /// of it until it runs its own program.
    pub(crate) fn unlock(&self) {
        let _ = self.lock.unlock();
    }
}

fn cannot_use(path: &Path) -> impl FnOnce(io::Error) -> StartError {
    let path = path.to_owned();
    |source| StartError::DataDir { path, source }
}

/// Makes the directory if it is missing; its absolute path.
fn make(path: &Path) -> Result<PathBuf, StartError> {
    match std::fs::create_dir_all(path) {
        Err(_) if path.exists() && !path.is_dir() => Err(StartError::NoDirectory {
            path: path.to_owned(),
        }),
        made => made.and_then(|()| path.canonicalize()).map_err(cannot_use(path)),
    }
}

/// Locks the directory. It must be known to be a local cloud's first.
fn lock(dir: &Path) -> Result<File, StartError> {
    let path = dir.join(LOCK);
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(cannot_use(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::DataDirInUse { path: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(cannot_use(&path)(source)),
    }
}

/// The directory's marker; `None` if nothing is in it but what a start that was cut off leaves. Changes nothing.
fn examine(dir: &Path) -> Result<Option<Marker>, StartError> {
    // before the marker is looked for: a start that runs now makes other files only after it
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(cannot_use(dir))? {
        names.push(entry.map_err(cannot_use(dir))?.file_name());
    }
    names.sort_unstable();
    if let Some(marker) = Marker::read(dir)? {
        return Ok(Some(marker));
    }
    let foreign: Vec<&OsString> = names
        .iter()
        .filter(|name| *name != UNFINISHED_MARKER && !(*name == LOCK && is_empty_file(&dir.join(name))))
        .collect();
    if foreign.is_empty() {
        return Ok(None);
    }
    Err(StartError::Foreign {
        path: dir.to_owned(),
        files: list(&foreign),
    })
}

fn is_empty_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

/// The first names, and how many more there are.
fn list(names: &[&OsString]) -> String {
    let mut named: Vec<String> = names
        .iter()
        .take(N_NAMED)
        .map(|name| format!("`{}`", name.display()))
        .collect();
    if names.len() > N_NAMED {
        named.push(format!("{} more", names.len() - N_NAMED));
    }
    named.join(", ")
}
